//! Clients that lose their connections and come back, against the reference server, with an outcome that is arithmetic.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::cases::check_all;
use crate::support::hostile::HostileServer;
use crate::support::throng::{Outcome, Server, caveat, errors_of, run, sum_of, throng};
use crate::support::{in_time, timed};

/// A run of a few seconds, on a busy machine.
pub(crate) const RUN_MAX: Duration = Duration::from_secs(90);

/// A run of `throng broadcast` with these flags.
fn broadcast(server: &Server, flags: &str) -> Outcome {
    let path = match flags {
        _ if flags.contains("--protocol phoenix") => "socket/websocket",
        _ if flags.contains("--protocol socketio") => "socket.io/",
        _ if flags.contains("--protocol sockjs") => "sockjs",
        _ if flags.contains("--protocol actioncable") => "cable",
        _ => "",
    };
    let url = format!("{}{path}", server.url());
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet"]);
    run(command.args(flags.split_whitespace()), RUN_MAX)
}

/// Its results, once it has ended with this code, or with a rate that a busy machine does not keep.
pub(crate) fn results(code: i32, server: &Server, flags: &str) -> Value {
    let outcome = broadcast(server, flags);
    match code {
        0 => outcome.assert_held(),
        _ => assert_eq!(outcome.code, Some(code), "{flags}\n{outcome}"),
    }
    outcome.json()
}

/// The sum of a column of rows about absences.
fn sum(results: &Value, rows: &str, column: &str) -> u64 {
    let rows = results["steps"][0][rows].as_array().unwrap_or_else(|| panic!("no {rows}: {results:#}"));
    rows.iter().map(|row| row[column].as_u64().unwrap()).sum()
}

