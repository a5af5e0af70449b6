//! Traces of a client between its connections: sessions to resume, and the way back to the same server.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;

use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::upgrade::Offer;
use super::websocket::{ANSWER_MAX, Heard, WebSocket};
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
/// Beginnings of the names of balancers' cookies: HAProxy, AWS, Azure, F5, Google, ingress-nginx, Apache.
const BALANCERS: [&str; 9] = [
    "SERVERID",
    "AWSALB",
    "AWSELB",
    "ARRAffinity",
    "BIGipServer",
    "GCLB",
    "GCILB",
    "INGRESSCOOKIE",
    "ROUTEID",
];

fn resume(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    if !matches!(tester.site.service, Some(Service::SocketIo(_))) {
        return Err(NotTried("servers of this protocol do not announce it".to_owned()));
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
    let mut headers = tester.site.plan.client_spec.headers.iter();
    if headers.any(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        return Err(NotTried("-H gives each client a cookie".to_owned()));
    }
    let given = |cookie: Option<String>| {
        let socket = WebSocket::open(tester, &Offer { cookie, ..Offer::default() })?;
        Ok::<_, NotTried>(socket.head.cookies())
    };
    let sets: Vec<Vec<String>> = (0..NEWCOMERS).map(|_| given(None)).collect::<Result<_, NotTried>>()?;
    let is_balancers = |set: &&String| BALANCERS.iter().any(|name| set.starts_with(*name));
    let Some(first) = sets[0].iter().find(is_balancers).or(sets[0].first()) else {
        return Ok(vec![Ok(Finding::new("no cookie is set", json!({ "cookie": null })))]);
    };
    let name = first.split('=').next().unwrap_or_default();
    // Values may be credentials: they are compared, and never shown.
    let values = sets.iter().filter_map(|set| named(set, name)).collect::<BTreeSet<_>>().len();
    let again = given(Some(first.clone()))?;
    // A balancer is silent to who brings its cookie; an app may set the same again.
    let is_kept = named(&again, name).is_none_or(|again| again == first);
    // Sessions differ from client to client; servers are fewer, or they are known by the name.
    let is_balancers = is_balancers(&first) || values < NEWCOMERS;
    let name: String = name.chars().filter(|c| stats::is_shown(*c)).collect();
    let kept =
        if is_kept { "a client that brings it keeps it" } else { "a client that brings it gets another" };
    let whose = if is_balancers { "" } else { " (a session's, or a balancer's)" };
    let text = format!("cookie {name}{whose}: {values} values among {NEWCOMERS} clients; {kept}");
    let data = json!({ "cookie": name, "balancer": is_balancers, "values": values, "kept": is_kept });
    let finding = Finding::new(text, data);
    Ok(vec![Ok(match is_balancers {
        true => finding.allows(format!(
            "The cookie {name} ties a client to a server: give none with -H, or one server gets all."
        )),
        false => finding,
    })])
}

/// The cookie of that name among those that were set.
fn named<'a>(cookies: &'a [String], name: &str) -> Option<&'a String> {
    cookies.iter().find(|set| set.split('=').next() == Some(name))
}
