//! Bytes in, events out: HTTP/1.1, HTTP/2, WebSocket and event streams, in both roles.
//!
#![doc = include_str!("../README.md")]

pub mod error;
pub mod event_stream;
pub mod http;
pub mod http2;
pub mod io;
pub mod json;
pub mod limits;
pub mod msgpack;
pub mod stamp;
pub mod varint;
pub mod ws;

pub use error::{Error, ErrorCode, Http2Reason, HttpReason, Reason};
pub use io::{Io, StreamId};
pub use limits::{DeflateOptions, Limits};
pub use stamp::{Found, Stamp};
