//! Messages that the server has, and for how long it had at least one.

/// Messages of a worker that were sent and have no answer yet.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    messages: u64,
    /// The time since which there is at least one message, or at which the total was last taken.
    since_ns: u64,
    held_ns: u64,
}

impl Outstanding {
    /// Adds messages that have been sent.
    #[inline]
    pub(crate) fn add(&mut self, messages: u32, now_ns: u64) {
        if self.messages == 0 {
            self.since_ns = now_ns;
        }
        self.messages += u64::from(messages);
    }

    /// Removes messages that had been answered by `at_ns`, or are waited for no longer.
    #[inline]
    pub(crate) fn remove(&mut self, messages: u32, at_ns: u64) {
        let left = self.messages.saturating_sub(u64::from(messages));
        if left == 0 && self.messages > 0 {
            self.held_ns += at_ns.saturating_sub(self.since_ns);
        }
        self.messages = left;
    }

    /// Forgets all messages, and the time so far.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes the time with at least one message since the last call.
    pub(crate) fn take(&mut self, now_ns: u64) -> u64 {
        if self.messages > 0 {
            self.held_ns += now_ns.saturating_sub(self.since_ns);
            self.since_ns = now_ns;
        }
        std::mem::take(&mut self.held_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_once_however_many_messages() {
        let mut outstanding = Outstanding::default();
        outstanding.add(1, 100);
        outstanding.add(3, 150);
        outstanding.remove(2, 200);
        outstanding.remove(2, 300);
        assert_eq!(outstanding.take(350), 200);
        outstanding.add(1, 400);
        assert_eq!([outstanding.take(450), outstanding.take(500)], [50, 50]);
        outstanding.remove(5, 600);
        outstanding.remove(1, 700);
        assert_eq!(outstanding.take(800), 100);
    }
}
