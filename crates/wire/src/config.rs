//! What the clients of a run have in common.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

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

/// [`Options`], checked, with everything that can be encoded once already encoded. Shared by all clients of a run.
#[derive(Debug)]
pub struct Config {
    options: Options,
    /// The request up to its key, and after it.
    request: [Vec<u8>; 2],
    parts: Parts,
}

impl Config {
    /// Checks the options and encodes the parts of a request and of a message that never change.
    pub fn new(mut options: Options) -> Result<Config, BadOption> {
        check(&options)?;
        let parts = options.dialect.parts(&options)?;
        if options.subprotocols.is_empty() {
            let own = options.dialect.subprotocols();
            options.subprotocols = own.iter().map(|&protocol| protocol.to_owned()).collect();
        }
        let request = encode_request(&options);
        Ok(Config { options, request, parts })
    }

    /// What was asked for.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Appends an upgrade request with a fresh key.
    pub(crate) fn write_request(&self, io: &mut impl Io) -> Key {
        let key = upgrade::new_key(io);
        let out = io.out(0);
        let [before, after] = &self.request;
        out.reserve(before.len() + key.len() + after.len());
        out.extend_from_slice(before);
        out.extend_from_slice(&key);
        out.extend_from_slice(after);
        key
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
    Ok(())
}

fn encode_request(options: &Options) -> [Vec<u8>; 2] {
    let before = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
        options.path, options.host
    );
    let mut after = String::from("\r\n");
    let mut field = |name: &str, value: &str| {
        for part in [name, ": ", value, "\r\n"] {
            after.push_str(part);
        }
    };
    if !options.subprotocols.is_empty() {
        field("Sec-WebSocket-Protocol", &options.subprotocols.join(", "));
    }
    if let Some(deflate) = options.deflate {
        field("Sec-WebSocket-Extensions", &extension::offer(deflate));
    }
    if let Some(origin) = &options.origin {
        field("Origin", origin);
    }
    if let Some((user, password)) = &options.basic_auth {
        field("Authorization", &format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
    }
    for (name, value) in &options.headers {
        field(name, value);
    }
    after.push_str("\r\n");
    [before.into_bytes(), after.into_bytes()]
}
