//! Messages of ours that rules of the app's file took for something else: which of them the books lack.

use codec::Stamp;
use load::Workload;
use wire::Rule;

use super::Ledger;
use crate::books::absences::Due;
use crate::books::membership::MembershipState;
use crate::books::record::{Record, State};
use crate::books::step::{NUMBER_MASK, Sent};
use crate::books::taken::TakenMessage;
use crate::messages::SentBroadcast;

impl Ledger {
    /// Notes that a rule of the app's file took a message of ours that came to a client in these bytes. One
    /// of another step is not counted.
    pub(crate) fn handle_taken(&mut self, rule: Rule, taken: TakenMessage, bytes: &[u8], now_ns: u64) {
        if self.step.number(taken.stamp.seq).is_none() {
            return;
        }
        let Self { meter, step, .. } = self;
        let example = || format!("`{}`: {}", rule.key(), meter.quoted(bytes, taken.client));
        step.taken.add(rule, taken, now_ns, example);
    }

    /// How many messages the client with this record lacks that a message taken by a rule may be: its answer
    /// or copy, and its acknowledgement.
    pub(crate) fn lacking(&self, record: &Record, taken: TakenMessage, now_ns: u64) -> u32 {
        let Some(number) = self.step.number(taken.stamp.seq) else { return 0 };
        let is_own = (taken.stamp.worker, taken.stamp.client) == (self.segment.worker, taken.client);
        match self.workload {
            Workload::Echo => {
                let echoes = &record.echoes;
                u32::from(is_own && echoes.is_missing(echoes.widen(number, NUMBER_MASK)))
            }
            Workload::Broadcast if self.may_have_been_sent(taken.stamp, number) => {
                let sent = self.step.sent.get(number as usize).filter(|_| is_own);
                let lacks_ack = sent.is_some_and(|sent| self.is_owed(sent, number, record));
                let lacks_copy = self.lacks_copy(record, taken.client, taken.stamp, now_ns);
                u32::from(lacks_copy) + u32::from(lacks_ack)
            }
            Workload::Broadcast => 0,
        }
    }

    /// Returns whether a copy of a broadcast of the step was due to a client while it was there, and has not
    /// come, by the rules of `Booking::copy`.
    fn lacks_copy(&self, record: &Record, client: u32, stamp: Stamp, now_ns: u64) -> bool {
        let kind = self.local_rooms.kind_of(stamp.worker, stamp.client, stamp.seq);
        let Some(room) = self.shared_room(client, stamp, kind) else { return false };
        let is_own = (stamp.worker, stamp.client) == (self.segment.worker, client);
        let sent_ns = stamp.sent_ns().min(now_ns);
        let is_heard = !record.is_slow && (!is_own || self.local_rooms.say(kind).hears_itself());
        let was_here = || {
            let is_of_connection = record.state == State::Usable && sent_ns >= record.since_ns;
            let is_counted = record.state == State::Usable || record.is_away;
            is_of_connection || is_counted && self.step.absences.due(record, sent_ns) == Due::Here
        };
        let place = self.local_rooms.kind_of_rooms(kind).member(client, room).place;
        let number = stamp.seq & NUMBER_MASK;
        // Absences and stays are walked only for what has not come: a client may have thousands of them, and
        // as many messages.
        is_heard
            && self.step.broadcasts.lacks(stamp.worker, stamp.client, kind as u16, number, place)
            && was_here()
            && self.membership_state(client, kind, sent_ns, now_ns) == MembershipState::Inside
    }

    /// Returns whether the sender of a broadcast of this number lacks its own copy.
    pub(crate) fn lacks_own(&self, sent: &Sent, number: u32, sender: &Record, now_ns: u64) -> bool {
        let SentBroadcast { intended_ns, sent_ns, is_cut_off, is_outside, is_refused, .. } = sent.times;
        let stamp = Stamp::new(self.segment.worker, sent.client, self.step.seq(number), intended_ns, sent_ns);
        let is_due = !is_cut_off && !is_outside && !is_refused;
        is_due && self.lacks_copy(sender, sent.client, stamp, now_ns)
    }

    /// Returns whether the server still owes the acknowledgement of a broadcast of this number: to a sender
    /// that was in the room when it sent and has kept its connection since, or for which publishers speak
    /// whose connection has lasted.
    pub(crate) fn is_owed(&self, sent: &Sent, number: u32, sender: &Record) -> bool {
        if sent.acknowledged || sent.is_excused || !self.acks.has(self.kind_of(sent.client, number)) {
            return false;
        }
        let SentBroadcast { sent_ns, is_cut_off, is_outside, .. } = sent.times;
        let is_there = sender.state == State::Usable && sender.since_ns <= sent_ns && !is_outside;
        !is_cut_off && (is_there || self.are_spoken_for)
    }

