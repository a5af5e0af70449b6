//! Limits of an address: connections at once, and new connections.

use std::time::{Duration, Instant};

use results::format;
use serde_json::json;

use super::channel::Lost;
use super::closing::Closing;
use super::probe::Probe;
use super::row::{Finding, NotTried, Outcome, Topic, seconds};
use super::site::Tester;
use super::upgrade::{Offer, Refusal};
use super::websocket::WebSocket;

pub(super) static CONNECTIONS: Probe = Probe::of_websockets(
    &[Topic { key: "connections", name: "connections", how: "opened one after another, and held" }],
    connections,
)
.risking("connections: holds up to --max connections [default: 200]");

pub(super) static HANDSHAKES: Probe = Probe::of_websockets(
    &[Topic { key: "handshake_rate", name: "new connections", how: "opened and closed, one after another" }],
    handshakes,
)
.risking("new connections: opens and closes up to --max of them, as fast as it can");

/// Time in which limits by the second let somebody in again.
pub(super) const SECOND: Duration = Duration::from_millis(1200);
/// Time between connections where they were refused for coming too fast.
const PACE: Duration = Duration::from_millis(100);
/// Time between pings of a connection that is held.
const PINGED: Duration = Duration::from_millis(500);
/// Time for a server to notice that a client has left.
const FREED: Duration = Duration::from_millis(300);
/// How long connections are opened and held: at 5/s, 200 take 40 s.
const CONNECTING_MAX: Duration = Duration::from_secs(60);
/// Time in which limits by the second let as many in as they do each second.
const WINDOW: Duration = Duration::from_secs(1);
/// Time for all handshakes of the row on these.
const HANDSHAKES_MAX: Duration = Duration::from_secs(15);

/// Connections that stay open.
#[derive(Default)]
struct Held<'a> {
    sockets: Vec<WebSocket<'a>>,
    pinged: Option<Instant>,
}

