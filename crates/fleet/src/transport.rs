//! Messages of any size, whole, once and in order, over a bus that may lose or delay what it carries.
//!
//! NATS delivers at most once: what is under way when it restarts is gone. Both ends of a link therefore have
//! a transport. Rules: a message goes out in numbered parts no larger than the bus takes; the receiver takes
//! the part it expects and drops any other; whatever either side sends says which part it expects next, which
//! acknowledges all before; a part that stays unacknowledged for [`RESEND_NS`] goes out again, with all after
//! it. Time is an argument.

use std::collections::VecDeque;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::envelope::Envelope;

/// Time after which a part goes out again. Acknowledgements come with every beat, several times as often.
const RESEND_NS: u64 = 1_200_000_000;
/// Most parts under way at once, which a slow bus has to hold for one link.
const WINDOW_PARTS: usize = 32;
/// Parts that wait to go out, under way or not, beyond which only messages that steer a step are taken.
const PARTS_WAITING_MAX: usize = 2 * WINDOW_PARTS;
/// The largest part, however large a message the bus would take.
const PART_BYTES_MAX: usize = 256 << 10;
/// The largest message that is believed: a step's books with 2²² broadcasts, and to spare.
const MESSAGE_BYTES_MAX: usize = 1 << 29;

/// A part as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) number: u32,
    /// True if it ends its message.
    pub(crate) last: bool,
    pub(crate) bytes: Vec<u8>,
}

/// The error of input that no transport sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolViolation;

/// One end of a link.
pub(crate) struct Transport {
    part_bytes: usize,
    /// Parts that are not acknowledged, in order; the parts under way come first.
    parts: VecDeque<Part>,
    /// How many parts are under way.
    under_way: usize,
    /// The time since which the first of these is waited for.
    since_ns: u64,
    next_number: u32,
    expected: u32,
    message: Vec<u8>,
    /// The envelopes that seal what goes out, and open what comes in.
    seals: Option<Envelope>,
    opens: Option<Envelope>,
}

impl Transport {
    /// A transport over a bus that takes payloads of `payload_bytes_max`; `overhead` of these are not the
    /// transport's.
    pub(crate) fn new(payload_bytes_max: usize, overhead: usize) -> Self {
        let part_bytes = payload_bytes_max.saturating_sub(overhead).clamp(1, PART_BYTES_MAX);
        Self {
            part_bytes,
            parts: VecDeque::new(),
            under_way: 0,
            since_ns: 0,
            next_number: 0,
            expected: 0,
            message: Vec::new(),
            seals: None,
            opens: None,
        }
    }

    /// Seals what goes out, so that only the other end can read it.
    pub(crate) fn sealing(self, envelope: Envelope) -> Self {
        Self { seals: Some(envelope), ..self }
    }

    /// Opens what comes in, which the other end seals.
    pub(crate) fn opening(self, envelope: Envelope) -> Self {
        Self { opens: Some(envelope), ..self }
    }

