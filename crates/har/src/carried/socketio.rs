//! Socket.IO over Engine.IO: packets of the WebSocket, and of the requests before it, with which its clients begin.

use super::turn::{Carried, Flag, Turn, most};
use crate::exchange::Exchange;
use crate::json::items;
use crate::recording::{Recording, Text};

/// The paths of its servers end so.
const PATHS: [&str; 2] = ["/socket.io", "/engine.io"];
/// The end of a packet in the body of a request.
const END: char = '\u{1e}';

/// A packet in a namespace.
struct Packet<'a> {
    text: &'a Text,
    kind: u8,
    namespace: &'a str,
    number: Option<String>,
    data: &'a str,
}

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let socket = &recording.socket;
    let path = socket.url.path().trim_end_matches('/');
    let opens = |text: &Text| text.text.starts_with("0{\"sid\":");
    let query: Vec<_> = socket.url.query_pairs().collect();
    let version = query.iter().find(|(name, _)| name == "EIO");
    // Servers may be anywhere: then the version in the query, or the packet that opens a session, tells.
    if !PATHS.iter().any(|known| path.ends_with(known))
        && version.is_none()
        && !socket.frames.iter().any(opens)
    {
        return None;
    }
    let mut texts: Vec<Text> = recording
        .exchanges
        .iter()
        .filter(|one| one.url.path().trim_end_matches('/') == path)
        .flat_map(polled)
        .collect();
    // Clients open over requests and go on over the WebSocket: one conversation, in this order.
    texts.extend(socket.frames.iter().map(|text| Text { text: text.text.clone(), ..*text }));
    let packets: Vec<Packet<'_>> = texts.iter().filter_map(packet).collect();
    // A run's clients are in one namespace: the one with the most events and acknowledgements.
    let said = packets.iter().filter(|packet| matches!(packet.kind, b'2' | b'3'));
    let namespace = most(said.map(|packet| packet.namespace)).unwrap_or_else(|| "/".to_owned());
    let mut flags = Vec::new();
    if namespace != "/" {
        flags.push(Flag::new("namespace", &namespace));
    }
    let auth = packets
        .iter()
        .find(|packet| packet.text.is_sent && packet.kind == b'0' && packet.namespace == namespace);
    flags.extend(auth.filter(|packet| !packet.data.is_empty()).map(|packet| Flag::new("auth", packet.data)));
    if let Some((_, version)) = version.filter(|(_, version)| version != "4") {
        flags.push(Flag::new("eio", version.as_ref()));
    }
    let turns = packets.iter().filter(|packet| packet.namespace == namespace).filter_map(turn);
    Some(Carried {
        protocol: "socketio",
        flags,
        own_query: &["EIO", "transport", "sid", "t", "b64"],
        turns: turns.collect(),
        ..Carried::default()
    })
}

/// The packets of a request: its body was sent, its answer received.
fn polled(exchange: &Exchange) -> Vec<Text> {
    let bodies = [(true, Some(&exchange.body)), (false, exchange.answer.as_ref())];
    let of = |(is_sent, body): (bool, Option<&String>)| {
        let packets = body.map_or("", |body| body.as_str()).split(END).filter(|packet| !packet.is_empty());
        let text = |packet: &str| Text { at_s: exchange.at_s, is_sent, text: packet.into() };
        packets.map(text).collect::<Vec<_>>()
    };
    bodies.into_iter().flat_map(of).collect()
}

/// The Socket.IO packet in a message of Engine.IO (type 4).
fn packet(text: &Text) -> Option<Packet<'_>> {
    let rest = text.text.strip_prefix('4')?;
    let (&kind, _) = rest.as_bytes().split_first().filter(|(kind, _)| kind.is_ascii_digit())?;
    let rest = &rest[1..];
    let (namespace, rest) = match rest.starts_with('/') {
        true => rest.split_once(',').unwrap_or((rest, "")),
        false => ("/", rest),
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, data) = rest.split_at(digits);
    Some(Packet { text, kind, namespace, number: (digits > 0).then(|| number.to_owned()), data })
}

fn turn(packet: &Packet<'_>) -> Option<Turn> {
    let values = || items(packet.data);
    match packet.kind {
        b'2' => {
            let values = values()?;
            let (event, arguments) = values.split_first()?;
            let event = crate::json::text_of(event);
            let arguments = arguments.join(",");
            // A file has the arguments as they are sent; conditions look at an array of them.
            let body = if packet.text.is_sent { arguments } else { format!("[{arguments}]") };
            Some(Turn { event, asks: packet.number.clone(), ..Turn::of(packet.text, body) })
        }
        b'3' => Some(Turn { answers: packet.number.clone(), ..Turn::of(packet.text, packet.data) }),
        _ => None,
    }
}
