//! One level of load, measured on its own.

use std::collections::BTreeMap;

use stats::{Counts, Errors, Histogram, Interval};

use crate::judgement::{Finding, LimitOutcome};
use crate::resources::{GeneratorUse, MachineUse, ServerUse};

/// One level of load, measured on its own. Times are from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Clients asked for.
    pub clients: u64,
    /// Of these, those that were usable when the load began.
    pub usable: Option<u64>,
    /// Processes that carried them.
    pub agents: u32,
    /// Threads that carried them, in all agents together.
    pub workers: u32,
    /// The agents on other machines, if there are any; what their clocks showed, and which were lost.
    pub fleet: Vec<FleetAgent>,
    /// When its window opened.
    pub start_ns: u64,
    /// How long its window was open: the schedule, without connecting, warm-up and drain.
    pub duration_ns: u64,
    /// What ran before the window and is not in the figures.
    pub warmup: Option<Warmup>,
    /// Asked and achieved rates.
    pub rates: Rates,
    /// Everything that was timed.
    pub figures: Figures,
    /// Everything that was counted.
    pub counts: Counts,
    /// Failures by kind.
    pub errors: Errors,
    /// What the server used, when it could be seen.
    pub server: Option<ServerUse>,
    /// What the generator used.
    pub generator: Option<GeneratorUse>,
    /// What was left of the machine.
    pub machine: Option<MachineUse>,
    /// One row a second while clients connected; its percentiles and density are of the handshake.
    pub connecting: Vec<Second>,
    /// One row a second.
    pub series: Vec<Second>,
    /// The limits asked for, each kept or broken.
    pub limits: Vec<LimitOutcome>,
    /// The limit that ends a walk or decides a search, `--limit-rtt`: to break it is to find the end, not to fail.
    pub stop: Option<LimitOutcome>,
    /// What held the step back.
    pub bottleneck: Option<Finding>,
    /// What is wrong with the step, as plain sentences.
    pub marks: Vec<String>,
}

impl Step {
    /// The limits that broke, the one that ends the walk included.
    pub fn broken(&self) -> impl Iterator<Item = &LimitOutcome> {
        self.limits.iter().chain(&self.stop).filter(|limit| !limit.passed)
    }

    /// How many of its clients were not there when the load began.
    pub fn absent(&self) -> u64 {
        self.usable.map_or(0, |usable| self.clients.saturating_sub(usable))
    }

    /// Whether so many clients were carried: all were there, and all limits kept.
    pub fn has_passed(&self) -> bool {
        self.absent() == 0 && self.broken().next().is_none()
    }

    /// Those who were back after a storm; `recovery` has a sample for each that was lost.
    pub fn back(&self) -> u64 {
        self.figures.recovery.count().saturating_sub(self.counts.not_back)
    }

    /// Whether the quantile `q` of `recovery` lies among those who were not back: it is then that or more.
    pub fn is_recovery_open(&self, q: f64) -> bool {
        self.counts.not_back > 0 && stats::rank(self.figures.recovery.count(), q) > self.back()
    }

    /// The 95% interval, in ns, of a percentile over the step: by batch means of its value each second. `None` when
    /// the series is too short, or has seconds without samples.
    pub fn interval_ns(&self, percentile: impl Fn(&Second) -> Option<u64>) -> Option<Interval> {
        let values: Option<Vec<f64>> =
            self.series.iter().map(|row| percentile(row).map(|ns| ns as f64)).collect();
        stats::interval::of_series(&values?)
    }
}

/// An agent on another machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetAgent {
    /// Its name.
    pub name: String,
    /// Its threads.
    pub workers: u32,
    /// The coordinator's clock minus its own, as measured last.
    pub clock_offset_ns: Option<i64>,
    /// How wrong that may be: so wrong may a delivery be from another agent's client to one of its.
    pub clock_error_ns: Option<u64>,
    /// How it was lost; what it had reported by then is in the figures.
    pub lost: Option<String>,
}

