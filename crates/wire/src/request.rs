//! The requests of a client: what all of a run have in common, encoded once, and what is each client's own in
//! its holes.

use app::Identities;
use app::people::BadKey;
use app::template::{ClientContext, Filling, Kept, Quoting, Template};
use codec::http::fields;
use codec::http::request::{is_host, is_method, normalized_method};
use codec::ws::extension;
use codec::ws::upgrade::{self, Key};

use crate::io::Io;
use crate::options::{BadOption, Options};

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

/// The beginning of an upgrade request.
const METHOD: &[u8] = b"GET ";

/// The body of a plain request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// A plain request, but for what all of a client's have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) method: &'a str,
    /// The text behind the path.
    pub(crate) place: &'a str,
    /// The text behind the path's own query.
    pub(crate) query: &'a str,
    pub(crate) content: Option<Content<'a>>,
}

impl<'a> Plain<'a> {
    /// A `GET` of this place.
    pub(crate) fn get(place: &'a str, query: &'a str) -> Plain<'a> {
        Plain { method: "GET", place, query, content: None }
    }

    /// A `POST` to it.
    pub(crate) fn post(place: &'a str, query: &'a str, content: Content<'a>) -> Plain<'a> {
        Plain { method: "POST", place, query, content: Some(content) }
    }
}

/// The terms of an upgrade request, to check the answer against.
#[derive(Debug)]
pub(crate) struct UpgradeTerms {
    pub(crate) key: Key,
    /// The subprotocols that were offered, where they are the client's own; `None`: those that all offer.
    pub(crate) offered: Option<Vec<String>>,
}

/// Shared parts of the requests of a run's clients, and their options.
pub(crate) struct Common {
    options: Options,
    /// The clients' identities.
    pub(crate) identities: Identities,
    /// The path, to which a protocol may add; and the query.
    path: Template,
    query: Template,
    /// The upgrade request from there to its key, and after it.
    before: Vec<u8>,
    after: Template,
    /// Bytes of all of that, but for each client's own.
    upgrade_bytes: usize,
    /// The field lines that all requests of a client share, besides `Host`.
    fields: Template,
    /// The subprotocols, where some are each client's own.
    offered: Option<Vec<Template>>,
}

impl Common {
    /// Encodes what never changes. The options are sound, and as the protocol completes them.
    pub(crate) fn new(options: Options) -> Result<Common, BadOption> {
        let bad_key = |BadKey(expected)| BadOption::OfDialect { option: "jwt-secret", expected };
        let identities = Identities::new(options.people.clone()).map_err(bad_key)?;
        let [path, query] = options.target()?;
        let fields = options.encode_fields_with_cookies()?;
        // Before the options move: each row of people's data is tried in all places where it may come to
        // stand.
        let subprotocols = subprotocols(&options)?;
        check_rows(&identities, &fields, &subprotocols)?;
        let before = format!(
            " HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
            options.host
        );
        let after = encode_after(&options, &subprotocols).then(&fields).text("\r\n");
        let offered =
            subprotocols.iter().any(|protocol| protocol.as_literal().is_none()).then_some(subprotocols);
        let before = before.into_bytes();
        let upgrade_bytes = METHOD.len()
            + before.len()
            + size_of::<Key>()
            + [&path, &query, &after].map(Template::bytes).iter().sum::<usize>();
        Ok(Common { options, identities, path, query, before, after, upgrade_bytes, fields, offered })
    }

    /// The options that it was made of.
    #[inline]
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The context of a client now.
    #[inline]
    pub(crate) fn context<'a>(&'a self, io: &impl Io, now_ns: u64, kept: &'a Kept) -> ClientContext<'a> {
        self.identities.context(io.client(), now_ns, kept)
    }

    /// Appends an upgrade request with a fresh key. `write_place` appends what goes behind the path; `query`
    /// goes behind the path's own.
    pub(crate) fn write_upgrade<I: Io>(
        &self,
        io: &mut I,
        context: ClientContext<'_>,
        write_place: impl FnOnce(&mut I),
        query: &str,
    ) -> UpgradeTerms {
        let filling = &Filling::of(context);
        // All clients of a step connect in a burst: one allocation for each instead of several as the
        // request grows.
        io.out(0).reserve(self.upgrade_bytes);
        io.out(0).extend_from_slice(METHOD);
        self.path.write(io.out(0), filling, 0);
        write_place(io);
        self.write_query(io.out(0), filling, query);
        self.write_key(io, filling)
    }

    /// Writes the request for an upgrade with another path and query, which `other` makes of the client's
    /// own.
    pub(crate) fn write_upgrade_to(
        &self,
        io: &mut impl Io,
        context: ClientContext<'_>,
        other: impl FnOnce(&str) -> String,
    ) -> UpgradeTerms {
        let filling = &Filling::of(context);
        let target = other(&(self.path.filled_text(filling) + &self.query.filled_text(filling)));
        io.out(0).extend_from_slice(METHOD);
        io.out(0).extend_from_slice(target.as_bytes());
        self.write_key(io, filling)
    }