    /// Returns whether a stamp can be one of the step's broadcasts. Of other workers' broadcasts, this worker
    /// only knows which workers there are.
    #[inline]
    pub(crate) fn may_have_been_sent(&self, stamp: Stamp, number: u32) -> bool {
        if stamp.worker != self.segment.worker {
            return stamp.worker < self.segment.workers;
        }
        let sent = self.step.sent.get(number as usize);
        sent.is_some_and(|sent| sent.client == stamp.client)
    }
}

#[cfg(test)]
mod tests {
    use app::Acks;
    use wire::{Event, Role};

    use super::*;
    use crate::books::booking::Booking;
    use crate::books::closing::close;
    use crate::books::ledger::tests::ledger;

    /// How many messages are missing by a rule: one of client 0 in a room of two, whose copies come to
    /// `heard_by`, and which the rule takes once at the client `taken_at`.
    fn missing(has_acks: bool, taken_at: u32, heard_by: &[u32]) -> u64 {
        let mut ledger = ledger(Workload::Broadcast, 2, None);
        ledger.acks = Acks::all(has_acks);
        let mut records = vec![];
        records.resize_with(2, || Record { state: State::Usable, ..Record::default() });
        let (_, stamp) = ledger.handle_sending(0, &mut records[0], 5_000, 5_000);
        for &client in heard_by {
            let mut booking = Booking::new(client, &mut records[client as usize], &mut ledger, 20_000);
            booking.handle(Event::Message { role: Role::Copy, stamp, bytes: 33 });
            booking.finish();
        }
        for run in [0, 7] {
            let mut booking = Booking::new(taken_at, &mut records[taken_at as usize], &mut ledger, 30_000);
            booking.handle(Event::Taken { stamp: stamp.of_run(run), rule: Rule::Ignore });
            booking.finish();
        }
        close(&mut ledger, &mut records, |_, _| None, 40_000);
        ledger.meter.take(40_000, 2).taken.total()
    }

    #[test]
    fn rules_take_only_what_never_came() {
        assert_eq!(missing(false, 0, &[0]), 0, "a confirmation, and the other's copy is lost");
        assert_eq!(missing(false, 1, &[0]), 1, "the other's copy");
        assert_eq!(missing(false, 1, &[0, 1]), 0, "it came twice");
        assert_eq!(missing(true, 0, &[0, 1]), 1, "the acknowledgement");
        assert_eq!(missing(true, 0, &[]), 1, "one of the two that the sender lacks");
        assert_eq!(missing(true, 1, &[0, 1]), 0, "it is owed to the sender alone");
    }

    #[test]
    fn own_copies_are_counted_apart() {
        let mut ledger = ledger(Workload::Broadcast, 2, None);
        let mut records = vec![];
        records.resize_with(2, || Record { state: State::Usable, ..Record::default() });
        for receiver in [0, 1] {
            let (_, stamp) = ledger.handle_sending(0, &mut records[0], 5_000, 5_000);
            let mut booking = Booking::new(receiver, &mut records[receiver as usize], &mut ledger, 20_000);
            booking.handle(Event::Message { role: Role::Copy, stamp, bytes: 33 });
            booking.finish();
        }
        ledger.handle_sending(1, &mut records[1], 5_000, 5_000);
        records[1].is_slow = true;
        ledger.handle_sending(0, &mut records[0], 5_000, 5_000);
        ledger.step.sent[3].times.is_refused = true;
        close(&mut ledger, &mut records, |_, _| None, 40_000);
        assert_eq!(ledger.meter.counts.missing_own, 1, "the second, and nothing slow or refused");
    }

    #[test]
    fn echoes_that_came_are_not_taken() {
        let mut ledger = ledger(Workload::Echo, 1, None);
        let mut records = vec![Record { state: State::Usable, ..Record::default() }];
        let stamps = [0, 1].map(|_| ledger.handle_sending(0, &mut records[0], 5_000, 5_000).1);
        let mut booking = Booking::new(0, &mut records[0], &mut ledger, 20_000);
        for stamp in stamps {
            booking.handle(Event::Taken { stamp, rule: Rule::Push });
        }
        booking.handle(Event::Message { role: Role::Echo, stamp: stamps[1], bytes: 33 });
        booking.finish();
        close(&mut ledger, &mut records, |_, _| None, 40_000);
        assert_eq!(ledger.meter.take(40_000, 1).taken.total(), 1);
    }
}
