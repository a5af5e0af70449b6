//! Rooms over the protocols that have them: `{room}` in what a client joins with is the number of its own,
//! and the reference server, which knows nothing of `--room-size`, keeps them apart by that alone.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::throng::{Outcome, Server, errors_of, run, sum_of, throng};

/// A run of a second, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);
const CLIENTS: u64 = 20;
const MESSAGES: u64 = 50;

/// Fifty broadcasts of twenty clients in rooms of five.
fn broadcast(server: &Server, place: &str, dialect: &str, more: &[&str]) -> Outcome {
    broadcast_in(&["--room-size", "5"], server, place, dialect, more)
}

/// The same in other rooms.
fn broadcast_in(rooms: &[&str], server: &Server, place: &str, dialect: &str, more: &[&str]) -> Outcome {
    let url = format!("ws://{}{place}", server.address);
    let mut command = throng(["broadcast", &url, "--protocol", dialect, "--format", "json", "--quiet"]);
    if !more.contains(&"--rate") {
        command.args(["--concurrent", "4", "--sample-size", &MESSAGES.to_string()]);
    }
    if !more.contains(&"--total-steps") {
        command.args(["--clients", &CLIENTS.to_string()]);
    }
    run(command.args(rooms).args(more), RUN_MAX)
}

fn counts(results: &Value) -> [u64; 4] {
    ["expected", "received", "leaked", "unexpected"].map(|name| sum_of(results, name))
}

/// The server that throng starts itself is told who is in which room; of another it is asked where to say it.
#[test]
fn own_server_needs_no_words_for_rooms() {
    for dialect in ["json", "binary", "actioncable", "phoenix", "sockjs", "socketio", "graphql"] {
        let mut command = throng(["broadcast", "--protocol", dialect, "--clients", "20", "--room-size", "5"]);
        command.args(["--concurrent", "4", "--sample-size", "50", "--format", "json", "--quiet"]);
        let outcome = run(&mut command, RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{dialect}: {outcome}");
        assert_eq!(counts(&outcome.json()), [250, 250, 0, 0], "{dialect}: {outcome}");
    }
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("app.toml");
    std::fs::write(&app, "[broadcast]\nsend = '{\"type\":\"broadcast\",\"payload\":\"{id}\"}'\n").unwrap();
    for more in [&["--protocol", "phoenix"][..], &["--protocol", "json"], &["--app", app.to_str().unwrap()]] {
        let url = format!("ws://{}/", server.address);
        let mut command =
            throng(["broadcast", &url, "--clients", "20", "--room-size", "5", "--format", "json"]);
        let refused = run(command.args(more), RUN_MAX);
        refused.assert_failed(2, "usage.room_size", &["{room}"]);
    }
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
        ("/sockjs?room={room}", "sockjs", &[]),
        ("/sockjs?room=r-{room}", "sockjs", &["--transport", "raw-websocket"]),
        ("/sockjs?room={room}", "sockjs", &["--transport", "xhr-polling"]),
        ("/sockjs?room={room}", "sockjs", &["--transport", "eventsource", "--threads", "2"]),
        ("/socket.io/?room={room}", "socketio", &[]),
        ("/socket.io/?room={room}", "socketio", &["--transport", "polling", "--binary"]),
        ("/socket.io/?room={room}", "socketio", &["--transport", "upgrade"]),
        ("/socket.io/?room={room}", "socketio", &["--eio", "3", "--namespace", "/custom"]),
    ] {
        let outcome = broadcast(&server, place, dialect, more);
        assert_eq!(outcome.code, Some(0), "{dialect} {more:?}: {outcome}");
        let due = MESSAGES * 5;
        assert_eq!(counts(&outcome.json()), [due, due, 0, 0], "{dialect} {more:?}: {outcome}");
    }
}

