//! Support of the end-to-end tests: processes that cannot outlive a test, the `throng` binary, hand-written servers.

#![allow(dead_code, reason = "each program of tests uses its part")]
#![allow(unreachable_pub, reason = "nobody can reach into a test")]

pub mod app;
pub mod arena;
pub mod black_hole;
pub mod bridge;
pub mod browser;
pub mod cases;
pub mod client;
pub mod endpoint;
pub mod exact;
pub mod fleet;
pub mod haproxy;
pub mod hostile;
pub mod logs;
pub mod networks;
pub mod node;
pub mod operator;
pub mod page;
pub mod peer;
pub mod process;
pub mod python;
pub mod quota;
pub mod requests;
pub mod schema;
pub mod spy;
pub mod target;
pub mod throng;
pub mod websocket;
pub mod wire;

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use net::socket::can_bind;

/// Time for a program to start and to become ready, beside other tests on a busy machine.
pub const START_MAX: Duration = Duration::from_secs(90);

/// Time for a reaction that is due at once, on a busy machine; without it, a minute or more would pass.
pub const REACTS_WITHIN: Duration = Duration::from_secs(30);

/// Ports for servers: below those that the kernel gives to whoever asks for any (`ip_local_port_range`), so
/// that nobody gets one of them between the moment at which it was free and the server's start.
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

/// Held by a test that measures: no other such test runs until it is dropped, also of another program of tests.
pub fn alone() -> File {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("alone.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Asks until the answer is yes; false if it still is not when the time is up.
pub fn wait_until(within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > within {
            // Shown where the test fails: tests/run.py tells by it that time was the reason, which a single
            // look has none of.
            if !within.is_zero() {
                println!("not within {within:?}");
            }
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Returns whether somebody accepts connections there.
pub fn is_listening(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

/// Says that a test, or a part of one, was left out: nobody should take it for passed.
pub fn skip(what: &str, why: &str) {
    say_uncaptured("skipped", what, why);
}

/// Says that something is tried once more, because times or the machine's load were against it.
pub fn retry(what: &str, why: &str) {
    say_uncaptured("retried", what, why);
}

/// Runs a test again, twice at most, that returns an error because of its times, or of shares that depend on
/// them: a machine that others use may be slow for a moment. What panics, as counts do, has failed.
pub fn timed(attempt: impl Fn() -> Result<(), String>) {
    const ATTEMPTS_MAX: usize = 3;
    for _ in 1..ATTEMPTS_MAX {
        match attempt() {
            Ok(()) => return,
            Err(why) => retry("times", &why),
        }
    }
    if let Err(why) = attempt() {
        // tests/run.py tells by the first word that time was the reason.
        panic!("times: {why}");
    }
}

/// Returns an error for [`timed`] unless the times are as they should be.
pub fn in_time(is_so: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(why()) }
}

/// Writes a line past the capture of a passing test's output, with the test's name.
fn say_uncaptured(did: &str, what: &str, why: &str) {
    let test = thread::current().name().unwrap_or_default().to_owned();
    let line = format!("{did}: [{test}] {what}: {}\n", why.trim());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
