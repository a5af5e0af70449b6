//! MD5 (RFC 1321), which protects nothing any more, but is part of what others sign: Pusher's `body_md5`.

/// Bytes of a digest.
pub(super) const BYTES: usize = 16;

const BLOCK_BYTES: usize = 64;
/// Bytes of the message's length, behind the padding.
const LENGTH_BYTES: usize = 8;
/// Rotations of the four rounds (§3.4).
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
/// The words A, B, C and D before the first block (§3.3).
const START: [u32; 4] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
/// The table T (§3.4): the integer part of 2³² × |sin(i)|, i in radians from 1.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];

/// The digest of a text.
pub(super) fn md5(text: &[u8]) -> [u8; BYTES] {
    let mut padded = text.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + LENGTH_BYTES).next_multiple_of(BLOCK_BYTES) - LENGTH_BYTES, 0);
    padded.extend_from_slice(&(text.len() as u64).wrapping_mul(8).to_le_bytes());
    let mut state = START;
    for block in padded.chunks_exact(BLOCK_BYTES) {
        let sums = transformed(state, block);
        for (word, sum) in state.iter_mut().zip(sums) {
            *word = word.wrapping_add(sum);
        }
    }
    let mut digest = [0; BYTES];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

/// The state after the four rounds of a block.
fn transformed([mut a, mut b, mut c, mut d]: [u32; 4], block: &[u8]) -> [u32; 4] {
    for (step, sine) in SINES.into_iter().enumerate() {
        let (round, of_round) = (step / 16, step % 16);
        let (mixed, word) = match round {
            0 => ((b & c) | (!b & d), of_round),
            1 => ((b & d) | (c & !d), (5 * of_round + 1) % 16),
            2 => (b ^ c ^ d, (3 * of_round + 5) % 16),
            _ => (c ^ (b | !d), (7 * of_round) % 16),
        };
        let word = block[4 * word..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let sum = a.wrapping_add(mixed).wrapping_add(word).wrapping_add(sine);
        let rotated = sum.rotate_left(SHIFTS[round][of_round % 4]);
        (a, b, c, d) = (d, b.wrapping_add(rotated), b, c);
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test suite of RFC 1321 §A.5, and lengths around a block's.
    #[test]
    fn digests_are_those_of_the_rfc() {
        let digits = "1234567890".repeat(8);
        for (text, digest) in [
            ("", 0xd41d8cd98f00b204e9800998ecf8427e_u128),
            ("abc", 0x900150983cd24fb0d6963f7d28e17f72),
            ("abcdefghijklmnopqrstuvwxyz", 0xc3fcd3d76192e4007dfb496cca67e13b),
            (&digits, 0x57edf4a22be3c955ac49da2e2107b67a),
            (&digits[..55], 0xc9ccf168914a1bcfc3229f1948e67da0),
            (&digits[..56], 0x49f193adce178490e34d1b3a4ec0064c),
            (&digits[..64], 0xeb6c4179c0a7c82cc2828c1e6338e165),
        ] {
            assert_eq!(u128::from_be_bytes(md5(text.as_bytes())), digest, "{text}");
        }
    }
}
