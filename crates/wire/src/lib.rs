//! Bytes in, events out: HTTP/1.1, HTTP/2, WebSocket and what is carried over them, in both roles.
//!
//! Nothing here does I/O or reads a clock. A driver hands received bytes to a session ([`Client`] or
//! [`Server`]) through `handle_*`, together with the time, and implements [`Io`] for what the session wants
//! to send. The layers, from the bottom up: [`codec::http`] heads and bodies, [`codec::ws`] frames and
//! messages; a protocol carries (`protocols`), and an [app](app::app_file) speaks (`apps`); [`client`] and
//! [`server`] one connection of each role. [`codec::stamp`] is the mark by which a message is known again.

// First, for its table, of which others are made.
#[macro_use]
mod protocols;

mod absent;
mod apps;
mod asking;
pub mod backoff;
mod carried;
pub mod client;
mod config;
mod contract;
pub mod dialect_id;
pub mod event;
pub mod facts;
pub mod failure;
pub mod flag;
mod gate;
mod history;
pub mod io;
mod link;
mod location;
mod login;
mod multiplexer;
mod opening;
pub mod options;
mod outgoing;
mod pending;
mod publication;
mod registry;
mod request;
mod resumption;
pub mod room;
pub mod server;
mod server_config;
pub mod session;
pub mod settings;
mod token;

pub use asking::{EndMark, HttpOptions, StreamForm, StreamOptions};
pub use backoff::{Backoff, Reconnection};
pub use client::Client;
pub use config::Config;
pub use dialect_id::DialectId;
pub use event::{
    Direction, Event, Lacking, Passage, Progress, PushNumber, Pushed, Rejection, Role, RoomChange, Rule,
    ServerEvent, WrongResponse,
};
pub use facts::{AppRules, Body, Facts, Joins, OwnRoom, TokenHome};
pub use failure::{Coding, Failure, Media, StreamReason};
pub use flag::{Flag, FlagKind};
pub use gate::Gate;
pub use history::{History, Keep, ReplayFault};
pub use io::{AnswerPart, Io, RequestOutcome, Sending};
pub use multiplexer::{Multiplexer, StreamEvent, StreamOwner};
pub use options::{BadOption, Carrier, Options, Payload};
pub use outgoing::Outgoing;
pub use registry::sessions::{Answer, Session, SessionRequest, SessionSignal};
pub use request::{is_sendable, is_stream_method, media_of};
pub use resumption::{Place, Resumption};
pub use room::Room;
pub use server::Server;
pub use server_config::ServerConfig;
pub use settings::{Ack, DialectOptions, Settings, TokenPlace, Value};
