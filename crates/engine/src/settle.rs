//! How a worker closes the books of a step.

use crate::books::State;
use crate::client::Client;
use crate::messages::{Report, SentBroadcast, Settled};
use crate::worker::{Phase, Worker};

impl Worker {
    /// Closes the books of the step.
    pub(crate) fn settle(&mut self, now_ns: u64) {
        if let Phase::Growing(growth) = &self.phase {
            self.ledger.meter.counts.connecting += u64::from(growth.under_way());
            let cut_short = |c: &&mut Client| matches!(c.record.state, State::Connecting | State::Opening);
            self.clients.iter_mut().filter(cut_short).for_each(Client::vacate);
        }
        self.phase = Phase::Idle;
        self.charge_lost(now_ns);
        let unanswered = self.charge_unanswered(now_ns);
        let delta = self.ledger.meter.take(now_ns, self.ledger.usable);
        self.next_delta_ns = u64::MAX;
        let sent: Vec<SentBroadcast> = self.ledger.step.sent.iter().map(|sent| sent.times).collect();
        let settled = Settled {
            worker: self.segment.worker,
            delta,
            unanswered,
            sent,
            tallies: self.ledger.step.broadcasts.finish(),
            population: std::mem::take(&mut self.ledger.step.population),
            departures: self.ledger.step.churn.take().map(|churn| churn.departures).unwrap_or_default(),
        };
        self.report(Report::Settled(Box::new(settled)));
    }

    /// A message without an answer counts as late as it is by now: it never drops out of the distribution.
    fn charge_unanswered(&mut self, now_ns: u64) -> u64 {
        let (step, rtt) = (&self.ledger.step, &mut self.ledger.meter.figures.rtt);
        let mut unanswered = 0;
        let mut charge = |since_ns: u64| {
            unanswered += 1;
            if since_ns != 0 {
                rtt.record_ns(now_ns.saturating_sub(since_ns));
            }
        };
        for sent in step.sent.iter().filter(|sent| !sent.acknowledged) {
            charge(sent.times.intended_ns);
        }
        for (place, &index) in step.senders.iter().enumerate() {
            let record = &self.clients[index as usize].record;
            // What is awaited no more was charged when it was given up.
            let mut awaited = record.awaiting.iter();
            for number in record.echoes.missing() {
                let due_ns = step.pace.as_ref().and_then(|pace| pace.due_ns(place, number));
                charge(due_ns.or_else(|| awaited.next()).unwrap_or(0));
            }
        }
        unanswered
    }
}
