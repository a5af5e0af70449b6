//! The clients of one worker: what is done to one of them, and that it is booked.
//!
//! Nothing here knows what phase a step is in, or what is to come. The caller is told what came of its
//! request, and draws the conclusions.

mod attempt;
mod client;
pub(crate) mod connecting;
pub(crate) mod ending;
mod link;
mod pause_detector;
mod pool;
pub(crate) mod pooled;
mod published;
mod shared;
mod streams;
mod token;
mod visitors;

use std::collections::{HashMap, VecDeque};

use load::StepOrder;
use net::poll::Event;
use stats::error_kind;

use crate::books::{Cause, Ledger, State};
use crate::timing::{Portion, Presence};

pub(crate) use client::{LoadClient, Unsent};
pub(crate) use shared::Shared;
use streams::Streams;
pub(crate) use token::{CLIENTS_MAX, POOLED, PUBLISHER, Token};

/// All clients of a worker, usable or not, and what is known of them.
pub(crate) struct Clients {
    all: Vec<LoadClient>,
    pub(crate) shared: Shared,
    pub(crate) ledger: Ledger,
    /// Links that have fallen silent, of clients that have or will have others: the server does not know yet
    /// that they are dead.
    silent: HashMap<u32, Streams>,
}

/// The outcome of a client's turn.
pub(crate) struct Outcome {
    /// It became usable.
    pub(crate) is_new: bool,
    /// It reads slowly, and has just done so.
    pub(crate) has_paused: bool,
    /// When its dialect wants to be woken, if that has changed.
    pub(crate) wake_ns: Option<u64>,
    /// More to read (true), or why its connection is over.
    pub(crate) held: Result<bool, Cause>,
}

/// A client before its turn.
#[derive(Clone, Copy)]
struct Before {
    state: State,
    /// When its dialect wanted to be woken, in the course of its opening already.
    due_ns: Option<u64>,
}

impl Before {
    #[inline]
    fn of(client: &LoadClient) -> Before {
        let state = client.record.state;
        Before { state, due_ns: if state == State::Opening { client.session.poll_timeout() } else { None } }
    }
}

impl Clients {
    /// No clients yet.
    pub(crate) fn new(shared: Shared, ledger: Ledger) -> Self {
        Self { all: Vec::new(), shared, ledger, silent: HashMap::new() }
    }

    /// Number of clients, usable or not.
    pub(crate) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// Returns whether a client takes part in the load.
    #[inline]
    pub(crate) fn is_usable(&self, index: u32) -> bool {
        self.all[index as usize].record.state == State::Usable
    }

    /// The client's presence, which says whether its connection may be ended now for it to reconnect.
    pub(crate) fn presence(&self, index: u32) -> Presence {
        let Shared { wire, resumes, .. } = &self.shared;
        match self.is_usable(index) {
            false => Presence::Gone,
            // Cut without a place to go on from, a client cannot ask for what it misses, and no more.
            true if *resumes && self.all[index as usize].session.lacks_place(wire) => Presence::Early,
            true => Presence::Here,
        }
    }

    /// Returns whether a client has no connection.
    pub(crate) fn is_vacant(&self, index: u32) -> bool {
        self.all[index as usize].record.state == State::Vacant
    }

    /// Returns whether a client's main connection is under way, its first or another.
    pub(crate) fn is_dialling(&self, index: u32) -> bool {
        self.all[index as usize].streams.is_dialling()
    }

    /// Returns whether no client has a connection.
    pub(crate) fn are_vacant(&self) -> bool {
        self.all.iter().all(|client| client.record.state == State::Vacant)
    }

    /// Begins a step with `share` clients here. Clients beyond those say goodbye; returns the clients that
    /// are to connect.
    pub(crate) fn start_step(&mut self, order: StepOrder, share: u32, now_ns: u64) -> VecDeque<u32> {
        if self.count() < share {
            self.all.resize_with(share as usize, LoadClient::default);
        }
        self.ledger.start_step(order, self.count());
        // The step's ledger must be there first, for the goodbyes to be booked in it.
        self.dismiss(share, now_ns);
        self.silent.clear();
        for client in &mut self.all {
            client.record.start_step();
            client.forget_session();
        }
        let vacant = |&index: &u32| self.all[index as usize].record.state == State::Vacant;
        (0..share).filter(vacant).collect()
    }

