//! Socket.IO (socket.io-protocol, version 5) over Engine.IO (engine.io-protocol, version 4), and the versions before
//! both, 4 over 3, which Socket.IO 1 and 2 spoke.
//!
//! ```text
//! << 0{"sid":S,"upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
//! >> 40 or 40/ns,{"token":T}          connect to a namespace; before version 5, `/` is connected to unasked
//! << 40{"sid":S}, or 44{"message":M}  or be refused
//! >> 42["echo",P]                     << 42["echo",P]
//! >> 42["broadcast",P]                << 42["broadcast",P], to everyone; << 42["broadcastResult",P], to the sender
//! >> 427["echo",P]                    << 437[P]: an acknowledgement instead of an event, because 7 asks for one
//! >> 451-["echo",{"_placeholder":true,"num":0}], and a binary message, which is P
//! << 2  >> 3                          a heartbeat; before version 4 of Engine.IO the client sends 2
//! ```
//!
//! P is the json dialect's payload; as an attachment, a stamp in binary form and the padding.
//!
//! Over plain requests the same packets go joined: [`payload`]. The client is in `client` over a WebSocket and in `requests`
//! over requests, from which `takeover` leads to a WebSocket; the server in `server`, `session` and `candidate`.

mod app;
mod candidate;
mod client;
mod handshake;
mod heartbeat;
mod packet;
mod payload;
pub(crate) mod requests;
mod server;
mod service;
pub(crate) mod session;
mod side;
mod takeover;
mod talk;
mod transport;

pub(crate) use client::Client;
pub(crate) use server::Server;
pub(crate) use service::plain_answer;

use self::app::SID_CHARS;
use self::transport::Transport;
use super::{Parts, json, padding, token};
use crate::config::{BadOption, Options};
use crate::event::Kind;
use crate::io::Io;
use crate::json::{escape, object};
use crate::stamp;

/// How long a WebSocket has to take a session over. engine.io gives it 10 seconds.
const UPGRADE_TIMEOUT_NS: u64 = 10_000_000_000;

/// A version of Engine.IO, and of Socket.IO with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Version {
    /// Engine.IO 3, Socket.IO 4.
    V3,
    /// Engine.IO 4, Socket.IO 5.
    #[default]
    V4,
}

impl Version {
    /// By the parameter `EIO` of a request.
    fn named(name: &str) -> Option<Version> {
        match name {
            "3" => Some(Version::V3),
            "4" => Some(Version::V4),
            _ => None,
        }
    }

    /// What every attachment in a WebSocket message starts with: before version 4, the type of its packet.
    fn before_attachment(self) -> &'static [u8] {
        match self {
            Version::V3 => &[4],
            Version::V4 => &[],
        }
    }
}

/// What a server offers at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// Socket.IO.
    Socket,
    /// Engine.IO alone: every message comes back.
    Engine,
}

impl Service {
    fn at(path: &str) -> Service {
        if path.starts_with("/engine.io") { Service::Engine } else { Service::Socket }
    }
}

/// A fresh id, for a session or a socket.
fn sid(io: &mut impl Io) -> [u8; SID_CHARS] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = u128::from(io.random_u64()) << 64 | u128::from(io.random_u64());
    std::array::from_fn(|n| ALPHABET[(bits >> (6 * n)) as usize & 63])
}

/// The parameter of a request's query with that name.
fn query_param<'a>(target: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The version that the path or the option asks for.
fn version(options: &Options) -> Option<Version> {
    match query_param(&options.path, "EIO") {
        Some(name) => Version::named(name),
        None => Version::named(&options.of_dialect.eio.map_or("4".to_owned(), |eio| eio.to_string())),
    }
}

/// Asks for the version and the transport, where the path does not say so itself.
pub(crate) fn complete(options: &mut Options) -> Result<(), BadOption> {
    if options.of_dialect.token_in.is_some() {
        token::place(options, None)?;
    }
    if query_param(&options.path, "EIO").is_none() {
        let eio = options.of_dialect.eio.unwrap_or(4).to_string();
        token::add_query(&mut options.path, "EIO", &eio);
    }
    let transport = Transport::of(options)?.first();
    if query_param(&options.path, "transport").is_none() {
        token::add_query(&mut options.path, "transport", transport);
    }
    Ok(())
}

