//! HAR 1.2 with the messages of WebSockets under the name that Chrome gave them (`_webSocketMessages`) and
//! mitmproxy took over: the parts that are used. Whatever is absent or null is empty.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads what may be null.
fn or_empty<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

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

/// The entries, without the bodies that nothing is looked for in.
#[derive(Default)]
pub(crate) struct Entries(pub(crate) Vec<Entry>);

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
        let mut entries = Vec::new();
        while let Some(mut entry) = seq.next_element::<Entry>()? {
            // Pictures and scripts are most of a file: freed here, they are in memory one at a time.
            if !entry.response.content.is_readable() {
                entry.response.content.text = None;
            }
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

/// A request with its answer, or a WebSocket.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Time at which it began (RFC 3339).
    #[serde(default, deserialize_with = "or_empty")]
    pub started_date_time: String,
    /// The request.
    pub request: Request,
    /// The answer.
    #[serde(default)]
    pub response: Response,
    /// The messages of a WebSocket; `None` for a request.
    #[serde(rename = "_webSocketMessages", default)]
    pub messages: Option<Vec<Frame>>,
}

/// A request.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its URL; of a WebSocket, with `ws` or `wss`.
    pub url: String,
    /// The headers.
    #[serde(default, deserialize_with = "or_empty")]
    pub headers: Vec<Pair>,
    /// Its body.
    pub post_data: Option<PostData>,
}

/// A header or a field of a form.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub struct Pair {
    /// The name.
    pub name: String,
    /// The value.
    #[serde(default, deserialize_with = "or_empty")]
    pub value: String,
}

/// The body of a request.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostData {
    /// The media type.
    #[serde(default, deserialize_with = "or_empty")]
    pub mime_type: String,
    /// The text.
    #[serde(default, deserialize_with = "or_empty")]
    pub text: String,
}

/// An answer.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub struct Response {
    /// The status; 0 if there was no answer.
    #[serde(default, deserialize_with = "or_empty")]
    pub status: i64,
    /// The headers.
    #[serde(default, deserialize_with = "or_empty")]
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
    #[serde(default, deserialize_with = "or_empty")]
    pub mime_type: String,
    /// The text, if it was kept.
    pub text: Option<String>,
    /// The encoding of the text; `None` for text as it is.
    pub encoding: Option<String>,
}

impl Content {
    /// Returns whether values may stand there that are said later.
    fn is_readable(&self) -> bool {
        let kind = self.mime_type.to_ascii_lowercase();
        let is_text = ["html", "json", "text/plain"].iter().any(|readable| kind.contains(readable));
        is_text && self.encoding.is_none()
    }
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
    #[serde(default, deserialize_with = "or_empty")]
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
