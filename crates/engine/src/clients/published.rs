//! Messages that publishers send for clients: sent by the ones, booked at the others.

use codec::Stamp;
use stats::Reach;
use wire::{RequestOutcome, Sending};

use super::Clients;
use crate::books::{Booking, Cause};
use crate::events::Entry;

impl Clients {
    /// Books a client's next message, due at `intended_ns`, which a publisher is about to send.
    pub(crate) fn handle_sending(&mut self, index: u32, intended_ns: u64, now_ns: u64) -> Stamp {
        let record = &mut self.all[index as usize].record;
        self.ledger.handle_sending(index, record, intended_ns, now_ns).1
    }

    /// The number in the run of the client that a message belongs to.
    pub(crate) fn sender_of(&self, stamp: Stamp) -> u32 {
        self.shared.number(stamp.client)
    }

    /// Has a client send another's message. Returns the bytes that went out with it.
    pub(crate) fn say_for(
        &mut self,
        index: u32,
        sender: u32,
        stamp: Stamp,
        now_ns: u64,
    ) -> Result<(Sending, u32), Cause> {
        let said = self.all[index as usize].say_for(
            index,
            sender,
            stamp,
            now_ns,
            &mut self.ledger,
            &mut self.shared,
        );
        self.book_request_outcomes(index, now_ns);
        said
    }

    /// Books a client's message that a publisher has sent.
    pub(crate) fn book_sent(&mut self, stamp: Stamp, bytes: u32, now_ns: u64) {
        let (Stamp { client, intended_ns, seq, .. }, sender) = (stamp, self.sender_of(stamp));
        let Some(number) = self.ledger.step.number(seq) else { return };
        let annotate = |sent: Entry, number| sent.message(sender, number);
        self.ledger.meter.figures.send_lag.record_ns(now_ns.saturating_sub(intended_ns));
        self.ledger.handle_sent(now_ns, client, number..number + 1, intended_ns, bytes, annotate);
    }

    /// Books the outcome of a message sent on a client's behalf.
    pub(crate) fn book_request_outcome(&mut self, stamp: Stamp, outcome: RequestOutcome, now_ns: u64) {
        let (index, sender) = (stamp.client, self.sender_of(stamp));
        let record = &mut self.all[index as usize].record;
        self.ledger.handle_request_outcome(index, record, sender, stamp, outcome, now_ns);
    }

    /// Books a client's message that the application has taken. `reach` is how long the answer has been
    /// there.
    pub(crate) fn book_published(&mut self, stamp: Stamp, bytes: u32, reach: Reach, now_ns: u64) {
        let record = &mut self.all[stamp.client as usize].record;
        let booking = Booking::new(stamp.client, record, &mut self.ledger, now_ns);
        booking.of_read(b"", reach).published(stamp, bytes);
    }

    /// Books a client's message that could not be sent.
    pub(crate) fn book_unsaid(&mut self, stamp: Stamp, now_ns: u64) {
        let record = &mut self.all[stamp.client as usize].record;
        self.ledger.handle_unsaid(stamp.client, record, stamp, now_ns);
    }

    /// Books a client's message that the application refused.
    pub(crate) fn book_refused(&mut self, stamp: Stamp, now_ns: u64) {
        self.ledger.handle_refused(stamp);
        self.book_unpublished(stamp, now_ns);
    }

    /// Books that the application was gone after it had been sent a client's message, and before its answer.
    pub(crate) fn book_cut_off(&mut self, stamp: Stamp) {
        self.ledger.note_cut_off(stamp);
    }

    /// Books a client's message that was not taken, or whose outcome will never be known.
    pub(crate) fn book_unpublished(&mut self, stamp: Stamp, now_ns: u64) {
        let record = &mut self.all[stamp.client as usize].record;
        self.ledger.handle_unanswerable(stamp.client, record, stamp, now_ns);
    }
}
