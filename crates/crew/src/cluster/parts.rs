//! Messages of any size over a bus that takes small ones, may lose them, and keeps each sender's order.
//!
//! A part is: the form's number (u8), the sender (u64), the part's number at its sender (u64), which ends of
//! its message it is (u8), all little-endian, and its bytes. Rules: parts are numbered without a gap; a gap
//! is a loss, which ends the message that it tears; lost parts are not sent again, because a late broadcast
//! is of no use.

use std::collections::HashMap;

/// The version understood.
const FORM: u8 = 1;
const HEAD_BYTES: usize = 18;
/// The part begins its message.
const FIRST: u8 = 1;
/// The part ends its message.
const LAST: u8 = 2;
/// The largest message: as much as a server lets wait.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Bytes of unfinished messages of all senders.
const UNFINISHED_BYTES_MAX: usize = 256 << 20;
/// Senders that are remembered; a cluster has fewer servers, but each that starts again is a new one.
const SENDERS_MAX: usize = 4_096;

/// The sender's end.
pub(super) struct Splitter {
    sender: u64,
    next: u64,
}

impl Splitter {
    pub(super) fn new(sender: u64) -> Self {
        Self { sender, next: 0 }
    }

    /// The parts of a message, which must not be empty, for a bus that takes this many bytes at once.
    pub(super) fn split(&mut self, message: &[u8], payload_bytes_max: usize) -> Vec<Vec<u8>> {
        let chunks = message.chunks(payload_bytes_max.saturating_sub(HEAD_BYTES).max(1));
        let last = chunks.len() - 1;
        let part = |(at, chunk): (usize, &[u8])| {
            let ends = (u8::from(at == 0) * FIRST) | (u8::from(at == last) * LAST);
            let mut part = Vec::with_capacity(HEAD_BYTES + chunk.len());
            part.push(FORM);
            part.extend(self.sender.to_le_bytes());
            part.extend(self.next.to_le_bytes());
            part.push(ends);
            part.extend_from_slice(chunk);
            self.next += 1;
            part
        };
        chunks.enumerate().map(part).collect()
    }
}

/// The receivers' end. Its input may be anything.
#[derive(Default)]
pub(super) struct Joiner {
    senders: HashMap<u64, Sender>,
    /// Number of parts received so far, which serves as a clock of senders.
    heard: u64,
    unfinished_bytes: usize,
    /// Parts that did not come, or were malformed.
    pub(super) lost: u64,
}

struct Sender {
    next: u64,
    /// When the sender was last heard, in parts received.
    heard: u64,
    /// The message so far; empty between messages.
    message: Vec<u8>,
}

impl Joiner {
    /// Takes a part, and returns the message that it completes.
    pub(super) fn handle(&mut self, part: &[u8]) -> Option<Vec<u8>> {
        let Some((number, sender, ends, bytes)) = read(part) else {
            self.lost = self.lost.saturating_add(1);
            return None;
        };
        if !self.senders.contains_key(&sender) && self.senders.len() == SENDERS_MAX {
            self.forget_longest_silent();
        }
        self.heard += 1;
        // The first part heard of a sender sets its count: what it published before we joined is not lost.
        let sender = self.senders.entry(sender).or_insert_with(|| Sender {
            next: number,
            heard: 0,
            message: Vec::new(),
        });
        sender.heard = self.heard;
        let is_torn = number != sender.next;
        self.lost = self.lost.saturating_add(number.saturating_sub(sender.next));
        sender.next = number.saturating_add(1);
        let is_continued = !sender.message.is_empty();
        // A beginning in the midst of a message, or a continuation of none: either way what is here will
        // never be whole.
        if is_torn || is_continued == (ends & FIRST != 0) {
            self.unfinished_bytes -= sender.message.len();
            sender.message = Vec::new();
        }
        if ends & FIRST == 0 && sender.message.is_empty() {
            return None; // its beginning was lost, and is counted
        }
        let whole_bytes = sender.message.len() + bytes.len();
        if whole_bytes > MESSAGE_BYTES_MAX || self.unfinished_bytes + bytes.len() > UNFINISHED_BYTES_MAX {
            self.unfinished_bytes -= sender.message.len();
            sender.message = Vec::new();
            self.lost = self.lost.saturating_add(1);
            return None;
        }
        sender.message.extend_from_slice(bytes);
        self.unfinished_bytes += bytes.len();
        if ends & LAST == 0 {
            return None;
        }
        self.unfinished_bytes -= sender.message.len();
        Some(std::mem::take(&mut sender.message))
    }

