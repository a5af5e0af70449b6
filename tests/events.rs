//! `--events` and `throng events`: what the log says adds up to what the results say, whatever becomes of the file.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::fleet::Bus;
use crate::support::skip;
use crate::support::throng::{Outcome, Server, echo, run, throng, under};

const RUN_MAX: Duration = Duration::from_secs(30);

/// A row of the log, by `throng events --to json`.
type Row = Value;

fn rows(file: &Path, arguments: &[&str]) -> Vec<Row> {
    let outcome = run(throng(["events", "--to", "json"]).arg(file).args(arguments), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the command with an event log; its results and the log.
fn logged(command: &mut Command, file: &Path) -> (Value, Vec<Row>) {
    let outcome = run(command.arg("--events").arg(file), RUN_MAX);
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    (outcome.json(), rows(file, &[]))
}

/// Latencies of a kind at a step, in ns, ascending.
fn latencies(rows: &[Row], step: usize, kinds: &[&str]) -> Vec<u64> {
    let of = |row: &&Row| row["step"] == step && kinds.iter().any(|kind| row["kind"] == *kind);
    let mut found: Vec<u64> =
        rows.iter().filter(of).map(|row| row["latency_ns"].as_u64().expect("a latency")).collect();
    found.sort_unstable();
    found
}

fn count(rows: &[Row], step: usize, kind: &str) -> u64 {
    rows.iter().filter(|row| row["step"] == step && row["kind"] == kind).count() as u64
}

/// The figure of the results is the one of these samples: to the rounding of the file, and of the histogram.
fn assert_figure(step: &Value, figure: &str, samples: &[u64]) {
    let of =
        |name: &str| step[figure][name].as_f64().unwrap_or_else(|| panic!("no {figure}.{name} in {step}"));
    assert_eq!(of("count") as usize, samples.len(), "{figure}");
    let ms = |ns: f64| ns / 1e6;
    let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
    let exact =
        [("mean_ms", mean), ("min_ms", samples[0] as f64), ("max_ms", samples[samples.len() - 1] as f64)];
    for (name, ns) in exact {
        assert!(
            (of(name) - ms(ns)).abs() < 2e-6,
            "{figure}.{name}: {} in the results, {} in the log",
            of(name),
            ms(ns)
        );
    }
    for (name, q) in [("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)] {
        let rank = ((q * samples.len() as f64).ceil() as usize).max(1);
        let (logged, kept) = (ms(samples[rank - 1] as f64), of(name));
        assert!(
            (kept - logged).abs() <= 0.001 * logged + 0.001,
            "{figure}.{name}: {kept} in the results, {logged} in the log"
        );
    }
}

fn assert_counts(step: &Value, rows: &[Row], number: usize) {
    let counts = &step["counts"];
    let errors: u64 =
        counts["errors"].as_object().unwrap().values().map(|e| e["count"].as_u64().unwrap()).sum();
    for (name, kind) in [
        ("sent", "send"),
        ("received", "receive"),
        ("duplicate", "duplicate"),
        ("unexpected", "unexpected"),
        ("connects", "connect"),
        ("connected", "handshake"),
    ] {
        assert_eq!(counts[name].as_u64().unwrap(), count(rows, number, kind), "step {number}: {name}");
    }
    assert_eq!(errors, count(rows, number, "error"), "step {number}: errors");
}

#[test]
fn logs_of_echoes_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&["--fault", "drop=49%50,dup=19%40"]);
    let mut command = echo(&server.url(), 20, "1s");
    let (results, rows) = logged(&mut command, &dir.path().join("run.parquet"));
    let step = &results["steps"][0];
    assert_counts(step, &rows, 1);
    assert!(count(&rows, 1, "timeout") > 0 && count(&rows, 1, "duplicate") > 0, "{step}");
    assert_figure(step, "handshake", &latencies(&rows, 1, &["handshake"]));
    assert_figure(step, "send_lag", &latencies(&rows, 1, &["send"]));
    assert_figure(step, "rtt", &latencies(&rows, 1, &["receive", "timeout"]));
    let sent: Vec<_> = rows.iter().filter(|row| row["kind"] == "send").collect();
    assert!(sent.iter().all(|row| row["sender"] == row["client"] && row["bytes"].as_u64() > Some(0)));
}

/// Messages that went out in one write are each in the log.
#[test]
fn logs_of_batches_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&["--fault", "dup=19%40"]);
    let mut command = throng(["echo", &server.url(), "--format", "json", "--clients", "20"]);
    command.args(["--pipelining", "16", "--sample-size", "8000"]);
    let (results, rows) = logged(&mut command, &dir.path().join("run.parquet"));
    let step = &results["steps"][0];
    assert_counts(step, &rows, 1);
    assert_eq!((count(&rows, 1, "send"), count(&rows, 1, "duplicate")), (8_000, 200), "{step}");
    assert_figure(step, "send_lag", &latencies(&rows, 1, &["send"]));
    assert_figure(step, "rtt", &latencies(&rows, 1, &["receive"]));
    let sent: Vec<_> = rows.iter().filter(|row| row["kind"] == "send").collect();
    let bytes = &sent[0]["bytes"];
    assert!(sent.iter().all(|row| row["bytes"] == *bytes), "each has the bytes of its own message");
}

