//! Clients that leave in mid-step, and those that come in their place.
//!
//! Rules. At each moment that the pacer names, the next usable client in turn says goodbye. What is under way to it is
//! in flight for ever, neither received nor missing, and the answers it waited for count as at least so late. Once
//! its connection has ended, or after [`CLOSE_TIMEOUT_NS`], a new client connects in its place.

use load::{Pacer, Schedule, Workload};
use net::clock;

use super::{CLOSE_TIMEOUT_NS, Phase, Worker};
use crate::ledger::State;
use crate::messages::Departure;
use crate::returns::Returns;
use crate::unrest::Churn;

impl Worker {
    /// Prepares for the churn of a step, if the plan has any.
    pub(crate) fn expect_churn(&mut self, start_ns: u64) {
        let Some(churn) = self.plan.churn else { return };
        let rate = Schedule::constant(churn.share_per_s * f64::from(self.ledger.step.order.clients.max(1)));
        let pacer = Pacer::new(rate, u32::from(self.segment.worker), u32::from(self.segment.workers));
        let departures = Vec::new();
        self.ledger.step.churn = Some(Churn { pacer, start_ns, begun: 0, next: 0, departures });
        let (dialect, timeout_ns) = (&self.plan.speech.dialect, self.plan.connecting.timeout_ns);
        let seed = self.plan.seed ^ u64::from(self.segment.worker);
        self.ledger.step.returns = Some(Returns::new(Some(0), dialect, timeout_ns, seed));
    }

    /// Lets those leave whose time has come.
    pub(crate) fn churn(&mut self, now_ns: u64) {
        while let (Phase::Loading, Some(churn)) = (&self.phase, &mut self.ledger.step.churn)
            && churn.poll_timeout() <= now_ns
            && churn.poll_timeout() < self.ledger.step.window_end_ns
        {
            churn.begun += 1;
            let (first, all) = (churn.next, self.clients.len() as u32);
            let in_turn = (0..all).map(|k| (first + k) % all);
            let usable = |&client: &u32| self.clients[client as usize].record.state == State::Usable;
            let Some(client) = in_turn.into_iter().find(usable) else { continue };
            churn.next = client + 1;
            self.part_with(client, clock::monotonic_ns());
        }
    }

    /// A client says goodbye.
    fn part_with(&mut self, index: u32, now_ns: u64) {
        let awaited = std::mem::take(&mut self.clients[index as usize].record.awaiting);
        awaited.iter().for_each(|since_ns| self.give_up(index, since_ns, now_ns));
        let (client, step) = (&mut self.clients[index as usize], &mut self.ledger.step);
        match self.plan.workload {
            Workload::Echo => self.ledger.meter.counts.in_flight += client.record.echoes.abandon(),
            Workload::Broadcast => {
                client.record.unacknowledged = 0;
                // What it waits for was sent a moment ago.
                let own =
                    step.sent.iter_mut().rev().filter(|sent| sent.client == index && !sent.acknowledged);
                own.take(awaited.iter().count()).for_each(|sent| sent.acknowledged = true);
                let (from_ns, received) = (client.record.since_ns, client.record.copies);
                if let Some(churn) = &mut step.churn
                    && !client.record.is_slow
                {
                    churn.departures.push(Departure { from_ns, to_ns: now_ns, received });
                }
            }
        }
        self.ledger.handle_unusable(&self.clients[index as usize].record, now_ns);
        self.ledger.meter.counts.left += 1;
        let client = &mut self.clients[index as usize];
        client.close(index, &mut self.shared, &mut self.ledger.meter);
        let wait_ns = if client.record.state == State::Closing { CLOSE_TIMEOUT_NS } else { 0 };
        if let Some(returns) = &mut self.ledger.step.returns {
            returns.handle_departure(index, now_ns + wait_ns);
        }
    }

    /// The connection of a client that said goodbye has ended: another comes in its place, unless it was one too many
    /// for the step.
    pub(crate) fn handle_parted(&mut self, index: u32, now_ns: u64) {
        if let (Some(_), Some(returns)) = (&self.ledger.step.churn, &mut self.ledger.step.returns)
            && returns.expects(index)
        {
            returns.handle_departure(index, now_ns);
        }
    }
}
