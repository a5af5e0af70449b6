//! Words as lowercase hex digits, eight at a time and without a branch for each.

/// Writes a word as sixteen digits.
#[inline(always)]
pub(super) fn write(word: u64, digits: &mut [u8; 16]) {
    let [high, low] = [word >> 32, word].map(|half| half_digits(half as u32).to_be_bytes());
    digits[..8].copy_from_slice(&high);
    digits[8..].copy_from_slice(&low);
}

/// The word that sixteen digits are, if they are that.
#[inline(always)]
pub(super) fn read(digits: &[u8; 16]) -> Option<u64> {
    let (high, low) = digits.split_at(8);
    Some(u64::from(read_half(high)?) << 32 | u64::from(read_half(low)?))
}

/// The value of eight digits, if they are that.
#[inline(always)]
fn read_half(digits: &[u8]) -> Option<u32> {
    let digits = u64::from_be_bytes(digits.try_into().expect("8 bytes"));
    let value = half_value(digits);
    // What is no digit has some value too, but not these digits.
    (half_digits(value) == digits).then_some(value)
}

/// Eight lowercase hex digits, the first in the top byte.
#[inline]
fn half_digits(value: u32) -> u64 {
    let mut x = u64::from(value);
    // Each line doubles how many pieces the word is in, until every nibble has a byte of its own.
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Six more take a nibble of ten and above into the fifth bit: a one for each letter, without a branch.
    let letters = ((x + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    x + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'0' - 10)
}

/// The value of eight lowercase hex digits; of anything else, some value.
#[inline]
fn half_value(digits: u64) -> u32 {
    // The bit that letters (0x61…) have and digits (0x30…) do not. A letter's low nibble counts from 1,
    // hence nine more.
    let letters = (digits >> 6) & 0x0101_0101_0101_0101;
    let mut x = (digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_add(letters * 9);
    x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_what_the_formatter_prints() {
        for value in [0, 1, 9, 10, 0x9a_bcde, u32::MAX, 0x0f0f_f0f0] {
            let digits = half_digits(value);
            assert_eq!(std::str::from_utf8(&digits.to_be_bytes()).unwrap(), format!("{value:08x}"));
            assert_eq!(half_value(digits), value);
        }
    }
}
