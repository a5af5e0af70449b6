//! Turns of senders that may be gone for a while: the next one that takes a message.
//!
//! Rules. A sender that takes none when its turn comes has no further turns until it returns: else each
//! message would ask all that are gone. A word holds 64 senders, so that few among many are found at once.

/// The senders' turns, by their places in a list.
#[derive(Debug)]
pub(crate) struct Turns {
    senders: usize,
    /// The place whose turn it is.
    next: usize,
    /// A bit for each sender that may take a message.
    ready: Vec<u64>,
}

impl Turns {
    /// Turns of `senders` senders that all may take a message.
    pub(crate) fn new(senders: usize) -> Self {
        let mut turns = Self { senders, next: 0, ready: vec![0; senders.div_ceil(64)] };
        for place in 0..senders {
            turns.handle_return(place);
        }
        turns
    }

    /// Notes that a sender may take a message again.
    pub(crate) fn handle_return(&mut self, place: usize) {
        self.ready[place / 64] |= 1 << (place % 64);
    }

    /// The next sender in turn that `takes` a message; `None` if none does.
    pub(crate) fn take(&mut self, takes: impl Fn(usize) -> bool) -> Option<usize> {
        while let Some(place) = self.next_ready() {
            if takes(place) {
                self.next = (place + 1) % self.senders;
                return Some(place);
            }
            self.ready[place / 64] &= !(1 << (place % 64));
        }
        None
    }

    /// The sender in turn, whether it takes a message or not. There is one at least.
    pub(crate) fn skip(&mut self) -> usize {
        let place = self.next;
        self.next = (place + 1) % self.senders;
        place
    }

    fn next_ready(&self) -> Option<usize> {
        let (words, first, ahead) = (self.ready.len(), self.next / 64, u64::MAX << (self.next % 64));
        // The first word comes twice: what is ahead of the turn in it, and at last what is behind.
        (0..=words).find_map(|k| {
            let word = (first + k) % words;
            let bits = self.ready[word] & if k == 0 { ahead } else { u64::MAX };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn few_among_many_are_found_without_looks() {
        let (mut turns, asked) = (Turns::new(1_000), Cell::new(0));
        let takes = |place: usize| {
            asked.set(asked.get() + 1);
            [3, 70, 999].contains(&place)
        };
        let taken: Vec<_> = (0..300).filter_map(|_| turns.take(takes)).collect();
        assert_eq!((taken.len(), &taken[..4]), (300, &[3, 70, 999, 3][..]));
        assert_eq!(asked.get(), 1_000 - 3 + 300);
    }

    #[test]
    fn returned_senders_have_their_turn() {
        let mut turns = Turns::new(65);
        assert_eq!((turns.take(|_| false), turns.take(|_| true)), (None, None));
        assert_eq!([turns.skip(), turns.skip()], [0, 1]);
        for place in [0, 64] {
            turns.handle_return(place);
        }
        assert_eq!([0; 3].map(|_| turns.take(|_| true)), [Some(64), Some(0), Some(64)]);
    }
}
