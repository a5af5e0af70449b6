//! How a worker sends the messages of a step.

use load::{Load, Until};
use net::{clock, reserve};
use wire::{Fate, Sending, Stamp};

use super::reporting::DELTA_INTERVAL_NS;
use super::{Phase, Worker};
use crate::broadcasts::BROADCASTS_PER_WORKER_MAX;
use crate::events::Entry;
use crate::ledger::{NUMBER_MASK, State};
use crate::messages::Report;
use crate::pace::{Next, Pace};
use crate::returns::Returns;

impl Worker {
    /// The load begins at this moment.
    pub(super) fn start_loading(&mut self, at_ns: u64) {
        let sends = |&c: &u32| {
            let record = &self.clients[c as usize].record;
            record.state == State::Usable && !record.is_slow
        };
        let senders: Vec<u32> = (0..self.clients.len() as u32).filter(sends).collect();
        let seed =
            self.plan.seed ^ u64::from(self.segment.worker) << 32 ^ u64::from(self.ledger.step.order.index);
        let mut pace = Pace::new(&self.ledger.step.order, self.segment, at_ns, senders.clone(), seed);
        if self.plan.churn.is_some() {
            pace.pass_over_absent();
        }
        self.ledger.step.window_end_ns = match self.ledger.step.order.load {
            Load::Open { duration_ns, .. } => at_ns + duration_ns,
            Load::Storm(storm) => at_ns + storm.lead_ns + storm.duration_ns,
            Load::Closed { until: Until::Elapsed { duration_ns }, .. } => at_ns + duration_ns,
            Load::Hold { .. } | Load::Closed { until: Until::Samples(_), .. } => u64::MAX,
        };
        self.expect_storm(at_ns);
        self.expect_churn(at_ns);
        self.ledger.meter.counts.slow += u64::from(self.ledger.slow);
        self.ledger.step.population = vec![(0, self.ledger.usable - self.ledger.slow)];
        self.ledger.step.senders = senders;
        self.ledger.step.pace = Some(pace);
        self.phase = Phase::Loading;
        self.next_delta_ns = at_ns + DELTA_INTERVAL_NS;
        self.ledger.meter.start_load(at_ns);
        self.pump(clock::monotonic_ns());
    }

    /// Sends whatever is due, and notes when there will be more.
    pub(super) fn pump(&mut self, now_ns: u64) {
        self.next_send_ns = None;
        while let (Phase::Loading, Some(pace)) = (&self.phase, &mut self.ledger.step.pace) {
            let clients = &self.clients;
            let is_usable = |client: u32| clients[client as usize].record.state == State::Usable;
            match pace.poll(now_ns, is_usable) {
                Next::Send { .. } if reserve::is_given_up() => return,
                Next::Send { client, .. }
                    if self.ledger.step.sent.len() == BROADCASTS_PER_WORKER_MAX as usize =>
                {
                    self.ledger.meter.error("step_full", client, now_ns, || {
                        format!(
                            "a worker counts no more than {BROADCASTS_PER_WORKER_MAX} broadcasts in a step: use more --threads, or a shorter step"
                        )
                    });
                    return self.start_draining(now_ns);
                }
                Next::Send { client, intended_ns } => self.send(client, intended_ns, now_ns),
                Next::At(at_ns) => return self.next_send_ns = Some(at_ns),
                // Everybody is gone, and nobody is expected back.
                Next::Wait
                    if pace.is_stranded() && !self.ledger.step.returns.iter().any(Returns::has_hope) =>
                {
                    return self.start_draining(now_ns);
                }
                Next::Wait => return,
                Next::Over => return self.start_draining(now_ns),
            }
        }
    }

    fn send(&mut self, index: u32, intended_ns: u64, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        if client.record.state != State::Usable {
            return self
                .ledger
                .meter
                .error("unsent", index, now_ns, || "its client had lost its connection".into());
        }
        let (sending, written) = client.send(index, intended_ns, now_ns, &mut self.ledger, &mut self.shared);
        self.ledger.step.messages_sent += 1;
        if let Sending::Waits { is_busy } = sending {
            self.ledger.meter.held.kept += 1;
            // A closed loop has no message until there is room for it.
            let is_open = !self.ledger.step.pace.as_ref().is_some_and(Pace::is_closed);
            self.ledger.meter.counts.waited += u64::from(is_busy && is_open);
        }
        self.book_fates(index, now_ns);
        if let Err(cause) = written {
            self.lose(index, cause, now_ns);
        }
    }

    /// Books what became of messages of a client that its session had kept, or had sent.
    #[inline]
    pub(super) fn book_fates(&mut self, index: u32, now_ns: u64) {
        if !self.shared.output.fates.is_empty() {
            self.book_each_fate(index, now_ns);
        }
    }

    #[cold]
    fn book_each_fate(&mut self, index: u32, now_ns: u64) {
        let mut fates = std::mem::take(&mut self.shared.output.fates);
        for (stamp, fate) in fates.drain(..) {
            // What is left of an earlier step is in that step's books.
            let Some(low) = self.ledger.step.number(stamp.seq) else { continue };
            match fate {
                Fate::Sent { bytes } => {
                    let record = &self.clients[index as usize].record;
                    let (number, sender) =
                        (record.echoes.widen(low, NUMBER_MASK), self.segment.number(index));
                    let sent_ns = stamp.sent_ns();
                    let of_it = |sent: Entry| sent.message(sender, number).bytes(bytes);
                    let meter = &mut self.ledger.meter;
                    meter.handle_sent(sent_ns, index, stamp.intended_ns, of_it);
                    meter.held.sent += 1;
                    meter.tail.sent += u64::from(sent_ns > self.ledger.step.window_end_ns);
                }
                Fate::Dropped => self.give_up_dropped(index, stamp, now_ns),
            }
        }
        // Its room is for the next.
        self.shared.output.fates = fates;
    }

    /// A request will have no answer, for its connection broke and it may not be sent again.
    fn give_up_dropped(&mut self, index: u32, stamp: Stamp, now_ns: u64) {
        self.ledger.meter.error("not_resent", index, now_ns, || {
            "the connection ended under a request that is not idempotent: it is not sent again (RFC 9110 §9.2.2)"
                .into()
        });
        let record = &mut self.clients[index as usize].record;
        record.dropped += 1;
        self.ledger.meter.gone.answers += 1;
        if record.awaiting.remove(stamp.intended_ns) {
            self.give_up(index, stamp.intended_ns, now_ns);
        }
    }

    fn start_draining(&mut self, now_ns: u64) {
        self.phase = Phase::Draining;
        self.report_delta(now_ns);
        let (worker, sent) = (self.segment.worker, self.ledger.step.messages_sent);
        self.report(Report::Loaded { worker, sent, at_ns: now_ns });
    }
}
