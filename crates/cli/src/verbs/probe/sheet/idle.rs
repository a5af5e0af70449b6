//! Silence: when a connection that says nothing is closed and by whom, whether pings prolong it, and what the
//! server says by itself.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::channel::Lost;
use super::closing::Closing;
use super::probe::Probe;
use super::row::{Finding, NotTried, Outcome, Topic, seconds};
use super::site::Tester;
use super::upgrade::Offer;
use super::websocket::{Heard, WebSocket};
use crate::verbs::probe::service::Service;

pub(super) static IDLE: Probe = Probe::of_websockets(
    &[
        Topic { key: "idle", name: "idle timeout", how: "said nothing, and answered pings" },
        Topic { key: "idle_with_pings", name: "with pings", how: "sent pings, and nothing else" },
        Topic { key: "ping_interval", name: "server's pings", how: "listened" },
        Topic { key: "pong_timeout", name: "without pongs", how: "left the server's pings unanswered" },
        Topic {
            key: "closed_by",
            name: "closed by",
            how: "the close frame, or Server: and Via: where there was none",
        },
    ],
    idle,
);

/// Length of one look at one of the connections.
const SLICE: Duration = Duration::from_millis(5);
/// Pings of ours within the time that is waited for; these are at most [`PINGS_APART_MAX`] apart.
const PINGS: u32 = 30;
const PINGS_APART_MAX: Duration = Duration::from_secs(5);
/// Times that are kept of pings, and of messages: their median interval needs no more, however fast a server speaks.
const TIMES_MAX: usize = 1000;
/// Multiple of the timeout after which a connection that pings has outlived it.
const OUTLIVED: f64 = 1.5;
/// Programs that stand in front of a server, as they name themselves.
const PROXIES: [&str; 11] = [
    "nginx",
    "haproxy",
    "envoy",
    "cloudflare",
    "awselb",
    "caddy",
    "traefik",
    "varnish",
    "openresty",
    "google",
    "akamai",
];

/// A connection that is watched.
struct Watched<'a> {
    socket: WebSocket<'a>,
    begun: Instant,
    closed: Option<(Duration, Closing)>,
    /// Times of the server's pings, and of messages that may be heartbeats.
    pings: Vec<Duration>,
    messages: Vec<Duration>,
    /// Tells these from an app's messages, and from those that other probes have sent to everybody; `None`: the
    /// protocol has none of its own.
    is_heartbeat: Option<fn(&[u8]) -> bool>,
    service: Option<Service>,
    /// The interval that the handshake announced.
    announced: Option<Duration>,
}

impl<'a> Watched<'a> {
    fn open(tester: &'a Tester<'a>, answers: bool) -> Result<Watched<'a>, NotTried> {
        let mut socket = WebSocket::open(tester, &Offer::default())?;
        socket.answers = answers;
        let service = tester.site.service;
        let is_heartbeat = service.and_then(Service::is_heartbeat);
        let (begun, closed, pings, messages) = (Instant::now(), None, Vec::new(), Vec::new());
        Ok(Watched { socket, begun, closed, pings, messages, is_heartbeat, service, announced: None })
    }

    /// Listens for a moment.
    fn listen(&mut self) -> Result<(), NotTried> {
        let until = Instant::now() + SLICE;
        // All that comes meanwhile: what is left for the next turn would be timed late, and fill a busy
        // server's buffers.
        while self.closed.is_none() && Instant::now() < until {
            let heard = self.socket.hear(until);
            let now = self.begun.elapsed();
            match heard {
                Ok(Heard::Ping) => note(&mut self.pings, now),
                Ok(Heard::Message(message)) => self.note_message(&message.start, now),
                Ok(Heard::Pong(_)) => {}
                Ok(Heard::Nothing) => break,
                Err(closing) => self.note_end(now, closing)?,
            }
        }
        Ok(())
    }

    fn note_message(&mut self, start: &[u8], now: Duration) {
        if self.is_heartbeat.is_none_or(|is_heartbeat| is_heartbeat(start)) {
            note(&mut self.messages, now);
        } else if self.announced.is_none() {
            self.announced = self.service.and_then(|service| service.announced_interval(start));
        }
    }

    /// Messages that are heartbeats for sure: a message or two of an unknown protocol are greetings, and a heartbeat
    /// repeats itself.
    fn heartbeats(&self) -> &[Duration] {
        let messages_min = if self.is_heartbeat.is_some() { 1 } else { 3 };
        if self.messages.len() >= messages_min { &self.messages } else { &[] }
    }

    /// Times of what its clients have to answer: pings, or messages of a protocol that has such.
    fn to_answer(&self) -> &[Duration] {
        let are_answered = self.service.is_some_and(Service::answers_heartbeats);
        if self.pings.is_empty() && are_answered { &self.messages } else { &self.pings }
    }

    fn ping(&mut self) -> Result<(), NotTried> {
        match self.socket.ping() {
            Err(closing) if self.closed.is_none() => self.note_end(self.begun.elapsed(), closing),
            _ => Ok(()),
        }
    }

    fn note_end(&mut self, at: Duration, closing: Closing) -> Result<(), NotTried> {
        if closing.end == Lost::Interrupted {
            return Err(closing.into());
        }
        self.closed = Some((at, closing));
        Ok(())
    }

    /// Time from its beginning to its end, or until now.
    fn age(&self) -> Duration {
        self.closed.as_ref().map_or_else(|| self.begun.elapsed(), |(at, _)| *at)
    }
}

