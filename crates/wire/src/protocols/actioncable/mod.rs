//! Action Cable: `actioncable-v1-json`, and AnyCable's `actioncable-v1-ext-json`.
//!
//! ```text
//! << {"type":"welcome"}
//! >> {"command":"subscribe","identifier":"{\"channel\":\"BenchmarkChannel\"}"}
//! << {"identifier":I,"type":"confirm_subscription"}, or reject_subscription; I is the identifier as it was sent
//! >> {"command":"message","identifier":I,"data":"{\"action\":\"broadcast\",\"payload\":P}"}
//! << {"identifier":I,"message":{"action":"broadcast","payload":P}}, to every subscriber
//! << {"identifier":I,"message":{"action":"broadcastResult","payload":P}}, to the sender, before or after its copy
//! << {"type":"ping","message":<unix s>} now and then; {"type":"disconnect","reason":R,"reconnect":B} at the end
//! ```
//!
//! What goes under `data` and `message` is the app's; here it is the benchmark's, whose payload is P. What a server does not understand it ignores in silence,
//! so that a client needs a deadline of its own: the connect timeout.

mod client;
mod facts;
mod parts;
mod server;

use client::Client;
use facts::FACTS;
use parts::Parts;
use server::Server;

use crate::absent::{NoRequests, NoSession};
use crate::carried::{Letter, Shape, Utterance};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};

/// Action Cable.
pub(crate) struct Actioncable;

impl Protocol for Actioncable {
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

    fn names_kept(parts: &Parts) -> bool {
        parts.names_kept()
    }
}
