//! Plain HTTP: every message is a request, and its answer is what comes back.
//!
//! Nothing of a message is on the wire: answers come in the order of their requests (RFC 9112 §9.3.2), so the stamps
//! wait in the client, oldest first.

mod facts;
mod options;
mod parts;
mod requests;

pub use options::HttpOptions;

use facts::FACTS;
use parts::Parts;
use requests::Requests;

use crate::absent::{NoClient, NoServer, NoSession};
use crate::carried::{Letter, Utterance};
use crate::contract::{Protocol, Side};
use crate::dialect_id::DialectId;
use crate::facts::Facts;
use crate::options::{BadOption, Options};
use crate::settings::Settings;

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

    /// Nothing of a message is on the wire.
    fn letter(_parts: &Parts, utterance: &Utterance<'_>) -> Result<Letter, BadOption> {
        Ok(Letter { kind: utterance.kind, ..Letter::default() })
    }

    fn client(_parts: &Parts) -> Side<Self::Client, Requests> {
        Side::Requests(Requests::new())
    }
}
