//! Many workers' deltas and books → one step of the results.
//!
//! Everything adds up exactly: histograms and counts are sums. Only what no worker can know alone is worked out
//! here: how many copies of a broadcast were due (everybody who was there when it was sent), and when the last
//! of them came, wherever its receiver was.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use engine::{Delta, Settled};
use load::{Load, StepOrder, Workload};
use results::{Figures, HandshakeParts, Rates, Second, Step};
use stats::{Counts, Histogram};

use crate::audience::Audience;
use crate::costs::Costs;

const NS_PER_S: u64 = 1_000_000_000;
const PERCENT: f64 = 100.0;
/// A closed loop whose messages are all sent at once has a window, too: in less, no CPU time can be told.
const CLOSED_WINDOW_NS_MIN: u64 = 100_000_000;

/// The connecting before the load; who comes back in mid-step is not part of it.
#[derive(Clone, Copy)]
struct Grown {
    from_ns: u64,
    to_ns: u64,
    connected: u64,
}

/// The figures of one step while they come in.
pub struct Merge {
    workload: Workload,
    order: StepOrder,
    /// When the run began; times in results count from here.
    epoch_ns: u64,
    grown: Grown,
    /// When the load began.
    go_ns: u64,
    totals: Delta,
    /// When the last message had been sent.
    loaded_ns: Option<u64>,
    costs: Costs,
    /// Clients usable, by worker, as last reported.
    usable: HashMap<u16, u32>,
    second: Delta,
    second_number: u64,
    /// Of the phase: connecting, then the load.
    seconds: Vec<Second>,
    connecting: Vec<Second>,
    settled: Vec<Settled>,
    /// What each worker has counted.
    counts: HashMap<u16, Counts>,
    /// Workers whose agent was lost in the step.
    lost: HashSet<u16>,
}

impl Merge {
    /// Nothing measured yet; connecting begins now.
    pub fn new(workload: Workload, order: StepOrder, epoch_ns: u64, now_ns: u64) -> Self {
        Self {
            workload,
            order,
            epoch_ns,
            grown: Grown { from_ns: now_ns, to_ns: now_ns, connected: 0 },
            go_ns: u64::MAX,
            totals: Delta::default(),
            loaded_ns: None,
            costs: Costs::default(),
            usable: HashMap::new(),
            second: Delta::default(),
            second_number: 0,
            seconds: Vec::new(),
            connecting: Vec::new(),
            settled: Vec::new(),
            counts: HashMap::new(),
            lost: HashSet::new(),
        }
    }

    /// Connecting ended at `grown_ns`; the load begins at `go_ns`. How busy the workers were with handshakes says
    /// nothing about the load.
    pub fn start(&mut self, grown_ns: u64, go_ns: u64) {
        self.end_second();
        self.connecting = std::mem::take(&mut self.seconds);
        self.second_number = 0;
        self.totals.figures.loop_lag = Histogram::new();
        self.grown.to_ns = grown_ns;
        self.grown.connected = self.totals.counts.connected;
        self.go_ns = go_ns;
    }

    /// Everything has been sent: what comes now comes in the drain, and costs nothing of the load.
    pub(crate) fn end_load(&mut self, now_ns: u64) {
        self.loaded_ns = Some(now_ns);
    }

    /// Adds what a worker measured. True when this began a new second, so that the last one is complete.
    pub fn add(&mut self, delta: &Delta) -> bool {
        self.totals.merge(delta);
        self.usable.insert(delta.worker, delta.usable);
        self.counts.entry(delta.worker).or_default().merge(&delta.counts);
        let phase_ns = if self.is_loading() { self.go_ns } else { self.grown.from_ns };
        if delta.at_ns < phase_ns {
            return false;
        }
        if self.is_loading() {
            let from_ns = delta.at_ns.saturating_sub(delta.usage.wall_ns);
            let is_within = self.window_end_ns().is_none_or(|end_ns| from_ns < end_ns);
            self.costs.add(delta.worker, &delta.usage, is_within);
        }
        let number = (delta.at_ns - phase_ns + NS_PER_S / 2) / NS_PER_S;
        let is_new = number > self.second_number;
        if is_new {
            self.end_second();
            self.second_number = number;
        }
        self.second.merge(delta);
        self.second.at_ns = self.second.at_ns.max(delta.at_ns);
        is_new
    }

    /// These workers are lost: what they have reported stays, and nothing more is due from them or to them.
    pub fn lose(&mut self, workers: Range<u16>) {
        for worker in workers {
            self.usable.remove(&worker);
            self.settled.retain(|settled| settled.worker != worker);
            self.lost.insert(worker);
        }
    }

