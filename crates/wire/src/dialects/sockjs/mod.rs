//! SockJS (sockjs-protocol): a session of JSON messages in small frames, over a WebSocket or, where there is none,
//! over plain requests.
//!
//! ```text
//! << o                       the session is open
//! << h                       a heartbeat, not to be answered
//! << a["m1","m2"]            messages
//! << c[3000,"Go away!"]      the session is closed
//! >> ["m1","m2"]             messages
//! ```
//!
//! The messages are those of the json dialect. At `/websocket` below a service they go without any frame.
//!
//! The client is in `client` over a WebSocket and in `requests` over requests, the server in `server` and `session`.

pub(crate) mod app;
mod client;
mod frames;
mod lines;
mod parts;
mod plain;
mod receiver;
pub(crate) mod request;
pub(crate) mod requests;
mod server;
pub(crate) mod service;
pub(crate) mod session;
mod transport;

pub(crate) use client::Client;
pub(crate) use parts::{parts, write_path};
pub(crate) use plain::plain_answer;
pub(crate) use server::Server;
