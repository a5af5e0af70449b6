//! The account of what slow clients hold: bytes kept for them because their sockets took no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The account of the bytes that all workers of a process hold for clients that are behind, and its bound.
#[derive(Clone)]
pub(crate) struct Held(Arc<Account>);

struct Account {
    bytes: AtomicUsize,
    bytes_max: usize,
}

impl Held {
    /// An empty account with this bound.
    pub(crate) fn new(bytes_max: usize) -> Held {
        Held(Arc::new(Account { bytes: AtomicUsize::new(0), bytes_max }))
    }

    /// A new share in the account, of 0 bytes.
    pub(crate) fn share(&self) -> Share {
        Share { held: self.clone(), bytes: 0 }
    }

    /// The number of bytes held now.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// The bound of the account in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// Returns whether the bound is reached, so that nothing more may be held for any client.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes() >= self.0.bytes_max
    }
}

/// One holder's part of the account, given back when it is dropped.
pub(crate) struct Share {
    held: Held,
    bytes: usize,
}

impl Share {
    /// Sets the share to this many bytes.
    pub(crate) fn set(&mut self, bytes: usize) {
        // Relaxed: a sum that is held against a bound, and orders nothing else.
        let booked = &self.held.0.bytes;
        if bytes > self.bytes {
            booked.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else if bytes < self.bytes {
            booked.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.set(self.bytes + bytes);
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.set(self.bytes - bytes);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_given_back() {
        let held = Held::new(10);
        let (mut one, mut other) = (held.share(), held.share());
        one.add(7);
        other.set(5);
        other.set(3);
        assert_eq!((held.bytes(), held.is_full()), (10, true));
        one.take(1);
        assert_eq!((held.bytes(), held.is_full()), (9, false));
        drop(one);
        assert_eq!(held.bytes(), 3);
        drop(other);
        assert_eq!(held.bytes(), 0);
    }
}
