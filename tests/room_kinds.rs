//! Rooms of several kinds, and several kinds of messages: everybody is in one room of each kind, over the
//! protocols that have rooms, and each kind of messages is accounted for by itself. The reference server
//! knows nothing of kinds: it keeps apart what has different names.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::throng::{Outcome, Server, run, sum_of, throng};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(90);
const CLIENTS: u64 = 20;
const MESSAGES: u64 = 60;
/// How many share a room of the other kind than one's own.
const GROUP: u64 = 5;

const SIZES: [(&str, u64); 2] = [("own", 1), ("group", GROUP)];

/// The app's file: who is in which rooms, with what joins each and what is said there.
fn app(protocol: &str, join: fn(&str) -> String, say: fn(&str) -> String) -> String {
    let of_kind = |(name, size): (&str, u64)| {
        format!(
            "[room.{name}]\nsize = {size}\njoin = {}\n\n[say.{name}]\nroom = \"{name}\"\n{}\n",
            join(name),
            say(name)
        )
    };
    format!("protocol = \"{protocol}\"\n\n{}", SIZES.map(of_kind).join("\n"))
}

fn plain() -> String {
    app(
        "plain",
        |name| {
            let send = format!(r#"{{"type":"join","room":"{name}-{{room}}"}}"#);
            format!("{{ send = '{send}', expect = {{ json = {{ \"/type\" = \"joined\" }} }} }}")
        },
        |name| {
            format!(
                "body = '{{\"type\":\"broadcast\",\"room\":\"{name}-{{room}}\",\"payload\":\"{{id}}\"}}'\n\
                 copy = {{ json = {{ \"/type\" = \"broadcast\" }} }}\n\
                 ack = {{ json = {{ \"/type\" = \"broadcastResult\" }} }}"
            )
        },
    )
}

fn phoenix() -> String {
    app(
        "phoenix",
        |name| format!("{{ topic = \"room:{name}-{{room}}\" }}"),
        |_| "event = \"broadcast\"\nbody = '{\"text\":\"{id}\"}'\nreplied = true".to_owned(),
    )
}

fn actioncable() -> String {
    app(
        "actioncable",
        |name| format!("{{ channel = \"BenchmarkChannel\", params = '{{\"{name}\":{{room}}}}' }}"),
        |_| {
            "event = \"broadcast\"\nbody = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/action\" = \"broadcast\" } }\n\
             ack = { json = { \"/action\" = \"broadcastResult\" } }"
                .to_owned()
        },
    )
}

fn socketio() -> String {
    app(
        "socketio",
        |name| format!("{{ event = \"join\", send = '\"{name}-{{room}}\"', replied = true }}"),
        |name| {
            format!(
                "event = \"broadcast\"\nbody = '{{\"room\":\"{name}-{{room}}\",\"text\":\"{{id}}\"}}'\n\
                 copy = {{ event = \"broadcast\" }}\nreplied = true"
            )
        },
    )
}

/// Runs the app against the server.
fn run_app(server: &Server, place: &str, app: &str, more: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, app).unwrap();
    run_file(server, place, &file, more)
}

fn run_file(server: &Server, place: &str, file: &Path, more: &[&str]) -> Outcome {
    let url = format!("ws://{}{place}", server.address);
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet"]);
    command.arg("--app").arg(file).args(["--clients", &CLIENTS.to_string()]);
    if !more.contains(&"--rate") {
        command.args(["--concurrent", "4", "--sample-size", &MESSAGES.to_string()]);
    }
    run(command.args(more), RUN_MAX)
}

/// The counts of a kind of messages: sent, expected, received, missing, in flight, leaked.
fn counts_of(results: &Value, name: &str) -> [u64; 6] {
    let says = results["steps"][0]["says"].as_array().unwrap_or_else(|| panic!("no kinds in {results}"));
    let say = says.iter().find(|say| say["name"] == name).unwrap_or_else(|| panic!("no {name} in {says:?}"));
    assert_eq!(say["room"], name, "{say}");
    ["sent", "expected", "received", "missing", "in_flight", "leaked"]
        .map(|count| say["counts"][count].as_u64().unwrap_or(0))
}

/// Checks that the kinds add up to the whole, name by name.
fn add_up(results: &Value, outcome: &Outcome) {
    let kinds = SIZES.map(|(name, _)| counts_of(results, name));
    for (at, count) in ["sent", "expected", "received", "missing", "in_flight"].iter().enumerate() {
        assert_eq!(kinds[0][at] + kinds[1][at], sum_of(results, count), "{count}: {outcome}");
    }
    for [_, expected, received, missing, in_flight, _] in kinds {
        assert_eq!(expected, received + missing + in_flight, "{outcome}");
    }
}

