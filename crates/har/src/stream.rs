//! Requests whose answers come event by event: subscriptions, which last as long as their page, and answers that end.

use std::collections::HashMap;

use crate::exchange::{Exchange, header};
use crate::file::{EVENTS, Entry, StreamEvent, events_in};
use crate::json;

/// The last event of OpenAI's answers, and of many others.
const DONE: &str = "[DONE]";
/// Types of last events, of any server.
const ENDS: [&str; 8] =
    ["done", "end", "complete", "completed", "finish", "finished", "close", "message_stop"];
/// Members of the last event: true in no other, or with a value that no other has.
const END_FLAGS: [&str; 6] = ["done", "is_end", "finished", "is_finished", "complete", "final"];
const END_NAMES: [&str; 4] = ["type", "event", "kind", "status"];
/// Types of events without a name.
const UNNAMED: [&str; 2] = ["", "message"];
/// Places of a token in an event: of OpenAI's chats, Anthropic, Ollama, OpenAI's responses, TGI, and others.
const TOKENS: [&str; 10] = [
    "/choices/0/delta/content",
    "/delta/text",
    "/message/content",
    "/response",
    "/delta",
    "/choices/0/text",
    "/token/text",
    "/content",
    "/text",
    "/token",
];
/// Events with a text at such a place: once, it may be anything.
const TOKENS_MIN: usize = 2;
/// Requests and texts of them that are looked for, and the subscriptions and events of each among which they are: a
/// page has one or two.
const POSTS_MAX: usize = 50;
const TEXTS_MAX: usize = 200;
const SUBSCRIPTIONS_MAX: usize = 8;
const HEARD_MAX: usize = 1_000;
/// A text is told from a word by its length.
const TEXT_BYTES_MIN: usize = 4;

/// A request, and the events of its answer.
pub(crate) struct Stream {
    /// The request, without its answer's body.
    pub(crate) asked: Exchange,
    pub(crate) events: Vec<StreamEvent>,
    /// Comments, which keep the connection open.
    pub(crate) comments: usize,
    /// True if events have ids.
    pub(crate) has_ids: bool,
    /// True if it is known when each event came.
    pub(crate) is_timed: bool,
    /// True if it answers its request and ends.
    pub(crate) is_answer: bool,
    /// Answers that were asked for at the same place.
    pub(crate) count: usize,
}

impl Stream {
    /// The stream of an entry with this number; `None` for one without a server's URL. In memory, an event of a text is
    /// larger than the shortest is there: there is `room` for this many in all.
    pub(crate) fn of(number: usize, mut entry: Entry, room: &mut usize) -> Option<Stream> {
        let is_lines = !entry.response.content.mime_type.to_ascii_lowercase().contains(EVENTS);
        let given = entry.events.take().filter(|events| !events.is_empty());
        let mut asked = Exchange::of(number, entry)?;
        let text = asked.answer.take().unwrap_or_default();
        let events = given.unwrap_or_else(|| match is_lines {
            true => lines(&text, *room),
            false => events_in(text.as_bytes(), *room, |_| 0.0),
        });
        *room = room.saturating_sub(events.len());
        let comments = if is_lines { 0 } else { text.lines().filter(|line| line.starts_with(':')).count() };
        let mut stream = Stream {
            comments,
            has_ids: events.iter().any(|event| !event.event_id.is_empty()),
            is_timed: events.iter().all(|event| event.time > 0.0),
            is_answer: is_lines,
            count: 1,
            asked,
            events,
        };
        // Pages ask for a subscription by GET, or by fetch-event-source, which says what it wants.
        let wants_events = header(&stream.asked.headers, "accept").is_some_and(|kinds| kinds == EVENTS);
        let may_last = stream.asked.method == "GET" || wants_events;
        stream.is_answer |= !may_last || stream.events.last().is_some_and(is_end);
        Some(stream)
    }

