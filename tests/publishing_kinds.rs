//! Messages of several kinds that are published by requests, each for the rooms of one kind: they are heard
//! there and nowhere else, and each kind is accounted for by itself.

use std::time::Duration;

use serde_json::Value;

use crate::support::throng::{Outcome, Server, errors_of, run, sum_of, throng};

const RUN_MAX: Duration = Duration::from_secs(90);
const CLIENTS: u64 = 20;
const MESSAGES: u64 = 60;
/// How many share a room of the other kind than one's own.
const GROUP: u64 = 5;

/// An app whose people are in a room of their own and in one of a group, which are joined like this.
fn app(protocol: &str, join: fn(&str) -> String) -> String {
    let of_kind = |(name, size): (&str, u64)| {
        format!(
            "[room.{name}]\nsize = {size}\njoin = {}\n\n\
             [say.{name}]\nroom = \"{name}\"\npost = \"/publish/{name}-{{room}}\"\nbody = '{{\"text\":\"{{id}}\"}}'\n",
            join(name)
        )
    };
    let kinds = [("own", 1), ("group", GROUP)].map(of_kind);
    format!("protocol = \"{protocol}\"\n[publish]\n\n{}", kinds.join("\n"))
}

fn phoenix() -> String {
    app("phoenix", |name| format!("{{ topic = \"room:{name}-{{room}}\" }}"))
}

fn run_app(server: &Server, place: &str, app: &str, more: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, app).unwrap();
    let url = format!("ws://{}{place}", server.address);
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet", "--no-store"]);
    command.arg("--app").arg(&file).args(["--clients", &CLIENTS.to_string()]);
    if !more.contains(&"--rate") {
        command.args(["--concurrent", "4", "--sample-size", &MESSAGES.to_string()]);
    }
    run(command.args(more), RUN_MAX)
}

fn part<'a>(results: &'a Value, of: &str, name: &str) -> &'a Value {
    let parts = results["steps"][0][of].as_array().unwrap_or_else(|| panic!("no {of} in {results}"));
    parts.iter().find(|part| part["name"] == name).unwrap_or_else(|| panic!("no {name} in {parts:?}"))
}

/// The counts of a part: sent, expected, received, missing, leaked.
fn counts_of(results: &Value, of: &str, name: &str) -> [u64; 5] {
    let counts = &part(results, of, name)["counts"];
    ["sent", "expected", "received", "missing", "leaked"].map(|count| counts[count].as_u64().unwrap_or(0))
}

#[test]
fn kinds_are_heard_in_their_own_rooms() {
    let server = Server::start(&[]);
    let plain = || {
        app("plain", |name| {
            let send = format!(r#"{{"type":"join","room":"{name}-{{room}}"}}"#);
            format!("{{ send = '{send}', expect = {{ json = {{ \"/type\" = \"joined\" }} }} }}")
        })
    };
    let socketio = || {
        app("socketio", |name| {
            format!("{{ event = \"join\", send = '\"{name}-{{room}}\"', replied = true }}")
        })
    };
    for (place, app, more) in [
        ("/ws", plain(), &["--threads", "3"][..]),
        ("/socket/websocket", phoenix(), &["--processes", "2"]),
        ("/socket.io/", socketio(), &["--threads", "2"]),
        ("/socket/websocket", phoenix(), &["--rate", "100", "--duration", "1s", "--threads", "2"]),
    ] {
        let outcome = run_app(&server, place, &app, more);
        let results = outcome.json();
        let [own, group] = ["own", "group"].map(|name| counts_of(&results, "says", name));
        let [own_sent, group_sent] = [own[0], group[0]];
        assert!(own_sent > 0 && group_sent > 0, "{more:?}: {outcome}");
        assert_eq!(own, [own_sent, own_sent, own_sent, 0, 0], "{more:?}: {outcome}");
        let due = group_sent * GROUP;
        assert_eq!(group, [group_sent, due, due, 0, 0], "{more:?}: {outcome}");
        assert_eq!(sum_of(&results, "sent"), own_sent + group_sent, "{more:?}: {outcome}");
        for (name, sent) in [("own", own_sent), ("group", group_sent)] {
            let answered = &part(&results, "says", name)["rtt"]["count"];
            assert_eq!(answered, sent, "each request has its answer: {outcome}");
        }
    }
}

#[test]
fn roles_publish_in_their_names() {
    let server = Server::start(&[]);
    let roles = r#"
[[role]]
name = "listener"
share = "80%"

[[role]]
name = "speaker"
share = "20%"
says = [{ say = "own", rate = "20/s" }, { say = "group", rate = "60/s" }]
"#;
    let outcome = run_app(
        &server,
        "/socket/websocket",
        &(phoenix() + roles),
        &["--rate", "80", "--duration", "1s", "--threads", "3"],
    );
    let results = outcome.json();
    let [own, group] = ["own", "group"].map(|name| counts_of(&results, "says", name)[0]);
    assert_eq!(own + group, 80, "{outcome}");
    // Of each group one is a speaker, whose own room hears what is published there.
    let of_others = (GROUP - 1) * group;
    assert_eq!(counts_of(&results, "roles", "listener"), [0, of_others, of_others, 0, 0], "{outcome}");
    assert_eq!(counts_of(&results, "roles", "speaker"), [80, 80, 80, 0, 0], "{outcome}");
}

#[test]
fn misplaced_messages_leak_by_kind() {
    let server = Server::start(&[]);
    let wrong = phoenix().replace("/publish/own-{room}", "/publish/group-0");
    let outcome = run_app(&server, "/socket/websocket", &wrong, &[]);
    let results = outcome.json();
    let [sent, expected, _, missing, leaked] = counts_of(&results, "says", "own");
    assert!(outcome.code == Some(3) && expected == sent && missing > 0 && leaked > 0, "{outcome}");
    let [sent, expected, received, ..] = counts_of(&results, "says", "group");
    assert_eq!((expected, received), (sent * GROUP, sent * GROUP), "{outcome}");

    let nowhere = phoenix().replace("\"/publish/own-{room}\"", "\"/nobody/own-{room}\"");
    let outcome = run_app(&server, "/socket/websocket", &nowhere, &[]);
    let results = outcome.json();
    let [sent, expected, received, missing, leaked] = counts_of(&results, "says", "own");
    assert_eq!([expected, received, missing, leaked], [sent, 0, sent, 0], "{outcome}");
    assert_eq!(errors_of(&results, "publish_http_4xx"), sent, "{outcome}");
    let [sent, expected, received, ..] = counts_of(&results, "says", "group");
    assert_eq!((expected, received), (sent * GROUP, sent * GROUP), "{outcome}");
}
