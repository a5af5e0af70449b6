//! The clients of a step connect: which is next, and which has taken too long.
//!
//! Rules. At most `window` attempts are under way at once. A server whose accept queue is full lets
//! handshakes go unanswered: an attempt that TCP has not even begun with when its time is up, while others
//! got in, was never seen by the server. It goes back into the queue, and the window is halved, once in a
//! while at most; each client that gets in widens it again by one over a whole window, as TCP does (RFC 5681
//! §3.1). A client is given up after [`TRIES_MAX`]. When none has got in for as long as an attempt may take,
//! or twice as long where somebody had (all that one of fifty workers has under way may go unanswered at
//! once), there is no server to be gentle with: the window opens, so that the clients left do not fail one
//! after the other.

use std::collections::{HashMap, VecDeque};

use load::{Connecting, Pacer, Segment};

use crate::timing::backlog::Backlog;

/// The window is halved once in this time at most: TCP's first wait for an answer (RFC 6298 §2).
const HALVE_INTERVAL_NS: u64 = 1_000_000_000;
/// How often a client may go unanswered.
const TRIES_MAX: u32 = 5;

/// The connecting phase of a step at one worker.
pub(crate) struct Growth {
    /// Clients still to be connected.
    waiting: VecDeque<u32>,
    pacer: Option<Pacer>,
    begun: u64,
    start_ns: u64,
    timeout_ns: u64,
    backlog: Backlog,
    under_way: u32,
    /// Clients that were usable and lost their connection in this phase.
    lost: u32,
    under_way_max: u32,
    /// How many attempts may be under way now.
    window: f64,
    halved_ns: Option<u64>,
    /// When a client last became usable; 0 if none has.
    usable_ns: u64,
    /// Clients that went unanswered, with the number of tries and the time of the first.
    unanswered: HashMap<u32, (u32, u64)>,
    /// When each attempt ends at the latest, oldest first: client, its attempt, deadline.
    deadlines: VecDeque<(u32, u32, u64)>,
}

impl Growth {
    /// Connects `clients` from `start_ns` on.
    pub(crate) fn new(
        connecting: &Connecting,
        segment: Segment,
        start_ns: u64,
        clients: VecDeque<u32>,
    ) -> Self {
        let stride = u32::from(segment.workers);
        // The plan bounds the attempts of all workers together; each takes its part, and at least one.
        let under_way_max = connecting.parallel.div_ceil(stride).max(1);
        Self {
            waiting: clients,
            pacer: connecting.rate_per_s.map(|rate| Pacer::constant(rate, u32::from(segment.worker), stride)),
            begun: 0,
            start_ns,
            timeout_ns: connecting.timeout_ns,
            backlog: Backlog::default(),
            under_way: 0,
            lost: 0,
            under_way_max,
            window: under_way_max.into(),
            halved_ns: None,
            usable_ns: 0,
            unanswered: HashMap::new(),
            deadlines: VecDeque::new(),
        }
    }

    /// The next client to connect, if it is time and the window has room.
    pub(crate) fn poll_client(&mut self, now_ns: u64) -> Option<u32> {
        if self.under_way >= self.window() || self.next_due_ns() > now_ns {
            return None;
        }
        let client = self.waiting.pop_front()?;
        self.begun += 1;
        self.under_way += 1;
        Some(client)
    }

    /// Notes that the attempt of `client` has begun.
    pub(crate) fn handle_begun(&mut self, client: u32, attempt: u32, now_ns: u64) {
        self.backlog.handle_room();
        self.deadlines.push_back((client, attempt, now_ns + self.timeout_ns));
    }

    /// Handles an attempt of `client` that could not begin, because a unix socket's backlog is full. The
    /// client goes first when another attempt has ended, or a little later.
    pub(crate) fn handle_full(&mut self, client: u32, now_ns: u64) {
        self.waiting.push_front(client);
        self.under_way -= 1;
        self.begun -= 1;
        self.backlog.handle_full(now_ns);
    }

