//! One thread, one event loop, its share of the clients.
//!
//! A step goes `Command::Step` → connect → `Report::Grown` → `Command::Go` → load → `Report::Loaded` → drain
//! → `Command::Settle` → `Report::Settled`. The worker never decides when a step ends: answers may still be
//! under way at other workers, so that is the crew's to say.
//!
//! The worker joins three modules: `timing` says what is next, `clients` does it, and `books`, which the
//! clients keep, say what came of it. `timing` and `books` know nothing of `clients`, nor of each other.

mod step;
mod visits;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use load::{Plan, Segment};
use net::poll::{Event, Events, Interest, Waker};
use net::{clock, reserve};
use wire::Reconnection;

use crate::books::{Cause, Ledger, LedgerOptions, Meter, Pushes, Recorder, Secrets};
use crate::clients::connecting::ConnectAttempt;
use crate::clients::ending::ClosedConnection;
use crate::clients::pooled::ClientOutcome;
use crate::clients::{Clients, Outcome, POOLED, PUBLISHER, Shared, Token};
use crate::messages::{Command, Report};
use crate::publishers::Publishers;
use crate::reporter::Reporter;
use crate::timing::{
    Batch, ConnectionAction, Disruptions, EVENTS_PER_WAIT, Growth, Heard, Pace, ReadTurn, SlowReaders, Visits,
};

/// How long servers have to answer our goodbye.
const CLOSE_TIMEOUT_NS: u64 = 1_000_000_000;
/// Most clients that connect again before something is read.
const CONNECTS_MAX: usize = 128;
/// The waker's token; clients have their index below and their attempt above.
const WAKER_TOKEN: u64 = u64::MAX;

/// Phases of a worker.
enum Phase {
    /// Waiting for the crew's next command: before the first step, between growing and the load, and after
    /// settling.
    Idle,
    /// Connecting the step's clients.
    Growing(Box<Growth>),
    /// Sending as the step's pace says, or waiting for the moment at which the load begins.
    Loading,
    /// All sent; answers may still come.
    Draining,
    /// Closing all connections until this moment.
    Finishing(u64),
}

/// One worker. [`run`](Worker::run) it on a thread of its own.
pub struct Worker {
    plan: Plan,
    segment: Segment,
    inbox: Receiver<Command>,
    waker: Arc<Waker>,
    reporter: Reporter,
    clients: Clients,
    /// The publishers of the clients' messages, where clients send none themselves.
    publishers: Option<Publishers>,
    phase: Phase,
    /// The pace of sending, once the step is loaded.
    pace: Option<Pace>,
    batch: Batch,
    next_send_ns: Option<u64>,
    /// True if more was due than one batch holds: the rest waits until what has arrived is read.
    is_behind: bool,
    /// The disruptions of connections, while the step is loaded.
    disruptions: Option<Disruptions>,
    /// The visits of rooms.
    visits: Option<Visits>,
    /// Slow clients, by when they read.
    slow_readers: SlowReaders,
    /// When dialects want to be woken: time, client, attempt.
    wakes: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Connections with more to read than one turn takes: epoll has reported them and will not again.
    unfinished: Vec<Event>,
    /// Outcomes of an event for the clients that share its connection, empty between two events.
    outcomes: Vec<ClientOutcome>,
    heard: Heard,
}

impl Worker {
    /// A worker for its segment of the plan. Commands come by `inbox`, announced by `waker`.
    ///
    /// # Errors
    /// A plan that cannot be put on the wire, certificates that cannot be read, no file descriptors left.
    pub fn new(
        plan: Plan,
        segment: Segment,
        inbox: Receiver<Command>,
        waker: Arc<Waker>,
        reports: Sender<Report>,
    ) -> io::Result<Self> {
        let shared = Shared::new(&plan, segment)?;
        shared.poller.add(waker.as_ref(), WAKER_TOKEN, Interest::ReadLevel)?;
        let mut meter = Meter::new(plan.epoch_ns, Secrets::new(&shared.wire, segment));
        if plan.records_events {
            meter.recorder = Some(Box::new(Recorder::new(segment, plan.epoch_ns, reports.clone())));
        }
        let options = LedgerOptions {
            run: plan.run(),
            acks: shared.acks(),
            asks: plan.client_spec.dialect.facts().asks,
            stall_times: shared.wire.stall_times(),
            pushes: Pushes::of(shared.wire.pushes(), plan.unix_epoch_ns.wrapping_sub(plan.epoch_ns)),
            misses: shared.wire.misses().to_vec(),
            is_flapping: plan.flap.is_some(),
            are_spoken_for: plan.publishing.is_some(),
            are_publishers: false,
        };
        let ledger = Ledger::new(meter, plan.workload, segment, Arc::clone(&plan.rooms), options);
        let publishers =
            plan.of_publishers().zip(plan.publishing.as_ref()).map(|(publisher_plan, publishing)| {
                let shared = shared.of_publishers(&publisher_plan)?;
                let meter = Meter::new(plan.epoch_ns, Secrets::new(&shared.wire, segment));
                let Plan { workload, rooms, .. } = &publisher_plan;
                let options = LedgerOptions {
                    run: publisher_plan.run(),
                    are_publishers: true,
                    ..LedgerOptions::default()
                };
                let ledger = Ledger::new(meter, *workload, segment, Arc::clone(rooms), options);
                let (clients, timeout_ns) = (Clients::new(shared, ledger), plan.connecting.timeout_ns);
                Ok::<_, io::Error>(Publishers::new(clients, publishing.share(segment), timeout_ns))
            });
        Ok(Self {
            slow_readers: SlowReaders::new(plan.slow),
            visits: Visits::of(&plan.rooms, segment, plan.seed),
            plan,
            segment,
            inbox,
            waker,
            reporter: Reporter::new(segment, reports),
            clients: Clients::new(shared, ledger),
            publishers: publishers.transpose()?,
            phase: Phase::Idle,
            pace: None,
            batch: Batch::default(),
            next_send_ns: None,
            is_behind: false,
            disruptions: None,
            wakes: BinaryHeap::new(),
            unfinished: Vec::new(),
            outcomes: Vec::new(),
            heard: Heard::default(),
        })
    }

