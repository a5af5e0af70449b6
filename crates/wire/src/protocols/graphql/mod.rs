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
//! A subscription is not confirmed, so a query follows it: whoever has its answer is subscribed, too.

mod client;
mod facts;
mod parts;
mod server;

use client::Client;
use facts::FACTS;
use parts::Parts;
use server::Server;

use crate::absent::{NoRequests, NoSession};
use crate::contract::{Letter, Protocol, Shape, Side, Utterance};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::json;
use crate::options::{BadOption, Options};
use crate::room::Room;

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

    fn letter(parts: &Parts, utterance: &Utterance<'_>) -> Result<Letter, BadOption> {
        parts.letter(utterance)
    }

    fn handle_letters(parts: &mut Parts, letters: &[&Letter]) {
        parts.behind_id = letters.iter().find_map(|letter| letter.text.bytes_behind_id()).unwrap_or(0);
    }

    /// What is broadcast is any one JSON value, for each member to put into a text of its own.
    fn attachments(_room: Room, payload: &[u8]) -> Option<u32> {
        let mut values = 0;
        json::array(&[b"[", payload, b"]"].concat(), |_| values += 1)?;
        (values == 1).then_some(0)
    }

    fn takes_binary() -> bool {
        false
    }
}
