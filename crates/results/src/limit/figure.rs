//! The figures a limit can name, and how each is read from a step.

use stats::{Counts, Histogram, QUANTILES};

use super::Unit;
use crate::step::Step;

#[cfg(test)]
mod reached;

/// A figure of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// A statistic of something timed, by its name in [`crate::Figures::named`].
    Timed(&'static str, Statistic),
    Counted(Counted),
    Rate(Rate),
    Gauge(Gauge),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    Min,
    Mean,
    Sd,
    Quantile(f64),
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Counted {
    Errors,
    Missing,
    Late,
    Duplicate,
    Reordered,
    Unexpected,
    Corrupt,
    ConnectTimeouts,
    ConnectFailures,
    Disconnects,
    NotBack,
    Wrong,
    Unusable,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rate {
    Achieved,
    Sent,
    Received,
    Connects,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gauge {
    ServerCpu,
    ServerRss,
    GeneratorCpu,
    GeneratorRss,
}

const HANDSHAKE: [&str; 5] = ["handshake", "tcp", "tls", "upgrade", "ready"];
const RECOVERY: [&str; 1] = ["recovery"];
const EXCHANGE: [&str; 3] = ["rtt", "service", "send_lag"];
const FAN_OUT: [&str; 2] = ["delivery", "completion"];

const STATISTICS: [(&str, Statistic); 5] = [
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("sd", Statistic::Sd),
    ("median", Statistic::Quantile(0.5)),
    ("max", Statistic::Max),
];

const COUNTED: [(&str, Counted); 13] = [
    ("errors", Counted::Errors),
    ("missing", Counted::Missing),
    ("late", Counted::Late),
    ("duplicate", Counted::Duplicate),
    ("reordered", Counted::Reordered),
    ("unexpected", Counted::Unexpected),
    ("corrupt", Counted::Corrupt),
    ("connect_timeouts", Counted::ConnectTimeouts),
    ("connect_failures", Counted::ConnectFailures),
    ("disconnects", Counted::Disconnects),
    ("not_back", Counted::NotBack),
    ("wrong", Counted::Wrong),
    ("unusable", Counted::Unusable),
];

const RATES: [(&str, Rate); 4] = [
    ("rate", Rate::Achieved),
    ("sent_rate", Rate::Sent),
    ("received_rate", Rate::Received),
    ("connect_rate", Rate::Connects),
];

const GAUGES: [(&str, Gauge); 4] = [
    ("server.cpu", Gauge::ServerCpu),
    ("server.rss", Gauge::ServerRss),
    ("generator.cpu", Gauge::GeneratorCpu),
    ("generator.rss", Gauge::GeneratorRss),
];

/// What is counted and how fast, where nothing is exchanged.
const WITHOUT_MESSAGES: [&str; 6] =
    ["errors", "connect_timeouts", "connect_failures", "disconnects", "unusable", "connect_rate"];

/// Whether the scenario has a count or a rate of this name.
fn has(scenario: &str, name: &str) -> bool {
    match name {
        "not_back" => scenario == "storm",
        _ => scenario != "idle" || WITHOUT_MESSAGES.contains(&name),
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

/// What the scenario times, its main figure first.
fn timed(scenario: &str) -> Vec<&'static str> {
    let parts: &[&[&'static str]] = match scenario {
        "idle" => &[&HANDSHAKE],
        "storm" => &[&RECOVERY, &EXCHANGE, &HANDSHAKE],
        "echo" | "http" => &[&EXCHANGE, &HANDSHAKE],
        _ => &[&EXCHANGE, &FAN_OUT, &HANDSHAKE],
    };
    parts.concat()
}

/// The figure that a bare percentile means in this scenario, by its name in [`crate::Figures::named`].
pub fn main_figure(scenario: &str) -> &'static str {
    timed(scenario)[0]
}

impl Figure {
    pub(crate) fn parse(name: &str, scenario: &str) -> Option<Self> {
        if let Some(counted) = find(&COUNTED, name).filter(|_| has(scenario, name)) {
            return Some(Figure::Counted(counted));
        }
        if let Some(rate) = find(&RATES, name).filter(|_| has(scenario, name)) {
            return Some(Figure::Rate(rate));
        }
        if let Some(gauge) = find(&GAUGES, name) {
            return Some(Figure::Gauge(gauge));
        }
        let timed = timed(scenario);
        if let Some(statistic) = Statistic::parse(name) {
            return Some(Figure::Timed(timed[0], statistic));
        }
        let (figure, statistic) = name.split_once('.')?;
        let figure = timed.into_iter().find(|known| *known == figure)?;
        Some(Figure::Timed(figure, Statistic::parse(statistic)?))
    }

    /// All names of the scenario's figures, for an error message.
    pub(crate) fn known(scenario: &str) -> String {
        let names = |table: &mut dyn Iterator<Item = &str>| table.collect::<Vec<_>>().join(", ");
        let timed = timed(scenario);
        format!(
            "min, mean, sd, median, max and percentiles such as p99.9, of {} (when none is named) or of {} (as in \
             {}.p99); {}; {}; {}",
            timed[0],
            timed[1..].join(", "),
            timed[1],
            names(&mut COUNTED.iter().map(|entry| entry.0).filter(|name| has(scenario, name))),
            names(&mut RATES.iter().map(|entry| entry.0).filter(|name| has(scenario, name))),
            names(&mut GAUGES.iter().map(|entry| entry.0)),
        )
    }

    /// Whether what never came decides the value, a client that was not back or an answer: it is then that or more.
    pub(crate) fn is_open(self, step: &Step) -> bool {
        let Figure::Timed(name, statistic) = self else { return false };
        let open = step.open_samples(name);
        match statistic {
            Statistic::Min => open > 0 && open == step.figures.get(name).count(),
            Statistic::Quantile(q) => step.is_open(name, q),
            Statistic::Mean | Statistic::Sd | Statistic::Max => open > 0,
        }
    }

    /// Whether its value may be a share: of what a count is part of, or of the rate that was asked.
    pub(crate) fn has_share(self) -> bool {
        matches!(self, Figure::Counted(_) | Figure::Rate(Rate::Achieved))
    }

    pub(crate) fn unit(self, as_share: bool) -> Unit {
        match self {
            Figure::Timed(..) => Unit::Ms,
            _ if as_share => Unit::Percent,
            Figure::Counted(_) => Unit::Count,
            Figure::Rate(_) => Unit::PerSecond,
            Figure::Gauge(Gauge::ServerCpu | Gauge::GeneratorCpu) => Unit::Percent,
            Figure::Gauge(Gauge::ServerRss | Gauge::GeneratorRss) => Unit::Bytes,
        }
    }

    /// The value in its unit; `None` when the step did not measure it.
    pub(crate) fn read(self, step: &Step, as_share: bool) -> Option<f64> {
        match self {
            Figure::Timed(name, statistic) => {
                let histogram = step.figures.get(name);
                (!histogram.is_empty()).then(|| statistic.of_ms(histogram))
            }
            Figure::Counted(counted) => {
                let (count, whole) = counted.of(step);
                match (as_share, whole) {
                    (false, _) => Some(count as f64),
                    (true, 0) => None,
                    (true, whole) => Some(100.0 * count as f64 / whole as f64),
                }
            }
            Figure::Rate(Rate::Achieved) if as_share => step.kept_percent(),
            Figure::Rate(Rate::Achieved) => step.rates.achieved_per_s,
            Figure::Rate(Rate::Sent) => step.rates.sent_per_s,
            Figure::Rate(Rate::Received) => step.rates.received_per_s,
            Figure::Rate(Rate::Connects) => step.rates.connects_per_s,
            Figure::Gauge(gauge) => gauge.read(step),
        }
    }
}

impl Statistic {
    fn parse(name: &str) -> Option<Self> {
        if let Some(statistic) = find(&STATISTICS, name) {
            return Some(statistic);
        }
        // p999 and p9999 are the file's names for p99.9 and p99.99.
        if let Some(&(_, q)) = QUANTILES.iter().find(|(known, _)| *known == name) {
            return Some(Statistic::Quantile(q));
        }
        let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
        (0.0 < percent && percent < 100.0).then_some(Statistic::Quantile(percent / 100.0))
    }

    fn of_ms(self, histogram: &Histogram) -> f64 {
        let ns = match self {
            Statistic::Min => histogram.min_ns() as f64,
            Statistic::Mean => histogram.mean_ns(),
            Statistic::Sd => histogram.sd_ns(),
            Statistic::Quantile(q) => histogram.quantile_ns(q) as f64,
            Statistic::Max => histogram.max_ns() as f64,
        };
        ns / 1e6
    }
}

impl Counted {
    /// The count, and what a share of it is a share of: all that could have been counted, so that no share is above 100%.
    fn of(self, step: &Step) -> (u64, u64) {
        let Counts { expected, received, connects, .. } = step.counts;
        let counts = &step.counts;
        let (count, whole) = match self {
            Counted::Errors => (step.errors.total(), occasions(step)),
            Counted::Missing => (counts.missing, expected),
            Counted::Late => (counts.late, received),
            Counted::Reordered => (counts.reordered, received),
            Counted::Duplicate => (counts.duplicate, step.came()),
            Counted::Unexpected => (counts.unexpected, step.came()),
            Counted::Corrupt => (counts.corrupt, step.came()),
            Counted::ConnectTimeouts => (counts.connect_timeouts, connects),
            Counted::ConnectFailures => (counts.connect_failures, connects),
            Counted::Disconnects => (counts.disconnects, step.connections()),
            Counted::NotBack => (counts.not_back, step.figures.recovery.count()),
            Counted::Wrong => (step.wrong(), step.came()),
            Counted::Unusable => (step.unusable(), step.clients),
        };
        // A server may say what nobody asked it more often than there were occasions.
        (count, whole.max(count))
    }
}

/// What could fail: connections that were begun or kept, and messages.
fn occasions(step: &Step) -> u64 {
    let Counts { sent, connects, connected, .. } = step.counts;
    step.connections() + connects.saturating_sub(connected) + sent
}

impl Gauge {
    fn read(self, step: &Step) -> Option<f64> {
        let (server, generator) = (step.server.as_ref(), step.generator.as_ref());
        match self {
            Gauge::ServerCpu => server?.cpu_percent_mean,
            Gauge::ServerRss => server?.rss_bytes_peak.map(|bytes| bytes as f64),
            Gauge::GeneratorCpu => generator?.cpu_percent_mean,
            Gauge::GeneratorRss => generator?.rss_bytes_peak.map(|bytes| bytes as f64),
        }
    }
}
