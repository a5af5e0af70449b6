//! The memory of a connection: a server's that keeps what was freed for the next one, and the generator's.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::process::Process;
use crate::support::throng::{Server, finish, run, sum_of, throng};
use crate::support::{REACTS_WITHIN, free_address, skip, wait_until};

const RUN_MAX: Duration = Duration::from_secs(60);
/// Memory of the server below for a connection, without what Python does.
const BUFFER_BYTES: f64 = 24_576.0;

/// Memory it takes besides with a client's first message, where it is told to.
const LATER_BYTES: f64 = 102_400.0;

/// WebSockets that say what they hear; each has a buffer, which is never given back but used again.
const SERVER: &str = r#"
import asyncio, base64, hashlib, resource, sys
KEPT = []
async def serve(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    key = next(line.split(b":", 1)[1].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    buffer = KEPT.pop() if KEPT else bytearray(b"x" * 24576)
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    later = None
    try:
        while frame := await reader.read(4096):
            later = later or bytearray(b"x" * int(sys.argv[2]))
            mask, body = frame[2:6], frame[6:]
            writer.write(bytes([frame[0], len(body)]) + bytes(byte ^ mask[i % 4] for i, byte in enumerate(body)))
    except ConnectionError:
        pass
    KEPT.append(buffer)
    writer.close()
async def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    async with await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=4096) as server:
        await server.serve_forever()
asyncio.run(main())
"#;

/// The server, which takes so much with a first message, and where it listens.
fn serve(later_bytes: f64) -> (Process, SocketAddr) {
    let address = free_address();
    let mut python = Command::new("python3");
    python.args(["-c", SERVER, &address.port().to_string(), &format!("{later_bytes:.0}")]);
    let server = Process::start(&mut python).listening_at(address);
    (server, address)
}

#[test]
fn memory_of_first_messages_is_separate() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip("memory that comes later", "needs python3");
    }
    let (_server, address) = serve(LATER_BYTES);
    let idle = |address: SocketAddr, more: &[&str]| {
        let mut command = throng(["idle", "--clients", "300", "--connect-rate", "200", "--duration", "2s"]);
        command.args(["--format", "json", &format!("ws://{address}/")]).args(more);
        run(&mut command, RUN_MAX).json()["verdict"]["memory_per_client"].clone()
    };
    let memory = idle(address, &["--echo"]);
    let (at_first, later) = (memory["bytes"].as_f64(), memory["later_bytes"].as_f64());
    let (at_first, later) = at_first.zip(later).unwrap_or_else(|| panic!("both are told: {memory}"));
    assert!((0.5..1.5).contains(&((later - at_first) / LATER_BYTES)), "{memory}");

    let (_server, address) = serve(0.0);
    let memory = idle(address, &[]);
    assert!(memory["bytes"].is_f64() && memory["later_bytes"].is_null(), "nothing comes later: {memory}");
}

#[test]
fn freed_memory_is_no_connection_cost() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip("memory that is used again", "needs python3");
    }
    let (server, address) = serve(0.0);
    let idle = |clients: &str| -> Value {
        // Nobody is there from the run before.
        let descriptors = format!("/proc/{}/fd", server.pid().as_raw_nonzero());
        let open = || std::fs::read_dir(&descriptors).expect("the server runs").count();
        assert!(wait_until(REACTS_WITHIN, || open() < 50), "{} are open", open());
        let mut command =
            throng(["idle", "--connect-rate", "400", "--connect-timeout", "30s", "--duration", "500ms"]);
        command.args(["--format", "json"]);
        let outcome = run(command.args(["--clients", clients, &format!("ws://{address}/")]), RUN_MAX);
        let results = outcome.json();
        assert_eq!(results["steps"][0]["counts"]["connected"].to_string(), clients, "{outcome}");
        results["verdict"].clone()
    };
    let bytes = |verdict: &Value| verdict["memory_per_client"]["bytes"].as_f64();
    let first = idle("800");
    let of_first = bytes(&first).unwrap_or_else(|| panic!("a fresh server tells: {first}"));
    assert!((BUFFER_BYTES..3.0 * BUFFER_BYTES).contains(&of_first), "{first}");

    let second = idle("800");
    assert_eq!(bytes(&second), None, "{second}");
    let trust = second["trust"].to_string();
    assert!(trust.contains("has had up to 1,024 connections before"), "{trust}");

    let more = idle("2400");
    let of_more = bytes(&more).unwrap_or_else(|| panic!("1,376 connections are new: {more}"));
    assert!((0.7..1.4).contains(&(of_more / of_first)), "{of_more} and {of_first}");
}

/// The generator's memory at its peak, while `clients` are idle: what it has allocated, as the resident pages
/// of its program differ from run to run.
fn allocated_bytes(server: &Server, clients: u32) -> f64 {
    let url = format!("http://{}/events?room=1", server.address);
    let mut command =
        throng(["idle", &url, "--protocol", "sse", "--connect-rate", "1000", "--duration", "1s"]);
    command.args(["--connect-timeout", "30s", "--threads", "1", "--format", "json", "--no-store"]);
    let generator = Process::start(command.args(["--clients", &clients.to_string()]));
    let mut peak_bytes = 0;
    wait_until(RUN_MAX, || match generator.status_bytes("RssAnon:") {
        Some(bytes) => {
            peak_bytes = bytes.max(peak_bytes);
            false
        }
        None => true,
    });
    let outcome = finish(generator, RUN_MAX);
    assert_eq!(sum_of(&outcome.json(), "connected"), u64::from(clients), "{outcome}");
    peak_bytes as f64
}

#[test]
fn idle_event_streams_take_350_bytes() {
    let server = Server::start(&[]);
    let bytes = (allocated_bytes(&server, 10_000) - allocated_bytes(&server, 2_000)) / 8_000.0;
    assert!((100.0..=350.0).contains(&bytes), "{bytes} for each client");
}
