//! WebSocket: RFC 6455 and permessage-deflate (RFC 7692), both roles.
//!
//! A [`Receiver`] turns bytes into whole messages, a [`Sender`] turns messages into frames; they are apart so
//! that a message still borrowed from the one can be answered through the other. Peer errors are a
//! [`Error`](crate::Error); misuse by ourselves is an assertion.

pub mod close;
pub mod deflate;
mod end;
pub mod extension;
pub mod frame;
pub mod mask;
mod prepared;
pub mod reader;
pub mod receiver;
pub mod sender;
pub mod upgrade;
pub mod utf8;

pub use end::End;
pub use frame::MessageType;
pub use receiver::{Incoming, Message, Receiver};
pub use sender::Sender;
