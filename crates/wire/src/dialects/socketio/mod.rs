//! Socket.IO (socket.io-protocol, version 5) over Engine.IO (engine.io-protocol, version 4), and the versions before
//! both, 4 over 3, which Socket.IO 1 and 2 spoke.
//!
//! ```text
//! << 0{"sid":S,"upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
//! >> 40 or 40/ns,{"token":T}          connect to a namespace; before version 5, `/` is connected to unasked
//! << 40{"sid":S}, or 44{"message":M}  or be refused
//! >> 42["echo",P]                     << 42["echo",P]
//! >> 42["broadcast",P]                << 42["broadcast",P], to everyone; << 42["broadcastResult",P], to the sender
//! >> 427["echo",P]                    << 437[P]: an acknowledgement instead of an event, because 7 asks for one
//! >> 451-["echo",{"_placeholder":true,"num":0}], and a binary message, which is P
//! << 2  >> 3                          a heartbeat; before version 4 of Engine.IO the client sends 2
//! ```
//!
//! P is the json dialect's payload; as an attachment, a stamp in binary form and the padding.
//!
//! Over plain requests the same packets go joined: [`payload`]. The client is in `client` over a WebSocket and in `requests`
//! over requests, from which `takeover` leads to a WebSocket; the server in `server`, `session` and `candidate`.

mod app;
mod candidate;
mod client;
mod complaint;
mod handshake;
mod heartbeat;
mod packet;
mod parts;
mod payload;
mod plain;
pub(crate) mod request;
pub(crate) mod requests;
mod server;
mod service;
pub(crate) mod session;
mod sid;
mod side;
mod takeover;
mod talk;
mod transport;
mod version;

pub(crate) use client::Client;
pub(crate) use parts::{complete, parts};
pub(crate) use plain::plain_answer;
pub(crate) use server::Server;
