//! What a worker knows of its clients together, and of the step under way.

use std::sync::Arc;

use load::{Cut, Rooms, Seating, Segment, StepOrder, Workload};
use stats::{Count, Histogram};
use wire::{Fate, Stamp};

use crate::books::absences::Absences;
use crate::books::cause::Cause;
use crate::books::meter::Meter;
use crate::books::record::{Record, State};
use crate::books::relayed::Relayed;
use crate::books::step::{NUMBER_MASK, Sent, Step, Terms};
use crate::events::{Entry, Kind};
use crate::messages::{Attendance, Departure, RoleDelta, SentBroadcast};

/// How long after everybody else has a message its sender is not answered any more.
const UNHEEDED_NS: u64 = 5_000_000_000;

/// What a worker knows of its clients together.
pub(crate) struct Ledger {
    pub(crate) segment: Segment,
    pub(crate) seating: Seating,
    pub(crate) step: Step,
    pub(crate) meter: Meter,
    /// In a step before this one a sender was answered: the server knows how.
    was_heeded: bool,
    /// Clients usable now.
    pub(crate) usable: u32,
    /// Of these, the slow ones.
    pub(crate) slow: u32,
    /// What became of messages that these clients say for others; `None`: they speak for themselves.
    relayed: Option<Vec<Relayed>>,
    /// Clients with a message that is no longer awaited, once for each such message: the pace of the load needs them.
    pub(crate) freed: Vec<u32>,
}

impl Ledger {
    /// Books without a step, of the worker of this segment.
    pub(crate) fn new(meter: Meter, idle: StepOrder, segment: Segment, rooms: Arc<Rooms>) -> Self {
        let meter = meter.of_kinds(rooms.says().len(), rooms.roles().len());
        let (step, freed, seating) = (Step::new(idle), Vec::new(), Seating::new(rooms, segment));
        Self { segment, seating, step, meter, was_heeded: false, usable: 0, slow: 0, relayed: None, freed }
    }

    /// The same, of clients that say what is others': they are to be told what becomes of it.
    pub(crate) fn for_others(self) -> Self {
        Self { relayed: Some(Vec::new()), ..self }
    }