    /// Works until told to finish, or until the crew no longer listens.
    ///
    /// # Errors
    /// When the kernel refuses to wait for events, or has no more memory; connections that fail are counted,
    /// not returned.
    pub fn run(mut self) -> io::Result<()> {
        net::poll::set_timer_slack_to_minimum()?;
        let mut events = Events::with_capacity(EVENTS_PER_WAIT);
        while !reserve::is_given_up() {
            let now_ns = clock::monotonic_ns();
            // Edge-triggered epoll will not speak of unfinished connections again: it is only looked whether
            // others have something, too.
            let wait_ns = if self.unfinished.is_empty() { self.wait_ns(now_ns) } else { Some(0) };
            let wait_ns = self.clients.shared.begin_wait(now_ns, wait_ns);
            self.clients.shared.poller.wait(&mut events, wait_ns)?;
            let woken_ns = clock::monotonic_ns();
            self.begin_turn(woken_ns);
            for event in events.iter() {
                if event.token == WAKER_TOKEN {
                    self.waker.drain();
                    if self.handle_commands().is_none() {
                        return Ok(());
                    }
                    continue;
                }
                self.handle_ready(event);
            }
            // Taken out first: a connection that is still not empty goes back into the queue, for the next
            // turn.
            for event in std::mem::take(&mut self.unfinished) {
                self.handle_ready(event);
            }
            // After all that has arrived: no deadline strikes a client whose answer is here already.
            let now_ns = clock::monotonic_ns();
            let turn = ReadTurn { woken_ns, ready: events.len(), unfinished: self.unfinished.len() };
            self.heard.handle_read(turn, now_ns);
            self.pump(now_ns);
            self.handle_timeouts(now_ns);
            if self.is_finished(now_ns) {
                self.clients.ledger.meter.flush_events();
                self.reporter.report(Report::Finished { worker: self.segment.worker });
                return Ok(());
            }
        }
        Err(io::ErrorKind::OutOfMemory.into())
    }

    /// Begins a turn, in which what was ready by now is read.
    fn begin_turn(&mut self, now_ns: u64) {
        self.clients.shared.begin_turn(now_ns, self.heard.has_more());
        if let Some(publishers) = &mut self.publishers {
            publishers.begin_turn(now_ns);
        }
    }

