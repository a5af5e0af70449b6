//! Messages due in one turn of the loop, client by client: the messages of one client go out in one write.

use crate::timing::pace::{Next, Pace};

/// Most messages that are sent before something is read again: about a millisecond's work.
const MESSAGES_MAX: usize = 1024;

/// Due messages of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    /// The sender.
    pub(crate) client: u32,
    /// When the messages were to be sent.
    pub(crate) intended_ns: u64,
    /// How many messages there are.
    messages: u32,
}

/// Due messages; one client's are side by side.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    due: Vec<Due>,
}

/// Why a batch takes no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchEnd {
    /// It is full, and more may be due.
    Full,
    /// The step has no room for another message.
    StepFull,
    /// Nothing more is due before this moment.
    At(u64),
    /// Nothing more is due until an answer frees a slot.
    Wait,
    /// The step's last message is taken.
    Over,
}

/// One client's due messages, to be taken one by one.
#[derive(Debug)]
pub(crate) struct Portion<'a> {
    due: &'a [Due],
    /// Messages already taken of the first entry.
    taken: u32,
}

impl Due {
    /// This many messages of this client, due at the same time.
    pub(crate) fn new(client: u32, intended_ns: u64, messages: u32) -> Due {
        Due { client, intended_ns, messages }
    }
}

impl<'a> Portion<'a> {
    /// One client's due messages.
    pub(crate) fn of(due: &'a [Due]) -> Portion<'a> {
        Portion { due, taken: 0 }
    }

    /// Takes up to `most` messages, if the next ones were due at this moment, and returns how many.
    #[inline]
    pub(crate) fn take_alike(&mut self, intended_ns: u64, most: u32) -> u32 {
        let Some(first) = self.due.first().filter(|due| due.intended_ns == intended_ns) else { return 0 };
        let messages = most.min(first.messages - self.taken);
        self.taken += messages;
        if self.taken == first.messages {
            (self.due, self.taken) = (&self.due[1..], 0);
        }
        messages
    }

    /// Returns whether the next message was due at this moment.
    #[inline]
    pub(crate) fn is_due_at(&self, intended_ns: u64) -> bool {
        self.due.first().is_some_and(|due| due.intended_ns == intended_ns)
    }

    /// Returns whether nothing is left.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.due.is_empty()
    }
}

/// Iterates over the times at which the messages were due.
impl Iterator for Portion<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let intended_ns = self.due.first()?.intended_ns;
        self.take_alike(intended_ns, 1);
        Some(intended_ns)
    }
}

impl Batch {
    /// Takes what is due at `now_ns`, `room` messages at the most.
    pub(crate) fn gather(
        &mut self,
        pace: &mut Pace,
        now_ns: u64,
        room: usize,
        takes: impl Fn(u32, u32) -> u32,
    ) -> BatchEnd {
        self.due.clear();
        let mut left = room.min(MESSAGES_MAX) as u32;
        let end = loop {
            if left == 0 {
                break match pace.poll_rest(now_ns).filter(|_| room == 0) {
                    Some(Next::At(at_ns)) => BatchEnd::At(at_ns),
                    // The last message that the step has room for was also the last of its schedule.
                    Some(_) => BatchEnd::Over,
                    None if room == 0 => BatchEnd::StepFull,
                    None => BatchEnd::Full,
                };
            }
            match pace.poll(now_ns, left, &takes) {
                Next::Send { client, intended_ns, messages } => {
                    self.due.push(Due::new(client, intended_ns, messages));
                    left -= messages;
                }
                Next::At(at_ns) => break BatchEnd::At(at_ns),
                Next::Wait => break BatchEnd::Wait,
                Next::Over => break BatchEnd::Over,
            }
        };
        // An open loop gives each client its turn before one has another: if none has, there is nothing to
        // put together.
        if let Some((first, others)) = self.due.split_first()
            && (pace.is_closed() || others.iter().any(|other| other.client == first.client))
        {
            // By client, then by time (the order of the fields): one write for each client, its messages in
            // the order in which they were due.
            self.due.sort_unstable();
            self.due.dedup_by(|next, before| {
                let is_alike = (next.client, next.intended_ns) == (before.client, before.intended_ns);
                before.messages += if is_alike { next.messages } else { 0 };
                is_alike
            });
        }
        end
    }

