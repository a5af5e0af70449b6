//! Server-sent events (HTML standard, §9.2): a client asks once, and hears events for as long as the answer
//! lasts.
//!
//! ```text
//! >> GET /events?room=1, Accept: text/event-stream; of a client that comes back, Last-Event-ID: 7 besides
//! << 200, Content-Type: text/event-stream
//! << id: 8
//! << data: P
//! <<
//! << : a comment, to keep the connection
//! ```
//!
//! The request may be a POST with a body, as of fetch-event-source. Clients only receive. What they hear is
//! published by requests to the application ([`publication`](crate::publication)).

mod client;
mod facts;
mod parts;
mod server;
mod session;

use app::Kind;
use client::Client;
use codec::http::request::Request as HttpRequest;
use facts::FACTS;
use parts::Parts;
use session::{Request, Session};

use crate::absent::{NoClient, NoServer};
use crate::carried::{AppMessage, MessageTemplate, Shape};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::event::OnServerEvent;
use crate::facts::Facts;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::publication::Publication;
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};
use crate::settings::Settings;

/// Server-sent events.
pub(crate) struct Sse;

impl Protocol for Sse {
    type Parts = Parts;
    type Client = NoClient<Parts>;
    type Requests = Client;
    type Server = NoServer<Session>;
    type Session = Session;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn is_over_requests(_settings: &Settings) -> bool {
        true
    }

    /// A stream has no end by itself: its lines and events are bounded, and its bytes are not.
    fn complete(options: &mut Options) -> Result<(), BadOption> {
        options.limits.body_bytes_max = u64::MAX;
        Ok(())
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    /// The payload is all that an event has in its data, whatever server made it of the request to publish.
    fn shape(_options: &Options) -> Shape {
        Shape::Alone
    }

    /// Clients send nothing: a broadcast's template is for its publishers.
    fn message_template(parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        let &AppMessage { ref body, kind, .. } = app_message;
        if parts.has_app && kind != Some(Kind::Broadcast) {
            let expected = "nothing but broadcasts: clients of an event stream only receive";
            return Err(BadOption::OfDialect { option: "app", expected });
        }
        Ok(MessageTemplate { text: body.into(), kind, ..MessageTemplate::default() })
    }

    fn client(_parts: &Parts) -> Side<Self::Client, Client> {
        Side::Requests(Client::new())
    }

    fn plain_answer(
        cfg: &ServerConfig,
        now_ns: u64,
        request: &HttpRequest<'_>,
        io: &mut impl Io,
    ) -> Option<PlainAnswer<SessionHead<Request>>> {
        Some(server::plain_answer(cfg, now_ns, request, io))
    }

    fn publish(cfg: &ServerConfig, now_ns: u64, publication: &Publication<'_>, on: &mut impl OnServerEvent) {
        server::publish(cfg, now_ns, publication, on);
    }
}