/// A phase before the window: it ran, and is not in the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmup {
    /// Clients that took part.
    pub clients: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Messages sent in it.
    pub sent: u64,
    /// Deliveries seen in it.
    pub received: u64,
}

/// Rates over the window, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Messages the schedule asked for; `None` in a closed loop.
    pub asked_per_s: Option<f64>,
    /// Messages completed per second of the schedule; the tail of the drain does not count.
    pub achieved_per_s: Option<f64>,
    /// Messages sent.
    pub sent_per_s: Option<f64>,
    /// Deliveries received.
    pub received_per_s: Option<f64>,
    /// Connections that became usable, over the time connecting took.
    pub connects_per_s: Option<f64>,
}

/// Everything that was timed; an empty histogram is a figure that does not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Start of the TCP connect → usable.
    pub handshake: Histogram,
    /// The parts of the handshake.
    pub handshake_parts: HandshakeParts,
    /// Intended send → answer (echo) or acknowledgement (broadcast).
    pub rtt: Histogram,
    /// Actual send → answer.
    pub service: Histogram,
    /// Intended send → each receiver.
    pub delivery: Histogram,
    /// Intended send → last receiver.
    pub completion: Histogram,
    /// Intended send → actual send.
    pub send_lag: Histogram,
    /// Connection lost in a storm → usable again.
    pub recovery: Histogram,
}

/// The parts of the handshake, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandshakeParts {
    /// The TCP connect.
    pub tcp: Histogram,
    /// The TLS handshake.
    pub tls: Histogram,
    /// The HTTP upgrade.
    pub upgrade: Histogram,
    /// The dialect's own readiness.
    pub ready: Histogram,
}

impl Figures {
    /// All figures with their names, in the order reports print them; empty ones too.
    pub fn named(&self) -> [(&'static str, &Histogram); 11] {
        [
            ("handshake", &self.handshake),
            ("tcp", &self.handshake_parts.tcp),
            ("tls", &self.handshake_parts.tls),
            ("upgrade", &self.handshake_parts.upgrade),
            ("ready", &self.handshake_parts.ready),
            ("rtt", &self.rtt),
            ("service", &self.service),
            ("delivery", &self.delivery),
            ("completion", &self.completion),
            ("send_lag", &self.send_lag),
            ("recovery", &self.recovery),
        ]
    }

    /// Adds another worker's or agent's samples.
    pub fn merge(&mut self, other: &Figures) {
        let Figures { handshake, handshake_parts, rtt, service, delivery, completion, send_lag, recovery } =
            other;
        self.handshake.merge(handshake);
        self.handshake_parts.merge(handshake_parts);
        self.rtt.merge(rtt);
        self.service.merge(service);
        self.delivery.merge(delivery);
        self.completion.merge(completion);
        self.send_lag.merge(send_lag);
        self.recovery.merge(recovery);
    }
}

impl HandshakeParts {
    fn merge(&mut self, other: &HandshakeParts) {
        let HandshakeParts { tcp, tls, upgrade, ready } = other;
        self.tcp.merge(tcp);
        self.tls.merge(tls);
        self.upgrade.merge(upgrade);
        self.ready.merge(ready);
    }
}

/// One second of a step; the last row may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// End of the second, from the start of the run.
    pub t_ns: u64,
    /// Open, usable clients at its end.
    pub clients: u64,
    /// Messages sent in it.
    pub sent: u64,
    /// Deliveries received in it.
    pub received: u64,
    /// Errors of all kinds in it.
    pub errors: u64,
    /// Median of the step's main figure over it.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum.
    pub max_ns: Option<u64>,
    /// Where its samples lie: cells of [`stats::density`] and how many each holds.
    pub density: Vec<(u8, u64)>,
    /// The server's CPU, 100 for one full core.
    pub server_cpu_percent: Option<f64>,
    /// The server's resident memory at its end.
    pub server_rss_bytes: Option<u64>,
    /// The generator's CPU, 100 for one full core.
    pub generator_cpu_percent: Option<f64>,
    /// What the target's own metrics endpoint said last, by name.
    pub metrics: BTreeMap<String, f64>,
}
