//! Shared state of a worker's clients and of the step under way.

mod attendance;
mod mistaken;
mod outcomes;
mod sending;
mod unanswered;
mod visits;

use std::sync::Arc;

use app::Acks;
use codec::Stamp;
use load::{LocalRooms, Rooms, Segment, StepOrder, Workload};
use stats::{Count, Histogram, error_kind};
use wire::Pushed;

use crate::books::memberships::Memberships;
use crate::books::meter::Meter;
use crate::books::pushes::Pushes;
use crate::books::relayed::Relayed;
use crate::books::step::{Step, Terms};
use crate::books::streamed::Streams;
use crate::contents::{CONTENTS_MAX, Content, PushKey};
use crate::messages::RoleDelta;

/// Properties of a run that its books depend on.
pub(crate) struct LedgerOptions {
    /// The run's number in its stamps.
    pub(crate) run: u16,
    /// Kinds of messages that the server acknowledges to their senders.
    pub(crate) acks: Acks,
    /// True if messages are requests, which wait for the answers before theirs.
    pub(crate) asks: bool,
    /// Median gaps that make a stall, where answers come in pieces.
    pub(crate) stall_times: Option<u64>,
    /// The pushes that the app looks for.
    pub(crate) pushes: Option<Pushes>,
    /// The wishes of the app's conditions about messages with ids, in words.
    pub(crate) misses: Vec<String>,
    /// True if clients may lose their connections on purpose, and reconnect.
    pub(crate) is_flapping: bool,
    /// True if publishers send these clients' messages.
    pub(crate) are_spoken_for: bool,
    /// True if these clients are the publishers, and report outcomes to other clients.
    pub(crate) are_publishers: bool,
}

impl Default for LedgerOptions {
    fn default() -> Self {
        Self {
            run: 0,
            acks: Acks::all(true),
            asks: false,
            stall_times: None,
            pushes: None,
            misses: Vec::new(),
            is_flapping: false,
            are_spoken_for: false,
            are_publishers: false,
        }
    }
}

/// Shared state of a worker's clients.
pub(crate) struct Ledger {
    /// The run's number in its stamps.
    pub(crate) run: u16,
    pub(crate) workload: Workload,
    pub(crate) segment: Segment,
    pub(crate) local_rooms: LocalRooms,
    pub(crate) step: Step,
    pub(crate) meter: Meter,
    /// Memberships, where clients come and go.
    pub(crate) memberships: Option<Box<Memberships>>,
    pub(crate) streams: Streams,
    /// True if messages are requests, which wait for the answers before theirs.
    pub(super) asks: bool,
    /// Clients whose connections may still carry an answer of the last step.
    pub(crate) busy: Vec<u32>,
    /// The latest pushes, where the app looks for what the server says by itself.
    pub(crate) pushes: Option<Box<Pushes>>,
    /// The wishes of the app's conditions about messages with ids, in words.
    pub(crate) misses: Vec<String>,
    /// True if clients may leave in the midst of a step: a room, or the server for a while.
    has_leavers: bool,
    /// True if publishers send these clients' messages, which then do not end with the clients' connections.
    pub(super) are_spoken_for: bool,
    /// True if a sender was answered in an earlier step: the server can.
    was_heeded: bool,
    /// Kinds of messages that the server acknowledges to their senders.
    pub(super) acks: Acks,
    /// Clients usable now.
    pub(crate) usable: u32,
    /// Slow clients among the usable ones.
    pub(crate) slow: u32,
    /// Outcomes of messages that these clients send for others; `None` if they send their own.
    relayed: Option<Vec<Relayed>>,
    /// Clients with messages that are no longer awaited, and how many: the pace of the load needs these.
    pub(crate) freed: Vec<(u32, u32)>,
}

impl Ledger {
    /// A ledger without a step, for the worker of this segment.
    pub(crate) fn new(
        meter: Meter,
        workload: Workload,
        segment: Segment,
        rooms: Arc<Rooms>,
        options: LedgerOptions,
    ) -> Self {
        let memberships = Memberships::of(&rooms).map(Box::new);
        let has_leavers = memberships.is_some() || options.is_flapping;
        Self {
            run: options.run,
            workload,
            segment,
            step: Step::new(StepOrder::IDLE, has_leavers),
            meter: meter.of_kinds(rooms.says().len(), rooms.roles().len()),
            local_rooms: LocalRooms::new(rooms, segment),
            memberships,
            streams: Streams::new(options.stall_times.unwrap_or(0)),
            asks: options.asks,
            busy: Vec::new(),
            pushes: options.pushes.map(Box::new),
            misses: options.misses,
            has_leavers,
            are_spoken_for: options.are_spoken_for,
            was_heeded: false,
            acks: options.acks,
            usable: 0,
            slow: 0,
            relayed: options.are_publishers.then(Vec::new),
            freed: Vec::new(),
        }
    }

