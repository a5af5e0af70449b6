//! HAR 1.2 with the messages of WebSockets under the name that Chrome gave them (`_webSocketMessages`) and mitmproxy took over:
//! the parts that are used. Whatever is absent or null is empty.

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
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) started_date_time: String,
    pub(crate) request: Request,
    #[serde(default)]
    pub(crate) response: Response,
    #[serde(rename = "_webSocketMessages", default)]
    pub(crate) messages: Option<Vec<Frame>>,
}

/// A request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) headers: Vec<Pair>,
    pub(crate) post_data: Option<PostData>,
}

/// A header or a field of a form.
#[derive(Clone, Deserialize)]
pub(crate) struct Pair {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) value: String,
}

/// The body of a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PostData {
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) mime_type: String,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) text: String,
}

/// An answer.
#[derive(Default, Deserialize)]
pub(crate) struct Response {
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) status: i64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) headers: Vec<Pair>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) content: Content,
}

/// The body of an answer.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) mime_type: String,
    pub(crate) text: Option<String>,
    pub(crate) encoding: Option<String>,
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
#[derive(Deserialize)]
pub(crate) struct Frame {
    #[serde(rename = "type")]
    pub(crate) direction: Direction,
    /// Seconds since 1970.
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) time: f64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) opcode: i64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) data: Box<str>,
}

/// The direction of a message, as the browser has it.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    Send,
    Receive,
    /// An error that the browser notes among the messages.
    #[serde(other)]
    Other,
}
