//! permessage-deflate with programs that others wrote, in both roles, with windows that are kept and windows
//! that are forgotten; and what it costs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::node::{Scripts, assert_says_ok};
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, built_by_go};
use crate::support::throng::{Server, caveat, run, sum_of, throng};
use crate::support::{exact, free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(60);
/// The peers' name of it, and the flags for it.
const TAKEOVERS: [(&str, &[&str]); 2] =
    [("kept", &["--compress"]), ("forgotten", &["--compress", "--no-context-takeover"])];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/compression")
}

#[test]
fn ws_of_node() {
    match Scripts::install("compression") {
        Ok(scripts) => both_roles(&|| scripts.command("peer.js")),
        Err(Unavailable(why)) => skip("ws (npm)", &why),
    }
}

#[test]
fn websockets_of_python() {
    let python = match python_of(&folder().join("../../../targets/python-websockets")) {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip("websockets (PyPI)", &why),
    };
    both_roles(&|| {
        let mut python = Command::new(&python);
        python.arg("peer.py").current_dir(folder());
        python
    });
}

#[test]
fn gorilla_of_go() {
    match built_by_go(&folder(), "peer", ".") {
        Ok(peer) => both_roles(&|| Command::new(&peer)),
        Err(Unavailable(why)) => skip("gorilla/websocket (Go)", &why),
    }
}

/// The peer as a client of throng's server, and as a server of throng's clients.
fn both_roles(peer: &dyn Fn() -> Command) {
    for (takeover, flags) in TAKEOVERS {
        let server = Server::start(flags);
        assert_says_ok(peer().args(["ask", &format!("ws://{}/ws", server.address), takeover]));

        let address = free_address();
        let _server = Process::start(peer().args(["serve", &address.port().to_string(), takeover]))
            .listening_at(address);
        exact::echo(&format!("ws://{address}/"), &[&["--protocol", "json"], flags].concat());
    }
}

/// The bytes of a client at either end, in the generator and in the server, that says something or does not.
fn bytes_each(flags: &[&str], says_something: bool, clients: [u32; 2]) -> [f64; 2] {
    let resident = clients.map(|clients| {
        let server = Server::start(&[&["--threads", "1"], flags].concat());
        let url = format!("ws://{}/ws", server.address);
        let mut command = throng(["idle", &url, "--clients", &clients.to_string(), "--threads", "1"]);
        command.args(["--connect-rate", "2000", "--connect-timeout", "20s", "--duration", "1s"]);
        command.args(["--format", "json", "--quiet", "--no-store"]).args(flags);
        let outcome = run(command.args(says_something.then_some("--echo")), RUN_MAX);
        let results = outcome.json();
        assert_eq!(sum_of(&results, "connected"), u64::from(clients), "{outcome}");
        assert_eq!(sum_of(&results, "received"), u64::from(if says_something { clients } else { 0 }));
        ["generator", "server"].map(|end| results["steps"][0][end]["rss_bytes_peak"].as_f64().unwrap())
    });
    // The difference, so that what a process takes for itself is no part of it.
    let of_end = |end: usize| (resident[1][end] - resident[0][end]) / f64::from(clients[1] - clients[0]);
    [of_end(0), of_end(1)]
}

/// A connection without compression takes 200 bytes at each end.
const IDLE_BYTES_MAX: f64 = 2_048.0;

#[test]
fn compression_without_windows_costs_little() {
    let [generator, server] = bytes_each(TAKEOVERS[1].1, true, [500, 4_500]);
    assert!(generator < IDLE_BYTES_MAX && server < IDLE_BYTES_MAX, "{generator} and {server} bytes each");
}

#[test]
fn kept_windows_cost_what_is_said() {
    let [generator, server] = bytes_each(TAKEOVERS[0].1, false, [500, 4_500]);
    assert!(generator < IDLE_BYTES_MAX && server < IDLE_BYTES_MAX, "{generator} and {server} bytes each");

    let said = codec::DeflateOptions::default().window_bytes() as f64;
    for bytes in bytes_each(TAKEOVERS[0].1, true, [50, 350]) {
        assert!((0.9..1.1).contains(&(bytes / said)), "{bytes} bytes each, and {said} are said");
    }
}

#[test]
fn memory_of_windows_is_said() {
    let server = Server::start(&["--compress"]);
    let url = format!("ws://{}/ws", server.address);
    let idle = |clients: &str, flags: &[&str]| {
        let mut command = throng(["idle", &url, "--clients", clients, "--connect-rate", "1000"]);
        run(command.args(["--duration", "500ms", "--format", "json", "--no-store"]).args(flags), RUN_MAX)
    };
    let kept = idle("1000", TAKEOVERS[0].1);
    assert!(kept.stderr.contains("throng: --compress: "), "{kept}");
    assert!(caveat(&kept.json(), "kept_windows").is_some(), "{kept}");
    let forgotten = idle("1000", TAKEOVERS[1].1);
    assert!(!forgotten.stderr.contains("--compress"), "{forgotten}");
    assert!(caveat(&forgotten.json(), "kept_windows").is_none(), "{forgotten}");
    let few = idle("20", TAKEOVERS[0].1);
    assert!(!few.stderr.contains("--compress"), "a few MiB are not worth a word\n{few}");
}
