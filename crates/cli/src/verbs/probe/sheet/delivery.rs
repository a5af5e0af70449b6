//! Echoes: how messages are put into frames, in which order they come, and how late where a server waits for
//! acknowledgements.

use std::time::{Duration, Instant};

use codec::ws::frame::Opcode;
use results::format;
use serde_json::json;

use super::channel::Lost;
use super::closing::Closing;
use super::messages::{SMALL_BYTES, message};
use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::upgrade::Offer;
use super::websocket::{ANSWER_MAX, Heard, Message, WebSocket, framed};

pub(super) static FRAMES: Probe = Probe::new(
    &[Topic { key: "frames", name: "frames", how: "16 messages at once, then a large one" }],
    Needs::Echo,
    frames,
);
pub(super) static ORDER: Probe = Probe::new(
    &[Topic { key: "order", name: "order", how: "100 numbered messages at once" }],
    Needs::Echo,
    order,
);
pub(super) static DELAY: Probe = Probe::of_websockets(
    &[Topic { key: "delayed_ack", name: "40 ms delay", how: "two at once, 20 times with late ACKs" }],
    delay,
);

/// Messages of the row on frames, and bytes of its large one.
const TOGETHER: usize = 16;
const LARGE_BYTES: u64 = 16 << 10;
/// Messages of the row on order.
const NUMBERED: usize = 100;
/// Silence after which no more is expected.
const QUIET: Duration = Duration::from_millis(1500);
/// Pairs of the row on delays.
const PAIRS: usize = 20;
/// Time after which a prompt acknowledgement goes out.
const PROMPT: Duration = Duration::from_millis(1);
/// A difference that only a late acknowledgement makes: Linux delays it for 40 ms at least (TCP_DELACK_MIN).
const DELAYED: Duration = Duration::from_millis(30);

/// Sends it all at once, and returns the messages that come back, up to that number.
fn echoes(socket: &mut WebSocket<'_>, frames: &[u8], number: usize) -> Result<Vec<Message>, Closing> {
    socket.send(frames, ANSWER_MAX)?;
    let (mut messages, mut until) = (Vec::new(), Instant::now() + QUIET);
    while messages.len() < number {
        match socket.hear(until)? {
            Heard::Message(message) => {
                messages.push(message);
                until = Instant::now() + QUIET;
            }
            Heard::Nothing => break,
            Heard::Ping | Heard::Pong(_) => {}
        }
    }
    Ok(messages)
}

fn frames(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let mut socket = WebSocket::open(tester, &Offer::default())?;
    let small = message(tester, SMALL_BYTES);
    let back = echoes(&mut socket, &framed(Opcode::Text, &small).repeat(TOGETHER), TOGETHER)?;
    let copies = || back.iter().map(|message| message.copies(&small));
    let (came, most) = (copies().sum::<u64>(), copies().max().unwrap_or_default());
    if came < TOGETHER as u64 {
        return Err(NotTried(format!("{came} of {TOGETHER} messages came back")));
    }
    let large = message(tester, tester.site.known.message_bytes(LARGE_BYTES));
    let parts = echoes(&mut socket, &framed(Opcode::Text, &large), 1)?.first().map(|back| back.frames);
    let split = match parts {
        Some(parts) => {
            format!("{} come in {}", format::bytes(large.len() as f64), format::counted(parts, "frame"))
        }
        None => "the large one did not come back".to_owned(),
    };
    let together = match most {
        0 | 1 => "one message in a frame".to_owned(),
        most => format!("up to {most} messages in one frame"),
    };
    let data = json!({
        "messages_per_frame_max": most.max(1),
        "large_bytes": large.len(),
        "frames_of_large": parts,
    });
    let finding = Finding::new(format!("{together}; {split}"), data);
    Ok(vec![Ok(if most > 1 {
        finding.limits("Several messages come in one frame: an app file splits them (throng docs app).")
    } else {
        finding
    })])
}

