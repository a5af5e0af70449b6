//! Shared state of a worker's clients and of the step under way.

mod attendance;
mod mistaken;
mod unanswered;
mod visits;

use std::ops::Range;
use std::sync::Arc;

use codec::Stamp;
use load::{LocalRooms, Rooms, Segment, StepOrder, Workload};
use stats::{Count, Histogram, error_kind};
use wire::{Acks, Pushed, RequestOutcome};

use crate::books::memberships::Memberships;
use crate::books::meter::Meter;
use crate::books::pushes::Pushes;
use crate::books::record::Record;
use crate::books::relayed::Relayed;
use crate::books::step::{NUMBER_MASK, Sent, Step, Terms};
use crate::books::streamed::Streams;
use crate::contents::{CONTENTS_MAX, Content, PushKey};
use crate::events::Entry;
use crate::messages::{RoleDelta, SentBroadcast};

/// Properties of a run that its books depend on.
pub(crate) struct LedgerOptions {
    /// The run's number in its stamps.
    pub(crate) run: u16,
    /// Kinds of messages that the server acknowledges to their senders.
    pub(crate) acks: Acks,
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

    /// Books a client's next message, due at `intended_ns`, which is about to go out. Returns its number and
    /// its stamp.
    #[inline]
    pub(crate) fn handle_sending(
        &mut self,
        client: u32,
        record: &mut Record,
        intended_ns: u64,
        now_ns: u64,
    ) -> (u32, Stamp) {
        let (workload, worker) = (self.workload, self.segment.worker);
        let number = match workload {
            Workload::Echo => record.echoes.send(1),
            Workload::Broadcast => self.step.sent.len() as u32,
        };
        // Booked before the bytes are written: the answer may arrive in the same turn. `take_back` undoes it.
        let stamp = Stamp::new(worker, client, self.step.seq(number), intended_ns, now_ns).of_run(self.run);
        let mut is_answered = true;
        if workload == Workload::Broadcast {
            let sender = self.segment.number(client);
            let sent_ns = stamp.sent_ns();
            let times = SentBroadcast { client: sender, intended_ns, sent_ns, ..SentBroadcast::default() };
            let kind = self.local_rooms.kind_of(worker, client, stamp.seq);
            self.meter.due += u64::from(self.local_rooms.hearers_of(sender, kind));
            is_answered = self.is_answered(kind);
            let (acknowledged, is_excused, is_given_up) = (!is_answered, false, false);
            self.step.sent.push(Sent { client, acknowledged, is_excused, is_given_up, times });
            record.unacknowledged += u32::from(is_answered);
        }
        if is_answered {
            self.meter.outstanding.add(1, now_ns);
            if self.step.awaits() {
                record.awaiting.push(intended_ns, 1);
            }
        }
        self.step.messages_sent += 1;
        (number, stamp)
    }

    /// Books further echoes that go out behind the one before, as its series.
    #[inline]
    pub(crate) fn handle_sending_more(
        &mut self,
        record: &mut Record,
        intended_ns: u64,
        messages: u32,
        now_ns: u64,
    ) {
        record.echoes.send(messages);
        self.meter.outstanding.add(messages, now_ns);
        if self.step.awaits() {
            record.awaiting.push(intended_ns, messages);
        }
        self.step.messages_sent += u64::from(messages);
    }

    /// Books a client's messages of these numbers, all of one kind and of this size each, as sent. `annotate` adds
    /// sender and number to a message's log entry. The lag of the messages is recorded with their write.
    #[inline]
    pub(crate) fn handle_sent(
        &mut self,
        now_ns: u64,
        client: u32,
        numbers: Range<u32>,
        intended_ns: u64,
        bytes: u32,
        annotate: impl Fn(Entry, u32) -> Entry,
    ) {
        let kind = self.kind_of(client, numbers.start);
        let messages = u64::from(numbers.end - numbers.start);
        self.meter.sent_bytes += messages * u64::from(bytes);
        if let Some(role) = self.role(client) {
            role.counts.sent += messages;
        }
        let is_after_window = self.step.is_after_window(now_ns);
        if is_after_window {
            self.meter.tail.sent += messages;
        }
        if !self.is_answered(kind) {
            // Nothing is left to wait for at the sender: only its copies tell what became of it.
            self.meter.acks += messages;
            self.meter.tail.acks += if is_after_window { messages } else { 0 };
        }
        let annotate = |sent: Entry, number| annotate(sent, number).bytes(bytes);
        self.meter.handle_sent(now_ns, client, kind, intended_ns, numbers, annotate);
    }