    /// Makes room for a new sender: the one that has been silent for longest has most likely ended.
    fn forget_longest_silent(&mut self) {
        let silent = self.senders.iter().min_by_key(|(_, sender)| sender.heard).map(|(&sender, _)| sender);
        if let Some(sender) = silent.and_then(|sender| self.senders.remove(&sender)) {
            self.unfinished_bytes -= sender.message.len();
            self.lost = self.lost.saturating_add(u64::from(!sender.message.is_empty()));
        }
    }
}

/// Number, sender, ends and bytes of a part.
fn read(part: &[u8]) -> Option<(u64, u64, u8, &[u8])> {
    let (head, bytes) = part.split_first_chunk::<HEAD_BYTES>()?;
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let ends = head[17];
    let is_sound = head[0] == FORM && ends <= (FIRST | LAST) && !bytes.is_empty();
    is_sound.then(|| (word(9), word(1), ends, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: usize = HEAD_BYTES + 4;

    fn all(joiner: &mut Joiner, parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
        parts.iter().filter_map(|part| joiner.handle(part)).collect()
    }

    #[test]
    fn interleaved_messages_come_whole() {
        let (mut one, mut other, mut joiner) = (Splitter::new(1), Splitter::new(2), Joiner::default());
        let one_parts = one.split(b"0123456789", PAYLOAD);
        let other_parts = other.split(b"abcde", PAYLOAD);
        assert_eq!((one_parts.len(), other_parts.len()), (3, 2));
        let mixed =
            [&one_parts[0], &other_parts[0], &one_parts[1], &other_parts[1], &one_parts[2]].map(Clone::clone);
        assert_eq!(all(&mut joiner, &mixed), [b"abcde".to_vec(), b"0123456789".to_vec()]);
        assert_eq!((joiner.lost, joiner.unfinished_bytes), (0, 0));
    }

    #[test]
    fn gaps_are_counted_and_tear_one_message() {
        for lost in 0..3 {
            let (mut splitter, mut joiner) = (Splitter::new(1), Joiner::default());
            all(&mut joiner, &splitter.split(b"before", PAYLOAD));
            let mut parts = splitter.split(b"0123456789", PAYLOAD);
            parts.remove(lost);
            parts.extend(splitter.split(b"after", PAYLOAD));
            assert_eq!(all(&mut joiner, &parts), [b"after".to_vec()], "part {lost} lost");
            assert_eq!((joiner.lost, joiner.unfinished_bytes), (1, 0));
        }
    }

    #[test]
    fn late_members_have_lost_nothing() {
        let (mut splitter, mut joiner) = (Splitter::new(1), Joiner::default());
        splitter.split(b"long ago", PAYLOAD);
        assert_eq!(all(&mut joiner, &splitter.split(b"now", PAYLOAD)), [b"now".to_vec()]);
        assert_eq!(joiner.lost, 0);
    }

    #[test]
    fn new_senders_replace_the_longest_silent() {
        let (mut first, mut joiner) = (Splitter::new(0), Joiner::default());
        let torn = &Splitter::new(1).split(b"0123456789", PAYLOAD)[..1];
        all(&mut joiner, &first.split(b"one", PAYLOAD));
        all(&mut joiner, torn);
        for sender in 2..SENDERS_MAX as u64 {
            all(&mut joiner, &Splitter::new(sender).split(b"old", PAYLOAD));
        }
        all(&mut joiner, &first.split(b"two", PAYLOAD));
        assert_eq!((joiner.senders.len(), joiner.lost, joiner.unfinished_bytes), (SENDERS_MAX, 0, 4));
        let new = Splitter::new(u64::MAX).split(b"new", PAYLOAD);
        assert_eq!(all(&mut joiner, &new), [b"new".to_vec()]);
        assert_eq!((joiner.senders.len(), joiner.lost, joiner.unfinished_bytes), (SENDERS_MAX, 1, 0));
        assert!(joiner.senders.contains_key(&0) && !joiner.senders.contains_key(&1));
    }

    #[test]
    fn anything_may_come() {
        let (mut rng, mut joiner) = (fastrand::Rng::with_seed(3), Joiner::default());
        for _ in 0..100_000 {
            let mut part: Vec<u8> = (0..rng.usize(..40)).map(|_| rng.u8(..)).collect();
            if let [form, sender @ .., _, _, _, _, _, _, _, _, _, _] = &mut part[..] {
                *form = FORM;
                sender.fill(0);
            }
            joiner.handle(&part);
        }
        let held: usize = joiner.senders.values().map(|sender| sender.message.len()).sum();
        assert_eq!(joiner.unfinished_bytes, held);
        assert!(joiner.senders.len() <= SENDERS_MAX);
    }
}
