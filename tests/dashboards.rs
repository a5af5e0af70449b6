//! Debian's Prometheus, which scrapes real runs: every query of the Grafana dashboard has an answer, while a
//! run is on and after it, and what was scraped is what the results say.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crew::http::{Source, Timeouts};
use serde_json::Value;
use tempfile::TempDir;
use url::form_urlencoded;

use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, run, throng};
use crate::support::{free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(60);
const PATIENCE: Timeouts = Timeouts { word: Duration::from_secs(10), answer: Duration::from_secs(10) };

/// A listener at a port of its own until the test is over.
struct Service {
    port: u16,
    _folder: TempDir,
    _process: Process,
}

impl Service {
    /// Starts a Debian program with `ADDRESS` and `FOLDER` in its arguments filled in; `None`: it is not here.
    fn start(program: &str, arguments: &[&str], prepare: impl Fn(&Path)) -> Option<Service> {
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        prepare(folder.path());
        let filled = arguments.iter().map(|argument| {
            argument
                .replace("ADDRESS", &address.to_string())
                .replace("FOLDER", folder.path().to_str().unwrap())
        });
        let mut command = Command::new(program);
        command.args(filled).current_dir(folder.path());
        if let Err(error) = Command::new(program).arg("--version").output() {
            skip(program, &error.to_string());
            return None;
        }
        let process = Process::start(&mut command).listening_at(address);
        Some(Service { port: address.port(), _folder: folder, _process: process })
    }

    /// A Prometheus that asks for the page at that address each second.
    fn prometheus(scraped: &str) -> Option<Service> {
        let flags = [
            "--config.file=FOLDER/prometheus.yml",
            "--storage.tsdb.path=FOLDER/data",
            "--web.listen-address=ADDRESS",
        ];
        Service::start("prometheus", &flags, |folder| {
            let config = format!(
                "scrape_configs:\n  - job_name: throng\n    scrape_interval: 1s\n    static_configs: [{{ targets: ['{scraped}'] }}]\n"
            );
            fs::write(folder.join("prometheus.yml"), config).unwrap();
        })
    }

    fn get(&self, path: &str) -> String {
        let source = Source { host: "127.0.0.1".into(), port: self.port, path: path.into() };
        String::from_utf8(source.get(PATIENCE).unwrap().body).unwrap()
    }

    /// The values that a query of Prometheus has in the last minutes, series by series.
    fn values(&self, query: &str) -> Vec<Vec<f64>> {
        let now_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let asked = form_urlencoded::Serializer::new(String::new())
            .append_pair("query", query)
            .append_pair("start", &(now_s - 120).to_string())
            .append_pair("end", &now_s.to_string())
            .append_pair("step", "1")
            .finish();
        let answer: Value = serde_json::from_str(&self.get(&format!("/api/v1/query_range?{asked}"))).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().unwrap().iter();
        let of = |series: &Value| -> Vec<f64> {
            let values = series["values"].as_array().unwrap();
            values.iter().map(|value| value[1].as_str().unwrap().parse().unwrap()).collect()
        };
        series.map(of).collect()
    }

    /// The largest value of a query that has one series.
    fn largest(&self, query: &str) -> f64 {
        let found = self.values(query);
        assert_eq!(found.len(), 1, "{query}: {found:?}");
        found[0].iter().copied().fold(0.0, f64::max)
    }
}

/// Broadcasts at a server of this machine, and what came of it.
fn broadcast(server: &Server, flags: &[&str]) -> Outcome {
    let mut command = throng(["broadcast", &server.url(), "--format", "json", "--no-store"]);
    command.args(["--initial-clients", "20", "--total-steps", "2", "--step-size", "10", "--rate", "40"]);
    command.args(["--duration", "5s"]).args(flags);
    let outcome = run(&mut command, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(!outcome.stderr.contains("the run goes on"), "{outcome}");
    outcome
}

/// The queries of the dashboard, with the panel that each is of.
fn queries() -> Vec<(String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana/dashboards/throng.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        queries.extend(targets.iter().map(|target| (text(&panel["title"]), text(&target["expr"]))));
    }
    queries
}

#[test]
fn every_panel_of_the_dashboard_shows_something() {
    let queries = queries();
    assert!(queries.len() >= 20, "{queries:?}");
    // Usual scrapes are seconds apart, and this has the last one alone.
    assert!(queries.iter().all(|(_, query)| !query.contains("throng_latency_seconds")), "{queries:?}");
    let (server, scraped) = (Server::start(&[]), free_address());
    let Some(prometheus) = Service::prometheus(&scraped.to_string()) else { return };
    let results = broadcast(&server, &["--metrics", &scraped.to_string()]).json();
    let id = results["id"].as_str().unwrap();
    for (panel, query) in &queries {
        let query = query.replace("$run", id).replace("$__rate_interval", "4s");
        assert!(!query.contains('$'), "{query}");
        let found = prometheus.values(&query);
        let is_shown = found.iter().flatten().any(|value| value.is_finite());
        assert!(is_shown, "{panel}: {query}: {found:?}");
    }
}

/// A count of each step.
fn counts(results: &Value, name: &str) -> Vec<f64> {
    let steps = results["steps"].as_array().unwrap().iter();
    steps.map(|step| step["counts"][name].as_f64().unwrap()).collect()
}

/// The samples that each step's figure has.
fn samples(results: &Value, figure: &str) -> Vec<f64> {
    let steps = results["steps"].as_array().unwrap().iter();
    steps.map(|step| step[figure]["count"].as_f64().unwrap()).collect()
}

/// All round trips of each step, in seconds.
fn spent_s(results: &Value) -> Vec<f64> {
    let steps = results["steps"].as_array().unwrap().iter();
    let parts = |step: &Value| {
        ["unsent_s", "service_s", "unanswered_s"].map(|part| step["account"]["all"][part].as_f64().unwrap())
    };
    steps.map(|step| parts(step).iter().sum()).collect()
}

#[test]
fn scraped_metrics_agree_with_the_results() {
    let (server, scraped) = (Server::start(&[]), free_address());
    let Some(prometheus) = Service::prometheus(&scraped.to_string()) else { return };
    let results = broadcast(&server, &["--metrics", &scraped.to_string()]).json();
    let id = results["id"].as_str().unwrap();
    // The last scrape was in the second step, and may have missed its last second.
    let assert_within = |query: &str, of_steps: &[f64]| {
        let found = prometheus.largest(query);
        let (least, most) = (of_steps[0], of_steps.iter().sum::<f64>());
        assert!((least * 0.999..=most * 1.001).contains(&found), "{query}: {found}, {of_steps:?}");
    };
    for (name, of_steps) in [
        ("throng_messages_sent_total", counts(&results, "sent")),
        ("throng_messages_received_total", counts(&results, "received")),
        ("throng_rtt_seconds_count", samples(&results, "rtt")),
        ("throng_delivery_seconds_count", samples(&results, "delivery")),
        ("throng_completion_seconds_count", samples(&results, "completion")),
    ] {
        assert_within(&format!("{name}{{run=\"{id}\"}}"), &of_steps);
    }
    let in_all = format!("throng_rtt_seconds_bucket{{run=\"{id}\", le=\"+Inf\"}}");
    let counted = format!("throng_rtt_seconds_count{{run=\"{id}\"}}");
    assert_eq!(prometheus.largest(&in_all), prometheus.largest(&counted));
    let spent = format!("sum by (run) (throng_time_spent_seconds_total{{run=\"{id}\"}})");
    assert_within(&spent, &spent_s(&results));
    // Half of the samples are on either side of the median, as Prometheus finds it in its buckets.
    let median = format!("histogram_quantile(0.5, throng_rtt_seconds_bucket{{run=\"{id}\"}})");
    let found = prometheus.values(&median)[0].last().copied().unwrap() * 1e3;
    let medians: Vec<f64> = results["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["rtt"]["p50_ms"].as_f64().unwrap())
        .collect();
    let (low, high) = (medians[0].min(medians[1]), medians[0].max(medians[1]));
    // Neighbouring bounds are at most half as far again from each other.
    assert!(
        (low / 1.6..=high * 1.6).contains(&found),
        "{found} ms in Prometheus, {medians:?} ms in the results"
    );
}