    /// Books a push of the server.
    pub(crate) fn handle_pushed(&mut self, client: u32, pushed: Pushed, now_ns: u64) {
        let Some(pushes) = &mut self.pushes else { return };
        // The terms come before the load, by as long as it takes to reach every worker.
        let has_begun = self.step.terms.is_some_and(|terms| now_ns >= terms.begin_ns);
        let is_counted = has_begun && !self.step.is_after_window(now_ns);
        pushes.handle(client, pushed, is_counted, &mut self.meter, now_ns);
        let (Some(number), Some(fingerprint), true) = (pushed.number, pushed.content, is_counted) else {
            return;
        };
        let client_number = self.segment.number(client);
        let room = self.local_rooms.local_kinds()[pushes.room_kind(pushed.kind)].room(client_number);
        let (number, fingerprint) = (number.get(), fingerprint.get());
        let key = PushKey { number, kind: pushed.kind, room };
        let content = Content { key, fingerprint, at_ns: now_ns, client: client_number, receivers: 1 };
        match self.meter.contents.add(content) {
            true => self.meter.counts.push_compared += 1,
            false => self.meter.error(error_kind::PUSH_UNCOMPARED, client, now_ns, || {
                format!("more than {CONTENTS_MAX} different pushes between two reports of a thread")
            }),
        }
    }

    /// Returns whether the server answers the sender of a message of this kind: by an acknowledgement or its
    /// own copy.
    #[inline]
    pub(crate) fn is_answered(&self, kind: usize) -> bool {
        self.acks.has(kind) || self.local_rooms.say(kind).hears_itself()
    }

    /// Returns whether there is news for the pace: messages that are no longer awaited, or clients that have
    /// come into a room.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.freed.is_empty()
            || self.memberships.as_ref().is_some_and(|memberships| memberships.has_entered())
    }

    /// Takes the outcomes for others.
    pub(crate) fn take_relayed(&mut self) -> Vec<Relayed> {
        self.relayed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps an outcome to be told to other clients. Returns false if this ledger is not a publishers'.
    pub(crate) fn relay(&mut self, relayed: Relayed) -> bool {
        self.relayed.as_mut().map(|all| all.push(relayed)).is_some()
    }

    /// Begins a step, with this many clients here. Copies count from now on, not from the start of the load:
    /// another worker may hear of that first, and send.
    pub(crate) fn start_step(&mut self, order: StepOrder, clients: u32) {
        self.meter.start_step(&order);
        self.streams.start_step();
        // Before the step's books are replaced: what was answered in it is nowhere else.
        self.was_heeded |= self.step.sent.iter().any(|sent| sent.acknowledged);
        self.step = Step::new(order, self.has_leavers);
        if let Some(memberships) = &mut self.memberships {
            memberships.start_step(clients);
        }
        self.local_rooms.start_step(order.clients, clients);
    }

    /// Notes that all clients of the step are connected that will be, and are told to the crew.
    pub(crate) fn handle_grown(&mut self) {
        self.step.receivers = self.usable - self.slow;
    }

    /// Begins the load of the step on these terms: messages are due to the clients `present`, and sent by
    /// `senders` in turn.
    pub(crate) fn start_load(&mut self, terms: Terms, present: &[u32], senders: Vec<u32>) {
        self.meter.counts.slow += u64::from(self.slow);
        self.step.attendance = self.absences(present);
        self.step.senders = senders;
        self.step.terms = Some(terms);
        // Slots freed by the step before are not of this load, whose pace begins with all of its own.
        self.freed.clear();
        self.meter.start_load(terms.begin_ns);
        if !self.step.has_returns() {
            // Lost since they were told to the crew, which would drain until they have their copies.
            let absent = self.step.receivers.saturating_sub(self.usable - self.slow);
            self.meter.abandoned.absent += u64::from(absent);
        }
    }

    /// The kind of a broadcast of the step, by its sender and its number at this worker. (Of an echo, the one
    /// kind there is.)
    #[inline]
    pub(crate) fn kind_of(&self, client: u32, number: u32) -> usize {
        self.local_rooms.kind_of(self.segment.worker, client, self.step.seq(number))
    }

    /// The figures of this client's role, if there are roles.
    #[inline]
    pub(crate) fn role(&mut self, client: u32) -> Option<&mut RoleDelta<Histogram>> {
        let role = self.local_rooms.role_of(self.segment.number(client))?;
        Some(self.meter.role(role))
    }

    /// Counts something of a message of this kind that came to this client.
    #[inline]
    pub(crate) fn count(&mut self, count: Count, kind: usize, client: u32) {
        self.count_all(count, kind, client, 1);
    }

    /// Counts something of `messages` messages of this kind that came to this client.
    #[inline]
    pub(crate) fn count_all(&mut self, count: Count, kind: usize, client: u32, messages: u64) {
        self.meter.count(count, kind, messages);
        if let Some(role) = self.role(client) {
            *role.counts.get_mut(count) += messages;
        }
    }

    /// The room that a client shares with the sender of a message with this stamp and kind; `None` if they
    /// are in different rooms.
    #[inline]
    pub(crate) fn shared_room(&self, client: u32, stamp: Stamp, kind: usize) -> Option<u32> {
        let number = self.segment.number(client);
        self.local_rooms.kind_of_rooms(kind).shared(number, self.segment.sender(stamp))
    }

    /// Takes copies of a client that has left out of the ones that count for clients that were here: copies of
    /// messages of this kind, sent since `from_ns`, that it hears. Returns how many were taken out.
    pub(super) fn excuse(&mut self, client: u32, kind: usize, from_ns: u64) -> u32 {
        let Self { local_rooms, segment, step, .. } = self;
        let (local_kind, own) = (local_rooms.kind_of_rooms(kind), (segment.worker, client));
        let room = local_kind.room(segment.number(client));
        let hears_itself = local_rooms.say(kind).hears_itself();
        let is_heard = |worker, sender| hears_itself || (worker, sender) != own;
        step.broadcasts.excuse(kind as u16, room, local_kind.member(client, room).place, from_ns, is_heard)
    }
}

#[cfg(test)]
pub(super) mod tests;