    /// Returns whether clients may still wait for room in a unix socket's backlog.
    pub(crate) fn may_wait_for_room(&self, now_ns: u64) -> bool {
        self.backlog.may_wait(self.timeout_ns, now_ns)
    }

    /// Notes that a client became usable.
    pub(crate) fn handle_usable(&mut self, now_ns: u64) {
        self.handle_end();
        self.usable_ns = now_ns;
        // `1 / window` for each success adds one for a whole window of them.
        self.window = (self.window + 1.0 / self.window).min(self.under_way_max.into());
    }

    /// Counts a usable client that has lost its connection: it does not connect again before the load.
    pub(crate) fn handle_loss(&mut self) {
        self.lost += 1;
    }

    /// Ends an attempt: its client failed, or became usable.
    pub(crate) fn handle_end(&mut self) {
        debug_assert!(self.under_way > 0, "an attempt ends once");
        self.under_way -= 1;
    }

    /// Decides about the attempt of `client`, begun at `started_ns`, that has had no answer from the server's
    /// kernel in its time. Returns true if it is to be given up and made again, false if it has failed.
    pub(crate) fn handle_unanswered(&mut self, client: u32, started_ns: u64, now_ns: u64) -> bool {
        let (tries, _) = self.unanswered.entry(client).or_insert((0, started_ns));
        *tries += 1;
        if *tries >= TRIES_MAX || self.is_hopeless(now_ns) {
            return false;
        }
        self.handle_end();
        // Its turn is given back: the rate is one of clients, not of attempts.
        self.begun -= 1;
        self.waiting.push_back(client);
        if self.halved_ns.is_none_or(|ns| now_ns.saturating_sub(ns) >= HALVE_INTERVAL_NS) {
            self.window = (self.window / 2.0).max(1.0);
            self.halved_ns = Some(now_ns);
        }
        true
    }

    /// When `client` first tried, if it has gone unanswered before: its handshake counts from there.
    pub(crate) fn first_tried_ns(&self, client: u32) -> Option<u64> {
        self.unanswered.get(&client).map(|&(_, first_ns)| first_ns)
    }

    /// An attempt whose time is up: client and attempt. It may have ended long ago.
    pub(crate) fn poll_expired(&mut self, now_ns: u64) -> Option<(u32, u32)> {
        let &(client, attempt, deadline_ns) = self.deadlines.front()?;
        // All attempts have the same timeout, so the queue is in the order of their deadlines.
        (deadline_ns <= now_ns).then(|| self.deadlines.pop_front())?;
        if self.is_hopeless(now_ns) {
            self.window = self.under_way_max.into();
        }
        Some((client, attempt))
    }

