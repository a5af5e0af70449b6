//! Plain HTTP: every message is a request, and its answer is what comes back.
//!
//! Answers come in the order of their requests (RFC 9112 §9.3.2), so the stamps wait in the client, oldest
//! first, and nothing of a message need be on the wire. A broadcast is different: the request has the server
//! tell others what its body says.

mod facts;
mod parts;
mod requests;
mod streams;

use app::Kind;
use app::template::CompiledTemplate;
use codec::http::request::Request;
use facts::FACTS;
use parts::Parts;
use requests::Requests;

use streams::{StreamRequest, StreamSession};

use crate::absent::{NoClient, NoServer};
use crate::carried::{AppMessage, MessageTemplate};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};
use crate::settings::Settings;

/// Plain HTTP.
pub(crate) struct Http;

impl Protocol for Http {
    type Parts = Parts;
    type Client = NoClient<Parts>;
    type Requests = Requests;
    type Server = NoServer<StreamSession>;
    type Session = StreamSession;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn is_over_requests(_settings: &Settings) -> bool {
        true
    }

    fn complete(options: &mut Options) -> Result<(), BadOption> {
        // Bodies are looked at as they come, and not kept.
        options.limits.body_bytes_max = u64::MAX;
        Ok(())
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    /// The template of a message: an echo has nothing on the wire; a broadcast is the body of its request.
    fn message_template(_parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        let text = match app_message.kind {
            Some(Kind::Broadcast) => CompiledTemplate::from(&app_message.body),
            Some(Kind::Echo) | None => CompiledTemplate::default(),
        };
        Ok(MessageTemplate { text, kind: app_message.kind, ..MessageTemplate::default() })
    }

    fn handle_templates(parts: &mut Parts, templates: &[&MessageTemplate]) {
        let broadcasts =
            templates.iter().filter(|message_template| message_template.kind == Some(Kind::Broadcast));
        parts.messages.extend(broadcasts.map(|message_template| message_template.text.clone()));
    }

    fn plain_answer(
        cfg: &ServerConfig,
        now_ns: u64,
        request: &Request<'_>,
        io: &mut impl Io,
    ) -> Option<PlainAnswer<SessionHead<StreamRequest>>> {
        Some(streams::plain_answer(cfg, now_ns, request, io))
    }

    fn client(_parts: &Parts) -> Side<Self::Client, Requests> {
        Side::Requests(Requests::new())
    }
}
