//! Connections by which a worker asks an application to tell its rooms something: few, and kept open.
//!
//! A message belongs to the client in whose room it is said, and is booked there. The connections' own books
//! have only what concerns the connections; of these, nothing but errors is reported.

use std::collections::VecDeque;

use codec::Stamp;
use load::StepOrder;
use net::poll::Event;
use stats::error_kind::PUBLISHER_PREFIX;
use wire::{HttpOptions, RequestOutcome, Sending};

use crate::books::{Cause, Relayed};
use crate::clients::connecting::ConnectAttempt;
use crate::clients::{Clients, PUBLISHER, Token};
use crate::timing::Portion;

/// The time from one attempt to connect to the next.
const RETRY_NS: u64 = 100_000_000;

/// The publishing connections of one worker.
pub(crate) struct Publishers {
    clients: Clients,
    all: Vec<Publisher>,
    /// Messages that wait for a connection.
    waiting: VecDeque<Stamp>,
    /// How long a connect may take, and how long a message may wait for a connection.
    timeout_ns: u64,
    /// The time in the step since which no connection stands.
    down_ns: Option<u64>,
    /// Conditions on the answers.
    asked: HttpOptions,
}

#[derive(Clone, Default)]
struct Publisher {
    /// Messages without an answer, oldest first.
    under_way: VecDeque<Stamp>,
    /// Messages whose answers ended with the connection, until it stands again: an application that is gone may
    /// never have had them.
    lost: Vec<Stamp>,
    /// When it last began to connect.
    tried_ns: u64,
    /// The time since which it connects again after the application had closed it behind an answer.
    redialling_ns: Option<u64>,
}

impl Publishers {
    /// Publishers that are not connected yet; each has `timeout_ns` to connect.
    pub(crate) fn new(clients: Clients, count: u32, timeout_ns: u64) -> Self {
        let asked = HttpOptions::from(&clients.shared.wire.options().of_dialect.settings);
        let all = vec![Publisher::default(); count as usize];
        Self { clients, all, waiting: VecDeque::new(), timeout_ns, down_ns: None, asked }
    }

    /// Begins a step.
    pub(crate) fn start_step(&mut self, order: StepOrder, users: &mut Clients, now_ns: u64) {
        // Those that were down at the end of the step before have their time anew.
        self.down_ns = None;
        for publisher in &mut self.all {
            publisher.under_way.clear();
            publisher.lost.clear();
        }
        let count = self.all.len() as u32;
        for index in self.clients.start_step(order, count, now_ns) {
            self.connect(index, users, now_ns);
        }
    }

    /// Begins the load of the step: connections that were lost while clients connected are tried again, and
    /// have their time anew.
    pub(crate) fn start_load(&mut self, users: &mut Clients, now_ns: u64) {
        self.down_ns = None;
        self.connect_lost(users, now_ns);
    }

    /// Ends the step, before its books are closed: messages that still wait will not be sent.
    pub(crate) fn end_step(&mut self, users: &mut Clients, now_ns: u64) {
        for stamp in self.waiting.drain(..) {
            users.book_unsaid(stamp, now_ns);
        }
    }

    /// Number of publishers; 0 before the first step.
    fn count(&self) -> u32 {
        self.clients.count()
    }

    fn connect(&mut self, index: u32, users: &mut Clients, now_ns: u64) {
        self.all[index as usize].tried_ns = now_ns;
        let may_wait = !self.is_hopeless(now_ns);
        match self.clients.connect_again(index, may_wait, now_ns) {
            Some(ConnectAttempt::Failed) => {
                self.hand_over(index, users, now_ns);
                self.book_gone(users);
                self.give_up_without_hope(users, now_ns);
            }
            // A full backlog is tried again while messages wait.
            Some(ConnectAttempt::UnderWay { .. } | ConnectAttempt::Full) | None => {}
        }
    }

