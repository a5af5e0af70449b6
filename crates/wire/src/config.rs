//! What the clients of a run have in common.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::dialects::custom::{self, CustomDialect};
use crate::dialects::{DialectId, DialectOptions, Parts};
use crate::http::fields;
use crate::http::request::is_host;
use crate::io::Io;
use crate::limits::{DeflateOptions, Limits};
use crate::ws::extension;
use crate::ws::upgrade::{self, Key};

/// What the clients of a run have in common, as the user asked for it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dialect spoken.
    pub dialect: DialectId,
    /// The `Host` field: host name, and port unless it is the scheme's own.
    pub host: String,
    /// Path and query, in origin form.
    pub path: String,
    /// Header fields to add to the request.
    pub headers: Vec<(String, String)>,
    /// Subprotocols to offer, in order; empty: the dialect's own.
    pub subprotocols: Vec<String>,
    /// The `Origin` field.
    pub origin: Option<String>,
    /// User and password of basic authentication (RFC 7617).
    pub basic_auth: Option<(String, String)>,
    /// Offer permessage-deflate.
    pub deflate: Option<DeflateOptions>,
    /// Bounds on what the server may send.
    pub limits: Limits,
    /// What messages carry.
    pub payload: Payload,
    /// What concerns single dialects.
    pub of_dialect: DialectOptions,
}

/// The size and form of the messages sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Payload {
    /// Bytes: of the whole message in `raw` (33 when `None`), of the padding in the others (0 when `None`).
    pub padding: Option<u32>,
    /// `raw` only: send text, not binary.
    pub text: bool,
}

