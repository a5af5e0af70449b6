//! Requests for streams, as a file has them.

use crate::exchange::{Exchange, header};
use crate::file::EVENTS;
use crate::json::{self, Leaf, replaced};
use crate::login;
use crate::recording::Recording;
use crate::stream::Stream;
use crate::toml_text::{TomlText, plain};
use crate::trace::Trace;
use crate::writing::numbered_room;

/// Headers that servers of streams insist on, and that are no secret.
const HEADERS: [&str; 4] = ["accept", "anthropic-version", "anthropic-beta", "mcp-protocol-version"];
/// Values of `Accept` that say nothing, or that throng sends by itself.
const ACCEPTED: [&str; 2] = ["*/*", EVENTS];
/// Keys under which people type what they ask.
const PROMPTS: [&str; 9] = ["prompt", "content", "text", "message", "input", "question", "query", "q", "msg"];
/// The column of what is asked.
const PROMPT: &str = "prompt";
/// Roles of messages that a page sends along.
const OTHER_ROLES: [&str; 4] = ["system", "developer", "assistant", "tool"];

/// The path and the query of a request, with a column for what is asked.
pub(super) fn target(stream: &Stream, recording: &Recording, trace: &mut Trace<'_>) -> String {
    let target = login::target(&stream.asked, recording, trace);
    match target.split_once('?').filter(|_| stream.is_answer) {
        Some((path, query)) => format!("{path}?{}", with_prompts(query, trace)),
        None => target,
    }
}

/// Headers of a request that its server may insist on.
pub(super) fn headers(stream: &Stream) -> Vec<(String, String)> {
    let headers = &stream.asked.headers;
    let meant = HEADERS.into_iter().filter_map(|name| Some((name, header(headers, name)?)));
    let meant = meant.filter(|(_, value)| !ACCEPTED.contains(value));
    // throng names JSON by itself.
    let asked = &stream.asked;
    let kind = (!asked.body.is_empty() && !asked.is_json()).then_some(("Content-Type", &*asked.body_kind));
    meant.chain(kind).map(|(name, value)| (name.to_owned(), plain(value))).collect()
}

/// The method and the body of the request for a subscription.
pub(super) fn asked(stream: &Stream, trace: &mut Trace<'_>, out: &mut TomlText) {
    let asked = &stream.asked;
    if asked.method == "GET" && asked.body.is_empty() {
        return;
    }
    out.text("method", &asked.method);
    let body = match json::leaves(&asked.body) {
        None if asked.body.is_empty() => return,
        None => {
            let pairs = login::pairs(&asked.body, &[], asked.at_s, trace);
            login::with_values(&pairs, numbered_room)
        }
        Some(leaves) => {
            let mut by = login::resolved(asked, &leaves, trace);
            let rooms = leaves
                .iter()
                .filter_map(|leaf| Some((leaf.pointer.clone(), numbered_room(&leaf.key, &leaf.value)?)));
            by.extend(rooms);
            replaced(&asked.body, &leaves, |leaf| by.get(&leaf.pointer).cloned())
        }
    };
    out.text("body", &body);
}

/// A query or a form with a column for what is asked.
fn with_prompts(pairs: &str, trace: &mut Trace<'_>) -> String {
    login::with_values(pairs, |key, value| is_prompt(key, value).then(|| trace.column(PROMPT, value)))
}

/// The body that asks for an answer, with a column for what is asked.
pub(super) fn question(asked: &Exchange, trace: &mut Trace<'_>) -> String {
    if asked.is_text() {
        return trace.column(PROMPT, &asked.body);
    }
    let Some(leaves) = json::leaves(&asked.body) else {
        let pairs = login::pairs(&asked.body, &[], asked.at_s, trace);
        return with_prompts(&pairs, trace);
    };
    // A conversation ends with what was typed last.
    let prompt = leaves
        .iter()
        .rfind(|leaf| leaf.is_text && is_prompt(&leaf.key, &leaf.value) && is_users(leaf, &leaves));
    let mut by = login::resolved(asked, &leaves, trace);
    if let Some(prompt) = prompt {
        by.insert(prompt.pointer.clone(), trace.column(PROMPT, &prompt.value));
    }
    replaced(&asked.body, &leaves, |leaf| by.get(&leaf.pointer).cloned())
}

/// Returns whether a value is what people ask, and no placeholder of something else.
fn is_prompt(key: &str, value: &str) -> bool {
    PROMPTS.contains(&key.to_lowercase().as_str()) && !value.is_empty() && !value.starts_with('{')
}

/// Returns whether a text is not of a message that the page sends along.
fn is_users(leaf: &Leaf, leaves: &[Leaf]) -> bool {
    let is_role = |other: &&Leaf| {
        let message = other.pointer.strip_suffix("role");
        message.is_some_and(|message| message.len() > 1 && leaf.pointer.starts_with(message))
    };
    !leaves.iter().filter(is_role).any(|role| OTHER_ROLES.contains(&role.value.as_str()))
}
