//! Attendance: clients become usable, lose their connections, are cut off, leave and come back.

use load::{Cut, Workload};
use stats::error_kind;

use super::Ledger;
use crate::books::absences::Absences;
use crate::books::cause::Cause;
use crate::books::record::{Record, State};
use crate::events::{Entry, Kind};
use crate::messages::{Attendance, Departure, RoleDelta, RoomPlace};

impl Ledger {
    /// Members missing from the rooms as the load begins, by the clients that are `present`, in order.
    pub(super) fn absences(&self, present: &[u32]) -> Vec<Attendance> {
        let here = self.segment.share(self.step.order.clients);
        let mut absences = Vec::new();
        let mut present = present.iter().copied().peekable();
        for client in 0..here {
            let is_present = present.next_if_eq(&client).is_some();
            let out = self.rooms_of(client).filter(|place| !is_present || !self.is_in(client, place.kind));
            for place in out {
                note(&mut absences, 0, place, -1);
            }
        }
        absences
    }

    /// Notes that a client to which broadcasts are due is there from now on, or no more. Nothing is due to
    /// slow clients.
    pub(crate) fn note_attendance(&mut self, client: u32, record: &Record, change: i32, now_ns: u64) {
        if !record.is_slow {
            let mut attendance = std::mem::take(&mut self.step.attendance);
            let is_in = |place: &RoomPlace| self.is_in(client, place.kind);
            for place in self.rooms_of(client).filter(is_in) {
                note(&mut attendance, now_ns, place, change);
            }
            self.step.attendance = attendance;
        }
    }

    /// The rooms of a client, each with its kind and the client's role, whether or not the client is in them.
    pub(super) fn rooms_of(&self, client: u32) -> impl Iterator<Item = RoomPlace> {
        let number = self.segment.number(client);
        let role = self.local_rooms.role_of(number).unwrap_or(0) as u8;
        (0..).zip(self.local_rooms.local_kinds()).map(move |(kind, local_kind)| RoomPlace {
            kind,
            room: local_kind.room(number),
            role,
        })
    }

