//! Event streams, `text/event-stream` (HTML standard, §9.2 Server-sent events).

pub mod reader;

pub use reader::{Reader, StreamEvent};
