//! `throng probe URL` against limits of programs that others wrote: gorilla/websocket (Go), websockets and
//! aiohttp (Python), nginx.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::data_sheet::{assert_true, sheet};
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, built_by_go};
use crate::support::throng::Server;
use crate::support::{free_address, skip, timed};

/// A server's arguments, and its truth.
type Case = (&'static [&'static str], &'static [(&'static str, &'static str)]);

/// A limit of gorilla/websocket's: bytes, the read deadline, and the time between pings.
const GORILLA: [Case; 4] = [
    (
        &["0", "0", "0"],
        &[
            ("message_max/refused_bytes", "null"),
            ("idle/closed_after_s", "null"),
            ("ping_interval/kind", "null"),
            ("connections/refusal", "null"),
            ("handshake_rate/refusal", "null"),
            ("message_rate/limit", "null"),
            ("order/out_of_order", "0"),
        ],
    ),
    (
        &["50000", "0", "0"],
        &[
            ("message_max/accepted_bytes", "50000"),
            ("message_max/refusal", "1009"),
            ("idle/closed_after_s", "null"),
            ("message_rate/limit", "null"),
        ],
    ),
    (
        &["0", "1500ms", "0"],
        &[
            ("idle/closed_after_s", "1.5"),
            ("idle/closing/code", "null"),
            ("idle_with_pings/kept_open", "false"),
            ("ping_interval/kind", "null"),
            ("message_max/refused_bytes", "null"),
        ],
    ),
    (
        &["0", "2s", "1s"],
        &[
            ("idle/closed_after_s", "null"),
            ("ping_interval/interval_s", "1"),
            // The deadline is 2 s after the connection's beginning, the first ping 1 s after it.
            ("pong_timeout/closed_after_s", "1"),
            ("message_max/refused_bytes", "null"),
        ],
    ),
];

