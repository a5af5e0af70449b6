//! The generator against servers that share no code with it, at a load that an honest one carries: nothing may be
//! missing, and what is reported must be what its schema says.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::schema::Schema;
use crate::support::skip;
use crate::support::target::{Target, Unavailable};
use crate::support::throng::{run, throng};

const CLIENTS: u64 = 2000;
const BROADCASTS: u64 = 20;

#[test]
fn node_ws() {
    drive("node-ws");
}

/// Go's servers are compiled for half a minute; their dialogue is `targets check`'s, in tests/targets.rs.
#[test]
#[ignore = "a minute: make torture"]
fn torture_go_gorilla() {
    drive("go-gorilla");
}

fn drive(name: &str) {
    match Target::start(name) {
        Ok(target) => {
            echo(&target.url());
            broadcast(&target.url());
            limited(&target.url());
            target.stop();
        }
        Err(Unavailable(why)) => skip(name, &why),
    }
}

/// wsdemo's load: everyone sends once a second.
fn echo(url: &str) {
    let results = results_of(
        throng([
            "echo",
            url,
            "--protocol",
            "json",
            "--format",
            "json",
            "--interval",
            "1s",
            "--duration",
            "4s",
        ])
        .args(["--clients", &CLIENTS.to_string()]),
    );
    let [step] = &steps_of(&results)[..] else { panic!("one step: {results:#}") };
    assert_complete(step, CLIENTS);
    let sent = count(step, "sent");
    assert!((CLIENTS * 3..=CLIENTS * 5).contains(&sent), "{CLIENTS} clients sent {sent} messages in 4 s");
    assert_eq!(count(step, "expected"), sent);
    assert!(step["rtt"]["count"].as_u64() == Some(sent), "one sample for each message: {step:#}");
}

/// websocket-bench's walk, in two steps.
fn broadcast(url: &str) {
    let half = (CLIENTS / 2).to_string();
    let results = results_of(
        throng(["broadcast", url, "--protocol", "json", "--format", "json", "--concurrent", "4"])
            .args([
                "--sample-size",
                &BROADCASTS.to_string(),
                "--initial-clients",
                &half,
                "--step-size",
                &half,
            ])
            .args(["--total-steps", "2", "--limit-percentile", "95", "--limit-rtt", "10s"]),
    );
    let steps = steps_of(&results);
    assert_eq!(steps.len(), 2, "{results:#}");
    for (step, clients) in steps.iter().zip([CLIENTS / 2, CLIENTS]) {
        assert_complete(step, clients);
        assert_eq!(count(step, "sent"), BROADCASTS);
        assert_eq!(count(step, "expected"), BROADCASTS * clients, "each broadcast goes to everyone");
        assert_eq!(step["delivery"]["count"].as_u64(), Some(BROADCASTS * clients));
        assert_eq!(step["completion"]["count"].as_u64(), Some(BROADCASTS));
    }
}

fn assert_complete(step: &Value, clients: u64) {
    assert_eq!(step["clients"].as_u64(), Some(clients));
    assert_eq!(count(step, "received"), count(step, "expected"), "{step:#}");
    for nothing in ["missing", "duplicate", "corrupt", "unexpected", "reordered", "connect_timeouts"] {
        assert_eq!(step["counts"][nothing].as_u64().unwrap_or(0), 0, "{nothing}: {step:#}");
    }
    assert_eq!(step["counts"]["errors"], serde_json::json!({}), "{step:#}");
}

/// The results of a run that must succeed, valid by the published schema.
fn results_of(command: &mut Command) -> Value {
    let outcome = run(command, Duration::from_secs(120));
    outcome.assert_held();
    let results = outcome.json();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.schema.json");
    let schema = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(Schema::new(&schema).faults(&results), None, "{results:#}");
    results
}

fn steps_of(results: &Value) -> &Vec<Value> {
    results["steps"].as_array().expect("results have steps")
}

fn count(step: &Value, name: &str) -> u64 {
    step["counts"][name].as_u64().unwrap_or_else(|| panic!("no count {name}: {step:#}"))
}

/// Ten messages for each connection, as HttpArena has it.
fn limited(url: &str) {
    let mut command =
        throng(["echo", url, "--protocol", "json", "--format", "json", "--quiet", "--no-store"]);
    command.args(["--clients", "50", "--pipelining", "1", "--sample-size", "5000"]);
    let outcome = run(command.args(["--messages-per-connection", "10"]), Duration::from_secs(120));
    outcome.assert_held();
    let results = outcome.json();
    let count = |name: &str| results["steps"][0]["counts"][name].as_u64().unwrap_or(0);
    assert_eq!((count("sent"), count("received"), count("disconnects")), (5_000, 5_000, 0), "{outcome}");
    let (left, connects) = (count("left"), count("connects"));
    // The last of those that come in place of others may still be connecting.
    assert_eq!(connects, 50 + left, "{outcome}");
    assert_eq!(connects, count("connected") + count("connecting"), "{outcome}");
    assert!((450..=500).contains(&left), "{outcome}");
}
