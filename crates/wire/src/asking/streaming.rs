//! Options of answers that come in pieces: how the pieces are told apart, and what their end looks like.

use crate::options::BadOption;
use crate::settings::{Settings, Value};

const STREAM: &str = "stream";
const FORM: &str = "as";
const END: &str = "end";
const TOKENS: &str = "tokens";
const ORDER: &str = "order";
const STALL: &str = "stall";

/// Gaps above this many times the median of their answer are stalls, unless the user says otherwise.
const STALL_TIMES: u64 = 10;

/// A client's choices for answers that come in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Form of the answer; `None`: as its media type says.
    pub form: Option<StreamForm>,
    /// The mark of a whole answer; `None`: it need not have one.
    pub end: Option<EndMark>,
    /// A JSON pointer to what is a token if it is a text, or a number of tokens.
    pub tokens: Option<String>,
    /// A JSON pointer to a number that grows from event to event.
    pub order: Option<String>,
    /// Gaps above this many times the median of their answer are stalls.
    pub stall_times: u64,
}

/// Forms of a body that comes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamForm {
    /// Server-sent events (HTML standard §9.2).
    Events,
    /// Lines, as NDJSON has them; empty ones are none.
    Lines,
    /// Text of which each read is a piece.
    Chunks,
}

/// The mark of a whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndMark {
    /// An event with this data, which is no event of its own: `[DONE]`.
    Data(String),
    /// An event of this type, which is none either: `event:message_stop`.
    Event(String),
    /// An event that counts, with this value at a JSON pointer, or with any but null, false and an empty
    /// text: `/done=true`.
    Pointer(String, Option<String>),
}

impl StreamForm {
    /// Each, with its name.
    pub const NAMES: [(&str, StreamForm); 3] =
        [("sse", StreamForm::Events), ("ndjson", StreamForm::Lines), ("text", StreamForm::Chunks)];

    /// The form of that name.
    pub fn named(name: &str) -> Option<StreamForm> {
        StreamForm::NAMES.iter().find(|(known, _)| *known == name).map(|(_, form)| *form)
    }

    fn name(self) -> &'static str {
        StreamForm::NAMES.iter().find(|(_, form)| *form == self).expect("each has its row").0
    }

    /// The form of a body of this media type (`Content-Type`).
    pub fn of_media(content_type: &[u8]) -> StreamForm {
        let end = memchr::memchr(b';', content_type).unwrap_or(content_type.len());
        match content_type[..end].trim_ascii().to_ascii_lowercase().as_slice() {
            b"text/event-stream" => StreamForm::Events,
            // Ollama, Elasticsearch, jsonlines.org; RFC 7464 has a record separator before each line.
            b"application/x-ndjson"
            | b"application/ndjson"
            | b"application/jsonl"
            | b"application/x-jsonlines"
            | b"application/json-seq"
            | b"application/stream+json" => StreamForm::Lines,
            _ => StreamForm::Chunks,
        }
    }
}

impl EndMark {
    /// Reads `event:NAME`, `/POINTER`, `/POINTER=VALUE` or the data of an event.
    pub fn parse(text: &str) -> EndMark {
        match (text.strip_prefix("event:"), text.starts_with('/')) {
            (Some(name), _) => EndMark::Event(name.trim().to_owned()),
            (None, true) => match text.split_once('=') {
                Some((pointer, value)) => EndMark::Pointer(pointer.to_owned(), Some(value.to_owned())),
                None => EndMark::Pointer(text.to_owned(), None),
            },
            (None, false) => EndMark::Data(text.to_owned()),
        }
    }

    fn text(&self) -> String {
        match self {
            EndMark::Data(data) => data.clone(),
            EndMark::Event(name) => format!("event:{name}"),
            EndMark::Pointer(pointer, None) => pointer.clone(),
            EndMark::Pointer(pointer, Some(value)) => format!("{pointer}={value}"),
        }
    }
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions { form: None, end: None, tokens: None, order: None, stall_times: STALL_TIMES }
    }
}

impl StreamOptions {
    /// The choices among a protocol's settings; `None`: answers come whole.
    pub fn of(settings: &Settings) -> Option<StreamOptions> {
        let text = |name| settings.text(name).map(str::to_owned);
        settings.is_on(STREAM).then(|| StreamOptions {
            form: settings.text(FORM).and_then(StreamForm::named),
            end: settings.text(END).map(EndMark::parse),
            tokens: text(TOKENS),
            order: text(ORDER),
            stall_times: settings.number(STALL).unwrap_or(STALL_TIMES),
        })
    }

    /// Adds the choices to settings.
    pub(super) fn put(self, settings: Settings) -> Settings {
        let texts = [
            (FORM, self.form.map(|form| form.name().to_owned())),
            (END, self.end.map(|end| end.text())),
            (TOKENS, self.tokens),
            (ORDER, self.order),
        ];
        let chosen = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let settings = chosen.fold(settings, |settings, (name, text)| settings.with(name, text));
        settings.with(STREAM, Value::On).with(STALL, self.stall_times)
    }

    /// The error of a choice that cannot be carried out.
    pub(super) fn bad_pointer(option: &'static str) -> BadOption {
        BadOption::OfDialect { option, expected: "a JSON pointer such as /choices/0/delta/content" }
    }

    /// The JSON pointers among the choices, by the names of their flags.
    pub(super) fn pointers(&self) -> [(&'static str, Option<&str>); 3] {
        let end = match &self.end {
            Some(EndMark::Pointer(pointer, _)) => Some(pointer.as_str()),
            _ => None,
        };
        [(END, end), (TOKENS, self.tokens.as_deref()), (ORDER, self.order.as_deref())]
    }
}
