//! Bytes in, events out: HTTP/1.1, WebSocket and the dialects, in both roles.
//!
//! Nothing here does I/O or reads a clock. A driver hands received bytes to a session ([`Client`] or
//! [`Server`]) through `handle_*`, together with the time, and implements [`Io`] for what the session wants
//! to send. The layers, from the bottom up: [`http`] heads and bodies, [`ws`] frames and messages,
//! [`dialects`] meaning, [`client`] and [`server`] one connection of each role. [`stamp`] is the mark by which
//! a message is known again.

pub mod client;
pub mod config;
pub mod dialect_id;
pub mod dialects;
pub mod event;
pub mod failure;
pub mod http;
pub mod io;
mod json;
pub mod limits;
mod opening;
pub mod options;
mod prepare;
pub mod room;
pub mod server;
pub mod session;
pub mod stamp;
pub mod ws;

pub use client::Client;
pub use config::{Config, ServerConfig};
pub use dialect_id::DialectId;
pub use dialects::http::options::{HttpOptions, PIPELINING_MAX};
pub use dialects::options::{DialectOptions, ServerDialectOptions, TokenPlace};
pub use dialects::sessions::Session;
pub use event::{Event, Kind, Rejection, Role, ServerEvent, Wrong};
pub use failure::{Failure, HttpReason, Reason};
pub use io::{Fate, Io, Sending, StreamId};
pub use limits::{DeflateOptions, Limits};
pub use options::{BadOption, Options, Payload};
pub use room::Room;
pub use server::Server;
pub use stamp::{Found, Stamp};
