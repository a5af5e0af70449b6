//! The application protocols spoken over a WebSocket: one file or folder each, both roles, and one
//! line in the registry.
//!
//! A dialect's file has a `Client` and a `Server`: the state of one connection (nothing at all for the simple
//! ones) with the verbs of `ClientDialect` and `ServerDialect`, and its `parts`. From the bottom up: what can be chosen
//! and is encoded once ([`options`], `parts`), what a dialect has to do (`contract`, `over_http`), the dialects, and
//! above them what holds any one of them (`registry`, `requesting`, `sessions`).

mod actioncable;
mod binary;
pub(crate) mod contract;
pub mod custom;
mod family;
pub(crate) mod http;
mod json;
mod json_reply;
mod json_words;
pub mod options;
pub(crate) mod over_http;
pub(crate) mod parts;
mod phoenix;
mod raw;
pub(crate) mod registry;
mod relayed;
pub(crate) mod requesting;
pub(crate) mod sessions;
pub(crate) mod socketio;
pub(crate) mod sockjs;
mod token;
