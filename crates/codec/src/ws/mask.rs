//! Masking (RFC 6455 §5.3): XOR with four bytes, over and over.

/// Four bytes as one number: headers that hold it are moved about for every message, and bytes would be one
/// by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(u32);

impl Key {
    /// The key that changes nothing.
    pub(super) const NONE: Key = Key(0);

    /// The key of these bytes.
    #[inline]
    pub fn new(bytes: [u8; 4]) -> Key {
        Key(u32::from_le_bytes(bytes))
    }

    /// The key as it goes over the wire.
    #[inline]
    pub fn bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }

    /// The key as seen from `offset` bytes into the payload.
    #[inline]
    fn seen_from(self, offset: usize) -> Key {
        // The number is little-endian: the key's first byte is the lowest, and drops out first.
        Key(self.0.rotate_right(u8::BITS * (offset % 4) as u32))
    }
}

/// Masks or unmasks `bytes`, which start `offset` bytes into the masked payload.
#[inline]
pub fn apply(bytes: &mut [u8], key: Key, offset: usize) {
    let Key(key) = key.seen_from(offset);
    let wide = u64::from(key) << 32 | u64::from(key);
    // Eight is a multiple of four: every word sees the key from its start.
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let masked = u64::from_le_bytes(word.try_into().expect("8 bytes")) ^ wide;
        word.copy_from_slice(&masked.to_le_bytes());
    }
    for (byte, k) in words.into_remainder().iter_mut().zip(wide.to_le_bytes()) {
        *byte ^= k;
    }
}

/// Bytes [`copy`] copies at once.
pub(super) const BLOCK_BYTES: usize = 32;

/// Copies the first `bytes` of `from`, masked or unmasked on the way, in whole blocks: both have room for the
/// last.
#[inline]
pub(super) fn copy(to: &mut [u8], from: &[u8], bytes: usize, key: Key) {
    let wide = u64::from(key.0) << 32 | u64::from(key.0);
    let blocks = bytes.div_ceil(BLOCK_BYTES);
    let (to, from) = (&mut to.as_chunks_mut::<BLOCK_BYTES>().0, from.as_chunks::<BLOCK_BYTES>().0);
    for (to, from) in to[..blocks].iter_mut().zip(&from[..blocks]) {
        for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0) {
            *to = (u64::from_le_bytes(*from) ^ wide).to_le_bytes();
        }
    }
}

/// Appends `bytes` to `out`, masked or unmasked on the way; `None` copies.
#[inline]
pub fn extend(out: &mut Vec<u8>, bytes: &[u8], key: Option<Key>, offset: usize) {
    let start = out.len();
    out.extend_from_slice(bytes);
    if let Some(key) = key {
        apply(&mut out[start..], key, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_the_rfc(bytes: &[u8], key: [u8; 4]) -> Vec<u8> {
        bytes.iter().enumerate().map(|(i, b)| b ^ key[i % 4]).collect()
    }

    #[test]
    fn any_split_masks_like_the_definition() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let bytes: Vec<u8> = (0..67).collect();
        let expected = by_the_rfc(&bytes, key);
        for split in 0..=bytes.len() {
            let mut masked = Vec::new();
            extend(&mut masked, &bytes[..split], Some(Key::new(key)), 0);
            extend(&mut masked, &bytes[split..], Some(Key::new(key)), split);
            assert_eq!(masked, expected, "split at {split}");
        }
    }

    #[test]
    fn no_key_copies() {
        let mut out = vec![1];
        extend(&mut out, &[2, 3], None, 0);
        assert_eq!(out, [1, 2, 3]);
    }
}
