//! What one client waits for in a closed loop: when each message under way was due.
//!
//! Nearly always it is one message or none, which takes no memory of its own.

use std::collections::VecDeque;

/// Messages under way, by when they were due, oldest first.
#[derive(Debug, Default)]
pub(crate) enum Awaiting {
    #[default]
    Nothing,
    One(u64),
    /// Those that were due at the same time together, and how many they are: what goes out in one write.
    #[allow(clippy::box_collection)] // 16 bytes in a client, not 32
    Many(Box<VecDeque<(u64, u32)>>),
}

impl Awaiting {
    /// A message that was due at `due_ns` has been sent.
    pub(crate) fn push(&mut self, due_ns: u64) {
        match self {
            Self::Nothing => *self = Self::One(due_ns),
            Self::One(first_ns) => {
                let mut all = Self::Many(Box::new(VecDeque::from([(*first_ns, 1)])));
                all.push(due_ns);
                *self = all;
            }
            Self::Many(all) => match all.back_mut() {
                Some((latest_ns, messages)) if *latest_ns == due_ns => *messages += 1,
                _ => all.push_back((due_ns, 1)),
            },
        }
    }

    /// A message that was due at `due_ns` is answered: whether it was still waited for.
    pub(crate) fn remove(&mut self, due_ns: u64) -> bool {
        match self {
            Self::One(first_ns) if *first_ns == due_ns => *self = Self::Nothing,
            Self::Nothing | Self::One(_) => return false,
            Self::Many(all) => {
                // Most answers come in order: the oldest is looked at before all others.
                let at = match all.front() {
                    Some(&(oldest_ns, _)) if oldest_ns == due_ns => Some(0),
                    _ => all.iter().position(|&(ns, _)| ns == due_ns),
                };
                let Some(at) = at else { return false };
                all[at].1 -= 1;
                if all[at].1 == 0 {
                    all.remove(at);
                }
            }
        }
        true
    }

    /// Gives up one message that was due before `before_ns`: when that was.
    pub(crate) fn give_up(&mut self, before_ns: u64) -> Option<u64> {
        let oldest_ns = self.iter().next().filter(|&due_ns| due_ns < before_ns)?;
        self.remove(oldest_ns).then_some(oldest_ns)
    }

    /// When each was due.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (one, many) = match self {
            Self::Nothing => (None, None),
            Self::One(first_ns) => (Some(*first_ns), None),
            Self::Many(all) => (None, Some(all)),
        };
        let each = |&(due_ns, messages): &(u64, u32)| std::iter::repeat_n(due_ns, messages as usize);
        one.into_iter().chain(many.into_iter().flat_map(move |all| all.iter().flat_map(each)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_waited_for_once_and_the_oldest_given_up_first() {
        let mut awaiting = Awaiting::default();
        assert!(!awaiting.remove(0));
        awaiting.push(5);
        assert!(!awaiting.remove(4) && awaiting.remove(5) && !awaiting.remove(5));
        for due_ns in [5, 7, 7, 9] {
            awaiting.push(due_ns);
        }
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [5, 7, 7, 9]);
        assert!(awaiting.remove(7));
        assert_eq!([8, 8, 8].map(|before_ns| awaiting.give_up(before_ns)), [Some(5), Some(7), None]);
        assert_eq!(awaiting.iter().collect::<Vec<_>>(), [9]);
    }
}
