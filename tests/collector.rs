//! OpenTelemetry's own collector takes what a run pushes by OTLP, and has understood what the results say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::process::Process;
use crate::support::target::{Unavailable, built_by_go};
use crate::support::throng::{Server, run, sum_of, throng};
use crate::support::{free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(60);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/collector")
}

/// The collector's last account of a metric.
fn last_of<'a>(printed: &'a str, name: &str) -> &'a str {
    let is_it = |metric: &&str| metric.contains(&format!("-> Name: {name}\n"));
    printed.rsplit("Metric #").find(is_it).unwrap_or_else(|| panic!("{name} in {printed}"))
}

/// The first number of this name in such an account.
fn number(metric: &str, name: &str) -> f64 {
    let value = metric.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap_or_else(|| panic!("{name} in {metric}")).parse().unwrap()
}

#[test]
fn the_collector_has_understood_what_the_results_say() {
    let collector = match built_by_go(&folder(), "collector", ".") {
        Ok(collector) => collector,
        Err(Unavailable(why)) => return skip("OpenTelemetry's collector (Go)", &why),
    };
    let (address, config) = (free_address(), tempfile::NamedTempFile::new().unwrap());
    let said = format!(
        "receivers: {{ otlp: {{ protocols: {{ http: {{ endpoint: '{address}' }} }} }} }}\n\
         exporters: {{ debug: {{ verbosity: detailed }} }}\n\
         service:\n  telemetry: {{ metrics: {{ level: none }} }}\n\
         \x20 pipelines: {{ metrics: {{ receivers: [otlp], exporters: [debug] }} }}\n"
    );
    fs::write(config.path(), said).unwrap();
    let mut command = Command::new(collector);
    let mut collector = Process::start(command.arg("--config").arg(config.path())).listening_at(address);

    let server = Server::start(&[]);
    let mut echo =
        throng(["echo", &server.url(), "--protocol", "json", "--clients", "5", "--interval", "50ms"]);
    echo.args(["--duration", "3s", "--format", "json", "--no-store"]);
    let outcome = run(echo.args(["--otlp", &format!("http://{address}")]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(!outcome.stderr.contains("--otlp"), "{outcome}");

    assert!(collector.signal(Signal::TERM) && collector.wait(RUN_MAX).is_some());
    let (stdout, stderr) = collector.into_output();
    let (printed, results) = (stdout + &stderr, outcome.json());
    assert!(printed.contains("-> service.name: Str(throng)"), "{printed}");
    let sent = last_of(&printed, "throng.messages.sent");
    assert!(sent.contains("-> DataType: Sum\n") && sent.contains("-> IsMonotonic: true\n"), "{sent}");
    assert_eq!(number(sent, "Value"), sum_of(&results, "sent") as f64, "{sent}");
    let rtt = last_of(&printed, "throng.rtt");
    assert!(rtt.contains("-> DataType: Histogram\n"), "{rtt}");
    assert_eq!(number(rtt, "Count"), sum_of(&results, "received") as f64, "{rtt}");
    let mean_s = number(rtt, "Sum") / number(rtt, "Count");
    assert!(mean_s > 0.0 && mean_s < 1.0, "{rtt}");
}
