//! The figures a limit can name, and how each is read from a step.

use std::borrow::Cow;

use stats::{Count, CountOf, Histogram, QUANTILES, Timed};

use super::Unit;
use crate::rates::Rate;
use crate::scenario::Scenario;

#[cfg(test)]
mod reached;

/// A figure of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// A statistic of something timed.
    Timed(Timed, Statistic),
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
    /// Failures of all kinds.
    Errors,
    /// One of the counts that have a limit.
    Count(Count),
    /// Messages that came and were not due.
    Wrong,
    /// Clients that did not become usable.
    Unusable,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gauge {
    ServerCpu,
    ServerRss,
    GeneratorCpu,
    GeneratorRss,
    /// How much came of all that was due, to whoever was here and to whoever was away.
    Delivered,
    /// Messages received in a frame, on average.
    MessagesPerFrame,
}

const STATISTICS: [(&str, Statistic); 5] = [
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("sd", Statistic::Sd),
    ("median", Statistic::Quantile(0.5)),
    ("max", Statistic::Max),
];

const GAUGES: [(&str, Gauge); 6] = [
    ("server.cpu", Gauge::ServerCpu),
    ("server.rss", Gauge::ServerRss),
    ("generator.cpu", Gauge::GeneratorCpu),
    ("generator.rss", Gauge::GeneratorRss),
    ("delivered", Gauge::Delivered),
    ("messages_per_frame", Gauge::MessagesPerFrame),
];

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

