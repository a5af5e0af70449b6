//! Flow control (RFC 9113 §5.2, §6.9): how much of bodies may be under way, on a stream and on its
//! connection.

use crate::error::Http2Reason;

/// The most that a window may be.
pub const WINDOW_MAX: u32 = (1 << 31) - 1;
/// The initial size of a window (§6.9.2).
pub const WINDOW_FIRST: u32 = (1 << 16) - 1;

/// How much we may send. A new setting can leave it in debt (§6.9.2).
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    left: i64,
}

impl Sending {
    /// A window of this many bytes.
    pub fn new(window: u32) -> Sending {
        Sending { left: i64::from(window) }
    }

    /// Bytes that may go out now.
    #[inline]
    pub fn left(self) -> usize {
        // In debt, nothing may go out until the peer has granted as much as it took away.
        usize::try_from(self.left).unwrap_or_default()
    }

    /// Takes bytes that go out off the window.
    #[inline]
    pub fn spend(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.left());
        self.left -= bytes as i64;
    }

    /// The peer has room for so much more, or less.
    #[inline]
    pub fn grow(&mut self, by: i64) -> Result<(), Http2Reason> {
        self.left += by;
        // A sender that let it grow would send more than its peer can count (§6.9.1).
        if self.left > i64::from(WINDOW_MAX) { Err(Http2Reason::FlowControl) } else { Ok(()) }
    }
}

/// How much may still come in. What comes in is looked at at once and never kept, so windows are there for
/// the peer's sake alone.
#[derive(Clone, Copy, Debug)]
pub struct Receiving {
    window: u32,
    left: u32,
}

impl Receiving {
    /// A window of this many bytes.
    pub fn new(window: u32) -> Receiving {
        Receiving { window, left: window }
    }

    /// Takes bytes that have come in: by how much the peer's window is to grow again, once that is worth a
    /// frame.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<Option<u32>, Http2Reason> {
        let bytes = u32::try_from(bytes).map_err(|_| Http2Reason::FlowControl)?;
        // The peer has sent more than it may (§6.9.1): it does not count as we do, and never will.
        self.left = self.left.checked_sub(bytes).ok_or(Http2Reason::FlowControl)?;
        // At half a window: the peer hears of more before it has to stop, and updates stay few.
        if self.left >= self.window / 2 {
            return Ok(None);
        }
        let spent = self.window - self.left;
        self.left = self.window;
        Ok(Some(spent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_may_be_negative_but_not_overflow() {
        let mut sending = Sending::new(10);
        sending.spend(10);
        sending.grow(-5).unwrap();
        assert_eq!(sending.left(), 0);
        sending.grow(6).unwrap();
        assert_eq!(sending.left(), 1);
        assert_eq!(sending.grow(i64::from(WINDOW_MAX)), Err(Http2Reason::FlowControl));
    }

    #[test]
    fn half_a_window_is_given_back_at_once() {
        let mut receiving = Receiving::new(100);
        assert_eq!(receiving.take(50), Ok(None));
        assert_eq!(receiving.take(1), Ok(Some(51)));
        assert_eq!(receiving.take(100), Ok(Some(100)));
        assert_eq!(receiving.take(101), Err(Http2Reason::FlowControl));
    }
}
