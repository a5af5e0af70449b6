//! Event streams that are asked for with a body, before a server on Node's http and http2 with a journal of its
//! requests.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::streams::journal;
use crate::support::process::Process;
use crate::support::requests::RUN_MAX;
use crate::support::throng::{Outcome, run, sum_of, throng};
use crate::support::{free_address, skip};

const FLAGS: &str = "--protocol sse --connect-timeout 20s --format json --no-store";

/// The server, and its addresses for each version of HTTP.
fn node() -> Option<(Process, [SocketAddr; 2])> {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("event streams that are asked for by POST", "needs node");
        return None;
    }
    let addresses = [free_address(), free_address()];
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/sse/posted.js");
    let ports = addresses.map(|address| address.port().to_string());
    let process = Process::start(Command::new("node").arg(script).args(ports));
    Some((addresses.into_iter().fold(process, Process::listening_at), addresses))
}

/// Runs a verb with this body, and flags besides.
fn ask(verb: &str, url: &str, body: &str, flags: &str) -> Outcome {
    let mut command = throng([verb, url, "--connect-body", body]);
    run(command.args(FLAGS.split(' ')).args(flags.split_whitespace()), RUN_MAX)
}

fn sums<const N: usize>(outcome: &Outcome, names: [&str; N]) -> [u64; N] {
    let results = outcome.json();
    names.map(|name| sum_of(&results, name))
}

/// The requests for streams of this method and path, the first `from` of all left out.
fn asked(server: SocketAddr, from: usize, what: &str) -> Vec<Value> {
    let journal = journal(server);
    let requests = journal.as_array().expect("a list").iter().skip(from);
    requests.filter(|request| request["asked"] == what).cloned().collect()
}

#[test]
fn copies_on_posted_streams_are_counted() {
    let Some((_node, [first, second])) = node() else { return };
    for (address, version) in [(first, ""), (second, "--http2")] {
        for path in ["events", "moved"] {
            let before = journal(first).as_array().unwrap().len();
            let publish = format!("--publish-url http://{first}/publish/{{room}}");
            let load = format!("{version} {publish} --clients 20 --room-size 5 --sample-size 50");
            let outcome =
                ask("broadcast", &format!("http://{address}/{path}"), r#"{"room":"{room}"}"#, &load);
            outcome.assert_held();
            let found = sums(&outcome, ["sent", "expected", "received", "duplicate", "leaked", "missing"]);
            assert_eq!(found, [50, 250, 250, 0, 0, 0], "{path} {version}: {outcome}");
            let streams = asked(first, before, "POST /events");
            // Each client's, and those of the trial beforehand.
            assert!(streams.len() >= 20, "{path} {version}: {streams:?}");
            for stream in &streams {
                let body = stream["body"].as_str().unwrap();
                assert_eq!(stream["length"], body.len().to_string(), "{stream}");
                assert_eq!(stream["type"], "application/json", "{stream}");
            }
            for room in ["0", "1", "2", "3"] {
                let body = format!(r#"{{"room":"{room}"}}"#);
                let members = streams.iter().filter(|stream| stream["body"] == body).count();
                assert!(members >= 5, "{path} {version}: {members} of room {room}");
            }
        }
    }
}

#[test]
fn refused_methods_name_their_flags() {
    let Some((_node, [first, _])) = node() else { return };
    for (more, named) in
        [(&[][..], "--connect-body"), (&["--connect-method", "PUT"], "another --connect-method")]
    {
        let mut command = throng(["idle", &format!("http://{first}/events"), "--clients", "2"]);
        let outcome = run(command.args(FLAGS.split(' ')).args(more), RUN_MAX);
        outcome.assert_failed(1, "could_not.reach.status_405", &[named]);
    }
}

#[test]
fn redirects_may_turn_posts_into_gets() {
    let Some((_node, [first, second])) = node() else { return };
    for (address, version) in [(first, ""), (second, "--http2")] {
        let before = journal(first).as_array().unwrap().len();
        let url = format!("http://{address}/found");
        let outcome =
            ask("idle", &url, "tea", &format!("{version} --clients 3 --duration 1s -H Content-Type:text/x"));
        assert_eq!((outcome.code, sums(&outcome, ["connected"])), (Some(0), [3]), "{outcome}");
        let of = |what: &str| {
            let requests = asked(first, before, what);
            assert!(requests.len() >= 3, "{what} {version}: {requests:?}");
            requests
                .iter()
                .map(|one| ["type", "length", "body"].map(|key| one[key].clone()))
                .collect::<Vec<_>>()
        };
        let posted = ["text/x", "3", "tea"].map(Value::from);
        assert!(of("POST /found").iter().all(|request| *request == posted), "{version}");
        let plain = [Value::Null, Value::Null, Value::from("")];
        assert!(of("GET /given").iter().all(|request| *request == plain), "{version}");
    }
}

#[test]
fn returning_clients_ask_with_their_body_again() {
    let Some((_node, [first, second])) = node() else { return };
    let body = r#"{"room":"a"}"#;
    for (address, version) in [(first, ""), (second, "--http2")] {
        let before = journal(first).as_array().unwrap().len();
        let publish = format!("--publish-url http://{first}/publish/a");
        let load = format!("{version} {publish} --clients 10 --rate 50 --duration 4s --flap 1s..2s:300ms");
        let outcome = ask("broadcast", &format!("http://{address}/events"), body, &load);
        let [due, recovered, lost, missing] =
            sums(&outcome, ["offline_due", "recovered", "lost_offline", "missing"]);
        assert!(due > 0, "{version}: {outcome}");
        assert_eq!((recovered, lost, missing), (due, 0, 0), "{version}: {outcome}");
        let streams = asked(first, before, "POST /events");
        let back = streams.iter().filter(|stream| stream["last"].is_string()).count();
        assert!(back >= 10 && streams.iter().all(|stream| stream["body"] == body), "{version}: {streams:?}");
    }
}

const APP: &str = r#"
name = "posted"
protocol = "sse"

[people]
data = "users.csv"

[[login]]
post = "/login"
json = { name = "{person.name}" }
keep = { key = "json:/key" }

[connect]
path = "/events"
body = '{"room":"a","key":"{key}","word":"{person.word}"}'

[publish]
post = "/publish/a"
body = '{"id":"{id}"}'

[load]
people = 2
rate = 20
duration = "1s"
"#;

#[test]
fn bodies_of_app_files_have_kept_values() {
    let Some((_node, [first, _])) = node() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.toml"), APP).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,word\nada,\"say \"\"hi\"\"\"\nbob,wait\n").unwrap();
    let mut command = throng(["run", "app.toml", &format!("http://{first}")]);
    command.args(["--format", "json", "--no-store"]).current_dir(folder.path());
    let outcome = run(&mut command, RUN_MAX);
    outcome.assert_held();
    assert_eq!(sums(&outcome, ["sent", "received"]), [20, 40], "{outcome}");
    let streams = asked(first, 0, "POST /events");
    for body in [
        r#"{"room":"a","key":"key-ada","word":"say \"hi\""}"#,
        r#"{"room":"a","key":"key-bob","word":"wait"}"#,
    ] {
        assert!(streams.iter().any(|stream| stream["body"] == body), "{body}: {streams:?}");
    }
}
