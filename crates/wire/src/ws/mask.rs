//! Masking (RFC 6455 §5.3): XOR with four bytes, over and over.

/// Masks or unmasks `bytes`, which start `offset` bytes into the masked payload.
pub fn apply(bytes: &mut [u8], key: [u8; 4], offset: usize) {
    let key = rotated(key, offset);
    let wide = u64::from_ne_bytes([key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3]]);
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let masked = u64::from_ne_bytes(word.try_into().expect("8 bytes")) ^ wide;
        word.copy_from_slice(&masked.to_ne_bytes());
    }
    for (byte, k) in words.into_remainder().iter_mut().zip(key.into_iter().cycle()) {
        *byte ^= k;
    }
}

/// Appends `bytes` to `out`, masked or unmasked on the way; `None` copies.
pub fn extend(out: &mut Vec<u8>, bytes: &[u8], key: Option<[u8; 4]>, offset: usize) {
    let start = out.len();
    out.extend_from_slice(bytes);
    if let Some(key) = key {
        apply(&mut out[start..], key, offset);
    }
}

/// The key as seen from `offset` bytes into the payload.
fn rotated(mut key: [u8; 4], offset: usize) -> [u8; 4] {
    key.rotate_left(offset % 4);
    key
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
            extend(&mut masked, &bytes[..split], Some(key), 0);
            extend(&mut masked, &bytes[split..], Some(key), split);
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