fn order(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let mut socket = WebSocket::open(tester, &Offer::default())?;
    let named = |number| format!("throng {number:03}");
    let frames: Vec<u8> =
        (0..NUMBERED).flat_map(|number| framed(Opcode::Text, named(number).as_bytes())).collect();
    let back = match echoes(&mut socket, &frames, NUMBERED) {
        // What was told before the end is gone with it; the row on rates says why.
        Err(closing) if closing.end != Lost::Interrupted => {
            return Err(NotTried(format!("the server closes meanwhile: {closing}")));
        }
        back => back?,
    };
    let number = |message: &Message| {
        let text = std::str::from_utf8(&message.start).ok()?;
        text.strip_prefix("throng ")?.parse::<usize>().ok()
    };
    let numbers: Vec<usize> = back.iter().filter_map(number).collect();
    if numbers.len() < back.len() {
        return Err(NotTried("several messages come in one frame".to_owned()));
    }
    let late = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let data = json!({ "sent": NUMBERED, "received": numbers.len(), "out_of_order": late });
    let came = format!("{} of {NUMBERED} came back", numbers.len());
    Ok(vec![Ok(match late {
        0 => Finding::new(format!("kept; {came}"), data),
        late => Finding::new(format!("not kept: {late} times an earlier message came later; {came}"), data)
            .limits("Messages overtake each other: runs report them as out of order."),
    })])
}

fn delay(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let mut socket = WebSocket::open(tester, &Offer::default())?;
    // Where messages come back, their way is the one that matters.
    let echoes = tester.site.echoes;
    let text = message(tester, SMALL_BYTES);
    let frame = if echoes { framed(Opcode::Text, &text) } else { framed(Opcode::Ping, b"") };
    let pair = frame.repeat(2);
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..2 * PAIRS {
        let is_prompt = turn % 2 == 1;
        let begun = Instant::now();
        // At each turn: the kernel changes its mind with what is sent and received (tcp(7), TCP_QUICKACK).
        acknowledge(&socket, is_prompt)?;
        socket.send(&pair, ANSWER_MAX)?;
        let mut answers = 0;
        while answers < 2 {
            let left = ANSWER_MAX.saturating_sub(begun.elapsed());
            match socket.hear(Instant::now() + if is_prompt { left.min(PROMPT) } else { left })? {
                Heard::Nothing if left.is_zero() => return Err(NotTried("an answer is missing".to_owned())),
                // What has come in is acknowledged by asking for that again.
                Heard::Nothing => acknowledge(&socket, is_prompt)?,
                Heard::Message(message) if echoes => answers += message.copies(&text),
                Heard::Pong(_) if !echoes => answers += 1,
                Heard::Message(_) | Heard::Pong(_) | Heard::Ping => {}
            }
        }
        times[usize::from(is_prompt)].push(begun.elapsed());
    }
    let [late, prompt] = times.map(|mut times| {
        times.sort_unstable();
        times[PAIRS / 2]
    });
    // The same server, the same messages: what answers are collected or computed for is in both times.
    let is_delayed = late >= prompt + DELAYED;
    let told = |time: Duration| format::duration(time.as_nanos() as u64);
    let text = format!("{} with late ACKs, {} with prompt ones", told(late), told(prompt));
    let data = json!({
        "delayed": is_delayed,
        "late_ms": late.as_secs_f64() * 1e3,
        "prompt_ms": prompt.as_secs_f64() * 1e3,
    });
    Ok(vec![Ok(if is_delayed {
        Finding::new(format!("Nagle's algorithm is on: two answers take {text}"), data)
            .limits("Small answers wait for ACKs, some 40 ms: set TCP_NODELAY in the server first.")
    } else {
        Finding::new(format!("none: two answers take {text}"), data)
    })])
}

/// Has what comes in acknowledged at once, or late.
fn acknowledge(socket: &WebSocket<'_>, is_prompt: bool) -> Result<(), NotTried> {
    let set = socket.channel.socket.acknowledge_at_once(is_prompt);
    set.map_err(|_| NotTried("the connection is no TCP".to_owned()))
}
