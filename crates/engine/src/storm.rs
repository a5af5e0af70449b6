//! What a worker does in a reconnect storm.

use crate::books::State;
use crate::cause::Cause;
use crate::returns::Returns;
use crate::worker::Worker;

impl Worker {
    /// Prepares for the storm of a step, if it has one.
    pub(crate) fn expect_storm(&mut self, start_ns: u64) {
        let load::Load::Storm(storm) = self.ledger.step.order.load else { return };
        let (dialect, timeout_ns) = (&self.plan.speech.dialect, self.plan.connecting.timeout_ns);
        let seed = self.plan.seed ^ u64::from(self.segment.worker);
        self.ledger.step.returns = Some(Returns::new(storm, start_ns, dialect, timeout_ns, seed));
    }

    /// Lets the storm begin, and those come back whose time has come.
    pub(crate) fn weather(&mut self, now_ns: u64) {
        let Some(returns) = &mut self.ledger.step.returns else { return };
        if returns.begins_ns.is_some_and(|begins_ns| begins_ns <= now_ns) {
            returns.begins_ns = None;
            self.drop_share(now_ns);
        }
        while let Some(client) =
            self.ledger.step.returns.as_mut().and_then(|returns| returns.poll_client(now_ns))
        {
            self.bring_back(client, now_ns);
        }
        while let Some((client, attempt)) =
            self.ledger.step.returns.as_mut().and_then(|returns| returns.poll_expired(now_ns))
        {
            let late = &self.clients[client as usize];
            if late.attempt == attempt && matches!(late.record.state, State::Connecting | State::Opening) {
                self.lose(client, Cause::ConnectTimeout, now_ns);
            }
        }
    }

    /// Drops the connections of the storm's share without a word, as a network does.
    fn drop_share(&mut self, now_ns: u64) {
        let Some(returns) = &mut self.ledger.step.returns else { return };
        for (index, client) in self.clients.iter_mut().enumerate() {
            let index = index as u32;
            if client.record.state == State::Usable && returns.storm.drops(index) {
                client.vacate();
                client.record.lost_ns = now_ns;
                self.ledger.usable -= 1;
                returns.handle_loss(index, now_ns);
            }
        }
        self.ledger.step.population.push((now_ns, self.ledger.usable));
    }

    fn bring_back(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        self.ledger.meter.counts.connects += 1;
        match client.connect(index, now_ns, &mut self.shared) {
            Ok(()) => {
                let attempt = client.attempt;
                if let Some(returns) = &mut self.ledger.step.returns {
                    returns.handle_begun(index, attempt, now_ns);
                }
            }
            Err(cause) => {
                client.fail(cause, now_ns, &mut self.ledger.meter);
                self.handle_failed_return(index, now_ns);
            }
        }
    }

    /// A client lost its connection while the step has a storm: it will be back.
    pub(crate) fn handle_storm_loss(&mut self, index: u32, now_ns: u64) {
        if let Some(returns) = &mut self.ledger.step.returns {
            self.clients[index as usize].record.lost_ns = now_ns;
            returns.handle_loss(index, now_ns);
        }
    }

    /// An attempt to come back has failed.
    pub(crate) fn handle_failed_return(&mut self, index: u32, now_ns: u64) {
        if let Some(returns) = &mut self.ledger.step.returns {
            returns.handle_failure(index, now_ns);
        }
    }

    /// A client is usable: if it was lost, it is so no more.
    pub(crate) fn handle_return(&mut self, index: u32, now_ns: u64) {
        if let Some(returns) = &mut self.ledger.step.returns {
            returns.handle_back(index);
            self.ledger.step.population.push((now_ns, self.ledger.usable));
        }
    }

    /// Whoever is not back by the end counts as at least that late.
    pub(crate) fn charge_lost(&mut self, now_ns: u64) {
        let connecting = |state| matches!(state, State::Connecting | State::Opening);
        for client in &mut self.clients {
            let lost_ns = std::mem::take(&mut client.record.lost_ns);
            if lost_ns != 0 {
                self.ledger.meter.figures.recovery.record_ns(now_ns.saturating_sub(lost_ns));
                if connecting(client.record.state) {
                    self.ledger.meter.counts.connecting += 1;
                    client.vacate();
                }
            }
        }
    }
}