    /// Appends an upgrade request from its version on.
    fn write_key(&self, io: &mut impl Io, filling: &Filling<'_>) -> UpgradeTerms {
        let key = upgrade::new_key(io);
        let out = io.out(0);
        out.extend_from_slice(&self.before);
        out.extend_from_slice(&key);
        self.after.write(out, filling, 0);
        let offered =
            self.offered.as_ref().map(|all| all.iter().map(|one| one.filled_text(filling)).collect());
        UpgradeTerms { key, offered }
    }

    /// Appends the path's own query, and what goes behind it.
    fn write_query(&self, out: &mut Vec<u8>, filling: &Filling<'_>, more: &str) {
        self.query.write(out, filling, 0);
        let join = if self.query.is_empty() { "?" } else { "&" };
        let join = if more.is_empty() { "" } else { join };
        codec::io::extend(out, &[join.as_bytes(), more.as_bytes()]);
    }

    /// Appends a plain request.
    pub(crate) fn write_plain(&self, out: &mut Vec<u8>, context: ClientContext<'_>, request: &Plain<'_>) {
        let filling = &Filling::of(context);
        let &Plain { method, place, query, content } = request;
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        self.path.write(out, filling, 0);
        out.extend_from_slice(place.as_bytes());
        self.write_query(out, filling, query);
        for part in [" HTTP/1.1\r\nHost: ", &self.options.host, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        self.fields.write(out, filling, 0);
        // Without a body there is no Content-Length: a GET with one puzzles some servers (RFC 9110 §8.6).
        let Some(Content { content_type, bytes }) = content else { return out.extend_from_slice(b"\r\n") };
        for part in
            ["Content-Type: ", content_type, "\r\nContent-Length: ", &bytes.len().to_string(), "\r\n\r\n"]
        {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(bytes);
    }
}

fn encode_after(options: &Options, subprotocols: &[Template]) -> Template {
    let mut after = Template::literal("\r\n");
    for (n, protocol) in subprotocols.iter().enumerate() {
        let before = if n == 0 { "Sec-WebSocket-Protocol: " } else { ", " };
        after = after.text(before).then(protocol);
    }
    if !subprotocols.is_empty() {
        after = after.text("\r\n");
    }
    match options.deflate {
        Some(deflate) => after.text(format!("Sec-WebSocket-Extensions: {}\r\n", extension::offer(deflate))),
        None => after,
    }
}

fn subprotocols(options: &Options) -> Result<Vec<Template>, BadOption> {
    options.subprotocols.iter().map(|text| options.template(text, Quoting::Plain)).collect()
}

/// Returns whether a user may have this field in a request.
pub fn is_sendable(name: &str, value: &[u8]) -> bool {
    let is_reserved = RESERVED_FIELDS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
    !is_reserved && fields::is_token(name.as_bytes()) && fields::is_value(value)
}

/// Returns whether the request for a stream may have this method.
pub fn is_stream_method(method: &str) -> bool {
    // The answer to a HEAD has no events.
    is_method(method) && normalized_method(method) != "HEAD"
}

/// Guesses a body's media type from its first byte: JSON, or unknown.
pub fn media_of(body: &[u8]) -> Option<&'static str> {
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'[')).then_some("application/json")
}

/// Refuses options that cannot be put into a request.
pub(crate) fn check(options: &Options) -> Result<(), BadOption> {
    if !is_host(options.host.as_bytes()) {
        return Err(BadOption::Host);
    }
    if !is_target(options.path.reveal().as_bytes()) {
        return Err(BadOption::Path);
    }
    for (name, value) in &options.headers {
        if !is_sendable(name, value.reveal().as_bytes()) {
            return Err(BadOption::Header);
        }
    }
    if options.origin.as_ref().is_some_and(|origin| !fields::is_value(origin.as_bytes())) {
        return Err(BadOption::Header);
    }
    for (n, protocol) in subprotocols(options)?.iter().enumerate() {
        if !fields::is_token(&protocol.sample())
            // RFC 6455 §4.1: the values must all be unique.
            || options.subprotocols[..n].contains(&options.subprotocols[n])
        {
            return Err(BadOption::Subprotocol);
        }
    }
    Ok(())
}

/// Returns whether this can be asked for: a path, with its query.
pub(crate) fn is_target(text: &[u8]) -> bool {
    text.starts_with(b"/") && text.iter().all(|b| b.is_ascii_graphic() && *b != b'#')
}

/// Refuses users' data with a row that cannot stand in the head of a request, which has no escapes.
fn check_rows(
    identities: &Identities,
    fields: &Template,
    subprotocols: &[Template],
) -> Result<(), BadOption> {
    let row = |row, expected| Err(BadOption::Row { row, expected });
    let is_visible = |cell: &[u8]| cell.iter().all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
    if let Some(bad) = identities.misfit([fields].into_iter(), is_visible) {
        return row(bad, "no line breaks or other control characters in what goes into a header");
    }
    match identities.misfit(subprotocols.iter(), fields::is_token) {
        Some(bad) => row(bad, "letters, digits and !#$%&'*+-.^_`|~ in what goes into a subprotocol"),
        None => Ok(()),
    }
}
