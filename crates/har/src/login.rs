//! The requests that a client makes before its WebSocket.

use std::collections::BTreeMap;

use app::app_file::LOGIN_REQUESTS_MAX;
use url::Url;

use crate::credentials::{TOKEN, is_opaque, is_typed_secret};
use crate::exchange::{Exchange, header};
use crate::json::{self, Leaf, in_string, replaced, without_placeholders};
use crate::recording::{Recording, decoded, has_app_key};
use crate::rooms::StreamRooms;
use crate::toml_text::{TomlText, counted, plain};
use crate::trace::{NO_KEY, Trace};
use crate::writing::{is_of_room, is_uuid, with_rooms};

/// Writes the requests that are needed, in their order, and follows what these need themselves.
pub(crate) fn write(recording: &Recording, trace: &mut Trace<'_>, out: &mut TomlText) -> usize {
    // Whatever a request needs comes from one before it, so that going backwards finds all.
    let mut texts = BTreeMap::new();
    let mut below = usize::MAX;
    while let Some(at) = trace.needed.range(..below).next_back().map(|(at, _)| *at) {
        if trace.is_needed(at) {
            texts.insert(at, request(recording, at, trace));
        }
        below = at;
    }
    // An earlier answer may have had all that was kept of a later one.
    texts.retain(|at, _| trace.is_needed(*at));
    let left_out = leave_out(recording, trace, &mut texts);
    if left_out > 0 {
        out.comment(&format!("left out: {} of the login.", counted(left_out, "further request")));
    }
    for (at, text) in &texts {
        let exchange = &recording.exchanges[*at];
        let (number, status) = (exchange.number, exchange.status);
        out.comment(&format!("Request {number} of {}, which was answered by {status}.", recording.name));
        out.line("[[login]]");
        out.0 += text;
        let kept = trace.needed[at].iter().map(|kept| (kept.name.clone(), kept.place.clone()));
        out.texts("keep", &kept.collect::<Vec<_>>());
    }
    texts.len()
}

/// Leaves out the oldest requests if a file may not have so many, first those without a password of whose answers
/// nothing is kept; returns their number.
fn leave_out(recording: &Recording, trace: &mut Trace<'_>, texts: &mut BTreeMap<usize, String>) -> usize {
    let left_out = texts.len().saturating_sub(LOGIN_REQUESTS_MAX);
    let mut oldest: Vec<usize> = texts.keys().copied().collect();
    oldest.sort_by_cached_key(|at| !trace.needed[at].is_empty() || recording.exchanges[*at].has_password());
    for at in oldest.into_iter().take(left_out) {
        texts.remove(&at);
        trace.forget(at);
    }
    left_out
}

/// One request, but for what is kept of its answer.
fn request(recording: &Recording, at: usize, trace: &mut Trace<'_>) -> String {
    let exchange = &recording.exchanges[at];
    let mut out = TomlText::default();
    let target = target(exchange, recording, trace);
    if !is_sendable(exchange) {
        let kind = exchange.body_kind.split(';').next().filter(|kind| !kind.is_empty());
        out.remark(&format!(
            "left out: its method or body ({} of {}): log in by a form or JSON, or give a token.",
            exchange.method,
            kind.unwrap_or("no type")
        ));
    }
    let length =
        header(&exchange.headers, "content-length").and_then(|length| length.trim().parse::<u64>().ok());
    if exchange.body.is_empty() && length.is_some_and(|bytes| bytes > 0) {
        out.remark("left out: its body, which the recording does not have: add it as `form` or `json`.");
    }
    if exchange.method == "POST" {
        out.text("post", &target);
        body(exchange, trace, &mut out);
    } else {
        out.text("get", &target);
    }
    let headers = trace.headers(&exchange.headers, exchange.at_s);
    out.texts("headers", &headers);
    // Below 200, another answer follows (RFC 9110 §15.2).
    if (200..600).contains(&exchange.status) {
        out.line(&format!("expect = {}", exchange.status));
    }
    out.0
}

/// Returns whether a file can say all of a request: a GET, or a POST of a form or of JSON.
fn is_sendable(exchange: &Exchange) -> bool {
    match exchange.method.as_str() {
        "GET" => exchange.body.is_empty(),
        "POST" => exchange.body.is_empty() || exchange.is_form() || exchange.is_json(),
        _ => false,
    }
}

/// The path and the query, or the URL of another server.
pub(crate) fn target(exchange: &Exchange, recording: &Recording, trace: &mut Trace<'_>) -> String {
    let (url, socket) = (&exchange.url, &recording.socket.url);
    let is_own =
        url.host_str() == socket.host_str() && url.port_or_known_default() == socket.port_or_known_default();
    let server = if is_own { String::new() } else { url.origin().ascii_serialization() };
    let rooms = StreamRooms::of(recording);
    let query = url.query().map(|_| {
        let query = query(url, &[], exchange.at_s, trace);
        format!("?{}", with_values(&query, |key, value| rooms.placeholder(key, value)))
    });
    let path = path(url.path(), url, exchange.at_s, trace);
    let parts = url.path().split('/').zip(path.split('/'));
    let parts = parts.map(|(recorded, written)| rooms.part(recorded, written));
    format!("{server}{}{}", parts.collect::<Vec<_>>().join("/"), query.unwrap_or_default())
}

