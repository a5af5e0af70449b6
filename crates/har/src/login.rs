//! The requests that a client makes before its WebSocket.

use url::Url;

use crate::json::{self, replaced};
use crate::recording::{Exchange, Recording};
use crate::toml_text::TomlText;
use crate::trace::{Trace, is_json, plain};
use crate::writing::is_of_room;

/// Writes the requests that are needed, in their order, and follows what these need themselves.
pub(crate) fn write(recording: &Recording, trace: &mut Trace<'_>, out: &mut TomlText) -> usize {
    // Whatever a request needs comes from one before it, so that going backwards finds all.
    let mut texts = Vec::new();
    let mut below = usize::MAX;
    while let Some(at) = trace.needed.range(..below).next_back().map(|(at, _)| *at) {
        texts.push(request(recording, at, trace));
        below = at;
    }
    let count = texts.len();
    for (at, text) in
        trace.needed.keys().copied().collect::<Vec<_>>().into_iter().zip(texts.into_iter().rev())
    {
        let exchange = &recording.exchanges[at];
        let (number, status) = (exchange.number, exchange.status);
        out.comment(&format!("Request {number} of {}, which was answered by {status}.", recording.name));
        out.line("[[login]]");
        out.0 += &text;
        let kept = trace.needed[&at].iter().map(|kept| (kept.name.clone(), kept.place.clone()));
        out.texts("keep", &kept.collect::<Vec<_>>());
    }
    count
}

/// One request, but for what is kept of its answer.
fn request(recording: &Recording, at: usize, trace: &mut Trace<'_>) -> String {
    let exchange = &recording.exchanges[at];
    let mut out = TomlText::default();
    let target = target(exchange, &recording.socket.url, trace);
    if exchange.method == "POST" {
        out.text("post", &target);
        body(exchange, trace, &mut out);
    } else {
        out.text("get", &target);
    }
    let headers = trace.headers(&exchange.headers, exchange.at_s);
    out.texts("headers", &headers);
    if (100..600).contains(&exchange.status) {
        out.line(&format!("expect = {}", exchange.status));
    }
    out.0
}

/// The path and the query, or the URL of another server.
fn target(exchange: &Exchange, socket: &Url, trace: &mut Trace<'_>) -> String {
    let url = &exchange.url;
    let is_own =
        url.host_str() == socket.host_str() && url.port_or_known_default() == socket.port_or_known_default();
    let server = if is_own { String::new() } else { url.origin().ascii_serialization() };
    let query = url.query().map(|_| format!("?{}", query(url, &[], exchange.at_s, trace)));
    format!("{server}{}{}", path(url), query.unwrap_or_default())
}

/// The path of a URL, with a placeholder for a room's number behind a word for rooms.
pub(crate) fn path(url: &Url) -> String {
    let mut parts: Vec<String> = plain(url.path()).split('/').map(str::to_owned).collect();
    for at in 1..parts.len() {
        let part = &parts[at];
        let base = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let word = if base.is_empty() {
            parts[at - 1].trim_end_matches('s')
        } else {
            base.trim_end_matches(['-', '_'])
        };
        if base.len() < part.len() && is_of_room(word) {
            parts[at] = format!("{base}{{room}}");
        }
    }
    parts.join("/")
}

/// The query of a URL without these parameters, with placeholders.
pub(crate) fn query(url: &Url, without: &[&str], at_s: f64, trace: &mut Trace<'_>) -> String {
    // As url does: nothing between two signs is no pair.
    let raw = url.query().unwrap_or_default().split('&').filter(|raw| !raw.is_empty());
    let pairs = raw.zip(url.query_pairs());
    let kept = pairs.filter(|(_, (name, _))| !without.contains(&name.as_ref()));
    let written = kept.map(|(raw, (name, value))| match trace.resolve(&name, &value, at_s) {
        Some(placeholder) => format!("{}={placeholder}", raw.split('=').next().unwrap_or_default()),
        None => plain(raw),
    });
    written.collect::<Vec<_>>().join("&")
}

fn body(exchange: &Exchange, trace: &mut Trace<'_>, out: &mut TomlText) {
    if is_json(exchange) {
        let leaves = json::leaves(&exchange.body).unwrap_or_default();
        let by = leaves
            .iter()
            .map(|leaf| trace.resolve(&leaf.key, &leaf.value, exchange.at_s).filter(|_| leaf.is_text));
        let by: Vec<Option<String>> = by.collect();
        let place = |pointer: &str| leaves.iter().position(|leaf| leaf.pointer == pointer);
        let text = replaced(&exchange.body, &leaves, |leaf| by[place(&leaf.pointer)?].clone());
        out.text("json", &text);
        return;
    }
    let fields = exchange.form().into_iter().map(|(key, value)| {
        let resolved = trace.resolve(&key, &value, exchange.at_s);
        (key, resolved.unwrap_or_else(|| plain(&value)))
    });
    out.texts("form", &fields.collect::<Vec<_>>());
}
