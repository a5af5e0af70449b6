//! Messages without an answer: awaited, given up and charged.

use codec::Stamp;

use super::Ledger;
use crate::books::record::Record;
use crate::books::step::Sent;
use crate::events::{Entry, Kind};

/// How long the answer to a sender may take after all other members have its message, before no answer is
/// expected.
const UNHEEDED_NS: u64 = 5_000_000_000;
/// Timeouts that an answer may go on coming for: language models take minutes, and a stream of news has no end.
const COMING_TIMEOUTS_MAX: u64 = 10;

impl Ledger {
    /// Stops waiting for the answer to a message that will have none.
    pub(crate) fn handle_unanswerable(
        &mut self,
        client: u32,
        record: &mut Record,
        stamp: Stamp,
        now_ns: u64,
    ) {
        // What is left of an earlier step is in that step's books.
        self.meter.abandoned.answers += u64::from(self.step.number(stamp.seq).is_some());
        self.forget(client, record, stamp, now_ns);
        // Or the loss of the client's connection would abandon it again.
        let owed = u32::from(self.is_unanswered(stamp));
        record.unacknowledged = record.unacknowledged.saturating_sub(owed);
    }

    /// Stops waiting for a broadcast that no publisher sent: neither its answer nor its copies are to come.
    pub(crate) fn handle_unsaid(&mut self, client: u32, record: &mut Record, stamp: Stamp, now_ns: u64) {
        self.note_cut_off(stamp);
        self.forget(client, record, stamp, now_ns);
        if let Some(number) = self.step.number(stamp.seq) {
            let (sender, kind) = (self.segment.number(client), self.kind_of(client, number));
            self.meter.abandoned.messages += 1;
            self.meter.abandoned.due += u64::from(self.local_rooms.hearers_of(sender, kind));
        }
    }

    /// Marks a broadcast that the application refused, where clients come and go.
    pub(crate) fn handle_refused(&mut self, stamp: Stamp) {
        if !self.are_spoken_for || !self.step.is_flapping() {
            return;
        }
        let number = self.step.number(stamp.seq);
        if let Some(sent) = number.and_then(|number| self.step.sent.get_mut(number as usize)) {
            sent.times.is_refused = true;
        }
    }

    /// Stops waiting for a message.
    fn forget(&mut self, client: u32, record: &mut Record, stamp: Stamp, now_ns: u64) {
        // Nothing is removed if it was given up before, and then its slot is free already.
        if record.awaiting.remove(stamp.intended_ns, 1) > 0 {
            self.give_up(client, stamp.intended_ns, u64::MAX, now_ns);
        } else if !self.step.awaits() && self.is_unanswered(stamp) {
            self.meter.outstanding.remove(1, now_ns);
        }
    }

    /// Notes that the application may never have had a message that a publisher was to send: if no copy comes
    /// of it, it was due to no client. Only where clients come and go: what a server does while all are there
    /// is its own, and copies of what it did not take are missing.
    pub(crate) fn note_cut_off(&mut self, stamp: Stamp) {
        if !self.are_spoken_for || !self.step.is_flapping() {
            return;
        }
        let Some(number) = self.step.number(stamp.seq) else { return };
        if let Some(sent) = self.step.sent.get_mut(number as usize).filter(|sent| !sent.acknowledged) {
            sent.times.is_cut_off = true;
        }
    }

    /// Returns whether a message of the step, which gets one outcome, has had no answer.
    fn is_unanswered(&self, stamp: Stamp) -> bool {
        let Some(number) = self.step.number(stamp.seq) else { return false };
        // Only broadcasts are listed, and one may be acknowledged before its request fails.
        self.step.sent.get(number as usize).is_none_or(|sent| !sent.acknowledged)
    }

