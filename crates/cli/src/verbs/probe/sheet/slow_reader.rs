//! A client that does not read: whether the server waits, buffers, or ends the connection.

use std::time::{Duration, Instant};

use codec::ws::frame::Opcode;
use results::format;
use serde_json::json;

use super::channel::Lost;
use super::messages::message;
use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::upgrade::Offer;
use super::websocket::{Heard, WebSocket, framed};

pub(super) static SLOW_READER: Probe = Probe::new(
    &[Topic {
        key: "slow_reader",
        name: "slow reader",
        how: "sent up to 32 MiB, and did not read the echoes",
    }],
    Needs::Echo,
    slow_reader,
)
.risking("slow reader: has up to 32 MiB of echoes wait in the server");

/// Bytes of all messages, and of one.
const TOTAL_BYTES: u64 = 32 << 20;
const MESSAGE_BYTES: u64 = 16 << 10;
/// The kernel's receive buffer: small, so that the server has to keep the echoes.
const RECEIVE_BYTES: usize = 4 << 10;
/// Time after which a server that takes nothing has stopped reading.
const STALL: Duration = Duration::from_secs(3);
/// Silence after which no more is expected.
const QUIET: Duration = Duration::from_secs(2);
/// Time for all echoes: a server that also speaks by itself is never quiet.
const READ_MAX: Duration = Duration::from_secs(120);

fn slow_reader(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let known = &tester.site.known;
    if let Some(limit) = known.burst() {
        return Err(NotTried(format!(
            "the server takes {limit} messages at once: more would tell of that limit"
        )));
    }
    let bytes = known.message_bytes(MESSAGE_BYTES);
    let text = message(tester, bytes);
    let frame = framed(Opcode::Text, &text);
    let offer = Offer { receive_bytes: Some(RECEIVE_BYTES), ..Offer::default() };
    let mut socket = WebSocket::open(tester, &offer)?;
    // Nothing is read until the server takes no more: what it does then is the answer.
    let mut sent = 0;
    let lost = loop {
        if sent * bytes >= TOTAL_BYTES {
            break None;
        }
        match socket.channel.send_with(&frame, Instant::now() + STALL, false) {
            Ok(()) => sent += 1,
            Err(lost @ (Lost::Interrupted | Lost::Local(_))) => return Err(lost.into()),
            Err(lost) => break Some(lost),
        }
    };
    let latest = Instant::now() + READ_MAX;
    let (mut received, mut until) = (0, Instant::now() + QUIET);
    let closing = loop {
        // All is there: what ends the connection now is another limit.
        if received >= sent && lost.is_none() {
            break None;
        }
        match socket.hear(until) {
            Ok(Heard::Message(message)) if message.copies(&text) > 0 => {
                received += message.copies(&text);
                until = latest.min(Instant::now() + QUIET);
            }
            Ok(Heard::Nothing) => break None,
            // What the server says by itself is no echo, and prolongs no wait for one.
            Ok(Heard::Message(_) | Heard::Ping | Heard::Pong(_)) => {}
            // A frame that is not read, such as all echoes in one, is no answer of the server's.
            Err(closing) if matches!(closing.end, Lost::Interrupted | Lost::Broken) => {
                return Err(closing.into());
            }
            Err(closing) => break Some(closing),
        }
    };
    let unread = format::bytes((sent * bytes) as f64);
    // A part of a frame that went out before the stall has no echo, and was not counted as sent.
    let lacking = sent - received.min(sent);
    let (key, text) = match (lost, &closing) {
        (_, Some(closing)) => ("closed", format!("closed after {unread} were sent: {closing}")),
        (Some(Lost::Silent), None) if lacking == 0 => {
            ("waits", format!("the server stops reading after {unread}, and goes on later; nothing is lost"))
        }
        (None, None) if lacking == 0 => ("buffers", format!("the server keeps {unread}; nothing is lost")),
        (_, None) => ("drops", format!("{lacking} of {sent} echoes did not come, of {unread}")),
    };
    let data = json!({
        "behavior": key,
        "sent_bytes": sent * bytes,
        "sent": sent,
        "received": received,
        "closing": closing.as_ref().map(|closing| closing.json()),
    });
    let finding = Finding::new(text, data);
    Ok(vec![Ok(match key {
        "closed" => finding.limits("Clients that fall behind are closed: runs count them as disconnected."),
        "drops" => finding.limits("Clients that fall behind lose messages: runs count them as lost."),
        "buffers" => finding.allows("Clients that fall behind cost memory: watch it with --slow."),
        _ => finding,
    })])
}
