//! SockJS against software that shares no code with throng: its server against the client of browsers, its client
//! against sockjs-node and sockjs-tornado, over every transport that both sides have.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use support::process::Process;
use support::skip;
use support::target::{Target, Unavailable};
use support::throng::{Server, run, sum_of, throng};

/// All of them, for servers.
const TRANSPORTS: [&str; 7] =
    ["websocket", "raw-websocket", "xhr-streaming", "xhr-polling", "eventsource", "htmlfile", "jsonp"];
/// Those that sockjs-client has outside of browsers.
const TRANSPORTS_IN_NODE: [&str; 4] = ["websocket", "xhr-streaming", "xhr-polling", "eventsource"];

const CLIENTS: u64 = 100;
const BROADCASTS: u64 = 20;

/// One server at a time: two would slow each other down.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn the_server_and_the_client_of_browsers() {
    let _alone = MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = match install_client() {
        Ok(folder) => folder,
        Err(why) => return skip("sockjs-client", &why),
    };
    // Sessions are found by whichever thread a connection came to.
    let server = Server::start(&["--threads", "2"]);
    for transport in TRANSPORTS_IN_NODE {
        let mut node = Command::new("node");
        node.current_dir(&folder).args(["client.js", &format!("http://{}", server.address), transport]);
        let outcome = run(&mut node, Duration::from_secs(30));
        assert_eq!(outcome.code, Some(0), "{transport}: {outcome}");
        assert_eq!(by_service(&outcome.stdout), expected(transport), "{transport}: {outcome}");
    }
}

/// Installs the client as its lockfile says; or why that cannot be.
fn install_client() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sockjs-client");
    for program in ["node", "npm"] {
        if Command::new(program).arg("--version").output().is_err() {
            return Err(format!("needs {program}"));
        }
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder);
    let mut process = Process::start(&mut npm);
    let status = process.wait(Duration::from_secs(300));
    match status.is_some_and(|status| status.success()) {
        true => Ok(folder),
        false => Err(process.into_output().1),
    }
}

/// The lines of each service: sorted where two connections speak at once.
fn by_service(stdout: &str) -> Vec<Vec<String>> {
    let lines_of = |service: &str| {
        let mut lines: Vec<String> =
            stdout.lines().filter_map(|line| line.strip_prefix(service)).map(str::to_owned).collect();
        if service == "/sockjs " {
            lines.sort();
        }
        lines
    };
    ["/echo ", "/close ", "/cookie_needed_echo ", "/sockjs "].map(lines_of).to_vec()
}

/// What the client says when everything is as it should be.
fn expected(transport: &str) -> Vec<Vec<String>> {
    let open = format!("open {transport}");
    let message = |text: &str| format!("message {}", serde_json::to_string(text).unwrap());
    let close = "close 1000 \"Normal closure\" true".to_owned();
    let odd = "é€\u{1f600}\u{2028}\u{200c}\u{feff}\u{ffff}\0\"\\\n</script>";
    let echoes = ["hello", odd, &"x".repeat(5000), "after the limit"].map(message);
    let echo = [vec![open.clone()], echoes.to_vec(), vec![close.clone()]].concat();
    let broadcast = message(r#"{"type":"broadcast","payload":{"text":"to all"}}"#);
    let result = message(r#"{"type":"broadcastResult","payload":{"text":"to all"}}"#);
    let mut both =
        vec![open.clone(), open.clone(), broadcast.clone(), broadcast, result, close.clone(), close.clone()];
    both.sort();
    vec![
        echo,
        vec![open.clone(), "close 3000 \"Go away!\" true".to_owned()],
        vec![open, message("with a cookie"), close],
        both,
    ]
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
    let _alone = MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
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
    let _alone = MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let server = Server::start(&["--threads", "2", "--sockjs-response-limit", "2KiB"]);
    let url = format!("http://{}/sockjs", server.address);
    for transport in TRANSPORTS {
        echo(&url, transport);
        broadcast(&url, transport, "result");
    }
}

#[test]
fn servers_that_are_none_are_named() {
    let _alone = MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let server = Server::start(&[]);
    for (transport, path, error) in [
        ("websocket", "/ws", "connect_timeout"), // the json dialect is spoken there, which opens with nothing
        ("xhr-streaming", "/nothing", "http_status"),
        ("websocket", "/disabled_websocket_echo", "http_status"),
        ("websocket", "/close", "closed"),
        ("xhr-polling", "/close", "closed"),
    ] {
        let url = format!("http://{}{path}", server.address);
        let mut command = throng(["echo", &url, "--dialect", "sockjs", "--transport", transport]);
        command.args(["--clients", "3", "--duration", "200ms", "--drain-timeout", "1s"]);
        let outcome = run(&mut command, Duration::from_secs(20));
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains(error), "{transport} {path}: {outcome}");
    }
    let bad =
        run(&mut throng(["echo", "--dialect", "sockjs", "--transport", "pigeon"]), Duration::from_secs(20));
    assert_eq!(bad.code, Some(2), "{bad}");
    assert!(bad.stderr.contains("--transport") && bad.stderr.contains("xhr-polling"), "{bad}");
}

fn echo(url: &str, transport: &str) {
    let mut command =
        throng(["echo", url, "--dialect", "sockjs", "--transport", transport, "--format", "json"]);
    command.args(["--clients", &CLIENTS.to_string(), "--interval", "200ms", "--duration", "400ms"]);
    let results = run(&mut command, Duration::from_secs(60)).json();
    assert_eq!(results["dialect"], format!("sockjs/{transport}"));
    assert_complete(&results, transport);
    assert_eq!(sum_of(&results, "received"), sum_of(&results, "sent"));
}

fn broadcast(url: &str, transport: &str, ack: &str) {
    let mut command =
        throng(["broadcast", url, "--dialect", "sockjs", "--transport", transport, "--ack", ack]);
    command.args(["--format", "json", "--concurrent", "2", "--sample-size", &BROADCASTS.to_string()]);
    command.args(["--initial-clients", &CLIENTS.to_string(), "--step-size", "1", "--total-steps", "1"]);
    command.args(["--limit-rtt", "10s"]);
    let results = run(&mut command, Duration::from_secs(60)).json();
    assert_complete(&results, transport);
    assert_eq!(sum_of(&results, "sent"), BROADCASTS);
    assert_eq!(sum_of(&results, "received"), BROADCASTS * CLIENTS, "{transport}: each goes to everyone");
    assert_eq!(
        results["steps"][0]["rtt"]["count"].as_u64(),
        Some(BROADCASTS),
        "{transport}: all acknowledged"
    );
}

fn assert_complete(results: &Value, transport: &str) {
    assert_eq!(sum_of(results, "connected"), CLIENTS, "{transport}: {results:#}");
    for nothing in ["missing", "duplicate", "corrupt", "unexpected", "reordered", "disconnects"] {
        assert_eq!(sum_of(results, nothing), 0, "{transport}: {nothing}: {results:#}");
    }
    for step in results["steps"].as_array().expect("steps") {
        assert_eq!(step["counts"]["errors"], serde_json::json!({}), "{transport}: {results:#}");
    }
}
