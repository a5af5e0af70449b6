//! Plain HTTP: every message is a request, and its answer is what comes back.
//!
//! Answers come in the order of their requests (RFC 9112 §9.3.2), so the stamps wait in the client, oldest first, and nothing
//! of a message need be on the wire. A broadcast is different: the request has the server tell others what its body says.

mod facts;
mod parts;
mod requests;

use facts::FACTS;
use parts::Parts;
use requests::Requests;

use crate::absent::{NoClient, NoServer, NoSession};
use crate::carried::{Letter, Utterance};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::event::Kind;
use crate::facts::Facts;
use crate::options::{BadOption, Options};
use crate::settings::Settings;
use crate::template::Stencil;

/// Plain HTTP.
pub(crate) struct Http;

impl Protocol for Http {
    type Parts = Parts;
    type Client = NoClient<Parts>;
    type Requests = Requests;
    type Server = NoServer;
    type Session = NoSession;

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

    /// Of an echo nothing is on the wire; a broadcast is the body of its request.
    fn letter(_parts: &Parts, utterance: &Utterance<'_>) -> Result<Letter, BadOption> {
        let text = match utterance.kind {
            Some(Kind::Broadcast) => Stencil::from(&utterance.body),
            Some(Kind::Echo) | None => Stencil::default(),
        };
        Ok(Letter { text, kind: utterance.kind, ..Letter::default() })
    }

    fn handle_letters(parts: &mut Parts, letters: &[&Letter]) {
        let broadcasts = letters.iter().filter(|letter| letter.kind == Some(Kind::Broadcast));
        parts.messages = broadcasts.map(|letter| letter.text.clone()).collect();
    }

    fn client(_parts: &Parts) -> Side<Self::Client, Requests> {
        Side::Requests(Requests::new())
    }
}
