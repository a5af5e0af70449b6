//! Messages as they go out: booked before they are written, taken back, or left waiting.

use std::ops::Range;

use codec::Stamp;
use load::Workload;
use stats::error_kind;

use super::Ledger;
use crate::books::record::Record;
use crate::books::step::Sent;
use crate::events::Entry;
use crate::messages::SentBroadcast;

impl Ledger {
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
            // Nothing will answer it: left open, it would be charged as unanswered when the books are closed.
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
                // Newest first (`LoadClient::send`): the numbers of what is left have no gap.
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
}