    /// Books that a client is usable from now on.
    pub(crate) fn handle_usable(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        let taken_ns = now_ns - record.started_ns;
        self.meter.note(|| Entry::new(Kind::Handshake, now_ns, client).latency(taken_ns));
        // `since_ns` still is the beginning of the handshake's last part; below it becomes the moment of
        // readiness.
        self.meter.figures.ready.record_ns(now_ns - record.since_ns);
        self.meter.figures.handshake.record_ns(taken_ns);
        self.meter.counts.connected += 1;
        if let Some(role) = self.role(client) {
            role.counts.connected += 1;
            role.handshake.record_ns(taken_ns);
        }
        (record.state, record.was_usable) = (State::Usable, true);
        if let Some(pushes) = &mut self.pushes {
            pushes.handle_usable(client);
        }
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

    /// Books that a client is no longer usable.
    pub(crate) fn handle_unusable(&mut self, client: u32, record: &Record, now_ns: u64) {
        self.usable -= 1;
        self.slow -= u32::from(record.is_slow);
        self.note_attendance(client, record, -1, now_ns);
        if let Some(memberships) = &mut self.memberships {
            for announced in memberships.handle_gone(client, now_ns) {
                self.step.announcements.withdraw(announced);
            }
        }
    }

    /// Books that a usable client has lost its connection.
    pub(crate) fn handle_loss(&mut self, client: u32, record: &mut Record, cause: Cause, now_ns: u64) {
        let kind = if record.is_slow { error_kind::SLOW_DROPPED } else { cause.kind() };
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
        // Before the answers are given up: that sets to 0 the count that is read here.
        self.handle_gone(record, now_ns);
        self.give_up_own(client, record, now_ns);
        if self.step.has_storm() {
            record.lost_ns = now_ns;
        }
    }

    /// Stops waiting for what a client owed, or was owed, that has lost its connection under load, unless
    /// another takes its place.
    fn handle_gone(&mut self, record: &Record, now_ns: u64) {
        if self.step.terms.is_none() || self.step.is_settled || self.step.has_returns() {
            return;
        }
        let owed = match self.workload {
            Workload::Echo => (record.echoes.missing().count() as u64).saturating_sub(record.dropped.into()),
            Workload::Broadcast if self.are_spoken_for => 0,
            Workload::Broadcast => u64::from(record.unacknowledged),
        };
        // Where each message is awaited, it is given up by itself.
        if !self.step.awaits() {
            self.meter.outstanding.remove(u32::try_from(owed).unwrap_or(u32::MAX), now_ns);
        }
        let abandoned = &mut self.meter.abandoned;
        // The crew drains until nothing is due. What no client waits for must not keep it waiting.
        abandoned.answers += owed;
        if !record.is_slow {
            abandoned.receivers += 1;
            abandoned.copies += u64::from(record.copies);
        }
    }

    /// Books the end of a usable client's connection, which was cut in this way or ended by itself. A client
    /// that is to come back is away.
    fn handle_absence(&mut self, client: u32, record: &mut Record, cut: Option<Cut>, now_ns: u64) {
        if !self.step.is_flapping() || record.is_slow {
            return self.handle_unusable(client, record, now_ns);
        }
        let from_ns = Absences::from_ns(record);
        let kinds = self.local_rooms.rooms().says().len();
        self.step.had_of_says.resize(kinds, 0);
        let mut had = 0;
        for kind in 0..kinds {
            let of_kind = self.excuse(client, kind, from_ns);
            self.step.had_of_says[kind] += u64::from(of_kind);
            had += of_kind;
        }
        let (own, step) = (self.segment.number(client), &mut self.step);
        if !self.are_spoken_for {
            // Only what may have been under way: an older message that the server has not answered is its to
            // answer for.
            let latest = step.sent.iter_mut().rev().take_while(|sent| sent.times.sent_ns >= from_ns);
            for sent in latest.filter(|sent| sent.client == client && !sent.acknowledged) {
                sent.times.is_cut_off = true;
            }
        }
        step.absences.begin(own, record, cut, had, now_ns);
        // Absent since `from_ns`, not since now: copies of what was under way are in the account of the
        // absence.
        self.handle_unusable(client, record, from_ns);
    }

    /// Books that the connection of a usable client that flaps is about to be cut in this way.
    pub(crate) fn handle_cut(&mut self, client: u32, record: &mut Record, cut: Cut, now_ns: u64) {
        self.meter.counts.cut += 1;
        self.handle_absence(client, record, Some(cut), now_ns);
        self.give_up_own(client, record, now_ns);
    }

    /// Gives up the answers to what a client has sent over its connection, which is over.
    fn give_up_own(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        if self.are_spoken_for {
            return;
        }
        record.unacknowledged = 0;
        self.stop_waiting(client, record);
        let awaited = std::mem::take(&mut record.awaiting);
        for since_ns in awaited.iter() {
            self.give_up(client, since_ns, u64::MAX, now_ns);
        }
    }

    /// Books that the storm takes a usable client's connection.
    pub(crate) fn handle_storm_loss(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        self.meter.note(|| Entry::new(Kind::Close, now_ns, client));
        record.lost_ns = now_ns;
        self.handle_unusable(client, record, now_ns);
    }

    /// Books that a usable client leaves in mid-step. What is under way to it is in flight for ever, neither
    /// received nor missing, and the answers it waited for count as at least as late as they are now, unless
    /// others bring them.
    pub(crate) fn handle_parting(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        // Another client, which was never there, takes its place.
        record.was_usable = false;
        let awaited = record.awaiting.iter().count();
        self.give_up_own(client, record, now_ns);
        match self.workload {
            Workload::Echo => self.meter.counts.in_flight += record.echoes.abandon(),
            Workload::Broadcast => {
                if !self.are_spoken_for {
                    self.excuse_from_answers(client, awaited);
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

    /// Excuses the answers to the latest `messages` messages of a client that has left, which it awaits no
    /// more.
    fn excuse_from_answers(&mut self, client: u32, messages: usize) {
        let latest = self.step.sent.iter_mut().rev();
        let own = latest.filter(|sent| sent.client == client && !sent.acknowledged && !sent.is_excused);
        for sent in own.take(messages) {
            sent.is_excused = true;
        }
    }

    /// Books that a usable client leaves to come back at once. Nothing is under way to it; what was given up
    /// stays missing.
    pub(crate) fn handle_renewal(&mut self, client: u32, record: &Record, now_ns: u64) {
        self.handle_unusable(client, record, now_ns);
        self.meter.counts.left += 1;
    }

    /// Counts an attempt to connect that has failed. `waits_for` says what had not come yet.
    pub(crate) fn handle_failure(
        &mut self,
        client: u32,
        record: &Record,
        cause: Cause,
        now_ns: u64,
        waits_for: impl FnOnce() -> String,
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
            Cause::ConnectTimeout => format!("{cause}: {}", waits_for()),
            _ => cause.to_string(),
        });
    }
}

/// Adds a change to others of the same moment.
pub(super) fn note(attendance: &mut Vec<Attendance>, at_ns: u64, place: RoomPlace, change: i32) {
    match attendance.last_mut() {
        Some(last) if (last.at_ns, last.place) == (at_ns, place) => last.change += change,
        _ => attendance.push(Attendance { at_ns, place, change }),
    }
}
