//! GraphQL over WebSocket with programs that others wrote: throng's server against the npm package
//! graphql-ws, and throng's client against servers on graphql-ws and on strawberry (Python).

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};
use crate::support::{free_address, python, skip};

const WITHIN: Duration = Duration::from_secs(60);

/// Fifty messages of a hundred clients.
fn load(verb: &str, address: SocketAddr, more: &[&str]) -> Outcome {
    let url = format!("ws://{address}/graphql");
    let mut command = throng([verb, &url, "--format", "json"]);
    command.args([
        "--clients",
        "100",
        "--concurrent",
        "4",
        "--sample-size",
        "50",
        "--connect-timeout",
        "20s",
    ]);
    run(command.args(more), WITHIN)
}

fn assert_all(address: SocketAddr, more: &[&str], copies: u64) {
    for (verb, copies) in [("echo", 1), ("broadcast", copies)] {
        let outcome = load(verb, address, more);
        assert_eq!(outcome.code, Some(0), "{verb} {more:?}: {outcome}");
        let results = outcome.json();
        let moved = (sum_of(&results, "sent"), sum_of(&results, "received"));
        assert_eq!(moved, (50, 50 * copies), "{verb} {more:?}: {results:#}");
        assert_eq!(results["steps"][0]["counts"]["errors"], json!({}), "{results:#}");
    }
}

#[test]
fn the_server_against_the_client_of_graphql_ws() {
    let scripts = match Scripts::install("graphql") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("graphql-ws (npm), the client", &why),
    };
    // Two threads, so that broadcasts have a way to go.
    let server = Server::start(&["--threads", "2"]);
    scripts.run("client.js", &[&format!("ws://{}/graphql", server.address)]);
}

#[test]
fn the_client_against_our_server() {
    let server = Server::start(&["--threads", "2"]);
    for more in [&["--protocol", "graphql"][..], &["--dialect", "graphql-transport-ws", "--threads", "3"]] {
        assert_all(server.address, more, 100);
    }
    let rooms =
        ["--protocol", "graphql", "--room-size", "5", "--subscription-variables", r#"{"room":"{room}"}"#];
    assert_all(server.address, &rooms, 5);
}

#[test]
fn the_client_against_a_server_on_graphql_ws() {
    let scripts = match Scripts::install_in("tests/servers", "graphql") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("graphql-ws (npm), the server", &why),
    };
    let start = |more: &[&str]| {
        let address = free_address();
        let port = address.port().to_string();
        let process = scripts.start("server.js", &[&[port.as_str()], more].concat()).listening_at(address);
        (process, address)
    };
    let (_open, address) = start(&[]);
    assert_all(address, &["--protocol", "graphql"], 100);
    assert_app(address);

    let (_closed, address) = start(&["open-sesame"]);
    let init = ["--protocol", "graphql", "--init-payload", r#"{"token":"open-sesame"}"#];
    assert_all(address, &init, 100);
    let refused = load("echo", address, &["--protocol", "graphql"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("4403"), "{refused}");
}

/// An API of somebody's own: a subscription for each room, and a mutation whose result does not have the message's id.
fn assert_app(address: SocketAddr) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, include_str!("servers/graphql/app.toml")).unwrap();
    let app = ["--app", file.to_str().unwrap(), "--room-size", "5"];
    let outcome = load("broadcast", address, &app);
    outcome.assert_held();
    let results = outcome.json();
    let counts = ["expected", "received", "leaked", "unexpected"].map(|name| sum_of(&results, name));
    assert_eq!(counts, [250, 250, 0, 0], "{outcome}");
    assert_eq!(results["steps"][0]["rtt"]["count"], 50, "its results answer it: {outcome}");
    let outcome = load("broadcast", address, &[&app[..], &["--payload-padding=600"]].concat());
    assert!(outcome.stdout.contains("rejected_message"), "errors in a result refuse a message: {outcome}");
}

#[test]
fn the_client_against_strawberry() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/graphql");
    let home = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("strawberry");
    let python = match python::environment(&home, &root.join("requirements.txt")) {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip("strawberry-graphql (PyPI)", &why),
    };
    let address = free_address();
    let mut serve = Command::new(&python);
    serve.arg(root.join("server.py")).arg(address.port().to_string());
    let _server = Process::start(&mut serve).listening_at(address);
    assert_all(address, &["--protocol", "graphql"], 100);
    assert_app(address);
}