/// Options of websockets.
const PYTHON: [Case; 3] = [
    (
        &[r#"{"ping_interval":null,"max_size":null}"#],
        &[
            ("message_max/refused_bytes", "null"),
            ("idle/closed_after_s", "null"),
            ("ping_interval/kind", "null"),
            ("connections/refusal", "null"),
            ("handshake_rate/refusal", "null"),
            ("message_rate/limit", "null"),
        ],
    ),
    (
        &[r#"{"ping_interval":null,"max_size":70000}"#],
        &[
            ("message_max/accepted_bytes", "70000"),
            ("message_max/refusal", "1009"),
            ("idle/closed_after_s", "null"),
        ],
    ),
    (
        &[r#"{"ping_interval":1,"ping_timeout":1.4,"max_size":null}"#],
        &[
            ("idle/closed_after_s", "null"),
            ("ping_interval/interval_s", "1"),
            ("pong_timeout/closed_after_s", "1.4"),
            ("pong_timeout/closing/code", "1011"),
            ("message_max/refused_bytes", "null"),
        ],
    ),
];

/// Options of aiohttp.
const AIOHTTP: [Case; 2] = [
    (
        &[r#"{"heartbeat":1,"max_msg_size":30000}"#],
        &[
            ("message_max/accepted_bytes", "30000"),
            ("message_max/refusal", "1009"),
            ("idle/closed_after_s", "null"),
            ("ping_interval/interval_s", "1"),
            // Half a heartbeat (aiohttp's web_ws.py).
            ("pong_timeout/closed_after_s", "0.5"),
        ],
    ),
    (
        // Frames without a mask are taken: what ends these connections is the timeout.
        &[r#"{"receive_timeout":2}"#],
        &[
            ("idle/closed_after_s", "2"),
            ("idle_with_pings/kept_open", "true"),
            ("close_codes/unmasked", "\"ignored\""),
            ("ping_interval/kind", "null"),
            // aiohttp's default, 4 MiB, is above what is tried.
            ("message_max/refused_bytes", "null"),
            ("connections/refusal", "null"),
            ("handshake_rate/refusal", "null"),
        ],
    ),
];

/// Lines of nginx's configuration for all servers, and for the proxied one.
const NGINX: [Case; 5] = [
    (
        &["", ""],
        &[
            ("message_max/refused_bytes", "null"),
            ("idle/closed_after_s", "null"),
            ("connections/refusal", "null"),
            ("handshake_rate/refusal", "null"),
            ("message_rate/limit", "null"),
        ],
    ),
    (
        &["", "proxy_read_timeout 2s;"],
        &[
            ("idle/closed_after_s", "2"),
            ("idle/closing/code", "null"),
            ("idle_with_pings/kept_open", "true"),
            ("closed_by/by", "\"proxy\""),
            ("connections/refusal", "null"),
        ],
    ),
    (
        &["limit_conn_zone $binary_remote_addr zone=all:1m;", "limit_conn all 15;"],
        &[
            ("connections/open", "15"),
            ("connections/refusal", "503"),
            ("connections/freed", "true"),
            ("handshake_rate/refusal", "null"),
            ("idle/closed_after_s", "null"),
        ],
    ),
    (
        &["limit_conn_zone $binary_remote_addr zone=all:1m;", "limit_conn all 15; proxy_read_timeout 2s;"],
        &[("connections/open", "15"), ("connections/refusal", "503"), ("idle/closed_after_s", "2")],
    ),
    (
        // A burst of 20 and the one before it, then 5 each second.
        &[
            "limit_req_zone $binary_remote_addr zone=all:1m rate=5r/s;",
            "limit_req zone=all burst=20 nodelay;",
        ],
        &[
            ("handshake_rate/refusal", "503"),
            ("handshake_rate/per_s", "5"),
            ("connections/refusal", "null"),
            ("message_rate/limit", "null"),
            ("idle/closed_after_s", "null"),
        ],
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/limits")
}

/// Compares each server's sheet with its truth; `start`: the server with these arguments, at this address.
fn assert_each(cases: &[Case], start: &dyn Fn(SocketAddr, &[&str]) -> Process) {
    for (arguments, truth) in cases {
        timed(|| {
            let address = free_address();
            let _server = start(address, arguments).listening_at(address);
            let outcome = sheet(&format!("ws://{address}/ws"), &["--yes"]);
            assert_true(&format!("{arguments:?}"), &outcome, truth.iter().copied());
        });
    }
}

#[test]
fn limits_of_gorilla_are_found() {
    let program = match built_by_go(&folder(), "limits") {
        Ok(program) => program,
        Err(Unavailable(why)) => return skip("gorilla/websocket (Go), the server", &why),
    };
    assert_each(&GORILLA, &|address, arguments| {
        Process::start(Command::new(&program).arg(address.port().to_string()).args(arguments))
    });
}

/// Compares the sheets of a server in Python, whose packages are those of this target, with their truth.
fn assert_each_python(target: &str, script: &str, cases: &[Case]) {
    let python = match python_of(&folder().join("../../../targets").join(target)) {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip(target, &why),
    };
    assert_each(cases, &|address, arguments| {
        let script = folder().join(script);
        Process::start(Command::new(&python).arg(script).arg(address.port().to_string()).args(arguments))
    });
}

#[test]
fn limits_of_python_websockets_are_found() {
    assert_each_python("python-websockets", "server.py", &PYTHON);
}

#[test]
fn limits_of_aiohttp_are_found() {
    assert_each_python("python-aiohttp", "aio.py", &AIOHTTP);
}

#[test]
fn limits_of_nginx_are_found() {
    if Command::new("nginx").arg("-v").output().is_err() {
        return skip("nginx, the proxy", "needs it: apt install nginx-light");
    }
    let behind = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    assert_each(&NGINX, &|address, lines| {
        let conf = include_str!("servers/limits/nginx.conf")
            .replace("PORT", &address.port().to_string())
            .replace("UPSTREAM", &behind.address.to_string())
            .replace("ZONES", lines[0])
            .replace("LIMITS", lines[1]);
        fs::write(folder.path().join("nginx.conf"), conf).unwrap();
        let mut nginx = Command::new("nginx");
        Process::start(nginx.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path()))
    });
}
