//! Clients that read slowly: a little, then a wait.
//!
//! Rules. A slow client opens its session like any other. From then on it reads once when there is something,
//! and nothing more until its wait is over; then it reads again, until there is nothing. All waits are
//! equally long, so the clients that wait form a queue. Nothing is due to a slow client, and nothing it does
//! is in a figure: it is load.

use std::collections::VecDeque;

use load::Slow;

/// The slow clients of a worker that wait before they read again.
pub(crate) struct SlowReaders {
    /// How long each client waits.
    pause_ns: u64,
    /// The times at which clients read again, with the tokens of their connections.
    waiting: VecDeque<(u64, u64)>,
}

impl SlowReaders {
    /// Slow readers of which none waits yet.
    pub(crate) fn new(slow: Option<Slow>) -> Self {
        Self { pause_ns: slow.map_or(0, |slow| slow.pause_ns()), waiting: VecDeque::new() }
    }

    /// Notes that a client has read from this connection, and now waits.
    pub(crate) fn handle_pause(&mut self, token: u64, now_ns: u64) {
        self.waiting.push_back((now_ns + self.pause_ns, token));
    }

    /// The connection from which a client reads again now.
    pub(crate) fn poll(&mut self, now_ns: u64) -> Option<u64> {
        let &(at_ns, token) = self.waiting.front()?;
        (at_ns <= now_ns).then(|| self.waiting.pop_front())?;
        Some(token)
    }

    /// When the next client reads.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.waiting.front().map(|&(at_ns, _)| at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waits_as_long_as_its_read_takes() {
        let mut slow_readers = SlowReaders::new(Some(Slow { share: 1.0, bytes_per_s: 1_000 }));
        assert_eq!((slow_readers.poll(0), slow_readers.poll_timeout()), (None, None));
        slow_readers.handle_pause(7, 0);
        slow_readers.handle_pause(8, 30_000_000);
        assert_eq!((slow_readers.poll(99_999_999), slow_readers.poll_timeout()), (None, Some(100_000_000)));
        assert_eq!((slow_readers.poll(100_000_000), slow_readers.poll(100_000_000)), (Some(7), None));
        assert_eq!((slow_readers.poll(1_000_000_000), slow_readers.poll(1_000_000_000)), (Some(8), None));
    }
}
