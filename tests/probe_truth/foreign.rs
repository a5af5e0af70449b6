//! Programs that others wrote, but for ws: gorilla/websocket (Go), websockets and aiohttp (Python),
//! µWebSockets (C++), nginx and HAProxy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::planted::{ANY, Kind, OF_ECHOES, Running, certify, row};
use crate::support::free_address;
use crate::support::haproxy::Haproxy;
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Target, Unavailable, built_by_go};
use crate::support::throng::Server;

/// Its arguments: bytes of a message, the read deadline, and the time between pings; 0 is none.
pub(super) static GORILLA: Kind = Kind {
    name: "gorilla/websocket (Go)",
    start: start_gorilla,
    usual: OF_ECHOES,
    rows: &[
        row("no limit", &["0", "0", "0"], &[("slow_reader/behavior", "\"waits\"")]),
        row(
            "messages of 50,000 bytes",
            &["50000", "0", "0"],
            &[
                ("message_max/accepted_bytes", "50000"),
                ("message_max/refused_bytes", "50000"),
                ("message_max/refusal", "1009"),
            ],
        )
        .repeated(),
        row(
            "a read deadline of 1.5 s, which pings do not move",
            &["0", "1500ms", "0"],
            &[
                ("idle/closed_after_s", "1.5"),
                ("idle/closing/code", "null"),
                ("idle_with_pings/kept_open", "false"),
                ("slow_reader/behavior", ANY),
            ],
        ),
        row(
            "a read deadline of 2 s, and a ping each second",
            &["0", "2s", "1s"],
            &[
                ("ping_interval/kind", "\"ping\""),
                ("ping_interval/interval_s", "1"),
                // The deadline is 2 s after the connection's beginning, the first ping 1 s after it.
                ("pong_timeout/closed_after_s", "1"),
                ("slow_reader/behavior", ANY),
            ],
        ),
    ],
};

