//! Messages: the greatest that the server takes, and the codes with which it ends connections.

use std::time::{Duration, Instant};

use codec::ws::frame::Opcode;
use results::format;
use serde_json::{Value, json};

use super::bisection::Bisection;
use super::channel::Lost;
use super::closing::Closing;
use super::probe::Probe;
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::upgrade::Offer;
use super::websocket::{ANSWER_MAX, Heard, WebSocket, framed};

pub(super) static MESSAGE_MAX: Probe = Probe::of_websockets(
    &[Topic { key: "message_max", name: "greatest message", how: "bisected: a message, then a ping" }],
    message_max,
)
.risking("greatest message: sends messages of up to --max-message [default: 64 MiB], and bisects");

pub(super) static CLOSE_CODES: Probe = Probe::of_websockets(
    &[Topic { key: "close_codes", name: "close codes", how: "closed, and broke three rules of RFC 6455" }],
    close_codes,
)
.risking("close codes: breaks RFC 6455 three times; a server that handles no errors of its sockets ends");

/// Bytes of the first message: of one that is refused at this size, the size is not the reason.
pub(super) const SMALL_BYTES: u64 = 64;
/// Time for a message: a slow uplink, and a server that parses it.
const BYTES_PER_S: u64 = 1 << 20;

/// A message of the protocol that nothing happens on, padded to this size.
pub(super) fn message(tester: &Tester<'_>, bytes: u64) -> Vec<u8> {
    let own = tester.site.service.map_or("", |service| service.harmless());
    let (text, padding) = match &tester.site.bounds.message {
        Some(text) => (text.as_str(), b' '),
        // A JSON text may have spaces behind it (RFC 8259 §2).
        None if !own.is_empty() => (own, b' '),
        None => ("", b'x'),
    };
    let mut message = text.as_bytes().to_vec();
    message.resize(message.len().max(bytes as usize), padding);
    message
}

/// The server's answer to a message of some size.
enum Verdict {
    Accepted,
    Refused(Closing),
    /// Neither its echo nor the pong behind it.
    Unanswered,
}

fn message_max(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let max = tester.site.bounds.message_bytes;
    let mut socket = None;
    let small = message(tester, SMALL_BYTES).len() as u64;
    match attempt(tester, &mut socket, small)? {
        Verdict::Accepted => {}
        Verdict::Refused(closing) => return Err(NotTried(not_taken(&closing))),
        Verdict::Unanswered => {
            return Err(NotTried("the server answers neither messages nor pings".to_owned()));
        }
    }
    let mut search = Bisection::new(small.min(max), max);
    let mut refusal = Value::Null;
    let mut told = "no answer".to_owned();
    while let Some(size) = search.next() {
        let verdict = attempt(tester, &mut socket, size)?;
        match &verdict {
            Verdict::Refused(closing) => (refusal, told) = (closing.key(), closing.to_string()),
            Verdict::Unanswered => (refusal, told) = ("silence".into(), "no answer".to_owned()),
            Verdict::Accepted => {}
        }
        search.note(size, matches!(verdict, Verdict::Accepted));
    }
    let Bisection { accepted, refused, .. } = search;
    tester.site.known.note_message_bytes(accepted);
    let data = json!({ "accepted_bytes": accepted, "refused_bytes": refused, "refusal": refusal });
    let bytes = format::count(accepted);
    Ok(vec![Ok(match refused {
        None => Finding::new(format!("{bytes} bytes are taken, the most that was tried"), data)
            .allows(format!("Messages may have at least {bytes} bytes: --payload-padding.")),
        Some(refused) => {
            let text = format!("{bytes} bytes; {} are refused: {told}", format::count(refused));
            Finding::new(text, data).limits(format!(
                "Messages above {bytes} bytes end a connection: keep --payload-padding below."
            ))
        }
    })])
}

/// The reason why nothing that needs messages can be measured.
pub(super) fn not_taken(closing: &Closing) -> String {
    format!("the server takes no message of this probe ({closing}); name one with --message TEXT")
}