    /// Messages due, client by client.
    pub(crate) fn portions(due: &[Due]) -> impl Iterator<Item = (u32, Portion<'_>)> {
        let by_client = due.chunk_by(|a, b| a.client == b.client);
        by_client.map(|due| (due[0].client, Portion::of(due)))
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
    use load::{Load, Schedule, Segment, StepOrder, Until};

    use super::*;
    use crate::timing::LocalSenders;

    #[test]
    fn messages_due_together_are_taken_together() {
        let until = Until::Samples(99);
        let load = Load::Closed { concurrency: 6, per_client: 3, until };
        let order = StepOrder { index: 0, clients: 2, load, warmup: false };
        let part = Segment { worker: 0, workers: 1 };
        let all = LocalSenders { share: 1.0, part, clients: vec![7, 8] };
        let mut pace = Pace::new(&order, all.clone(), vec![all], 0, 0);
        let mut batch = Batch::default();
        assert_eq!(batch.gather(&mut pace, 5, 99, |_, messages| messages), BatchEnd::Wait);
        let due = batch.take();
        let mut portions: Vec<_> = Batch::portions(&due).collect();
        portions.sort_by_key(|(client, _)| *client);
        let [(7, first), (8, second)] = &mut portions[..] else { panic!("{due:?}") };
        assert_eq!((first.next(), first.take_alike(4, 9), first.take_alike(5, 1)), (Some(5), 0, 1));
        assert_eq!((first.is_over(), first.take_alike(5, 9), first.next()), (false, 1, None));
        assert!(first.is_over() && second.eq([5, 5, 5]));
    }

    #[test]
    fn batches_group_clients_and_keep_order() {
        let load = Load::Open { schedule: Schedule::constant(1_000.0), duration_ns: 1_000_000_000 };
        let order = StepOrder { index: 0, clients: 3, load, warmup: false };
        let part = Segment { worker: 0, workers: 1 };
        let all = LocalSenders { share: 1.0, part, clients: vec![7, 8, 9] };
        let mut pace = Pace::new(&order, all.clone(), vec![all], 0, 0);
        let mut batch = Batch::default();
        let gathered = |batch: &mut Batch| -> Vec<(u32, u64)> {
            let due = batch.take();
            let seen = due.iter().map(|due| (due.client, due.intended_ns / 1_000_000)).collect();
            batch.put_back(due);
            seen
        };
        assert_eq!(batch.gather(&mut pace, 2_000_000, 99, |_, messages| messages), BatchEnd::At(3_000_000));
        assert_eq!(gathered(&mut batch), [(7, 0), (8, 1), (9, 2)]);
        assert_eq!(batch.gather(&mut pace, 9_000_000, 5, |_, messages| messages), BatchEnd::Full);
        assert_eq!(gathered(&mut batch), [(7, 3), (7, 6), (8, 4), (8, 7), (9, 5)]);
        assert_eq!(batch.gather(&mut pace, 9_000_000, 5, |_, messages| messages), BatchEnd::At(10_000_000));
        assert_eq!(gathered(&mut batch), [(9, 8), (7, 9)]);
        assert_eq!(batch.gather(&mut pace, 9_000_000, 0, |_, messages| messages), BatchEnd::StepFull);
    }

    #[test]
    fn steps_with_room_for_all_are_not_full() {
        let open = Load::Open { schedule: Schedule::constant(1_000.0), duration_ns: 3_000_000 };
        let closed = Load::Closed { concurrency: 2, per_client: 1, until: Until::Samples(3) };
        for (load, answered) in [(open, 0), (closed, 2)] {
            let order = StepOrder { index: 0, clients: 2, load, warmup: false };
            let part = Segment { worker: 0, workers: 1 };
            let all = LocalSenders { share: 1.0, part, clients: vec![7, 8] };
            let mut pace = Pace::new(&order, all.clone(), vec![all], 0, 0);
            let mut batch = Batch::default();
            let mut gather =
                |pace: &mut Pace, room| batch.gather(pace, 9_000_000, room, |_, messages| messages);
            assert_eq!(gather(&mut pace, 2), BatchEnd::Full);
            assert_eq!(gather(&mut pace, 0), BatchEnd::StepFull, "there is a third");
            pace.handle_answers(7, answered);
            assert_eq!(gather(&mut pace, 1), BatchEnd::Full);
            assert_eq!(gather(&mut pace, 0), BatchEnd::Over);
        }
    }
}
