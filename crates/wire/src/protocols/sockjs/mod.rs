//! SockJS (sockjs-protocol): a session of JSON messages in small frames, over a WebSocket or, where there is
//! none, over plain requests.
//!
//! ```text
//! << o                       the session is open
//! << h                       a heartbeat, not to be answered
//! << a["m1","m2"]            messages
//! << c[3000,"Go away!"]      the session is closed
//! >> ["m1","m2"]             messages
//! ```
//!
//! The messages are the app's. At `/websocket` below a service they go without any frame.
//!
//! The client is in `client` over a WebSocket and in `requests` over requests, the server in `server` and
//! `session`.

mod app;
mod client;
mod facts;
mod frames;
mod lines;
mod parts;
mod plain;
mod receiver;
mod request;
mod requests;
mod server;
mod service;
mod session;
mod transport;

use client::Client;
use codec::http::request::Request as HttpRequest;
use facts::{FACTS, INFO};
use parts::Parts;
use request::Request;
use server::Server;
use session::Session;
use transport::Transport;

use crate::carried::{AppMessage, MessageTemplate};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};
use crate::settings::Settings;

/// SockJS.
pub(crate) struct Sockjs;

impl Protocol for Sockjs {
    type Parts = Parts;
    type Client = Client;
    type Requests = requests::Client;
    type Server = Server;
    type Session = Session;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn is_over_requests(settings: &Settings) -> bool {
        Transport::of(settings).is_ok_and(Transport::is_over_requests)
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    fn message_template(parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        Ok(parts.message_template(app_message))
    }

    fn handle_templates(parts: &mut Parts, templates: &[&MessageTemplate]) {
        parts.handle_templates(templates);
    }

    fn question(settings: &Settings) -> Option<&'static str> {
        settings.is_on(INFO.name).then_some("/info")
    }

    fn write_path(parts: &Parts, now_ns: u64, io: &mut impl Io) {
        parts::write_path(parts, now_ns, io);
    }

    fn client(parts: &Parts) -> Side<Client, requests::Client> {
        match parts.transport.is_over_requests() {
            true => Side::Requests(requests::Client::new(parts)),
            false => Side::Socket(Client::default()),
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
