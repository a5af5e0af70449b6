//! The occupied buckets of a histogram as bytes.
//!
//! Each bucket, from the smallest, has the difference of its value (whole µs) from the one before, and its
//! samples, both as LEB128.

use serde::{Deserialize, Serialize};

/// The upper bit of a byte, set where it is not the last of its number.
pub(super) const MORE: u8 = 0x80;

/// Value (µs) and samples of each occupied bucket, ascending.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Pairs(pub(super) Box<[u8]>);

impl Pairs {
    /// Iterates from the smallest.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut reader = Reader { bytes: &self.0, us: 0 };
        std::iter::from_fn(move || reader.next_pair())
    }

    /// Iterates over bytes that may be anything: gives `None` where they are not a pair, and arbitrary values
    /// after that.
    pub(super) fn claimed(&self) -> impl Iterator<Item = Option<(u64, u64)>> + '_ {
        let mut reader = Reader { bytes: &self.0, us: 0 };
        std::iter::from_fn(move || (!reader.bytes.is_empty()).then(|| reader.next_pair()))
    }
}

impl FromIterator<(u64, u64)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(pairs: I) -> Self {
        let mut writer = Writer::default();
        for (us, samples) in pairs {
            writer.push(us, samples);
        }
        writer.finish()
    }
}

/// A writer of the pairs, one by one.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    us: u64,
}

impl Writer {
    pub(super) fn push(&mut self, us: u64, samples: u64) {
        // Never negative, since buckets ascend; and neighbours are so near that one byte is mostly enough.
        self.number(us - self.us);
        self.number(samples);
        self.us = us;
    }

    pub(super) fn finish(self) -> Pairs {
        Pairs(self.bytes.into())
    }

    fn number(&mut self, mut number: u64) {
        while number >= MORE.into() {
            self.bytes.push(number as u8 | MORE);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    us: u64,
}

impl Reader<'_> {
    /// Reads the next pair; `None` at the end, or where the bytes are not a pair.
    fn next_pair(&mut self) -> Option<(u64, u64)> {
        self.us = self.us.checked_add(self.number()?)?;
        Some((self.us, self.number()?))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let bits = u64::from(byte & !MORE);
            // Bits that fall off the top: more than 64.
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & MORE == 0 {
                return Some(number);
            }
        }
        None
    }
}
