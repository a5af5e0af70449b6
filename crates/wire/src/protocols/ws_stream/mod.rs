//! Answers that come in pieces over a WebSocket: a message asks, and the messages behind it are its answer,
//! up to the one that is its end mark.
//!
//! Nothing in the messages says which question they answer, so a connection has one under way, and the others
//! wait in the client.

mod facts;
mod parts;
mod questions;
mod server;

use facts::FACTS;
use parts::Parts;
use questions::Questions;
use server::Server;

use crate::absent::{NoClient, NoSession};
use crate::carried::{AppMessage, MessageTemplate};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};

/// Answers that come in pieces over a WebSocket.
pub(crate) struct WsStream;

impl Protocol for WsStream {
    type Parts = Parts;
    type Client = NoClient<Parts>;
    // As of requests: a client goes on over another connection where the server ends one.
    type Requests = Questions;
    type Server = Server;
    type Session = NoSession;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    /// The template of a message: an echo has nothing on the wire.
    fn message_template(_parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        Ok(MessageTemplate { kind: app_message.kind, ..MessageTemplate::default() })
    }

    fn client(_parts: &Parts) -> Side<Self::Client, Questions> {
        Side::Requests(Questions::new())
    }
}
