//! Messages that one client awaits in a closed loop: when each message under way was due.
//!
//! Nearly always that is none, or what went out in one write, which takes no memory of its own.

use std::collections::VecDeque;

/// Messages under way, by when they were due, oldest first.
#[derive(Debug, Default)]
pub(crate) enum Awaiting {
    #[default]
    Nothing,
    /// This many that were due at the same time.
    Together { messages: u32, due_ns: u64 },
    /// The same, of several times.
    #[allow(clippy::box_collection)] // 16 bytes in a client, not 32
    Many(Box<VecDeque<(u64, u32)>>),
}

impl Awaiting {
    /// This many messages that were due at `due_ns` have been sent.
    pub(crate) fn push(&mut self, due_ns: u64, messages: u32) {
        match self {
            Self::Nothing => *self = Self::Together { messages, due_ns },
            Self::Together { messages: under_way, due_ns: latest_ns } if *latest_ns == due_ns => {
                *under_way += messages;
            }
            Self::Together { messages: under_way, due_ns: first_ns } => {
                let both = [(*first_ns, *under_way), (due_ns, messages)];
                *self = Self::Many(Box::new(VecDeque::from(both)));
            }
            Self::Many(all) => match all.back_mut() {
                Some((latest_ns, under_way)) if *latest_ns == due_ns => *under_way += messages,
                _ => all.push_back((due_ns, messages)),
            },
        }
    }

    /// Removes this many messages that were due at `due_ns`: how many were still awaited.
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
            Self::Many(all) => {
                // Most answers come in order: the oldest is looked at before all others.
                let at = match all.front() {
                    Some(&(oldest_ns, _)) if oldest_ns == due_ns => Some(0),
                    _ => all.iter().position(|&(ns, _)| ns == due_ns),
                };
                let Some(at) = at else { return 0 };
                let answered = messages.min(all[at].1);
                all[at].1 -= answered;
                if all[at].1 == 0 {
                    all.remove(at);
                }
                answered
            }
        }
    }

    /// Gives up one message that was due before `before_ns`: when that was.
    pub(crate) fn give_up(&mut self, before_ns: u64) -> Option<u64> {
        // Pushed in the order of sending, so the front is the oldest; a younger one cannot be overdue if this
        // is not.
        let oldest_ns = self.iter().next().filter(|&due_ns| due_ns < before_ns)?;
        (self.remove(oldest_ns, 1) > 0).then_some(oldest_ns)
    }

    /// When each was due.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (together, many) = match self {
            Self::Nothing => (None, None),
            Self::Together { messages, due_ns } => (Some((*due_ns, *messages)), None),
            Self::Many(all) => (None, Some(all)),
        };
        let each = |(due_ns, messages): (u64, u32)| std::iter::repeat_n(due_ns, messages as usize);
        together.into_iter().chain(many.into_iter().flat_map(|all| all.iter().copied())).flat_map(each)
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
        assert_eq!([8, 8, 8].map(|before_ns| awaiting.give_up(before_ns)), [Some(5), Some(7), None]);
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [9]);
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