    /// Where the window ends (METHODOLOGY "Rates"), as far as can be told yet: in a closed loop, until something else
    /// comes in. `None`: messages are still being sent.
    pub(crate) fn window_end_ns(&self) -> Option<u64> {
        let loaded_ns = self.loaded_ns?;
        let end_ns = match self.schedule_ns() {
            Some(schedule_ns) => self.go_ns + schedule_ns,
            None => self.totals.last_arrival_ns.max(self.go_ns + CLOSED_WINDOW_NS_MIN),
        };
        Some(end_ns.max(loaded_ns))
    }

    /// The length of the schedule; `None`: a closed loop has none.
    pub(crate) fn schedule_ns(&self) -> Option<u64> {
        match self.order.load {
            Load::Open { duration_ns, .. } | Load::Hold { duration_ns } => Some(duration_ns),
            Load::Storm(storm) => Some(storm.lead_ns + storm.duration_ns),
            Load::Closed { .. } => None,
        }
    }

    /// Whether an agent was lost in the step.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether this worker's agent was.
    pub(crate) fn is_lost(&self, worker: u16) -> bool {
        self.lost.contains(&worker)
    }

    /// Deliveries of workers that are still there: received, or left behind by clients that went.
    pub(crate) fn arrived_of_present(&self) -> u64 {
        let arrived = |counts: &Counts| counts.received + counts.in_flight;
        arrived(&self.totals.counts) - self.counts_of_lost().map(arrived).sum::<u64>()
    }

    /// Whether the load has begun.
    pub fn is_loading(&self) -> bool {
        self.go_ns != u64::MAX
    }

    /// Adds a worker's books.
    pub fn settle(&mut self, mut settled: Settled) {
        let delta = std::mem::take(&mut settled.delta);
        self.add(&delta);
        self.settled.push(settled);
    }

    /// Everything so far.
    pub fn totals(&self) -> &Delta {
        &self.totals
    }

    /// Clients asked for.
    pub fn clients(&self) -> u32 {
        self.order.clients
    }

    /// Clients usable, as last reported.
    pub fn usable(&self) -> u64 {
        self.usable.values().map(|&n| u64::from(n)).sum()
    }

    /// The rows of the phase so far; the last may still get what the crew knows of the server.
    pub fn last_second(&mut self) -> Option<&mut Second> {
        self.seconds.last_mut()
    }

    /// The step. `interrupted`: it was cut short, so that what is not in yet is under way rather than lost.
    pub fn finish(mut self, now_ns: u64, interrupted: bool) -> Step {
        self.end_second();
        if !self.is_loading() {
            self.connecting = std::mem::take(&mut self.seconds);
        }
        let mut counts = self.totals.counts;
        let completion = self.account(&mut counts, now_ns, interrupted);
        let duration_ns = self.duration_ns(now_ns, interrupted);
        let totals = self.totals;
        let rates = rates(&self.order, &totals, self.workload, self.grown, self.go_ns, duration_ns);
        let figures = totals.figures;
        let generator = self.costs.generator_use(&self.seconds, figures.loop_lag.clone());
        Step {
            clients: self.order.clients.into(),
            start_ns: self.go_ns.min(now_ns).saturating_sub(self.epoch_ns),
            duration_ns,
            rates,
            figures: Figures {
                handshake: figures.handshake,
                handshake_parts: HandshakeParts {
                    tcp: figures.tcp,
                    tls: figures.tls,
                    upgrade: figures.upgrade,
                    ready: figures.ready,
                },
                rtt: figures.rtt,
                service: figures.service,
                delivery: figures.delivery,
                completion,
                send_lag: figures.send_lag,
                recovery: figures.recovery,
            },
            counts,
            errors: totals.errors,
            generator: Some(generator),
            connecting: self.connecting,
            series: self.seconds,
            ..Step::default()
        }
    }

    /// The schedule's length; in a closed loop, or when cut short, the time until the last arrival.
    fn duration_ns(&self, now_ns: u64, interrupted: bool) -> u64 {
        let until_last_ns =
            self.totals.last_arrival_ns.max(self.go_ns).min(now_ns.max(self.go_ns)) - self.go_ns;
        match self.schedule_ns() {
            Some(schedule_ns) if !interrupted => schedule_ns,
            Some(_) => now_ns.saturating_sub(self.go_ns),
            None => until_last_ns,
        }
    }

