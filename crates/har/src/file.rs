//! HAR 1.2 with the messages of WebSockets and event streams under the names that Chrome gave them
//! (`_webSocketMessages`, `_eventSourceMessages`): the parts that are used. Whatever is absent or null is empty.

mod events;
mod text;

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use url::form_urlencoded;

pub(crate) use events::EVENTS;
pub use events::{StreamEvent, events_in};
pub(crate) use text::TEXT_BYTES_MAX;
use text::{boxed_text, is_cut, or_empty, some_text, text};

/// Media types of answers that named none: the server's, and the one that Chrome writes in its place.
const UNTYPED: [&str; 2] = ["", "x-unknown"];

/// The whole file.
#[derive(Deserialize)]
pub(crate) struct File {
    pub(crate) log: Log,
}

/// The log.
#[derive(Deserialize)]
pub(crate) struct Log {
    #[serde(default)]
    pub(crate) entries: Entries,
}

/// Requests that are read, further WebSockets, and messages of all of these: a browser's session has a tenth of
/// it. A value in memory is larger than the shortest that a file may hold: a file of many would fill the memory.
pub(crate) const REQUESTS_MAX: usize = 20_000;
const SOCKETS_MAX: usize = 1_000;
pub(crate) const FRAMES_MAX: usize = 50_000;
/// Headers of a request or an answer; servers take a hundred. And of all requests: each is five times as large
/// as the shortest is in a file.
const HEADERS_MAX: usize = 128;
pub(crate) const ALL_HEADERS_MAX: usize = 200_000;
/// The encoding of bodies that are no text, and of all bodies with some exporters.
const BASE64: &str = "base64";
/// Parts of media types of answers that come event by event: lines of JSON have several.
const STREAMED: [&str; 3] = [EVENTS, "ndjson", "jsonl"];
const FORM: &str = "application/x-www-form-urlencoded";

/// The entries, without the bodies that nothing is looked for in.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) kept: Vec<Entry>,
    /// True if requests, headers or messages found no room.
    pub(crate) is_cut: bool,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::default();
        let (mut requests, mut sockets, mut room, mut headers) = (0, 0, FRAMES_MAX, 0);
        while let Some(entry) = seq.next_element::<Option<Entry>>()? {
            // Exporters write null, or no URL, for a request that never was.
            let Some(mut entry) = entry.filter(|entry| entry.request.url.contains("://")) else { continue };
            let (count, max) =
                if entry.is_socket() { (&mut sockets, SOCKETS_MAX) } else { (&mut requests, REQUESTS_MAX) };
            if *count >= max {
                entries.is_cut = true;
                continue;
            }
            *count += 1;
            // Pictures and scripts are most of a file: freed here, they are in memory one at a time.
            entry.response.content.decode();
            if !entry.response.content.is_readable() {
                entry.response.content.text = None;
            }
            // A client connects with those of its WebSocket.
            if !entry.is_socket() {
                if entry.response.content.is_asset() && !entry.sets_cookie() {
                    (entry.request.headers, entry.response.headers) = (Vec::new(), Vec::new());
                }
                let own = entry.request.headers.len() + entry.response.headers.len();
                if headers + own > ALL_HEADERS_MAX {
                    (entry.request.headers, entry.response.headers) = (Vec::new(), Vec::new());
                    entries.is_cut = true;
                } else {
                    headers += own;
                }
            }
            entries.is_cut |= fit(&mut entry.messages, |message| &message.data, &mut room);
            entries.is_cut |= fit(&mut entry.events, |event| &event.data, &mut room);
            entries.kept.push(entry);
        }
        Ok(entries)
    }
}

/// Leaves out messages that were cut, as half a message would be another, and those that find no room; returns
/// whether there were any.
fn fit<T>(messages: &mut Option<Vec<T>>, data: impl Fn(&T) -> &str, room: &mut usize) -> bool {
    let Some(messages) = messages else { return false };
    let count = messages.len();
    messages.retain(|message| !is_cut(data(message)));
    messages.truncate(*room);
    messages.shrink_to_fit();
    *room -= messages.len();
    messages.len() < count
}

/// Reads a list of at most this many values; null is none.
struct Bounded<T>(usize, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        while values.len() < self.0 {
            let Some(value) = seq.next_element()? else { return Ok(values) };
            values.push(value);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(values)
    }
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Pair>, D::Error> {
    let mut headers = deserializer.deserialize_any(Bounded(HEADERS_MAX, PhantomData))?;
    headers.shrink_to_fit();
    Ok(headers)
}

/// Messages, one more than are kept, so that it is seen that some are left out.
struct Messages<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Messages<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bounded(FRAMES_MAX + 1, PhantomData)).map(Messages)
    }
}

/// Reads the messages of a WebSocket or a stream; other requests have none, or null in their place.
fn messages<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let messages = Option::<Messages<T>>::deserialize(deserializer)?;
    Ok(messages.map(|messages| messages.0))
}

/// A request with its answer, or a WebSocket.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Time at which it began (RFC 3339).
    #[serde(default, deserialize_with = "text")]
    pub started_date_time: String,
    /// The request.
    #[serde(default, deserialize_with = "or_empty")]
    pub request: Request,
    /// The answer.
    #[serde(default, deserialize_with = "or_empty")]
    pub response: Response,
    /// The messages of a WebSocket; `None` for a request.
    #[serde(rename = "_webSocketMessages", default, deserialize_with = "messages")]
    pub messages: Option<Vec<Frame>>,
    /// The events of an event stream, with their times; `None`: they stand in the answer's text, if anywhere.
    #[serde(rename = "_eventSourceMessages", default, deserialize_with = "messages")]
    pub events: Option<Vec<StreamEvent>>,
}