    /// Keeps the TLS sessions of `clients` clients for when they reconnect.
    pub(crate) fn keep_tls_sessions(&self, clients: u32) {
        if let Some((tls, _)) = self.shared.tls(0) {
            // One for each: with fewer, some that reconnect would make a whole handshake, which a browser
            // would not.
            tls.keep_sessions(clients as usize);
        }
    }

    /// Says goodbye to the clients that a step does without, and drops clients whose goodbye was never
    /// answered, and those whose connections are busy.
    fn dismiss(&mut self, share: u32, now_ns: u64) {
        // A request of this step would wait for the answer to one of the last: they connect anew.
        for index in std::mem::take(&mut self.ledger.busy) {
            self.say_goodbye(index, now_ns);
        }
        for client in self.all.iter_mut().filter(|client| client.record.state == State::Closing) {
            client.vacate(&mut self.shared);
        }
        for index in share..self.count() {
            self.say_goodbye(index, now_ns);
        }
    }

    /// Has a client say goodbye before the load of a step.
    fn say_goodbye(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.all[index as usize];
        if client.record.state == State::Usable {
            self.ledger.handle_unusable(index, &client.record, now_ns);
        }
        client.close(index, &mut self.shared, &mut self.ledger.meter);
    }

    /// Clients to which broadcasts are due in a load that begins now.
    pub(crate) fn present(&self) -> Vec<u32> {
        let is_present = |&index: &u32| self.is_usable(index) && !self.all[index as usize].record.is_slow;
        (0..self.count()).filter(is_present).collect()
    }

    /// Returns whether the server turns out to leave senders without an answer. Notes that once, with what
    /// would help.
    pub(crate) fn note_unheeded(&mut self, now_ns: u64) -> bool {
        let unheeded = if self.ledger.step.is_unheeded { None } else { self.ledger.unheeded(now_ns) };
        let Some(client) = unheeded else { return false };
        self.ledger.step.is_unheeded = true;
        let Shared { has_publishers, wire, .. } = &self.shared;
        self.ledger.meter.error(error_kind::UNHEEDED, client, now_ns, || match (has_publishers, wire.acks().has_all()) {
            (true, _) => "those in the room got the message, but the request that published it has no answer",
            (false, true) => "the others got its message, but nothing acknowledged it: check --ack, or `ack` and `replied` in the app's file",
            (false, false) => "the others got its message, but it got no copy itself: if the server leaves out the sender, use --to others",
        }.into());
        true
    }

    /// Handles an event of a client's connection. `None` if it is of an earlier connection, which is over.
    #[inline]
    pub(crate) fn handle_ready(&mut self, token: Token, event: Event) -> Option<Outcome> {
        let client = self.all.get_mut(token.client as usize)?;
        let was = client.record.state;
        if client.attempt != token.attempt || was == State::Vacant {
            return None; // an event of a connection that was closed earlier in this batch
        }
        // One that waits hears of no bytes.
        let event =
            if client.record.is_waiting { Event { readable: false, closed: false, ..event } } else { event };
        let before = Before::of(client);
        let held = client.handle_ready(token, event, &mut self.shared, &mut self.ledger);
        Some(self.outcome_of(token.client, before, held))
    }

    /// The outcome of a client's turn, before which it stood like this.
    #[inline]
    fn outcome_of(&mut self, index: u32, before: Before, held: Result<bool, Cause>) -> Outcome {
        let client = &mut self.all[index as usize];
        let is_opening = matches!(before.state, State::Connecting | State::Opening);
        let is_new = is_opening && client.record.state == State::Usable;
        let due_ns = if is_opening && held.is_ok() { client.session.poll_timeout() } else { None };
        let has_paused = std::mem::take(&mut client.record.has_paused);
        client.record.is_waiting |= has_paused;
        self.book_request_outcomes(index, self.shared.now_ns);
        Outcome { is_new, has_paused, wake_ns: due_ns.filter(|_| due_ns != before.due_ns), held }
    }

