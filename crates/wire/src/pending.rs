//! Messages by the numbers that a protocol gives them, for answers that do not carry their ids.

use std::collections::VecDeque;

use app::Kind;
use codec::{Stamp, json};

/// Most messages of one client that an answer is waited for: beyond it the oldest has none. It is far above
/// what a client has under way at a server that answers, so that no answer of such a server is taken for an
/// unknown one.
const PENDING_MAX: usize = 1 << 14;

/// Messages without their answer, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    messages: VecDeque<(u64, Kind, Stamp)>,
}

impl Pending {
    /// Returns whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// A message goes out under this number, larger than those before.
    pub(crate) fn push(&mut self, number: u64, kind: Kind, stamp: Stamp) {
        if self.messages.len() == PENDING_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back((number, kind, stamp));
    }

    /// The message of this number, once.
    pub(crate) fn take(&mut self, number: u64) -> Option<(Kind, Stamp)> {
        self.take_if(number, |_| true)
    }

    /// Takes the message of this number if `is_meant` accepts its stamp; otherwise the message goes on
    /// waiting.
    pub(crate) fn take_if(
        &mut self,
        number: u64,
        is_meant: impl FnOnce(&Stamp) -> bool,
    ) -> Option<(Kind, Stamp)> {
        let at = self.messages.binary_search_by_key(&number, |&(number, ..)| number).ok()?;
        let (.., stamp) = self.messages.get(at)?;
        if !is_meant(stamp) {
            return None;
        }
        self.messages.remove(at).map(|(_, kind, stamp)| (kind, stamp))
    }
}

/// Takes note of a measured message that goes out under this number, if replies are known by that.
#[inline]
pub(crate) fn push(pending: &mut Option<&mut Pending>, number: u64, kind: Option<Kind>, stamp: Stamp) {
    if let (Some(pending), Some(kind)) = (pending, kind) {
        pending.push(number, kind, stamp);
    }
}

/// The message that a reply with this number answers, if replies are known by that.
pub(crate) fn take(pending: &mut Option<&mut Pending>, number: &[u8]) -> Option<(Kind, Stamp)> {
    pending.as_mut()?.take(json::decimal(number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_answered_once_in_any_order() {
        let mut pending = Pending::default();
        let stamp = |seq| Stamp::new(0, 0, seq, 0, 0);
        for number in 0..PENDING_MAX as u32 + 2 {
            pending.push(u64::from(number), Kind::Echo, stamp(number));
        }
        assert_eq!((pending.take(1), pending.take(1 << 20)), (None, None));
        assert_eq!(pending.take(3), Some((Kind::Echo, stamp(3))));
        assert_eq!(pending.take(2), Some((Kind::Echo, stamp(2))));
        assert_eq!(pending.take(3), None);
    }
}
