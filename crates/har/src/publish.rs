//! Requests of the page that made the server tell its clients something.

use crate::json::{self, Leaf, replaced};
use crate::kind::Kind;
use crate::login;
use crate::recording::{Exchange, Recording};
use crate::talk::Talk;
use crate::toml_text::{TomlText, times};
use crate::trace::Trace;
use crate::writing::ID_AND_PADDING;

/// A text of a request comes to clients within this time.
const BEHIND_S: f64 = 10.0;
/// A text is told from a word by its length.
const TEXT_BYTES_MIN: usize = 4;

/// A request whose text came to the client.
pub(crate) struct Published<'a> {
    recording: &'a Recording,
    talk: &'a Talk,
    exchange: &'a Exchange,
    leaf: Leaf,
    leaves: Vec<Leaf>,
    copy: &'a Kind,
    count: usize,
}

impl<'a> Published<'a> {
    /// Looks for one behind the opening of the WebSocket.
    pub(crate) fn find(recording: &'a Recording, talk: &'a Talk) -> Option<Published<'a>> {
        let posts = || {
            recording.exchanges.iter().filter(|one| one.method == "POST" && one.at_s >= recording.socket.at_s)
        };
        posts().find_map(|exchange| {
            let leaves = json::leaves(&exchange.body)?;
            let behind = talk.messages.iter().filter(|message| {
                !message.turn.is_sent
                    && (exchange.at_s - 1.0..exchange.at_s + BEHIND_S).contains(&message.turn.at_s)
            });
            let behind: Vec<_> = behind.collect();
            let is_text = |leaf: &&Leaf| leaf.is_text && leaf.value.len() >= TEXT_BYTES_MIN;
            let (leaf, copy) = leaves.iter().filter(is_text).find_map(|leaf| {
                let is_copy = |other: &Leaf| other.is_text && other.value.contains(&leaf.value);
                let back = behind.iter().find(|message| message.leaves.iter().any(is_copy))?;
                Some((leaf.clone(), &back.kind))
            })?;
            let count = posts().filter(|other| other.url.path() == exchange.url.path()).count();
            Some(Published { recording, talk, exchange, leaf, leaves, copy, count })
        })
    }

    /// Writes it, behind the logins: what is looked for here in answers becomes a column, and needs no login.
    pub(crate) fn write(&self, trace: &mut Trace<'_>, out: &mut TomlText, findings: &mut Vec<String>) {
        let Published { recording, talk, exchange, leaf, leaves, copy, count } = self;
        out.comment(&format!(
            "Request {} of {}, made {}: its text came as {}.",
            exchange.number,
            recording.name,
            times(*count),
            copy.name()
        ));
        out.line("[publish]");
        let target = login::target(exchange, &recording.socket.url, trace);
        let target = trace.without_kept(target);
        out.text("post", &target);
        let headers = trace.headers(&exchange.headers, exchange.at_s);
        let (kept, mut headers): (Vec<_>, Vec<_>) =
            headers.into_iter().partition(|(_, value)| trace.is_kept(value));
        for (name, _) in kept {
            out.remark(&format!(
                "left out: the header {name}, whose value an answer had: give one that stays."
            ));
        }
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        out.texts("headers", &headers);
        let mut by = login::resolved(exchange, leaves, trace);
        by.insert(leaf.pointer.clone(), ID_AND_PADDING.to_owned());
        let body = replaced(&exchange.body, leaves, |other| by.get(&other.pointer).cloned());
        out.text("body", &trace.without_kept(body));
        if (200..600).contains(&exchange.status) {
            out.line(&format!("expect = {}", exchange.status));
        }
        if let Some(condition) = copy.condition(&talk.kinds(false)) {
            out.line(&format!("copy = {condition}"));
        }
        let path = target.split('?').next().unwrap_or_default();
        findings.push(format!("publish     POST {path} → {}", copy.name()));
    }
}