#[test]
fn everybody_joins_each_kind_of_rooms() {
    let server = Server::start(&[]);
    for (place, app, more) in [
        ("/ws", plain(), &["--threads", "3"][..]),
        ("/socket/websocket", phoenix(), &["--processes", "2"]),
        ("/socket/websocket", phoenix(), &["--vsn", "1.0.0"]),
        ("/cable", actioncable(), &["--threads", "2"]),
        ("/socket.io/", socketio(), &[]),
        ("/socket.io/?room=all", socketio(), &["--transport", "polling"]),
        ("/socket.io/", socketio(), &["--transport", "upgrade", "--threads", "2"]),
    ] {
        let outcome = run_app(&server, place, &app, more);
        assert_eq!(outcome.code, Some(0), "{place} {more:?}: {outcome}");
        let results = outcome.json();
        for (name, size) in SIZES {
            let [sent, expected, received, rest @ ..] = counts_of(&results, name);
            assert!(sent > 0, "{place} {more:?}: {outcome}");
            assert_eq!((expected, received), (sent * size, sent * size), "{place} {more:?}: {outcome}");
            assert_eq!(rest, [0; 3], "{place} {more:?}: {outcome}");
        }
        assert_eq!(sum_of(&results, "unexpected"), 0, "{place} {more:?}: {outcome}");
        add_up(&results, &outcome);
    }
}

/// Rooms as the data says: of unequal size, under names that no URL has as they are, in any number of processes.
#[test]
fn rooms_are_those_of_a_column() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let teams = [
        "red",
        "blue \\ green",
        "red",
        "red",
        "ünï \"x\"",
        "red",
        "blue \\ green",
        "red",
        "red",
        "blue \\ green",
    ];
    let rows = teams.map(|team| format!("\"{}\"\n", team.replace('"', "\"\""))).concat();
    std::fs::write(folder.path().join("users.csv"), format!("team\n{rows}")).unwrap();
    let app = phoenix()
        .replace("protocol = \"phoenix\"\n", "protocol = \"phoenix\"\ndata = \"users.csv\"\n")
        .replace("size = 5\n", "of = \"{person.team}\"\n");
    let file = folder.path().join("app.toml");
    std::fs::write(&file, app).unwrap();
    for processes in ["1", "2"] {
        let more = ["--rate", "100", "--duration", "2s", "--processes", processes];
        let outcome = run_file(&server, "/socket/websocket", &file, &more);
        outcome.assert_held();
        let results = outcome.json();
        let [sent, expected, received, rest @ ..] = counts_of(&results, "group");
        // Twenty people take ten rows: there are twice as many in each team, 12, 6 and 2 of them, and all say as much.
        assert_eq!((expected, rest), (received, [0; 3]), "{outcome}");
        let mean = received as f64 / sent as f64;
        assert!((mean - (144.0 + 36.0 + 4.0) / 20.0).abs() < 0.5, "{mean}: {outcome}");
        add_up(&results, &outcome);
    }
}

