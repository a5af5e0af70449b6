//! What is due in one turn of the loop, client by client: the messages of one client go out in one write.

use crate::timing::{Next, Pace};

/// No more than this before something is read again: about a millisecond's work.
const MESSAGES_MAX: usize = 1024;

/// A message that is due: whose, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    /// The sender.
    pub(crate) client: u32,
    /// When it was to be sent.
    pub(crate) intended_ns: u64,
}

/// Messages that are due, those of one client side by side.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    due: Vec<Due>,
}

impl Batch {
    /// Takes what is due at `now_ns`, `room` messages at the most: why no more; `None`: there may be more.
    pub(crate) fn gather(
        &mut self,
        pace: &mut Pace,
        now_ns: u64,
        room: usize,
        is_usable: impl Fn(u32) -> bool,
    ) -> Option<Next> {
        self.due.clear();
        let mut end = None;
        while self.due.len() < room.min(MESSAGES_MAX) {
            match pace.poll(now_ns, &is_usable) {
                Next::Send { client, intended_ns } => self.due.push(Due { client, intended_ns }),
                other => {
                    end = Some(other);
                    break;
                }
            }
        }
        // Most loads give each client its turn before one has another; then there is nothing to put together.
        if let Some((first, others)) = self.due.split_first()
            && others.iter().any(|other| other.client == first.client)
        {
            self.due.sort_unstable();
        }
        end
    }

    /// Takes out what was gathered; [`put_back`](Self::put_back) spares the next batch the allocation.
    pub(crate) fn take(&mut self) -> Vec<Due> {
        std::mem::take(&mut self.due)
    }

    /// Gives back what was taken.
    pub(crate) fn put_back(&mut self, due: Vec<Due>) {
        self.due = due;
    }
}

#[cfg(test)]
mod tests {
    use load::{Load, Schedule, Segment, StepOrder};

    use super::*;
    use crate::timing::Choir;

    #[test]
    fn what_is_due_of_one_client_is_together_and_in_order() {
        let load = Load::Open { schedule: Schedule::constant(1_000.0), duration_ns: 1_000_000_000 };
        let order = StepOrder { index: 0, clients: 3, load, warmup: false };
        let part = Segment { worker: 0, workers: 1 };
        let all = Choir { share: 1.0, part, clients: vec![7, 8, 9] };
        let mut pace = Pace::new(&order, all.clone(), vec![all], 0, 0);
        let mut batch = Batch::default();
        let gathered = |batch: &mut Batch| -> Vec<(u32, u64)> {
            let due = batch.take();
            let seen = due.iter().map(|due| (due.client, due.intended_ns / 1_000_000)).collect();
            batch.put_back(due);
            seen
        };
        assert_eq!(batch.gather(&mut pace, 2_000_000, 99, |_| true), Some(Next::At(3_000_000)));
        assert_eq!(gathered(&mut batch), [(7, 0), (8, 1), (9, 2)]);
        assert_eq!(batch.gather(&mut pace, 9_000_000, 5, |_| true), None, "there is no room for more");
        assert_eq!(gathered(&mut batch), [(7, 3), (7, 6), (8, 4), (8, 7), (9, 5)]);
        assert_eq!(batch.gather(&mut pace, 9_000_000, 5, |_| true), Some(Next::At(10_000_000)));
        assert_eq!(gathered(&mut batch), [(9, 8), (7, 9)]);
    }
}
