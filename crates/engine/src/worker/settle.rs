//! How a worker closes the books of a step.

use super::{Phase, Worker};
use crate::client::Client;
use crate::events::{Entry, Kind};
use crate::ledger::State;
use crate::messages::{Report, SentBroadcast, Settled};
use crate::pace::Pace;

impl Worker {
    /// Closes the books of the step.
    pub(crate) fn settle(&mut self, now_ns: u64) {
        if let Phase::Growing(growth) = &self.phase {
            self.ledger.meter.counts.connecting += u64::from(growth.trying());
            let cut_short = |c: &&mut Client| matches!(c.record.state, State::Connecting | State::Opening);
            self.clients.iter_mut().filter(cut_short).for_each(Client::vacate);
        }
        self.phase = Phase::Idle;
        self.charge_lost(now_ns);
        let unanswered = self.charge_unanswered(now_ns);
        self.flush_events();
        self.hand_over();
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
        let (step, meter) = (&self.ledger.step, &mut self.ledger.meter);
        let (segment, clients) = (self.segment, &mut self.clients);
        // What is awaited no more was charged when it was given up.
        let awaits = step.pace.as_ref().is_some_and(Pace::awaits);
        let mut unanswered = 0;
        let mut charge = |index: u32, number: u32, since_ns: u64| {
            unanswered += 1;
            if since_ns != 0 {
                let late_ns = now_ns.saturating_sub(since_ns);
                meter.figures.rtt.record_ns(late_ns);
                let given_up = Entry::new(Kind::Timeout, now_ns, index).latency(late_ns);
                meter.note_detailed(given_up.message(segment.number(index), number), "message");
            }
        };
        for (number, sent) in (0..).zip(&step.sent).filter(|(_, sent)| !sent.acknowledged) {
            let due_ns = sent.times.intended_ns;
            let is_charged = awaits && !clients[sent.client as usize].record.awaiting.remove(due_ns);
            charge(sent.client, number, if is_charged { 0 } else { due_ns });
        }
        for (place, &index) in step.senders.iter().enumerate() {
            let record = &clients[index as usize].record;
            let mut awaited = record.awaiting.iter();
            for number in record.echoes.missing() {
                let due_ns = step.pace.as_ref().and_then(|pace| pace.due_ns(place, number));
                charge(index, number, due_ns.or_else(|| awaited.next()).unwrap_or(0));
            }
        }
        unanswered
    }
}
