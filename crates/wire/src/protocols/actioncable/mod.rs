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
//! The extended protocol, whose messages have places in streams:
//!
//! ```text
//! << {"type":"welcome","sid":S}
//! << {"identifier":I,"message":{…},"stream_id":N,"epoch":E,"offset":7}
//! >> GET /cable?sid=S, of who comes back
//! << {"type":"welcome","sid":T,"restored":true,"restored_ids":[I]}, or as to anybody, who then subscribes anew
//! >> {"command":"history","identifier":I,"history":{"since":<unix s>,"streams":{N:{"epoch":E,"offset":7}}}}, or subscribe with history
//! << what is behind that, as it came; then {"type":"confirm_history","identifier":I}, or reject_history with what came since the welcome alone
//! >> {"command":"pong"}, where the server wants answers to its pings
//! ```
//!
//! The values of `data` and `message` are the app's; here it is the benchmark's, whose payload is P. What a
//! server does not understand it ignores in silence, so that a client needs a deadline of its own: the
//! connect timeout.

mod client;
mod facts;
mod histories;
mod parts;
mod positions;
mod server;

use client::Client;
use facts::{EXTENDED, FACTS, IS_EXTENDED};
use parts::Parts;
use server::Server;

use crate::absent::{NoRequests, NoSession};
use crate::carried::{AppMessage, MessageTemplate, Shape};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};
use crate::resumption::Resumption;

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

    fn complete(options: &mut Options) -> Result<(), BadOption> {
        if options.of_dialect.settings.is_on(IS_EXTENDED.name) && options.subprotocols.is_empty() {
            options.subprotocols.push(EXTENDED.to_owned());
        }
        Ok(())
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    fn query(resumption: &Resumption) -> Option<String> {
        positions::query(resumption)
    }

    fn client(_parts: &Parts) -> Side<Client, Self::Requests> {
        Side::Socket(Client::default())
    }

    fn shape(_options: &Options) -> Shape {
        Shape::Member("payload")
    }

    fn message_template(parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        parts.message_template(app_message)
    }

    fn names_kept(parts: &Parts) -> bool {
        parts.names_kept()
    }
}