    /// Has a client's next messages published.
    pub(crate) fn send(&mut self, client: u32, portion: &mut Portion<'_>, users: &mut Clients, now_ns: u64) {
        for intended_ns in portion {
            let now_ns = users.shared.absence_end_ns(now_ns).unwrap_or(now_ns);
            let stamp = users.handle_sending(client, intended_ns, now_ns);
            match self.idlest(users, now_ns) {
                Some(index) => self.say(index, stamp, users, now_ns),
                None => {
                    users.ledger.handle_waiting(false, now_ns.saturating_sub(intended_ns));
                    self.waiting.push_back(stamp);
                }
            }
        }
    }

    /// Connects lost connections again.
    fn connect_lost(&mut self, users: &mut Clients, now_ns: u64) {
        for index in 0..self.count() {
            // Each message asks for a connection: without a pause, an application that refuses would get a
            // connect for each.
            let is_due = now_ns.saturating_sub(self.all[index as usize].tried_ns) >= RETRY_NS;
            if is_due && self.clients.is_vacant(index) {
                self.connect(index, users, now_ns);
            }
        }
    }

    /// The connection with the fewest messages under way. Connects lost ones again.
    fn idlest(&mut self, users: &mut Clients, now_ns: u64) -> Option<u32> {
        self.connect_lost(users, now_ns);
        let usable = (0..self.count()).filter(|&index| self.clients.is_usable(index));
        // Not in turn: one slow answer would hold up every n-th message while other connections are free.
        usable.min_by_key(|&index| self.all[index as usize].under_way.len())
    }

    /// Has a message published over this connection.
    fn say(&mut self, index: u32, stamp: Stamp, users: &mut Clients, now_ns: u64) {
        self.all[index as usize].under_way.push_back(stamp);
        let late_ns = now_ns.saturating_sub(stamp.intended_ns);
        let said = self.clients.say_for(index, users.sender_of(stamp), stamp, now_ns);
        if let Some(back_ns) = users.shared.absence_end_ns(now_ns) {
            users.ledger.meter.held_writes.add(stamp.client, now_ns, back_ns.saturating_sub(now_ns));
        }
        match said {
            Ok((Sending::Out, bytes)) => users.book_sent(stamp, bytes, now_ns),
            Ok((Sending::Waits { is_busy }, _)) => users.ledger.handle_waiting(is_busy, late_ns),
            Err(cause) => {
                // It has a number, and did not go out.
                users.ledger.handle_waiting(false, late_ns);
                self.lose(index, cause, users, now_ns);
            }
        }
        self.hand_over(index, users, now_ns);
    }

    /// Begins a turn of the worker, which was woken at this moment.
    pub(crate) fn begin_turn(&mut self, now_ns: u64) {
        self.clients.shared.begin_turn(now_ns, false);
    }

    /// Handles an event on one of the connections. Returns whether there is more to read.
    pub(crate) fn handle_ready(&mut self, event: Event, users: &mut Clients) -> bool {
        let token = Token::unpack(event.token & !PUBLISHER);
        let index = token.client;
        let has_stood = self.stands(index);
        let Some(outcome) = self.clients.handle_ready(token, event) else { return false };
        let now_ns = self.clients.shared.now_ns;
        self.hand_over(index, users, now_ns);
        let has_more = match outcome.held {
            Ok(has_more) => has_more,
            Err(cause) => {
                self.lose(index, cause, users, now_ns);
                false
            }
        };
        if self.stands(index) && !has_stood {
            // The application is there: what it did not answer is its own. One that stood before may just have been
            // closed, and is made again with the next message.
            self.all[index as usize].lost.clear();
        }
        while self.clients.is_usable(index)
            && let Some(stamp) = self.waiting.pop_front()
        {
            // Stamped anew, so that its lag counts until the moment at which it really goes out.
            let stamp = stamp.sent_at(now_ns);
            self.all[index as usize].under_way.push_back(stamp);
            match self.clients.say_for(index, users.sender_of(stamp), stamp, now_ns) {
                Ok((Sending::Out, bytes)) => {
                    users.book_request_outcome(stamp, RequestOutcome::Sent { bytes }, now_ns)
                }
                Ok((Sending::Waits { .. }, _)) => {}
                Err(cause) => self.lose(index, cause, users, now_ns),
            }
            self.hand_over(index, users, now_ns);
        }
        has_more
    }

