//! The metrics so far, by the names and in the base units that Prometheus and OpenTelemetry ask for.

use crew::Progress;
use net::clock;
use results::verdict::{Owner, Owners};
use results::{Run, Second, Step};
use stats::explicit_buckets::ExplicitBuckets;
use stats::{Figures, Timed};

/// Metrics exported as histograms, with their help texts. (Its parts, and deliveries by the size of their
/// rooms, are in the results.)
const TIMED: [(Timed, &str); 10] = [
    (Timed::Handshake, "Start of the TCP connect until the client is ready"),
    (Timed::Rtt, "Intended send until the echo, acknowledgement or own copy"),
    (Timed::Service, "Actual send until the echo, acknowledgement or own copy"),
    (Timed::Delivery, "Intended send until a receiver has its copy"),
    (Timed::Completion, "Intended send until the last receiver has its copy; known at the end of a step"),
    (Timed::Replay, "Usable again until a copy is in that was due while the client was away"),
    (Timed::Join, "A visitor asks to join a room until the server has let them in"),
    (Timed::Leave, "A visitor leaves a room until the server has confirmed it"),
    (Timed::SendLag, "Intended send until the actual send: how late the generator was"),
    (Timed::Recovery, "Connection lost until the client is ready again"),
];

const TIME_SPENT: &str = "Time of all round trips, by who had it; known at the end of a step";
const LATENCY: &str = "Latency over the last second: round trips, or deliveries of broadcasts";

/// The figures of this moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measures {
    labels: Vec<(&'static str, String)>,
    /// The time at which all counts were 0; for a resumed run that is not its beginning.
    since_unix_ns: u64,
    /// Totals of the steps before this one.
    before: Totals,
    now: Progress,
}

#[derive(Clone, Debug, Default)]
struct Totals {
    sent: u64,
    received: u64,
    errors: u64,
    figures: Figures<ExplicitBuckets>,
    /// The time spent in seconds, in the order of [`Owner::ALL`].
    spent_s: [f64; Owner::ALL.len()],
}

/// A figure to export.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    /// The figure's name, with dots.
    pub(crate) name: String,
    /// The figure's help text.
    pub(crate) help: &'static str,
    /// UCUM's: `s`, `By`, `1`.
    pub(crate) unit: &'static str,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// The value only grows while the run is on.
    Counter(f64),
    Gauge(f64),
    /// Counters, by the value of this label.
    Counters(&'static str, Vec<(&'static str, f64)>),
    /// Gauges, by the value of this label.
    Gauges(&'static str, Vec<(&'static str, f64)>),
    /// The value is a histogram of all samples since the start of the run.
    Histogram(ExplicitBuckets),
}

impl Measures {
    pub(crate) fn new(run: &Run) -> Self {
        let labels = vec![
            ("run", run.id.clone()),
            ("scenario", run.scenario.to_string()),
            ("dialect", run.dialect.clone()),
            ("target", run.target.name.clone().unwrap_or_else(|| run.target.url.clone())),
        ];
        Self { labels, since_unix_ns: clock::realtime_ns(), ..Self::default() }
    }

