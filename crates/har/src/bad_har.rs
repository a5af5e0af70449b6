//! Reasons why no app file can be made of a recording.

use serde_json::error::Category;

/// First bytes of a file of gzip (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file that no app file can be made of.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHar {
    /// It has no text.
    #[error("it is empty; export the session again")]
    Empty,
    /// It is compressed.
    #[error("it is compressed; gunzip it first")]
    Compressed,
    /// It ends within this line.
    #[error("it is cut off in line {0}; export the session again")]
    CutOff(usize),
    /// It is no JSON from here on.
    #[error(
        "expected a HAR, the JSON that a browser's network panel exports; it is no JSON at line {line}, column {column}"
    )]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The byte of the line, from 1.
        column: usize,
    },
    /// It is JSON, but no HAR from here on.
    #[error(
        "expected a HAR, as a browser's network panel exports it; it is other JSON at line {line}, column {column}"
    )]
    NotHar {
        /// The line, from 1.
        line: usize,
        /// The byte of the line, from 1.
        column: usize,
    },
    /// It has neither a WebSocket nor a stream.
    #[error(
        "it has neither a WebSocket nor an event stream; open the network panel first, then load the page, and export with sensitive data"
    )]
    NoSocket,
    /// Its streams have no events.
    #[error(
        "its event streams have no events: browsers export those of a page's EventSource alone; use throng record URL"
    )]
    NoEvents,
    /// Its WebSockets have no messages.
    #[error(
        "its WebSocket has no messages: Firefox and Safari export none; use throng record URL, or Chrome with the network panel open before the page connects"
    )]
    NoMessages,
    /// Its WebSockets have binary messages alone, so many, which a recording does not keep.
    #[error(
        "its {} binary messages cannot be read here; write the app's file by hand: throng docs app, Binary messages",
        .0
    )]
    OnlyBinary(usize),
}

impl BadHar {
    /// The reason why these bytes, of which this error says where reading ended, are no HAR.
    pub(crate) fn of(bytes: &[u8], error: &serde_json::Error) -> BadHar {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            _ if bytes.trim_ascii().is_empty() => BadHar::Empty,
            _ if bytes.starts_with(&GZIP) => BadHar::Compressed,
            Category::Eof => BadHar::CutOff(line),
            Category::Data => BadHar::NotHar { line, column },
            Category::Syntax | Category::Io => BadHar::NotJson { line, column },
        }
    }
}