    /// When to look again, if nothing else happens.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let can_begin = !self.waiting.is_empty() && self.under_way < self.window();
        let due_ns = can_begin.then(|| self.next_due_ns());
        let expiry_ns = self.deadlines.front().map(|&(_, _, deadline_ns)| deadline_ns);
        due_ns.into_iter().chain(expiry_ns).min()
    }

    /// Returns whether every attempt has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.under_way == 0
    }

    /// Returns whether an attempt's deadline is still to come, however the attempt ended.
    pub(crate) fn has_time(&self) -> bool {
        !self.deadlines.is_empty()
    }

    /// Clients that have tried and are neither usable nor given up, when a step is cut short.
    pub(crate) fn trying(&self) -> u32 {
        let again = self.waiting.iter().filter(|client| self.unanswered.contains_key(client)).count();
        self.under_way + again as u32
    }

    /// Usable clients that lost their connection while others connected.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns whether no client becomes usable, or none does any more.
    fn is_hopeless(&self, now_ns: u64) -> bool {
        let attempts = if self.usable_ns == 0 { 1 } else { 2 };
        // 0 until a client gets in: growth is then hopeless at the first timeout, before which this is not
        // asked.
        self.usable_ns <= now_ns.saturating_sub(attempts * self.timeout_ns)
    }

    fn window(&self) -> u32 {
        self.window as u32
    }

    fn next_due_ns(&self) -> u64 {
        let due_ns = self.start_ns + self.pacer.map_or(0, |pacer| pacer.due_ns(self.begun));
        due_ns.max(self.backlog.not_before_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::backlog::FULL_PAUSE_NS;

    const ALONE: Segment = Segment { worker: 0, workers: 1 };

    fn growth(rate_per_s: Option<f64>, parallel: u32) -> Growth {
        let connecting =
            Connecting { timeout_ns: 2_000, rate_per_s, parallel, local_addrs: Vec::new(), streams: 1 };
        Growth::new(&connecting, ALONE, 100, (0..4).collect())
    }

    #[test]
    fn no_more_at_once_than_allowed() {
        let mut growth = growth(None, 2);
        assert_eq!(growth.poll_client(100), Some(0));
        assert_eq!(growth.poll_client(100), Some(1));
        assert_eq!(growth.poll_client(100), None);
        growth.handle_end();
        assert_eq!(growth.poll_client(100), Some(2));
        assert!(!growth.is_over());
    }

    #[test]
    fn unanswered_connects_are_repeated_more_slowly() {
        let mut growth = growth(None, 4);
        let begin = |growth: &mut Growth, now_ns| std::iter::from_fn(|| growth.poll_client(now_ns)).count();
        assert_eq!(begin(&mut growth, 100), 4);
        growth.handle_usable(200);
        assert!(growth.handle_unanswered(1, 100, 2_100));
        assert!(growth.handle_unanswered(2, 100, 2_100), "one loss, whoever suffers it");
        assert_eq!(growth.first_tried_ns(2), Some(100));
        assert_eq!(begin(&mut growth, 2_100), 1, "two at once, and one is under way");
        growth.handle_end();
        assert!(!growth.handle_unanswered(1, 2_200, 4_200), "nobody got in meanwhile: there is no server");
        growth.handle_begun(1, 1, 2_200);
        assert_eq!(growth.poll_expired(4_200), Some((1, 1)));
        assert_eq!(growth.window(), 4, "those who are left fail together");
    }

    #[test]
    fn no_faster_than_the_rate() {
        let mut growth = growth(Some(1e6), 9);
        assert_eq!(growth.poll_client(100), Some(0));
        assert_eq!(growth.poll_client(1_099), None);
        assert_eq!(growth.poll_timeout(), Some(1_100));
        assert_eq!(growth.poll_client(1_100), Some(1));
    }

    #[test]
    fn attempts_expire_in_order() {
        let mut growth = growth(None, 9);
        growth.handle_begun(3, 1, 100);
        growth.handle_begun(4, 1, 150);
        assert_eq!(growth.poll_expired(2_099), None);
        assert_eq!(growth.poll_expired(2_100), Some((3, 1)));
        assert_eq!((growth.poll_expired(2_100), growth.has_time()), (None, true));
        assert_eq!((growth.poll_expired(2_150), growth.has_time()), (Some((4, 1)), false));
    }

    #[test]
    fn full_backlogs_are_awaited_until_the_timeout() {
        let mut growth = growth(None, 9);
        let refuse = |growth: &mut Growth, now_ns| {
            let client = growth.poll_client(now_ns).expect("it is time");
            growth.handle_full(client, now_ns);
        };
        refuse(&mut growth, 100);
        assert!(growth.may_wait_for_room(2_099) && !growth.may_wait_for_room(2_100));
        growth.handle_begun(3, 1, 2_100);
        assert!(growth.may_wait_for_room(9_000), "there was room");
        refuse(&mut growth, 100 + FULL_PAUSE_NS);
        assert!(growth.may_wait_for_room(2_099 + FULL_PAUSE_NS));
    }

    #[test]
    fn all_connects_of_a_worker_may_go_unanswered() {
        let mut growth = growth(None, 2);
        assert_eq!((growth.poll_client(100), growth.poll_client(100)), (Some(0), Some(1)));
        growth.handle_usable(200);
        assert!(growth.handle_unanswered(1, 100, 2_500), "somebody had got in");
        assert_eq!(growth.poll_client(2_500), Some(2));
        assert!(!growth.handle_unanswered(2, 2_500, 4_500), "twice as long, nobody has");
    }
}