#[test]
fn unequal_rooms_agree_in_joining_and_counting() {
    let server = Server::start(&[]);
    let zipf = ["--room-count", "7", "--room-zipf", "1.1"];
    for (place, dialect, more) in [
        ("/ws?room={room}", "binary", &["--threads", "3"][..]),
        ("/cable", "actioncable", &["--channel-params", r#"{"room":{room}}"#, "--processes", "2"]),
        (
            "/socket/websocket",
            "phoenix",
            &["--topic", "room:{room}", "--churn", "20%/s", "--rate", "50", "--duration", "2s"],
        ),
        ("/ws?room={room}", "json", &["--step-size", "30", "--total-steps", "3", "--threads", "2"]),
    ] {
        let outcome = broadcast_in(&zipf, &server, place, dialect, more);
        assert_eq!(outcome.code, Some(0), "{dialect} {more:?}: {outcome}");
        let [expected, received, leaked, unexpected] = counts(&outcome.json());
        let in_flight = sum_of(&outcome.json(), "in_flight");
        assert_eq!(
            [received + in_flight, leaked, unexpected],
            [expected, 0, 0],
            "{dialect} {more:?}: {outcome}"
        );
        let rooms = &outcome.json()["steps"][0]["delivery_by_room_size"];
        let sizes = rooms.as_object().unwrap().values().map(|figure| figure["count"].as_u64().unwrap());
        let of_step = outcome.json()["steps"][0]["counts"]["received"].as_u64().unwrap();
        assert_eq!(sizes.sum::<u64>(), of_step, "{dialect} {more:?}: {outcome}");
        let [least, most] = [1, 3 * 90].map(|members| members * sum_of(&outcome.json(), "sent"));
        assert!(least < expected && expected < most, "{dialect} {more:?}: {outcome}");
    }
}

#[test]
fn equal_rooms_share_the_clients() {
    let server = Server::start(&[]);
    let outcome = broadcast_in(&["--room-count", "4"], &server, "/ws?room={room}", "json", &[]);
    let of_five = &outcome.json()["steps"][0]["delivery_by_room_size"]["delivery_2_10"]["count"];
    assert_eq!(*of_five, MESSAGES * 5, "{outcome}");
    assert_eq!(counts(&outcome.json()), [MESSAGES * 5, MESSAGES * 5, 0, 0], "{outcome}");
    for (rooms, key, names) in [
        (&["--room-count", "21"][..], "room_count", &["21 ", "20"][..]),
        (&["--room-count", "10000000", "--room-zipf", "1"], "room_count", &["100,000 "]),
        (&["--room-count", "4", "--room-zipf", "0"], "room_zipf.value_validation", &["10"]),
        (&["--room-count", "4", "--room-zipf", "-1"], "room_zipf.value_validation", &["10"]),
        (&["--room-count", "4", "--room-zipf", "1e300"], "room_zipf.value_validation", &["10"]),
        (&["--room-zipf", "1"], "room_count.missing_required_argument", &[]),
        (&["--room-count", "4", "--room-size", "5"], "room_count.argument_conflict", &["--room-size"]),
    ] {
        let outcome = broadcast_in(rooms, &server, "/ws?room={room}", "json", &[]);
        outcome.assert_failed(2, &format!("usage.{key}"), names);
    }
}

#[test]
fn socketio_rooms_are_joined_by_callback() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let app = folder.path().join("app.toml");
    std::fs::write(
        &app,
        r#"
protocol = "socketio"
open = [{ event = "join", send = '"room-{room}"', replied = true }]

[broadcast]
event = "broadcast"
send = '{"text":"{id}"}'
copy = { event = "broadcast" }
replied = true
"#,
    )
    .unwrap();
    for more in [&[][..], &["--transport", "polling"], &["--transport", "upgrade"], &["--eio", "3"]] {
        // Who joins leaves the room that the URL has named.
        let more = [&["--app", app.to_str().unwrap()], more].concat();
        let outcome = broadcast(&server, "/socket.io/?room=all", "socketio", &more);
        assert_eq!(outcome.code, Some(0), "{more:?}: {outcome}");
        assert_eq!(counts(&outcome.json()), [MESSAGES * 5, MESSAGES * 5, 0, 0], "{more:?}: {outcome}");
    }
}

#[test]
fn deliberate_leaks_are_counted_exactly() {
    for (place, dialect, more) in [
        ("/ws?room={room}", "json", &[][..]),
        ("/sockjs?room={room}", "sockjs", &[]),
        ("/socket.io/?room={room}", "socketio", &[]),
        ("/cable", "actioncable", &["--channel-params", r#"{"room":{room}}"#]),
        ("/socket/websocket", "phoenix", &["--topic", "room:{room}"]),
    ] {
        let server = Server::start(&["--fault", "leak=1/5", "--threads", "1"]);
        let outcome = broadcast(&server, place, dialect, more);
        let [expected, received, leaked, unexpected] = counts(&outcome.json());
        assert_eq!((expected, received, unexpected), (MESSAGES * 5, MESSAGES * 5, 0), "{dialect}: {outcome}");
        assert_eq!(outcome.code, Some(3), "{dialect}: {outcome}");
        let Server { mut process, .. } = server;
        process.signal(Signal::TERM);
        assert!(process.wait(RUN_MAX).is_some_and(|status| status.success()));
        let (said, _) = process.into_output();
        assert!(
            leaked > 0 && said.contains(&format!("fault leak: {leaked}\n")),
            "{dialect}: {leaked}, {said}"
        );
    }
}

#[test]
fn topics_are_joined_by_rows() {
    let folder = tempfile::tempdir().unwrap();
    let people = folder.path().join("people.csv");
    let rows = (0..CLIENTS).map(|n| format!("club \"\"{}\"\"\n", n / 5));
    std::fs::write(
        &people,
        "club\n".to_owned() + &rows.map(|row| format!("\"{}\"\n", row.trim())).collect::<String>(),
    )
    .unwrap();
    let server = Server::start(&[]);
    let more = ["--topic", "room:{person.club}", "--users", people.to_str().unwrap()];
    let outcome = broadcast(&server, "/socket/websocket", "phoenix", &more);
    outcome.assert_held();
    assert_eq!(counts(&outcome.json()), [MESSAGES * 5, MESSAGES * 5, 0, 0], "{outcome}");
}

#[test]
fn sharing_senders_speak_and_others_listen() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let log = folder.path().join("events.parquet");
    let more = ["--channel-params", r#"{"room":{room}}"#, "--senders", "20%", "--threads", "2", "--events"];
    let outcome =
        broadcast(&server, "/cable", "actioncable", &[&more[..], &[log.to_str().unwrap()]].concat());
    outcome.assert_held();
    assert_eq!(counts(&outcome.json()), [MESSAGES * 5, MESSAGES * 5, 0, 0], "{outcome}");
    let of_sent = ["events", "--to", "json", "--kind", "send", log.to_str().unwrap()];
    let sent = run(&mut throng(of_sent), RUN_MAX).stdout;
    let rows = sent.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let senders: BTreeSet<u64> = rows.map(|row| row["client"].as_u64().unwrap()).collect();
    assert_eq!(senders, BTreeSet::from([0, 5, 10, 15]), "one of each room");
}

/// Each hears the other's messages, which are of another size, and blames nobody for them.
#[test]
fn runs_in_one_room_are_told_apart() {
    let server = Server::start(&[]);
    let say = |clients: &str, padding: &str| {
        let mut command =
            throng(["broadcast", &server.url(), "--clients", clients, "--rate", "20", "-d", "4s"]);
        run(command.args(["--payload-padding", padding, "--format", "json", "--quiet"]), RUN_MAX)
    };
    let runs = std::thread::scope(|scope| {
        let other = scope.spawn(|| say("3", "300"));
        [say("4", "20"), other.join().unwrap()]
    });
    for (outcome, copies) in runs.iter().zip([320, 240]) {
        let results = outcome.json();
        assert_eq!(counts(&results), [copies, copies, 0, 0], "{outcome}");
        assert_eq!(sum_of(&results, "corrupt"), 0, "{outcome}");
        assert!(errors_of(&results, "other_run") > 0, "{outcome}");
        assert!(outcome.stdout.contains("caveat.other_run"), "{outcome}");
    }
}

#[test]
fn rooms_where_the_server_does_not_look_leak() {
    let server = Server::start(&[]);
    let outcome = broadcast(&server, "/ws?channel={room}", "json", &[]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let (due, all) = (MESSAGES * 5, MESSAGES * CLIENTS);
    assert_eq!(counts(&outcome.json()), [due, due, all - due, 0], "{outcome}");
}

#[test]
fn long_topics_are_refused_before_the_run() {
    let server = Server::start(&[]);
    let long = format!("room:{}{{room}}", "x".repeat(245));
    for topic in [&long, "room:{token}"] {
        let more = ["--topic", topic, "--jwt-secret", "s"];
        let outcome = broadcast(&server, "/socket/websocket", "phoenix", &more);
        assert_eq!(outcome.code, Some(2), "{outcome}");
        assert!(outcome.stderr.contains("--topic") && outcome.stderr.contains("255 bytes"), "{outcome}");
    }
    let outcome = broadcast(&server, "/ws?room={rom}", "raw", &["--room-size", "0"]);
    assert_eq!(outcome.code, Some(2), "no rooms of nobody: {outcome}");
}
