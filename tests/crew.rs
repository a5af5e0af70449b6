//! Many workers, one result: however threads and processes share the load, the sums are the same.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::throng::{Server, finish, run, throng};
use crate::support::{free_address, in_time, timed};

const RUN_MAX: Duration = Duration::from_secs(60);

/// The only step of a run with these flags.
fn step(url: &str, verb: &str, flags: &[&str]) -> Value {
    step_that_ends(Some(0), url, verb, flags)
}

/// The same of a run that ends with this code.
fn step_that_ends(code: Option<i32>, url: &str, verb: &str, flags: &[&str]) -> Value {
    let outcome = run(throng([verb, url, "--format", "json"]).args(flags), RUN_MAX);
    assert_eq!(outcome.code, code, "{outcome}");
    let mut results = outcome.json();
    let steps = results["steps"].as_array_mut().expect("steps");
    assert_eq!(steps.len(), 1, "{outcome}");
    steps.remove(0)
}

fn count(step: &Value, name: &str) -> u64 {
    step["counts"][name].as_u64().unwrap_or_else(|| panic!("no count {name} in {}", step["counts"]))
}

#[test]
fn broadcasts_reach_everybody_once() {
    let server = Server::start(&["--threads", "2"]);
    for (processes, threads) in [("1", "1"), ("1", "3"), ("3", "1"), ("2", "2")] {
        let flags =
            ["--clients", "601", "-c", "6", "-s", "60", "--processes", processes, "--threads", threads];
        let step = step(&server.url(), "broadcast", &flags);
        let spread = format!("{processes} processes of {threads} threads");
        assert_eq!(count(&step, "sent"), 60, "{spread}");
        assert_eq!(count(&step, "expected"), 60 * 601, "{spread}");
        assert_eq!(count(&step, "received"), 60 * 601, "{spread}");
        for name in ["missing", "duplicate", "reordered", "unexpected", "corrupt"] {
            assert_eq!(count(&step, name), 0, "{name} with {spread}");
        }
        assert_eq!(step["delivery"]["count"], 60 * 601, "a sample for each copy, with {spread}");
        assert_eq!(step["completion"]["count"], 60, "{spread}");
        assert_eq!(step["rtt"]["count"], 60, "{spread}");
        assert_eq!(step["agents"].as_u64(), processes.parse().ok(), "{spread}");
    }
}

#[test]
fn copies_come_once_at_two_addresses() {
    let at_two = |flags: &[&str]| {
        let other = free_address().to_string();
        let server = Server::start(&[&["--listen", &other], flags].concat());
        (server, other)
    };
    let (processes, threads) = (at_two(&["--processes", "2", "--threads", "2"]), at_two(&["--threads", "2"]));
    // A session of plain requests belongs to one process, which only a balancer could know.
    let cases = [
        (&processes, "ws", "/ws", "--protocol json"),
        (&processes, "ws", "/ws", "--protocol binary"),
        (&processes, "ws", "/cable", "--protocol actioncable"),
        (&processes, "ws", "/socket/websocket", "--protocol phoenix"),
        (&processes, "ws", "/sockjs", "--protocol sockjs"),
        (&threads, "http", "/sockjs", "--protocol sockjs --transport xhr-streaming"),
        (&processes, "ws", "/socket.io/", "--protocol socketio"),
        (&threads, "http", "/socket.io/", "--protocol socketio --transport polling"),
    ];
    for ((server, other), scheme, path, protocol) in cases {
        let mut flags = vec!["--also", other, "--clients", "12", "-c", "6", "-s", "60"];
        flags.extend(["--drain-timeout", "10s", "--connect-timeout", "10s"]);
        flags.extend(protocol.split_ascii_whitespace());
        let step = step(&format!("{scheme}://{}{path}", server.address), "broadcast", &flags);
        let counts = ["sent", "expected", "received", "missing", "duplicate", "reordered"];
        assert_eq!(counts.map(|name| count(&step, name)), [60, 720, 720, 0, 0, 0], "{protocol}");
    }
}

#[test]
fn clients_are_spread_over_all_addresses() {
    let (first, second) = (Server::start(&[]), Server::start(&[]));
    let other = second.address.to_string();
    let step = step(&first.url(), "echo", &["--also", &other, "--clients", "12", "-c", "12", "-s", "24"]);
    assert_eq!(count(&step, "received"), 24);
    for server in [first, second] {
        assert!(server.process.signal(Signal::TERM));
        let outcome = finish(server.process, RUN_MAX);
        let served = outcome.stdout.lines().find_map(|line| line.strip_prefix("served ")?.split_once(' '));
        let count: u64 = served.expect("it counts connections").0.parse().unwrap();
        // Six clients each, and a few looks whether the server listens and answers.
        assert!((6..=9).contains(&count), "{outcome}");
    }
}

#[test]
fn many_workers_send_the_whole_schedule() {
    let server = Server::start(&[]);
    let flags =
        ["--clients", "50", "--rate", "997", "--duration", "2s", "--processes", "2", "--threads", "2"];
    let step = step(&server.url(), "echo", &flags);
    assert_eq!(count(&step, "sent"), 2 * 997);
    assert_eq!(count(&step, "received"), 2 * 997);
    assert_eq!(step["rates"]["asked_per_s"], 997.0);
}

#[test]
fn waiting_for_lost_messages_is_busy_time() {
    timed(assert_as_busy);
}

