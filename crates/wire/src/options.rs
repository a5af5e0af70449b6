//! Options of all clients of a run.

use std::sync::Arc;

use app::people::People;
use app::template::{BadTemplate, Quoting, Template};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::http::query;
use codec::{DeflateOptions, Limits, json};
use secret::Secret;
use serde::{Deserialize, Serialize};

use crate::dialect_id::DialectId;
use crate::flag::Flag;
use crate::settings::DialectOptions;

/// Options of all clients of a run, as the user asked for them. In path, headers, subprotocols and what a
/// client joins with, people's names in braces stand for what is each client's own.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dialect spoken.
    pub dialect: DialectId,
    /// The carrier of its WebSocket or event stream.
    pub carrier: Carrier,
    /// True if the connections are over TLS.
    pub is_secure: bool,
    /// The `Host` field: host name, and port unless it is the scheme's own.
    pub host: String,
    /// Path and query, in origin form. In the query there may be a token.
    pub path: Secret,
    /// Header fields to add to the request.
    pub headers: Vec<(String, Secret)>,
    /// Subprotocols to offer, in order; empty: the dialect's own.
    pub subprotocols: Vec<String>,
    /// The `Origin` field.
    pub origin: Option<String>,
    /// User and password of basic authentication (RFC 7617).
    pub basic_auth: Option<(String, Secret)>,
    /// Offer permessage-deflate.
    pub deflate: Option<DeflateOptions>,
    /// Bounds on what the server may send.
    pub limits: Limits,
    /// The payload of messages.
    pub payload: Payload,
    /// Options of the dialect.
    pub of_dialect: DialectOptions,
    /// The clients' identities.
    pub people: Arc<People>,
}

/// Carriers of a WebSocket or an event stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Carrier {
    /// A connection that HTTP/1.1 has upgraded (RFC 6455).
    #[default]
    Http1,
    /// A stream of HTTP/2, one on each connection: of a WebSocket by RFC 8441.
    Http2,
}

/// The size and form of the messages sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Payload {
    /// Bytes: of the whole message in `raw` (33 when `None`), of the padding in the others (0 when `None`).
    pub padding: Option<u32>,
    /// `raw` only: send text, not binary.
    pub text: bool,
}

/// An option that cannot be put on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadOption {
    /// The host is empty or holds bytes a `Host` field may not.
    Host,
    /// The path does not start with `/` or holds bytes a request target may not.
    Path,
    /// A header name or value is not sendable, or is one the handshake sets itself.
    Header,
    /// A subprotocol is not a token, or is there twice.
    Subprotocol,
    /// A placeholder of people's that is not there.
    Placeholder,
    /// A row of people's data cannot stand where it is asked for.
    Row {
        /// Its number, from 1.
        row: u32,
        /// The expected form of its cells.
        expected: &'static str,
    },
    /// The payload is too small for its stamp, or above the message limit.
    PayloadSize {
        /// Fewest bytes.
        min: u32,
        /// Most bytes.
        max: u32,
    },
    /// A choice that the dialect cannot carry out.
    OfDialect {
        /// The name of the flag with which it was made.
        option: &'static str,
        /// The expected form.
        expected: &'static str,
    },
}

impl BadOption {
    /// The error of a flag's value that cannot be carried out.
    pub(crate) fn of(flag: &Flag, expected: &'static str) -> BadOption {
        BadOption::OfDialect { option: flag.name, expected }
    }
}

impl Options {
    /// The scheme of requests.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }

    /// The path, and the query with its question mark, if there is one.
    pub(crate) fn target(&self) -> Result<[Template; 2], BadOption> {
        let path = self.path.reveal();
        let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        let template = |text| Template::target(text, &self.people.names).map_err(unknown);
        Ok([template(path)?, template(query)?])
    }

    /// A text that goes into a request or a join, in which people's names stand for what is each client's
    /// own.
    pub(crate) fn template(&self, text: &str, quoting: Quoting) -> Result<Template, BadOption> {
        Template::opening(text, &self.people.names, quoting).map_err(unknown)
    }

