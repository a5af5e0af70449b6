//! Apps of one's own over the protocols that throng knows: the examples, against throng's server and, where
//! it can be had, against a server of somebody else's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::support::skip;
use crate::support::target::{Target, Unavailable};
use crate::support::throng::{Server, run, sum_of, throng};

const CLIENTS: u64 = 20;
const MESSAGES: u64 = 200;
const WITHIN: Duration = Duration::from_secs(60);

fn example(protocol: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/apps/{protocol}.toml"))
}

/// The results of a run of an example that must succeed.
fn results(verb: &str, url: &str, protocol: &str, more: &[&str]) -> Value {
    let (clients, messages) = (CLIENTS.to_string(), MESSAGES.to_string());
    let mut command = throng([verb, url, "--format", "json", "--clients", &clients]);
    command.args(["--concurrent", "4", "--sample-size", &messages, "--payload-padding", "50"]);
    let outcome = run(command.arg("--app").arg(example(protocol)).args(more), WITHIN);
    assert_eq!(outcome.code, Some(0), "{verb} {protocol} {more:?}: {outcome}");
    outcome.json()
}

/// Every message of both kinds is answered, and reaches everybody once.
fn assert_measured(url: &str, protocol: &str, more: &[&str]) {
    for (verb, expected) in [("echo", MESSAGES), ("broadcast", MESSAGES * CLIENTS)] {
        let results = results(verb, url, protocol, more);
        let name = format!("{protocol}/{protocol}");
        assert!(results["dialect"].as_str().unwrap().starts_with(&name), "{results:#}");
        assert_eq!(
            (sum_of(&results, "expected"), sum_of(&results, "received")),
            (expected, expected),
            "{verb} {protocol} {more:?}: {results:#}"
        );
        for nothing in ["missing", "duplicate", "corrupt", "unexpected", "reordered"] {
            assert_eq!(sum_of(&results, nothing), 0, "{nothing}: {verb} {protocol} {more:?}: {results:#}");
        }
        assert_eq!(results["steps"][0]["rtt"]["count"], MESSAGES, "each is answered: {results:#}");
        assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{results:#}");
    }
}

#[test]
fn each_example_is_carried_by_its_protocol() {
    let server = Server::start(&[]);
    let at = |path: &str| format!("ws://{}{path}", server.address);
    assert_measured(&at("/cable"), "actioncable", &[]);
    assert_measured(&at("/socket/websocket"), "phoenix", &[]);
    assert_measured(&at("/socket/websocket"), "phoenix", &["--vsn", "1.0.0"]);
    assert_measured(&at("/graphql"), "graphql", &[]);
    for transport in ["websocket", "polling", "upgrade"] {
        assert_measured(&at("/socket.io/"), "socketio", &["--transport", transport]);
    }
    for transport in ["websocket", "xhr-streaming", "xhr-polling"] {
        assert_measured(&at("/sockjs"), "sockjs", &["--transport", transport]);
    }
}

/// An opening that waits for the protocol's own reply to what it said.
#[test]
fn an_opening_waits_for_the_reply() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("app.toml");
    let opens = |url: &str, protocol: &str, event: &str| {
        let text = std::fs::read_to_string(example(protocol)).unwrap();
        let step =
            format!("open = [{{ event = {event:?}, send = '{{\"n\":{{client}}}}', replied = true }}]\n");
        std::fs::write(&app, step + &text).unwrap();
        let mut command = throng(["echo", &format!("ws://{}{url}", server.address), "--app"]);
        command.arg(&app).args(["--clients", "20", "--sample-size", "200", "--connect-timeout", "2s"]);
        run(command.args(["--no-preflight", "--format", "json"]), WITHIN)
    };
    for (url, protocol) in [("/socket/websocket", "phoenix"), ("/socket.io/", "socketio")] {
        let outcome = opens(url, protocol, "echo");
        assert_eq!((outcome.code, sum_of(&outcome.json(), "received")), (Some(0), 200), "{outcome}");
        let never = opens(url, protocol, "nobody_replies_to_this");
        assert_eq!(sum_of(&never.json(), "connected"), 0, "{protocol} waits for it: {never}");
    }
    let without = opens("/cable", "actioncable", "echo");
    without.assert_failed(2, "usage.file", &["app.toml:1:", "actioncable"]);
}

/// The server calls the callback of the event, and says nothing else to its sender.
#[test]
fn socket_io_answers_by_its_callbacks() {
    match Target::start_as("socketio-node", None) {
        Ok(target) => {
            assert_measured(&target.url().replacen("http", "ws", 1), "socketio", &[]);
            target.stop();
        }
        Err(Unavailable(why)) => skip("socketio-node", &why),
    }
}

#[test]
fn apps_go_over_their_protocol() {
    for (more, key, name) in [
        (&["--protocol", "phoenix"][..], "protocol", "actioncable"),
        (&["--protocol", "json"], "protocol", "plain, sockjs, actioncable, phoenix, socketio"),
        (&["--topic", "room:1"], "topic.other_dialect", "phoenix"),
    ] {
        let mut command = throng(["echo", "ws://127.0.0.1:9/cable", "--format", "json", "--app"]);
        let outcome = run(command.arg(example("actioncable")).args(more), WITHIN);
        outcome.assert_failed(2, &format!("usage.{key}"), &[name]);
    }
}

/// A flag would not help: what the app says is written for the other protocol.
#[test]
fn wrong_protocols_are_told_with_the_change() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/cable", server.address);
    let outcome = run(throng(["echo", &url, "--format", "json", "--app"]).arg(example("phoenix")), WITHIN);
    let names = ["phoenix", "protocol = \"actioncable\""];
    outcome.assert_failed(1, "could_not.reach.speaks_actioncable", &names);
    assert!(!outcome.stderr.contains("--protocol"), "{outcome}");
}
