//! Socket.IO with programs that others wrote: throng's server against the official client, the last of its predecessor
//! and that of Python; the generator against socket.io, of this version and of the one before.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::node::Scripts;
use crate::support::python::python_of;
use crate::support::target::{Target, Unavailable};
use crate::support::throng::{Server, run, throng};
use crate::support::{REACTS_WITHIN, exact, node, skip};

const RUN_MAX: Duration = Duration::from_secs(60);

const TRANSPORTS: [&str; 3] = ["websocket", "polling", "upgrade"];

/// A server whose heartbeats are soon seen. Sessions are found by whichever thread a connection came to.
fn server() -> Server {
    Server::start(&["--threads", "2", "--socketio-ping-interval", "300ms", "--socketio-ping-timeout", "5s"])
}

#[test]
fn the_server_against_the_official_clients() {
    let scripts = match Scripts::install("socketio") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("socket.io-client (npm)", &why),
    };
    let server = server();
    let url = format!("http://{}", server.address);
    for transport in TRANSPORTS {
        scripts.run("client.js", &[&url, transport]);
        scripts.run("legacy.js", &[&url, transport]);
    }
}

/// Requests before or after a WebSocket has taken its session over get the same answers here and there.
#[test]
fn packets_overtaking_an_upgrade_are_answered() {
    let scripts = match Scripts::install("socketio") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("socket.io-client (npm)", &why),
    };
    let server = server();
    scripts.run("overtake.js", &[&format!("http://{}", server.address), "150"]);
    match Target::start_as("socketio-node", None) {
        Ok(target) => {
            scripts.run("overtake.js", &[&target.url(), "150"]);
            target.stop();
        }
        Err(Unavailable(why)) => skip("socketio-node", &why),
    }
}

#[test]
fn the_server_against_the_client_of_python() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/socketio");
    let python = match python_of(&folder) {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip("python-socketio (PyPI)", &why),
    };
    let server = server();
    let url = format!("http://{}", server.address);
    for transport in TRANSPORTS {
        let mut client = Command::new(&python);
        node::assert_says_ok(client.args(["client.py", &url, transport]).current_dir(&folder));
    }
}

#[test]
fn the_generator_against_socket_io_and_its_predecessor() {
    for (variant, eio) in [(None, "4"), (Some("2"), "3")] {
        match Target::start_as("socketio-node", variant) {
            Ok(target) => {
                drive(&target.url(), eio);
                target.stop();
            }
            Err(Unavailable(why)) => skip("socketio-node", &why),
        }
    }
}

#[test]
fn the_generator_against_the_server() {
    let server = server();
    let url = format!("http://{}/socket.io/", server.address);
    for eio in ["4", "3"] {
        drive(&url, eio);
    }
    for transport in TRANSPORTS {
        let flags = ["--protocol", "socketio", "--transport", transport];
        let custom = ["--namespace", "/custom", "--auth", r#"{"user":1}"#];
        exact::broadcast(&url, &[&flags[..], &custom].concat());
    }
}

/// Echoes and broadcasts over each transport: as events, with acknowledgements, with attachments.
fn drive(url: &str, eio: &str) {
    for transport in TRANSPORTS {
        let flags = ["--protocol", "socketio", "--eio", eio, "--transport", transport];
        let results = exact::echo(url, &flags);
        assert_eq!(results["dialect"], format!("socketio/{transport}"));
        exact::broadcast(url, &flags);
        exact::broadcast(url, &[&flags[..], &["--ack", "callback", "--binary"]].concat());
    }
}

#[test]
fn bodies_may_have_the_handshakes_size() {
    let server = Server::start(&["--socketio-max-payload", "4000000"]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
    let path = "/socket.io/?EIO=4&transport=polling";
    let mut ask = |request: String| {
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..length]).into_owned()
    };
    let handshake = ask(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    let sid = handshake.split('"').skip_while(|word| *word != "sid").nth(2).expect("a handshake");
    assert!(handshake.contains(r#""maxPayload":4000000"#), "{handshake}");
    let body = format!(r#"40/custom,{{"padding":"{}"}}"#, "x".repeat(2_000_000));
    let length = body.len();
    let post = format!("POST {path}&sid={sid} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
    let answer = ask(post);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn refusals_are_told_apart() {
    let server = Server::start(&["--origin", "http://good.example", "--socketio-max-payload", "300"]);
    let url = format!("http://{}", server.address);
    for (path, flags, error) in [
        ("/socket.io/", &["--namespace", "/nowhere"][..], "rejected_namespace"),
        ("/socket.io/", &["--namespace", "/nowhere", "--transport", "polling"], "rejected_namespace"),
        ("/socket.io/", &["--origin", "http://bad.example"], "http_status"),
        ("/socket.io/", &["--origin", "http://bad.example", "--transport", "polling"], "http_status"),
        ("/nothing", &["--transport", "polling"], "http_status"),
    ] {
        let mut command =
            throng(["echo", &format!("{url}{path}"), "--protocol", "socketio", "--format", "json"]);
        command.args(["--clients", "3", "--duration", "200ms", "--connect-timeout", "3s", "--no-preflight"]);
        command.args(flags);
        run(&mut command, RUN_MAX).assert_no_server(error, 3);
    }
    for (transport, error) in [("websocket", "closed"), ("polling", "http_status")] {
        let mut command = throng(["echo", &format!("{url}/socket.io/"), "--protocol", "socketio"]);
        command.args([
            "--clients",
            "1",
            "--duration",
            "200ms",
            "--drain-timeout",
            "1s",
            "--transport",
            transport,
        ]);
        let outcome = run(command.args(["--payload-padding", "400"]), RUN_MAX);
        assert!(outcome.stdout.contains(error), "above what the server takes: {transport}: {outcome}");
    }
    let bad = run(throng(["echo", "--protocol", "socketio"]).args(["--transport", "pigeon"]), RUN_MAX);
    assert_eq!(bad.code, Some(2), "{bad}");
    assert!(bad.stderr.contains("--transport") && bad.stderr.contains("upgrade"), "{bad}");
}
