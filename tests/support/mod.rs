//! What the end-to-end tests share: processes that cannot outlive a test, the `throng` binary, hand-written servers.

#![allow(dead_code, reason = "each program of tests uses its part")]
#![allow(unreachable_pub, reason = "nobody can reach into a test")]

pub mod arena;
pub mod black_hole;
pub mod bridge;
pub mod cases;
pub mod client;
pub mod endpoint;
pub mod exact;
pub mod fleet;
pub mod hostile;
pub mod networks;
pub mod node;
pub mod operator;
pub mod peer;
pub mod process;
pub mod quota;
pub mod requests;
pub mod spy;
pub mod target;
pub mod throng;
pub mod websocket;
pub mod wire;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use net::socket::can_bind;

/// Ports for servers: below those that the kernel gives to whoever asks for any (`ip_local_port_range`), so that nobody gets one
/// of them between the moment at which it was free and the server's start.
const PORTS: Range<u32> = 24_000..32_000;

/// A loopback address that nobody listens on, and that no other test of this process is given.
pub fn free_address() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Other processes' tests begin elsewhere.
    let first = std::process::id().wrapping_mul(61);
    let ports = PORTS.len() as u32;
    (0..ports)
        .map(|_| PORTS.start + first.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % ports)
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port as u16)))
        .find(|address| can_bind(address).is_ok())
        .expect("a free port")
}

/// Until this is dropped, no other test that asks for it goes on. Those of `alone.rs` do: two would measure each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks until the answer is yes; false if it still is not when the time is up.
pub fn wait_until(within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > within {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Whether somebody accepts connections there.
pub fn is_listening(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

/// Says that a test was left out, past the capture of a passing test's output: nobody should take it for passed.
pub fn skip(what: &str, why: &str) {
    let line = format!("skipped: {what}: {}\n", why.trim());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