fn assert_as_busy() -> Result<(), String> {
    // The last echo is lost, and two seconds pass until that is known.
    for (flags, sent) in [("--rate 5000 --duration 1s", 5_000), ("-c 20 -s 40000", 40_000)] {
        let fault = format!("drop={}", sent - 1);
        let server = Server::start(&["--threads", "1", "--fault", &fault]);
        let flags: Vec<&str> = "--clients 20 --threads 1".split(' ').chain(flags.split(' ')).collect();
        let step = step_that_ends(Some(3), &server.url(), "echo", &flags);
        assert_eq!((count(&step, "sent"), count(&step, "missing")), (sent, 1), "{flags:?}");
        for who in ["server", "generator"] {
            let percent = |figure: &str| step[who][figure].as_f64().expect(figure);
            let (mean, peak) = (percent("cpu_percent_mean"), percent("cpu_percent_peak"));
            in_time(mean > 0.5 * peak, || format!("{who} with {flags:?}: {mean}% of {peak}%"))?;
        }
    }
    Ok(())
}

#[test]
fn walks_show_the_breaking_step() {
    let server = Server::start(&[]);
    let flags = ["--step-size", "20", "--initial-clients", "10", "--total-steps", "3", "--format", "json"];
    let outcome = run(throng(["broadcast", &server.url(), "--limit-rtt", "20s"]).args(flags), RUN_MAX);
    let results = outcome.json();
    let clients: Vec<_> =
        results["steps"].as_array().unwrap().iter().map(|step| step["clients"].as_u64()).collect();
    assert_eq!(clients, [Some(10), Some(30), Some(50)], "{outcome}");

    let broken = run(throng(["broadcast", &server.url(), "--limit-rtt", "1ns"]).args(flags), RUN_MAX);
    assert_eq!(broken.code, Some(3), "a walk ends at its limit, but it has held nothing\n{broken}");
    assert_eq!(broken.json()["steps"].as_array().map(Vec::len), Some(1), "{broken}");
}

#[test]
fn broadcast_steps_have_enough_samples() {
    let server = Server::start(&[]);
    let flags = ["--step-size", "5", "--total-steps", "1", "--limit-rtt", "20s", "--format", "json"];
    let results = run(throng(["broadcast", &server.url()]).args(flags), RUN_MAX).json();
    let marked = results["steps"][0]["rtt"]["marked"].to_string();
    assert!(!marked.contains("p95") && marked.contains("p99"), "{marked}");
    assert_eq!(results["steps"][0]["rtt"]["count"], 200);
}

#[test]
fn a_search_answers_with_an_interval() {
    let server = Server::start(&[]);
    let flags =
        ["--search", "--step-size", "50", "--max-clients", "100", "--limit-rtt", "1m", "--format", "json"];
    let outcome = run(throng(["broadcast", &server.url()]).args(flags), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let capacity = &outcome.json()["verdict"]["capacity"];
    assert_eq!(capacity["clients"], 100, "{outcome}");
    assert!(capacity["low"].is_u64(), "{outcome}");
    assert!(capacity["high"].is_null(), "nothing failed, so there is no upper bound\n{outcome}");
}

#[test]
fn idle_connections_are_held_and_weighed() {
    let server = Server::start(&[]);
    let flags = ["--clients", "2000", "--connect-rate", "1500", "--duration", "1s", "--format", "json"];
    let outcome = run(throng(["idle", &server.url()]).args(flags), RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    assert_eq!(results["steps"][0]["counts"]["connected"], 2000, "{outcome}");
    assert_eq!(results["steps"][0]["counts"]["disconnects"], 0, "{outcome}");
    assert!(results["verdict"]["memory_per_client"].is_object(), "{outcome}");
}

#[test]
fn after_a_storm_everybody_is_back() {
    let server = Server::start(&[]);
    let flags =
        ["--clients", "500", "--share", "40%", "--lead", "500ms", "--duration", "5s", "--format", "json"];
    let flags = flags.iter().copied().chain(["--processes", "2", "--window", "500ms"]);
    let outcome = run(throng(["storm", &server.url()]).args(flags), RUN_MAX);
    outcome.assert_held();
    let step = &outcome.json()["steps"][0];
    assert_eq!(
        step["recovery"]["count"], 200,
        "a sample for each client that lost its connection\n{outcome}"
    );
    assert!(step["recovery"]["max_ms"].as_f64() < Some(5000.0), "{outcome}");
    assert_eq!((count(step, "connects"), count(step, "connected")), (700, 700), "{outcome}");
    assert_eq!(count(step, "missing"), 0, "those who stayed lost nothing\n{outcome}");
}

#[test]
fn a_sweep_tells_what_each_level_carries() {
    timed(assert_each_level_carries);
}

fn assert_each_level_carries() -> Result<(), String> {
    let server = Server::start(&[]);
    let flags = ["--levels", "5,10", "--first-rate", "50", "--max-rate", "100", "--duration", "2s"];
    let outcome = run(throng(["saturate", &server.url(), "--format", "json"]).args(flags), RUN_MAX);
    let results = outcome.json();
    let steps = results["steps"].as_array().unwrap();
    let mut limits = steps.iter().filter_map(|step| step["standing"].as_array()).flatten();
    let is_missed = limits.any(|limit| limit["limit"] == "rate>=99%" && limit["passed"] == false);
    in_time(!is_missed, || format!("rate missed: {outcome}"))?;
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let rates: Vec<_> = steps.iter().map(|step| step["rates"]["asked_per_s"].as_f64()).collect();
    assert_eq!(rates, [Some(50.0), Some(100.0), Some(50.0), Some(100.0)], "{outcome}");
    let levels = results["verdict"]["levels"].as_array().unwrap();
    let safe: Vec<_> =
        levels.iter().map(|level| (level["clients"].as_u64(), level["safe_per_s"].as_f64())).collect();
    assert_eq!(safe, [(Some(5), Some(100.0)), (Some(10), Some(100.0))], "{outcome}");
    Ok(())
}
