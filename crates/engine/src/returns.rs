//! Who comes back when: the clients that lost their connection in a storm, or left in a churn.
//!
//! Rules: a lost client is due at some moment; when it is, it connects, with a deadline. If that fails it is due
//! again after its protocol's back-off, which grows with its tries; if it succeeds it is forgotten.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use load::backoff_ns;

/// The returning clients of one worker.
pub(crate) struct Returns {
    /// They come back spread over this time; absent: as the dialect's back-off says.
    window_ns: Option<u64>,
    dialect: String,
    timeout_ns: u64,
    rng: fastrand::Rng,
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Failed attempts of those who are not back.
    tries: HashMap<u32, u32>,
    /// Client, attempt, deadline.
    deadlines: VecDeque<(u32, u32, u64)>,
}

impl Returns {
    /// Nobody is lost yet.
    pub(crate) fn new(window_ns: Option<u64>, dialect: &str, timeout_ns: u64, seed: u64) -> Self {
        Self {
            window_ns,
            dialect: dialect.to_owned(),
            timeout_ns,
            rng: fastrand::Rng::with_seed(seed),
            due: BinaryHeap::new(),
            tries: HashMap::new(),
            deadlines: VecDeque::new(),
        }
    }

    /// `client` has lost its connection.
    pub(crate) fn handle_loss(&mut self, client: u32, now_ns: u64) {
        let wait_ns = match self.window_ns {
            Some(window_ns) => (self.rng.f64() * window_ns as f64) as u64,
            None => backoff_ns(&self.dialect, 0, self.rng.f64()),
        };
        self.handle_departure(client, now_ns + wait_ns);
    }

    /// `client` has no connection, and is to have another at `due_ns`.
    pub(crate) fn handle_departure(&mut self, client: u32, due_ns: u64) {
        self.tries.insert(client, 0);
        self.due.push(Reverse((due_ns, client)));
    }

    /// An attempt of `client` has failed.
    pub(crate) fn handle_failure(&mut self, client: u32, now_ns: u64) {
        let Some(tries) = self.tries.get_mut(&client) else { return };
        *tries += 1;
        let wait_ns = backoff_ns(&self.dialect, *tries, self.rng.f64());
        self.due.push(Reverse((now_ns + wait_ns, client)));
    }

    /// Whether `client` is to come back.
    pub(crate) fn expects(&self, client: u32) -> bool {
        self.tries.contains_key(&client)
    }

    /// Whether somebody is to come back who has not failed to yet.
    pub(crate) fn has_hope(&self) -> bool {
        self.tries.values().any(|&tries| tries == 0)
    }

    /// `client` is back.
    pub(crate) fn handle_back(&mut self, client: u32) {
        self.tries.remove(&client);
    }

    /// The next client whose time has come.
    pub(crate) fn poll_client(&mut self, now_ns: u64) -> Option<u32> {
        let &Reverse((due_ns, client)) = self.due.peek()?;
        (due_ns <= now_ns).then(|| self.due.pop())?;
        Some(client)
    }

    /// The attempt of `client` has begun.
    pub(crate) fn handle_begun(&mut self, client: u32, attempt: u32, now_ns: u64) {
        self.deadlines.push_back((client, attempt, now_ns + self.timeout_ns));
    }

    /// An attempt whose time is up: client and attempt. It may have ended long ago.
    pub(crate) fn poll_expired(&mut self, now_ns: u64) -> Option<(u32, u32)> {
        let &(client, attempt, deadline_ns) = self.deadlines.front()?;
        (deadline_ns <= now_ns).then(|| self.deadlines.pop_front())?;
        Some((client, attempt))
    }

    /// When to look again.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let due_ns = self.due.peek().map(|Reverse((due_ns, _))| *due_ns);
        let expiry_ns = self.deadlines.front().map(|&(_, _, deadline_ns)| deadline_ns);
        [due_ns, expiry_ns].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returns(dialect: &str, window_ns: Option<u64>) -> Returns {
        Returns::new(window_ns, dialect, 1_000, 1)
    }

    #[test]
    fn a_client_tries_until_it_is_back() {
        let mut returns = returns("phoenix", None);
        returns.handle_loss(7, 0);
        assert_eq!(returns.poll_client(9_999_999), None);
        assert_eq!(returns.poll_client(10_000_000), Some(7));
        returns.handle_begun(7, 2, 10_000_000);
        assert!(returns.expects(7) && returns.has_hope() && !returns.expects(8));
        assert_eq!(returns.poll_timeout(), Some(10_001_000));
        assert_eq!(returns.poll_expired(10_001_000), Some((7, 2)));
        returns.handle_failure(7, 10_001_000);
        assert!(returns.expects(7) && !returns.has_hope());
        assert_eq!(returns.poll_timeout(), Some(60_001_000), "50 ms later");
        assert_eq!(returns.poll_client(60_001_000), Some(7));
        returns.handle_back(7);
        assert!(!returns.expects(7));
        returns.handle_failure(7, 60_001_000);
        assert_eq!(returns.poll_timeout(), None, "who is back needs no further try");
    }

    #[test]
    fn a_window_spreads_them() {
        let mut returns = returns("json", Some(1_000));
        (0..100).for_each(|client| returns.handle_loss(client, 0));
        let early = (0..100).filter_map(|_| returns.poll_client(500)).count();
        assert!((30..70).contains(&early), "{early} of 100 in the first half");
        assert_eq!((0..100).filter_map(|_| returns.poll_client(1_000)).count(), 100 - early);
    }
}
