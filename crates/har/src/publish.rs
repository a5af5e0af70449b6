//! Requests of the page that made the server tell its clients something.

use std::collections::BTreeMap;

use crate::exchange::{Exchange, header};
use crate::json::{self, Leaf, replaced};
use crate::kind::Kind;
use crate::login;
use crate::naming::is_of_person;
use crate::recording::Recording;
use crate::rooms::StreamRooms;
use crate::talk::Talk;
use crate::talk::purposes::{carries, rank_of};
use crate::toml_text::{TomlText, plain, times};
use crate::trace::Trace;
use crate::writing::{ID, ID_AND_PADDING, is_of_room};

/// A text of a request comes to clients within this time.
const BEHIND_S: f64 = 10.0;
/// A text is told from a word by its length.
const TEXT_BYTES_MIN: usize = 4;
const COOKIE: &str = "cookie";

/// A request whose text came to the client.
pub(crate) struct Published<'a> {
    recording: &'a Recording,
    talk: &'a Talk,
    exchange: &'a Exchange,
    place: Place,
    /// Messages in which the text came.
    pub(crate) copy: &'a Kind,
    /// Requests at the same place.
    pub(crate) count: usize,
}

/// The place of the text in the body.
enum Place {
    /// This member of JSON.
    Member(String),
    /// This field of a form.
    Field(String),
    /// All of it.
    Whole,
}

impl<'a> Published<'a> {
    /// Looks for one behind the opening of the WebSocket or the stream.
    pub(crate) fn find(recording: &'a Recording, talk: &'a Talk) -> Option<Published<'a>> {
        let posts = || {
            recording.exchanges.iter().filter(|one| one.method == "POST" && one.at_s >= recording.socket.at_s)
        };
        // Exporters of streams may leave out when each event came.
        let is_timed = recording.stream.as_ref().is_none_or(|stream| stream.is_timed);
        posts().find_map(|exchange| {
            let texts = texts(exchange);
            if texts.is_empty() {
                return None;
            }
            let is_near = |at_s: f64| (exchange.at_s - 1.0..exchange.at_s + BEHIND_S).contains(&at_s);
            let behind = talk
                .messages
                .iter()
                .filter(|message| !message.turn.is_sent && (!is_timed || is_near(message.turn.at_s)));
            let behind: Vec<_> = behind.collect();
            let (place, copy) = texts.into_iter().find_map(|(place, text)| {
                let back = behind.iter().find(|message| carries(message, &text))?;
                Some((place, &back.kind))
            })?;
            let count = posts().filter(|other| other.url.path() == exchange.url.path()).count();
            Some(Published { recording, talk, exchange, place, copy, count })
        })
    }

    /// Writes it, behind the logins: what is looked for here in answers becomes a column, and needs no login.
    pub(crate) fn write(&self, trace: &mut Trace<'_>, out: &mut TomlText, findings: &mut Vec<String>) {
        let Published { recording, talk, exchange, copy, count, .. } = self;
        out.comment(&format!(
            "Request {} of {}, made {}: its text came as {}.",
            exchange.number,
            recording.name,
            times(*count),
            copy.name()
        ));
        out.line("[publish]");
        let target = login::target(exchange, recording, trace);
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
        // Requests to publish are nobody's who logs in, so that the recorded session stands for all.
        if let Some(cookie) = header(&exchange.headers, COOKIE) {
            headers.push(("Cookie".to_owned(), trace.column(COOKIE, cookie)));
        }
        headers.push(("Content-Type".to_owned(), self.content_type()));
        out.texts("headers", &headers);
        let body = self.body(trace);
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

    fn content_type(&self) -> String {
        match self.place {
            Place::Member(_) => "application/json".to_owned(),
            Place::Field(_) | Place::Whole => plain(&self.exchange.body_kind),
        }
    }

    /// The body, with an id in place of its text.
    fn body(&self, trace: &mut Trace<'_>) -> String {
        let (exchange, rooms) = (self.exchange, StreamRooms::of(self.recording));
        match &self.place {
            Place::Whole => ID_AND_PADDING.to_owned(),
            Place::Field(said) => {
                let pairs = login::pairs(&exchange.body, &[], exchange.at_s, trace);
                // A space would need an escape of its own.
                login::with_values(&pairs, |key, value| match key == said {
                    true => Some(ID.to_owned()),
                    false => rooms.placeholder(key, value),
                })
            }
            Place::Member(said) => {
                let leaves = json::leaves(&exchange.body).unwrap_or_default();
                let mut by: BTreeMap<String, String> = login::resolved(exchange, &leaves, trace);
                for leaf in &leaves {
                    if let Some(room) = rooms.placeholder(&leaf.key, &leaf.value) {
                        by.insert(leaf.pointer.clone(), room);
                    }
                }
                by.insert(said.clone(), ID_AND_PADDING.to_owned());
                replaced(&exchange.body, &leaves, |other| by.get(&other.pointer).cloned())
            }
        }
    }
}

/// The texts of a body with their places, those first that people say: their names and their rooms come back as well.
fn texts(exchange: &Exchange) -> Vec<(Place, String)> {
    let is_name = |key: &str| is_of_person(key) || is_of_room(key);
    let rank = |pointer: &str, key: &str| (is_name(key), rank_of(pointer));
    let mut texts: Vec<_> = if let Some(leaves) = json::leaves(&exchange.body) {
        let leaves = leaves.into_iter().filter(|leaf| leaf.is_text);
        let ranked =
            |Leaf { pointer, key, value, .. }: Leaf| (rank(&pointer, &key), Place::Member(pointer), value);
        leaves.map(ranked).collect()
    } else if exchange.is_text() {
        vec![(rank("", ""), Place::Whole, exchange.body.clone())]
    } else {
        let fields = exchange.form().into_iter();
        fields.map(|(key, value)| (rank(&key, &key), Place::Field(key), value)).collect()
    };
    texts.retain(|(.., text)| text.len() >= TEXT_BYTES_MIN);
    texts.sort_by_key(|(rank, ..)| *rank);
    texts.into_iter().map(|(_, place, text)| (place, text)).collect()
}