    /// Lets a client's dialect do what it wanted to be woken for; `None` if the client no longer has this
    /// connection.
    pub(crate) fn wake(&mut self, index: u32, attempt: u32, now_ns: u64) -> Option<Outcome> {
        let client = &mut self.all[index as usize];
        let was = client.record.state;
        if client.attempt != attempt || !matches!(was, State::Opening | State::Usable) {
            return None;
        }
        (self.shared.now_ns, self.shared.silent_ns) = (now_ns, None);
        let token = Token { client: index, stream: 0, attempt };
        let woken = client.handle_timeout(token, &mut self.shared, &mut self.ledger);
        // Never at this very moment again, which would be a loop without an end.
        let wake_ns = client.session.poll_timeout().map(|at_ns| at_ns.max(now_ns + 1));
        let is_new = was == State::Opening && client.record.state == State::Usable;
        self.book_request_outcomes(index, now_ns);
        Some(Outcome { is_new, has_paused: false, wake_ns, held: woken.map(|()| false) })
    }

    /// Ends the wait of a slow client, and returns the event to handle, if its connection is still there.
    pub(crate) fn end_wait(&mut self, token: u64) -> Option<Event> {
        let Token { client: index, attempt, .. } = Token::unpack(token);
        let client = &mut self.all[index as usize];
        if client.attempt != attempt || client.record.state == State::Vacant {
            return None;
        }
        client.record.is_waiting = false;
        Some(Event { token, readable: true, writable: false, closed: false, error: false })
    }

    /// Sends a client's next messages, as many as go into one write.
    pub(crate) fn send(&mut self, index: u32, portion: &mut Portion<'_>, now_ns: u64) -> Result<(), Unsent> {
        let client = &mut self.all[index as usize];
        // The schedule goes on without it: messages that were due and had no connection are counted as
        // unsent, not forgotten.
        if client.record.state != State::Usable {
            let messages = portion.map(|_| self.ledger.handle_unsent(index, now_ns)).count() as u32;
            return Err(Unsent { messages, cause: None });
        }
        let outcome = client.send(index, portion, now_ns, &mut self.ledger, &mut self.shared);
        self.book_request_outcomes(index, now_ns);
        outcome
    }

    /// Books the outcomes of a client's messages that its session had kept, or had sent.
    #[inline]
    fn book_request_outcomes(&mut self, index: u32, now_ns: u64) {
        if !self.shared.output.request_outcomes.is_empty() {
            self.book_each_request_outcome(index, now_ns);
        }
    }

    #[cold]
    fn book_each_request_outcome(&mut self, index: u32, now_ns: u64) {
        let mut request_outcomes = std::mem::take(&mut self.shared.output.request_outcomes);
        let (record, sender) = (&mut self.all[index as usize].record, self.shared.number(index));
        for (stamp, outcome) in request_outcomes.drain(..) {
            self.ledger.handle_request_outcome(index, record, sender, stamp, outcome, now_ns);
        }
        // Its room is for the next.
        self.shared.output.request_outcomes = request_outcomes;
    }

    /// Counts the clients whose messages wait for what the server withholds.
    pub(crate) fn note_withheld(&mut self, now_ns: u64) {
        for (index, client) in (0..).zip(&self.all) {
            if let Some(failure) = client.withheld(&self.shared) {
                self.ledger.meter.error(failure.name(), index, now_ns, || failure.to_string());
            }
        }
    }

    /// Gives up messages that have been under way for longer than this.
    pub(crate) fn give_up_overdue(&mut self, timeout_ns: u64, now_ns: u64) {
        let overdue_ns = now_ns.saturating_sub(timeout_ns);
        for (index, client) in (0..).zip(&mut self.all) {
            self.ledger.give_up_overdue(index, &mut client.record, overdue_ns, now_ns);
        }
    }

    /// Notes that a client is back: broadcasts are due to it from that moment on, as its record has it, and
    /// not from the end of this event on.
    pub(crate) fn note_back(&mut self, index: u32) {
        let record = &self.all[index as usize].record;
        self.ledger.note_attendance(index, record, 1, record.since_ns);
    }

    /// The books, and the clients, to close the books.
    pub(crate) fn books(&mut self) -> (&mut Ledger, &mut [LoadClient]) {
        (&mut self.ledger, &mut self.all)
    }

    /// Has all clients say goodbye.
    pub(crate) fn close(&mut self) {
        self.silent.clear();
        for (index, client) in (0..).zip(&mut self.all) {
            client.close(index, &mut self.shared, &mut self.ledger.meter);
        }
    }
}
