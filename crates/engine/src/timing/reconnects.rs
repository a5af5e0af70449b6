//! Reconnects and their times: the clients that lost their connection in a storm, or left in a churn.
//!
//! Rules: a lost client is due at some moment; when it is, it connects, with a deadline. If that fails it is
//! due again after the time that the server has asked for (100 ms at least), or its protocol's back-off, which
//! grows with its tries; if it succeeds it is forgotten.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use wire::{Backoff, Reconnection};

use crate::timing::backlog::Backlog;

/// The shortest wait after a failed attempt, whatever the server asked for: HTML (§9.2.3) allows a back-off
/// then. With `retry: 0` and a dead server, clients would otherwise connect as fast as the CPU can.
const FAILED_WAIT_NS_MIN: u64 = 100_000_000;

/// An action on a client that is to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReconnectAction {
    /// Connect this client.
    Connect(u32),
    /// End this attempt, whose time is up; it may have ended long ago.
    Expire { client: u32, attempt: u32 },
}

/// The returning clients of one worker.
pub(crate) struct Reconnects {
    /// The time over which clients come back; `None`: as the protocol's back-off says.
    window_ns: Option<u64>,
    backoff: Backoff,
    timeout_ns: u64,
    rng: fastrand::Rng,
    /// Times of attempts, also ones that earlier times have replaced.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// The clients that are not back.
    absent: HashMap<u32, Absent>,
    backlog: Backlog,
    /// Clients and attempts with their deadlines.
    deadlines: VecDeque<(u32, u32, u64)>,
    /// The moment until which everything that arrived has been read: a later deadline may have been kept.
    heard_until_ns: u64,
}

/// A client that is not back.
#[derive(Clone, Copy)]
struct Absent {
    /// Failed attempts.
    tries: u32,
    /// The server's last statement about when the client may come back.
    reconnection: Reconnection,
    /// When the next attempt is due; `None` while one is under way.
    due_ns: Option<u64>,
}

impl Reconnects {
    /// Reconnects without a lost client.
    pub(crate) fn new(window_ns: Option<u64>, backoff: Backoff, timeout_ns: u64, seed: u64) -> Self {
        Self {
            window_ns,
            backoff,
            timeout_ns,
            rng: fastrand::Rng::with_seed(seed),
            due: BinaryHeap::new(),
            absent: HashMap::new(),
            backlog: Backlog::default(),
            deadlines: VecDeque::new(),
            heard_until_ns: u64::MAX,
        }
    }

    /// Handles the loss of `client`'s connection. `reconnection` is what the server said about the next.
    pub(crate) fn handle_loss(&mut self, client: u32, reconnection: Reconnection, now_ns: u64) {
        let wait_ns = match (self.window_ns, reconnection) {
            (Some(window_ns), _) => (self.rng.f64() * window_ns as f64) as u64,
            (None, Reconnection::After { wait_ns }) => wait_ns,
            (None, _) => self.backoff.wait_ns(0, self.rng.f64()),
        };
        self.expect(client, reconnection, now_ns + wait_ns);
    }

    /// Handles a departure: `client` has no connection, and is to have another at `due_ns`.
    pub(crate) fn handle_departure(&mut self, client: u32, due_ns: u64) {
        self.expect(client, Reconnection::Usual, due_ns);
    }

    fn expect(&mut self, client: u32, reconnection: Reconnection, due_ns: u64) {
        self.absent.insert(client, Absent { tries: 0, reconnection, due_ns: Some(due_ns) });
        // An earlier entry of the client stays in the heap; `poll` drops what is not the client's latest
        // moment.
        self.due.push(Reverse((due_ns, client)));
    }

    /// Handles a failed attempt of `client`. `reconnection` is what the server said about the next.
    pub(crate) fn handle_failure(&mut self, client: u32, reconnection: Reconnection, now_ns: u64) {
        let Some(absent) = self.absent.get_mut(&client) else { return };
        absent.tries += 1;
        if reconnection != Reconnection::Usual {
            absent.reconnection = reconnection;
        }
        let wait_ns = match absent.reconnection {
            Reconnection::Usual => self.backoff.wait_ns(absent.tries, self.rng.f64()),
            Reconnection::After { wait_ns } => wait_ns.max(FAILED_WAIT_NS_MIN),
            // Beyond any limit on tries: it stays absent, and is not waited for.
            Reconnection::Never => return absent.tries = u32::MAX,
        };
        let due_ns = now_ns + wait_ns;
        absent.due_ns = Some(due_ns);
        self.due.push(Reverse((due_ns, client)));
    }

