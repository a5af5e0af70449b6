//! SockJS against software that shares no code with throng: its server against the client of browsers, its client
//! against sockjs-node and sockjs-tornado, over every transport that both sides have.

use std::time::Duration;

use crate::support::node::Scripts;
use crate::support::target::{Target, Unavailable};
use crate::support::throng::{Server, run, throng};
use crate::support::{exact, skip};

const RUN_MAX: Duration = Duration::from_secs(60);

/// All of them, for servers.
const TRANSPORTS: [&str; 7] =
    ["websocket", "raw-websocket", "xhr-streaming", "xhr-polling", "eventsource", "htmlfile", "jsonp"];
/// Transports that sockjs-client has outside of browsers.
const TRANSPORTS_IN_NODE: [&str; 4] = ["websocket", "xhr-streaming", "xhr-polling", "eventsource"];

#[test]
fn the_server_and_the_client_of_browsers() {
    let scripts = match Scripts::install("sockjs") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("sockjs-client (npm)", &why),
    };
    // Sessions are found by whichever thread a connection came to.
    let server = Server::start(&["--threads", "2"]);
    for transport in TRANSPORTS_IN_NODE {
        scripts.run("client.js", &[&format!("http://{}", server.address), transport]);
    }
}

#[test]
fn the_client_and_sockjs_node() {
    drive("sockjs-node");
}

#[test]
fn the_client_and_sockjs_tornado() {
    drive("sockjs-tornado");
}

fn drive(name: &str) {
    match Target::start(name) {
        Ok(target) => {
            for transport in TRANSPORTS {
                echo(&target.url(), transport);
                broadcast(&target.url(), transport, "result");
            }
            // The application of the SockJS test of 2011: everything goes to everyone, and there is no result.
            broadcast(&target.url().replace("/sockjs", "/broadcast"), "websocket", "copy");
            target.stop();
        }
        Err(Unavailable(why)) => skip(name, &why),
    }
}

#[test]
fn the_client_and_the_server() {
    let server = Server::start(&["--threads", "2", "--sockjs-response-limit", "2KiB"]);
    let url = format!("http://{}/sockjs", server.address);
    for transport in TRANSPORTS {
        echo(&url, transport);
        broadcast(&url, transport, "result");
    }
}

#[test]
fn servers_that_are_none_are_named() {
    let server = Server::start(&[]);
    for (transport, path, error) in [
        ("websocket", "/ws", "connect_timeout"), // the json dialect is spoken there, which opens with nothing
        ("xhr-streaming", "/nothing", "http_status"),
        ("websocket", "/disabled_websocket_echo", "http_status"),
        ("websocket", "/close", "closed"),
        ("xhr-polling", "/close", "closed"),
    ] {
        let url = format!("http://{}{path}", server.address);
        let mut command = throng(["echo", &url, "--protocol", "sockjs", "--transport", transport]);
        command.args(["--clients", "3", "--duration", "200ms", "--drain-timeout", "1s"]);
        let outcome = run(&mut command, RUN_MAX);
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains(error), "{transport} {path}: {outcome}");
    }
    let bad = run(&mut throng(["echo", "--protocol", "sockjs", "--transport", "pigeon"]), RUN_MAX);
    assert_eq!(bad.code, Some(2), "{bad}");
    assert!(bad.stderr.contains("--transport") && bad.stderr.contains("xhr-polling"), "{bad}");
}

fn echo(url: &str, transport: &str) {
    let results = exact::echo(url, &["--protocol", "sockjs", "--transport", transport]);
    assert_eq!(results["dialect"], format!("sockjs/{transport}"));
}

fn broadcast(url: &str, transport: &str, ack: &str) {
    exact::broadcast(url, &["--protocol", "sockjs", "--transport", transport, "--ack", ack]);
}