    /// When to call [`handle_timeouts`](Self::handle_timeouts), if no event comes before.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let oldest_ns = self.waiting.front().map(|stamp| stamp.sent_ns() + self.timeout_ns);
        (0..self.count()).filter_map(|index| self.due_ns(index)).chain(oldest_ns).min()
    }

    /// When to give up a connection that is under way, or to try one again that messages wait for.
    fn due_ns(&self, index: u32) -> Option<u64> {
        let Publisher { tried_ns, redialling_ns, .. } = self.all[index as usize];
        if self.clients.is_vacant(index) {
            return (!self.waiting.is_empty()).then_some(tried_ns + RETRY_NS);
        }
        let since_ns = if self.clients.is_usable(index) { redialling_ns } else { Some(tried_ns) };
        since_ns.map(|since_ns| since_ns + self.timeout_ns)
    }

    /// Gives up connections that have been under way for too long, and messages that have waited for a
    /// connection for as long; connects anew for the others. What arrived has been read until `heard_ns`: the
    /// answer to a connection whose time ended later may be here.
    pub(crate) fn handle_timeouts(&mut self, users: &mut Clients, heard_ns: u64, now_ns: u64) {
        let mut stands = false;
        for index in 0..self.count() {
            let is_usable = self.clients.is_usable(index);
            let is_redialling = is_usable && self.clients.is_dialling(index);
            stands |= self.stands(index);
            let publisher = &mut self.all[index as usize];
            publisher.redialling_ns = is_redialling.then(|| publisher.redialling_ns.unwrap_or(now_ns));
            let Some(due_ns) = self.due_ns(index) else { continue };
            match self.clients.is_vacant(index) {
                true if due_ns <= now_ns => self.connect(index, users, now_ns),
                false if due_ns <= heard_ns => self.lose(index, Cause::ConnectTimeout, users, now_ns),
                _ => {}
            }
        }
        while let Some(&oldest) = self.waiting.front()
            && oldest.sent_ns() + self.timeout_ns <= heard_ns
        {
            self.waiting.pop_front();
            users.book_unsaid(oldest, now_ns);
        }
        self.down_ns = (!stands).then(|| self.down_ns.unwrap_or(now_ns));
    }

    /// Returns whether no connection has stood for as long as a connect may take: a closed loop would wait
    /// for its samples in vain.
    pub(crate) fn is_hopeless(&self, now_ns: u64) -> bool {
        self.down_ns.is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= self.timeout_ns)
    }

    /// Returns whether a connection stands; one that the application closed is made again.
    fn stands(&self, index: u32) -> bool {
        self.clients.is_usable(index) && !self.clients.is_dialling(index)
    }

    /// Handles the loss of a connection, and with it of every answer that it owed.
    fn lose(&mut self, index: u32, cause: Cause, users: &mut Clients, now_ns: u64) {
        let has_stood = self.stands(index);
        self.clients.lose(index, cause, now_ns);
        self.hand_over(index, users, now_ns);
        let publisher = &mut self.all[index as usize];
        for stamp in std::mem::take(&mut publisher.under_way) {
            publisher.lost.push(stamp);
            users.book_unpublished(stamp, now_ns);
        }
        if !has_stood {
            self.book_gone(users);
        }
        self.give_up_without_hope(users, now_ns);
    }

    /// Books that a connect has failed: the application is gone, and what it had not answered before may have
    /// been taken by nobody.
    fn book_gone(&mut self, users: &mut Clients) {
        for stamp in self.all.iter_mut().flat_map(|publisher| publisher.lost.drain(..)) {
            users.book_cut_off(stamp);
        }
    }

    /// Gives up waiting messages where the last attempt has failed.
    fn give_up_without_hope(&mut self, users: &mut Clients, now_ns: u64) {
        if (0..self.count()).all(|index| self.clients.is_vacant(index)) {
            for stamp in self.waiting.drain(..) {
                users.book_unsaid(stamp, now_ns);
            }
        }
    }

    /// Hands a connection's outcomes to the books of the messages' senders.
    fn hand_over(&mut self, index: u32, users: &mut Clients, now_ns: u64) {
        for relayed in self.clients.ledger.take_relayed() {
            match relayed {
                Relayed::Answer { stamp, status, bytes, reach } => {
                    self.forget(index, stamp);
                    self.all[index as usize].lost.clear();
                    match self.asked.is_expected(status) {
                        true => users.book_published(stamp, bytes, reach, now_ns),
                        false => users.book_refused(stamp, now_ns),
                    }
                }
                Relayed::RequestOutcome(stamp, outcome) => {
                    if matches!(outcome, RequestOutcome::Dropped | RequestOutcome::Failed(_)) {
                        self.forget(index, stamp);
                    }
                    if matches!(outcome, RequestOutcome::Dropped) {
                        self.all[index as usize].lost.push(stamp);
                    }
                    users.book_request_outcome(stamp, outcome, now_ns);
                }
            }
        }
        // The publishers' own meter is not reported: only their errors reach the results, under a prefix of
        // their own.
        for (kind, seen) in std::mem::take(&mut self.clients.ledger.meter.errors).iter() {
            users.ledger.meter.errors.add_kind(&format!("{PUBLISHER_PREFIX}{kind}"), seen.clone());
        }
    }

    /// Forgets a message with an outcome. Answers come in order.
    fn forget(&mut self, index: u32, stamp: Stamp) {
        let Publisher { under_way, .. } = &mut self.all[index as usize];
        if let Some(at) = under_way.iter().position(|other| other.seq == stamp.seq) {
            under_way.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use load::{Endpoint, Load, Plan, Segment, Workload};
    use net::clock;

    use super::*;
    use crate::books::{Ledger, LedgerOptions, Meter, Secrets};
    use crate::clients::Shared;
    use crate::support::plan;

    const TIMEOUT_NS: u64 = 1_000_000_000;

    fn clients(plan: &Plan) -> Clients {
        let segment = Segment { worker: 0, workers: 1 };
        let shared = Shared::new(plan, segment).unwrap();
        let meter = Meter::new(plan.epoch_ns, Secrets::new(&shared.wire, segment));
        let (rooms, options) = (Arc::clone(&plan.rooms), LedgerOptions::default());
        Clients::new(shared, Ledger::new(meter, Workload::Broadcast, segment, rooms, options))
    }

    /// The application accepts the connection, and says nothing.
    #[test]
    fn deadlines_wait_for_what_is_unread() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = Plan { endpoints: vec![Endpoint::Inet(listener.local_addr().unwrap())], ..plan() };
        let mut users = clients(&plan);
        let mut publishers = Publishers::new(clients(&plan), 1, TIMEOUT_NS);
        let order = StepOrder { index: 0, clients: 1, load: Load::Hold { duration_ns: 1 }, warmup: false };
        let now_ns = clock::monotonic_ns();
        users.start_step(order, 1, now_ns);
        publishers.start_step(order, &mut users, now_ns);
        publishers.waiting.push_back(users.handle_sending(0, now_ns, now_ns));
        let due_ns = now_ns + TIMEOUT_NS;
        let given_up = [due_ns - 1, due_ns].map(|heard_ns| {
            publishers.handle_timeouts(&mut users, heard_ns, due_ns);
            (publishers.clients.is_vacant(0), users.ledger.meter.abandoned.messages)
        });
        assert_eq!(given_up, [(false, 0), (true, 1)]);
    }
}
