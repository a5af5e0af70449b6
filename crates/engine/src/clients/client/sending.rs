//! A client sends its messages, or another's.

use codec::Stamp;
use load::Workload;
use wire::Sending;

use super::{LoadClient, Unsent};
use crate::books::{self, Cause, Ledger};
use crate::clients::shared::{Shared, Staged};
use crate::clients::token::Token;
use crate::events::Entry;
use crate::timing::Portion;

/// Bytes from which output is written: a socket's buffer takes several.
const WRITE_BYTES: u32 = 64 << 10;

impl LoadClient {
    /// Sends this client's next messages, as many as go into one write.
    pub(crate) fn send(
        &mut self,
        index: u32,
        portion: &mut Portion<'_>,
        now_ns: u64,
        ledger: &mut Ledger,
        shared: &mut Shared,
    ) -> Result<(), Unsent> {
        let (sender, now_ns) = (shared.number(index), shared.absence_end_ns(now_ns).unwrap_or(now_ns));
        // What another client's connection ended with, should this write be the end of this one.
        shared.silent_ns = None;
        // Figures get it once the write has succeeded: what the kernel refused is taken back, newest first,
        // and counts as unsent.
        let mut staged = std::mem::take(&mut shared.staged);
        while shared.output.len() < WRITE_BYTES
            && let Some(intended_ns) = portion.next()
        {
            staged.extend(self.say(index, portion, intended_ns, now_ns, ledger, shared));
        }
        let written = self.flush(index, shared).or_else(|cause| {
            let token = Token { client: index, stream: 0, attempt: self.attempt };
            self.handle_broken(token, cause, shared, ledger)
        });
        if let Some(back_ns) = shared.absence_end_ns(now_ns) {
            ledger.meter.held_writes.add(index, now_ns, back_ns.saturating_sub(now_ns));
        }
        let outcome = match written {
            Ok(()) => {
                for alike in staged.chunk_by(|a, b| a.intended_ns == b.intended_ns) {
                    let late_ns = now_ns.saturating_sub(alike[0].intended_ns);
                    let messages = alike.iter().map(|staged| u64::from(staged.messages())).sum();
                    ledger.meter.figures.send_lag.record_n_ns(late_ns, messages);
                }
                for Staged { numbers, intended_ns, bytes } in staged.drain(..) {
                    let annotate = |sent: Entry, number| sent.message(sender, number);
                    ledger.handle_sent(now_ns, index, numbers, intended_ns, bytes, annotate);
                }
                // What waits in vain counts as sent, as in a socket's buffer.
                match self.is_overfull(shared) {
                    true => Err(Unsent { messages: 0, cause: Some(Cause::Unread) }),
                    false => Ok(()),
                }
            }
            Err(cause) => {
                let each = |staged: Staged| staged.numbers.map(move |_| staged.intended_ns);
                let mut messages = 0;
                for intended_ns in staged.drain(..).rev().flat_map(each) {
                    ledger.take_back(index, &mut self.record, intended_ns, now_ns);
                    messages += 1;
                }
                Err(Unsent { messages, cause: Some(cause) })
            }
        };
        shared.staged = staged;
        outcome
    }

    /// Sends this client's next message, which was due at `intended_ns`, at `now_ns`, with the messages of
    /// its series that are due too. `None`: the session keeps it for a while.
    fn say(
        &mut self,
        index: u32,
        portion: &mut Portion<'_>,
        intended_ns: u64,
        now_ns: u64,
        ledger: &mut Ledger,
        shared: &mut Shared,
    ) -> Option<Staged> {
        let sender = shared.number(index);
        let kind = match ledger.workload {
            Workload::Echo => app::Kind::Echo,
            Workload::Broadcast => app::Kind::Broadcast,
        };
        let (record, wire) = (&mut self.record, &shared.wire);
        let (number, stamp) = ledger.handle_sending(index, record, intended_ns, now_ns);
        let unix_ns = wire.unix_ns_of(stamp).unwrap_or_default();
        let before = shared.output.len();
        let mut more = 0;
        if portion.is_due_at(intended_ns)
            && let Some(each) = self.session.series_bytes(wire, kind)
        {
            // One write at most, and no more numbers than follow before the lower bits, which stamps carry,
            // wrap.
            let room = WRITE_BYTES.saturating_sub(before) / each;
            more = portion.take_alike(intended_ns, room.min(books::numbers_behind(number)));
        }
        if more > 0 {
            ledger.handle_sending_more(record, intended_ns, more, now_ns);
            let io = &mut shared.output.of(sender);
            self.session.send_series(wire, now_ns, unix_ns, stamp, 1 + more, io);
            let bytes = (shared.output.len() - before) / (1 + more);
            return Some(Staged { numbers: number..number + 1 + more, intended_ns, bytes });
        }
        let sending = self.session.send(wire, now_ns, unix_ns, kind, stamp, &mut shared.output.of(sender));
        if let Sending::Waits { is_busy } = sending {
            ledger.handle_waiting(is_busy, now_ns.saturating_sub(intended_ns));
            return None;
        }
        Some(Staged { numbers: number..number + 1, intended_ns, bytes: shared.output.len() - before })
    }

    /// Sends the message of another client, given by its number in the run. Returns the bytes that went out
    /// with it.
    pub(crate) fn say_for(
        &mut self,
        index: u32,
        sender: u32,
        stamp: Stamp,
        now_ns: u64,
        ledger: &mut Ledger,
        shared: &mut Shared,
    ) -> Result<(Sending, u32), Cause> {
        let unix_ns = shared.wire.unix_ns_of(stamp).unwrap_or_default();
        let io = &mut shared.output.of(sender);
        let sending = self.session.send(&shared.wire, now_ns, unix_ns, app::Kind::Broadcast, stamp, io);
        let bytes = shared.output.len();
        self.flush(index, shared).or_else(|cause| {
            let token = Token { client: index, stream: 0, attempt: self.attempt };
            self.handle_broken(token, cause, shared, ledger)
        })?;
        Ok((sending, bytes))
    }
}