impl Held<'_> {
    /// Waits, and pings each now and then: an idle timeout would make room for others.
    fn keep(&mut self, tester: &Tester<'_>, time: Duration) -> Result<(), NotTried> {
        let until = Instant::now() + time;
        loop {
            if self.pinged.is_none_or(|pinged| pinged.elapsed() >= PINGED) {
                self.pinged = Some(Instant::now());
                for socket in &mut self.sockets {
                    // Those that were closed are counted at the end.
                    let _ = socket.ping().and_then(|()| socket.hear(Instant::now()));
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            tester.site.pause(left.min(PACE))?;
            if left <= PACE {
                return Ok(());
            }
        }
    }
}

/// Connects a client, and has the server say that it is there.
fn admitted<'a>(tester: &'a Tester<'a>) -> Result<WebSocket<'a>, Refusal> {
    let mut socket = WebSocket::open_once(tester, &Offer::default())?;
    match socket.is_answered() {
        Ok(true) => Ok(socket),
        Ok(false) => Err(Refusal::Lost(Lost::Silent)),
        Err(closing) => Err(Refusal::Closed(closing)),
    }
}

/// Passes on what is no answer of the server's.
fn refused(refusal: Refusal) -> Result<Refusal, NotTried> {
    match refusal {
        Refusal::Lost(Lost::Interrupted | Lost::Local(_)) | Refusal::Request(_) => Err(refusal.into()),
        Refusal::Closed(Closing { end: Lost::Interrupted, .. }) => Err(NotTried("interrupted".to_owned())),
        refused => Ok(refused),
    }
}

fn connections(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let site = tester.site;
    let mut held = Held::default();
    let mut is_paced = false;
    let begun = Instant::now();
    let refusal = loop {
        // Connections of the probes that wait are open as well, and count at the server. One that closes
        // clients after a while makes room for others without end.
        let is_enough = site.open().max(held.sockets.len()) >= site.bounds.connections;
        if is_enough || begun.elapsed() >= CONNECTING_MAX {
            break None;
        }
        if is_paced {
            held.keep(tester, PACE)?;
        }
        match admitted(tester) {
            Ok(socket) => held.sockets.push(socket),
            Err(refusal) => {
                let refusal = refused(refusal)?;
                let open = site.open();
                // A limit of new connections lets the next one in after a while; one of open connections does
                // not.
                held.keep(tester, SECOND)?;
                match admitted(tester) {
                    Ok(socket) => {
                        held.sockets.push(socket);
                        // In the place of one of ours that was closed meanwhile, it says nothing of the limit.
                        is_paced |= site.open() > open;
                    }
                    Err(again) => match refused(again)? {
                        // Without a connection, of a probe that waits either, there is no number of them to tell.
                        lost @ Refusal::Lost(_) if site.open() == 0 => return Err(lost.into()),
                        _ => break Some(refusal),
                    },
                }
            }
        }
    };
    let Held { sockets: mut held, .. } = held;
    let mut closed = 0;
    // A server may make room by closing those who came first, which the next to come does not see.
    for socket in &mut held {
        closed += u64::from(socket.await_close(Duration::ZERO).is_some());
    }
    let open = site.open() as u64;
    let Some(refusal) = refusal else {
        let data = json!({ "open": open, "refusal": null, "closed": closed });
        let text = match closed {
            0 => format!("{open} at once, the most that was tried"),
            closed => format!("{open} at once, but {closed} others were closed meanwhile"),
        };
        let meaning = format!("One address may have at least {open} clients at once.");
        return Ok(vec![Ok(Finding::new(text, data).allows(meaning))]);
    };
    let leaver = held.pop().map(|socket| socket.close(1000));
    site.pause(FREED)?;
    let is_freed = leaver.is_some() && admitted(tester).is_ok();
    let data = json!({ "open": open, "refusal": refusal.key(), "closed": closed, "freed": is_freed });
    let (text, meaning) = match is_freed {
        true => (
            format!("{open} at once; the next is refused: {refusal}; one that leaves makes room"),
            format!(
                "One address gets {open} connections: use more addresses (--local-addr), or lift the limit."
            ),
        ),
        // A limit of new connections in more than a second refuses the second try above as well.
        false => (
            format!(
                "{open}, then refused: {refusal}; one that leaves makes no room: new connections may be what \
                 is limited"
            ),
            format!("After {open} connections, the next are refused for a while: keep --connect-rate low."),
        ),
    };
    Ok(vec![Ok(Finding::new(text, data).limits(meaning))])
}

/// Opens and closes connections for at most `time`: how many the server let in, and why not another.
fn admit(tester: &Tester<'_>, time: Duration) -> Result<(u64, Option<Refusal>), NotTried> {
    let begun = Instant::now();
    let mut accepted = 0;
    while accepted < tester.site.bounds.connections as u64 && begun.elapsed() <= time {
        match admitted(tester) {
            Ok(socket) => {
                accepted += 1;
                // The server has noticed before the next comes: only the rate is tried here.
                let closing = socket.close(1000);
                if closing.end == Lost::Interrupted {
                    return Err(closing.into());
                }
            }
            Err(refusal) => return Ok((accepted, Some(refused(refusal)?))),
        }
    }
    Ok((accepted, None))
}

fn handshakes(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let site = tester.site;
    // Those of the probes before count as well.
    site.pause(SECOND)?;
    let begun = Instant::now();
    let (accepted, refusal) = admit(tester, HANDSHAKES_MAX)?;
    let time = begun.elapsed();
    let counted = format!("{} in {}", format::count(accepted), seconds(time));
    let Some(refusal) = refusal else {
        let data = json!({ "accepted": accepted, "seconds": time.as_secs_f64(), "refusal": null });
        let finding = Finding::new(format!("{counted}, none refused"), data);
        return Ok(vec![Ok(finding.allows(unlimited(accepted, time)))]);
    };
    let retry_after = match &refusal {
        Refusal::Status(head) => head.field("retry-after"),
        _ => None,
    };
    let refused_at = Instant::now();
    site.pause(WINDOW)?;
    let waited = refused_at.elapsed();
    let (again, refused_again) = admit(tester, WINDOW / 2)?;
    if accepted + again == 0 && matches!(refusal, Refusal::Lost(_)) {
        return Err(match site.open() {
            0 => refusal.into(),
            // The number of connections is what is limited, and not their rate.
            open => NotTried(format!("none is let in beside the {open} open: {refusal}")),
        });
    }
    let until_refused = refused_at.elapsed();
    let fills = again > 0 && (refused_again.is_none() || lets_in_soon(tester, waited / again as u32)?);
    let at_first = LetIn { connections: accepted, time };
    let once_more = LetIn { connections: again, time: if fills { until_refused } else { waited } };
    let per_s = limit_per_s(at_first, once_more);
    let after = retry_after.as_ref().map(|after| format!(", Retry-After: {after}")).unwrap_or_default();
    let text = format!("{counted}, then refused: {refusal}{after}; {} after 1 s", more(again));
    let data = json!({
        "accepted": accepted,
        "seconds": time.as_secs_f64(),
        "refusal": refusal.key(),
        "retry_after": retry_after,
        "recovers_within_1_s": again > 0,
        "per_s": per_s,
    });
    let meaning = match again {
        0 => format!("After {accepted} new connections, the next have to wait: keep --connect-rate low."),
        _ => {
            let rate = (per_s.round() as u64).max(1);
            // One after another they may have come more slowly than the server lets them in.
            match refused_again {
                Some(_) => format!("New connections are limited: keep --connect-rate at {rate} or below."),
                None => format!("New connections are limited, to {rate}/s or more: --connect-rate {rate}."),
            }
        }
    };
    Ok(vec![Ok(Finding::new(text, data).limits(meaning))])
}

/// Returns whether a connection is let in soon after a refusal; `apart`: the time between two at the limit's
/// rate. A bucket of tokens fills all the time, a window of a second lets no other in before it ends.
fn lets_in_soon(tester: &Tester<'_>, apart: Duration) -> Result<bool, NotTried> {
    tester.site.pause(2 * apart)?;
    match admitted(tester) {
        Ok(_) => Ok(true),
        Err(refusal) => refused(refusal).map(|_| false),
    }
}

/// Connections that were let in, and the time in which the limit did so.
#[derive(Clone, Copy, Debug)]
struct LetIn {
    connections: u64,
    time: Duration,
}

/// New connections per second, by those at first and those let in again after a refusal.
fn limit_per_s(at_first: LetIn, again: LetIn) -> f64 {
    // Where a window ends in the midst of a try, that try has those of two: the lower one is the rate.
    let at_first_per_s = at_first.connections as f64 / at_first.time.max(WINDOW).as_secs_f64();
    at_first_per_s.min(again.connections as f64 / again.time.as_secs_f64())
}

/// Connections that were let in after a refusal.
fn more(again: u64) -> String {
    if again == 0 { "none".to_owned() } else { format!("{} more", format::count(again)) }
}

/// The meaning of clients that were all let in, one after another.
fn unlimited(accepted: u64, time: Duration) -> String {
    // A limit of more in a second than have come is not excluded, however fast these came.
    match two_figures((accepted as f64 / time.max(WINDOW).as_secs_f64()) as u64) {
        // Several at once may be let in, however long each takes.
        0 => format!(
            "A new connection takes {}: allow more with --connect-timeout.",
            seconds(time / accepted.max(1) as u32)
        ),
        rate => format!("At least {rate} clients a second may come: --connect-rate {rate}."),
    }
}

/// The number rounded down to two figures: a second try differs in the third.
fn two_figures(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or_default().saturating_sub(1));
    number / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_count_the_time_of_both_tries() {
        let let_in = |connections, ms| LetIn { connections, time: Duration::from_millis(ms) };
        for (first, again, per_s) in [
            // A bucket of 50/s that held 50, and a window of 100 a second: at 250/s, one after another.
            (let_in(62, 248), let_in(62, 1248), 50),
            (let_in(100, 400), let_in(100, 1000), 100),
            // A window that ended in the midst of the first try.
            (let_in(160, 700), let_in(100, 1000), 100),
            (let_in(20, 80), let_in(0, 1000), 0),
        ] {
            assert_eq!(limit_per_s(first, again).round() as u64, per_s, "{first:?} {again:?}");
        }
    }

    #[test]
    fn advised_rates_are_those_that_came() {
        for (accepted, ms, rate) in [(200, 130, 200), (157, 400, 150), (157, 2000, 78), (1999, 1000, 1900)] {
            let meaning = unlimited(accepted, Duration::from_millis(ms));
            assert!(meaning.ends_with(&format!(" {rate}.")), "{accepted} in {ms} ms: {meaning}");
        }
    }

    #[test]
    fn slow_handshakes_advise_no_rate_of_zero() {
        let meaning = |accepted, s| unlimited(accepted, Duration::from_secs(s));
        assert!(meaning(30, 15).ends_with("--connect-rate 2."));
        assert!(meaning(5, 15).contains("--connect-timeout"));
    }
}