    /// Takes a message to be carried.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        let bytes = postcard::to_stdvec(message).expect("our messages can be encoded");
        let bytes = self.seals.as_ref().map(|envelope| envelope.seal(&bytes)).unwrap_or(bytes);
        let chunks = bytes.chunks(self.part_bytes);
        let last = chunks.len() - 1;
        for (k, chunk) in chunks.enumerate() {
            self.parts.push_back(Part { number: self.next_number, last: k == last, bytes: chunk.to_vec() });
            self.next_number += 1;
        }
    }

    /// The next part to go out now, if any.
    pub(crate) fn poll_part(&mut self, now_ns: u64) -> Option<Part> {
        if self.under_way > 0 && now_ns.saturating_sub(self.since_ns) >= RESEND_NS {
            // Go-back-N: the receiver keeps nothing that is out of order, so all after a lost part have to
            // come again.
            self.under_way = 0;
        }
        let part = self.parts.get(self.under_way).filter(|_| self.under_way < WINDOW_PARTS)?;
        if self.under_way == 0 {
            self.since_ns = now_ns;
        }
        self.under_way += 1;
        Some(part.clone())
    }

    /// Handles an acknowledgement: the other end has all parts before `expected`.
    pub(crate) fn handle_ack(&mut self, expected: u32, now_ns: u64) {
        while self.under_way > 0 && self.parts.front().is_some_and(|part| part.number < expected) {
            self.parts.pop_front();
            self.under_way -= 1;
            // Progress starts the wait anew: a slow link that still acknowledges is not sent everything
            // twice.
            self.since_ns = now_ns;
        }
    }

    /// The part that is expected next, to be told to the other end.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }

    /// Returns whether a message that can wait may go out: at most half of what may be under way is taken up.
    pub(crate) fn has_room(&self) -> bool {
        self.parts.len() < WINDOW_PARTS / 2
    }

    /// Returns whether too much waits to add more.
    pub(crate) fn is_full(&self) -> bool {
        self.parts.len() >= PARTS_WAITING_MAX
    }

    /// Returns whether all messages have arrived.
    pub(crate) fn is_idle(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes a part, and returns the message that it completes, if it does.
    pub(crate) fn handle_part<T: DeserializeOwned>(
        &mut self,
        part: &Part,
    ) -> Result<Option<T>, ProtocolViolation> {
        if part.number != self.expected {
            return Ok(None); // lost ones before it come again, and it with them; or it has come already
        }
        if self.message.len() + part.bytes.len() > MESSAGE_BYTES_MAX {
            return Err(ProtocolViolation);
        }
        self.expected = self.expected.checked_add(1).ok_or(ProtocolViolation)?;
        self.message.extend_from_slice(&part.bytes);
        if !part.last {
            return Ok(None);
        }
        let message = std::mem::take(&mut self.message);
        let message = match &self.opens {
            Some(envelope) => envelope.open(&message).ok_or(ProtocolViolation)?,
            None => message,
        };
        postcard::from_bytes(&message).map(Some).map_err(|_| ProtocolViolation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Transport, Transport) {
        (Transport::new(74, 64), Transport::new(74, 64))
    }

    /// Carries everything from one to the other, except the parts that `lose` names, until both have said
    /// all.
    fn carry(from: &mut Transport, to: &mut Transport, mut lose: impl FnMut(u32) -> bool) -> Vec<String> {
        let (mut now_ns, mut messages) = (0, Vec::new());
        while !from.is_idle() {
            assert!(now_ns < 1_000 * RESEND_NS, "a link that makes no progress");
            while let Some(part) = from.poll_part(now_ns) {
                assert!(part.bytes.len() <= 10);
                if !lose(part.number) {
                    messages.extend(to.handle_part::<String>(&part).unwrap());
                }
            }
            now_ns += RESEND_NS / 2;
            from.handle_ack(to.expected(), now_ns);
        }
        messages
    }

    #[test]
    fn messages_survive_any_loss_in_order() {
        let (mut from, mut to) = pair();
        let sent: Vec<String> =
            ["", "short", "one-that-takes-several-parts-to-arrive"].map(Into::into).to_vec();
        for message in &sent {
            from.send(message);
        }
        assert_eq!(carry(&mut from, &mut to, |_| false), sent);

        let mut rng = fastrand::Rng::with_seed(7);
        let many: Vec<String> = (0..200).map(|k| "x".repeat(k % 35)).collect();
        for message in &many {
            from.send(message);
        }
        assert_eq!(carry(&mut from, &mut to, |_| rng.u8(..) < 40), many);
    }

    #[test]
    fn repeated_messages_count_once() {
        let (mut from, mut to) = pair();
        from.send(&"hello".to_owned());
        let part = from.poll_part(0).unwrap();
        assert_eq!(to.handle_part::<String>(&part), Ok(Some("hello".into())));
        assert_eq!(to.handle_part::<String>(&part), Ok(None));
        assert_eq!(from.poll_part(RESEND_NS), Some(part), "nobody has acknowledged it");
    }

    #[test]
    fn lost_messages_come_again_despite_later_ones() {
        let (mut from, _) = pair();
        from.send(&0u8);
        let lost = from.poll_part(0);
        for k in 1..10 {
            from.send(&0u8);
            assert!(from.poll_part(k * RESEND_NS / 10).is_some_and(|part| Some(&part) != lost.as_ref()));
        }
        assert_eq!(from.poll_part(RESEND_NS), lost);
    }

    #[test]
    fn a_slow_bus_holds_a_window_at_most() {
        let (mut from, _) = pair();
        for _ in 0..100 {
            from.send(&7u8);
        }
        assert_eq!(std::iter::from_fn(|| from.poll_part(0)).count(), WINDOW_PARTS);
    }

    #[test]
    fn full_windows_take_on_no_more() {
        let (mut from, mut to) = pair();
        while !from.is_full() {
            from.send(&7u8);
        }
        assert_eq!(from.parts.len(), PARTS_WAITING_MAX);
        while let Some(part) = from.poll_part(0) {
            let _ = to.handle_part::<u8>(&part);
        }
        from.handle_ack(to.expected(), 1);
        assert!(!from.is_full() && !from.has_room(), "a window's worth is left");
    }

    #[test]
    fn nonsense_is_an_error() {
        let (_, mut to) = pair();
        let part = Part { number: 0, last: true, bytes: vec![0xff; 9] };
        assert_eq!(to.handle_part::<String>(&part), Err(ProtocolViolation));
    }
}