fn note(times: &mut Vec<Duration>, now: Duration) {
    if times.len() < TIMES_MAX {
        times.push(now);
    }
}

fn idle(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let max = tester.site.bounds.idle;
    let between = (max / PINGS).min(PINGS_APART_MAX);
    // All three at once: one after another would take three times the longest silence.
    let mut quiet = Watched::open(tester, true)?;
    let mut pinging = Watched::open(tester, true)?;
    let mut deaf = Watched::open(tester, false)?;
    tester.site.note_waiting_open();
    let mut pinged = Instant::now();
    loop {
        for watched in [&mut quiet, &mut pinging, &mut deaf] {
            watched.listen()?;
        }
        if pinged.elapsed() >= between {
            pinged = Instant::now();
            pinging.ping()?;
        }
        let closed = quiet.closed.as_ref().map(|(at, _)| *at);
        let is_over = quiet.begun.elapsed() >= max;
        let outlived = closed.is_some_and(|at| pinging.age() > at.mul_f64(OUTLIVED) + between);
        let has_nothing_to_answer = closed.is_some() && quiet.to_answer().is_empty();
        // Nobody has to wait for the rest of 90 s once each of the three has shown what it can.
        let is_decided = closed.is_some()
            && (pinging.closed.is_some() || outlived)
            && (deaf.closed.is_some() || has_nothing_to_answer);
        if is_over || is_decided {
            break;
        }
    }
    // What ended with the server has no timeout.
    if quiet.closed.as_ref().is_some_and(|(_, closing)| closing.code.is_none())
        && WebSocket::has_no_server(tester)
    {
        return Err(NotTried("the server ended meanwhile: it accepts no connections any more".to_owned()));
    }
    Ok(vec![
        silence(&quiet, max),
        prolonged(&quiet, &pinging, between),
        own_pings(&quiet, max),
        without_pongs(&quiet, &deaf),
        closer(&quiet),
    ])
}

/// Seconds to the millisecond.
fn in_seconds(time: Duration) -> f64 {
    time.as_millis() as f64 / 1e3
}

fn silence(quiet: &Watched<'_>, max: Duration) -> Outcome {
    let Some((at, closing)) = &quiet.closed else {
        let data = json!({ "closed_after_s": null, "none_within_s": in_seconds(max) });
        let meaning =
            format!("Clients may say nothing for at least {}: throng idle holds them.", seconds(max));
        return Ok(Finding::new(format!("none within {}", seconds(max)), data).allows(meaning));
    };
    let data = json!({ "closed_after_s": in_seconds(*at), "closing": closing.json() });
    let text = format!("closed after {}: {closing}", seconds(*at));
    let meaning =
        format!("Clients that say nothing for {} are closed: send more often (--interval).", seconds(*at));
    Ok(Finding::new(text, data).limits(meaning))
}

fn prolonged(quiet: &Watched<'_>, pinging: &Watched<'_>, between: Duration) -> Outcome {
    let Some((at, _)) = &quiet.closed else {
        return Err(NotTried("there is no idle timeout to prolong".to_owned()));
    };
    match &pinging.closed {
        Some((closed, closing)) => {
            let data = json!({ "kept_open": false, "closed_after_s": in_seconds(*closed) });
            let text = format!("closed after {} all the same: {closing}", seconds(*closed));
            Ok(Finding::new(text, data).limits("Pings do not keep connections open here: messages must."))
        }
        None if pinging.age() > *at => {
            let text = format!("kept open by a ping every {}", seconds(between));
            Ok(Finding::new(text, json!({ "kept_open": true })))
        }
        None => Err(NotTried("the time was over before it could be told".to_owned())),
    }
}

fn own_pings(quiet: &Watched<'_>, max: Duration) -> Outcome {
    let (times, what, kind) = match quiet.pings.as_slice() {
        [] => (quiet.heartbeats(), "a message", "message"),
        pings => (pings, "a ping", "ping"),
    };
    let told = told_pings(times, what, quiet.announced, quiet.age().min(max));
    let measured = interval(times).or(quiet.announced.filter(|_| kind == "message")).map(in_seconds);
    let kind = Some(kind).filter(|_| measured.is_some() || !times.is_empty());
    let data =
        json!({ "kind": kind, "interval_s": measured, "announced_s": quiet.announced.map(in_seconds) });
    Ok(Finding::new(told, data))
}

