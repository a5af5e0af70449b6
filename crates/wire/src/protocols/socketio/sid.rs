//! Ids of sessions and sockets.

use crate::io::Io;

/// An id has as many characters as socket.io's, of six bits each.
pub(crate) const SID_CHARS: usize = 20;

/// A fresh one.
pub(crate) fn fresh(io: &mut impl Io) -> [u8; SID_CHARS] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = u128::from(io.random_u64()) << 64 | u128::from(io.random_u64());
    std::array::from_fn(|n| ALPHABET[(bits >> (6 * n)) as usize & 63])
}
