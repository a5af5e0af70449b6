//! Messages of one sender that were due and sent at the same time: nothing tells them apart but the numbers
//! in their stamps.
//!
//! They go out in one write, and what an echo brings back of them mostly comes in one read. So what one of
//! them is made of, or means, is found out once, and each further one is written, or compared to the last
//! byte, as what follows it.

use std::ops::Range;

use codec::Stamp;
use codec::stamp::{self, Numbers};

/// The place of the stamp in each message of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The number of bytes before the stamp.
    pub at: usize,
    /// True if the stamp is in text form.
    pub is_text: bool,
}

impl Spot {
    /// The spot if `bytes` further bytes come before the stamp.
    #[inline]
    pub fn behind(self, bytes: usize) -> Spot {
        Spot { at: self.at + bytes, ..self }
    }

    /// The bytes that differ: the number in the stamp, and its check.
    #[inline]
    pub fn number(self) -> Range<usize> {
        let within = if self.is_text { stamp::TEXT_NUMBER } else { stamp::BINARY_NUMBER };
        self.at + within.start..self.at + within.end
    }

    /// Writes there what differs in the message of this number.
    #[inline(always)]
    pub fn write(self, numbers: Numbers, seq: u32, there: &mut [u8]) {
        match self.is_text {
            true => *there.first_chunk_mut().expect("it takes so many") = numbers.text(seq),
            false => *there.first_chunk_mut().expect("it takes so many") = numbers.binary(seq),
        }
    }

    /// Takes the messages off `input` that follow `message`, which has this stamp, and returns how many; 0 if
    /// the stamp of `message` is elsewhere.
    #[inline]
    pub fn take(self, message: &[u8], stamp: Stamp, input: &mut &[u8]) -> u32 {
        let number = self.number();
        let (Some(before), Some(behind)) = (message.get(..number.start), message.get(number.end..)) else {
            return 0;
        };
        // What is of another time is found out before anything else is looked at.
        if !input.starts_with(before) || !self.holds(message, stamp) {
            return 0;
        }
        let (numbers, mut messages) = (stamp.numbers(), 0);
        while let Some((next, rest)) = input.split_at_checked(message.len())
            && self.is(numbers, stamp.after(messages + 1).seq, &next[number.clone()])
            && next[..number.start] == *before
            && next[number.end..] == *behind
        {
            (*input, messages) = (rest, messages + 1);
        }
        messages
    }

    /// Returns whether the bytes that differ are those of the message with this number.
    #[inline(always)]
    fn is(self, numbers: Numbers, seq: u32, there: &[u8]) -> bool {
        match self.is_text {
            true => there.first_chunk() == Some(&numbers.text(seq)),
            false => there.first_chunk() == Some(&numbers.binary(seq)),
        }
    }

    /// Returns whether this stamp is there.
    #[inline]
    fn holds(self, message: &[u8], stamp: Stamp) -> bool {
        let Some(there) = message.get(self.at..) else { return false };
        match self.is_text {
            true => there.starts_with(&stamp.to_text()),
            false => there.starts_with(&stamp.to_binary()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp =
        Stamp { run: 9, worker: 3, client: 7, seq: 254, intended_ns: 99, lag: stamp::Lag::NONE };

    fn message(is_text: bool, stamp: Stamp) -> Vec<u8> {
        let id = if is_text { stamp.to_text().to_vec() } else { stamp.to_binary().to_vec() };
        [b"{\"id\":\"", &id[..], b"\"}"].concat()
    }

    #[test]
    fn written_messages_are_consecutive() {
        for is_text in [false, true] {
            let spot = Spot { at: 7, is_text };
            let mut bytes = message(is_text, STAMP);
            spot.write(STAMP.numbers(), STAMP.after(2).seq, &mut bytes[spot.number()]);
            assert_eq!(bytes, message(is_text, STAMP.after(2)));
        }
    }

    #[test]
    fn messages_that_follow_are_taken_and_no_others() {
        for is_text in [false, true] {
            let spot = Spot { at: 7, is_text };
            let nth = |n| message(is_text, STAMP.after(n));
            let taken = |input: &[u8]| {
                let mut rest = input;
                (spot.take(&nth(0), STAMP, &mut rest), rest.len())
            };
            let two = [nth(1), nth(2)].concat();
            assert_eq!(taken(&two), (2, 0));
            assert_eq!(taken(&[&two[..], &nth(4)].concat()), (2, nth(4).len()), "one is missing");
            assert_eq!(taken(&[nth(2), nth(1)].concat()), (0, 2 * nth(1).len()), "in another order");
            assert_eq!(taken(&two[..two.len() - 1]), (1, nth(2).len() - 1), "the last is not whole");
            for at in 0..nth(1).len() {
                let mut damaged = two.clone();
                damaged[at] ^= 1;
                assert_eq!(taken(&damaged), (0, damaged.len()), "byte {at}");
            }
            let mut two = &two[..];
            assert_eq!(spot.behind(1).take(&nth(0), STAMP, &mut two), 0, "the stamp is elsewhere");
        }
    }
}
