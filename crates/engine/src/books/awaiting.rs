//! Messages that one client awaits in a closed loop: when each message under way was due.
//!
//! Nearly always that is none, or what went out in one write, which takes no memory of its own.

use std::collections::VecDeque;
use std::iter;

/// Messages under way, by when they were due, oldest first.
#[derive(Debug, Default)]
pub(crate) enum Awaiting {
    #[default]
    Nothing,
    /// This many messages that were due at the same time.
    Together { messages: u32, due_ns: u64 },
    /// Messages that were due at several times.
    Many(Box<DueTimes>), // 16 bytes in a client, not 48
}

/// Messages under way by when they were due. An answered message leaves an empty entry until the ends are
/// reached or most are empty: an answer in any order takes a binary search and moves nothing.
#[derive(Debug, Default)]
pub(crate) struct DueTimes {
    /// Due times, ascending, and how many messages of each are awaited: at least one of the first and of the
    /// last.
    entries: VecDeque<(u64, u32)>,
    /// Number of entries without an awaited message.
    empty: usize,
}

/// Empty entries that are always kept: a sweep of fewer would not pay.
const EMPTY_MIN: usize = 32;

impl DueTimes {
    fn push(&mut self, due_ns: u64, messages: u32) {
        match self.entries.back_mut() {
            Some((latest_ns, under_way)) if *latest_ns == due_ns => *under_way += messages,
            // Sender groups have schedules of their own, so that one's message may go out behind a later one.
            Some((latest_ns, _)) if *latest_ns > due_ns => match self.place(due_ns) {
                Ok(at) => {
                    let under_way = &mut self.entries[at].1;
                    self.empty -= usize::from(*under_way == 0);
                    *under_way += messages;
                }
                Err(at) => self.entries.insert(at, (due_ns, messages)),
            },
            _ => self.entries.push_back((due_ns, messages)),
        }
    }

    fn remove(&mut self, due_ns: u64, messages: u32) -> u32 {
        // Most answers come in order: the oldest is looked at before all others.
        let at = match self.entries.front() {
            Some(&(oldest_ns, _)) if oldest_ns == due_ns => 0,
            _ => match self.place(due_ns) {
                Ok(at) => at,
                Err(_) => return 0,
            },
        };
        let under_way = &mut self.entries[at].1;
        let answered = messages.min(*under_way);
        *under_way -= answered;
        if *under_way == 0 && answered > 0 {
            self.empty += 1;
            self.trim();
        }
        answered
    }

    /// Drops empty entries: those at the ends, and all if they are most.
    fn trim(&mut self) {
        while self.entries.front().is_some_and(|(_, under_way)| *under_way == 0) {
            self.entries.pop_front();
            self.empty -= 1;
        }
        while self.entries.back().is_some_and(|(_, under_way)| *under_way == 0) {
            self.entries.pop_back();
            self.empty -= 1;
        }
        if self.empty > EMPTY_MIN.max(self.entries.len() / 2) {
            self.entries.retain(|(_, under_way)| *under_way > 0);
            self.empty = 0;
        }
    }

    fn place(&self, due_ns: u64) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&due_ns, |&(ns, _)| ns)
    }
}

impl Awaiting {
    /// Adds messages that were due at `due_ns` and have been sent.
    pub(crate) fn push(&mut self, due_ns: u64, messages: u32) {
        match self {
            Self::Nothing => *self = Self::Together { messages, due_ns },
            Self::Together { messages: under_way, due_ns: latest_ns } if *latest_ns == due_ns => {
                *under_way += messages;
            }
            Self::Together { messages: under_way, due_ns: first_ns } => {
                // Two are the most that many clients ever have.
                let mut all = DueTimes { entries: VecDeque::with_capacity(2), empty: 0 };
                for (due_ns, messages) in [(*first_ns, *under_way), (due_ns, messages)] {
                    all.push(due_ns, messages);
                }
                *self = Self::Many(Box::new(all));
            }
            Self::Many(all) => all.push(due_ns, messages),
        }
    }

    /// Removes this many messages that were due at `due_ns`, and returns how many were still awaited.
    pub(crate) fn remove(&mut self, due_ns: u64, messages: u32) -> u32 {
        match self {
            Self::Together { messages: under_way, due_ns: first_ns } if *first_ns == due_ns => {
                let answered = messages.min(*under_way);
                *under_way -= answered;
                if *under_way == 0 {
                    *self = Self::Nothing;
                }
                answered
            }
            Self::Nothing | Self::Together { .. } => 0,
            Self::Many(all) => all.remove(due_ns, messages),
        }
    }

