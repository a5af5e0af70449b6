//! The clients of a step connect: which is next, and which has taken too long.
//!
//! Rules. At most `window` attempts are under way at once. A server whose accept queue is full lets handshakes go
//! unanswered: an attempt that TCP has not even begun with when its time is up, while others got in, was never seen by
//! the server. It goes back into the queue, and the window is halved, once in a while at most; whoever gets in widens
//! it again by one over a whole window, as TCP does (RFC 5681 §3.1). A client is given up after [`TRIES_MAX`]. When nobody
//! has got in for as long as an attempt may take, or twice as long where somebody had (all that one of fifty workers has
//! under way may go unanswered at once), there is no server to be gentle with: the window opens, so that those who are
//! left do not fail one after the other.

use std::collections::{HashMap, VecDeque};

use load::{Connecting, Pacer, Segment, StepOrder};
use net::clock;
use net::errors::ErrorKind;

use super::{Phase, Worker};
use crate::awaiting::Awaiting;
use crate::cause::Cause;
use crate::client::Client;
use crate::ledger::{Ledger, State, Step};
use crate::messages::Report;

/// More clients on one worker are more than its process can have files.
const CLIENTS_MAX: u32 = 1 << 24;
/// How long a full backlog is left alone.
const FULL_PAUSE_NS: u64 = 1_000_000;
/// The window is halved once in this time at most: TCP's first wait for an answer (RFC 6298 §2).
const HALVE_INTERVAL_NS: u64 = 1_000_000_000;
/// So often a client may go unanswered.
const TRIES_MAX: u32 = 5;

/// The connecting phase of a step at one worker.
pub(crate) struct Growth {
    /// Clients still to be connected.
    waiting: VecDeque<u32>,
    pacer: Option<Pacer>,
    begun: u64,
    start_ns: u64,
    timeout_ns: u64,
    /// A pause after the server could not take another one.
    not_before_ns: u64,
    under_way: u32,
    /// Usable clients that lost their connection meanwhile.
    lost: u32,
    under_way_max: u32,
    /// How many may be under way now.
    window: f64,
    halved_ns: Option<u64>,
    /// When somebody last got in; 0: nobody has.
    usable_ns: u64,
    /// Clients that went unanswered: how often, and when they first tried.
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
        let under_way_max = connecting.parallel.div_ceil(stride).max(1);
        Self {
            waiting: clients,
            pacer: connecting.rate_per_s.map(|rate| Pacer::constant(rate, u32::from(segment.worker), stride)),
            begun: 0,
            start_ns,
            timeout_ns: connecting.timeout_ns,
            not_before_ns: 0,
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

    /// The next client to connect, if it is time and not too many are at it.
    pub(crate) fn poll_client(&mut self, now_ns: u64) -> Option<u32> {
        if self.under_way >= self.window() || self.next_due_ns() > now_ns {
            return None;
        }
        let client = self.waiting.pop_front()?;
        self.begun += 1;
        self.under_way += 1;
        Some(client)
    }

    /// The attempt of `client` has begun.
    pub(crate) fn handle_begun(&mut self, client: u32, attempt: u32, now_ns: u64) {
        self.deadlines.push_back((client, attempt, now_ns + self.timeout_ns));
    }

    /// The attempt of `client` could not begin: a unix socket's backlog is full. It goes first when one has ended,
    /// or a little later.
    pub(crate) fn handle_full(&mut self, client: u32, now_ns: u64) {
        self.waiting.push_front(client);
        self.under_way -= 1;
        self.begun -= 1;
        self.not_before_ns = now_ns + FULL_PAUSE_NS;
    }

    /// A client became usable.
    pub(crate) fn handle_usable(&mut self, now_ns: u64) {
        self.handle_end();
        self.usable_ns = now_ns;
        self.window = (self.window + 1.0 / self.window).min(self.under_way_max.into());
    }

    /// A client that was usable has lost its connection: it does not connect again before the load.
    pub(crate) fn handle_loss(&mut self) {
        self.lost += 1;
    }

    /// A client failed, or became usable.
    pub(crate) fn handle_end(&mut self) {
        debug_assert!(self.under_way > 0, "an attempt ends once");
        self.under_way -= 1;
    }

    /// The attempt of `client`, begun at `started_ns`, has had no answer from the server's kernel in its time. True: it
    /// is to be given up, and comes again; false: it has failed.
    pub(crate) fn handle_unanswered(&mut self, client: u32, started_ns: u64, now_ns: u64) -> bool {
        let (tries, _) = self.unanswered.entry(client).or_insert((0, started_ns));
        *tries += 1;
        if *tries >= TRIES_MAX || self.is_hopeless(now_ns) {
            return false;
        }
        self.handle_end();
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

    /// Whether every attempt has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.under_way == 0
    }

    /// Clients that have tried and are neither usable nor given up: left out when a step is cut short.
    pub(crate) fn trying(&self) -> u32 {
        let again = self.waiting.iter().filter(|client| self.unanswered.contains_key(client)).count();
        self.under_way + again as u32
    }

    /// Whether nobody gets in, or nobody does any more.
    fn is_hopeless(&self, now_ns: u64) -> bool {
        let attempts = if self.usable_ns == 0 { 1 } else { 2 };
        self.usable_ns <= now_ns.saturating_sub(attempts * self.timeout_ns)
    }

    fn window(&self) -> u32 {
        self.window as u32
    }

    fn next_due_ns(&self) -> u64 {
        let due_ns = self.start_ns + self.pacer.map_or(0, |pacer| pacer.due_ns(self.begun));
        due_ns.max(self.not_before_ns)
    }
}

impl Worker {
    /// Begins to connect the clients that the step has more than there are.
    pub(crate) fn start_growing(&mut self, order: StepOrder, now_ns: u64) {
        let share = self.segment.share(order.clients).min(CLIENTS_MAX);
        self.ledger.meter.start_step(&order);
        self.ledger.step = Step::new(order);
        if self.clients.len() < share as usize {
            self.clients.resize_with(share as usize, Client::default);
        }
        // From now on, not from the start of the load: another worker may hear of that first, and send.
        self.ledger.step.broadcasts.reset(self.clients.len() as u32);
        self.dismiss(share, now_ns);
        for client in &mut self.clients {
            client.record.echoes = Default::default();
            client.record.awaiting = Awaiting::default();
            client.record.copies = 0;
            client.record.unacknowledged = 0;
            client.record.dropped = 0;
        }
        let vacant = |&c: &u32| self.clients[c as usize].record.state == State::Vacant;
        let waiting: VecDeque<u32> = (0..share).filter(vacant).collect();
        let growth = Growth::new(&self.plan.connecting, self.segment, now_ns, waiting);
        self.phase = Phase::Growing(Box::new(growth));
        self.next_delta_ns = now_ns + self.delta_interval_ns();
        self.grow(now_ns);
    }

