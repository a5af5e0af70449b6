//! Debian's Prometheus and Pushgateway, fed by real runs: every query of the Grafana dashboard has an answer,
//! while a run is on and after it, and what was pushed is what the results say.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crew::http::{Source, Timeouts};
use serde_json::Value;
use tempfile::TempDir;
use url::form_urlencoded;

use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};
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

    /// A Prometheus that asks for the page at that address each second, and takes what is written to it.
    fn prometheus(scraped: &str) -> Option<Service> {
        let flags = [
            "--config.file=FOLDER/prometheus.yml",
            "--storage.tsdb.path=FOLDER/data",
            "--web.listen-address=ADDRESS",
            "--web.enable-remote-write-receiver",
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
    let url = format!("http://127.0.0.1:{}", prometheus.port);
    for flags in [["--metrics", &scraped.to_string()], ["--remote-write", &url]] {
        let id = broadcast(&server, &flags).json()["id"].as_str().unwrap().to_owned();
        for (panel, query) in &queries {
            let query = query.replace("$run", &id).replace("$__rate_interval", "4s");
            assert!(!query.contains('$'), "{query}");
            let found = prometheus.values(&query);
            let is_shown = found.iter().flatten().any(|value| value.is_finite());
            assert!(is_shown, "{flags:?}: {panel}: {query}: {found:?}");
        }
    }
}

/// The samples that a step's figure has, over all steps.
fn samples(results: &Value, figure: &str) -> u64 {
    let steps = results["steps"].as_array().unwrap();
    steps.iter().map(|step| step[figure]["count"].as_u64().unwrap()).sum()
}

/// All round trips of all steps, in seconds.
fn spent_s(results: &Value) -> f64 {
    let steps = results["steps"].as_array().unwrap().iter();
    let parts = |step: &Value| {
        ["unsent_s", "service_s", "unanswered_s"].map(|part| step["account"]["all"][part].as_f64().unwrap())
    };
    steps.flat_map(parts).sum()
}

#[test]
fn pushed_metrics_equal_the_results() {
    let server = Server::start(&[]);
    let Some(prometheus) = Service::prometheus("127.0.0.1:1") else { return };
    let flags = ["--web.listen-address=ADDRESS", "--persistence.file=FOLDER/pushed"];
    let Some(gateway) = Service::start("prometheus-pushgateway", &flags, |_| {}) else { return };
    let [written, pushed] =
        [&prometheus, &gateway].map(|service| format!("http://127.0.0.1:{}", service.port));
    let results = broadcast(&server, &["--remote-write", &written, "--pushgateway", &pushed]).json();
    let id = results["id"].as_str().unwrap();
    // Whole seconds are asked for, and the last values came within one.
    std::thread::sleep(Duration::from_secs(2));

    let page = gateway.get("/metrics");
    let kept = |name: &str| -> f64 {
        let is_it =
            |line: &&str| line.starts_with(&format!("{name}{{")) && line.contains(&format!("run=\"{id}\""));
        let line = page.lines().find(is_it).unwrap_or_else(|| panic!("{name}\n{page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    for (name, expected) in [
        ("throng_messages_sent_total", sum_of(&results, "sent")),
        ("throng_messages_received_total", sum_of(&results, "received")),
        ("throng_rtt_seconds_count", samples(&results, "rtt")),
        ("throng_delivery_seconds_count", samples(&results, "delivery")),
        ("throng_completion_seconds_count", samples(&results, "completion")),
    ] {
        assert_eq!(kept(name), expected as f64, "the gateway's {name}");
        assert_eq!(prometheus.largest(&format!("{name}{{run=\"{id}\"}}")), expected as f64, "{name}");
    }
    let in_all = format!("throng_rtt_seconds_bucket{{run=\"{id}\", le=\"+Inf\"}}");
    assert_eq!(prometheus.largest(&in_all), samples(&results, "rtt") as f64);
    let spent =
        prometheus.largest(&format!("sum by (run) (throng_time_spent_seconds_total{{run=\"{id}\"}})"));
    let in_results = spent_s(&results);
    assert!(
        (spent - in_results).abs() < 1e-3 * in_results,
        "{spent} s in Prometheus, {in_results} s in the results"
    );
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

    // The series have ended soon after the run: nothing is shown for now.
    std::thread::sleep(Duration::from_secs(6));
    let now = prometheus.get(&format!("/api/v1/query?query=throng_clients_usable%7Brun%3D%22{id}%22%7D"));
    let now: Value = serde_json::from_str(&now).unwrap();
    assert_eq!(now["data"]["result"], Value::Array(Vec::new()), "{now}");
}
