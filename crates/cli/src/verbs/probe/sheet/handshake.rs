//! Questions that the answer to an upgrade decides: protocol, subprotocols, compression, origins.

use serde_json::json;

use super::probe::Probe;
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::upgrade::{Offer, Refusal};
use super::websocket::WebSocket;

pub(super) static PROTOCOL: Probe = Probe::of_websockets(
    &[Topic { key: "protocol", name: "protocol", how: "by its opening, and one message" }],
    protocol,
);
pub(super) static SUBPROTOCOLS: Probe = Probe::of_websockets(
    &[Topic { key: "subprotocols", name: "subprotocols", how: "offered each alone, and one that is none" }],
    subprotocols,
);
pub(super) static COMPRESSION: Probe = Probe::of_websockets(
    &[Topic { key: "compression", name: "compression", how: "offered permessage-deflate (RFC 7692)" }],
    compression,
);
pub(super) static ORIGIN: Probe = Probe::of_websockets(
    &[Topic { key: "origin", name: "origin check", how: "asked with a foreign Origin, and without" }],
    origin,
);

/// Subprotocols that servers are known for (the IANA registry, and what protocols of throng offer).
const KNOWN: [&str; 14] = [
    "actioncable-v1-json",
    "actioncable-v1-ext-json",
    "graphql-transport-ws",
    "graphql-ws",
    "mqtt",
    "ocpp1.6",
    "ocpp2.0.1",
    "v12.stomp",
    "wamp.2.json",
    "xmpp",
    "sip",
    "centrifuge-protobuf",
    "json.sockjs.org",
    "soap",
];
/// A subprotocol that nobody speaks.
const UNKNOWN: &str = "x-throng-unknown";
/// An origin that nobody has (RFC 2606 §2).
const FOREIGN: &str = "https://throng.invalid";

fn protocol(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let socket = WebSocket::open(tester, &Offer::default())?;
    let service = tester.site.service.map_or("WebSocket", |service| service.name());
    let (server, via) = (socket.head.field("server"), socket.head.field("via"));
    let named = [("server", &server), ("via", &via)];
    let named = named.iter().filter_map(|(field, name)| Some(format!("{field} {}", name.as_ref()?)));
    let behavior = if tester.site.echoes { "messages come back" } else { "messages do not come back" };
    let parts: Vec<String> =
        [format!("{service} over HTTP/1.1"), behavior.to_owned()].into_iter().chain(named).collect();
    let data = json!({ "name": service, "echoes": tester.site.echoes, "server": server, "via": via });
    Ok(vec![Ok(Finding::new(parts.join(", "), data))])
}

fn subprotocols(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let chosen = |name: &str| {
        let offer = Offer { subprotocols: Some(vec![name.to_owned()]), ..Offer::default() };
        match WebSocket::open(tester, &offer) {
            Ok(socket) => {
                Ok(Some(socket.head.field("sec-websocket-protocol").is_some_and(|got| got == name)))
            }
            Err(Refusal::Status(_) | Refusal::Closed(_)) => Ok(None),
            Err(other) => Err(NotTried::from(other)),
        }
    };
    let unknown = chosen(UNKNOWN)?;
    if unknown == Some(true) {
        let data = json!({ "any": true, "spoken": [], "refuses_unknown": false });
        return Ok(vec![Ok(Finding::new("whatever is offered is accepted", data))]);
    }
    let mut spoken = Vec::new();
    for name in KNOWN {
        if chosen(name)? == Some(true) {
            spoken.push(name);
        }
    }
    let refuses = unknown.is_none();
    let known = if spoken.is_empty() { "none that is known".to_owned() } else { spoken.join(", ") };
    let rest = if refuses { "others are refused" } else { "others are ignored" };
    let data = json!({ "any": false, "spoken": spoken, "refuses_unknown": refuses });
    let finding = Finding::new(format!("{known}; {rest}"), data);
    Ok(vec![Ok(if refuses {
        finding.limits("Clients must offer the right subprotocol: choose it with --protocol.")
    } else {
        finding
    })])
}

fn compression(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let socket = WebSocket::open(tester, &Offer { deflate: true, ..Offer::default() })?;
    let agreed =
        socket.head.agreed().map_err(|_| NotTried("the server's answer breaks RFC 7692".to_owned()))?;
    let Some(agreed) = agreed else {
        return Ok(vec![Ok(Finding::new("none", json!({ "deflate": false })))]);
    };
    let (server, client) = (agreed.server_max_window_bits, agreed.client_max_window_bits);
    let forgets = |forgets: bool| if forgets { "forgets" } else { "keeps" };
    let text = format!(
        "permessage-deflate; the server {} its context (window of {server} bits), the client {} its own \
         ({client} bits)",
        forgets(agreed.server_no_context_takeover),
        forgets(agreed.client_no_context_takeover),
    );
    let data = json!({
        "deflate": true,
        "server_no_context_takeover": agreed.server_no_context_takeover,
        "client_no_context_takeover": agreed.client_no_context_takeover,
        "server_max_window_bits": server,
        "client_max_window_bits": client,
    });
    let meaning = "Browsers compress here: --compress shows the CPU and memory that this costs.";
    Ok(vec![Ok(Finding::new(text, data).allows(meaning))])
}

fn origin(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let refusal = |origin: Option<&str>| {
        let offer = Offer { origin: Some(origin.map(str::to_owned)), ..Offer::default() };
        match WebSocket::open(tester, &offer) {
            Ok(_) => Ok(None),
            Err(refusal @ (Refusal::Status(_) | Refusal::Closed(_))) => Ok(Some(refusal)),
            Err(other) => Err(NotTried::from(other)),
        }
    };
    let (foreign, absent) = (refusal(Some(FOREIGN))?, refusal(None)?);
    Ok(vec![Ok(origins(foreign, absent))])
}

/// The answer to a foreign origin, and to none.
fn origins(foreign: Option<Refusal>, absent: Option<Refusal>) -> Finding {
    let told = |who: &str, refusal: &Option<Refusal>| match refusal {
        None => format!("{who}: let in"),
        Some(refusal) => format!("{who}: refused, {refusal}"),
    };
    let data = json!({
        "foreign": foreign.as_ref().map(Refusal::key),
        "absent": absent.as_ref().map(Refusal::key),
    });
    let text = format!("{}; {}", told("foreign", &foreign), told("without Origin", &absent));
    let finding = Finding::new(text, data);
    // Clients of throng name no origin unless they are told to: that a foreign one is refused bounds no run.
    match absent {
        Some(_) => finding.limits("Clients must come from a page of the app: --origin URL."),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::probe::sheet::channel::Lost;

    #[test]
    fn only_a_demanded_origin_bounds_clients() {
        let refused = || Some(Refusal::Lost(Lost::Reset));
        assert_eq!(origins(refused(), None).meaning, None);
        assert!(origins(refused(), refused()).meaning.is_some());
        assert_eq!(origins(None, None).meaning, None);
    }
}
