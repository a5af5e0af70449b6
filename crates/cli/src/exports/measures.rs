//! The figures of this moment, by the names and in the base units that Prometheus and OpenTelemetry ask for.

use crew::Progress;
use results::Run;

/// The figures of this moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measures {
    labels: Vec<(&'static str, String)>,
    /// Of the steps before this one.
    before: Totals,
    now: Progress,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    sent: u64,
    received: u64,
    errors: u64,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    /// Its name, with dots.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) help: &'static str,
    /// UCUM's: `s`, `By`, `1`.
    pub(crate) unit: &'static str,
    /// It only grows while the run is on.
    pub(crate) is_counter: bool,
    /// Values, some of them with a label of their own.
    pub(crate) values: Vec<(Option<(&'static str, &'static str)>, f64)>,
}

impl Measures {
    pub(crate) fn new(run: &Run) -> Self {
        let labels = vec![
            ("run", run.id.clone()),
            ("scenario", run.scenario.to_string()),
            ("dialect", run.dialect.clone()),
            ("target", run.target.name.clone().unwrap_or_else(|| run.target.url.clone())),
        ];
        Self { labels, ..Self::default() }
    }

    /// What all figures have in common.
    pub(crate) fn labels(&self) -> &[(&'static str, String)] {
        &self.labels
    }

    pub(crate) fn handle_progress(&mut self, progress: &Progress) {
        // Each step counts from 0.
        if progress.sent < self.now.sent
            || progress.received < self.now.received
            || progress.errors < self.now.errors
        {
            self.before.sent += self.now.sent;
            self.before.received += self.now.received;
            self.before.errors += self.now.errors;
        }
        self.now = progress.clone();
    }

    /// All figures that are known.
    pub(crate) fn all(&self) -> Vec<Measure> {
        let (now, before) = (&self.now, &self.before);
        let gauge = |name, help, unit, value: f64| Measure {
            name,
            help,
            unit,
            is_counter: false,
            values: vec![(None, value)],
        };
        let counter = |name, help, value: u64| Measure {
            name,
            help,
            unit: "1",
            is_counter: true,
            values: vec![(None, value as f64)],
        };
        let mut all = vec![
            gauge("throng.clients.asked", "Clients that the step asks for", "1", f64::from(now.clients)),
            gauge("throng.clients.usable", "Clients usable", "1", now.usable as f64),
            counter("throng.messages.sent", "Messages sent", before.sent + now.sent),
            counter("throng.messages.received", "Deliveries received", before.received + now.received),
            counter("throng.errors", "Errors of all kinds", before.errors + now.errors),
        ];
        let Some(second) = &now.second else { return all };
        let quantiles =
            [("0.5", second.p50_ns), ("0.95", second.p95_ns), ("0.99", second.p99_ns), ("1", second.max_ns)];
        let values: Vec<_> = quantiles
            .into_iter()
            .filter_map(|(quantile, ns)| Some((Some(("quantile", quantile)), ns? as f64 / 1e9)))
            .collect();
        if !values.is_empty() {
            let help = "Latency over the last second: round trips, or deliveries of broadcasts";
            all.push(Measure { name: "throng.latency", help, unit: "s", is_counter: false, values });
        }
        let cores = |percent: Option<f64>| percent.map(|percent| percent / 100.0);
        let known = [
            ("throng.server.cpu", "CPU of the server, in cores", "1", cores(second.server_cpu_percent)),
            (
                "throng.server.memory",
                "Resident memory of the server",
                "By",
                second.server_rss_bytes.map(|bytes| bytes as f64),
            ),
            (
                "throng.generator.cpu",
                "CPU of the generator, in cores",
                "1",
                cores(second.generator_cpu_percent),
            ),
        ];
        all.extend(
            known.into_iter().filter_map(|(name, help, unit, value)| Some(gauge(name, help, unit, value?))),
        );
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_on_from_step_to_step() {
        let mut measures = Measures::default();
        for (sent, total) in [(5, 5.0), (9, 9.0), (2, 11.0), (4, 13.0)] {
            measures.handle_progress(&Progress { sent, received: sent, ..Progress::default() });
            let all = measures.all();
            let found = all.iter().find(|measure| measure.name == "throng.messages.sent").unwrap();
            assert_eq!(found.values, [(None, total)]);
        }
    }
}
