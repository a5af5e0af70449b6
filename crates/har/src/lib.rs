//! App files from browsers' recordings: reads a HAR, takes the app's messages out of the protocol that
//! carries them, and writes what a person would have written.
//!
//! [`Recording::read`] reads; [`draft`] finds out what the messages are for (`talk`), where the values in
//! them come from (`trace`), and writes the file. Nothing here does I/O: a HAR is somebody's whole session,
//! and its secrets leave this crate only as cells of [`Draft::users`], or in a HAR that [`write()`] makes of
//! what was recorded.

mod bad_har;
mod carried;
mod credentials;
mod draft;
mod exchange;
mod file;
mod hiding;
mod json;
mod kind;
mod login;
mod naming;
mod publish;
mod recording;
mod rooms;
mod stream;
mod summary;
mod talk;
#[cfg(test)]
mod tests;
mod toml_text;
mod trace;
mod type_member;
mod writer;
mod writing;

pub use bad_har::BadHar;
pub use draft::{Draft, draft};
pub use file::{
    Content, Direction, Entry, Frame, Pair, PostData, Request, Response, StreamEvent, events_in, is_page,
    is_streamed,
};
pub use recording::Recording;
pub use summary::Summary;
pub use writer::write;
