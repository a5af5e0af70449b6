//! Clients that lose their connections and come back, against the reference server, with an outcome that is arithmetic.

mod support;

use std::time::Duration;

use serde_json::Value;

use support::throng::{Outcome, Server, errors_of, run, sum_of, throng};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(90);

/// A run of `throng broadcast` with these flags.
fn broadcast(server: &Server, flags: &str) -> Outcome {
    let path = if flags.contains("--dialect phoenix") { "socket/websocket" } else { "" };
    let url = format!("{}{path}", server.url());
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet"]);
    run(command.args(flags.split_whitespace()), RUN_MAX)
}

/// Its results, once it has ended with this code.
fn results(code: i32, server: &Server, flags: &str) -> Value {
    let outcome = broadcast(server, flags);
    assert_eq!(outcome.code, Some(code), "{flags}\n{outcome}");
    outcome.json()
}

/// Of rows about absences, the sums of a column.
fn sum(results: &Value, rows: &str, column: &str) -> u64 {
    let rows = results["steps"][0][rows].as_array().unwrap_or_else(|| panic!("no {rows}: {results:#}"));
    rows.iter().map(|row| row[column].as_u64().unwrap()).sum()
}

/// Whether everything that was sent was due once to each of these, and is in one count.
fn assert_accounted(results: &Value, hearers: u64) {
    let of = |name| sum_of(results, name);
    let heard = of("sent") - errors_of(results, "cut_off");
    assert_eq!(of("expected") + of("offline_due"), hearers * heard, "{results:#}");
    assert_eq!(of("offline_due"), of("recovered") + of("lost_offline"), "{results:#}");
    assert_eq!(of("expected"), of("received") + of("missing") + of("in_flight"), "{results:#}");
    let ways = ["due", "recovered", "count"].map(|column| sum(results, "absences", column));
    assert_eq!(ways, [of("offline_due"), of("recovered"), of("cut") + of("disconnects")], "{results:#}");
    assert!(!results["verdict"]["trust"].to_string().contains("accounted"), "{results:#}");
}

#[test]
fn what_is_sent_to_who_is_away_is_due_once_and_lost_without_a_history() {
    let server = Server::start(&["--threads", "2"]);
    for flags in [
        "--flap 1s..2s:500ms --flap-how close",
        "--flap 1s..2s:500ms --flap-how reset --dialect binary",
        "--flap 1s..2s:500ms --flap-how silence",
        "--flap 500ms..1s --flap-how close,reset,silence --dialect phoenix",
    ] {
        let load = "--clients 20 --rate 100 -d 4s --threads 2 --seed 1";
        let results = results(0, &server, &format!("{load} {flags}"));
        assert_accounted(&results, 20);
        let of = |name| sum_of(&results, name);
        assert_eq!((of("sent"), of("missing"), of("duplicate"), of("reordered")), (400, 0, 0, 0), "{flags}");
        assert!(of("cut") >= 20 && of("connected") == 20 + of("cut"), "{flags}: {results:#}");
        // What a server sends to a client that it has, and that has not heard of it yet, comes although the client was away.
        assert!(of("recovered") <= of("cut") && of("lost_offline") > 0, "{flags}: {results:#}");
        if flags.contains(":500ms") {
            // Half a second at 100/s, and what it takes to connect and was under way.
            let per_absence = of("lost_offline") as f64 / of("cut") as f64;
            assert!((48.0..70.0).contains(&per_absence), "{flags}: {per_absence} of 50");
        }
    }
}

#[test]
fn rooms_and_those_who_do_not_hear_themselves_are_accounted_for_alike() {
    let server = Server::start(&["--threads", "2"]);
    let load = "--clients 20 --rate 100 -d 4s --threads 2 --flap 1s..2s:300ms";
    let rooms = "--rooms 5 --dialect phoenix --topic room:{room}";
    let results = results(0, &server, &format!("{load} {rooms}"));
    assert_accounted(&results, 5);
    assert_eq!((sum_of(&results, "missing"), sum_of(&results, "leaked")), (0, 0), "{results:#}");
    // Everybody hears themselves there, which is nobody's due.
    let outcome = broadcast(&server, &format!("{load} --to others --allow-loss 100%"));
    let results = outcome.json();
    assert_accounted(&results, 19);
    assert_eq!(sum_of(&results, "missing"), 0, "{results:#}");
    assert!(
        (380..=400).contains(&sum_of(&results, "unexpected")),
        "own copies but those of who was cut: {results:#}"
    );
}

#[test]
fn what_a_server_drops_while_they_are_here_is_missing_and_not_a_matter_of_absence() {
    let server = Server::start(&["--threads", "1", "--fault", "drop=1%20"]);
    let load = "--clients 20 --senders 5% --rate 200 -d 6s --threads 1 --flap 3s:500ms";
    let results = results(3, &server, load);
    assert_accounted(&results, 20);
    let of = |name| sum_of(&results, name);
    let share = of("missing") as f64 / of("expected") as f64;
    // One in twenty, but for those of the last second before a connection ended.
    assert!((0.025..=0.055).contains(&share), "{share}: {results:#}");
}

#[test]
fn a_closed_loop_goes_on_while_its_clients_come_and_go() {
    let server = Server::start(&["--threads", "1"]);
    let load = "--clients 10 -c 4 -d 3s --threads 2 --flap 300ms..600ms:200ms --flap-how close,reset";
    let results = results(0, &server, load);
    assert_accounted(&results, 10);
    assert!(sum_of(&results, "cut") > 20 && sum_of(&results, "sent") > 300, "{results:#}");
}

#[test]
fn flags_that_make_no_sense_are_named() {
    for (flags, named) in [
        ("--flap often", "10s..20s:2s"),
        ("--flap 1s:1s --churn 1%/s", "--churn"),
        ("--flap-how reset", "--flap"),
        ("--flap 1s:1s --flap-how nicely", "close, reset, silence"),
    ] {
        let mut command = throng(["broadcast", "ws://127.0.0.1:1/"]);
        let outcome = run(command.args(flags.split_whitespace()), RUN_MAX);
        assert_eq!(outcome.code, Some(2), "{flags}: {outcome}");
        assert!(outcome.stderr.contains(named), "{flags}: {outcome}");
    }
}
