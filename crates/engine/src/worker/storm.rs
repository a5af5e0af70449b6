//! What a worker does in a reconnect storm.

use load::Load;

use super::Worker;
use crate::cause::Cause;
use crate::events::{Entry, Kind};
use crate::ledger::State;
use crate::returns::Returns;
use crate::unrest::Weather;

impl Worker {
    /// Prepares for the storm of a step, if it has one.
    pub(crate) fn expect_storm(&mut self, start_ns: u64) {
        let Load::Storm(storm) = self.ledger.step.order.load else { return };
        let start_ns = start_ns + storm.lead_ns;
        self.ledger.step.weather = Some(Weather { storm, start_ns, begins_ns: Some(start_ns) });
        let (dialect, timeout_ns) = (&self.plan.speech.dialect, self.plan.connecting.timeout_ns);
        let seed = self.plan.seed ^ u64::from(self.segment.worker);
        self.ledger.step.returns = Some(Returns::new(storm.window_ns, dialect, timeout_ns, seed));
    }

    /// Lets the storm begin when it is time.
    pub(crate) fn weather(&mut self, now_ns: u64) {
        let Some(weather) = &mut self.ledger.step.weather else { return };
        if weather.begins_ns.is_some_and(|begins_ns| begins_ns <= now_ns) {
            weather.begins_ns = None;
            let storm = weather.storm;
            self.drop_share(storm, now_ns);
        }
    }

    /// Lets those come back whose time has come.
    pub(crate) fn bring_back_due(&mut self, now_ns: u64) {
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
    fn drop_share(&mut self, storm: load::Storm, now_ns: u64) {
        let Some(returns) = &mut self.ledger.step.returns else { return };
        for (index, client) in self.clients.iter_mut().enumerate() {
            let index = index as u32;
            if client.record.state == State::Usable && storm.drops(self.segment.number(index)) {
                client.vacate();
                self.ledger.meter.note(|| Entry::new(Kind::Close, now_ns, index));
                client.record.lost_ns = now_ns;
                self.ledger.usable -= 1;
                returns.handle_loss(index, now_ns);
            }
        }
        self.ledger.note_audience(now_ns);
    }

    fn bring_back(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        match client.record.state {
            State::Vacant => {}
            // The server does not answer its goodbye.
            State::Closing => client.vacate(),
            State::Connecting | State::Opening | State::Usable => return,
        }
        self.ledger.meter.handle_connect(index, now_ns);
        match client.connect(index, now_ns, &mut self.shared) {
            Ok(()) => {
                let attempt = client.attempt;
                if let Some(returns) = &mut self.ledger.step.returns {
                    returns.handle_begun(index, attempt, now_ns);
                }
            }
            Err(cause) => {
                client.fail(index, cause, now_ns, &mut self.ledger.meter);
                self.handle_failed_return(index, now_ns);
            }
        }
    }

    /// A client lost its connection while the step has a storm: it will be back.
    pub(crate) fn handle_storm_loss(&mut self, index: u32, now_ns: u64) {
        if let (Some(_), Some(returns)) = (&self.ledger.step.weather, &mut self.ledger.step.returns) {
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
    pub(crate) fn handle_return(&mut self, index: u32) {
        if let Some(returns) = &mut self.ledger.step.returns {
            returns.handle_back(index);
            self.ledger.step.pace.iter_mut().for_each(|pace| pace.handle_return(index));
            // From then on its own record has them due to it, and not from the end of this event on.
            self.ledger.note_audience(self.clients[index as usize].record.since_ns);
        }
    }

    /// Whoever is not back by the end is counted, and as late as all of the storm lasted: in a rolling restart one that
    /// was lost last would otherwise look like one that was back first.
    pub(crate) fn charge_lost(&mut self, now_ns: u64) {
        if self.ledger.step.returns.take().is_none() {
            return;
        }
        let storm_ns = self.ledger.step.weather.as_ref().map_or(now_ns, |weather| weather.start_ns);
        for client in &mut self.clients {
            let lost_ns = std::mem::take(&mut client.record.lost_ns);
            if lost_ns != 0 {
                let since_ns = lost_ns.min(storm_ns);
                self.ledger.meter.figures.recovery.record_ns(now_ns.saturating_sub(since_ns));
                self.ledger.meter.counts.not_back += 1;
            }
            if matches!(client.record.state, State::Connecting | State::Opening) {
                self.ledger.meter.counts.connecting += 1;
                client.vacate();
            }
        }
    }
}
