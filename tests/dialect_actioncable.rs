//! Action Cable with programs that others wrote: the generator against Rails, throng's server against the official
//! clients of Rails and AnyCable.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::node::Scripts;
use crate::support::skip;
use crate::support::target::{Target, Unavailable};
use crate::support::throng::{Server, errors_of, finish, run, start_measuring, sum_of, throng};

const DIALECT: [&str; 2] = ["--protocol", "actioncable"];

#[test]
fn the_generator_against_rails() {
    // One process, and several with Redis between them.
    for (variant, clients) in [(None, 100), (Some("puma-8"), 50)] {
        let target = match Target::start_as("ruby-actioncable", variant) {
            Ok(target) => target,
            Err(Unavailable(why)) => return skip("ruby-actioncable", &why),
        };
        drive(&target.url(), clients);
        refusals(&target.url());
        target.stop();
    }
}

/// Every echo comes back, and every broadcast to everyone, once.
fn drive(url: &str, clients: u64) {
    let count = clients.to_string();
    let load = [
        "--format",
        "json",
        "--clients",
        &count,
        "--concurrent",
        "4",
        "--sample-size",
        "20",
        "--connect-timeout",
        "20s",
        "--payload-padding",
        "100",
    ];
    for (verb, copies) in [("echo", 1), ("broadcast", clients)] {
        let outcome = run(throng([verb, url]).args(DIALECT).args(load), Duration::from_secs(120));
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(results["dialect"], "actioncable");
        assert_eq!(
            (sum_of(&results, "sent"), sum_of(&results, "received")),
            (20, 20 * copies),
            "{results:#}"
        );
        // Not "reordered": Rails works on the messages of a connection with several threads.
        for nothing in ["missing", "duplicate", "corrupt", "unexpected"] {
            assert_eq!(sum_of(&results, nothing), 0, "{nothing}: {results:#}");
        }
        assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{results:#}");
    }
}

/// Rails' answer to a client that it does not want: silence, which ends at the connect timeout.
fn refusals(url: &str) {
    let outcome = run(
        throng(["echo", url, "--clients", "1", "--channel", "NoSuchChannel", "--connect-timeout", "500ms"])
            .args(["--format", "json", "--no-preflight"])
            .args(DIALECT),
        Duration::from_secs(30),
    );
    outcome.assert_no_server("connect_timeout", 1);
}

#[test]
fn the_server_against_the_official_clients() {
    let scripts = match Scripts::install("actioncable") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("@rails/actioncable, @anycable/core", &why),
    };
    // Two threads, so that broadcasts have a way to go.
    let server = Server::start(&["--threads", "2", "--cable-ping-interval", "300ms"]);
    let url = format!("ws://{}/cable", server.address);
    scripts.run("anycable.js", &[&url, "actioncable-v1-json"]);
    scripts.run("anycable.js", &[&url, "actioncable-v1-ext-json"]);
    // The last, for it stops the server.
    let pid = server.process.pid().as_raw_nonzero().to_string();
    scripts.run("rails.js", &[&url, &pid]);
}

#[test]
fn official_anycable_client_gets_missed_messages() {
    match Scripts::install("actioncable") {
        Ok(scripts) => {
            let pings = ["--cable-ping-interval", "300ms", "--cable-pong-timeout", "300ms"];
            let server = Server::start(&[&["--history", "100"], &pings[..]].concat());
            scripts.run("recovery.js", &[&format!("ws://{}/cable", server.address)]);
        }
        Err(Unavailable(why)) => skip("@anycable/core", &why),
    }
}

#[test]
fn a_server_that_restarts_says_so() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/cable", server.address);
    let load = ["--clients", "5", "--duration", "10s", "--drain-timeout", "1s"];
    let process = start_measuring(throng(["echo", &url, "--format", "json"]).args(DIALECT).args(load));
    server.process.signal(Signal::TERM);
    let outcome = finish(process, Duration::from_secs(30));
    assert_eq!(errors_of(&outcome.json(), "disconnect_server_restart"), 5, "{outcome}");
}

#[test]
fn several_subscriptions_count_once() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/cable", server.address);
    let outcome = run(
        throng(["broadcast", &url, "--subscriptions", "3", "--channel-params", r#"{"room":1}"#])
            .args(["--clients", "20", "--sample-size", "20", "--concurrent", "2", "--format", "json"])
            .args(DIALECT),
        Duration::from_secs(30),
    );
    let results = outcome.json();
    assert_eq!((sum_of(&results, "sent"), sum_of(&results, "received")), (20, 400), "{results:#}");
    assert_eq!(sum_of(&results, "duplicate"), 0, "{results:#}");
}
