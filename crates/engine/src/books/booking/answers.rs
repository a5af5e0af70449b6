//! Answers: echoes, acknowledgements, and the time that they took.

use codec::Stamp;
use load::Workload;
use stats::Count;
use wire::Role;

use super::{Booking, LatencyRun};
use crate::books::echoes::Answer;
use crate::books::step::{NUMBER_MASK, numbers_behind};
use crate::events::Kind;

impl Booking<'_> {
    /// Books an answer. Returns whether it counts as received.
    // Called from another file, as `ack` and `series` are: see `copy`.
    #[inline]
    pub(super) fn echo(&mut self, stamp: Stamp, low: u32, bytes: u32) -> bool {
        let (is_own, echoes) = (self.is_own(stamp), &mut self.record.echoes);
        let number = echoes.widen(low, NUMBER_MASK);
        // An echo goes to its sender alone: another's number must not close a gap in this client's books.
        let answer = if is_own { echoes.handle(number) } else { Answer::Unexpected };
        match answer {
            Answer::Unexpected => {
                self.unexpected(stamp, bytes);
                return false;
            }
            Answer::Duplicate => {
                self.duplicate(stamp, number, bytes);
                return false;
            }
            Answer::Reordered => self.ledger.count(Count::Reordered, 0, self.client),
            Answer::InOrder => {}
        }
        self.note(Kind::Receive, stamp, Some(number), bytes);
        self.received(0, 1, bytes);
        self.answered(stamp, 0, 1);
        true
    }

    /// Books the answers of a series at once, if all of them are as they should be. Returns whether they
    /// were.
    #[inline]
    pub(super) fn series(&mut self, role: Role, first: Stamp, messages: u32, bytes: u32) -> bool {
        let Some(low) = self.ledger.step.number(first.seq) else { return false };
        let is_of_run = first.run == self.ledger.run;
        let is_echo =
            (self.ledger.workload, role) == (Workload::Echo, Role::Echo) && is_of_run && self.is_own(first);
        // Across the wrap of the lower bits the numbers of a series would not be consecutive.
        if !is_echo || messages == 0 || messages - 1 > numbers_behind(low) {
            return false;
        }
        let number = self.record.echoes.widen(low, NUMBER_MASK);
        // All or nothing: `handle_series` changes nothing unless every answer is in order, so the caller may
        // book one by one.
        if !self.record.echoes.handle_series(number, messages) {
            return false;
        }
        if self.ledger.meter.recorder.is_some() {
            for n in 0..messages {
                self.note(Kind::Receive, first.after(n), Some(number + n), bytes);
            }
        }
        self.received(0, messages, bytes);
        self.answered(first, 0, messages);
        true
    }

    /// Books the acknowledgement of a broadcast, or the own copy that stands for it.
    #[inline]
    pub(super) fn ack(&mut self, stamp: Stamp, number: u32, bytes: u32) {
        let is_own = self.is_own(stamp);
        match self.ledger.step.sent.get_mut(number as usize) {
            // Its author waited for it no longer.
            Some(sent) if is_own && sent.client == self.client && sent.is_excused => return,
            Some(sent) if is_own && sent.client == self.client => {
                if std::mem::replace(&mut sent.acknowledged, true) {
                    // A dialect without acknowledgements: the second own copy is counted as a copy already.
                    if self.acks.has(self.kind_of(stamp)) {
                        self.duplicate(stamp, number, bytes);
                    }
                    return;
                }
            }
            _ => return self.unexpected(stamp, bytes),
        }
        // Saturating: the count starts anew with a connection, and a server may acknowledge over the new one
        // what was sent over the old.
        self.record.unacknowledged = self.record.unacknowledged.saturating_sub(1);
        if let Some(memberships) = &mut self.ledger.memberships {
            memberships.waivers.handle_answered(self.client, number);
        }
        self.ledger.meter.acks += 1;
        self.ledger.meter.tail.acks += u64::from(self.is_after_window());
        self.note(Kind::Ack, stamp, Some(number), bytes);
        self.answered(stamp, self.kind_of(stamp), 1);
    }

    /// Books the answers to messages that were due and sent at the same time.
    fn answered(&mut self, stamp: Stamp, kind: usize, messages: u32) {
        let service_ns = self.now_ns.saturating_sub(stamp.sent_ns());
        let rtt_ns = self.now_ns.saturating_sub(stamp.intended_ns);
        // Before the answers that were given up return below: they have arrived, too.
        self.ledger.meter.last_arrival_ns = self.now_ns;
        let mut awaited = messages;
        if self.ledger.step.awaits() {
            awaited = self.record.awaiting.remove(stamp.intended_ns, messages);
            // The others were given up before, and are in the other figure since.
            self.ledger.meter.figures.service.record_n_ns(service_ns, u64::from(messages - awaited));
            if awaited == 0 {
                return;
            }
            self.ledger.freed.push((self.client, awaited));
        }
        // Answers of one read share their times, so a histogram is updated once for a run of them and not for
        // each.
        if (self.latency_run.service_ns, self.latency_run.rtt_ns) != (service_ns, rtt_ns) {
            self.record_latency_run();
            let held_ns = self.ledger.meter.held_writes.held_ns(self.client, stamp);
            self.latency_run = LatencyRun { service_ns, rtt_ns, answers: 0, held_ns };
        }
        // Answered when the worker woke: the turn up to here is the generator's time, not the server's.
        self.ledger.meter.outstanding.remove(awaited, self.now_ns.saturating_sub(self.reach.woken_ns));
        let awaited = u64::from(awaited);
        self.latency_run.answers += awaited;
        if let Some(say) = self.ledger.meter.say(kind) {
            say.rtt.record_n_ns(rtt_ns, awaited);
        }
        if let Some(role) = self.ledger.role(self.client) {
            role.rtt.record_n_ns(rtt_ns, awaited);
        }
    }
}
