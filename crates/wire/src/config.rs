//! What the connections of either role have in common.

use std::fmt;

use crate::dialect_id::DialectId;
use crate::dialects::custom::compiled::Compiled;
use crate::dialects::custom::spec::CustomDialect;
use crate::dialects::options::ServerDialectOptions;
use crate::dialects::parts::Parts;
use crate::http::date::DateField;
use crate::io::Io;
use crate::limits::{DeflateOptions, Limits};
use crate::options::Options;
use crate::stamp::Stamp;
use crate::ws::extension;
use crate::ws::upgrade::{self, Key};

/// The body of a plain request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// [`Options`], checked, with everything that can be encoded once already encoded. Shared by all clients of a run.
pub struct Config {
    options: Options,
    /// The upgrade request: its path, to which a dialect may add; the query; from there to its key; and after it.
    upgrade: [Vec<u8>; 4],
    /// The field lines that all requests of a client share, besides `Host`.
    fields: Vec<u8>,
    parts: Parts,
    /// What messages end with in turn, where they differ: which one follows from a message's stamp, so that whoever
    /// receives it knows what it must have been. The n-th message of client c has tail number c + n, and round again.
    tails: Vec<Vec<u8>>,
    /// What to add to a stamp's clock to get the wall clock that messages show; `None`: they may show any.
    unix_minus_now_ns: Option<u64>,
}

impl fmt::Debug for Config {
    /// Without what is encoded: there the secrets of the options are bytes like others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Config {
    /// Encodes the parts of a request that never change, beside those of a message. The options are sound, and as the
    /// dialect completes them.
    pub(crate) fn of(options: Options, parts: Parts) -> Config {
        let fields = options.encode_fields();
        let upgrade = encode_upgrade(&options, &fields);
        Config { options, upgrade, fields, parts, tails: Vec::new(), unix_minus_now_ns: None }
    }

    /// The same, with messages that end in these in turn. Each client sends every one of them equally often.
    pub(crate) fn with_tails(self, tails: Vec<Vec<u8>>) -> Config {
        Config { tails, ..self }
    }

    /// The same, of a run whose messages show the wall clock: a stamp's time of sending and this. One that shows another
    /// when it comes back is damaged.
    pub fn with_wall_clock(self, unix_minus_now_ns: u64) -> Config {
        Config { unix_minus_now_ns: Some(unix_minus_now_ns), ..self }
    }

    /// The wall clock that the message with this stamp shows, if that is known.
    #[inline]
    pub fn unix_ns_of(&self, stamp: Stamp) -> Option<u64> {
        self.unix_minus_now_ns.map(|more_ns| stamp.sent_ns().wrapping_add(more_ns))
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
    pub(crate) fn custom(&self) -> &Compiled {
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

    /// Appends an upgrade request with a fresh key. `write_place` appends what goes behind the path.
    pub(crate) fn write_upgrade<I: Io>(&self, io: &mut I, write_place: impl FnOnce(&mut I)) -> Key {
        let [path, query, ..] = &self.upgrade;
        io.out(0).extend_from_slice(path);
        write_place(io);
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
        let (path, own_query) = self.options.split_path();
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

    /// Whether messages differ.
    #[inline]
    pub(crate) fn is_varied(&self) -> bool {
        !self.tails.is_empty()
    }

    /// Whether these are the bytes that the message with this stamp ends with.
    #[inline]
    pub(crate) fn is_tail_of(&self, stamp: Stamp, bytes: &[u8]) -> bool {
        if self.is_varied() { bytes == self.tail_of(stamp) } else { self.is_tail(bytes) }
    }

    /// What the message with this stamp ends with.
    #[inline]
    pub(crate) fn tail_of(&self, stamp: Stamp) -> &[u8] {
        match self.tails.len() {
            0 => self.tail(),
            n => &self.tails[stamp.client.wrapping_add(stamp.seq) as usize % n],
        }
    }
}

/// What the connections of a server have in common.
#[derive(Clone, Debug, Default)]
pub struct ServerConfig {
    /// Bounds on what a client may send.
    pub limits: Limits,
    /// Accept permessage-deflate when offered.
    pub deflate: Option<DeflateOptions>,
    /// Origins served; empty: all. A request without `Origin` is not from a browser and is served.
    pub origins: Vec<String>,
    /// Subprotocols spoken; the client's first choice among them is taken. Empty: those of the dialect.
    pub subprotocols: Vec<String>,
    /// The one dialect spoken; `None`: each at its own paths ([`DialectId::at`]); raw, json and binary, which share
    /// all others, are told apart by each message.
    pub dialect: Option<DialectId>,
    /// What can be chosen about single dialects.
    pub of_dialect: ServerDialectOptions,
    /// What to add to the sessions' clock to get the wall clock, for dialects whose messages show it and for the date of
    /// answers, which have none while this is 0.
    pub unix_minus_now_ns: u64,
}

impl ServerConfig {
    /// When an answer was made that is made now.
    pub(crate) fn date(&self, now_ns: u64) -> DateField {
        let is_known = self.unix_minus_now_ns != 0;
        DateField::new(is_known.then(|| now_ns.wrapping_add(self.unix_minus_now_ns)))
    }
}

fn encode_upgrade(options: &Options, fields: &[u8]) -> [Vec<u8>; 4] {
    let (path, query) = options.split_path();
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