    /// What others are to be told.
    pub(crate) fn take_relayed(&mut self) -> Vec<Relayed> {
        self.relayed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Others are to be told this; false: nobody is.
    pub(crate) fn relay(&mut self, relayed: Relayed) -> bool {
        self.relayed.as_mut().map(|all| all.push(relayed)).is_some()
    }

    /// A step begins, with this many clients here. Copies count from now on, not from the start of the load: another worker
    /// may hear of that first, and send.
    pub(crate) fn start_step(&mut self, order: StepOrder, clients: u32) {
        self.meter.start_step(&order);
        self.was_heeded |= self.step.sent.iter().any(|sent| sent.acknowledged);
        self.step = Step::new(order);
        self.seating.start_step(order.clients, clients);
    }

    /// The load of the step begins at `at_ns`, on these terms: due to these clients, and sent by those in turn.
    pub(crate) fn start_load(&mut self, terms: Terms, present: &[u32], senders: Vec<u32>, at_ns: u64) {
        self.meter.counts.slow += u64::from(self.slow);
        self.step.attendance = self.absences(present);
        self.step.senders = senders;
        self.step.terms = Some(terms);
        self.freed.clear();
        self.meter.start_load(at_ns);
    }

    /// Who is missing from the rooms as the load begins, by who is `present`, in order.
    fn absences(&self, present: &[u32]) -> Vec<Attendance> {
        let here = self.segment.share(self.step.order.clients);
        let mut absences = Vec::new();
        let mut present = present.iter().copied().peekable();
        for client in 0..here {
            if present.next_if_eq(&client).is_none() {
                self.rooms_of(client).for_each(|place| note(&mut absences, 0, place, -1));
            }
        }
        absences
    }

    /// A client to which broadcasts are due is there from now on, or no more. To slow ones nothing is due.
    pub(crate) fn note_attendance(&mut self, client: u32, record: &Record, change: i32, now_ns: u64) {
        if !record.is_slow {
            let mut attendance = std::mem::take(&mut self.step.attendance);
            self.rooms_of(client).for_each(|place| note(&mut attendance, now_ns, place, change));
            self.step.attendance = attendance;
        }
    }

    /// The rooms of a client, each with its kind and the client's role.
    fn rooms_of(&self, client: u32) -> impl Iterator<Item = (u16, u32, u8)> {
        let number = self.segment.number(client);
        let role = self.seating.role_of(number).unwrap_or(0) as u8;
        (0..).zip(self.seating.floors()).map(move |(kind, floor)| (kind, floor.room(number), role))
    }

    /// The kind of a broadcast of the step, by its sender and its number at this worker. (Of an echo, the one kind there is.)
    #[inline]
    pub(crate) fn kind_of(&self, client: u32, number: u32) -> usize {
        self.seating.kind_of(self.segment.worker, client, self.step.seq(number))
    }

    /// What is told of the people of this client's role apart from the others, if there are roles.
    #[inline]
    pub(crate) fn role(&mut self, client: u32) -> Option<&mut RoleDelta<Histogram>> {
        let role = self.seating.role_of(self.segment.number(client))?;
        Some(self.meter.role(role))
    }

    /// Counts something of a message of this kind that came to this client.
    #[inline]
    pub(crate) fn count(&mut self, count: Count, kind: usize, client: u32) {
        self.meter.count(count, kind);
        if let Some(role) = self.role(client) {
            *role.counts.get_mut(count) += 1;
        }
    }

    /// The room that a client shares with the one who sent what has this stamp, a message of this kind; `None`: they are in
    /// different ones.
    #[inline]
    pub(crate) fn shared_room(&self, client: u32, stamp: Stamp, kind: usize) -> Option<u32> {
        let (worker, workers) = (u32::from(stamp.worker), u32::from(self.segment.workers));
        let sender = stamp.client.wrapping_mul(workers).wrapping_add(worker);
        self.seating.floor_of(kind).shared(self.segment.number(client), sender)
    }

    /// A client is usable from now on.
    pub(crate) fn handle_usable(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        let taken_ns = now_ns - record.started_ns;
        self.meter.note(|| Entry::new(Kind::Handshake, now_ns, client).latency(taken_ns));
        self.meter.figures.ready.record_ns(now_ns - record.since_ns);
        self.meter.figures.handshake.record_ns(taken_ns);
        self.meter.counts.connected += 1;
        if let Some(role) = self.role(client) {
            role.counts.connected += 1;
            role.handshake.record_ns(taken_ns);
        }
        (record.state, record.was_usable) = (State::Usable, true);
        let lost_ns = std::mem::take(&mut record.lost_ns);
        if lost_ns != 0 {
            self.meter.figures.recovery.record_ns(now_ns.saturating_sub(lost_ns));
        }
        self.usable += 1;
        self.slow += u32::from(record.is_slow);
        self.step.absences.end(record, now_ns);
        record.since_ns = now_ns;
        (record.copies, record.latest_ns) = (0, 0);
    }

    /// A usable client is so no more.
    pub(crate) fn handle_unusable(&mut self, client: u32, record: &Record, now_ns: u64) {
        self.usable -= 1;
        self.slow -= u32::from(record.is_slow);
        self.note_attendance(client, record, -1, now_ns);
    }

    /// A usable client has lost its connection.
    pub(crate) fn handle_loss(
        &mut self,
        client: u32,
        record: &mut Record,
        cause: Cause,
        workload: Workload,
        now_ns: u64,
    ) {
        let kind = if record.is_slow { "slow_dropped" } else { cause.kind() };
        self.meter.note_detailed(Entry::new(Kind::Close, now_ns, client), kind);
        if record.is_slow {
            self.meter.error(kind, client, now_ns, || cause.to_string());
        } else {
            self.meter.counts.disconnects += 1;
            if let Some(role) = self.role(client) {
                role.counts.disconnects += 1;
            }
            self.meter.loss(cause, client, now_ns, || cause.to_string());
        }
        self.handle_absence(client, record, None, now_ns);
        self.handle_gone(record, workload);
        let awaited = std::mem::take(&mut record.awaiting);
        for since_ns in awaited.iter() {
            self.give_up(client, since_ns, now_ns);
        }
        if self.step.has_storm() {
            record.lost_ns = now_ns;
        }
    }

    /// A client has lost its connection under load: what it owed or was owed is no longer waited for, unless another
    /// takes its place.
    fn handle_gone(&mut self, record: &mut Record, workload: Workload) {
        let unacknowledged = std::mem::take(&mut record.unacknowledged);
        if self.step.terms.is_none() || self.step.has_returns() {
            return;
        }
        let gone = &mut self.meter.gone;
        gone.answers += match workload {
            Workload::Echo => (record.echoes.missing().count() as u64).saturating_sub(record.dropped.into()),
            Workload::Broadcast => u64::from(unacknowledged),
        };
        if !record.is_slow {
            gone.receivers += 1;
            gone.copies += u64::from(record.copies);
        }
    }

    /// A usable client's connection has ended: like this, or of itself. Where it is to come back, it is away.
    fn handle_absence(&mut self, client: u32, record: &mut Record, cut: Option<Cut>, now_ns: u64) {
        if !self.step.is_flapping() || record.is_slow {
            return self.handle_unusable(client, record, now_ns);
        }
        let from_ns = Absences::from_ns(record);
        let Self { seating, segment, step, .. } = self;
        let own = segment.number(client);
        let mut broadcasts = std::mem::take(&mut step.broadcasts);
        let had = broadcasts.excuse(from_ns, |worker, sender, number| {
            let kind = seating.kind_of(worker, sender, step.seq(number));
            let (floor, sender) = (seating.floor_of(kind), Segment { worker, ..*segment }.number(sender));
            let room = floor.shared(own, sender)?;
            let is_heard = seating.say(kind).hears_itself() || sender != own;
            is_heard.then(|| floor.seat(client, room).place)
        });
        step.broadcasts = broadcasts;
        for &(worker, sender, number) in &had {
            let kind = seating.kind_of(worker, sender, step.seq(number));
            step.had_of_says.resize(step.had_of_says.len().max(kind + 1), 0);
            step.had_of_says[kind] += 1;
        }
        let latest = step.sent.iter_mut().rev().take_while(|sent| sent.times.sent_ns >= from_ns);
        for sent in latest.filter(|sent| sent.client == client && !sent.acknowledged) {
            sent.times.is_cut_off = true;
        }
        step.absences.begin(own, record, cut, had.len() as u32, now_ns);
        self.handle_unusable(client, record, from_ns);
    }

    /// The connection of a usable client that flaps is about to be ended like this.
    pub(crate) fn handle_cut(&mut self, client: u32, record: &mut Record, cut: Cut, now_ns: u64) {
        self.meter.counts.cut += 1;
        self.handle_absence(client, record, Some(cut), now_ns);
        record.unacknowledged = 0;
        let awaited = std::mem::take(&mut record.awaiting);
        for since_ns in awaited.iter() {
            self.give_up(client, since_ns, now_ns);
        }
    }

    /// The storm takes a usable client's connection.
    pub(crate) fn handle_struck(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        self.meter.note(|| Entry::new(Kind::Close, now_ns, client));
        record.lost_ns = now_ns;
        self.usable -= 1;
        self.note_attendance(client, record, -1, now_ns);
    }

    /// A usable client leaves in mid-step. What is under way to it is in flight for ever, neither received nor missing, and
    /// the answers it waited for count as at least so late.
    pub(crate) fn handle_parting(
        &mut self,
        client: u32,
        record: &mut Record,
        workload: Workload,
        now_ns: u64,
    ) {
        // Another takes its place, who was never there.
        record.was_usable = false;
        let awaited = std::mem::take(&mut record.awaiting);
        for since_ns in awaited.iter() {
            self.give_up(client, since_ns, now_ns);
        }
        match workload {
            Workload::Echo => self.meter.counts.in_flight += record.echoes.abandon(),
            Workload::Broadcast => {
                record.unacknowledged = 0;
                // What it waits for was sent a moment ago.
                let latest = self.step.sent.iter_mut().rev();
                let own = latest.filter(|sent| sent.client == client && !sent.acknowledged);
                for sent in own.take(awaited.iter().count()) {
                    sent.acknowledged = true;
                }
                if !record.is_slow {
                    let (from_ns, received) = (record.since_ns, record.copies);
                    let client = self.segment.number(client);
                    self.step.departures.push(Departure { client, from_ns, to_ns: now_ns, received });
                }
            }
        }
        self.handle_unusable(client, record, now_ns);
        self.meter.counts.left += 1;
    }

    /// A usable client leaves to come back at once. Nothing is under way to it; what was given up stays missing.
    pub(crate) fn handle_renewal(&mut self, client: u32, record: &Record, now_ns: u64) {
        self.handle_unusable(client, record, now_ns);
        self.meter.counts.left += 1;
    }

    /// An attempt to connect has failed. `waits_for` says what had not come yet.
    pub(crate) fn handle_failure(
        &mut self,
        client: u32,
        record: &Record,
        cause: Cause,
        now_ns: u64,
        waits_for: &str,
    ) {
        if let Some(RoleDelta { counts, .. }) = self.role(client) {
            match cause {
                Cause::ConnectTimeout => counts.connect_timeouts += 1,
                _ => counts.connect_failures += 1,
            }
        }
        let meter = &mut self.meter;
        match cause {
            Cause::ConnectTimeout => {
                meter.counts.connect_timeouts += 1;
                let taken_ns = now_ns.saturating_sub(record.started_ns);
                meter.note_detailed(Entry::new(Kind::Timeout, now_ns, client).latency(taken_ns), "connect");
            }
            _ => meter.counts.connect_failures += 1,
        }
        meter.loss(cause, client, now_ns, || match cause {
            Cause::ConnectTimeout => format!("{cause}: {waits_for}"),
            _ => cause.to_string(),
        });
    }

    /// A client's next message, due at `intended_ns`, is about to go out: its number and its stamp.
    #[inline]
    pub(crate) fn handle_sending(
        &mut self,
        worker: u16,
        client: u32,
        record: &mut Record,
        workload: Workload,
        intended_ns: u64,
        now_ns: u64,
    ) -> (u32, Stamp) {
        let step = &mut self.step;
        let number = match workload {
            Workload::Echo => record.echoes.send(),
            Workload::Broadcast => step.sent.len() as u32,
        };
        let stamp = Stamp::new(worker, client, step.seq(number), intended_ns, now_ns);
        if workload == Workload::Broadcast {
            let sender = self.segment.number(client);
            let times =
                SentBroadcast { client: sender, intended_ns, sent_ns: stamp.sent_ns(), is_cut_off: false };
            let kind = self.seating.kind_of(worker, client, stamp.seq);
            self.meter.due += u64::from(self.seating.hearers_of(sender, kind));
            step.sent.push(Sent { client, acknowledged: false, times });
            record.unacknowledged += 1;
        }
        if step.awaits() {
            record.awaiting.push(intended_ns);
        }
        step.messages_sent += 1;
        (number, stamp)
    }

    /// A client's message of this number goes out. `of_it` adds to its note which one it is.
    #[inline]
    pub(crate) fn handle_sent(
        &mut self,
        now_ns: u64,
        client: u32,
        number: u32,
        intended_ns: u64,
        of_it: impl FnOnce(Entry) -> Entry,
    ) {
        let kind = self.kind_of(client, number);
        if let Some(role) = self.role(client) {
            role.counts.sent += 1;
        }
        self.meter.handle_sent(now_ns, client, kind, intended_ns, of_it);
    }

    /// The connection turned out to be gone when its message was to go out: the kernel took nothing of it, so no one can
    /// have it, and it is in no book.
    #[cold]
    pub(crate) fn take_back(
        &mut self,
        client: u32,
        record: &mut Record,
        workload: Workload,
        intended_ns: u64,
        now_ns: u64,
    ) {
        match workload {
            Workload::Echo => record.echoes.take_back(),
            Workload::Broadcast => {
                self.step.sent.pop();
                let kind = self.kind_of(client, self.step.sent.len() as u32);
                self.meter.due -= u64::from(self.seating.hearers_of(self.segment.number(client), kind));
                record.unacknowledged -= 1;
            }
        }
        record.awaiting.remove(intended_ns);
        self.step.messages_sent -= 1;
        self.handle_unsent(client, now_ns);
    }

    /// A message was due of a client that has no connection to send it through.
    pub(crate) fn handle_unsent(&mut self, client: u32, now_ns: u64) {
        self.meter.error("unsent", client, now_ns, || "its client had lost its connection".into());
    }

    /// A message waits at its client until its connection has room for it; or, with `is_busy`, has answered another.
    pub(crate) fn handle_waiting(&mut self, is_busy: bool) {
        self.meter.held.kept += 1;
        // A closed loop has no message until there is room for it.
        self.meter.counts.waited += u64::from(is_busy && !self.step.is_closed());
    }

    /// What became of a message that a session had kept, or had sent. `sender` is its client's number among all.
    pub(crate) fn handle_fate(
        &mut self,
        client: u32,
        record: &mut Record,
        sender: u32,
        stamp: Stamp,
        fate: Fate,
        now_ns: u64,
    ) {
        // What is left of an earlier step is in that step's books.
        let Some(low) = self.step.number(stamp.seq) else { return };
        if self.relay(Relayed::Fate(stamp, fate)) {
            return;
        }
        match fate {
            Fate::Sent { bytes } => {
                if let Some(sent) = self.step.sent.get_mut(low as usize) {
                    sent.times.sent_ns = stamp.sent_ns();
                }
                let number = record.echoes.widen(low, NUMBER_MASK);
                let sent_ns = stamp.sent_ns();
                let of_it = |sent: Entry| sent.message(sender, number).bytes(bytes);
                // A closed loop has no schedule to be behind of: who waited did so for the connection, and not for us.
                let due_ns = if self.step.is_closed() { sent_ns } else { stamp.intended_ns };
                self.handle_sent(sent_ns, client, low, due_ns, of_it);
                self.meter.held.sent += 1;
                self.meter.tail.sent += u64::from(self.step.is_after_window(sent_ns));
            }
            Fate::Dropped => self.handle_dropped(client, record, stamp, now_ns),
            Fate::Failed(failure) => {
                self.meter.error(failure.name(), client, now_ns, || failure.to_string());
                record.dropped += 1;
                self.handle_unanswerable(client, record, stamp, now_ns);
            }
        }
    }

    /// A request will have no answer, because its connection broke and it may not be sent again.
    fn handle_dropped(&mut self, client: u32, record: &mut Record, stamp: Stamp, now_ns: u64) {
        self.meter.error("not_resent", client, now_ns, || {
            "the connection ended under a request that is not idempotent: it is not sent again (RFC 9110 §9.2.2)"
                .into()
        });
        record.dropped += 1;
        self.handle_unanswerable(client, record, stamp, now_ns);
    }

    /// A message will have no answer, and is waited for no longer.
    pub(crate) fn handle_unanswerable(
        &mut self,
        client: u32,
        record: &mut Record,
        stamp: Stamp,
        now_ns: u64,
    ) {
        self.meter.gone.answers += 1;
        self.forget(client, record, stamp, now_ns);
    }

    /// A message is waited for no longer.
    pub(crate) fn forget(&mut self, client: u32, record: &mut Record, stamp: Stamp, now_ns: u64) {
        if record.awaiting.remove(stamp.intended_ns) {
            self.give_up(client, stamp.intended_ns, now_ns);
        }
    }

    /// A client whose message everybody else here has had for [`UNHEEDED_NS`], while no sender of the run has been
    /// answered yet: the server does not answer, or not in the form that was said. Once it did, it is but slow.
    pub(crate) fn unheeded(&self, now_ns: u64) -> Option<u32> {
        let Sent { client, acknowledged: false, .. } = *self.step.sent.first()? else { return None };
        if self.was_heeded {
            return None;
        }
        let (received, last_ns) = self.step.broadcasts.heard(self.segment.worker, 0)?;
        let floor = self.seating.floor_of(self.kind_of(client, 0));
        let others = floor.members_here(floor.room(self.segment.number(client))) - 1;
        let is_unheeded = received >= others.max(1) && now_ns.saturating_sub(last_ns) > UNHEEDED_NS;
        (is_unheeded && self.step.sent.iter().all(|sent| !sent.acknowledged)).then_some(client)
    }

    /// Gives up what a client has awaited since before `overdue_ns`.
    pub(crate) fn give_up_overdue(&mut self, client: u32, record: &mut Record, overdue_ns: u64, now_ns: u64) {
        while let Some(since_ns) = record.awaiting.give_up(overdue_ns) {
            self.give_up(client, since_ns, now_ns);
        }
    }

    /// A message that was awaited is so no more: it counts as at least this late, and frees its slot. Its answer may
    /// still come.
    fn give_up(&mut self, client: u32, since_ns: u64, now_ns: u64) {
        let kind = self.kind_of_awaited(client, since_ns);
        self.charge(client, kind, now_ns.saturating_sub(since_ns), now_ns, |entry| entry);
        self.freed.push(client);
    }

    /// The kind of the message that a client has awaited since then.
    fn kind_of_awaited(&self, client: u32, since_ns: u64) -> usize {
        if self.seating.rooms().says().len() == 1 {
            return 0;
        }
        let is_it = |sent: &Sent| sent.client == client && sent.times.intended_ns == since_ns;
        self.step.sent.iter().rposition(is_it).map_or(0, |number| self.kind_of(client, number as u32))
    }

    /// A message without an answer counts as late as it is by now.
    pub(crate) fn charge(
        &mut self,
        client: u32,
        kind: usize,
        late_ns: u64,
        now_ns: u64,
        of_it: impl FnOnce(Entry) -> Entry,
    ) {
        self.meter.figures.rtt.record_ns(late_ns);
        if let Some(say) = self.meter.say(kind) {
            say.rtt.record_ns(late_ns);
        }
        if let Some(role) = self.role(client) {
            role.rtt.record_ns(late_ns);
        }
        let given_up = Entry::new(Kind::Timeout, now_ns, client).latency(late_ns);
        self.meter.note_detailed(of_it(given_up), "message");
    }
}

/// Adds a change to others of the same moment.
fn note(attendance: &mut Vec<Attendance>, at_ns: u64, place: (u16, u32, u8), change: i32) {
    let (kind, room, role) = place;
    match attendance.last_mut() {
        Some(last) if (last.at_ns, (last.kind, last.room, last.role)) == (at_ns, place) => {
            last.change += change
        }
        _ => attendance.push(Attendance { at_ns, kind, room, role, change }),
    }
}
