//! The specification of clients: endpoints, and how they speak there.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use secret::Secret;
use serde::{Deserialize, Serialize};

use crate::sizes;

/// One address of the server under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Endpoint {
    /// IPv4 or IPv6.
    Inet(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

/// A server that clients log in at before they connect to their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginServer {
    /// Its endpoints; clients take them in turn.
    pub endpoints: Vec<Endpoint>,
    /// Present for `https://`.
    pub tls: Option<TlsPlan>,
}

/// The checks of a server's certificate, and the clients' own certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsPlan {
    /// The name that the certificate must carry.
    pub server_name: String,
    /// Authorities to trust instead of the system's, as the text of a PEM file: an agent opens no file that a
    /// plan names.
    pub authorities: Option<String>,
    /// True if any certificate is accepted: other names, authorities and times, too.
    pub insecure: bool,
    /// The clients' certificate, for a server that asks for one.
    pub identity: Option<TlsIdentity>,
    /// True if clients that come back go on with their TLS sessions.
    pub resumes: bool,
}

/// A certificate of clients and its key, as the text of PEM files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsIdentity {
    /// The certificate, and those between it and its authority.
    pub chain: String,
    /// Its private key (PKCS #8, PKCS #1 or SEC 1).
    pub key: Secret,
}

/// A client's protocol: the HTTP request that opens its session, and its dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSpec {
    /// The protocol, with the benchmark's messages or an app's.
    pub dialect: wire::DialectId,
    /// The carrier of the client's WebSocket.
    pub carrier: wire::Carrier,
    /// True if the client's connections are over TLS.
    pub is_secure: bool,
    /// The value of the field Host: name or address, and the port.
    pub host: String,
    /// Path and query. In the query there may be a token.
    pub path: Secret,
    /// The value of the field Origin; `None`: the request has none.
    pub origin: Option<String>,
    /// WebSocket subprotocols to offer, the preferred one first.
    pub subprotocols: Vec<String>,
    /// Names and values of further fields of the request, in order.
    pub headers: Vec<(String, Secret)>,
    /// User and password of the URL, sent as basic authorization.
    pub userinfo: Option<(String, Secret)>,
    /// The options of permessage-deflate to offer, if it is offered.
    pub deflate: Option<codec::DeflateOptions>,
    /// Bytes of padding in each message (raw: bytes of the whole message); absent: the dialect's default.
    pub payload_bytes: Option<u32>,
    /// The largest message's bytes: sizes from `payload_bytes` to this one are equally frequent.
    pub payload_bytes_max: Option<u32>,
    /// JSON values of which each message carries one; empty: padding.
    pub rows: Arc<Vec<String>>,
    /// True if raw messages are text, not binary.
    pub text: bool,
    /// The largest message that is accepted from the server.
    pub message_bytes_max: u32,
    /// Options of the dialect.
    pub of_dialect: wire::DialectOptions,
    /// The users that clients stand for: rows of their data, and the keys of their tokens.
    pub people: Arc<app::people::People>,
}

impl ClientSpec {
    /// The name of the client spec in results: the dialect, or a user's own app by its name and its carrier
    /// unless that is a plain WebSocket; and the transport or HTTP/2 where one was chosen, e.g.
    /// `sockjs/xhr-polling`, `raw/http2`.
    pub fn dialect_name(&self) -> String {
        let app = self.of_dialect.app.as_ref().map(|app| app.name.as_str());
        let facts = self.dialect.facts();
        let dialect = (!(facts.needs_app && app.is_some())).then_some(facts.name);
        let carrier = matches!(self.carrier, wire::Carrier::Http2).then_some("http2");
        let parts = app.into_iter().chain(dialect).chain(self.of_dialect.settings.transport()).chain(carrier);
        parts.collect::<Vec<_>>().join("/")
    }

    /// The protocol on which TLS has to agree (RFC 7301); `None`: TLS need not agree on one.
    pub fn alpn(&self) -> Option<&'static str> {
        match self.carrier {
            wire::Carrier::Http1 => self.dialect.facts().alpn,
            wire::Carrier::Http2 => Some("h2"),
        }
    }

    /// The client spec, checked and encoded for the wire.
    ///
    /// # Errors
    /// Names an option that cannot be sent: a header with a line break, a payload without room for its stamp.
    pub fn wire_config(&self) -> Result<wire::Config, BadClientSpec> {
        let limits = codec::Limits::default();
        let limits = codec::Limits {
            message_bytes_max: self.message_bytes_max as usize,
            // A message that is accepted may come in one frame.
            frame_bytes_max: limits.frame_bytes_max.max(self.message_bytes_max.into()),
            ..limits
        };
        let options = wire::Options {
            dialect: self.dialect,
            carrier: self.carrier,
            is_secure: self.is_secure,
            host: self.host.clone(),
            path: self.path.clone(),
            headers: self.headers.clone(),
            subprotocols: self.subprotocols.clone(),
            origin: self.origin.clone(),
            basic_auth: self.userinfo.clone(),
            deflate: self.deflate,
            limits,
            payload: wire::Payload { padding: self.payload_bytes, text: self.text },
            of_dialect: self.of_dialect.clone(),
            people: Arc::clone(&self.people),
        };
        let config = wire::Config::new(options).map_err(BadClientSpec)?;
        let config = match (self.payload_bytes, self.payload_bytes_max) {
            (Some(min), Some(max)) => config.with_sizes(&sizes::spread(min, max)),
            _ if self.rows.is_empty() => Ok(config),
            _ => config.with_rows(&self.rows),
        };
        config.map_err(BadClientSpec)
    }
}

/// The reason why a client spec cannot be put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadClientSpec(pub wire::BadOption);

impl fmt::Display for BadClientSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use wire::BadOption;
        f.write_str(match self.0 {
            BadOption::Host => "the host has characters that a Host header cannot carry",
            BadOption::Path => "the path has characters that a request cannot carry",
            BadOption::Header => "a header has a bad name or value, or is one that the handshake sets itself",
            BadOption::Subprotocol => "a subprotocol is not a token, or is there twice",
            BadOption::Placeholder => "a placeholder of people's that is not there",
            BadOption::Row { row, expected } => {
                return write!(f, "row {row} of people's data: expected {expected}");
            }
            BadOption::PayloadSize { min, max } => {
                return write!(
                    f,
                    "the payload must have from {min} to {max} bytes: no message is larger than --max-message"
                );
            }
            BadOption::OfDialect { expected, .. } => return write!(f, "expected {expected}"),
        })
    }
}

impl std::error::Error for BadClientSpec {}
