//! Roles: shares of the people who say different things, each at a rate of its own, and who are accounted for
//! by themselves.

use std::time::Duration;

use serde_json::Value;

use crate::support::throng::{Outcome, Server, run, sum_of, throng};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(90);
/// In groups of five, of whom one speaks: 8 speakers and 32 listeners.
const CLIENTS: u64 = 40;

const APP: &str = r#"protocol = "phoenix"

[room.own]
size = 1
join = { topic = "room:own-{room}" }

[room.group]
size = 5
join = { topic = "room:group-{room}" }

[[role]]
name = "listener"
share = "80%"

[[role]]
name = "speaker"
share = "20%"
says = [{ say = "line", rate = "90/s" }, { say = "note", rate = "10/s" }]

[say.line]
room = "group"
event = "broadcast"
body = '{"text":"{id}"}'
replied = true

[say.note]
room = "own"
event = "broadcast"
body = '{"text":"{id}"}'
replied = true
"#;

fn run_app(server: &Server, app: &str, more: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, app).unwrap();
    let url = format!("ws://{}/socket/websocket", server.address);
    let mut command = throng(["run", file.to_str().unwrap(), &url, "--format", "json", "--quiet"]);
    command.args(["--clients", &CLIENTS.to_string(), "--duration", "2s"]);
    run(command.args(more), RUN_MAX)
}

fn part<'a>(results: &'a Value, of: &str, name: &str) -> &'a Value {
    let parts = results["steps"][0][of].as_array().unwrap_or_else(|| panic!("no {of} in {results}"));
    parts.iter().find(|part| part["name"] == name).unwrap_or_else(|| panic!("no {name} in {parts:?}"))
}

/// The counts of a role: sent, expected, received, missing, in flight.
fn counts_of(results: &Value, role: &str) -> [u64; 5] {
    let counts = &part(results, "roles", role)["counts"];
    ["sent", "expected", "received", "missing", "in_flight"].map(|count| counts[count].as_u64().unwrap_or(0))
}

/// Checks that the roles add up to the whole, count by count.
fn add_up(results: &Value, outcome: &Outcome) {
    let roles = ["listener", "speaker"].map(|role| counts_of(results, role));
    for (at, count) in ["sent", "expected", "received", "missing", "in_flight"].iter().enumerate() {
        assert_eq!(roles[0][at] + roles[1][at], sum_of(results, count), "{count}: {outcome}");
    }
    for [_, expected, received, missing, in_flight] in roles {
        assert_eq!(expected, received + missing + in_flight, "{outcome}");
    }
}

/// Nothing was lost and nothing was wrong. Of the limits that stand, a busy machine may break but that of the rate.
fn assert_whole(results: &Value, outcome: &Outcome) {
    let limits = results["steps"][0]["standing"].as_array().expect("limits stand");
    let broken: Vec<&str> = limits
        .iter()
        .filter(|limit| limit["passed"] != true)
        .map(|limit| limit["limit"].as_str().expect("a limit is text"))
        .filter(|limit| !limit.starts_with("rate>="))
        .collect();
    assert!(broken.is_empty() && limits.len() > 1, "{broken:?}: {outcome}");
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
}

#[test]
fn roles_speak_at_their_own_rate() {
    let server = Server::start(&[]);
    for more in [&["--threads", "1"][..], &["--threads", "3"], &["--processes", "2"]] {
        let outcome = run_app(&server, APP, more);
        let results = outcome.json();
        assert_whole(&results, &outcome);
        assert_eq!(part(&results, "roles", "listener")["people"], 32, "{outcome}");
        assert_eq!(part(&results, "roles", "speaker")["people"], 8, "{outcome}");
        let sent = |say: &str| part(&results, "says", say)["counts"]["sent"].as_u64().unwrap();
        let (lines, notes) = (sent("line"), sent("note"));
        assert_eq!(lines + notes, 200, "{more:?}: {outcome}");
        // Of each line four are due to those who listen, and one to who says it; a note is its sender's alone.
        assert_eq!(counts_of(&results, "listener"), [0, 4 * lines, 4 * lines, 0, 0], "{more:?}: {outcome}");
        assert_eq!(counts_of(&results, "speaker"), [200, 200, 200, 0, 0], "{more:?}: {outcome}");
        add_up(&results, &outcome);
    }
}

#[test]
fn roles_have_rates_of_their_own() {
    let server = Server::start(&[]);
    let both = APP.replace("share = \"80%\"", "share = \"80%\"\nsays = [{ say = \"line\", rate = 50 }]");
    let outcome = run_app(&server, &both, &["--threads", "3"]);
    let results = outcome.json();
    let sent = ["listener", "speaker"].map(|role| counts_of(&results, role)[0]);
    assert_eq!(sent, [100, 200], "{outcome}");
    add_up(&results, &outcome);
}

#[test]
fn roles_add_up_under_churn() {
    let server = Server::start(&[]);
    for more in [&["--churn", "30%/s"][..], &["--flap", "500ms..1s:300ms"]] {
        let outcome = run_app(&server, APP, more);
        let results = outcome.json();
        add_up(&results, &outcome);
        assert_whole(&results, &outcome);
        let sent = ["listener", "speaker"].map(|role| counts_of(&results, role)[0]);
        assert!(sent[0] == 0 && sent[1] > 0, "{more:?}: {outcome}");
    }
}