/// Sends a message of that size, on a connection that is kept for as long as it lives.
fn attempt<'a>(
    tester: &'a Tester<'a>,
    kept: &mut Option<WebSocket<'a>>,
    bytes: u64,
) -> Result<Verdict, NotTried> {
    let mut socket = match kept.take() {
        Some(socket) => socket,
        None => WebSocket::open(tester, &Offer::default())?,
    };
    // A large message takes its time on a slow uplink: that is no refusal.
    let within = ANSWER_MAX + Duration::from_secs(bytes / BYTES_PER_S);
    // The ping says of which message it is: a pong may come behind an echo, and be read by the next attempt.
    let number = bytes.to_be_bytes();
    let frames = [framed(Opcode::Text, &message(tester, bytes)), framed(Opcode::Ping, &number)].concat();
    let heard = socket.send(&frames, within).and_then(|()| {
        let until = Instant::now() + within;
        loop {
            match socket.hear(until)? {
                Heard::Nothing => return Ok(false),
                Heard::Pong(payload) if !tester.site.echoes && payload == number => return Ok(true),
                Heard::Message(message) if tester.site.echoes && message.bytes == bytes => return Ok(true),
                Heard::Pong(_) | Heard::Message(_) | Heard::Ping => {}
            }
        }
    });
    match heard {
        Ok(true) => {
            *kept = Some(socket);
            Ok(Verdict::Accepted)
        }
        Ok(false) => Ok(Verdict::Unanswered),
        Err(closing) if closing.end == Lost::Interrupted => Err(closing.into()),
        Err(Closing { code: None, end: Lost::Silent, .. }) => Ok(Verdict::Unanswered),
        Err(closing) => Ok(Verdict::Refused(closing)),
    }
}

/// Time for the reaction to a broken rule: an end that comes later may be that of an idle timeout.
const REACTION_MAX: Duration = Duration::from_secs(1);
/// Time for a process to end: it writes its last words behind the close frame.
const DEATH_MAX: Duration = Duration::from_millis(300);

/// Ways to end a connection: the key, the words, and what is sent. (A frame's first byte has FIN, RSV1 to
/// RSV3 and the opcode.)
const ENDS: [(&str, &str, &[u8]); 3] = [
    ("bad_utf8", "bad UTF-8", b"\x81\x82\0\0\0\0\xc3\x28"),
    ("reserved_bit", "a reserved bit", b"\xb1\x80\0\0\0\0"),
    ("unmasked", "an unmasked frame", b"\x81\x01x"),
];

fn close_codes(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let closed = WebSocket::open(tester, &Offer::default())?.close(1000);
    let mut told = vec![format!("1000: {}", answered(&closed))];
    let mut data = json!({ "close": closed.key(), "ended_by": null });
    for (key, words, frame) in ENDS {
        let mut socket = WebSocket::open(tester, &Offer::default())?;
        let sent = socket.send(frame, ANSWER_MAX);
        let closing = sent.err().or_else(|| socket.await_close(REACTION_MAX));
        if let Some(closing @ Closing { end: Lost::Interrupted, .. }) = closing {
            return Err(closing.into());
        }
        told.push(format!("{words}: {}", closing.as_ref().map_or("ignored".to_owned(), answered)));
        data[key] = closing.map_or("ignored".into(), |closing| closing.key());
        tester.site.pause(DEATH_MAX)?;
        if WebSocket::has_no_server(tester) {
            data["ended_by"] = key.into();
            let text = format!("{}, and the server ended", told.join("; "));
            let meaning =
                format!("One frame ({words}) ends the server: have it handle errors of its sockets.");
            return Ok(vec![Ok(Finding::new(text, data).limits(meaning))]);
        }
    }
    Ok(vec![Ok(Finding::new(told.join("; "), data))])
}

/// The answer in one word.
fn answered(closing: &Closing) -> String {
    closing.code.map_or_else(|| closing.end.to_string(), |code| code.to_string())
}