    /// Fills in what was due and what is missing, and gives the completion times.
    fn account(&self, counts: &mut Counts, now_ns: u64, interrupted: bool) -> Histogram {
        let mut completion = Histogram::new();
        match self.workload {
            Workload::Echo => counts.expected = counts.sent - self.echoes_of_lost(),
            Workload::Broadcast => {
                let audience = Audience::of(&self.settled, now_ns);
                counts.expected = audience.due + self.copies_of_lost();
                counts.in_flight = audience.left_behind;
                completion = audience.completion;
            }
        }
        counts.connecting += self.connecting_of_lost();
        // A worker that was lost cannot tell what it sent.
        counts.expected = counts.expected.max(counts.received);
        let outstanding = counts.expected - counts.received;
        counts.in_flight = if interrupted { outstanding } else { counts.in_flight.min(outstanding) };
        counts.missing = outstanding - counts.in_flight;
        completion
    }

    /// Echoes that were under way at lost agents: nobody knows what became of them.
    fn echoes_of_lost(&self) -> u64 {
        self.counts_of_lost().map(|counts| counts.sent.saturating_sub(counts.received)).sum()
    }

    /// Copies that lost agents received, and those of their messages that others did: due, for they came.
    fn copies_of_lost(&self) -> u64 {
        let to_lost: u64 = self.counts_of_lost().map(|counts| counts.received).sum();
        let tallies = self.settled.iter().flat_map(|settled| &settled.tallies);
        let from_lost = tallies.filter(|tally| self.lost.contains(&tally.worker));
        to_lost + from_lost.map(|tally| u64::from(tally.received)).sum::<u64>()
    }

    /// Connections that were under way at lost agents: neither usable nor failed.
    fn connecting_of_lost(&self) -> u64 {
        let under_way = |counts: &Counts| {
            let ended = counts.connected + counts.connect_timeouts + counts.connect_failures;
            counts.connects.saturating_sub(ended + counts.connecting)
        };
        self.counts_of_lost().map(under_way).sum()
    }

    fn counts_of_lost(&self) -> impl Iterator<Item = &Counts> {
        self.lost.iter().filter_map(|worker| self.counts.get(worker))
    }

    fn end_second(&mut self) {
        let second = std::mem::take(&mut self.second);
        if second.at_ns == 0 {
            return;
        }
        let main = match self.workload {
            _ if !self.is_loading() => &second.figures.handshake,
            Workload::Echo => &second.figures.rtt,
            Workload::Broadcast => &second.figures.delivery,
        };
        let quantile = |q| (!main.is_empty()).then(|| main.quantile_ns(q));
        let usage = second.usage;
        let workers = self.usable.len().max(1) as f64;
        let cpu = (usage.wall_ns > 0).then(|| PERCENT * usage.cpu_ns as f64 / usage.wall_ns as f64 * workers);
        self.seconds.push(Second {
            t_ns: second.at_ns.saturating_sub(self.epoch_ns),
            clients: self.usable(),
            sent: second.counts.sent,
            received: second.counts.received,
            errors: second.errors.total(),
            p50_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            max_ns: (!main.is_empty()).then(|| main.max_ns()),
            density: stats::density::cells(main),
            server_cpu_percent: None,
            server_rss_bytes: None,
            generator_cpu_percent: cpu,
            metrics: BTreeMap::new(),
        });
    }
}

fn rates(
    order: &StepOrder,
    totals: &Delta,
    workload: Workload,
    grown: Grown,
    go_ns: u64,
    duration_ns: u64,
) -> Rates {
    let per_s = |n: u64, ns: u64| (ns > 0).then(|| n as f64 * NS_PER_S as f64 / ns as f64);
    let completed = match workload {
        Workload::Echo => totals.counts.received,
        Workload::Broadcast => totals.acks,
    };
    let sends = match order.load {
        Load::Hold { .. } => false,
        Load::Storm(storm) => storm.share < 1.0,
        Load::Open { .. } | Load::Closed { .. } => true,
    };
    let until_last_ns = totals.last_arrival_ns.saturating_sub(go_ns).max(duration_ns);
    Rates {
        asked_per_s: match order.load {
            Load::Open { schedule, duration_ns } => Some(schedule.mean_per_s(duration_ns)),
            Load::Storm(storm) => Some(storm.rate_per_s).filter(|_| sends),
            Load::Closed { .. } | Load::Hold { .. } => None,
        },
        achieved_per_s: per_s(completed, duration_ns).filter(|_| sends),
        sent_per_s: per_s(totals.counts.sent, duration_ns).filter(|_| sends),
        received_per_s: per_s(totals.counts.received, until_last_ns).filter(|_| sends),
        connects_per_s: per_s(grown.connected, grown.to_ns - grown.from_ns).filter(|rate| *rate > 0.0),
    }
}

#[cfg(test)]
mod tests;