    /// How long there is nothing to do unless something arrives; `None` if nothing is due.
    fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        let phase_ns = match &self.phase {
            Phase::Growing(growth) => growth.poll_timeout(),
            Phase::Finishing(deadline_ns) => Some(*deadline_ns),
            Phase::Loading => self.next_send_ns,
            Phase::Idle | Phase::Draining => None,
        };
        let disruptions_ns = self.disruptions.as_ref().and_then(Disruptions::poll_timeout);
        let wake_ns = self.wakes.peek().map(|Reverse((at_ns, ..))| *at_ns);
        let visits_ns = self.visits.as_ref().and_then(Visits::poll_timeout);
        let publishers_ns = self.publishers.as_ref().and_then(Publishers::poll_timeout);
        let others_ns = [
            disruptions_ns,
            wake_ns,
            visits_ns,
            publishers_ns,
            self.slow_readers.poll_timeout(),
            self.reporter.poll_timeout(),
        ];
        let next_ns = others_ns.into_iter().chain([phase_ns]).flatten().min()?;
        Some(next_ns.saturating_sub(now_ns))
    }

    /// Handles the commands in the inbox; `None` if the crew is gone.
    fn handle_commands(&mut self) -> Option<()> {
        loop {
            match self.inbox.try_recv() {
                Ok(command) => self.handle_command(command),
                Err(TryRecvError::Empty) => return Some(()),
                Err(TryRecvError::Disconnected) => return None,
            }
        }
    }

    fn handle_command(&mut self, command: Command) {
        let now_ns = clock::monotonic_ns();
        match command {
            Command::Step(order) => self.start_growing(order, now_ns),
            Command::Go { at_ns } => self.start_loading(at_ns),
            Command::Settle => self.settle(now_ns),
            Command::Finish => self.start_finishing(now_ns),
            // The clock belongs to the process: the agent that runs its workers has set it.
            Command::Clock { .. } => {}
        }
    }

    fn handle_ready(&mut self, event: Event) {
        if reserve::is_given_up() {
            return; // what is left is for writing down what has been measured
        }
        if event.token & PUBLISHER != 0 {
            return self.handle_publisher(event);
        }
        if event.token & POOLED != 0 {
            return self.handle_pooled(event);
        }
        let token = Token::unpack(event.token);
        let Some(outcome) = self.clients.handle_ready(token, event) else { return };
        let now_ns = self.clients.shared.now_ns;
        if outcome.has_paused {
            self.slow_readers.handle_pause(event.token, now_ns);
        }
        if self.handle_outcome(token, outcome, now_ns) {
            self.leave_unfinished(event);
        }
        // What was freed is sent before the next connection is read, unless the last batch was not all that
        // was due.
        if !self.is_behind {
            self.pump(now_ns);
        }
    }

    /// Handles an event on a connection over which messages are published.
    fn handle_publisher(&mut self, event: Event) {
        let Some(publishers) = &mut self.publishers else { return };
        if publishers.handle_ready(event, &mut self.clients) {
            self.leave_unfinished(event);
        }
        if !self.is_behind {
            self.pump(clock::monotonic_ns());
        }
    }

    /// Handles an event on a connection that clients share.
    fn handle_pooled(&mut self, event: Event) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        let has_more = self.clients.handle_pooled(event, &mut outcomes);
        let now_ns = self.clients.shared.now_ns;
        for ClientOutcome { token, outcome } in outcomes.drain(..) {
            self.handle_outcome(token, outcome, now_ns);
        }
        self.outcomes = outcomes;
        if has_more {
            self.leave_unfinished(event);
        }
        if !self.is_behind {
            self.pump(now_ns);
        }
    }

    /// Draws the conclusions from a client's turn. Returns whether the client has more to read.
    #[inline]
    fn handle_outcome(&mut self, token: Token, outcome: Outcome, now_ns: u64) -> bool {
        let Token { client, attempt, .. } = token;
        if let Some(at_ns) = outcome.wake_ns {
            self.wakes.push(Reverse((at_ns, client, attempt)));
        }
        if outcome.is_new {
            self.handle_usable(client, now_ns);
        }
        match outcome.held {
            Ok(has_more) => has_more,
            Err(cause) => {
                self.lose(client, cause, now_ns);
                false
            }
        }
    }

    /// Queues a connection with more to read for the next turn. A socket has one place in the queue, whatever
    /// epoll reports of it meanwhile.
    fn leave_unfinished(&mut self, event: Event) {
        match self.unfinished.iter_mut().find(|other| other.token == event.token) {
            Some(other) => other.closed |= event.closed,
            None => self.unfinished.push(event),
        }
    }

    /// Handles a client that has become usable.
    fn handle_usable(&mut self, client: u32, now_ns: u64) {
        if let Phase::Growing(growth) = &mut self.phase {
            growth.handle_usable(now_ns);
        }
        if let Some(disruptions) = &mut self.disruptions {
            disruptions.handle_back(client, now_ns);
            if let Some(pace) = &mut self.pace {
                pace.handle_return(client);
            }
            self.clients.note_back(client);
        }
        self.settle_in(client);
        // A place in the window is free: the next client connects at once and not after the batch of events.
        self.grow(now_ns);
    }

    /// Takes a client out whose connection is broken or over.
    fn lose(&mut self, client: u32, cause: Cause, now_ns: u64) {
        match (self.clients.lose(client, cause, now_ns), &mut self.phase, &mut self.disruptions) {
            (ClosedConnection::Attempt(_), Phase::Growing(growth), _) => growth.handle_end(),
            (ClosedConnection::Usable(_), Phase::Growing(growth), _) => growth.handle_loss(),
            (ClosedConnection::Attempt(next), _, Some(disruptions)) => {
                disruptions.handle_failure(client, next, now_ns)
            }
            (ClosedConnection::Usable(next), _, Some(disruptions)) => {
                disruptions.handle_loss(client, next, now_ns)
            }
            (ClosedConnection::Parted, _, Some(disruptions)) => disruptions.handle_parted(client, now_ns),
            (ClosedConnection::Nothing, ..) | (.., None) => {}
        }
        self.grow(now_ns);
    }

    fn handle_timeouts(&mut self, now_ns: u64) {
        self.grow(now_ns);
        self.disrupt(now_ns);
        self.visit(now_ns);
        self.handle_publishers_timeouts(now_ns);
        while let Some(token) = self.slow_readers.poll(now_ns) {
            if let Some(event) = self.clients.end_wait(token) {
                self.handle_ready(event);
            }
        }
        while let Some(&Reverse((at_ns, client, attempt))) = self.wakes.peek()
            && at_ns <= now_ns
        {
            self.wakes.pop();
            if let Some(outcome) = self.clients.wake(client, attempt, now_ns) {
                self.handle_outcome(Token { client, stream: 0, attempt }, outcome, now_ns);
            }
        }
        // At the report's beat, not each turn: it walks over all clients.
        if self.reporter.poll(now_ns) {
            // A closed loop would otherwise stop at the first message that a server loses.
            if self.clients.ledger.step.is_closed()
                || self.disruptions.as_ref().is_some_and(Disruptions::is_renewal)
            {
                self.clients.give_up_overdue(self.plan.draining.timeout_ns, now_ns);
                // Every slot would wait for its whole time, in vain.
                if matches!(self.phase, Phase::Loading) && self.clients.note_unheeded(now_ns) {
                    self.start_draining(now_ns);
                }
            }
            self.reporter.report_due(&mut self.clients.ledger, now_ns);
        }
        if !self.is_behind && self.clients.ledger.has_news() {
            self.pump(now_ns);
        }
    }

    fn handle_publishers_timeouts(&mut self, now_ns: u64) {
        let Some(publishers) = &mut self.publishers else { return };
        publishers.handle_timeouts(&mut self.clients, self.heard.until_ns(), now_ns);
        let is_loading = matches!(self.phase, Phase::Loading) && self.clients.ledger.step.is_closed();
        if is_loading && publishers.is_hopeless(now_ns) {
            self.start_draining(now_ns);
        }
    }

    /// Takes and brings back connections as the step's disruptions say.
    fn disrupt(&mut self, now_ns: u64) {
        let mut connects = 0;
        if let Some(disruptions) = &mut self.disruptions {
            disruptions.handle_heard(self.heard.until_ns());
        }
        while let Some(disruptions) = &mut self.disruptions
            && let Some(turn) = disruptions.poll(now_ns, |client| self.clients.presence(client))
        {
            match turn {
                ConnectionAction::Storm => {
                    let dropped = self.clients.drop_in_storm(|number| disruptions.takes(number), now_ns);
                    for (client, next) in dropped {
                        disruptions.handle_loss(client, next, now_ns);
                    }
                }
                ConnectionAction::Leave(client) => {
                    // Read anew, here and below: thousands may have had their turn since the loop began.
                    let now_ns = clock::monotonic_ns();
                    let is_over = self.clients.part_with(client, now_ns);
                    disruptions.handle_goodbye(client, is_over, now_ns);
                }
                ConnectionAction::Renew(client) => {
                    let now_ns = clock::monotonic_ns();
                    let is_over = self.clients.renew(client, now_ns);
                    disruptions.handle_goodbye(client, is_over, now_ns);
                }
                ConnectionAction::Cut(client, cut) => {
                    let now_ns = clock::monotonic_ns();
                    let next = self.clients.cut(client, cut, now_ns);
                    disruptions.handle_cut(client, next, now_ns);
                }
                ConnectionAction::Connect(client) => {
                    let now_ns = clock::monotonic_ns();
                    connects += 1;
                    let may_wait = disruptions.may_wait_for_room(now_ns);
                    match self.clients.connect_again(client, may_wait, now_ns) {
                        Some(ConnectAttempt::UnderWay { attempt, begun_ns }) => {
                            disruptions.handle_begun(client, attempt, begun_ns)
                        }
                        Some(ConnectAttempt::Full) => disruptions.handle_full(client, now_ns),
                        Some(ConnectAttempt::Failed) => {
                            disruptions.handle_failure(client, Reconnection::Usual, now_ns)
                        }
                        None => {}
                    }
                    if connects == CONNECTS_MAX {
                        return; // first what has arrived: others wait for it with a deadline
                    }
                }
                ConnectionAction::Expire { client, attempt } => {
                    if self.clients.is_opening(client, attempt) {
                        self.lose(client, Cause::ConnectTimeout, now_ns);
                    }
                }
            }
        }
    }
}
