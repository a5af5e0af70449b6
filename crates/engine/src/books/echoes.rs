//! Exact accounting of one client's echoes.
//!
//! Rules: a client numbers its messages 0, 1, 2, … within a step. `high` is one more than the highest number
//! that came back. Numbers below it that have not come back are `gaps`. So an echo is
//!
//! * at `high`: in order;
//! * above `high`: in order, and what was skipped becomes gaps;
//! * in a gap: reordered, the gap closes;
//! * below `high` and in no gap: a duplicate;
//! * not below `next`, which was never sent: unexpected.
//!
//! Missing at the end are the gaps and everything from `high` to `next`. A server that keeps order costs
//! two additions a message and no memory.

use std::collections::BTreeSet;

/// Kinds of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The first of its number, in order.
    InOrder,
    /// The first of its number, after a later one.
    Reordered,
    /// Its number had come back before.
    Duplicate,
    /// Its number was never sent.
    Unexpected,
}

/// The echoes of one client in one step.
#[derive(Debug, Default)]
pub(crate) struct Echoes {
    next: u32,
    high: u32,
    /// Gaps in a set, because a server may close very many in any order; boxed, and there only while there
    /// are gaps.
    #[allow(clippy::box_collection)] // 8 bytes in a connection, not 24
    gaps: Option<Box<BTreeSet<u32>>>,
}

impl Echoes {
    /// Numbers the next `messages` messages, and returns the first number.
    pub(crate) fn send(&mut self, messages: u32) -> u32 {
        self.next += messages;
        self.next - messages
    }

    /// Takes back the newest number, whose message did not go out.
    pub(crate) fn take_back(&mut self) {
        self.next -= 1;
    }

    /// The number with these lower bits, which `mask` selects, that is nearest to the number due next.
    pub(crate) fn widen(&self, low: u32, mask: u32) -> u32 {
        // The distance from `high`, taken as negative beyond half the range (serial number arithmetic, RFC
        // 1982).
        let ahead = low.wrapping_sub(self.high) & mask;
        let nearest = if ahead <= mask / 2 { ahead } else { ahead.wrapping_sub(mask + 1) };
        self.high.wrapping_add(nearest)
    }

    /// Books an echo.
    pub(crate) fn handle(&mut self, number: u32) -> Answer {
        if number >= self.next {
            return Answer::Unexpected;
        }
        if number >= self.high {
            if number > self.high {
                // Bounded by what the client has sent: `number` is below `next`.
                self.gaps.get_or_insert_default().extend(self.high..number);
            }
            self.high = number + 1;
            return Answer::InOrder;
        }
        let Some(gaps) = &mut self.gaps else { return Answer::Duplicate };
        if !gaps.remove(&number) {
            return Answer::Duplicate;
        }
        if gaps.is_empty() {
            self.gaps = None;
        }
        Answer::Reordered
    }

    /// Books the echoes of `messages` messages from this number on at once, if all are in order. Returns
    /// whether they are.
    #[inline]
    pub(crate) fn handle_series(&mut self, number: u32, messages: u32) -> bool {
        let is_in_order = number == self.high && messages <= self.next.saturating_sub(number);
        if is_in_order {
            self.high += messages;
        }
        is_in_order
    }

    /// Stops waiting for what was sent so far, and returns how many messages had not come back.
    pub(crate) fn abandon(&mut self) -> u64 {
        let abandoned = self.missing().count() as u64;
        (self.high, self.gaps) = (self.next, None);
        abandoned
    }

    /// Returns whether this number was sent and has not come back.
    pub(crate) fn is_missing(&self, number: u32) -> bool {
        let is_gap = || self.gaps.as_ref().is_some_and(|gaps| gaps.contains(&number));
        (self.high..self.next).contains(&number) || is_gap()
    }

    /// Numbers sent and not come back, ascending.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        self.gaps.iter().flat_map(|gaps| gaps.iter().copied()).chain(self.high..self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after_sending(n: u32) -> Echoes {
        let mut echoes = Echoes::default();
        for k in 0..n {
            assert_eq!(echoes.send(1), k);
        }
        echoes
    }

    #[test]
    fn numbers_go_on_after_wrapping() {
        let mut echoes = after_sending(40);
        for number in 0..40 {
            assert_eq!(echoes.handle(echoes.widen(number & 15, 15)), Answer::InOrder);
        }
        assert_eq!(echoes.widen(39 & 15, 15), 39, "a duplicate is known as one");
        assert_eq!(echoes.handle(echoes.widen(41 & 15, 15)), Answer::Unexpected);
    }

    #[test]
    fn each_kind_once() {
        let mut echoes = after_sending(4);
        assert_eq!(echoes.handle(0), Answer::InOrder);
        assert_eq!(echoes.handle(2), Answer::InOrder);
        assert_eq!(echoes.handle(1), Answer::Reordered);
        assert_eq!(echoes.handle(1), Answer::Duplicate);
        assert_eq!(echoes.handle(2), Answer::Duplicate);
        assert_eq!(echoes.handle(4), Answer::Unexpected);
        assert_eq!(echoes.missing().collect::<Vec<_>>(), [3]);
        assert_eq!((echoes.abandon(), echoes.missing().count(), echoes.send(1)), (1, 0, 4));
        assert_eq!(echoes.handle(4), Answer::InOrder);
        assert_eq!(echoes.send(1), 5);
        echoes.take_back();
        assert_eq!((echoes.handle(5), echoes.missing().count()), (Answer::Unexpected, 0));
        assert_eq!(echoes.send(1), 5, "the number is given to the next");
    }

    #[test]
    fn series_are_booked_at_once_or_never() {
        let mut echoes = after_sending(2);
        assert_eq!(echoes.send(5), 2);
        assert!(!echoes.handle_series(1, 2) && !echoes.handle_series(0, 8));
        assert!(echoes.handle_series(0, 3) && !echoes.handle_series(0, 3));
        assert_eq!(echoes.missing().collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert!(!echoes.handle_series(4, 1) && echoes.handle_series(3, 4) && !echoes.handle_series(7, 1));
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(arrivals in prop::collection::vec(0u32..24, 0..60)) {
            let sent = 20;
            let mut echoes = after_sending(sent);
            let mut seen: Vec<u32> = Vec::new();
            for number in arrivals {
                let expected = if number >= sent { Answer::Unexpected }
                    else if seen.contains(&number) { Answer::Duplicate }
                    else if seen.iter().any(|&s| s > number) { Answer::Reordered }
                    else { Answer::InOrder };
                prop_assert_eq!(echoes.handle(number), expected);
                if number < sent { seen.push(number) }
            }
            let missing: Vec<u32> = (0..sent).filter(|k| !seen.contains(k)).collect();
            prop_assert_eq!(echoes.missing().collect::<Vec<_>>(), &missing[..]);
            prop_assert!((0..24).all(|k| echoes.is_missing(k) == missing.contains(&k)));
        }
    }
}
