//! SockJS (sockjs-protocol): a session of JSON messages in small frames, over a WebSocket or, where there is none,
//! over plain requests.
//!
//! ```text
//! << o                       the session is open
//! << h                       a heartbeat, not to be answered
//! << a["m1","m2"]            messages
//! << c[3000,"Go away!"]      the session is closed
//! >> ["m1","m2"]             messages
//! ```
//!
//! The messages are those of the json dialect. At `/websocket` below a service they go without any frame.
//!
//! The client is in `client` over a WebSocket and in `requests` over requests, the server in `server` and `session`.

mod app;
mod client;
mod frames;
mod lines;
mod receiver;
pub(crate) mod requests;
mod server;
mod service;
pub(crate) mod session;
mod transport;

pub(crate) use client::Client;
pub(crate) use server::Server;
pub(crate) use service::plain_answer;
use transport::Transport;

use super::{Parts, json};
use crate::config::{BadOption, Options};
use crate::io::Io;

/// The messages' ends, spelt as the transport needs them: escaped, unless they go without frames.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let plain = json::parts(options)?;
    if Transport::of(options)? == Transport::RawWebSocket {
        return Ok(plain);
    }
    let escaped = |bytes: &[u8]| {
        let mut out = Vec::new();
        frames::escape(&mut out, bytes);
        out
    };
    let heads = [json::BEFORE_TIME_ECHO, json::BEFORE_TIME_BROADCAST].map(escaped);
    Ok(Parts { heads, tail: escaped(&plain.tail), ..Parts::default() })
}

/// Below the service's path, where a client connects: to a session of its own, unless it goes without frames.
pub(crate) fn write_path(options: &Options, now_ns: u64, io: &mut impl Io) {
    match Transport::of(options) {
        Ok(Transport::RawWebSocket) => io.out(0).extend_from_slice(b"/websocket"),
        _ => {
            let session = session_path(now_ns, io);
            let out = io.out(0);
            out.extend_from_slice(session.as_bytes());
            out.extend_from_slice(b"/websocket");
        }
    }
}

/// A fresh session's place below the service: `/<three digits for balancers>/<the session>`. The time is mixed in
/// so that a run repeated with the same seed does not meet its own sessions again.
fn session_path(now_ns: u64, io: &mut impl Io) -> String {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let (number, name) = (io.random_u64(), io.random_u64() ^ now_ns.wrapping_mul(GOLDEN));
    format!("/{:03}/{name:016x}", number % 1000)
}