/// Checks that everything that was sent was due once to each of these, and is in one count.
pub(crate) fn assert_accounted(results: &Value, hearers: u64) {
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
fn messages_for_absentees_need_a_history() {
    let cases = [
        "--flap 1s..2s:500ms --flap-how close",
        "--flap 1s..2s:500ms --flap-how reset --protocol binary",
        "--flap 1s..2s:500ms --flap-how silence",
        "--flap 500ms..1s --flap-how close,reset,silence --protocol phoenix",
    ];
    let check = |flags: &&str| {
        let server = Server::start(&["--threads", "2"]);
        let load = "--clients 20 --rate 100 -d 4s --threads 2 --seed 1";
        let results = results(0, &server, &format!("{load} {flags}"));
        assert_accounted(&results, 20);
        let of = |name| sum_of(&results, name);
        assert_eq!((of("sent"), of("missing"), of("duplicate"), of("reordered")), (400, 0, 0, 0), "{flags}");
        assert!(of("cut") >= 20 && of("connected") == 20 + of("cut"), "{flags}: {results:#}");
        // What a server sends to a client that it has, and that has not heard of it yet, comes although the
        // client was away.
        assert!(of("recovered") <= of("cut") && of("lost_offline") > 0, "{flags}: {results:#}");
        // A broadcast is complete when those have it who are here: it waits for nobody who is away, who lost
        // it for good.
        let completion = results["steps"][0]["completion"]["p50_ms"].as_f64().unwrap();
        in_time(completion < 300.0, || format!("{results:#}"))?;
        if flags.contains(":500ms") {
            // Half a second at 100/s, and what it takes to connect and was under way.
            let per_absence = of("lost_offline") as f64 / of("cut") as f64;
            in_time((48.0..70.0).contains(&per_absence), || format!("{per_absence} of 50"))?;
        }
        Ok(())
    };
    check_all(&cases, |flags| (*flags).to_owned(), |flags| timed(|| check(flags)));
}

#[test]
fn flapping_rooms_are_accounted_for() {
    let server = Server::start(&["--threads", "2"]);
    let load = "--clients 20 --rate 100 -d 4s --threads 2 --flap 1s..2s:300ms";
    let rooms = "--room-size 5 --protocol phoenix --topic room:{room}";
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
fn drops_while_present_are_missing() {
    timed(|| {
        let server = Server::start(&["--threads", "1", "--fault", "drop=1%20"]);
        let load = "--clients 20 --senders 5% --rate 200 -d 6s --threads 1 --flap 3s:500ms";
        let results = results(3, &server, load);
        assert_accounted(&results, 20);
        let of = |name| sum_of(&results, name);
        let share = of("missing") as f64 / of("expected") as f64;
        // One in twenty, but for those of the last second before a connection ended.
        in_time((0.025..=0.055).contains(&share), || format!("{share}: {results:#}"))
    });
}

#[test]
fn closed_loops_go_on_while_flapping() {
    let server = Server::start(&["--threads", "1"]);
    let load = "--clients 10 -c 4 -d 3s --threads 2 --flap 300ms..600ms:200ms --flap-how close,reset";
    let results = results(0, &server, load);
    assert_accounted(&results, 10);
    assert!(sum_of(&results, "cut") > 20 && sum_of(&results, "sent") > 300, "{results:#}");
}

/// A hundred a second, for six seconds, from one client alone.
const ALONE: &str =
    "--clients 1 --rate 100 -d 6s --threads 1 --seed 1 --connect-timeout 30s --flap-how close";

#[test]
fn unsent_messages_are_not_the_servers_fault() {
    let server = Server::start(&["--threads", "1"]);
    let audit = |_| {
        let mut audit = throng(["audit", &server.url(), "--format", "json", "--quiet", "--flap", "1s:1s"]);
        run(audit.args(ALONE.split(' ')), RUN_MAX)
    };
    // A copy that is under way as its client leaves is due to one who is away: then something can be said of that.
    let outcome = (0..4).map(audit).find(|outcome| sum_of(&outcome.json(), "offline_due") == 0);
    let outcome = outcome.expect("copies take a fraction of a millisecond, most of the time");
    let results = outcome.json();
    let [sent, nobody] = ["sent", "nobody_to_send"].map(|name| sum_of(&results, name));
    assert_eq!((sent + nobody, errors_of(&results, "unsent")), (600, 0), "{outcome}");
    assert!(sent > 0 && nobody > 100, "{outcome}");
    let messages = caveat(&results, "nobody_to_send").map(|caveat| &caveat["messages"]);
    assert_eq!(messages.and_then(serde_json::Value::as_u64), Some(nobody), "{outcome}");
}

#[test]
fn refused_returns_are_the_servers_fault() {
    let (answer, back) = (|frame: &[u8]| vec![frame.to_vec()], AtomicBool::new(false));
    let server = HostileServer::start(move |peer| match back.swap(true, Ordering::Relaxed) {
        false => peer.upgrade().answer_all(answer),
        true => peer.reset(),
    });
    let mut echo = throng(["broadcast", &server.url(), "--format", "json", "--quiet", "--no-preflight"]);
    let flags = format!("{ALONE} --flap 1s:200ms --protocol json --allow-loss 100% --drain-timeout 2s");
    let outcome = run(echo.args(flags.split(' ')), RUN_MAX);
    let results = outcome.json();
    let [sent, nobody] = ["sent", "nobody_to_send"].map(|name| sum_of(&results, name));
    assert_eq!(sent + nobody + errors_of(&results, "unsent"), 600, "{outcome}");
    assert!(errors_of(&results, "unsent") > 200, "{outcome}");
    assert_eq!(sum_of(&results, "not_back"), 1, "{outcome}");
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

#[test]
fn files_say_how_clients_drop() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let app = folder.path().join("app.toml");
    let written = |flap: &str| {
        let text = format!(
            "[broadcast]\nsend = '{{\"type\":\"broadcast\",\"payload\":\"{{id}}\"}}'\ncopy = {{ json = {{ \"/type\" = \"broadcast\" }} }}\n\
             ack = {{ json = {{ \"/type\" = \"broadcastResult\" }} }}\n{flap}"
        );
        std::fs::write(&app, text).unwrap();
    };
    let run_with = |more: &[&str]| {
        let url = format!("ws://{}/", server.address);
        let mut command = throng(["broadcast", &url, "--clients", "20", "--rate", "50", "--duration", "3s"]);
        command.args(["--quiet", "--no-store", "--format", "json", "--app"]).arg(&app);
        run(command.args(more), Duration::from_secs(60))
    };
    written("[flap]\nup = \"500ms..1s\"\naway = \"200ms\"\nhow = [\"close\"]\n");
    let results = run_with(&[]).json();
    let ways = |results: &serde_json::Value| -> Vec<String> {
        let absences = results["steps"][0]["absences"].as_array().unwrap();
        absences.iter().map(|absence| absence["ended_by"].as_str().unwrap().to_owned()).collect()
    };
    assert!(sum_of(&results, "cut") > 20 && ways(&results).iter().all(|way| way == "close"), "{results}");
    let results = run_with(&["--flap-how", "reset"]).json();
    assert!(ways(&results).iter().all(|way| way == "reset"), "flags take precedence: {results}");
    for (flap, more, key, named) in [
        ("[flap]\nup = \"often\"\n", &[][..], "file", "app.toml:6:6"),
        ("[flap]\nup = \"1s\"\nhow = [\"quietly\"]\n", &[], "file", "app.toml:7:8"),
        ("[flap]\nup = \"1s\"\n", &["--churn", "1%/s"], "churn", "[flap]"),
    ] {
        written(flap);
        run_with(more).assert_failed(2, &format!("usage.{key}"), &[named]);
    }
}