    /// A client whose message all others here have had for [`UNHEEDED_NS`], while no sender of the run has
    /// been answered yet: the server does not answer, or not in the form that was configured. Once it has
    /// answered, it counts as slow.
    pub(crate) fn unheeded(&self, now_ns: u64) -> Option<u32> {
        let Sent { client, acknowledged: false, .. } = *self.step.sent.first()? else { return None };
        if self.was_heeded {
            return None;
        }
        let (received, last_ns) = self.step.broadcasts.heard(self.segment.worker, 0)?;
        let local_kind = self.local_rooms.kind_of_rooms(self.kind_of(client, 0));
        // Of this worker alone, which knows nothing of copies elsewhere; one receiver at least, or silence
        // would prove nothing.
        let others = local_kind.members_here(local_kind.room(self.segment.number(client))) - 1;
        let is_unheeded = received >= others.max(1) && now_ns.saturating_sub(last_ns) > UNHEEDED_NS;
        (is_unheeded && self.step.sent.iter().all(|sent| !sent.acknowledged)).then_some(client)
    }

    /// Gives up what a client has awaited since before `overdue_ns`, except for answers that are coming in
    /// pieces, unless these are endless.
    pub(crate) fn give_up_overdue(&mut self, client: u32, record: &mut Record, overdue_ns: u64, now_ns: u64) {
        // A run of so many questions would not end.
        let endless_ns = now_ns.saturating_sub(COMING_TIMEOUTS_MAX * now_ns.saturating_sub(overdue_ns));
        // The slot of an answer that is coming is taken: the next question would wait behind it, and its first
        // event would be the later by the rest of this answer.
        while let Some(since_ns) = record.awaiting.give_up(overdue_ns, |due_ns| match due_ns >= endless_ns {
            true => self.streams.coming(client, due_ns, overdue_ns),
            false => 0,
        }) {
            let until_ns = if since_ns >= endless_ns { overdue_ns } else { u64::MAX };
            self.give_up(client, since_ns, until_ns, now_ns);
        }
    }

    /// Gives up a message that was awaited: it counts as at least this late, and frees its slot. Its answer
    /// may still come, of which nothing has come since `until_ns`.
    pub(in crate::books) fn give_up(&mut self, client: u32, since_ns: u64, until_ns: u64, now_ns: u64) {
        let kind = self.give_up_sent(client, since_ns);
        let late_ns = now_ns.saturating_sub(since_ns);
        self.charge(client, kind, late_ns, until_ns, now_ns, |entry| entry);
        self.meter.outstanding.remove(1, now_ns);
        self.freed.push((client, 1));
    }

    /// Marks a message that a client has awaited since `since_ns` as given up, where there are several kinds,
    /// and returns its kind.
    fn give_up_sent(&mut self, client: u32, since_ns: u64) -> usize {
        if self.local_rooms.rooms().says().len() == 1 {
            return 0;
        }
        let sent = &self.step.sent;
        // Several may have been due at the same time, each of a kind of its own.
        let is_awaited = |sent: &Sent| !sent.acknowledged && !sent.is_given_up;
        let is_it =
            |sent: &Sent| sent.client == client && sent.times.intended_ns == since_ns && is_awaited(sent);
        // They are about in the order in which they were due: it is near here, on either side.
        let near = sent.partition_point(|sent| sent.times.intended_ns < since_ns);
        let around = (0..sent.len()).flat_map(|by| [Some(near + by), near.checked_sub(by + 1)]);
        let number = around.flatten().find(|&number| sent.get(number).is_some_and(is_it));
        let Some(number) = number else { return 0 };
        self.step.sent[number].is_given_up = true;
        self.kind_of(client, number as u32)
    }

    /// Records a message without a whole answer, of which nothing has come since `until_ns`, as late as it is
    /// by now.
    pub(crate) fn charge(
        &mut self,
        client: u32,
        kind: usize,
        late_ns: u64,
        until_ns: u64,
        now_ns: u64,
        annotate: impl FnOnce(Entry) -> Entry,
    ) {
        self.meter.figures.rtt.record_ns(late_ns);
        if !self.streams.charge(client, now_ns.saturating_sub(late_ns), until_ns) {
            self.meter.account.give_up(late_ns);
        }
        if let Some(say) = self.meter.say(kind) {
            say.rtt.record_ns(late_ns);
        }
        if let Some(role) = self.role(client) {
            role.rtt.record_ns(late_ns);
        }
        let given_up = Entry::new(Kind::Timeout, now_ns, client).latency(late_ns);
        self.meter.note_detailed(annotate(given_up), "message");
    }
}