/// The message to a namespace up to what varies, and what follows the stamp.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let of_dialect = &options.of_dialect;
    let bad = |option, expected| BadOption::OfDialect { option, expected };
    let version = version(options).ok_or(bad("eio", "3 or 4"))?;
    let namespace = of_dialect.namespace.as_deref().unwrap_or("/");
    if !namespace.starts_with('/') || namespace.bytes().any(|byte| byte == b',' || byte < b' ') {
        return Err(bad("namespace", "a name that starts with / and has no comma"));
    }
    let to = if namespace == "/" { String::new() } else { format!("{namespace},") };
    let auth = auth(options)?;
    if version == Version::V3 && !auth.is_empty() {
        return Err(bad(
            "auth",
            "a parameter of the URL: Engine.IO 3 knows no other (--token-in query:NAME)",
        ));
    }
    let connect = [b"40", to.as_bytes(), &auth].concat();
    // Engine.IO 3 connects to `/` without being asked to.
    let is_asked_for = version == Version::V4 || namespace != "/";
    let usual = if of_dialect.binary { format!("451-{to}") } else { format!("42{to}") }.into_bytes();
    let head = |name: &str| {
        let rest = if of_dialect.binary {
            format!(r#"["{name}",{{"_placeholder":true,"num":0}}]"#)
        } else {
            format!(r#"["{name}",{{"sendTime":""#)
        };
        [&usual[..], rest.as_bytes()].concat()
    };
    Ok(Parts {
        opening: if is_asked_for { vec![connect] } else { Vec::new() },
        heads: ["echo", "broadcast"].map(head),
        tail: tail(options)?,
        usual,
        ..Parts::default()
    })
}

/// What follows the stamp: in an attachment but padding.
fn tail(options: &Options) -> Result<Vec<u8>, BadOption> {
    if options.of_dialect.binary {
        let size = options.payload.padding.unwrap_or(0);
        let max = options.limits.message_bytes_max.saturating_sub(stamp::BINARY_BYTES);
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        if size > max {
            return Err(BadOption::PayloadSize { min: 0, max });
        }
        return Ok(padding(size as usize).collect());
    }
    let mut tail = json::parts(options)?.tail;
    // The payload is the last of an array, not of an object.
    tail.pop();
    tail.push(b']');
    Ok(tail)
}

/// What lets the client into the namespace: a JSON object, or nothing.
fn auth(options: &Options) -> Result<Vec<u8>, BadOption> {
    let of_dialect = &options.of_dialect;
    let bad = |option, expected| BadOption::OfDialect { option, expected };
    let token = of_dialect.token.as_deref().filter(|_| of_dialect.token_in.is_none());
    match (of_dialect.auth.as_deref(), token) {
        (None, None) => Ok(Vec::new()),
        (Some(_), Some(_)) => Err(bad("token", "a token or an auth payload, not both")),
        (Some(auth), None) => {
            let auth = auth.trim().as_bytes();
            object(auth, |_, _| {}).ok_or(bad("auth", "a JSON object"))?;
            Ok(auth.to_vec())
        }
        (None, Some(token)) => {
            let mut auth = br#"{"token":""#.to_vec();
            escape(&mut auth, token.as_bytes());
            auth.extend_from_slice(br#""}"#);
            Ok(auth)
        }
    }
}

/// The ack id of a message of ours: its number, and what it is.
fn ack_id(seq: u32, kind: Kind) -> u64 {
    u64::from(seq) << 1 | u64::from(kind == Kind::Broadcast)
}

/// What was acknowledged, by the last bit of the id.
fn acknowledged(id: &[u8]) -> Kind {
    match id.last() {
        Some(digit) if digit % 2 == 1 => Kind::Broadcast,
        _ => Kind::Echo,
    }
}
