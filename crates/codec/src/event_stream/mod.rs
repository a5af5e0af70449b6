//! Event streams, `text/event-stream` (HTML standard, §9.2 Server-sent events): a reader for clients, a
//! writer for servers.

pub mod reader;
mod writer;

pub use reader::{Reader, StreamEvent};
pub use writer::write_event;

/// The media type (HTML §9.2.5).
pub const MEDIA_TYPE: &str = "text/event-stream";