    /// Takes a message out of the books whose connection turned out to be gone: the kernel took nothing of
    /// it, so no client can have it.
    #[cold]
    pub(crate) fn take_back(&mut self, client: u32, record: &mut Record, intended_ns: u64, now_ns: u64) {
        let mut is_answered = true;
        match self.workload {
            Workload::Echo => record.echoes.take_back(),
            Workload::Broadcast => {
                self.step.sent.pop();
                let kind = self.kind_of(client, self.step.sent.len() as u32);
                self.meter.due -= u64::from(self.local_rooms.hearers_of(self.segment.number(client), kind));
                is_answered = self.is_answered(kind);
                record.unacknowledged -= u32::from(is_answered);
            }
        }
        // As in `handle_sending`: another message, which is answered, may have been due at the same time.
        if is_answered {
            record.awaiting.remove(intended_ns, 1);
            self.meter.outstanding.remove(1, now_ns);
        }
        self.step.messages_sent -= 1;
        self.handle_unsent(client, now_ns);
    }

    /// Counts messages that were due while no client was there to send them.
    pub(crate) fn handle_nobody_there(&mut self, messages: u64) {
        self.meter.counts.nobody_to_send += messages;
    }

    /// Counts a message that was due, but whose client has no connection.
    pub(crate) fn handle_unsent(&mut self, client: u32, now_ns: u64) {
        self.meter.error(error_kind::UNSENT, client, now_ns, || "its client had lost its connection".into());
    }

    /// Counts a message that waits at its client until the connection has room for it, or, with `is_busy`,
    /// has answered another. The message was due `late_ns` ago.
    pub(crate) fn handle_waiting(&mut self, is_busy: bool, late_ns: u64) {
        self.meter.held.kept += 1;
        self.meter.account.waited_late_ns += late_ns;
        // A closed loop has no message until there is room for it.
        self.meter.counts.waited += u64::from(is_busy && !self.step.is_closed());
    }

    /// Books the outcome of a message that a session had kept, or had sent. `sender` is its client's number
    /// among all.
    pub(crate) fn handle_request_outcome(
        &mut self,
        client: u32,
        record: &mut Record,
        sender: u32,
        stamp: Stamp,
        outcome: RequestOutcome,
        now_ns: u64,
    ) {
        // What is left of an earlier step is in that step's books.
        let Some(low) = self.step.number(stamp.seq) else { return };
        if self.relay(Relayed::RequestOutcome(stamp, outcome)) {
            return;
        }
        match outcome {
            RequestOutcome::Sent { bytes } => {
                let sent_ns = stamp.sent_ns();
                let number = match self.step.sent.get_mut(low as usize) {
                    // Copies are due by when a message was really sent: a client may have come while it
                    // waited for its connection. A broadcast's number has no more bits than its stamp holds.
                    Some(sent) => {
                        sent.times.sent_ns = sent_ns;
                        low
                    }
                    None => record.echoes.widen(low, NUMBER_MASK),
                };
                let annotate = |sent: Entry, _| sent.message(sender, number);
                self.meter.account.waited_ns += sent_ns.saturating_sub(stamp.intended_ns);
                // A closed loop has no schedule to be behind of: a message that waited did so for the
                // connection, and not for the generator.
                let due_ns = if self.step.is_closed() { sent_ns } else { stamp.intended_ns };
                self.meter.figures.send_lag.record_ns(sent_ns.saturating_sub(due_ns));
                self.handle_sent(sent_ns, client, low..low + 1, due_ns, bytes, annotate);
                self.meter.held.sent += 1;
            }
            RequestOutcome::Dropped => self.handle_dropped(client, record, stamp, now_ns),
            RequestOutcome::Failed(failure) => {
                self.meter.error(failure.name(), client, now_ns, || failure.to_string());
                record.dropped += 1;
                self.handle_unanswerable(client, record, stamp, now_ns);
                self.handle_broken_off(client, stamp.seq, now_ns);
            }
        }
    }

    /// Books that the connection or the stream of an answer in pieces ended before the answer did. Returns
    /// whether there was such an answer.
    pub(super) fn handle_broken_off(&mut self, client: u32, request: u32, now_ns: u64) -> bool {
        let was_under_way = self.streams.finish(client, request, &mut self.meter);
        if was_under_way {
            self.meter.counts.broken_off += 1;
            self.meter.error(error_kind::BROKE_OFF, client, now_ns, || {
                "a streamed answer ended before it was whole".into()
            });
        }
        was_under_way
    }

    /// Books that a request will have no answer, because its connection broke and it may not be sent again.
    fn handle_dropped(&mut self, client: u32, record: &mut Record, stamp: Stamp, now_ns: u64) {
        record.dropped += 1;
        // Before its answer is closed, which says whether its first event is in the account already.
        self.handle_unanswerable(client, record, stamp, now_ns);
        if !self.handle_broken_off(client, stamp.seq, now_ns) {
            self.meter.error(error_kind::NOT_RESENT, client, now_ns, || {
                "the connection ended under a request that may not be sent again: not idempotent (RFC 9110 \
                 §9.2.2), or a question over a WebSocket"
                    .into()
            });
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
