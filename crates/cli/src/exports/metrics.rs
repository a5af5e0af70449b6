//! `--metrics`: the figures of this moment as a page for Prometheus (text exposition format 0.0.4).

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crew::http;

use super::measures::{Measure, Measures};
use crate::exit::Failure;
use crate::stderr;

/// How long a client may take to send its request, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Where the page is.
const PATH: &str = "/metrics";
/// What it is.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page that is served while the run is on.
pub(crate) struct Metrics {
    page: Arc<Mutex<String>>,
}

impl Metrics {
    /// Listens at the address, on a thread of its own that ends with the process.
    pub(crate) fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let cannot = |error| Failure::could_not(format!("listen at {address} (--metrics)"), error);
        let listener = TcpListener::bind(address).map_err(cannot)?;
        if address.port() == 0 {
            let chosen = listener.local_addr().map_err(cannot)?;
            stderr::line(format_args!("throng: metrics at http://{chosen}{PATH}"));
        }
        let page = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&page);
        let serve = move || {
            for stream in listener.incoming().flatten() {
                let page = |path: &str| match path {
                    PATH => Ok(shared.lock().unwrap_or_else(PoisonError::into_inner).clone()),
                    _ => Err(format!("the metrics are at {PATH}\n")),
                };
                // One that asks badly, or goes away, is its own loss.
                let _ = http::serve(stream, PATIENCE, KIND, page);
            }
        };
        thread::Builder::new().name("metrics".into()).spawn(serve).map_err(cannot)?;
        Ok(Self { page })
    }

    /// The page from now on.
    pub(crate) fn show(&self, measures: &Measures) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = render(measures);
    }
}

fn render(measures: &Measures) -> String {
    let common: Vec<String> =
        measures.labels().iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    let mut page = String::new();
    for measure in measures.all() {
        let name = name_of(&measure);
        let kind = if measure.is_counter { "counter" } else { "gauge" };
        // Writing to a string does not fail.
        let _ = write!(page, "# HELP {name} {}\n# TYPE {name} {kind}\n", measure.help);
        for (label, value) in &measure.values {
            let own = label.map(|(name, value)| format!("{name}=\"{value}\""));
            let labels: Vec<String> = common.iter().cloned().chain(own).collect();
            let _ = writeln!(page, "{name}{{{}}} {value}", labels.join(","));
        }
    }
    page
}

/// Prometheus' naming: underscores, the unit at the end, `_total` on counters.
fn name_of(measure: &Measure) -> String {
    let unit = match (measure.unit, measure.is_counter) {
        ("s", _) => "_seconds",
        ("By", _) => "_bytes",
        (_, true) => "_total",
        _ => "",
    };
    format!("{}{unit}", measure.name.replace('.', "_"))
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use crew::Progress;
    use results::{Run, Scenario, Second, Target};

    use super::*;

    #[test]
    fn the_page_is_prometheus_text() {
        let target = Target { url: "ws://a/\"b\"".into(), ..Target::default() };
        let run = Run {
            id: "r1".into(),
            scenario: Scenario::Echo,
            dialect: "json".into(),
            target,
            ..Run::default()
        };
        let mut measures = Measures::new(&run);
        let second = Second { p99_ns: Some(2_500_000), server_rss_bytes: Some(4096), ..Second::default() };
        measures.handle_progress(&Progress { sent: 7, second: Some(second), ..Progress::default() });
        let page = render(&measures);
        let labels = "run=\"r1\",scenario=\"echo\",dialect=\"json\",target=\"ws://a/\\\"b\\\"\"";
        for line in [
            "# TYPE throng_messages_sent_total counter".to_owned(),
            format!("throng_messages_sent_total{{{labels}}} 7"),
            "# TYPE throng_latency_seconds gauge".to_owned(),
            format!("throng_latency_seconds{{{labels},quantile=\"0.99\"}} 0.0025"),
            format!("throng_server_memory_bytes{{{labels}}} 4096"),
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("throng_server_cpu"), "what is not known is left out");
    }
}