    /// Returns whether `client` is to come back.
    pub(crate) fn expects(&self, client: u32) -> bool {
        self.absent.contains_key(&client)
    }

    /// Returns whether `client` is to come back, and has not failed to.
    pub(crate) fn is_hoped_for(&self, client: u32) -> bool {
        self.absent.get(&client).is_some_and(|absent| absent.tries == 0)
    }

    /// Returns whether a client is still to come back and has not failed to.
    pub(crate) fn has_hope(&self) -> bool {
        self.has_tries(1)
    }

    /// Returns whether a client is still to come back and has failed less often than `tries_max`.
    pub(crate) fn has_tries(&self, tries_max: u32) -> bool {
        self.absent.values().any(|absent| absent.tries < tries_max)
    }

    /// Notes that `client` is back.
    pub(crate) fn handle_back(&mut self, client: u32) {
        self.absent.remove(&client);
    }

    /// The action to take now: each is given once.
    pub(crate) fn poll(&mut self, now_ns: u64) -> Option<ReconnectAction> {
        while let Some(&Reverse((due_ns, client))) = self.due.peek()
            && due_ns.max(self.backlog.not_before_ns()) <= now_ns
        {
            self.due.pop();
            let absent = self.absent.get_mut(&client);
            if absent.is_some_and(|absent| absent.due_ns.take_if(|next_ns| *next_ns == due_ns).is_some()) {
                return Some(ReconnectAction::Connect(client));
            }
        }
        let &(client, attempt, deadline_ns) = self.deadlines.front()?;
        if deadline_ns > now_ns.min(self.heard_until_ns) {
            return None;
        }
        self.deadlines.pop_front();
        Some(ReconnectAction::Expire { client, attempt })
    }

    /// Notes the moment until which everything that arrived has been read.
    pub(crate) fn handle_heard(&mut self, until_ns: u64) {
        self.heard_until_ns = until_ns;
    }

    /// Handles an attempt of `client` that could not begin, because a unix socket's backlog is full. The
    /// client is due again, and has not failed.
    pub(crate) fn handle_full(&mut self, client: u32, now_ns: u64) {
        self.backlog.handle_full(now_ns);
        if let Some(absent) = self.absent.get_mut(&client) {
            absent.due_ns = Some(now_ns);
            self.due.push(Reverse((now_ns, client)));
        }
    }

    /// Returns whether clients may still wait for room in a unix socket's backlog.
    pub(crate) fn may_wait_for_room(&self, now_ns: u64) -> bool {
        self.backlog.may_wait(self.timeout_ns, now_ns)
    }

    /// Notes that the attempt of `client` has begun.
    pub(crate) fn handle_begun(&mut self, client: u32, attempt: u32, now_ns: u64) {
        self.backlog.handle_room();
        // All attempts have the same time, so that the front is always due first.
        self.deadlines.push_back((client, attempt, now_ns + self.timeout_ns));
    }

    /// When to look again.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let due_ns = self.due.peek().map(|Reverse((due_ns, _))| (*due_ns).max(self.backlog.not_before_ns()));
        let expiry_ns = self.deadlines.front().map(|&(_, _, deadline_ns)| deadline_ns);
        [due_ns, expiry_ns].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::DialectId;

    fn reconnects(dialect: DialectId, window_ns: Option<u64>) -> Reconnects {
        Reconnects::new(window_ns, dialect.facts().backoff, 1_000, 1)
    }

    #[test]
    fn a_client_tries_until_it_is_back() {
        let mut reconnects = reconnects(DialectId::Phoenix, None);
        reconnects.handle_loss(7, Reconnection::Usual, 0);
        assert_eq!(reconnects.poll(9_999_999), None);
        assert_eq!(reconnects.poll(10_000_000), Some(ReconnectAction::Connect(7)));
        reconnects.handle_begun(7, 2, 10_000_000);
        assert!(reconnects.expects(7) && reconnects.has_hope() && !reconnects.expects(8));
        assert!(reconnects.is_hoped_for(7) && !reconnects.is_hoped_for(8));
        assert_eq!(reconnects.poll_timeout(), Some(10_001_000));
        reconnects.handle_heard(10_000_999);
        assert_eq!(reconnects.poll(10_001_000), None, "its answer may be here");
        reconnects.handle_heard(10_001_000);
        assert_eq!(reconnects.poll(10_001_000), Some(ReconnectAction::Expire { client: 7, attempt: 2 }));
        reconnects.handle_failure(7, Reconnection::Usual, 10_001_000);
        assert!(reconnects.expects(7) && !reconnects.has_hope() && !reconnects.is_hoped_for(7));
        assert_eq!(reconnects.poll_timeout(), Some(60_001_000), "50 ms later");
        assert_eq!(reconnects.poll(60_001_000), Some(ReconnectAction::Connect(7)));
        reconnects.handle_back(7);
        assert!(!reconnects.expects(7));
        reconnects.handle_failure(7, Reconnection::Usual, 60_001_000);
        assert_eq!(reconnects.poll_timeout(), None, "who is back needs no further try");
    }