/// A request.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Its method.
    #[serde(default, deserialize_with = "text")]
    pub method: String,
    /// Its URL; of a WebSocket, with `ws` or `wss`.
    #[serde(default, deserialize_with = "text")]
    pub url: String,
    /// The headers.
    #[serde(default, deserialize_with = "headers")]
    pub headers: Vec<Pair>,
    /// Its body.
    pub post_data: Option<PostData>,
}

/// A header or a field of a form.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub struct Pair {
    /// The name.
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    /// The value.
    #[serde(default, deserialize_with = "text")]
    pub value: String,
}

/// The body of a request.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(from = "WrittenBody")]
pub struct PostData {
    /// The media type.
    pub mime_type: String,
    /// The text.
    pub text: String,
}

/// A body as it is written: a text, or the fields of a form (HAR 1.2, `postData`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenBody {
    #[serde(default, deserialize_with = "text")]
    mime_type: String,
    #[serde(default, deserialize_with = "text")]
    text: String,
    #[serde(default, deserialize_with = "headers")]
    params: Vec<Pair>,
}

impl From<WrittenBody> for PostData {
    fn from(written: WrittenBody) -> PostData {
        let WrittenBody { mut mime_type, mut text, params } = written;
        if text.is_empty() && !params.is_empty() {
            let fields = params.iter().map(|field| (&field.name, &field.value));
            text = form_urlencoded::Serializer::new(text).extend_pairs(fields).finish();
            if mime_type.is_empty() {
                mime_type = FORM.to_owned();
            }
        }
        PostData { mime_type, text }
    }
}

/// An answer.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub struct Response {
    /// The status; 0 if there was no answer.
    #[serde(default, deserialize_with = "or_empty")]
    pub status: i64,
    /// The headers.
    #[serde(default, deserialize_with = "headers")]
    pub headers: Vec<Pair>,
    /// The body.
    #[serde(default, deserialize_with = "or_empty")]
    pub content: Content,
}

/// The body of an answer.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The media type.
    #[serde(default, deserialize_with = "text")]
    pub mime_type: String,
    /// The text, if it was kept.
    #[serde(default, deserialize_with = "some_text")]
    pub text: Option<String>,
    /// The encoding of the text; `None` for text as it is.
    #[serde(default, deserialize_with = "some_text")]
    pub encoding: Option<String>,
}

impl Content {
    /// Takes a text out of Base64.
    fn decode(&mut self) {
        let is_encoded = self.encoding.as_deref() == Some(BASE64) && (self.is_untyped() || self.is_text());
        let Some(text) = self.text.as_ref().filter(|_| is_encoded) else { return };
        if let Ok(bytes) = STANDARD.decode(text) {
            self.text = Some(String::from_utf8_lossy(&bytes).into_owned());
            self.encoding = None;
        }
    }

    /// Returns whether values may stand there that are said later.
    fn is_readable(&self) -> bool {
        let is_page = || self.text.as_ref().is_some_and(|text| is_page(text.as_bytes()) == Some(true));
        self.encoding.is_none() && (self.is_text() || self.is_untyped() && is_page())
    }

    fn is_text(&self) -> bool {
        let kind = self.mime_type.to_ascii_lowercase();
        ["html", "json", "text/plain", EVENTS].iter().any(|readable| kind.contains(readable))
    }

    /// Returns whether it is a part of a page's looks, of which there are hundreds: no value is looked for with it.
    fn is_asset(&self) -> bool {
        let kind = self.mime_type.to_ascii_lowercase();
        ["image/", "font/", "audio/", "video/", "css", "javascript"].iter().any(|part| kind.contains(part))
    }

    fn is_untyped(&self) -> bool {
        UNTYPED.iter().any(|kind| self.mime_type.eq_ignore_ascii_case(kind))
    }
}

/// Returns whether answers of this media type come event by event: as an event stream, or as lines of JSON.
pub fn is_streamed(mime_type: &str) -> bool {
    let kind = mime_type.to_ascii_lowercase();
    STREAMED.iter().any(|streamed| kind.contains(streamed))
}

/// Returns whether a body without a type is a page or JSON by its first letter, as browsers see it (WHATWG MIME
/// Sniffing, §7.1); `None`: there is white space alone so far.
pub fn is_page(body: &[u8]) -> Option<bool> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.trim_ascii_start().first().map(|first| b"<{[".contains(first))
}

/// One message of a WebSocket.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub struct Frame {
    /// The direction.
    #[serde(rename = "type")]
    pub direction: Direction,
    /// Seconds since 1970.
    #[serde(default, deserialize_with = "or_empty")]
    pub time: f64,
    /// The kind of its frame (RFC 6455 §5.2).
    #[serde(default, deserialize_with = "or_empty")]
    pub opcode: i64,
    /// The text.
    #[serde(default, deserialize_with = "boxed_text")]
    pub data: Box<str>,
}

/// The direction of a message, as the browser has it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Sent by the client.
    Send,
    /// Received by the client.
    Receive,
    /// An error that the browser notes among the messages.
    #[default]
    #[serde(other)]
    Other,
}
