//! What is encoded once, and where below a service a session is.

use super::frames;
use super::transport::Transport;
use crate::dialects::json;
use crate::dialects::json_words::{BEFORE_TIME_BROADCAST, BEFORE_TIME_ECHO};
use crate::dialects::parts::Parts;
use crate::io::Io;
use crate::options::{BadOption, Options};

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
    let heads = [BEFORE_TIME_ECHO, BEFORE_TIME_BROADCAST].map(escaped);
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
pub(crate) fn session_path(now_ns: u64, io: &mut impl Io) -> String {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let (number, name) = (io.random_u64(), io.random_u64() ^ now_ns.wrapping_mul(GOLDEN));
    format!("/{:03}/{name:016x}", number % 1000)
}
