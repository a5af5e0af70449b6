//! How late a message was sent.

/// How late a message was sent, in 24 bits: a number of 20 bits, in units of [`LAG_UNIT_NS`] times a power of
/// two. So it is exact to the unit for the first second, and beyond it to two millionths of itself, for nine
/// hours; more counts as that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lag(u32);

/// The unit of a [`Lag`] below a second.
pub const LAG_UNIT_NS: u64 = 1 << UNIT_BITS;

/// Bits of a [`Lag`].
pub(super) const LAG_BITS: u32 = 24;

// 2^20 units of 1,024 ns are just over a second; doubled 15 times, nine hours.
const UNIT_BITS: u32 = 10;
const NUMBER_BITS: u32 = 20;
const POWER_MAX: u32 = 15;

impl Lag {
    /// Sent when it was due.
    pub const NONE: Lag = Lag(0);

    /// The largest that is not more than this.
    #[inline]
    pub fn of_ns(ns: u64) -> Lag {
        let units = ns >> UNIT_BITS;
        let bits = u64::BITS - units.leading_zeros();
        let power = bits.saturating_sub(NUMBER_BITS);
        if power > POWER_MAX {
            return Lag((1 << LAG_BITS) - 1);
        }
        Lag(power << NUMBER_BITS | (units >> power) as u32)
    }

    /// The lag in nanoseconds.
    #[inline]
    pub fn ns(self) -> u64 {
        let number = u64::from(self.0 & ((1 << NUMBER_BITS) - 1));
        number << (self.0 >> NUMBER_BITS) << UNIT_BITS
    }

    /// The lag of these [`LAG_BITS`] bits.
    #[inline(always)]
    pub(super) const fn from_bits(bits: u32) -> Lag {
        Lag(bits)
    }

    /// Its [`LAG_BITS`] bits.
    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        self.0
    }
}
