//! A run's live output, taken by such programs: a reader of lines, a scraper, a collector.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use net::proc::ProcessTree;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::Value;

use crate::support::black_hole::BlackHole;
use crate::support::endpoint::{Request, endpoint};
use crate::support::process::Process;
use crate::support::throng::{ANY_PACE, Server, finish, run, throng};
use crate::support::{REACTS_WITHIN, free_address, wait_until};

const RUN_MAX: Duration = Duration::from_secs(30);

fn echo(server: &Server, duration: &str) -> Command {
    let mut command =
        throng(["echo", "--protocol", "json", "--clients", "5", "--interval", "50ms", "--no-store"]);
    command.arg(server.url()).args(["--duration", duration]).args(ANY_PACE);
    command
}

#[test]
fn a_stream_has_a_line_for_everything() {
    let server = Server::start(&[]);
    let outcome = run(echo(&server, "3s").args(["--stream", "-"]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let lines: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        (events[0], events[events.len() - 2], events[events.len() - 1]),
        ("start", "step", "end"),
        "{outcome}"
    );
    let seconds: Vec<&Value> = lines.iter().filter(|line| line["event"] == "second").collect();
    assert!(seconds.len() >= 2, "{outcome}");
    let has_figures = |second: &&Value| second["received"] == 0 || second["p99_ms"].as_f64() > Some(0.0);
    assert!(seconds.iter().all(has_figures), "{outcome}");
    let step = &lines[lines.len() - 2]["step"];
    let of_seconds: u64 = seconds.iter().map(|second| second["received"].as_u64().unwrap()).sum();
    let received = step["counts"]["received"].as_u64().unwrap();
    assert!(received > 0 && of_seconds == received, "{of_seconds} in seconds, {received} in the step");
    assert_eq!(seconds.len(), step["series"].as_array().unwrap().len(), "the last one, too: {outcome}");
    assert!(lines.iter().all(|line| line["run"] == lines[0]["run"]));
}

#[test]
fn streams_to_files_leave_stdout_alone() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let path = dir.path().join("lines.json");
    let outcome = run(echo(&server, "300ms").args(["--format", "json", "--stream"]).arg(&path), RUN_MAX);
    outcome.assert_held();
    let lines = std::fs::read_to_string(path).unwrap();
    // A run that is held up may last a second.
    let lines: Vec<&str> = lines.lines().filter(|line| !line.contains(r#""event":"second""#)).collect();
    assert_eq!(lines.len(), 3, "start, step, end: {lines:#?}");
    assert!(outcome.json()["steps"].is_array());
}

#[test]
fn failed_starts_keep_the_last_log() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (lines, log) = (dir.path().join("lines.json"), dir.path().join("run.parquet"));
    let command = || {
        let mut command = echo(&server, "300ms");
        command.arg("--stream").arg(&lines).arg("--events").arg(&log);
        command
    };
    let both = || [std::fs::read(&lines).unwrap(), std::fs::read(&log).unwrap()];
    let first = run(&mut command(), RUN_MAX);
    assert_eq!(first.code, Some(0), "{first}");
    let kept = both();
    let down = format!("http://{}/metrics", free_address());
    for (flag, value) in [("--scrape", &down), ("--metrics", &server.address.to_string())] {
        let failed = run(command().args([flag, value]), RUN_MAX);
        assert_eq!(failed.code, Some(1), "{flag}: {failed}");
        assert!(both() == kept, "{flag}: nothing was measured, and what was is gone\n{failed}");
    }
    let second = run(&mut command(), RUN_MAX);
    assert_eq!(second.code, Some(0), "{second}");
    assert_eq!(std::fs::read_to_string(&lines).unwrap().matches(r#""event":"start""#).count(), 1, "{second}");
}

#[test]
fn silent_collectors_delay_no_results() {
    let (server, folder, hole) = (Server::start(&[]), tempfile::tempdir().unwrap(), BlackHole::open());
    let mut command = echo(&server, "3s");
    command.args(["--format", "json", "--otlp", &format!("http://{}", hole.address), "--out"]);
    let mut process = Process::start(command.arg(folder.path()));
    let is_kept = || {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let texts = files.filter_map(|file| std::fs::read_to_string(file).ok());
        texts.into_iter().any(|text| text.starts_with('{') && !text.contains("resume_after"))
    };
    assert!(wait_until(RUN_MAX, is_kept), "the end of the run is not kept");
    assert_eq!(
        process.wait(Duration::from_millis(500)),
        None,
        "what is queued for the collector takes seconds"
    );
    process.signal(Signal::INT);
    let outcome = finish(process, Duration::from_secs(2));
    assert_eq!(outcome.code, Some(130), "{outcome}");
    assert!(outcome.json()["steps"].is_array(), "{outcome}");
}

fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(REACTS_WITHIN)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn metrics_are_there_while_the_run_is_on() {
    let (server, address) = (Server::start(&[]), free_address());
    let process = Process::start(echo(&server, "4s").args(["--metrics", &address.to_string()]));
    let mut page = String::new();
    let has_latency = wait_until(RUN_MAX, || {
        page = get(address, "/metrics").unwrap_or_default();
        page.contains("throng_latency_seconds{")
    });
    assert!(has_latency, "{page}");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    let value = |name: &str| -> f64 {
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("{name}{{")))
            .unwrap_or_else(|| panic!("{name}\n{page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("throng_clients_usable"), 5.0);
    assert!(value("throng_messages_sent_total") > 0.0 && value("throng_errors_total") == 0.0, "{page}");
    assert!(get(address, "/").unwrap().starts_with("HTTP/1.1 404"), "one page");
    assert_eq!(finish(process, RUN_MAX).code, Some(0));
}

#[test]
fn metrics_wait_when_files_run_out() {
    let (server, address) = (Server::start(&[]), free_address());
    let process = Process::start(echo(&server, "60s").args(["--metrics", &address.to_string()]));
    // With the load on its way: a worker that has no files to begin with ends the run.
    let is_loading = |page: String| page.contains("throng_latency_seconds{");
    let is_shown = || wait_until(RUN_MAX, || get(address, "/metrics").is_some_and(is_loading));
    assert!(is_shown());
    let whole = getrlimit(Resource::Nofile);
    // As many as are open, which stay so: of 0, poll(2) would watch none.
    prlimit(Some(process.pid()), Resource::Nofile, Rlimit { current: Some(8), ..whole }).unwrap();
    // The accept that is under way has its descriptor already.
    let _served = TcpStream::connect(address).unwrap();
    let mut tree = ProcessTree::new(process.pid().as_raw_nonzero().get() as u32);
    let mut cpu_ns = || {
        let usage = tree.sample().unwrap();
        usage.user_ns + usage.system_ns
    };
    let before_ns = cpu_ns();
    thread::sleep(Duration::from_secs(1));
    let spent_ns = cpu_ns() - before_ns;
    assert!(spent_ns < 300_000_000, "spins: {spent_ns} ns of CPU in a second");
    prlimit(Some(process.pid()), Resource::Nofile, whole).unwrap();
    assert!(is_shown(), "it accepts again");
}

#[test]
fn a_collector_gets_every_second() {
    let server = Server::start(&[]);
    let (address, taken) = endpoint(|_| ("200 OK", "{}".to_owned()));
    let outcome = run(echo(&server, "3s").args(["--otlp", &format!("http://{address}")]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(!outcome.stderr.contains("--otlp"), "{outcome}");
    let taken: Vec<Request> = taken.try_iter().collect();
    assert!(taken.len() >= 3, "{taken:?}");
    let last = &taken[taken.len() - 1];
    assert_eq!(last.line, "POST /v1/metrics");
    let last = last.json();
    let resource = &last["resourceMetrics"][0];
    assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "throng");
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let find = |name: &str| {
        metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("{name}: {last}"))
    };
    let sent = &find("throng.messages.sent")["sum"];
    assert!(sent["isMonotonic"] == true && sent["dataPoints"][0]["asDouble"].as_f64() > Some(0.0), "{sent}");
    assert_eq!(find("throng.latency")["gauge"]["dataPoints"].as_array().unwrap().len(), 4);
    let rtt = &find("throng.rtt")["histogram"]["dataPoints"][0];
    let counts = rtt["bucketCounts"].as_array().unwrap().iter();
    let counts: Vec<u64> = counts.map(|count| count.as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(rtt["count"], counts.iter().sum::<u64>().to_string(), "{rtt}");
    assert_eq!(rtt["explicitBounds"].as_array().unwrap().len() + 1, counts.len(), "{rtt}");
}

#[test]
fn warmups_count_in_no_export() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (address, taken) = endpoint(|_| ("200 OK", "{}".to_owned()));
    let path = dir.path().join("lines.json");
    let mut command = echo(&server, "2s");
    command.args(["--warmup", "3s", "--format", "json", "--otlp", &format!("http://{address}"), "--stream"]);
    let outcome = run(command.arg(&path), RUN_MAX);
    outcome.assert_held();
    let counts = &outcome.json()["steps"][0]["counts"];
    let last = taken.try_iter().last().expect("a push").json();
    let metrics = last["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let sent = metrics.iter().find(|metric| metric["name"] == "throng.messages.sent").unwrap();
    assert_eq!(sent["sum"]["dataPoints"][0]["asDouble"].as_f64(), counts["sent"].as_f64(), "{last}");
    let lines = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seconds = lines.iter().filter(|line| line["event"] == "second");
    let (warm, measured): (Vec<&Value>, Vec<&Value>) = seconds.partition(|second| second["warmup"] == true);
    assert!(!warm.is_empty(), "{lines:#?}");
    let received: u64 = measured.iter().map(|second| second["received"].as_u64().unwrap()).sum();
    assert_eq!(Some(received), counts["received"].as_u64(), "{lines:#?}");
}

#[test]
fn failing_exports_cost_no_result() {
    let server = Server::start(&[]);
    let (refusing, _taken) = endpoint(|_| ("503 Service Unavailable", "too busy\nto talk".to_owned()));
    for (address, why) in [(refusing, "503: too busy"), (free_address(), "refused")] {
        let outcome = run(echo(&server, "300ms").args(["--otlp", &format!("http://{address}")]), RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(outcome.stderr.matches("throng: --otlp").count(), 1, "said once\n{outcome}");
        assert!(outcome.stderr.contains(why), "{outcome}");
    }
    for (flag, value, code) in [
        ("--otlp", "https://127.0.0.1:4318", 2),
        ("--otlp", "nonsense", 2),
        ("--otlp", "http://me@127.0.0.1:4318", 2),
        ("--metrics", "127.0.0.1", 2),
        ("--metrics", &server.address.to_string(), 1),
        ("--stream", "/no/such/directory/lines", 1),
    ] {
        let outcome = run(echo(&server, "60s").args([flag, value]), RUN_MAX);
        assert_eq!(outcome.code, Some(code), "{flag} {value}: {outcome}");
        let shown = value.replace("me@", "");
        assert!(outcome.stderr.contains(&shown), "{flag} {value}: {outcome}");
    }
}