/// Options of `serve()`.
pub(super) static WEBSOCKETS: Kind = Kind {
    name: "websockets (Python)",
    start: start_websockets,
    usual: OF_ECHOES,
    rows: &[
        row(
            "no limit",
            &[r#"{"ping_interval":null,"max_size":null}"#],
            &[("slow_reader/behavior", "\"waits\"")],
        )
        .repeated(),
        row(
            "messages of 70,000 bytes",
            &[r#"{"ping_interval":null,"max_size":70000}"#],
            &[
                ("message_max/accepted_bytes", "70000"),
                ("message_max/refused_bytes", "70000"),
                ("message_max/refusal", "1009"),
            ],
        ),
        row(
            "a ping each second, to be answered within 1.4 s",
            &[r#"{"ping_interval":1,"ping_timeout":1.4,"max_size":null}"#],
            &[
                ("ping_interval/kind", "\"ping\""),
                ("ping_interval/interval_s", "1"),
                ("pong_timeout/closed_after_s", "1.4"),
                ("pong_timeout/closing/code", "1011"),
                ("slow_reader/behavior", ANY),
            ],
        ),
    ],
};

/// Options of `WebSocketResponse`. Its default for messages, 4 MiB, is above what is tried.
pub(super) static AIOHTTP: Kind = Kind {
    name: "aiohttp (Python)",
    start: start_aiohttp,
    usual: OF_ECHOES,
    rows: &[
        row(
            "messages of 30,000 bytes, and a ping each second",
            &[r#"{"heartbeat":1,"max_msg_size":30000}"#],
            &[
                ("message_max/accepted_bytes", "30000"),
                ("message_max/refused_bytes", "30000"),
                ("message_max/refusal", "1009"),
                ("ping_interval/kind", "\"ping\""),
                ("ping_interval/interval_s", "1"),
                // Half a heartbeat (aiohttp's web_ws.py).
                ("pong_timeout/closed_after_s", "0.5"),
                ("slow_reader/behavior", ANY),
            ],
        ),
        row(
            "an idle timeout of 2 s, which pings reset",
            &[r#"{"receive_timeout":2}"#],
            &[
                ("idle/closed_after_s", "2"),
                ("idle_with_pings/kept_open", "true"),
                // Frames without a mask are taken: what ends these connections is the timeout.
                ("close_codes/unmasked", "\"ignored\""),
                ("slow_reader/behavior", ANY),
            ],
        ),
    ],
};

/// The target's settings. Its clock ticks every 4 s.
pub(super) static UWEBSOCKETS: Kind = Kind {
    name: "µWebSockets (C++)",
    start: start_uwebsockets,
    usual: OF_ECHOES,
    rows: &[
        row("no limit", &[], &[("slow_reader/behavior", "\"buffers\"")]),
        row(
            "messages of 40,000 bytes",
            &["MESSAGE_BYTES=40000"],
            &[("message_max/accepted_bytes", "40000"), ("message_max/refused_bytes", "40000")],
        ),
        row(
            "an idle timeout of 44 s to 48 s",
            &["IDLE_S=48"],
            &[("idle/closed_after_s", "46"), ("idle_with_pings/kept_open", "true")],
        )
        .probed(&["--idle", "55s"]),
        row("1 MiB for a slow reader", &["QUEUE_BYTES=1048576"], &[("slow_reader/behavior", "\"closed\"")]),
    ],
};

/// Lines of its configuration for all servers, and for the proxied one.
pub(super) static NGINX: Kind = Kind {
    name: "nginx",
    start: start_nginx,
    usual: OF_ECHOES,
    rows: &[
        row("no limit", &["", ""], &[("slow_reader/behavior", "\"waits\"")]).repeated(),
        row(
            "an idle timeout of 2 s",
            &["", "proxy_read_timeout 2s;"],
            &[
                ("idle/closed_after_s", "2"),
                ("idle/closing/code", "null"),
                ("idle_with_pings/kept_open", "true"),
                ("closed_by/by", "\"proxy\""),
                ("slow_reader/behavior", ANY),
            ],
        )
        .repeated(),
        row(
            "15 connections, then 503",
            &["limit_conn_zone $binary_remote_addr zone=all:1m;", "limit_conn all 15;"],
            &[("connections/open", "15"), ("connections/refusal", "503"), ("connections/freed", "true")],
        )
        .repeated(),
        row(
            "both of these",
            &[
                "limit_conn_zone $binary_remote_addr zone=all:1m;",
                "limit_conn all 15; proxy_read_timeout 2s;",
            ],
            &[
                ("connections/open", "15"),
                ("connections/refusal", "503"),
                ("idle/closed_after_s", "2"),
                ("idle_with_pings/kept_open", "true"),
                ("closed_by/by", "\"proxy\""),
                ("slow_reader/behavior", ANY),
            ],
        ),
        row(
            // A burst of 20 and the one before it, then 5 each second.
            "5 handshakes a second after 21",
            &[
                "limit_req_zone $binary_remote_addr zone=all:1m rate=5r/s;",
                "limit_req zone=all burst=20 nodelay;",
            ],
            &[("handshake_rate/refusal", "503"), ("handshake_rate/per_s", "5")],
        ),
    ],
};

/// Lines of its configuration for TLS.
pub(super) static NGINX_TLS: Kind = Kind {
    name: "nginx, over TLS",
    start: start_nginx_with_tls,
    usual: OF_ECHOES,
    rows: &[
        row(
            "TLS 1.2 alone, no resumption",
            &["ssl_protocols TLSv1.2; ssl_session_cache off; ssl_session_tickets off;"],
            &[
                ("tls_versions/versions", r#"["1.2"]"#),
                ("tls_alpn/protocols", r#"["http/1.1"]"#),
                ("tls_resumption/resumed", "false"),
                ("http2/spoken", "false"),
            ],
        )
        .probed(&["--insecure"]),
        row(
            "TLS 1.3 alone",
            &["ssl_protocols TLSv1.3;"],
            &[("tls_versions/versions", r#"["1.3"]"#), ("tls_resumption/resumed", "true")],
        )
        .probed(&["--insecure"]),
    ],
};

/// A timeout of tunnels, and lines of the backend.
pub(super) static HAPROXY: Kind = Kind {
    name: "HAProxy",
    start: start_haproxy,
    usual: OF_ECHOES,
    rows: &[
        row(
            "an idle timeout of 1.5 s, and a cookie for each server",
            &[
                "1500ms",
                "balance roundrobin",
                "cookie SERVERID insert",
                "http-response set-header Via 1.1-haproxy",
            ],
            &[
                ("idle/closed_after_s", "1.5"),
                ("idle/closing/code", "null"),
                ("idle_with_pings/kept_open", "true"),
                ("closed_by/by", "\"proxy\""),
                ("slow_reader/behavior", ANY),
                ("stickiness/cookie", "\"SERVERID\""),
                ("stickiness/values", "2"),
                ("stickiness/kept", "true"),
            ],
        ),
        row(
            "12 connections to each of two servers, then 503",
            &["1m", "balance roundrobin", "default-server maxconn 12", "timeout queue 100ms"],
            &[("connections/open", "24"), ("connections/refusal", "503"), ("connections/freed", "true")],
        ),
    ],
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/limits")
}

/// Starts a program with a port before its other arguments.
fn start_at_port(command: &mut Command, arguments: &[&str]) -> Running {
    let address = free_address();
    command.arg(address.port().to_string()).args(arguments);
    Running::new(format!("ws://{address}/ws"), Process::start(command).listening_at(address))
}

fn start_gorilla(arguments: &[&str]) -> Result<Running, Unavailable> {
    let program = built_by_go(&folder(), "limits", ".")?;
    Ok(start_at_port(&mut Command::new(program), arguments))
}

/// Starts a script with the Python packages of that target.
fn start_python(target: &str, script: &str, arguments: &[&str]) -> Result<Running, Unavailable> {
    let python = python_of(&folder().join("../../../targets").join(target))?;
    Ok(start_at_port(Command::new(python).arg(folder().join(script)), arguments))
}

fn start_websockets(arguments: &[&str]) -> Result<Running, Unavailable> {
    start_python("python-websockets", "server.py", arguments)
}

fn start_aiohttp(arguments: &[&str]) -> Result<Running, Unavailable> {
    start_python("python-aiohttp", "aio.py", arguments)
}

fn start_uwebsockets(settings: &[&str]) -> Result<Running, Unavailable> {
    // Rows side by side would build it into each other's files.
    static BUILDING: Mutex<()> = Mutex::new(());
    let target = {
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        Target::prepare("cpp-uwebsockets", None)?
    };
    let address = free_address();
    let mut command = Command::new(target.folder.join("build/server"));
    command.env("PORT", address.port().to_string());
    command.envs(settings.iter().filter_map(|setting| setting.split_once('=')));
    let process = Process::start(&mut command).listening_at(address);
    Ok(Running::new(format!("ws://{address}/ws"), process))
}

fn start_nginx(lines: &[&str]) -> Result<Running, Unavailable> {
    start_nginx_in(tempfile::tempdir().unwrap(), "ws", lines)
}

fn start_nginx_with_tls(lines: &[&str]) -> Result<Running, Unavailable> {
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = certify(folder.path());
    let zones = format!("ssl_certificate {cert}; ssl_certificate_key {key}; {}", lines[0]);
    start_nginx_in(folder, "wss", &[&zones, ""])
}

/// Starts nginx in a folder, which it ends with.
fn start_nginx_in(folder: TempDir, scheme: &str, lines: &[&str]) -> Result<Running, Unavailable> {
    if Command::new("nginx").arg("-v").output().is_err() {
        return Err(Unavailable("needs nginx: apt install nginx-light".into()));
    }
    let (behind, address) = (Server::start(&[]), free_address());
    let secured = if scheme == "wss" { " ssl" } else { "" };
    let conf = include_str!("../servers/limits/nginx.conf")
        .replace("ADDRESS", &format!("{address}{secured}"))
        .replace("UPSTREAM", &behind.address.to_string())
        .replace("ZONES", lines[0])
        .replace("LIMITS", lines[1]);
    fs::write(folder.path().join("nginx.conf"), conf).unwrap();
    let mut nginx = Command::new("nginx");
    nginx.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path());
    let proxy = Process::start(&mut nginx).listening_at(address);
    Ok(Running::new(format!("{scheme}://{address}/ws"), (proxy, behind, folder)))
}

fn start_haproxy(lines: &[&str]) -> Result<Running, Unavailable> {
    let servers = [Server::start(&[]), Server::start(&[])];
    let tunnel = format!("timeout tunnel {}", lines[0]);
    let defaults = ["timeout client 30s", "timeout server 30s", &tunnel];
    let behind = servers.each_ref().map(|server| server.address);
    let proxy = Haproxy::start("its limits", &defaults, &lines[1..], &behind);
    let proxy = proxy.ok_or_else(|| Unavailable("needs haproxy".into()))?;
    Ok(Running::new(format!("ws://{}/ws", proxy.address), (proxy, servers)))
}
