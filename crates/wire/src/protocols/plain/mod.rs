//! A WebSocket and nothing around its messages: what an app says is all there is.

mod client;
mod facts;
mod parts;
mod server;

use client::Client;
use parts::Parts;
use server::Server;

use crate::absent::{NoRequests, NoSession};
use crate::carried::{AppMessage, MessageTemplate};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};

/// A plain WebSocket.
pub(crate) struct Plain;

impl Protocol for Plain {
    type Parts = Parts;
    type Client = Client;
    type Requests = NoRequests<Parts, Client>;
    type Server = Server;
    type Session = NoSession;

    fn facts(dialect: DialectId) -> &'static Facts {
        facts::of(dialect)
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Ok(Parts::new(options.of_dialect.app.as_ref().map(|app| &app.frames)))
    }

    fn client(_parts: &Parts) -> Side<Client, Self::Requests> {
        Side::Socket(Client)
    }

    fn message_template(_parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        let &AppMessage { ref body, message_type, is_packed, kind, .. } = app_message;
        Ok(MessageTemplate { text: body.into(), message_type, is_packed, kind, ..MessageTemplate::default() })
    }
}
