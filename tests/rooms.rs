//! Rooms over the protocols that have them: `{room}` in what a client joins with is the number of its own, and the reference
//! server, which knows nothing of `--rooms`, keeps them apart by that alone.

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use support::throng::{Outcome, Server, run, sum_of, throng};

/// A run of a second, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);
const CLIENTS: u64 = 20;
const MESSAGES: u64 = 50;

/// Fifty broadcasts of twenty clients in rooms of five.
fn broadcast(server: &Server, place: &str, dialect: &str, more: &[&str]) -> Outcome {
    let url = format!("ws://{}{place}", server.address);
    let mut command = throng(["broadcast", &url, "--dialect", dialect, "--format", "json", "--quiet"]);
    command.args(["--clients", &CLIENTS.to_string(), "--rooms", "5", "--concurrent", "4"]);
    command.args(["--sample-size", &MESSAGES.to_string()]);
    run(command.args(more), RUN_MAX)
}

fn counts(results: &Value) -> [u64; 4] {
    ["expected", "received", "leaked", "unexpected"].map(|name| sum_of(results, name))
}

#[test]
fn each_protocol_joins_the_room_of_its_client() {
    let server = Server::start(&[]);
    for (place, dialect, more) in [
        ("/ws?room={room}", "binary", &[][..]),
        ("/ws?room=r-{room}", "json", &[]),
        ("/cable", "actioncable", &["--channel-params", r#"{"room":{room}}"#]),
        ("/cable", "actioncable", &["--channel-params", r#"{"room":"hall {room}"}"#, "--threads", "3"]),
        ("/socket/websocket", "phoenix", &["--topic", "room:{room}"]),
        ("/socket/websocket", "phoenix", &["--topic", "room:\"{room}\":x", "--vsn", "1.0.0"]),
        ("/socket/websocket", "phoenix", &["--topic", "room:{room}", "--binary", "--processes", "2"]),
    ] {
        let outcome = broadcast(&server, place, dialect, more);
        assert_eq!(outcome.code, Some(0), "{dialect} {more:?}: {outcome}");
        let due = MESSAGES * 5;
        assert_eq!(counts(&outcome.json()), [due, due, 0, 0], "{dialect} {more:?}: {outcome}");
    }
}

#[test]
fn a_topic_of_people_s_is_joined_as_their_rows_say() {
    let folder = tempfile::tempdir().unwrap();
    let people = folder.path().join("people.csv");
    let rows = (0..CLIENTS).map(|n| format!("club \"\"{}\"\"\n", n / 5));
    std::fs::write(
        &people,
        "club\n".to_owned() + &rows.map(|row| format!("\"{}\"\n", row.trim())).collect::<String>(),
    )
    .unwrap();
    let server = Server::start(&[]);
    let more = ["--topic", "room:{person.club}", "--people", people.to_str().unwrap()];
    let outcome = broadcast(&server, "/socket/websocket", "phoenix", &more);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(counts(&outcome.json()), [MESSAGES * 5, MESSAGES * 5, 0, 0], "{outcome}");
}

#[test]
fn a_share_of_the_clients_speaks_and_the_others_listen() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let log = folder.path().join("events.parquet");
    let more = ["--channel-params", r#"{"room":{room}}"#, "--senders", "20%", "--threads", "2", "--events"];
    let outcome =
        broadcast(&server, "/cable", "actioncable", &[&more[..], &[log.to_str().unwrap()]].concat());
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(counts(&outcome.json()), [MESSAGES * 5, MESSAGES * 5, 0, 0], "{outcome}");
    let of_sent = ["events", "--to", "json", "--kind", "send", log.to_str().unwrap()];
    let sent = run(&mut throng(of_sent), RUN_MAX).stdout;
    let rows = sent.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let senders: BTreeSet<u64> = rows.map(|row| row["client"].as_u64().unwrap()).collect();
    assert_eq!(senders, BTreeSet::from([0, 5, 10, 15]), "one of each room");
}

#[test]
fn rooms_that_nobody_joined_leak_and_say_how_to_join_them() {
    let server = Server::start(&[]);
    let outcome = broadcast(&server, "/ws", "json", &[]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let (due, all) = (MESSAGES * 5, MESSAGES * CLIENTS);
    assert_eq!(counts(&outcome.json()), [due, due, all - due, 0], "{outcome}");
    assert!(outcome.stderr.contains("{room}"), "{outcome}");
}

#[test]
fn a_topic_too_long_for_anybody_is_refused_before_the_run() {
    let server = Server::start(&[]);
    let long = format!("room:{}{{room}}", "x".repeat(245));
    for topic in [&long, "room:{token}"] {
        let more = ["--topic", topic, "--jwt-secret", "s"];
        let outcome = broadcast(&server, "/socket/websocket", "phoenix", &more);
        assert_eq!(outcome.code, Some(2), "{outcome}");
        assert!(outcome.stderr.contains("--topic") && outcome.stderr.contains("255 bytes"), "{outcome}");
    }
    let outcome = broadcast(&server, "/ws?room={rom}", "raw", &["--rooms", "0"]);
    assert_eq!(outcome.code, Some(2), "no rooms of nobody: {outcome}");
}
