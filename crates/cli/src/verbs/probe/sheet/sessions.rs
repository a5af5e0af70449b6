//! Traces of a client between its connections: sessions to resume, and the way back to the same server.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;

use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::websocket::{ANSWER_MAX, Heard, Offer, WebSocket};
use crate::verbs::probe::service::Service;

pub(super) static RESUME: Probe = Probe::new(
    &[Topic { key: "resume", name: "resumption", how: "read the answer to the first message" }],
    Needs::Session,
    resume,
);
pub(super) static STICKINESS: Probe = Probe::of_websockets(
    &[Topic {
        key: "stickiness",
        name: "stickiness",
        how: "4 clients without a cookie, and one that brings it",
    }],
    stickiness,
);

/// Clients that connect without a cookie: a balancer sends them to different servers.
const NEWCOMERS: usize = 4;

/// The reason for no resumption where sessions end with their connections.
pub(super) fn begins_anew() -> NotTried {
    NotTried("clients of this protocol begin anew after a disconnect".to_owned())
}

fn resume(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    if !matches!(tester.site.service, Some(Service::SocketIo(_))) {
        return Err(match tester.site.service {
            Some(service) if service.resumes() => {
                NotTried("servers of this protocol do not announce it".to_owned())
            }
            _ => begins_anew(),
        });
    }
    let mut socket = WebSocket::open(tester, &Offer::default())?;
    let until = Instant::now() + ANSWER_MAX;
    loop {
        match socket.hear(until)? {
            Heard::Message(message) if message.start.starts_with(b"40") => {
                // Socket.IO 4.6, connection state recovery: a private id, by which a session is asked for.
                let is_on = String::from_utf8_lossy(&message.start).contains(r#""pid":"#);
                let text = match is_on {
                    true => "connection state recovery is on",
                    false => "connection state recovery is off: clients begin anew",
                };
                return Ok(vec![Ok(Finding::new(text, json!({ "recovery": is_on })))]);
            }
            Heard::Nothing => {
                return Err(NotTried("the server lets no client into the namespace /".to_owned()));
            }
            Heard::Message(_) | Heard::Ping | Heard::Pong(_) => {}
        }
    }
}

fn stickiness(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let given = |cookie: Option<String>| {
        let socket = WebSocket::open(tester, &Offer { cookie, ..Offer::default() })?;
        let set = socket.head.field("set-cookie");
        Ok::<_, NotTried>(set.and_then(|set| set.split(';').next().map(str::to_owned)))
    };
    let cookies: Vec<Option<String>> =
        (0..NEWCOMERS).map(|_| given(None)).collect::<Result<_, NotTried>>()?;
    let Some(first) = cookies[0].clone() else {
        return Ok(vec![Ok(Finding::new("no cookie is set", json!({ "cookie": null })))]);
    };
    // Values may be credentials: they are compared, and never shown.
    let values = cookies.iter().flatten().collect::<BTreeSet<_>>().len();
    let again = given(Some(first.clone()))?;
    // A balancer is silent to who brings its cookie; an app may set the same again.
    let is_kept = again.as_ref().is_none_or(|again| *again == first);
    let name: String =
        first.split('=').next().unwrap_or_default().chars().filter(|c| stats::is_shown(*c)).collect();
    let kept =
        if is_kept { "a client that brings it keeps it" } else { "a client that brings it gets another" };
    let text = format!("cookie {name}: {values} values among {NEWCOMERS} clients; {kept}");
    let data = json!({ "cookie": name, "values": values, "kept": is_kept });
    let meaning =
        format!("The cookie {name} ties a client to a server: give none with -H, or one server gets all.");
    Ok(vec![Ok(Finding::new(text, data).allows(meaning))])
}
