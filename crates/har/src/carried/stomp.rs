//! STOMP 1.2 (stomp.github.io): frames of a command, headers and a body, in messages of a plain WebSocket or of
//! SockJS. It is no protocol of throng's: the file says all of it.

use crate::json::{self, Leaf};

/// The text that a file has for the whole of a body that is no JSON.
pub(crate) const BODY: &str = "body";
/// The header that says where a message goes.
pub(crate) const DESTINATION: &str = "destination";
/// Commands of both sides.
const COMMANDS: [&str; 15] = [
    "CONNECT",
    "STOMP",
    "CONNECTED",
    "SEND",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "BEGIN",
    "COMMIT",
    "ABORT",
    "ACK",
    "NACK",
    "DISCONNECT",
    "MESSAGE",
    "RECEIPT",
    "ERROR",
];
/// Commands with which a client leaves, which a load does not say.
const LEAVING: [&str; 2] = ["UNSUBSCRIBE", "DISCONNECT"];
/// The header that would be wrong for another text; a body without NUL needs none.
const LENGTH: &str = "content-length";
const HEART_BEAT: &str = "heart-beat";

/// A frame.
pub(crate) struct Frame<'a> {
    pub(crate) command: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a str,
}

impl<'a> Frame<'a> {
    /// Reads a message that is one frame.
    pub(crate) fn of(text: &'a str) -> Option<Frame<'a>> {
        let (command, rest) = text.split_once('\n')?;
        let command = command.trim_end_matches('\r');
        let rest = Some(rest.trim_end_matches(['\r', '\n'])).filter(|_| COMMANDS.contains(&command))?;
        let (mut headers, mut rest) = (Vec::new(), rest.strip_suffix('\0')?);
        loop {
            let (line, behind) = rest.split_once('\n')?;
            rest = behind;
            match line.trim_end_matches('\r') {
                "" => return Some(Frame { command, headers, body: rest }),
                line => headers.push(line.split_once(':')?),
            }
        }
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(header, _)| *header == name).map(|(_, value)| *value)
    }

    /// The headers and what is in the body, as values of the text that the frame is.
    pub(crate) fn leaves(&self, text: &str) -> Vec<Leaf> {
        let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
        let leaf = |name: &str, value: &str| Leaf {
            pointer: name.to_owned(),
            key: name.to_owned(),
            range: place(value)..place(value) + value.len(),
            is_text: true,
            value: value.to_owned(),
        };
        let mut leaves: Vec<Leaf> = self.headers.iter().map(|(name, value)| leaf(name, value)).collect();
        match json::leaves(self.body) {
            Some(inside) => leaves.extend(inside.into_iter().map(|leaf| {
                let range = leaf.range.start + place(self.body)..leaf.range.end + place(self.body);
                Leaf { range, ..leaf }
            })),
            None if self.body.is_empty() => {}
            None => leaves.push(leaf(BODY, self.body)),
        }
        leaves
    }
}

/// Returns whether a value stands in a frame's header.
pub(crate) fn is_header(leaf: &Leaf) -> bool {
    !leaf.pointer.is_empty() && !leaf.pointer.starts_with('/') && leaf.pointer != BODY
}

/// A client's message as a file says it; `None` for one with which it leaves.
pub(super) fn said(text: String) -> Option<String> {
    let Some(frame) = Frame::of(&text) else { return Some(text) };
    let length = frame.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(LENGTH));
    if LEAVING.contains(&frame.command) {
        return None;
    }
    let Some((name, value)) = length else { return Some(text) };
    let line = format!("{name}:{value}");
    let (before, behind) = text.split_once(&line)?;
    let behind = behind.trim_start_matches('\r').strip_prefix('\n')?;
    Some(format!("{before}{behind}"))
}

/// Returns whether messages are frames of STOMP.
pub(super) fn is_spoken<'a>(mut texts: impl Iterator<Item = &'a str>) -> bool {
    texts.any(|text| Frame::of(text).is_some_and(|frame| frame.command == "CONNECTED"))
}

/// The interval at which the client has to say something, by what both sides can do and want (Heart-beating);
/// `texts`: the messages of the client, or of the server.
pub(crate) fn heartbeat_ms<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<u64> {
    let mut header = |commands: &[&str]| {
        let frame = texts.by_ref().filter_map(Frame::of).find(|frame| commands.contains(&frame.command))?;
        let (sends, wants) = frame.header(HEART_BEAT)?.split_once(',')?;
        Some((sends.trim().parse::<u64>().ok()?, wants.trim().parse::<u64>().ok()?))
    };
    let (can, _) = header(&["CONNECT", "STOMP"])?;
    let (_, wanted) = header(&["CONNECTED"])?;
    (can > 0 && wanted > 0).then(|| can.max(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_values_in_their_places() {
        let text = "SEND\r\ndestination:/app/say\ncontent-length:16\n\n{\"text\":\"hello\"}\0";
        let frame = Frame::of(text).unwrap();
        let leaves = frame.leaves(text);
        let shown: Vec<_> =
            leaves.iter().map(|leaf| (leaf.pointer.as_str(), &text[leaf.range.clone()])).collect();
        assert_eq!(shown, [("destination", "/app/say"), ("content-length", "16"), ("/text", "hello")]);
        assert_eq!(said(text.to_owned()).unwrap(), "SEND\r\ndestination:/app/say\n\n{\"text\":\"hello\"}\0");
        assert_eq!(said("DISCONNECT\n\n\0".to_owned()), None);
        for text in ["SEND\n\nx", "SAY\n\n\0", "SEND", "\n", "SEND\nx\n\n\0"] {
            assert!(Frame::of(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn heartbeats_are_those_that_both_want() {
        for (can, wanted, ms) in
            [("4000,0", "0,10000", Some(10_000)), ("0,0", "0,10000", None), ("5,5", "5,0", None)]
        {
            let [connect, connected] = [("CONNECT", can), ("CONNECTED", wanted)]
                .map(|(command, beat)| format!("{command}\nheart-beat:{beat}\n\n\0"));
            assert_eq!(heartbeat_ms([connect.as_str(), &connected].into_iter()), ms, "{can} {wanted}");
        }
    }
}
