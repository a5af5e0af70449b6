//! Several messages at once, of a client that puts nothing around them.

use app::Kind;
use app::series::Spot;
use app::template::{Kept, Mark};
use codec::Stamp;
use codec::ws::sender::{Differing, Sender};

use crate::config::{Config, SeriesOf};
use crate::event::{Event, Role};
use crate::io::Io;

/// The outcome of a message of an open session, as far as what follows it depends on that.
#[derive(Default)]
pub(super) struct SeriesOutcome {
    events: u32,
    messages: u32,
    echo: Option<(Stamp, u32)>,
}

impl SeriesOutcome {
    /// Takes note of an event. Returns true if it is a message that follows another.
    #[inline(always)]
    pub(super) fn handle(&mut self, event: Event) -> bool {
        self.events += 1;
        let Event::Message { role, stamp, bytes } = event else { return false };
        if role == Role::Echo {
            self.echo = Some((stamp, bytes));
        }
        self.messages += 1;
        self.messages > 1
    }

    /// Takes off `input` what goes on with the series of this one, which was all of `frame`.
    #[inline]
    pub(super) fn take(self, frame: &[u8], spot: Spot, input: &mut &[u8]) -> Option<Event> {
        // One echo and nothing else: with any other event, what follows may depend on it.
        let (Some((stamp, bytes)), 1) = (self.echo, self.events) else { return None };
        // The payload ends the frame, so what is before it is the header.
        let header = frame.len().checked_sub(bytes as usize)?;
        let messages = spot.behind(header).take(frame, stamp, input);
        let series = Event::Series { role: Role::Echo, first: stamp.after(1), messages, bytes };
        (messages > 0).then_some(series)
    }
}

/// Sends `messages` echoes through `sender`, of which the first has the stamp `first`. Does nothing where
/// there are no series.
pub(super) fn send(
    sender: &mut Sender,
    cfg: &Config,
    now_ns: u64,
    unix_ns: u64,
    first: Stamp,
    messages: u32,
    io: &mut impl Io,
) {
    let Some(SeriesOf { spot, bytes }) = cfg.series() else { return };
    let message_template = cfg.message_template(Kind::Echo, &first);
    let context = cfg.common.context(io, now_ns, Kept::NOTHING);
    let filling = cfg.filling(Mark { stamp: &first, unix_ns }, 0, context);
    let numbers = first.numbers();
    let write = |n, there: &mut [u8]| spot.write(numbers, first.after(n).seq, there);
    let differing = Differing { at: spot.number(), bytes: bytes as usize, write };
    let fill = |out: &mut Vec<u8>| message_template.text.write(out, &filling, 0);
    sender.messages(io, message_template.message_type, messages, fill, differing);
}