#[test]
fn losses_are_missing_at_their_role() {
    let server = Server::start(&["--fault", "drop=1/5", "--threads", "1"]);
    let outcome = run_app(&server, APP, &[]);
    let results = outcome.json();
    add_up(&results, &outcome);
    let missing = ["listener", "speaker"].map(|role| counts_of(&results, role)[3]);
    assert!(missing.iter().sum::<u64>() > 0, "{outcome}");
}

#[test]
fn text_and_csv_tell_the_roles_apart() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let file = folder.path().join("app.toml");
    std::fs::write(&file, APP).unwrap();
    let url = format!("ws://{}/socket/websocket", server.address);
    for (format, said) in [("text", "role listener"), ("csv", "role_listener_people"), ("md", "| listener")] {
        let mut command =
            throng(["broadcast", &url, "--clients", "20", "-c", "4", "-s", "50", "--format", format]);
        let outcome = run(command.arg("--app").arg(&file), RUN_MAX);
        assert!(outcome.stdout.contains(said), "{format}: {outcome}");
    }
}

#[test]
fn limits_may_name_roles() {
    let server = Server::start(&[]);
    let limits = ["role.listener.missing==0", "role.speaker.rtt.min<1us", "delivery_2_10.max<=10min"];
    let outcome = run_app(&server, APP, &limits.map(|limit| ["--limit", limit]).concat());
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let asked = outcome.json()["steps"][0]["limits"].clone();
    let passed = asked.as_array().expect("limits").iter().map(|limit| limit["passed"] == true);
    assert_eq!(passed.collect::<Vec<_>>(), [true, false, true], "{outcome}");
    let outcome = run_app(&server, APP, &["--limit", "role.speakers.missing==0"]);
    outcome.assert_failed(2, "usage.limit", &["\"speakers\"", "listener, speaker"]);
    let (head, rest) = APP.split_once("[[role]]").unwrap();
    let (_, says) = rest.split_once("[say.line]").unwrap();
    let outcome =
        run_app(&server, &format!("{head}[say.line]{says}"), &["--limit", "role.speaker.missing==0"]);
    outcome.assert_failed(2, "usage.limit", &["[[role]]"]);
}

#[test]
fn comparisons_tell_kinds_and_roles_apart() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let file = |name: &str| {
        let outcome = run_app(&server, APP, &[]);
        let path = folder.path().join(name);
        std::fs::write(&path, outcome.json().to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (file("a.json"), file("b.json"));
    let rule = "role.listener.missing worse";
    let outcome = run(throng(["compare", &a, &b]).args(["--fail-if", rule]), RUN_MAX);
    outcome.assert_held();
    for row in
        ["say.note.rtt.p99", "say.line.delivery.p50", "role.listener.delivery.p99", "role.speaker.rtt.p95"]
    {
        assert!(outcome.stdout.contains(row), "{row}: {outcome}");
    }
    assert!(!outcome.stdout.contains("role.listener.rtt"), "who says nothing has no answers: {outcome}");
    let outcome = run(throng(["compare", &a, &b]).args(["--fail-if", "role.speaker.tea worse"]), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("role.NAME.handshake.p99"), "{outcome}");
}

#[test]
fn senders_flag_and_roles_conflict() {
    let server = Server::start(&[]);
    let outcome = run_app(&server, APP, &["--senders", "10%"]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--senders") && outcome.stderr.contains("[[role]]"), "{outcome}");
}

#[test]
fn rates_per_person_follow_the_people() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let file = folder.path().join("app.toml");
    // One of five speaks, and says five lines a second.
    let each = APP.replace("rate = \"90/s\"", "every = \"200ms\"");
    std::fs::write(&file, format!("{each}[load]\npeople = 20\n")).unwrap();
    let (file, url) = (file.to_str().unwrap(), format!("ws://{}/socket/websocket", server.address));
    let url = url.as_str();
    let of_verb = |verb| vec![verb, url, "--app", file, "--clients", "40", "--rate", "50"];
    for (words, sent) in [
        (vec!["run", file, url], 2 * (20 + 10)),
        (vec!["run", file, url, "--clients", "40"], 2 * (40 + 10)),
        (of_verb("broadcast"), 2 * 50),
        (of_verb("audit"), 2 * 50),
    ] {
        let mut command = throng([]);
        let outcome =
            run(command.args(&words).args(["--duration", "2s", "--format", "json", "--quiet"]), RUN_MAX);
        assert!(matches!(outcome.code, Some(0 | 3)), "{words:?}: {outcome}");
        assert_eq!(sum_of(&outcome.json(), "sent"), sent, "{words:?}: {outcome}");
    }
}

#[test]
fn a_role_that_says_something_is_somebodys() {
    let server = Server::start(&[]);
    let (folder, url) = (tempfile::tempdir().unwrap(), format!("ws://{}/socket/websocket", server.address));
    let file = folder.path().join("app.toml");
    std::fs::write(&file, APP).unwrap();
    let file = file.to_str().unwrap();
    for words in [
        vec!["run", file, &url, "--clients", "2"],
        vec!["broadcast", &url, "--app", file, "--initial-clients", "2", "--step-size", "20"],
        vec!["saturate", &url, "--app", file, "--levels", "2,50"],
    ] {
        let outcome = run(throng([]).args(&words).args(["--format", "json"]), RUN_MAX);
        outcome.assert_failed(2, "usage.role", &["role speaker", "20%", " 2 ", " 3 "]);
    }
}
