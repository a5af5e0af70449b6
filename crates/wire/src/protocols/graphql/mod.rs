//! GraphQL over WebSocket, as the npm package graphql-ws has it: `graphql-transport-ws`.
//!
//! ```text
//! >> {"type":"connection_init"}, with a payload if there is one
//! << {"type":"connection_ack"}
//! >> {"id":"1","type":"subscribe","payload":{"query":"subscription{messages}"}}
//! >> {"id":"0","type":"subscribe","payload":{"query":"{__typename}"}}
//! << {"id":"0","type":"next","payload":{"data":{"__typename":"Query"}}}, and {"id":"0","type":"complete"}
//! >> {"id":"2","type":"subscribe","payload":{"query":"mutation($payload:JSON!){broadcast(payload:$payload)}","variables":{"payload":P}}}
//! << {"id":"1","type":"next","payload":{"data":{"messages":P}}}, to every subscriber under the id of its own
//! << {"id":"2","type":"next","payload":{"data":{"broadcast":P}}}, and {"id":"2","type":"complete"}, to the sender
//! ```
//!
//! A subscription is not confirmed, so a query follows it: a client that has its answer is subscribed, too.

mod client;
mod document;
mod facts;
mod message;
mod parts;
mod server;

use app::template::{Piece, Template};
use client::Client;
use codec::json;
use facts::FACTS;
use parts::{Parts, operation};
use server::Server;

use crate::absent::{NoRequests, NoSession};
use crate::carried::{AppMessage, MessageTemplate, Shape};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};

/// GraphQL over WebSocket.
pub(crate) struct Graphql;

impl Protocol for Graphql {
    type Parts = Parts;
    type Client = Client;
    type Requests = NoRequests<Parts, Client>;
    type Server = Server;
    type Session = NoSession;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    fn client(_parts: &Parts) -> Side<Client, Self::Requests> {
        Side::Socket(Client::default())
    }

    fn shape(_options: &Options) -> Shape {
        Shape::Member("payload")
    }

    /// An event's name is a document; the benchmark's is the name of a mutation's field.
    fn message_template(_parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        let &AppMessage { event, ref body, kind, .. } = app_message;
        json::object(&body.sample(), |_, _| {}).ok_or(BadOption::OfDialect {
            option: "app",
            expected: "messages that are JSON objects, as GraphQL's variables are",
        })?;
        let id = Template::default().hole(Piece::Number);
        let mutation = format!("mutation($payload:JSON!){{{event}(payload:$payload)}}");
        let document = if event.contains('{') { event } else { &mutation };
        let text = &operation(&id, document, body);
        Ok(MessageTemplate { text: text.into(), kind, is_numbered: true, ..MessageTemplate::default() })
    }

    fn handle_templates(parts: &mut Parts, templates: &[&MessageTemplate]) {
        parts.behind_id = templates
            .iter()
            .find_map(|message_template| message_template.text.bytes_behind_id())
            .unwrap_or(0);
    }
}