#[test]
fn departures_agree_in_log_and_figure() {
    let dir = tempfile::tempdir().unwrap();
    // Slow enough that who leaves has something under way.
    let server = Server::start(&["--fault", "delay=100ms"]);
    for (load, answer) in [
        ("echo --clients 20 --churn 100%/s --rate 400 -d 1s --threads 2", "receive"),
        ("echo --clients 20 --churn 100%/s -c 20 -d 1s --threads 2", "receive"),
        ("broadcast --clients 20 --churn 100%/s -c 20 -d 1s --threads 2", "ack"),
    ] {
        let (verb, flags) = load.split_once(' ').unwrap();
        let mut command = throng([verb, &server.url(), "--protocol", "json", "--format", "json"]);
        let command = command.args(flags.split(' '));
        let (results, rows) = logged(command, &dir.path().join("run.parquet"));
        assert!(count(&rows, 1, "timeout") > 0, "{load}: {results:#}");
        assert_figure(&results["steps"][0], "rtt", &latencies(&rows, 1, &[answer, "timeout"]));
    }
}

#[test]
fn logs_of_broadcasts_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let mut command = throng(["broadcast", "--protocol", "json", "--format", "json"]);
    command.arg(server.url()).args(["--step-size", "15", "--total-steps", "2", "--sample-size", "40"]);
    // Two processes of two threads each.
    command.args(["--processes", "2", "--threads", "2", "--limit-rtt", "20s"]);
    let (results, rows) = logged(&mut command, &dir.path().join("run.parquet"));
    let steps = results["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    for (step, number) in steps.iter().zip(1..) {
        assert_counts(step, &rows, number);
        assert_figure(step, "rtt", &latencies(&rows, number, &["ack"]));
        assert_figure(step, "delivery", &latencies(&rows, number, &["receive"]));
    }
    let mut clients: Vec<_> = rows.iter().map(|row| row["client"].as_u64().unwrap()).collect();
    clients.sort_unstable();
    clients.dedup();
    assert_eq!(clients, (0..30).collect::<Vec<_>>(), "clients are numbered over all workers");
    let copies = rows.iter().filter(|row| row["step"] == 2 && row["kind"] == "receive");
    let mut messages: Vec<_> = copies.map(|row| (row["sender"].as_u64(), row["message"].as_u64())).collect();
    messages.sort_unstable();
    messages.dedup();
    assert_eq!(messages.len(), 40, "step, sender and number name a message");
}

#[test]
fn logs_of_fleets_add_up() {
    let Some(bus) = Bus::start() else { return };
    let _agents = ["a", "b"].map(|name| bus.agent(&["--name", name, "--threads", "2"]));
    bus.await_agents(2);
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&["--threads", "1", "--fault", "drop=99%100,dup=124%250"]);
    let mut command = throng(["broadcast", "--format", "json", "--drain-timeout", "5s", "--fleet", &bus.url]);
    command.arg(server.url()).args(["--clients", "20", "-c", "4", "-s", "1500"]);
    let (results, rows) = logged(&mut command, &dir.path().join("run.parquet"));
    let step = &results["steps"][0];
    assert_counts(step, &rows, 1);
    assert_eq!((count(&rows, 1, "receive"), count(&rows, 1, "duplicate")), (29_700, 120), "{step}");
    assert_figure(step, "delivery", &latencies(&rows, 1, &["receive"]));
    let mut clients: Vec<_> = rows.iter().map(|row| row["client"].as_u64().unwrap()).collect();
    clients.sort_unstable();
    clients.dedup();
    assert_eq!(clients, (0..20).collect::<Vec<_>>(), "both agents' clients");
    assert_eq!(rows.iter().filter(|row| row["kind"] == "close").count(), 20, "to the last event");
}