/// Two people say much in a room of everybody and in one of four, whose messages overtake each other.
#[test]
fn rooms_have_no_common_order() {
    const PEOPLE: u64 = 200;
    let server = Server::start(&[]);
    let app =
        plain().replace("size = 1\n", &format!("size = {PEOPLE}\n")).replace("size = 5\n", "size = 4\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, app).unwrap();
    let url = format!("ws://{}/ws", server.address);
    let mut command = throng(["run", file.to_str().unwrap(), &url, "--format", "json", "--quiet"]);
    command.args(["--clients", &PEOPLE.to_string(), "--senders", "1%", "--rate", "600", "--duration", "2s"]);
    let outcome = run(command.args(["--threads", "1"]), RUN_MAX);
    let results = outcome.json();
    assert_eq!(sum_of(&results, "sent"), 1200, "{outcome}");
    for (name, size) in [("own", PEOPLE), ("group", 4)] {
        let [sent, expected, received, ..] = counts_of(&results, name);
        assert!(sent > 0 && (expected, received) == (sent * size, sent * size), "{name}: {outcome}");
    }
    assert_eq!(sum_of(&results, "reordered"), 0, "{outcome}");
}

#[test]
fn kinds_add_up_under_churn() {
    let server = Server::start(&[]);
    let at_rate = ["--rate", "100", "--duration", "3s", "--threads", "2"];
    for more in [&["--churn", "30%/s"][..], &["--flap", "500ms..1s:300ms"], &["--slow", "10%:1KiB/s"]] {
        let outcome = run_app(&server, "/socket/websocket", &phoenix(), &[&at_rate[..], more].concat());
        let results = outcome.json();
        add_up(&results, &outcome);
        let missing = SIZES.map(|(name, _)| counts_of(&results, name)[3]);
        assert_eq!((outcome.code, missing), (Some(0), [0, 0]), "{more:?}: {outcome}");
    }
}

#[test]
fn leaks_are_counted_by_kind() {
    let server = Server::start(&["--fault", "leak=1/5", "--threads", "1"]);
    let outcome = run_app(&server, "/socket/websocket", &phoenix(), &[]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let leaked = SIZES.map(|(name, _)| counts_of(&results, name)[5]);
    assert!(leaked.iter().all(|&leaked| leaked > 0), "{outcome}");
    assert_eq!(leaked.iter().sum::<u64>(), sum_of(&results, "leaked"), "{outcome}");
}

#[test]
fn shares_and_rates_set_the_frequency() {
    let server = Server::start(&[]);
    let with = |own: &str, group: &str| {
        phoenix()
            .replace("room = \"own\"", &format!("room = \"own\"\n{own}"))
            .replace("room = \"group\"", &format!("room = \"group\"\n{group}"))
    };
    let shares = with("share = \"75%\"", "share = \"25%\"");
    let outcome = run_app(&server, "/socket/websocket", &shares, &["--rate", "640", "--duration", "1s"]);
    let results = outcome.json();
    let [own, group] = ["own", "group"].map(|name| counts_of(&results, name)[0]);
    assert!(own + group == 640 && (470..=490).contains(&own), "{own} and {group}: {outcome}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, with("rate = \"30/s\"", "rate = 90")).unwrap();
    let url = format!("ws://{}/socket/websocket", server.address);
    let file = file.to_str().unwrap();
    let mut command = throng(["run", file, &url, "--clients", "20", "--duration", "2s", "--format", "json"]);
    let outcome = run(&mut command, RUN_MAX);
    let results = outcome.json();
    assert_eq!(results["steps"][0]["rates"]["asked_per_s"], 120.0, "{outcome}");
    let [own, group] = ["own", "group"].map(|name| counts_of(&results, name)[0]);
    assert!(own + group == 240 && (50..=70).contains(&own), "{own} and {group}: {outcome}");
}

#[test]
fn senders_hear_themselves_by_kind() {
    let server = Server::start(&[]);
    let others = plain().replace("room = \"group\"", "room = \"group\"\nto = \"others\"");
    let outcome = run_app(&server, "/ws", &others, &[]);
    let results = outcome.json();
    let [sent, expected, received, ..] = counts_of(&results, "group");
    // This server sends senders their own, which then is not due.
    assert_eq!((expected, received), (sent * (GROUP - 1), sent * (GROUP - 1)), "{outcome}");
    assert_eq!(sum_of(&results, "unexpected"), sent, "{outcome}");
    let [sent, expected, received, ..] = counts_of(&results, "own");
    assert_eq!((expected, received), (sent, sent), "{outcome}");
}

#[test]
fn single_kinds_equal_flags() {
    let server = Server::start(&[]);
    let app = plain();
    let (_, group) = app.split_once("[room.group]").unwrap();
    for app in
        [format!("[room.group]{group}"), format!("[room.group]{group}").replace("size = 5", "count = 4")]
    {
        let outcome = run_app(&server, "/ws", &app, &[]);
        outcome.assert_held();
        let results = outcome.json();
        let whole = ["expected", "received"].map(|count| sum_of(&results, count));
        assert_eq!(whole, [MESSAGES * GROUP; 2], "{outcome}");
        assert!(results["steps"][0]["says"].is_null(), "one kind is all there is: {outcome}");
    }
}

#[test]
fn limits_on_missing_kinds_are_refused() {
    let server = Server::start(&[]);
    let run_app = |app: &str, limit: &str| run_app(&server, "/socket/websocket", app, &["--limit", limit]);
    assert_eq!(run_app(&phoenix(), "say.group.missing==0").code, Some(0));
    let outcome = run_app(&phoenix(), "say.groups.missing==0");
    outcome.assert_failed(2, "usage.limit", &["\"groups\"", "group, own"]);
    let phoenix = phoenix();
    let (_, group) = phoenix.split_once("[room.group]").unwrap();
    let outcome = run_app(&format!("protocol = \"phoenix\"\n[room.group]{group}"), "say.group.missing==0");
    outcome.assert_failed(2, "usage.limit", &["[say.NAME]"]);
}

#[test]
fn text_and_csv_tell_the_kinds_apart() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let file = folder.path().join("app.toml");
    std::fs::write(&file, phoenix()).unwrap();
    let url = format!("ws://{}/socket/websocket", server.address);
    for (format, said) in [("text", "say group"), ("csv", "say_group_expected"), ("md", "| group")] {
        let mut command =
            throng(["broadcast", &url, "--clients", "20", "-c", "4", "-s", "50", "--format", format]);
        let outcome = run(command.arg("--app").arg(&file), RUN_MAX);
        assert!(outcome.stdout.contains(said), "{format}: {outcome}");
    }
}
