//! What the clients of a run have in common, as it is asked for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use secret::Secret;

use crate::dialect_id::DialectId;
use crate::dialects::options::DialectOptions;
use crate::http::query;
use crate::limits::{DeflateOptions, Limits};

/// What the clients of a run have in common, as the user asked for it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dialect spoken.
    pub dialect: DialectId,
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
    /// What messages carry.
    pub payload: Payload,
    /// What concerns single dialects.
    pub of_dialect: DialectOptions,
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
    /// The payload is too small for its stamp, or above the message limit.
    PayloadSize {
        /// Fewest bytes.
        min: u32,
        /// Most bytes.
        max: u32,
    },
    /// A choice of [`DialectOptions`] that the dialect cannot carry out.
    OfDialect {
        /// The field's name.
        option: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

impl Options {
    /// The path, and the query with its question mark, if there is one.
    pub(crate) fn split_path(&self) -> (&str, &str) {
        let path = self.path.reveal();
        path.split_at(path.find('?').unwrap_or(path.len()))
    }

    /// The field lines that all requests share, besides `Host`.
    pub(crate) fn encode_fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        let mut field = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                fields.extend_from_slice(part.as_bytes());
            }
        };
        if let Some(origin) = &self.origin {
            field("Origin", origin);
        }
        if let Some((user, password)) = &self.basic_auth {
            field("Authorization", &format!("Basic {}", credentials(user, password)));
        }
        for (name, value) in &self.headers {
            field(name, value.reveal());
        }
        fields
    }

    /// All that lets the client in, in every form in which it goes over the wire: a server may quote it.
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
        let DialectOptions { token, auth, join_params, .. } = &self.of_dialect;
        if let Some(token) = token {
            secrets.extend([token.clone(), query::escaped(token.reveal()).into()]);
        }
        for object in auth.iter().chain(join_params) {
            secrets.push(object.clone());
            secrets.extend(strings_of(object.reveal()));
        }
        secrets
    }
}

/// What basic authentication sends (RFC 7617 §2).
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