    /// Labels of all metrics.
    pub(crate) fn labels(&self) -> &[(&'static str, String)] {
        &self.labels
    }

    /// When counting began.
    pub(crate) fn since_unix_ns(&self) -> u64 {
        self.since_unix_ns
    }

    pub(crate) fn handle_progress(&mut self, progress: &Progress) {
        // What was timed is told once a second.
        let figures = progress.figures.clone().or_else(|| self.now.figures.take());
        self.now = Progress { figures, ..progress.clone() };
    }

    /// A step has ended, whose counts are these; the next one counts from 0.
    pub(crate) fn handle_measured(&mut self, step: &Step) {
        self.before.sent += step.counts.sent;
        self.before.received += step.counts.received;
        self.before.errors += step.errors.total();
        self.before.figures.merge(&step.figures.explicit_buckets());
        if let Some((spent, owners)) = step.spent.as_ref().zip(Owners::of_all(step)) {
            for (sum_s, owner) in self.before.spent_s.iter_mut().zip(Owner::ALL) {
                *sum_s += spent.all.sum_ns() as f64 / 1e9 * owners.percent(owner) / 100.0;
            }
        }
        self.now = Progress { sent: 0, received: 0, errors: 0, figures: None, ..self.now.clone() };
    }

    /// All figures that are known.
    pub(crate) fn all(&self) -> Vec<Measure> {
        let (now, before) = (&self.now, &self.before);
        let measure =
            |name: &str, help, unit, value| Measure { name: format!("throng.{name}"), help, unit, value };
        let counter = |name, help, value: u64| measure(name, help, "1", Value::Counter(value as f64));
        let gauge = |name, help, value: f64| measure(name, help, "1", Value::Gauge(value));
        let mut all = vec![
            gauge("clients.asked", "Clients that the step asks for", f64::from(now.clients)),
            gauge("clients.usable", "Clients connected", now.usable as f64),
            counter("messages.sent", "Messages sent", before.sent + now.sent),
            counter("messages.received", "Deliveries received", before.received + now.received),
            counter("errors", "Errors of all kinds", before.errors + now.errors),
        ];
        for (timed, help) in TIMED {
            let mut explicit_buckets = before.figures.get(timed).clone();
            if let Some(figures) = &now.figures {
                explicit_buckets.merge(figures.get(timed));
            }
            if !explicit_buckets.is_empty() {
                all.push(measure(timed.name(), help, "s", Value::Histogram(explicit_buckets)));
            }
        }
        let spent = Owner::ALL.map(Owner::key).into_iter().zip(before.spent_s);
        let spent: Vec<(&str, f64)> = spent.filter(|(_, sum_s)| *sum_s > 0.0).collect();
        if !spent.is_empty() {
            all.push(measure("time_spent", TIME_SPENT, "s", Value::Counters("owner", spent)));
        }
        all.extend(now.second.iter().flat_map(of_second));
        all
    }
}

/// The metrics of the last second alone.
fn of_second(second: &Second) -> Vec<Measure> {
    let quantiles =
        [("0.5", second.p50_ns), ("0.95", second.p95_ns), ("0.99", second.p99_ns), ("1", second.max_ns)];
    let quantiles: Vec<(&str, f64)> =
        quantiles.into_iter().filter_map(|(quantile, ns)| Some((quantile, ns? as f64 / 1e9))).collect();
    let cores = |percent: Option<f64>| percent.map(|percent| Value::Gauge(percent / 100.0));
    let bytes = second.server_rss_bytes.map(|bytes| Value::Gauge(bytes as f64));
    let known = [
        ("latency", LATENCY, "s", (!quantiles.is_empty()).then_some(Value::Gauges("quantile", quantiles))),
        ("server.cpu", "CPU of the server, in cores", "1", cores(second.server_cpu_percent)),
        ("server.memory", "Resident memory of the server", "By", bytes),
        ("generator.cpu", "CPU of the generator, in cores", "1", cores(second.generator_cpu_percent)),
    ];
    let measure = |(name, help, unit, value): (&str, &'static str, &'static str, Option<Value>)| {
        Some(Measure { name: format!("throng.{name}"), help, unit, value: value? })
    };
    known.into_iter().filter_map(measure).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use results::TimeSpent;
    use stats::{Account, Counts, Histogram, Reach};

    use super::*;

    fn of(measures: &Measures, name: &str) -> Value {
        let found = measures.all().into_iter().find(|measure| measure.name == name);
        found.unwrap_or_else(|| panic!("{name}")).value
    }

    /// One step after the other: what was reported of each, and what it came to in the end.
    #[test]
    fn counters_go_on_from_step_to_step() {
        let mut measures = Measures::default();
        let figures = |samples: u64| {
            let mut figures: Figures = Figures::default();
            figures.rtt.record_n_ns(1_000_000, samples);
            figures
        };
        let progress = |sent, samples: Option<u64>| Progress {
            sent,
            figures: samples.map(|samples| Arc::new(figures(samples).explicit_buckets())),
            ..Progress::default()
        };
        let counted = |measures: &Measures| {
            let Value::Histogram(rtt) = of(measures, "throng.rtt") else { panic!("a histogram") };
            (of(measures, "throng.messages.sent"), rtt.count())
        };
        measures.handle_progress(&progress(5, Some(4)));
        measures.handle_progress(&progress(7, None));
        assert_eq!(counted(&measures), (Value::Counter(7.0), 4));
        let counts = Counts { sent: 9, ..Counts::default() };
        measures.handle_measured(&Step { counts, figures: figures(9), ..Step::default() });
        assert_eq!(counted(&measures), (Value::Counter(9.0), 9));
        measures.handle_progress(&progress(20, None));
        assert_eq!(counted(&measures), (Value::Counter(29.0), 9), "more than the step before had");
        measures.handle_progress(&progress(21, Some(20)));
        assert_eq!(counted(&measures), (Value::Counter(30.0), 29));
    }

    /// Two steps of ten messages, each 1 s long and out of sight for three quarters of it.
    #[test]
    fn time_spent_is_exported_after_a_step() {
        let (mut account, mut rtt) = (Account::default(), Histogram::new());
        account.add(1_000_000_000, 750_000_000, 10, Reach::default());
        rtt.record_n_ns(1_000_000_000, 10);
        let step = Step { spent: TimeSpent::of(&account, &rtt, None), ..Step::default() };
        let mut measures = Measures::default();
        let is_told =
            |measures: &Measures| measures.all().iter().any(|told| told.name == "throng.time_spent");
        assert!(!is_told(&measures));
        measures.handle_measured(&step);
        measures.handle_measured(&step);
        let by_owner = vec![("server", 15.0), ("generator", 5.0)];
        assert_eq!(of(&measures, "throng.time_spent"), Value::Counters("owner", by_owner));
    }
}