/// The pings in words, with the interval that the handshake announced where too few came to measure one.
fn told_pings(times: &[Duration], what: &str, announced: Option<Duration>, watched: Duration) -> String {
    let announced = announced.map(|every| format!("; the handshake announces one every {}", seconds(every)));
    match (interval(times), times.first()) {
        (Some(interval), _) => format!("{what} every {}", seconds(interval)),
        (None, Some(&first)) => {
            format!("{what} after {}, and no other{}", seconds(first), announced.unwrap_or_default())
        }
        (None, None) => format!("none within {}{}", seconds(watched), announced.unwrap_or_default()),
    }
}

/// The median time from one to the next.
fn interval(times: &[Duration]) -> Option<Duration> {
    let mut gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied()
}

fn without_pongs(quiet: &Watched<'_>, deaf: &Watched<'_>) -> Outcome {
    let times = deaf.to_answer();
    let Some(&first) = times.first() else {
        let has_heartbeats = !quiet.heartbeats().is_empty() || quiet.announced.is_some();
        return Err(NotTried(match has_heartbeats {
            true if deaf.service.is_some_and(Service::answers_heartbeats) => {
                format!("no heartbeat came within {}", seconds(deaf.age()))
            }
            true => "the server's heartbeats are messages that clients do not answer".to_owned(),
            false => "the server sends no pings".to_owned(),
        }));
    };
    match &deaf.closed {
        // One that is closed as early with pongs is closed for its silence.
        Some((at, closing)) if quiet.age() > *at + interval(times).unwrap_or_default() / 2 => {
            let after = *at - first;
            let data = json!({ "closed_after_s": in_seconds(after), "closing": closing.json() });
            let text = format!("closed {} after the first ping: {closing}", seconds(after));
            Ok(Finding::new(text, data))
        }
        Some(_) => Err(NotTried("the idle timeout comes first".to_owned())),
        None => Ok(kept_open(deaf.age(), first)),
    }
}

/// The answer of a connection of this age that was never closed; the first ping that it left unanswered came
/// at `first`.
fn kept_open(age: Duration, first: Duration) -> Finding {
    let deaf = age.saturating_sub(first);
    let data = json!({ "closed_after_s": null, "none_within_s": in_seconds(deaf) });
    Finding::new(format!("kept open for {} after the first ping", seconds(deaf)), data)
}

fn closer(quiet: &Watched<'_>) -> Outcome {
    let Some((_, closing)) = &quiet.closed else {
        return Err(NotTried("nothing was closed".to_owned()));
    };
    let head = &quiet.socket.head;
    let names: Vec<String> = ["via", "server"].iter().filter_map(|field| head.field(field)).collect();
    let is_proxy = |name: &&String| PROXIES.iter().any(|proxy| name.to_ascii_lowercase().contains(proxy));
    let (key, text) = match (closing.code, names.iter().find(is_proxy)) {
        (Some(code), _) => ("server", format!("the server: it sent close code {code}")),
        // Proxies pass frames on and write none of their own.
        (None, Some(proxy)) => ("proxy", format!("a proxy, which names itself {proxy:?}: no close frame")),
        (None, None) => ("unknown", "a proxy, or a server that sends no close frame".to_owned()),
    };
    Ok(Finding::new(text, json!({ "by": key, "end": closing.end.key(), "code": Value::from(closing.code) })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pongs_are_missed_from_the_first_ping() {
        let found = kept_open(Duration::from_secs(90), Duration::from_secs(60));
        assert_eq!(found.data["none_within_s"], 30.0);
        assert!(found.text.contains("30.0 s"), "{}", found.text);
    }

    #[test]
    fn single_heartbeats_name_the_announced_interval() {
        let [first, announced, watched] = [25, 20, 30].map(Duration::from_secs);
        for (times, announced, expected) in [
            (&[][..], None, &["30.0 s"][..]),
            (&[], Some(announced), &["30.0 s", "20.0 s"]),
            (&[first], Some(announced), &["25.0 s", "20.0 s"]),
            (&[first], None, &["25.0 s"]),
            (&[first, 2 * first], Some(announced), &["25.0 s"]),
        ] {
            let told = told_pings(times, "a message", announced, watched);
            let named: Vec<&str> = expected.iter().copied().filter(|time| told.contains(time)).collect();
            assert_eq!((named.as_slice(), told.matches(" s").count()), (expected, expected.len()), "{told}");
        }
    }

    #[test]
    fn intervals_are_medians() {
        let ms = |times: &[u64]| times.iter().map(|&ms| Duration::from_millis(ms)).collect::<Vec<_>>();
        assert_eq!(interval(&ms(&[5])), None);
        assert_eq!(interval(&ms(&[0, 100, 900, 1000, 1100])), Some(Duration::from_millis(100)));
        let mut times = Vec::new();
        for ms in 0..2 * TIMES_MAX as u64 {
            note(&mut times, Duration::from_millis(ms));
        }
        assert_eq!((times.len(), interval(&times)), (TIMES_MAX, Some(Duration::from_millis(1))));
    }
}