    #[test]
    fn servers_say_when_to_come_back() {
        let mut reconnects = reconnects(DialectId::Phoenix, None);
        let [said_ns, failed_ns] = [300_000_000, 1_000_000_000];
        reconnects.handle_loss(7, Reconnection::After { wait_ns: said_ns }, 0);
        let connects = Some(ReconnectAction::Connect(7));
        assert_eq!([said_ns - 1, said_ns].map(|now_ns| reconnects.poll(now_ns)), [None, connects]);
        reconnects.handle_failure(7, Reconnection::Usual, failed_ns);
        let again_ns = failed_ns + said_ns;
        assert_eq!([again_ns - 1, again_ns].map(|now_ns| reconnects.poll(now_ns)), [None, connects]);
        reconnects.handle_failure(7, Reconnection::Never, 2_000);
        assert_eq!((reconnects.poll_timeout(), reconnects.has_tries(u32::MAX)), (None, false));
        assert!(reconnects.expects(7), "it is not back");
    }

    #[test]
    fn failed_clients_of_impatient_servers_wait() {
        let mut reconnects = reconnects(DialectId::Sse, None);
        reconnects.handle_loss(7, Reconnection::After { wait_ns: 0 }, 0);
        let connects = Some(ReconnectAction::Connect(7));
        assert_eq!(reconnects.poll(0), connects);
        reconnects.handle_failure(7, Reconnection::Usual, 10);
        let again_ns = 10 + FAILED_WAIT_NS_MIN;
        assert_eq!([again_ns - 1, again_ns].map(|now_ns| reconnects.poll(now_ns)), [None, connects]);
    }

    #[test]
    fn early_reconnects_happen_once() {
        let mut reconnects = reconnects(DialectId::Json, None);
        // It has a second to be let go, and needs none.
        reconnects.handle_departure(7, 1_000);
        reconnects.handle_departure(7, 5);
        assert_eq!(reconnects.poll(5), Some(ReconnectAction::Connect(7)));
        reconnects.handle_back(7);
        reconnects.handle_departure(7, 1_500);
        assert_eq!(
            (reconnects.poll(1_000), reconnects.poll(1_500)),
            (None, Some(ReconnectAction::Connect(7)))
        );
    }

    #[test]
    fn full_backlogs_are_no_failures() {
        let mut reconnects = reconnects(DialectId::Json, Some(0));
        for client in [7, 8] {
            reconnects.handle_loss(client, Reconnection::Usual, 0);
        }
        assert_eq!(reconnects.poll(0), Some(ReconnectAction::Connect(7)));
        reconnects.handle_full(7, 500);
        assert!(reconnects.is_hoped_for(7), "the server has not refused it");
        assert_eq!([1_499, 1_500].map(|now_ns| reconnects.may_wait_for_room(now_ns)), [true, false]);
        assert_eq!((reconnects.poll(1_000_499), reconnects.poll_timeout()), (None, Some(1_000_500)));
        assert_eq!(reconnects.poll(1_000_500), Some(ReconnectAction::Connect(8)));
        reconnects.handle_begun(8, 1, 1_000_500);
        assert_eq!(reconnects.poll(1_000_500), Some(ReconnectAction::Connect(7)));
        assert!(reconnects.may_wait_for_room(1_000_500), "there was room");
    }

    #[test]
    fn a_window_spreads_them() {
        let mut reconnects = reconnects(DialectId::Json, Some(1_000));
        for client in 0..100 {
            reconnects.handle_loss(client, Reconnection::Usual, 0);
        }
        let early = (0..100).filter_map(|_| reconnects.poll(500)).count();
        assert!((30..70).contains(&early), "{early} of 100 in the first half");
        assert_eq!((0..100).filter_map(|_| reconnects.poll(1_000)).count(), 100 - early);
    }
}
