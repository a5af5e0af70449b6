//! The limit of one connection: messages at once, and how soon as many are taken again.

use std::time::{Duration, Instant};

use codec::ws::frame::Opcode;
use results::format;
use serde_json::{Value, json};

use super::capacity::SECOND;
use super::channel::Lost;
use super::closing::Closing;
use super::messages::{SMALL_BYTES, message, not_taken};
use super::probe::Probe;
use super::row::{Finding, NotTried, Outcome, Topic, seconds};
use super::site::Tester;
use super::upgrade::Offer;
use super::websocket::{ANSWER_MAX, Heard, WebSocket, framed};

pub(super) static MESSAGES: Probe = Probe::of_websockets(
    &[Topic { key: "message_rate", name: "message rate", how: "1,000 messages on one connection" }],
    messages,
)
.risking("message rate: sends 1,000 small messages, at once if they come back");

/// Time in which limits by more than a second may let somebody in again.
const LONGER: Duration = Duration::from_secs(10);
/// Messages of a burst.
const BURST: u64 = 1000;
/// Messages that one pong answers, where they do not come back.
const PART: u64 = 10;
/// Silence after which no more is expected.
const QUIET: Duration = Duration::from_millis(1500);

/// Outcome of a burst of messages.
struct Burst {
    answered: u64,
    closing: Option<Closing>,
    /// The beginning of a message that was no echo.
    told: Option<String>,
    /// The time of the last answer, or of the sending.
    answered_at: Instant,
}

/// Sends `messages` at once, and counts answers: echoes, or else a pong for each part.
fn burst(tester: &Tester<'_>, socket: &mut WebSocket<'_>, messages: u64) -> Result<Burst, NotTried> {
    let (echoes, text) = (tester.site.echoes, message(tester, SMALL_BYTES));
    let frame = framed(Opcode::Text, &text);
    // One ping at a time: servers guard themselves against many (ws, maxPendingAutoPongs).
    let part = if echoes { messages } else { messages.min(PART) };
    let mut frames = frame.repeat(part as usize);
    if !echoes {
        frames.extend(framed(Opcode::Ping, b""));
    }
    let mut sent = socket.send(&frames, ANSWER_MAX);
    let mut of = Burst { answered: 0, closing: None, told: None, answered_at: Instant::now() };
    let mut answered = 0;
    while of.answered < messages {
        // Pings of the server do not prolong the wait.
        if of.answered > answered {
            (answered, of.answered_at) = (of.answered, Instant::now());
        }
        match std::mem::replace(&mut sent, Ok(())).and_then(|()| socket.hear(of.answered_at + QUIET)) {
            Ok(Heard::Message(message)) if echoes && message.copies(&text) > 0 => {
                of.answered += message.copies(&text);
            }
            Ok(Heard::Message(message)) => {
                let told = String::from_utf8_lossy(&message.start).chars().take(60).collect();
                of.told = of.told.or(Some(told).filter(|_| echoes));
            }
            Ok(Heard::Pong(_)) if !echoes => {
                of.answered += part;
                if of.answered < messages {
                    sent = socket.send(&frames, ANSWER_MAX);
                }
            }
            Ok(Heard::Pong(_) | Heard::Ping) => {}
            Ok(Heard::Nothing) => break,
            Err(closing) if closing.end == Lost::Interrupted => return Err(closing.into()),
            Err(closing) => {
                of.closing = Some(closing);
                break;
            }
        }
    }
    Ok(of)
}

fn messages(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let mut socket = WebSocket::open(tester, &Offer::default())?;
    match burst(tester, &mut socket, 1)? {
        Burst { closing: Some(closing), .. } => return Err(NotTried(not_taken(&closing))),
        Burst { answered: 0, .. } => return Err(NotTried("the server answers nothing".to_owned())),
        Burst { .. } => {}
    }
    // That one may count.
    drop(socket);
    tester.site.pause(SECOND)?;
    let mut socket = WebSocket::open(tester, &Offer::default())?;
    let begun = Instant::now();
    let first = burst(tester, &mut socket, BURST)?;
    let time = begun.elapsed();
    let together = match tester.site.echoes {
        true => "at once".to_owned(),
        false => format!("in parts of {PART}, each answered before the next"),
    };
    if first.answered >= BURST {
        let data = json!({ "answered": BURST, "seconds": time.as_secs_f64(), "limit": null });
        let text =
            format!("{} {together}, answered in {}, none refused", format::count(BURST), seconds(time));
        return Ok(vec![Ok(Finding::new(text, data))]);
    }
    let limit = first.answered;
    // A reset discards what was answered and not read yet: the limit is above that.
    let is_reset =
        first.closing.as_ref().is_some_and(|closing| closing.code.is_none() && closing.end == Lost::Reset);
    let (key, told) = match (&first.closing, &first.told) {
        (Some(closing), _) => (closing.key(), closing.to_string()),
        (None, Some(told)) => ("message".into(), format!("it says {told:?}")),
        (None, None) => (Value::from("silence"), "silence".to_owned()),
    };
    if limit == 0 {
        return Err(NotTried(format!("{told} before any answer was read")));
    }
    tester.site.known.note_burst(limit);
    let within = recovery(tester, socket, &first)?;
    let again =
        within.map_or("no more".to_owned(), |within| format!("as many again after {}", seconds(within)));
    let data = json!({
        "answered": limit,
        "limit": limit,
        "at_least": is_reset,
        "refusal": key,
        "recovers_within_s": within.map(|within| within.as_secs_f64()),
    });
    let least = if is_reset { "at least " } else { "" };
    let text = format!("{least}{} {together}, then {told}; {again}", format::count(limit));
    let meaning =
        format!("A connection may send {least}{limit} messages {together}: choose --interval accordingly.");
    Ok(vec![Ok(Finding::new(text, data).limits(meaning))])
}

/// Tries how long after its last answer a connection that was limited answers as many messages again.
fn recovery<'a>(
    tester: &'a Tester<'a>,
    mut socket: WebSocket<'a>,
    first: &Burst,
) -> Result<Option<Duration>, NotTried> {
    let mut answered_at = first.answered_at;
    for wait in [SECOND, LONGER] {
        // A connection that was closed takes its window along: a new one has a new limit, or shares the
        // address's.
        if first.closing.is_some() {
            socket = WebSocket::open(tester, &Offer::default())?;
        }
        tester.site.pause(wait)?;
        let waited = answered_at.elapsed();
        let again = burst(tester, &mut socket, first.answered)?;
        if again.answered >= first.answered {
            return Ok(Some(waited));
        }
        // What was taken of it counts against the next.
        if again.answered > 0 {
            answered_at = again.answered_at;
        }
    }
    Ok(None)
}