fn name_in<T: Copy + PartialEq>(table: &[(&'static str, T)], value: T) -> &'static str {
    table.iter().find(|(_, known)| *known == value).expect("each has its row").0
}

impl Figure {
    pub(crate) fn parse(name: &str, scenario: Scenario) -> Option<Self> {
        if let Some(figure) = Figure::untimed(name) {
            return figure.is_of(scenario).then_some(figure);
        }
        if let Some(statistic) = Statistic::parse(name) {
            return Some(Figure::Timed(scenario.main_figure(), statistic));
        }
        // By itself the name means every sample: `first<500ms`.
        let (timed, statistic) = name.split_once('.').unwrap_or((name, "max"));
        let timed = scenario.timed().find(|known| known.name() == timed)?;
        Some(Figure::Timed(timed, Statistic::parse(statistic)?))
    }

    /// A figure whose name means the same in each scenario that has it.
    fn untimed(name: &str) -> Option<Self> {
        let counted = Counted::all().find(|known| known.name() == name).map(Figure::Counted);
        let rate = || Rate::ALL.into_iter().find(|rate| rate.metric() == name).map(Figure::Rate);
        let gauge = || find(&GAUGES, name).map(Figure::Gauge);
        counted.or_else(rate).or_else(gauge)
    }

    /// Returns whether the scenario has it.
    pub(crate) fn is_of(self, scenario: Scenario) -> bool {
        let facts = scenario.facts();
        match self {
            Figure::Timed(timed, _) => scenario.timed().any(|known| known == timed),
            Figure::Counted(Counted::Errors | Counted::Unusable) => true,
            Figure::Counted(Counted::Wrong) => facts.has_messages,
            Figure::Counted(Counted::Count(Count::NotBack)) => facts.comes_back,
            Figure::Counted(Counted::Count(Count::LostOffline)) => {
                scenario.timed().any(|known| known == Timed::Replay)
            }
            Figure::Counted(Counted::Count(Count::Unacknowledged)) => {
                scenario.timed().any(|known| known == Timed::Delivery)
            }
            Figure::Counted(Counted::Count(Count::JoinFailures | Count::Unseen)) => {
                scenario.timed().any(|known| known == Timed::Join)
            }
            Figure::Counted(Counted::Count(count)) => match count.facts().of {
                CountOf::Messages => facts.has_messages,
                CountOf::Connections => true,
                CountOf::Pushes => facts.has_dialects,
                CountOf::Streams => scenario.timed().any(|known| known == Timed::Gap),
            },
            // What was asked is no outcome.
            Figure::Rate(Rate::Asked) => false,
            Figure::Rate(Rate::Connects) => true,
            Figure::Rate(Rate::Events | Rate::Tokens) => scenario.timed().any(|known| known == Timed::Gap),
            Figure::Rate(
                Rate::Achieved | Rate::Sent | Rate::SentBytes | Rate::Received | Rate::ReceivedBytes,
            ) => facts.has_messages,
            Figure::Gauge(Gauge::Delivered) => scenario.timed().any(|known| known == Timed::Replay),
            Figure::Gauge(Gauge::MessagesPerFrame) => facts.has_messages && facts.has_dialects,
            Figure::Gauge(_) => true,
        }
    }

    /// Its name in limits.
    pub(crate) fn name(self) -> Cow<'static, str> {
        match self {
            Figure::Timed(timed, statistic) => format!("{timed}.{}", statistic.name()).into(),
            Figure::Counted(counted) => counted.name().into(),
            Figure::Rate(rate) => rate.metric().into(),
            Figure::Gauge(gauge) => name_in(&GAUGES, gauge).into(),
        }
    }

    /// Label for people.
    pub(crate) fn words(self) -> String {
        match self {
            Figure::Timed(timed, statistic) => format!("{} {}", timed.words(), statistic.words()),
            Figure::Counted(Counted::Count(count)) => {
                count.facts().words.map_or_else(|| count.name().replace('_', " "), str::to_owned)
            }
            Figure::Counted(counted) => counted.name().to_owned(),
            Figure::Rate(rate) => rate.metric().replace('_', " "),
            Figure::Gauge(gauge) => gauge.words().to_owned(),
        }
    }

    /// All names of the scenario's figures, for an error message.
    pub(crate) fn known(scenario: Scenario) -> String {
        let names = |figures: &mut dyn Iterator<Item = Figure>| {
            let names: Vec<_> = figures.filter(|figure| figure.is_of(scenario)).map(Figure::name).collect();
            names.join(", ")
        };
        let timed: Vec<&str> = scenario.timed().map(Timed::name).collect();
        format!(
            "min, mean, sd, median, max and percentiles such as p99.9, of {} (when none is named) or of {} (as in \
             {}.p99); {}; {}; {}",
            timed[0],
            timed[1..].join(", "),
            timed[1],
            names(&mut Counted::all().map(Figure::Counted)),
            names(&mut Rate::ALL.into_iter().map(Figure::Rate)),
            names(&mut GAUGES.iter().map(|&(_, gauge)| Figure::Gauge(gauge))),
        )
    }

    /// Returns whether its value may be a share: of what a count is part of, or of the rate that was asked.
    pub(crate) fn has_share(self) -> bool {
        matches!(self, Figure::Counted(_) | Figure::Rate(Rate::Achieved))
    }

    /// Returns whether more of it is better: that is so for rates, and for what came.
    pub(crate) fn more_is_better(self) -> bool {
        matches!(self, Figure::Rate(_) | Figure::Gauge(Gauge::Delivered))
    }

    pub(crate) fn unit(self, as_share: bool) -> Unit {
        match self {
            Figure::Timed(..) => Unit::Ms,
            _ if as_share => Unit::Percent,
            Figure::Counted(_) => Unit::Count,
            Figure::Rate(_) => Unit::PerSecond,
            Figure::Gauge(Gauge::ServerCpu | Gauge::GeneratorCpu | Gauge::Delivered) => Unit::Percent,
            Figure::Gauge(Gauge::ServerRss | Gauge::GeneratorRss) => Unit::Bytes,
            Figure::Gauge(Gauge::MessagesPerFrame) => Unit::Count,
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

    /// Its name in limits: the file's where it has one, so that p99.9 is p999.
    fn name(self) -> Cow<'static, str> {
        match self {
            Statistic::Quantile(q) => match QUANTILES.iter().find(|(_, known)| *known == q) {
                Some(&(name, _)) => name.into(),
                None => format!("p{}", percent(q)).into(),
            },
            moment => name_in(&STATISTICS, moment).into(),
        }
    }

    /// Label for people: `p99.9`.
    fn words(self) -> String {
        match self {
            Statistic::Quantile(q) => format!("p{}", percent(q)),
            Statistic::Sd => "standard deviation".to_owned(),
            Statistic::Min | Statistic::Mean | Statistic::Max => self.name().into_owned(),
        }
    }

    pub(crate) fn of_ms(self, histogram: &Histogram) -> f64 {
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

/// A quantile in percent, as it was typed: 100 × 0.29 is a hair below 29 in binary.
fn percent(q: f64) -> f64 {
    (q * 1e9).round() / 1e7
}

impl Counted {
    /// Each, in the order in which they are offered.
    fn all() -> impl Iterator<Item = Counted> {
        let limited = Count::ALL.into_iter().filter(|count| count.facts().share_of.is_some());
        let limited = limited.map(Counted::Count);
        [Counted::Errors].into_iter().chain(limited).chain([Counted::Wrong, Counted::Unusable])
    }

    fn name(self) -> &'static str {
        match self {
            Counted::Errors => "errors",
            Counted::Count(count) => count.name(),
            Counted::Wrong => "wrong",
            Counted::Unusable => "unusable",
        }
    }
}

impl Gauge {
    fn words(self) -> &'static str {
        match self {
            Gauge::ServerCpu => "server CPU",
            Gauge::ServerRss => "server memory",
            Gauge::GeneratorCpu => "generator CPU",
            Gauge::GeneratorRss => "generator memory",
            Gauge::Delivered => "delivered",
            Gauge::MessagesPerFrame => "messages per frame",
        }
    }
}
