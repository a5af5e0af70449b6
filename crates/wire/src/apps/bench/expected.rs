//! Checks of a message with a sound stamp.

use app::people::one_of;
use app::template::{Piece, Template};
use codec::Stamp;

/// How messages end, and which wall clock they show.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// The end of every message: padding and what closes it.
    tail: Vec<u8>,
    /// Endings of messages, where they differ: which one follows from a message's stamp, so that any receiver
    /// knows what it must have been.
    tails: Vec<Vec<u8>>,
    /// The offset from a stamp's clock to the wall clock that messages show; `None`: they may show any.
    unix_minus_now_ns: Option<u64>,
}

impl Expected {
    /// Messages that all end in this.
    pub(super) fn new(tail: Vec<u8>) -> Expected {
        Expected { tail, tails: Vec::new(), unix_minus_now_ns: None }
    }

    /// Gives messages these ends. Each client sends all of them about equally often.
    pub(super) fn with_tails(self, tails: Vec<Vec<u8>>) -> Expected {
        Expected { tails, ..self }
    }

    pub(super) fn with_wall_clock(self, unix_minus_now_ns: u64) -> Expected {
        Expected { unix_minus_now_ns: Some(unix_minus_now_ns), ..self }
    }

    /// The end, as it is written.
    pub(super) fn template(&self) -> Template {
        match self.is_varied() {
            true => Template::default().hole(Piece::Tail),
            false => Template::literal(&self.tail),
        }
    }

    /// The wall clock that the message with this stamp shows, if that is known.
    #[inline]
    pub(crate) fn unix_ns_of(&self, stamp: Stamp) -> Option<u64> {
        self.unix_minus_now_ns.map(|more_ns| stamp.sent_ns().wrapping_add(more_ns))
    }

    /// The end of messages that are all alike.
    #[inline]
    pub(super) fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Returns whether these are the bytes of the tail. An empty one is not compared: the masked loads of a
    /// vectorised `memcmp` take a hundred nanoseconds to find out that an empty vector's pointer is not to be
    /// followed.
    #[inline]
    pub(super) fn is_tail(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.tail.len() && (bytes.is_empty() || bytes == self.tail)
    }

    /// Returns whether messages differ.
    #[inline]
    pub(super) fn is_varied(&self) -> bool {
        !self.tails.is_empty()
    }

    /// Returns whether these are the bytes that the message with this stamp ends with.
    #[inline]
    pub(super) fn is_tail_of(&self, stamp: Stamp, bytes: &[u8]) -> bool {
        if self.is_varied() { bytes == self.tail_of(&stamp) } else { self.is_tail(bytes) }
    }

    /// The ending of the message with this stamp.
    #[inline]
    pub(crate) fn tail_of(&self, stamp: &Stamp) -> &[u8] {
        match self.tails.len() {
            0 => &self.tail,
            // Not by the number alone: clients that send in turn would have the same endings each time.
            n => &self.tails[one_of(n, stamp.worker, stamp.client, stamp.seq)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of these endings comes.
    fn counts(endings: u8, stamps: impl Iterator<Item = Stamp>) -> Vec<u32> {
        let tails = (0..endings).map(|ending| vec![ending]).collect();
        let expected = Expected::new(Vec::new()).with_tails(tails);
        let mut counts = vec![0; usize::from(endings)];
        for stamp in stamps {
            counts[usize::from(expected.tail_of(&stamp)[0])] += 1;
        }
        counts
    }

    #[test]
    fn endings_are_even_for_any_senders() {
        for endings in [2, 3, 10, 64] {
            for senders in [1, 2, 50, 64, 100] {
                let messages = 64 * u32::from(endings);
                let stamp = |client, seq| Stamp::new(0, client, seq, 0, 0);
                let in_turn = counts(endings, (0..messages).map(|n| stamp(n % senders, n)));
                let of_one = counts(endings, (0..messages).map(|turn| stamp(0, turn * senders)));
                let echoes = counts(endings, (0..messages).map(|n| stamp(senders, n)));
                for counts in [in_turn, of_one, echoes] {
                    assert!(counts.iter().all(|n| (32..=96).contains(n)), "{senders} senders: {counts:?}");
                }
            }
        }
    }
}
