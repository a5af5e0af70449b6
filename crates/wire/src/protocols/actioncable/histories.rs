//! The history of a subscription's stream, and requests for it: the extended protocol, on the server's side.
//!
//! As with AnyCable, what a client has missed comes whole or not at all: of a stream that has forgotten some
//! of it, a history is rejected.

use codec::json::{self, decimal, members, string};

use crate::history::{History, Message};
use crate::room::Room;

const NS_PER_S: u64 = 1_000_000_000;

/// Since when a client asks for what it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HistoryRequest<'a> {
    /// Behind this message of the stream, in this epoch.
    After { epoch: &'a [u8], offset: u64 },
    /// Messages from this second of the wall clock on.
    Since { unix_s: u64 },
    /// A request for other streams alone.
    Nothing,
}

impl<'a> HistoryRequest<'a> {
    /// Reads the request for this stream's history; `None` if it is none.
    pub(super) fn of(history: &'a [u8], stream: &[u8]) -> Option<HistoryRequest<'a>> {
        let [since, streams] = members(history, ["since", "streams"])?;
        let mut own = None;
        let names_streams = json::object(streams, |name, position| {
            own = own.or((name == stream).then_some(position));
        });
        match (own, decimal(since)) {
            (Some(position), _) => {
                let [epoch, offset] = members(position, ["epoch", "offset"])?;
                Some(HistoryRequest::After { epoch: string(epoch)?, offset: decimal(offset)? })
            }
            (None, Some(unix_s @ 1..)) => Some(HistoryRequest::Since { unix_s }),
            (None, _) => names_streams.map(|()| HistoryRequest::Nothing),
        }
    }

    /// The messages missed; `None` if the history is rejected. `back_at`: as for [`History::after`].
    pub(super) fn missed(
        self,
        history: &History,
        room: Room,
        back_at: Option<u64>,
        now_ns: u64,
        unix_minus_now_ns: u64,
    ) -> Option<Vec<Message>> {
        match self {
            HistoryRequest::After { epoch, offset } => {
                let missed = history.after(&[room], offset, back_at, now_ns);
                let missed = missed.filter(|_| *epoch == history.epoch())?;
                missed.is_whole.then_some(missed.messages)
            }
            HistoryRequest::Since { unix_s } => {
                let from_ns = unix_s.saturating_mul(NS_PER_S).saturating_sub(unix_minus_now_ns);
                Some(history.since(room, from_ns, back_at, now_ns))
            }
            HistoryRequest::Nothing => Some(Vec::new()),
        }
    }
}

/// Returns whether a client has come anywhere in any stream.
pub(super) fn names_streams(history: &[u8]) -> bool {
    let [streams] = members(history, ["streams"]).unwrap_or_default();
    let mut names = false;
    let _ = json::object(streams, |_, _| names = true);
    names
}

/// The name of a room's stream.
pub(super) fn stream_of(room: Room) -> String {
    format!("{:016x}", room.topic)
}

/// Keeps a message that is broadcast, with its place in the stream.
pub(super) fn keep(history: &History, room: Room, now_ns: u64, text: &[&[u8]]) -> Message {
    history.add(room, now_ns, |number| {
        let (stream, epoch, number) = (stream_of(room), history.epoch(), number.to_string());
        let mut placed = Vec::new();
        codec::io::extend(&mut placed, text);
        placed.pop();
        let [stream, number] = [stream.as_bytes(), number.as_bytes()];
        let place: [&[u8]; 7] =
            [br#","stream_id":""#, stream, br#"","epoch":""#, &epoch, br#"","offset":"#, number, b"}"];
        codec::io::extend(&mut placed, &place);
        vec![placed]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_asked_by_place_or_time() {
        let after = Some(HistoryRequest::After { epoch: b"x", offset: 7 });
        for (history, asked) in [
            (r#"{"since":5,"streams":{"b":{"epoch":"y","offset":1},"a":{"epoch":"x","offset":7}}}"#, after),
            (r#"{"streams":{"a":{"offset":7,"epoch":"x"}}}"#, after),
            (r#"{"since":5,"streams":{}}"#, Some(HistoryRequest::Since { unix_s: 5 })),
            (r#"{"since":5}"#, Some(HistoryRequest::Since { unix_s: 5 })),
            (r#"{"streams":{"b":{"epoch":"y","offset":1}}}"#, Some(HistoryRequest::Nothing)),
            (r#"{"since":0,"streams":{}}"#, Some(HistoryRequest::Nothing)),
            ("{}", None),
            (r#"{"since":-1}"#, None),
            (r#"{"since":1e99}"#, None),
            (r#"{"streams":{"a":{"epoch":"x","offset":-7}}}"#, None),
            (r#"{"streams":{"a":{"epoch":"x","offset":99999999999999999999}}}"#, None),
            (r#"{"streams":{"a":1}}"#, None),
            (r#"{"streams":[]}"#, None),
            ("", None),
            ("[]", None),
        ] {
            assert_eq!(HistoryRequest::of(history.as_bytes(), b"a"), asked, "{history}");
        }
    }
}
