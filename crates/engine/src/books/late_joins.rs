//! Answers to joins that visitors no longer waited for.
//!
//! A server answers the joins and leaves of one client in one room in their order. From the first join that
//! its client gave up, this order is kept until all joins are answered:
//!
//! ```text
//! an answer to a join  --> the first join that is owed one; leaves before it have no answer
//! an answer to a leave --> the first leave that is owed one; the joins before it are lost
//! ```
//!
//! An answer, where no leave is answered, may be to an earlier join or to the last one. If the client gives
//! that up as well, the earlier one is taken for lost: one lost join costs one more, and not each later one.
//! A server that is late each time is therefore not recognised without answers to leaves: from then on, each
//! answer is taken for the next join's.

use std::collections::{HashMap, VecDeque};

use wire::Direction;

/// Answers that clients are owed, by their slots.
#[derive(Debug, Default)]
pub(crate) struct LateJoins {
    by_slot: HashMap<usize, Owed>,
}

#[derive(Debug, Default)]
struct Owed {
    answers: VecDeque<Direction>,
    /// An answer since the last join was taken for one to an earlier join, without proof.
    is_doubtful: bool,
}

impl LateJoins {
    /// Notes that a visitor asks to be let in.
    pub(crate) fn ask(&mut self, slot: usize) {
        if let Some(owed) = self.by_slot.get_mut(&slot) {
            owed.answers.push_back(Direction::In);
            owed.is_doubtful = false;
        }
    }

    /// Notes that a visitor leaves that waits for its answer no longer.
    pub(crate) fn give_up(&mut self, slot: usize) {
        let Some(owed) = self.by_slot.get_mut(&slot) else {
            let answers = VecDeque::from([Direction::In, Direction::Out]);
            self.by_slot.insert(slot, Owed { answers, is_doubtful: false });
            return;
        };
        match owed.is_doubtful {
            true => self.clear(slot),
            false => owed.answers.push_back(Direction::Out),
        }
    }

    /// Handles an answer to a join, which is known to be late or not. Returns whether it is to the last join.
    pub(crate) fn handle_joined(&mut self, slot: usize, is_late: bool) -> bool {
        let Some(owed) = self.by_slot.get_mut(&slot) else { return !is_late };
        let first = owed.answers.iter().position(|way| *way == Direction::In);
        owed.answers.drain(..first.map_or(0, |first| first + 1));
        let is_last = !owed.answers.contains(&Direction::In);
        owed.is_doubtful = !is_last && !is_late;
        if owed.answers.is_empty() {
            self.clear(slot);
        }
        is_last && !is_late
    }

    /// Handles an answer to a leave. Returns whether it is to a visitor that was let in.
    pub(crate) fn handle_left(&mut self, slot: usize) -> bool {
        let Some(owed) = self.by_slot.get_mut(&slot) else { return true };
        let first = owed.answers.iter().position(|way| *way == Direction::Out);
        owed.answers.drain(..first.map_or(0, |first| first + 1));
        owed.is_doubtful = false;
        if owed.answers.is_empty() {
            self.clear(slot);
        }
        false
    }

    /// Returns whether a join has no answer yet that may be late.
    pub(crate) fn is_owed(&self, slot: usize) -> bool {
        self.by_slot.get(&slot).is_some_and(|owed| owed.answers.contains(&Direction::In))
    }

    /// Notes that a client has lost its connection, and is owed nothing.
    pub(crate) fn clear(&mut self, slot: usize) {
        self.by_slot.remove(&slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins that were given up in three visits, the last of which waits.
    fn waiting() -> LateJoins {
        let mut joins = LateJoins::default();
        for _ in 0..2 {
            joins.ask(5);
            joins.give_up(5);
        }
        joins.ask(5);
        joins
    }

    #[test]
    fn answers_in_time_are_the_visits_own() {
        let mut joins = LateJoins::default();
        joins.ask(5);
        assert!(joins.handle_joined(5, false) && joins.handle_left(5) && !joins.is_owed(5));
        assert!(!joins.handle_joined(5, true), "known to be late");
    }

    #[test]
    fn late_answers_belong_to_their_joins() {
        let mut joins = waiting();
        assert!(!joins.handle_joined(5, false) && !joins.handle_left(5));
        assert!(!joins.handle_joined(5, false) && !joins.handle_left(5) && joins.is_owed(5));
        assert!(joins.handle_joined(5, false) && !joins.is_owed(5) && joins.handle_left(5));
    }

    #[test]
    fn answered_leaves_tell_lost_joins() {
        let mut joins = waiting();
        assert!(!joins.handle_left(5) && !joins.handle_left(5));
        assert!(joins.handle_joined(5, false));
    }

    #[test]
    fn joins_that_are_late_each_time_stay_apart() {
        let mut joins = LateJoins::default();
        joins.ask(5);
        for _ in 0..9 {
            joins.give_up(5);
            joins.ask(5);
            assert!(!joins.handle_joined(5, true) && joins.is_owed(5));
        }
        assert!(joins.handle_joined(5, false), "in time at last");
    }

    #[test]
    fn late_each_time_is_taken_for_lost() {
        let (mut joins, mut is_in) = (LateJoins::default(), false);
        joins.ask(5);
        // The answer to each join comes behind the next one, and leaves have none.
        let taken = [(); 4].map(|()| {
            if !is_in {
                joins.give_up(5);
            }
            joins.ask(5);
            is_in = joins.handle_joined(5, false);
            is_in
        });
        assert_eq!(taken, [false, true, true, true]);
    }

    #[test]
    fn one_lost_join_costs_one_more() {
        let mut joins = LateJoins::default();
        joins.ask(5);
        joins.give_up(5);
        joins.ask(5);
        assert!(!joins.handle_joined(5, false), "taken for the first's, which was lost");
        joins.give_up(5);
        joins.ask(5);
        assert!(joins.handle_joined(5, false));
    }
}