    /// The mark of a whole answer, as a file has it.
    pub(crate) fn end(&self) -> Option<String> {
        let (last, before) = self.events.split_last()?;
        if &*last.data == DONE {
            return Some(DONE.to_owned());
        }
        if json::member(&last.data, "jsonrpc").is_some() && json::member(&last.data, "result").is_some() {
            return Some("/result".to_owned());
        }
        // One event alone has no other to differ from.
        before.first()?;
        let is_new = before.iter().all(|event| event.event_name != last.event_name);
        if !UNNAMED.contains(&&*last.event_name) && is_new {
            return Some(format!("event:{}", last.event_name));
        }
        let is_first = |name: &str, value: &str| {
            before
                .iter()
                .all(|event| json::member(&event.data, name).is_none_or(|other| other.trim() != value))
        };
        let flag = END_FLAGS.into_iter().find(|name| {
            json::member(&last.data, name).is_some_and(|value| value.trim() == "true")
                && is_first(name, "true")
        });
        if let Some(name) = flag {
            return Some(format!("/{name}=true"));
        }
        END_NAMES.into_iter().find_map(|name| {
            let value = json::member(&last.data, name)?.trim();
            let text = json::text_of(value).filter(|text| !text.is_empty() && is_first(name, value))?;
            Some(format!("/{name}={text}"))
        })
    }

    /// The place of the tokens in its events.
    pub(crate) fn tokens(&self) -> Option<&'static str> {
        let mut counts = [0; TOKENS.len()];
        for event in self.events.iter().take(HEARD_MAX) {
            let leaves = json::leaves(&event.data).unwrap_or_default();
            for leaf in leaves.iter().filter(|leaf| leaf.is_text) {
                if let Some(place) = TOKENS.iter().position(|place| *place == leaf.pointer) {
                    counts[place] += 1;
                }
            }
        }
        let found = counts.iter().position(|count| *count >= TOKENS_MIN)?;
        Some(TOKENS[found])
    }

    /// Returns whether one of these texts came in its events.
    fn hears(&self, texts: &[String]) -> bool {
        let events = &self.events[..self.events.len().min(HEARD_MAX)];
        texts.iter().any(|text| events.iter().any(|event| event.data.contains(text)))
    }
}

/// Returns whether answers of any server end with such an event.
fn is_end(event: &StreamEvent) -> bool {
    &*event.data == DONE || ENDS.contains(&&*event.event_name)
}

/// The lines of an answer, which are its events.
fn lines(text: &str, lines_max: usize) -> Vec<StreamEvent> {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(lines_max);
    lines.map(|line| StreamEvent { data: line.into(), ..StreamEvent::default() }).collect()
}

/// Takes the stream that a file is made of out of these: the longest subscription in which a text of a request came,
/// or else the answer that is asked for most often, or else a subscription.
pub(crate) fn take(streams: &mut Vec<Stream>, exchanges: &[Exchange]) -> Option<Stream> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for stream in &*streams {
        *counts.entry(stream.asked.url.path().to_owned()).or_default() += 1;
    }
    for stream in &mut *streams {
        stream.count = counts[stream.asked.url.path()];
    }
    let heard = heard(streams, exchanges);
    // Of several that are as good, the first: the questions of a conversation have all before them along.
    let value = |(at, stream): (usize, &Stream)| match stream.is_answer {
        true => (1, stream.count, usize::from(stream.end().is_some())),
        false if Some(at) == heard => (2, 0, 0),
        false => (0, stream.events.len(), 0),
    };
    let values: Vec<_> = streams.iter().enumerate().map(value).collect();
    let best = values.iter().max()?;
    let at = values.iter().position(|value| value == best)?;
    Some(streams.remove(at))
}

/// The longest subscription in which a text of a request came.
fn heard(streams: &[Stream], exchanges: &[Exchange]) -> Option<usize> {
    let posts = exchanges.iter().filter(|exchange| exchange.method == "POST").take(POSTS_MAX);
    let texts = posts.flat_map(|post| match post.is_text() {
        true => vec![post.body.clone()],
        false => post.fields().into_iter().map(|(_, value)| value).collect(),
    });
    let texts: Vec<String> = texts.filter(|text| text.len() >= TEXT_BYTES_MIN).take(TEXTS_MAX).collect();
    let mut longest: Vec<usize> = (0..streams.len()).filter(|&at| !streams[at].is_answer).collect();
    longest.sort_by_key(|&at| usize::MAX - streams[at].events.len());
    longest.into_iter().take(SUBSCRIPTIONS_MAX).find(|&at| streams[at].hears(&texts))
}