    /// A template of the value of this flag, which has to be a JSON object.
    pub(crate) fn object(&self, flag: &Flag, text: &str) -> Result<Template, BadOption> {
        let object = self.template(text.trim(), Quoting::JSON)?;
        json::object(&object.sample(), |_, _| {}).ok_or(BadOption::of(flag, "a JSON object"))?;
        Ok(object)
    }

    /// The field lines that all requests of the clients share, besides `Host`, with the cookies of each.
    pub(crate) fn encode_fields_with_cookies(&self) -> Result<Template, BadOption> {
        Ok(self.encode_shared().then(&Template::of_fields_with_cookies(&self.own_fields()?)))
    }

    /// The field lines that all requests share, besides `Host`, where no answer sets cookies: these have
    /// cookies only where the clients log in.
    pub(crate) fn encode_fields(&self) -> Result<Template, BadOption> {
        if self.of_dialect.app.as_ref().is_some_and(|app| !app.login.is_empty()) {
            return self.encode_fields_with_cookies();
        }
        Ok(self.encode_shared().then(&Template::of_fields(&self.own_fields()?)))
    }

    /// Field lines that all requests share, before the clients' own.
    pub(crate) fn encode_shared(&self) -> Template {
        Template::of_fields(&self.shared_fields())
    }

    /// All fields, name by name.
    pub(crate) fn fields(&self) -> Result<Vec<(String, Template)>, BadOption> {
        Ok([self.shared_fields(), self.own_fields()?].concat())
    }

    fn own_fields(&self) -> Result<Vec<(String, Template)>, BadOption> {
        let template = |text: &Secret| self.template(text.reveal(), Quoting::Plain);
        self.headers.iter().map(|(name, value)| Ok((name.clone(), template(value)?))).collect()
    }

    fn shared_fields(&self) -> Vec<(String, Template)> {
        let origin = self.origin.as_ref().map(|origin| ("Origin".to_owned(), Template::literal(origin)));
        let authorization = self.basic_auth.as_ref().map(|(user, password)| {
            let basic = format!("Basic {}", credentials(user, password));
            ("Authorization".to_owned(), Template::literal(basic))
        });
        origin.into_iter().chain(authorization).collect()
    }

    /// All credentials of the client, in every form in which they are sent: a server may quote them.
    pub fn secrets(&self) -> Vec<Secret> {
        let mut secrets = secret::in_place(self.path.reveal());
        if let Some((user, password)) = &self.basic_auth {
            secrets.extend([password.clone(), credentials(user, password).into()]);
        }
        for (_, value) in self.headers.iter().filter(|(name, _)| secret::is_secret(name)) {
            // The scheme before it, as in `Bearer`, says nothing.
            let credentials = value.reveal().rsplit(' ').next().unwrap_or_default();
            secrets.extend([value.clone(), credentials.into()]);
        }
        let DialectOptions { token, settings, .. } = &self.of_dialect;
        if let Some(token) = token {
            secrets.extend([token.clone(), query::escaped(token.reveal()).into()]);
        }
        for object in settings.secrets() {
            secrets.push(object.clone());
            secrets.extend(strings_of(object.reveal()));
        }
        secrets
    }
}

fn unknown(_: BadTemplate) -> BadOption {
    BadOption::Placeholder
}

/// The credentials of basic authentication (RFC 7617 §2).
fn credentials(user: &str, password: &Secret) -> String {
    STANDARD.encode(format!("{user}:{}", password.reveal()))
}

/// The values of a JSON object that are strings, as they stand there: between quotes, and no colon behind.
fn strings_of(object: &str) -> impl Iterator<Item = Secret> {
    let pieces: Vec<&str> = object.split('"').collect();
    let is_value =
        |at: usize| at % 2 == 1 && pieces.get(at + 1).is_some_and(|next| !next.trim_start().starts_with(':'));
    let values: Vec<Secret> =
        (0..pieces.len()).filter(|&at| is_value(at)).map(|at| pieces[at].into()).collect();
    values.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_among_names_and_numbers() {
        let found: Vec<Secret> = strings_of(r#"{"user":1, "token" : "abc","more":{"key":"d e"}}"#).collect();
        assert_eq!(found, ["abc", "d e"].map(Secret::from));
    }
}
