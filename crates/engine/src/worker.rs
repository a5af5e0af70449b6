//! One thread, one event loop, its share of the clients.
//!
//! A step goes `Command::Step` → connect → `Report::Grown` → `Command::Go` → load → `Report::Loaded` → drain →
//! `Command::Settle` → `Report::Settled`. The worker never decides when a step ends: answers may still be under
//! way at other workers, so that is the crew's to say.

use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::{cmp::Reverse, io};

use load::{Load, Plan, Segment, StepOrder, Until};
use net::poll::{Event, Events, Interest, Waker};
use net::{clock, reserve};

use crate::cause::Cause;
use crate::client::Client;
use crate::events::{Entry, Kind};
use crate::ledger::{Ledger, State, Step};
use crate::messages::{Command, Report};
use crate::meter::Meter;
use crate::outgoing::Outgoing;
use crate::pace::Pace;
use crate::recorder::Recorder;
use crate::shared::{Shared, Token};

mod churn;
mod growth;
mod loading;
mod reporting;
mod settle;
mod slow;
mod storm;

use growth::Growth;
use slow::Sips;

/// How long servers have to answer our goodbye.
pub(crate) const CLOSE_TIMEOUT_NS: u64 = 1_000_000_000;
const EVENTS_PER_WAIT: usize = 1024;
/// The waker's token; clients have their index below and their attempt above.
const WAKER_TOKEN: u64 = u64::MAX;

/// What the worker is at.
pub(crate) enum Phase {
    /// Waiting for a step.
    Idle,
    /// Connecting.
    Growing(Box<Growth>),
    /// Grown, waiting for the start, or loading: as the step's pace says.
    Loading,
    /// All sent; answers may still come.
    Draining,
    /// Closing all connections until this moment.
    Finishing(u64),
}

