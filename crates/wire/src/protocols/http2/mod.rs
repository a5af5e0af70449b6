//! HTTP/2: requests as of plain HTTP, each on a stream of its own, many of which share a connection.
//!
//! Answers come in any order (RFC 9113 §5), so the stamps wait by their streams.

mod facts;
mod parts;
mod requests;
mod streams;

use facts::FACTS;
use parts::Parts;
use requests::Requests;

use crate::absent::{NoClient, NoServer, NoSession};
use crate::carried::{AppMessage, MessageTemplate};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};
use crate::settings::Settings;

/// HTTP/2.
pub(crate) struct Http2;

impl Protocol for Http2 {
    type Parts = Parts;
    type Client = NoClient<Parts>;
    type Requests = Requests;
    type Server = NoServer<NoSession>;
    type Session = NoSession;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn is_over_requests(_settings: &Settings) -> bool {
        true
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    /// The template of a message: an echo has nothing on the wire.
    fn message_template(_parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        Ok(MessageTemplate { kind: app_message.kind, ..MessageTemplate::default() })
    }

    fn client(_parts: &Parts) -> Side<Self::Client, Requests> {
        Side::Requests(Requests::new())
    }
}