/// An option that cannot be put on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadOption {
    /// The host is empty or holds bytes a `Host` field may not.
    Host,
    /// The path does not start with `/` or holds bytes a request target may not.
    Path,
    /// A header name or value is not sendable, or is one the handshake sets itself.
    Header,
    /// A subprotocol is not a token, or is there twice.
    Subprotocol,
    /// The payload is too small for its stamp, or above the message limit.
    PayloadSize {
        /// Fewest bytes.
        min: u32,
        /// Most bytes.
        max: u32,
    },
    /// A choice of [`DialectOptions`] that the dialect cannot carry out.
    OfDialect {
        /// The field's name.
        option: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

/// The body of a plain request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// [`Options`], checked, with everything that can be encoded once already encoded. Shared by all clients of a run.
#[derive(Debug)]
pub struct Config {
    options: Options,
    /// The upgrade request: its path, to which a dialect may add; the query; from there to its key; and after it.
    upgrade: [Vec<u8>; 4],
    /// The field lines that all requests of a client share, besides `Host`.
    fields: Vec<u8>,
    parts: Parts,
    /// What messages end with in turn, where they differ.
    pub(crate) tails: Vec<Vec<u8>>,
}

impl Config {
    /// Checks the options and encodes the parts of a request and of a message that never change.
    pub fn new(mut options: Options) -> Result<Config, BadOption> {
        options.dialect.complete(&mut options)?;
        check(&options)?;
        let parts = options.dialect.parts(&options)?;
        if options.subprotocols.is_empty() {
            let own = options.dialect.subprotocols();
            options.subprotocols = own.iter().map(|&protocol| protocol.to_owned()).collect();
        }
        let fields = encode_fields(&options);
        let upgrade = encode_upgrade(&options, &fields);
        Ok(Config { options, upgrade, fields, parts, tails: Vec::new() })
    }

    /// What was asked for.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether the server acknowledges a broadcast with a result of its own, apart from the sender's copy.
    pub fn has_ack(&self) -> bool {
        if self.options.of_dialect.acked_by_copy {
            return false;
        }
        let custom =
            self.options.of_dialect.custom.as_deref().filter(|_| self.options.dialect == DialectId::Custom);
        custom.map_or_else(|| self.options.dialect.has_ack(), CustomDialect::has_ack)
    }

    /// The user's own dialect, compiled.
    ///
    /// # Panics
    /// If another is spoken.
    #[inline]
    pub(crate) fn custom(&self) -> &custom::Compiled {
        self.parts.custom.as_deref().expect("the dialect is custom")
    }

    /// The user's own dialect as they described it.
    ///
    /// # Panics
    /// If another is spoken.
    #[inline]
    pub(crate) fn custom_dialect(&self) -> &CustomDialect {
        self.options.of_dialect.custom.as_deref().expect("the dialect is custom")
    }

    /// Appends an upgrade request with a fresh key.
    pub(crate) fn write_upgrade(&self, now_ns: u64, io: &mut impl Io) -> Key {
        let [path, query, ..] = &self.upgrade;
        io.out(0).extend_from_slice(path);
        self.options.dialect.write_path(&self.options, now_ns, io);
        io.out(0).extend_from_slice(query);
        self.write_key(io)
    }

    /// The same, of another path and query.
    pub(crate) fn write_upgrade_to(&self, target: &str, io: &mut impl Io) -> Key {
        io.out(0).extend_from_slice(format!("GET {target}").as_bytes());
        self.write_key(io)
    }

    /// Appends an upgrade request from its version on.
    fn write_key(&self, io: &mut impl Io) -> Key {
        let key = upgrade::new_key(io);
        let [.., before, after] = &self.upgrade;
        let out = io.out(0);
        out.reserve(before.len() + key.len() + after.len());
        out.extend_from_slice(before);
        out.extend_from_slice(&key);
        out.extend_from_slice(after);
        key
    }

    /// What to ask for, below the path, before anything else.
    pub(crate) fn question(&self) -> Option<&'static str> {
        (self.options.of_dialect.info && self.options.dialect == DialectId::Sockjs).then_some("/info")
    }

    /// Appends a plain request. `place` goes behind the path, `query` behind the path's own.
    pub(crate) fn write_plain(
        &self,
        out: &mut Vec<u8>,
        method: &str,
        place: &str,
        query: &str,
        content: Option<Content<'_>>,
    ) {
        let (path, own_query) = split_path(&self.options.path);
        let query_start = if own_query.is_empty() && !query.is_empty() { "?" } else { own_query };
        let join = if own_query.is_empty() || query.is_empty() { "" } else { "&" };
        let host = &self.options.host;
        for part in [method, " ", path, place, query_start, join, query, " HTTP/1.1\r\nHost: ", host, "\r\n"]
        {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(&self.fields);
        let Some(Content { content_type, bytes }) = content else { return out.extend_from_slice(b"\r\n") };
        for part in
            ["Content-Type: ", content_type, "\r\nContent-Length: ", &bytes.len().to_string(), "\r\n\r\n"]
        {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(bytes);
    }

    /// Messages up to what varies, of an echo and of a broadcast, which the dialect encoded beforehand.
    #[inline]
    pub(crate) fn heads(&self) -> &[Vec<u8>; 2] {
        &self.parts.heads
    }

    /// What the dialect encoded beforehand.
    #[inline]
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The end of every message, which the dialect encoded beforehand: padding and what closes it.
    #[inline]
    pub(crate) fn tail(&self) -> &[u8] {
        &self.parts.tail
    }

    /// Whether these are the bytes of the tail. An empty one is not compared: the masked loads of a vectorised
    /// `memcmp` take a hundred nanoseconds to find out that an empty vector's pointer is not to be followed.
    #[inline]
    pub(crate) fn is_tail(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.parts.tail.len() && (bytes.is_empty() || bytes == self.parts.tail)
    }
}

/// The fields the handshake sets itself, and those that would change how the request is framed.
const RESERVED_FIELDS: [&str; 11] = [
    "connection",
    "content-length",
    "host",
    "origin",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "transfer-encoding",
    "upgrade",
];

fn check(options: &Options) -> Result<(), BadOption> {
    if !is_host(options.host.as_bytes()) {
        return Err(BadOption::Host);
    }
    let path = options.path.as_bytes();
    if !path.starts_with(b"/") || !path.iter().all(|b| b.is_ascii_graphic() && *b != b'#') {
        return Err(BadOption::Path);
    }
    for (name, value) in &options.headers {
        let reserved = RESERVED_FIELDS.iter().any(|r| name.eq_ignore_ascii_case(r));
        if reserved || !fields::is_token(name.as_bytes()) || !fields::is_value(value.as_bytes()) {
            return Err(BadOption::Header);
        }
    }
    if options.origin.as_ref().is_some_and(|origin| !fields::is_value(origin.as_bytes())) {
        return Err(BadOption::Header);
    }
    for (n, protocol) in options.subprotocols.iter().enumerate() {
        if !fields::is_token(protocol.as_bytes()) || options.subprotocols[..n].contains(protocol) {
            return Err(BadOption::Subprotocol);
        }
    }
    let has_transports = matches!(options.dialect, DialectId::Sockjs | DialectId::Socketio);
    if options.of_dialect.transport.is_some() && !has_transports {
        return Err(BadOption::OfDialect { option: "transport", expected: "the dialect sockjs or socketio" });
    }
    Ok(())
}

/// The path, and the query with its question mark, if there is one.
fn split_path(target: &str) -> (&str, &str) {
    target.split_at(target.find('?').unwrap_or(target.len()))
}

fn encode_upgrade(options: &Options, fields: &[u8]) -> [Vec<u8>; 4] {
    let (path, query) = split_path(&options.path);
    let path = format!("GET {path}").into_bytes();
    let before = format!(
        " HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
        options.host
    );
    let mut after = String::from("\r\n");
    if !options.subprotocols.is_empty() {
        after.push_str(&format!("Sec-WebSocket-Protocol: {}\r\n", options.subprotocols.join(", ")));
    }
    if let Some(deflate) = options.deflate {
        after.push_str(&format!("Sec-WebSocket-Extensions: {}\r\n", extension::offer(deflate)));
    }
    let mut after = after.into_bytes();
    after.extend_from_slice(fields);
    after.extend_from_slice(b"\r\n");
    [path, query.as_bytes().to_vec(), before.into_bytes(), after]
}

/// The field lines that all requests share, besides `Host`.
pub(crate) fn encode_fields(options: &Options) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut field = |name: &str, value: &str| {
        for part in [name, ": ", value, "\r\n"] {
            fields.extend_from_slice(part.as_bytes());
        }
    };
    if let Some(origin) = &options.origin {
        field("Origin", origin);
    }
    if let Some((user, password)) = &options.basic_auth {
        field("Authorization", &format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
    }
    for (name, value) in &options.headers {
        field(name, value);
    }
    fields
}