#[test]
fn unwanted_events_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.parquet");
    let server = Server::start(&[]);
    let (_, all) = logged(&mut echo(&server.url(), 3, "300ms"), &file);
    let some = rows(&file, &["--kind", "send,close", "--client", "0,2", "--step", "1"]);
    let wanted = |row: &&Row| {
        (row["kind"] == "send" || row["kind"] == "close") && row["client"] != 1 && row["step"] == 1
    };
    assert_eq!(some, all.iter().filter(wanted).cloned().collect::<Vec<_>>());
    assert!(some.iter().any(|row| row["kind"] == "close"), "we have said goodbye");

    let csv = run(throng(["events"]).arg(&file), RUN_MAX).stdout;
    assert_eq!(csv.lines().count(), 1 + all.len());
    assert!(csv.starts_with("time_ns,kind,step,client,sender,message,latency_ns,bytes,detail\n"), "{csv}");

    let wrong = run(throng(["events", "--kind", "sneeze"]).arg(&file), RUN_MAX);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("handshake"), "{wrong}");
}

#[test]
fn files_that_are_no_whole_logs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.parquet");
    let server = Server::start(&[]);
    logged(&mut echo(&server.url(), 3, "300ms"), &file);
    let whole = fs::read(&file).unwrap();
    let read = |bytes: &[u8]| -> Outcome {
        fs::write(&file, bytes).unwrap();
        run(throng(["events"]).arg(&file), RUN_MAX)
    };
    for cut in [0, 3, 100, whole.len() / 2, whole.len() - 1] {
        let outcome = read(&whole[..cut]);
        assert_eq!(outcome.code, Some(2), "{cut} bytes: {outcome}");
        assert!(outcome.stderr.contains("run.parquet"), "{outcome}");
    }
    // The pages are damaged, the footer is whole.
    let outcome = read(&[&whole[..20], &[0xa5; 200][..], &whole[220..]].concat());
    assert_eq!(outcome.code, Some(2), "{outcome}");

    let absent = run(throng(["events"]).arg(dir.path().join("none.parquet")), RUN_MAX);
    assert_eq!((absent.code, &*absent.stdout), (Some(1), ""), "{absent}");
    let folder = run(throng(["events"]).arg(dir.path()), RUN_MAX);
    assert!(
        folder.code == Some(1) && !folder.stderr.contains("cut short"),
        "no log was ever there: {folder}"
    );
    // Found out before the load, not after it.
    let nowhere = run(echo(&server.url(), 2, "60s").arg("--events").arg(dir.path().join("no/dir")), RUN_MAX);
    assert_eq!(nowhere.code, Some(1), "{nowhere}");
}

#[test]
fn full_disks_cost_only_the_log() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    // 16 KiB are less than one group of rows; what is there at the end has to be read before the disk is gone.
    let script = r#"mount -t tmpfs -o size=16k none "$0" && { "$@" --events "$0/run.parquet"; code=$?
        "$1" events "$0/run.parquet" >&2 || exit 99; exit $code; }"#;
    let mut full = Command::new("unshare");
    full.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(folder.path());
    let echo = many_echoes(&server);
    full.arg(echo.get_program()).args(echo.get_args());
    let full = run(&mut full, RUN_MAX);
    if full.stderr.starts_with("unshare:") || full.stderr.starts_with("mount:") {
        return skip("a full disk", &full.stderr);
    }
    assert_log_ends_early(&full, "No space left");
    assert!(full.stderr.contains("time_ns,kind"), "what had been written does not read\n{full}");
}

#[test]
fn file_size_limits_cost_only_the_log() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.parquet");
    let mut limited = under("prlimit", &["--fsize=16384", "--"], &many_echoes(&server));
    let limited = run(limited.arg("--events").arg(&file), RUN_MAX);
    assert_log_ends_early(&limited, "File too large");
    let read = run(throng(["events"]).arg(&file), RUN_MAX);
    assert!(read.stdout.starts_with("time_ns,kind"), "what had been written does not read\n{read}");
}

/// More events than 16 KiB hold.
fn many_echoes(server: &Server) -> Command {
    let mut echo = throng(["echo", "--protocol", "json", "--format", "json", "--quiet", "--no-store"]);
    echo.arg(server.url()).args("--drain-timeout 1s --total-steps 1".split(' '));
    echo.args("--concurrent 50 --step-size 50 --sample-size 20k".split(' '));
    echo
}

/// The run was measured in full, and says why its log was not.
fn assert_log_ends_early(outcome: &Outcome, why: &str) {
    outcome.assert_held();
    assert!(outcome.stderr.contains("the event log ends here") && outcome.stderr.contains(why), "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["counts"]["received"], 20_000);
}