/// One worker. [`run`](Worker::run) it on a thread of its own.
pub struct Worker {
    pub(crate) plan: Plan,
    pub(crate) segment: Segment,
    pub(crate) shared: Shared,
    inbox: Receiver<Command>,
    reports: Sender<Report>,
    waker: Arc<Waker>,
    pub(crate) phase: Phase,
    pub(crate) clients: Vec<Client>,
    pub(crate) ledger: Ledger,
    pub(crate) next_delta_ns: u64,
    outgoing: Outgoing,
    next_send_ns: Option<u64>,
    /// Connections with more to read than one turn takes: epoll has spoken of them and will not again.
    unfinished: Vec<Event>,
    pub(crate) sips: Sips,
    /// When dialects want to be woken: time, client, attempt.
    wakes: BinaryHeap<Reverse<(u64, u32, u32)>>,
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
        let idle = StepOrder {
            index: 0,
            clients: 0,
            load: Load::Closed { concurrency: 0, per_client: 1, until: Until::Samples(0) },
            warmup: true,
        };
        let mut meter = Meter::new(segment.worker, plan.epoch_ns, shared.wire.options().secrets());
        if plan.records_events {
            meter.recorder = Some(Box::new(Recorder::new(segment, plan.epoch_ns, reports.clone())));
        }
        Ok(Self {
            plan,
            segment,
            shared,
            inbox,
            reports,
            waker,
            phase: Phase::Idle,
            clients: Vec::new(),
            ledger: Ledger { step: Step::new(idle), meter, usable: 0, slow: 0 },
            next_delta_ns: u64::MAX,
            outgoing: Outgoing::default(),
            next_send_ns: None,
            unfinished: Vec::new(),
            sips: Sips::default(),
            wakes: BinaryHeap::new(),
        })
    }

    /// Works until told to finish, or until nobody listens any more.
    ///
    /// # Errors
    /// When the kernel refuses to wait for events, or has no more memory; connections that fail are counted, not
    /// returned.
    pub fn run(mut self) -> io::Result<()> {
        net::poll::set_timer_slack_to_minimum()?;
        let mut events = Events::with_capacity(EVENTS_PER_WAIT);
        while !reserve::is_given_up() {
            let now_ns = clock::monotonic_ns();
            let wait_ns = if self.unfinished.is_empty() { self.wait_ns(now_ns) } else { Some(0) };
            self.shared.poller.wait(&mut events, wait_ns)?;
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
            for event in std::mem::take(&mut self.unfinished) {
                self.handle_ready(event);
            }
            let now_ns = clock::monotonic_ns();
            self.pump(now_ns);
            self.handle_timeouts(now_ns);
            if self.is_finished(now_ns) {
                self.flush_events();
                self.report(Report::Finished { worker: self.segment.worker });
                return Ok(());
            }
        }
        Err(io::ErrorKind::OutOfMemory.into())
    }

    /// `None`: the crew is gone.
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
            // The clock is the process's: whoever runs its workers has set it.
            Command::Clock { .. } => {}
        }
    }

    pub(crate) fn handle_ready(&mut self, event: Event) {
        if reserve::is_given_up() {
            return; // what is left is for writing down what has been measured
        }
        let token = Token::unpack(event.token);
        let Token { client: index, attempt, .. } = token;
        let Some(client) = self.clients.get_mut(index as usize) else { return };
        if client.attempt != attempt || client.record.state == State::Vacant {
            return; // an event of a connection that was closed earlier in this batch
        }
        let event = self.heard_of(token, event);
        let client = &mut self.clients[index as usize];
        let was = client.record.state;
        // A dialect may want to be woken in the course of its opening already.
        let was_due_ns = if was == State::Opening { client.session.poll_timeout() } else { None };
        let outcome = client.handle_ready(token, event, &mut self.shared, &mut self.ledger);
        let now_ns = self.shared.now_ns;
        self.book_fates(index, now_ns);
        self.handle_sip(token, now_ns);
        let client = &mut self.clients[index as usize];
        if matches!(was, State::Connecting | State::Opening) {
            let due_ns = client.session.poll_timeout().filter(|_| outcome.is_ok());
            if let Some(at_ns) = due_ns.filter(|_| due_ns != was_due_ns) {
                self.wakes.push(Reverse((at_ns, index, attempt)));
            }
            self.handle_opened(index, now_ns);
        }
        match outcome {
            Ok(false) => {}
            Ok(true) => self.leave_unfinished(event),
            Err(cause) => self.lose(index, cause, now_ns),
        }
        self.pump(now_ns);
    }

    /// There is more to read, and it is somebody else's turn. A socket has one place in the queue, whatever it is that
    /// epoll says of it meanwhile.
    fn leave_unfinished(&mut self, event: Event) {
        match self.unfinished.iter_mut().find(|other| other.token == event.token) {
            Some(other) => other.closed |= event.closed,
            None => self.unfinished.push(event),
        }
    }

    /// Takes a client out whose connection is broken or over.
    pub(crate) fn lose(&mut self, index: u32, cause: Cause, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        let was = client.record.state;
        let awaited = std::mem::take(&mut client.record.awaiting);
        match was {
            State::Vacant => return,
            State::Closing => {
                client.vacate();
                return self.handle_parted(index, now_ns);
            }
            State::Connecting | State::Opening => {
                client.fail(index, cause, now_ns, &mut self.ledger.meter);
                if let Phase::Growing(growth) = &mut self.phase {
                    growth.handle_end();
                }
                self.handle_failed_return(index, now_ns);
                return self.grow(now_ns);
            }
            State::Usable => {}
        }
        client.vacate();
        if let Phase::Growing(growth) = &mut self.phase {
            growth.handle_loss();
        }
        let kind = if client.record.is_slow { "slow_dropped" } else { cause.kind() };
        self.ledger.meter.note_detailed(Entry::new(Kind::Close, now_ns, index), kind);
        if client.record.is_slow {
            self.ledger.meter.error(kind, index, now_ns, || cause.to_string());
        } else {
            self.ledger.meter.counts.disconnects += 1;
            self.ledger.meter.loss(cause, index, now_ns, || cause.to_string());
        }
        self.ledger.handle_unusable(&client.record, now_ns);
        self.ledger.handle_gone(&mut client.record, self.plan.workload);
        awaited.iter().for_each(|since_ns| self.give_up(index, since_ns, now_ns));
        self.handle_storm_loss(index, now_ns);
    }

    fn handle_timeouts(&mut self, now_ns: u64) {
        self.grow(now_ns);
        self.weather(now_ns);
        self.churn(now_ns);
        self.bring_back_due(now_ns);
        self.pour(now_ns);
        while let Some(&Reverse((at_ns, index, attempt))) = self.wakes.peek()
            && at_ns <= now_ns
        {
            self.wakes.pop();
            self.wake(index, attempt, now_ns);
        }
        if now_ns >= self.next_delta_ns {
            self.release_overdue(now_ns);
            self.handle_delta_due(now_ns);
        }
    }

    /// Lets a dialect do what it wanted to be woken for.
    fn wake(&mut self, index: u32, attempt: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        let was = client.record.state;
        if client.attempt != attempt || !matches!(was, State::Opening | State::Usable) {
            return;
        }
        self.shared.now_ns = now_ns;
        let token = Token { client: index, stream: 0, attempt };
        let outcome = client.handle_timeout(token, &mut self.shared, &mut self.ledger);
        if let Some(at_ns) = client.session.poll_timeout() {
            self.wakes.push(Reverse((at_ns.max(now_ns + 1), index, attempt)));
        }
        self.book_fates(index, now_ns);
        if was == State::Opening {
            self.handle_opened(index, now_ns);
        }
        if let Err(cause) = outcome {
            self.lose(index, cause, now_ns);
        }
    }

    /// Gives up messages that have been under way for too long: a closed loop would otherwise stop at the first that a
    /// server loses.
    fn release_overdue(&mut self, now_ns: u64) {
        if !self.ledger.step.pace.as_ref().is_some_and(Pace::is_closed) {
            return;
        }
        let overdue_ns = now_ns.saturating_sub(self.plan.draining.timeout_ns);
        for index in 0..self.clients.len() {
            while let Some(since_ns) = self.clients[index].record.awaiting.give_up(overdue_ns) {
                self.give_up(index as u32, since_ns, now_ns);
            }
        }
    }

    /// A message that was awaited is so no more: it counts as at least this late, and frees its slot. Its answer may
    /// still come.
    pub(crate) fn give_up(&mut self, index: u32, since_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(since_ns);
        self.ledger.meter.figures.rtt.record_ns(late_ns);
        let given_up = Entry::new(Kind::Timeout, now_ns, index).latency(late_ns);
        self.ledger.meter.note_detailed(given_up, "message");
        self.ledger.step.pace.iter_mut().for_each(|pace| pace.handle_answer(index));
    }

    fn start_finishing(&mut self, now_ns: u64) {
        self.phase = Phase::Finishing(now_ns + CLOSE_TIMEOUT_NS);
        for (index, client) in self.clients.iter_mut().enumerate() {
            client.close(index as u32, &mut self.shared, &mut self.ledger.meter);
        }
    }

    fn is_finished(&self, now_ns: u64) -> bool {
        let Phase::Finishing(deadline_ns) = self.phase else { return false };
        now_ns >= deadline_ns || self.clients.iter().all(|client| client.record.state == State::Vacant)
    }

    /// How long there is nothing to do unless something arrives; `None`: for ever.
    fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        let phase_ns = match &self.phase {
            Phase::Growing(growth) => growth.poll_timeout(),
            Phase::Finishing(deadline_ns) => Some(*deadline_ns),
            Phase::Loading => self.next_send_ns,
            Phase::Idle | Phase::Draining => None,
        };
        let step = &self.ledger.step;
        let weather_ns = step.weather.as_ref().and_then(|weather| weather.begins_ns);
        let churn_ns = step.churn.as_ref().filter(|_| matches!(self.phase, Phase::Loading));
        let churn_ns = churn_ns.map(|churn| churn.poll_timeout()).filter(|&at_ns| at_ns < step.window_end_ns);
        let return_ns = step.returns.as_ref().and_then(|returns| returns.poll_timeout());
        let sip_ns = self.sips.poll_timeout();
        let crowd_ns = [weather_ns, churn_ns, return_ns, sip_ns].into_iter().flatten();
        let wake_ns = self.wakes.peek().map(|Reverse((at_ns, ..))| *at_ns);
        let delta_ns = (self.next_delta_ns != u64::MAX).then_some(self.next_delta_ns);
        let next_ns = phase_ns.into_iter().chain(crowd_ns).chain(wake_ns).chain(delta_ns).min()?;
        Some(next_ns.saturating_sub(now_ns))
    }
}
