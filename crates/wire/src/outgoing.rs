//! Output that a peer has not taken yet.
//!
//! One message of any size may go out in parts, and one of any size may wait behind it, and then no more than
//! [`WAITING_BYTES_MAX`]: a peer that does not read is found out by that, and not by the memory it takes.

/// The most that waits behind the message that is going out in parts, and however large one of them is.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// The room that is kept when all is out.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// Messages, end to end, of which the first may have gone out in part.
#[derive(Default, Debug)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// How much of it is out.
    sent: usize,
    /// The end of the message that is going out in parts.
    first_end: usize,
}

impl Outgoing {
    /// The bytes to go out next.
    #[inline]
    pub fn left(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Adds the message, or nothing, that `write` appends. Returns what `write` returned, and whether there
    /// was room for the message.
    pub fn add<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> (T, bool) {
        let (before, waiting) = (self.bytes.len(), self.bytes.len() - self.sent.max(self.first_end));
        let result = write(&mut self.bytes);
        let added = self.bytes.len() - before;
        if before == 0 {
            self.first_end = added;
        }
        (result, added == 0 || waiting == 0 || waiting + added <= WAITING_BYTES_MAX)
    }

    /// Takes bytes that are out.
    pub fn spend(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES_MAX);
            (self.sent, self.first_end) = (0, 0);
        // Moved once more than half is out: no byte is moved more often than it is written, on average.
        } else if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.first_end = self.first_end.saturating_sub(self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 8 << 20;

    fn add(outgoing: &mut Outgoing, bytes: usize) -> bool {
        outgoing.add(|out| out.resize(out.len() + bytes, b'x')).1
    }

    #[test]
    fn messages_behind_two_large_ones_are_bounded() {
        let mut outgoing = Outgoing::default();
        assert!(add(&mut outgoing, LARGE) && add(&mut outgoing, LARGE) && add(&mut outgoing, 0));
        assert!(!add(&mut outgoing, 1));
        let mut outgoing = Outgoing::default();
        assert!(add(&mut outgoing, LARGE));
        assert!((0..2).all(|_| add(&mut outgoing, WAITING_BYTES_MAX / 2)) && !add(&mut outgoing, 1));
    }

    #[test]
    fn bytes_go_out_in_order_and_free_room() {
        let mut outgoing = Outgoing::default();
        let all: Vec<u8> = (0..LARGE).map(|at| (at % 251) as u8).collect();
        outgoing.add(|out| out.extend_from_slice(&all));
        let mut out = Vec::new();
        while !outgoing.left().is_empty() {
            let part = &outgoing.left()[..outgoing.left().len().min(1 << 20)];
            out.extend_from_slice(part);
            let bytes = part.len();
            outgoing.spend(bytes);
        }
        assert!(out == all);
        assert!(outgoing.bytes.capacity() <= KEPT_BYTES_MAX, "{}", outgoing.bytes.capacity());
    }
}
