//! Phoenix channels, with both serializers.
//!
//! ```text
//! v2: [join_ref,ref,topic,event,payload]          v1: {"topic":T,"event":E,"payload":P,"ref":R}
//! >> ["1","1","room:lobby","phx_join",{}]         << ["1","1","room:lobby","phx_reply",{"response":{},"status":"ok"}]
//! >> ["1","2","room:lobby","broadcast",{"body":P}]
//! << [null,null,"room:lobby","broadcast",{"body":P,"type":"broadcast"}], to every member of the topic
//! << ["1","2","room:lobby","phx_reply",{"response":{"body":P,"type":"broadcastResult"},"status":"ok"}], to the sender
//! >> [null,"0","phoenix","heartbeat",{}]          << [null,"0","phoenix","phx_reply",{"response":{},"status":"ok"}]
//! << phx_error and phx_close: the channel has crashed, or is left
//! ```
//!
//! The payload of a push is the app's; here it is the benchmark's, whose payload is P. In v2 a push may be
//! binary:
//!
//! ```text
//! push       00 len(join_ref) len(ref) len(topic) len(event)   the strings, data
//! reply      01 len(join_ref) len(ref) len(topic) len(status)  the strings, data
//! broadcast  02 len(topic) len(event)                          the strings, data
//! ```

mod binary;
mod client;
mod facts;
mod parts;
mod server;

use client::Client;
use facts::{BINARY, FACTS};
use parts::Parts;
use server::Server;

use crate::absent::{NoRequests, NoSession};
use crate::carried::{AppMessage, MessageTemplate, Shape};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};

/// Phoenix channels.
pub(crate) struct Phoenix;

impl Protocol for Phoenix {
    type Parts = Parts;
    type Client = Client;
    type Requests = NoRequests<Parts, Client>;
    type Server = Server;
    type Session = NoSession;

    fn facts(_dialect: DialectId) -> &'static Facts {
        &FACTS
    }

    fn complete(options: &mut Options) -> Result<(), BadOption> {
        parts::complete(options)
    }

    fn parts(options: &Options) -> Result<Parts, BadOption> {
        Parts::new(options)
    }

    fn client(_parts: &Parts) -> Side<Client, Self::Requests> {
        Side::Socket(Client::default())
    }

    fn shape(options: &Options) -> Shape {
        let is_binary = options.of_dialect.settings.is_on(BINARY.name);
        if is_binary { Shape::Bytes } else { Shape::Member("body") }
    }

    fn message_template(parts: &Parts, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
        parts.message_template(app_message)
    }

    fn handle_templates(parts: &mut Parts, templates: &[&MessageTemplate]) {
        parts.handle_templates(templates);
    }

    fn names_kept(parts: &Parts) -> bool {
        parts.names_kept()
    }
}