/// A path of this URL with placeholders: for a room's number behind a word for rooms, and for what is random, which
/// an answer had, or else a column.
pub(crate) fn path(path: &str, url: &Url, at_s: f64, trace: &mut Trace<'_>) -> String {
    let path = &in_url(path);
    if has_app_key(url) {
        return path.clone();
    }
    let numbered = with_rooms(path);
    let mut before = "";
    let parts = path.split('/').zip(numbered.split('/')).map(|(part, numbered)| {
        let is_room = is_of_room(before.trim_end_matches('s'));
        before = part;
        let value = decoded(part);
        // A room's id is the same for all who are in it.
        if !is_opaque(&value) || is_room && is_uuid(&value) {
            return numbered.to_owned();
        }
        let found = trace.resolve(NO_KEY, &value, at_s, percent_encoded);
        found.unwrap_or_else(|| if is_room { numbered.to_owned() } else { trace.column(TOKEN, &value) })
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The query of a URL without these parameters, with placeholders.
pub(crate) fn query(url: &Url, without: &[&str], at_s: f64, trace: &mut Trace<'_>) -> String {
    pairs(url.query().unwrap_or_default(), without, at_s, trace)
}

/// The same of a query or a form by itself.
pub(crate) fn pairs(text: &str, without: &[&str], at_s: f64, trace: &mut Trace<'_>) -> String {
    // As url does: nothing between two signs is no pair.
    let raw = text.split('&').filter(|raw| !raw.is_empty());
    let pairs = raw.zip(url::form_urlencoded::parse(text.as_bytes()));
    let kept = pairs.filter(|(_, (name, _))| !without.contains(&name.as_ref()));
    let written = kept.map(|(raw, (name, value))| {
        let found = trace.resolve(&name, &value, at_s, percent_encoded);
        // A connection has no other use for it: `?key=lobby` is no room.
        let is_secret = secret::is_secret(&name) && !value.is_empty();
        match found.or_else(|| is_secret.then(|| trace.column(&name, &value))) {
            Some(placeholder) => {
                format!("{}={placeholder}", in_url(raw.split('=').next().unwrap_or_default()))
            }
            None => in_url(raw),
        }
    });
    written.collect::<Vec<_>>().join("&")
}

/// A query or a form, as [`pairs`] has written it, with these values in place of its own.
pub(crate) fn with_values(pairs: &str, mut by: impl FnMut(&str, &str) -> Option<String>) -> String {
    let written = pairs.split('&').map(|raw| {
        let found = url::form_urlencoded::parse(raw.as_bytes()).next();
        match found.and_then(|(name, value)| by(&name, &value)) {
            Some(value) => format!("{}={value}", raw.split('=').next().unwrap_or_default()),
            None => raw.to_owned(),
        }
    });
    written.collect::<Vec<_>>().join("&")
}

/// A text in a query.
fn percent_encoded(text: &str) -> String {
    // A plus sign is a space in forms alone.
    in_url(&url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20"))
}

/// A part of a URL as it was recorded, with braces as servers read them and no run does: placeholders stand in
/// `{…}` and `%7B…%7D` (RFC 3986 §2.1: the case of an escape means nothing).
fn in_url(text: &str) -> String {
    without_placeholders(&text.replace("%7B", "%7b"), "%7b")
}

/// Placeholders for the texts of a JSON body, by their pointers.
pub(crate) fn resolved(
    exchange: &Exchange,
    leaves: &[Leaf],
    trace: &mut Trace<'_>,
) -> BTreeMap<String, String> {
    let is_said = |leaf: &&Leaf| leaf.is_text || leaf.is_number() && is_typed_secret(&leaf.key);
    let by = leaves.iter().filter(is_said).filter_map(|leaf| {
        let placeholder = trace.resolve(&leaf.key, &leaf.value, exchange.at_s, in_string)?;
        Some((leaf.pointer.clone(), placeholder))
    });
    by.collect()
}

fn body(exchange: &Exchange, trace: &mut Trace<'_>, out: &mut TomlText) {
    if exchange.is_json() {
        let leaves = json::leaves(&exchange.body).unwrap_or_default();
        let by = resolved(exchange, &leaves, trace);
        out.text("json", &replaced(&exchange.body, &leaves, |leaf| by.get(&leaf.pointer).cloned()));
        return;
    }
    let fields = exchange.form().into_iter().map(|(key, value)| {
        let resolved = trace.resolve(&key, &value, exchange.at_s, plain);
        (key, resolved.unwrap_or_else(|| plain(&value)))
    });
    out.texts("form", &fields.collect::<Vec<_>>());
}