    /// Gives up the oldest message that was due before `before_ns` and whose answer is not coming, and returns
    /// when it was due. `coming`: the number of answers that are coming to messages due at a time.
    pub(crate) fn give_up(&mut self, before_ns: u64, coming: impl Fn(u64) -> usize) -> Option<u64> {
        // By number, as all that a client sent in one write were due together.
        let is_owed = |&(due_ns, messages): &(u64, u32)| messages as usize > coming(due_ns);
        // They are in the order in which they were due: none behind the first in time is overdue.
        let (oldest_ns, _) = self.entries().take_while(|&(due_ns, _)| due_ns < before_ns).find(is_owed)?;
        (self.remove(oldest_ns, 1) > 0).then_some(oldest_ns)
    }

    /// When each message was due.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries().flat_map(|(due_ns, messages)| iter::repeat_n(due_ns, messages as usize))
    }

    /// Due times, ascending, and how many messages of each are awaited: of some, none.
    fn entries(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let (together, many) = match self {
            Self::Nothing => (None, None),
            Self::Together { messages, due_ns } => (Some((*due_ns, *messages)), None),
            Self::Many(all) => (None, Some(&all.entries)),
        };
        together.into_iter().chain(many.into_iter().flat_map(|all| all.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_sixteen_bytes_of_a_client() {
        assert_eq!(size_of::<Awaiting>(), 16);
    }

    #[test]
    fn oldest_awaited_answers_are_given_up_first() {
        let mut awaiting = Awaiting::default();
        assert_eq!(awaiting.remove(0, 1), 0);
        awaiting.push(5, 1);
        assert_eq!([4, 5, 5].map(|due_ns| awaiting.remove(due_ns, 1)), [0, 1, 0]);
        for (due_ns, messages) in [(5, 1), (7, 1), (7, 1), (9, 1)] {
            awaiting.push(due_ns, messages);
        }
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [5, 7, 7, 9]);
        assert_eq!(awaiting.remove(7, 1), 1);
        let mut give_up = |before_ns| awaiting.give_up(before_ns, |_| 0);
        assert_eq!([8, 8, 8].map(&mut give_up), [Some(5), Some(7), None]);
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [9]);
    }

    #[test]
    fn messages_with_coming_answers_stay_awaited() {
        let mut awaiting = Awaiting::default();
        for due_ns in [5, 7, 7, 9] {
            awaiting.push(due_ns, 1);
        }
        let mut give_up = |before_ns| awaiting.give_up(before_ns, |due_ns| usize::from(due_ns == 5));
        assert_eq!([9, 9, 9].map(&mut give_up), [Some(7), Some(7), None]);
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [5, 9]);
        let mut give_up = |before_ns| awaiting.give_up(before_ns, |_| 1);
        assert_eq!([10, 10].map(&mut give_up), [None; 2]);
    }

    #[test]
    fn one_of_two_due_together_stays_awaited() {
        let mut awaiting = Awaiting::default();
        awaiting.push(5, 3);
        let mut give_up = |before_ns| awaiting.give_up(before_ns, |_| 1);
        assert_eq!([9, 9, 9].map(&mut give_up), [Some(5), Some(5), None]);
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn answers_in_any_order_free_their_entries() {
        const MESSAGES: u64 = 4_096;
        let mut rng = fastrand::Rng::with_seed(7);
        let mut shuffled: Vec<u64> = (0..MESSAGES).collect();
        rng.shuffle(&mut shuffled);
        let orders = [(0..MESSAGES).collect(), (0..MESSAGES).rev().collect(), shuffled.clone()];
        for sent in &orders {
            for answered in &orders {
                let mut all = DueTimes::default();
                for &due_ns in sent {
                    all.push(due_ns, 1);
                }
                assert!(all.entries.iter().is_sorted());
                for (left, &due_ns) in (0..MESSAGES as usize).rev().zip(answered) {
                    assert_eq!([all.remove(due_ns, 2), all.remove(due_ns, 1)], [1, 0]);
                    let under_way: u32 = all.entries.iter().map(|(_, messages)| messages).sum();
                    assert_eq!(under_way as usize, left);
                    assert_eq!(all.entries.len() - all.empty, left);
                    assert!(all.empty <= EMPTY_MIN.max(all.entries.len() / 2));
                    assert!(all.entries.front().is_none_or(|(_, messages)| *messages > 0));
                }
                assert!(all.entries.is_empty());
            }
        }
    }

    #[test]
    fn messages_of_one_write_are_waited_for_together() {
        let mut awaiting = Awaiting::default();
        awaiting.push(5, 3);
        awaiting.push(5, 1);
        awaiting.push(6, 2);
        assert_eq!([(5, 3), (6, 3), (5, 3)].map(|(due_ns, n)| awaiting.remove(due_ns, n)), [3, 2, 1]);
        assert_eq!(awaiting.iter().count(), 0);
    }
}