    /// Says goodbye to the clients that this step does without, and drops those that never answered theirs.
    fn dismiss(&mut self, share: u32, now_ns: u64) {
        for client in self.clients.iter_mut().filter(|c| c.record.state == State::Closing) {
            client.vacate();
        }
        for (index, client) in self.clients.iter_mut().enumerate().skip(share as usize) {
            if client.record.state == State::Usable {
                self.ledger.handle_unusable(&client.record, now_ns);
            }
            client.close(index as u32, &mut self.shared, &mut self.ledger.meter);
        }
    }

    /// Connects whoever may connect now, and ends the phase when nobody is left.
    pub(crate) fn grow(&mut self, now_ns: u64) {
        let Phase::Growing(growth) = &mut self.phase else { return };
        while let Some((client, attempt)) = growth.poll_expired(now_ns) {
            let late = &mut self.clients[client as usize];
            if late.attempt != attempt || !matches!(late.record.state, State::Connecting | State::Opening) {
                continue;
            }
            if late.is_unanswered() && growth.handle_unanswered(client, late.record.started_ns, now_ns) {
                let why = || "TCP had no answer while others had: the server's accept queue was full".into();
                self.ledger.meter.error("unaccepted", client, now_ns, why);
                late.vacate();
                continue;
            }
            late.fail(client, Cause::ConnectTimeout, now_ns, &mut self.ledger.meter);
            growth.handle_end();
        }
        while let Some(index) = growth.poll_client(now_ns) {
            let client = &mut self.clients[index as usize];
            let first_tried_ns = growth.first_tried_ns(index);
            match client.connect(index, clock::monotonic_ns(), &mut self.shared) {
                Ok(()) => {
                    client.record.started_ns = first_tried_ns.unwrap_or(client.record.started_ns);
                    if first_tried_ns.is_none() {
                        self.ledger.meter.handle_connect(index, now_ns);
                    }
                    growth.handle_begun(index, client.attempt, now_ns);
                }
                Err(Cause::Net(ErrorKind::WouldBlock)) => {
                    client.vacate();
                    growth.handle_full(index, now_ns);
                }
                Err(cause) => {
                    if first_tried_ns.is_none() {
                        self.ledger.meter.handle_connect(index, now_ns);
                    }
                    client.fail(index, cause, now_ns, &mut self.ledger.meter);
                    growth.handle_end();
                }
            }
        }
        if growth.is_over() {
            let lost = growth.lost;
            self.phase = Phase::Idle;
            self.report_delta(now_ns);
            let Ledger { usable, slow, .. } = self.ledger;
            self.report(Report::Grown { worker: self.segment.worker, usable, slow, reached: usable + lost });
        }
    }

    /// Ends the attempt of a client that was opening, if it is usable now.
    pub(crate) fn handle_opened(&mut self, index: u32, now_ns: u64) {
        if self.clients[index as usize].record.state == State::Usable {
            if let Phase::Growing(growth) = &mut self.phase {
                growth.handle_usable(now_ns);
            }
            self.handle_return(index);
            self.grow(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Segment = Segment { worker: 0, workers: 1 };

    fn growth(rate_per_s: Option<f64>, parallel: u32) -> Growth {
        let connecting = Connecting { timeout_ns: 2_000, rate_per_s, parallel, local_addrs: Vec::new() };
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
    fn who_goes_unanswered_while_others_get_in_comes_again_and_more_slowly() {
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
        assert_eq!(growth.poll_expired(2_100), None);
    }

    #[test]
    fn all_that_one_of_many_workers_has_under_way_may_go_unanswered() {
        let mut growth = growth(None, 2);
        assert_eq!((growth.poll_client(100), growth.poll_client(100)), (Some(0), Some(1)));
        growth.handle_usable(200);
        assert!(growth.handle_unanswered(1, 100, 2_500), "somebody had got in");
        assert_eq!(growth.poll_client(2_500), Some(2));
        assert!(!growth.handle_unanswered(2, 2_500, 4_500), "twice as long, nobody has");
    }
}
