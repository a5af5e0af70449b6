//! Socket.IO (socket.io-protocol, version 5) over Engine.IO (engine.io-protocol, version 4), and the versions
//! before both, 4 over 3, which Socket.IO 1 and 2 spoke.
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
//! The arguments are the app's; here they are the benchmark's payload P; as an attachment, a stamp in binary
//! form and the padding.
//!
//! Over plain requests the same packets go joined: [`payload`]. The client is in `client` over a WebSocket
//! and in `requests` over requests, from which `takeover` leads to a WebSocket; the server in `server`,
//! `session` and `candidate`.

mod app;
mod candidate;
mod client;
mod complaint;
mod facts;
mod handshake;
mod heartbeat;
mod output;
mod packed;
mod packet;
mod parts;
mod payload;
mod places;
mod plain;
mod recovery;
mod reply;
mod request;
mod requests;
mod rooms;
mod server;
mod service;
mod session;
mod sid;
mod side;
mod takeover;
mod talk;
mod terms;
mod transport;
mod version;

use client::Client;
use codec::http::request::Request as HttpRequest;
use facts::{BINARY, FACTS};
use parts::Parts;
use request::Request;
use server::Server;
use session::Session;
use transport::Transport;

use crate::carried::{AppMessage, MessageTemplate, Shape};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};
use crate::settings::Settings;

/// Socket.IO.
pub(crate) struct Socketio;

impl Protocol for Socketio {
    type Parts = Parts;
    type Client = Client;
    type Requests = requests::Client;
    type Server = Server;
    type Session = Session;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn is_over_requests(settings: &Settings) -> bool {
        Transport::is_over_requests(settings)
    }

    fn complete(options: &mut Options) -> Result<(), BadOption> {
        parts::complete(options)
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    fn shape(options: &Options) -> Shape {
        if options.of_dialect.settings.is_on(BINARY.name) { Shape::Bytes } else { Shape::Alone }
    }

    fn message_template(parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        parts.message_template(app_message)
    }

    fn handle_templates(parts: &mut Parts, templates: &[&MessageTemplate]) {
        parts.handle_templates(templates);
    }

    fn client(parts: &Parts) -> Side<Client, requests::Client> {
        match parts.transport {
            Transport::WebSocket => Side::Socket(Client::default()),
            Transport::Polling | Transport::Upgrade => Side::Requests(requests::Client::new(parts)),
        }
    }

    fn plain_answer(
        cfg: &ServerConfig,
        now_ns: u64,
        request: &HttpRequest<'_>,
        io: &mut impl Io,
    ) -> Option<PlainAnswer<SessionHead<Request>>> {
        Some(plain::plain_answer(cfg, now_ns, request, io))
    }
}
