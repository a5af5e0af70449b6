//! Outcomes of requests: sent, dropped with their connections, or failed.

use codec::Stamp;
use stats::error_kind;
use wire::RequestOutcome;

use super::Ledger;
use crate::books::record::Record;
use crate::books::relayed::Relayed;
use crate::books::step::NUMBER_MASK;
use crate::events::Entry;

impl Ledger {
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
    pub(in crate::books) fn handle_broken_off(&mut self, client: u32, request: u32, now_ns: u64) -> bool {
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
