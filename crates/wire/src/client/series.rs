//! Several messages at once, of a client that puts nothing around them.

use super::{Client, State};
use crate::config::{Config, SeriesOf};
use crate::event::{Event, Kind, Role};
use crate::io::Io;
use crate::series::Spot;
use crate::stamp::Stamp;
use crate::template::{Kept, Mark};
use crate::ws::sender::Differing;

/// What a message of an open session came to, as far as what follows it depends on that.
#[derive(Default)]
pub(super) struct Meant {
    events: u32,
    echo: Option<(Stamp, u32)>,
}

impl Meant {
    #[inline(always)]
    pub(super) fn handle(&mut self, event: Event) {
        self.events += 1;
        if let Event::Message { role: Role::Echo, stamp, bytes } = event {
            self.echo = Some((stamp, bytes));
        }
    }

    /// Takes off `input` what goes on with the series of this one, which was all of `frame`.
    #[inline]
    pub(super) fn take(self, frame: &[u8], spot: Spot, input: &mut &[u8]) -> Option<Event> {
        let (Some((stamp, bytes)), 1) = (self.echo, self.events) else { return None };
        let header = frame.len().checked_sub(bytes as usize)?;
        let messages = spot.behind(header).take(frame, stamp, input);
        let series = Event::Series { role: Role::Echo, first: stamp.after(1), messages, bytes };
        (messages > 0).then_some(series)
    }
}

impl Client {
    /// Payload bytes of each message of this kind, if they may be sent [in a series](Client::send_series).
    #[inline]
    pub fn series_bytes(&self, cfg: &Config, kind: Kind) -> Option<u32> {
        match &self.state {
            State::Open(session) if kind == Kind::Echo && session.sender.is_plain() && self.is_usable() => {
                cfg.series().map(|series| series.bytes)
            }
            _ => None,
        }
    }

    /// Sends so many echoes, which were due and go out at the same time; the stamps of the others follow the first's
    /// ([`Stamp::after`]). Nothing where there are no [series](Client::series_bytes).
    pub fn send_series(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        unix_ns: u64,
        first: Stamp,
        messages: u32,
        io: &mut impl Io,
    ) {
        let letter = cfg.letter(Kind::Echo, &first);
        if !letter.text.fits(unix_ns) {
            return (0..messages).for_each(|n| {
                self.send(cfg, now_ns, unix_ns, Kind::Echo, first.after(n), io);
            });
        }
        let (State::Open(session), Some(SeriesOf { spot, bytes })) = (&mut self.state, cfg.series()) else {
            return;
        };
        let who = cfg.common.who(io, now_ns, Kept::NOTHING);
        let filling = cfg.filling(Mark { stamp: &first, unix_ns }, 0, who);
        let numbers = first.numbers();
        let write = |n, there: &mut [u8]| spot.write(numbers, first.after(n).seq, there);
        let differing = Differing { at: spot.number(), bytes: bytes as usize, write };
        let fill = |out: &mut Vec<u8>| letter.text.write(out, &filling, 0);
        session.sender.messages(io, !letter.is_binary, messages, fill, differing);
    }
}
