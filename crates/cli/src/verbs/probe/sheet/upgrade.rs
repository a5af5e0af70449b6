//! The upgrade to a WebSocket: what is asked for, what the server answers, and why there is none.

use std::fmt;
use std::time::Instant;

use codec::http::head::{Expect, HeadReader};
use codec::http::response::Response;
use codec::ws::extension;
use codec::{DeflateOptions, Io, Limits};
use serde_json::Value;
use wire::Client;

use super::channel::{Channel, Lost};
use super::closing::Closing;
use super::row::NotTried;
use super::site::{Tester, Written};

const DEFLATE: DeflateOptions = DeflateOptions { level: 1, no_context_takeover: false };

/// Changes to the request that all clients make.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    /// Subprotocols in place of the protocol's own.
    pub(super) subprotocols: Option<Vec<String>>,
    pub(super) deflate: bool,
    /// The origin in place of the user's; `Some(None)`: none.
    pub(super) origin: Option<Option<String>>,
    /// A cookie of the server's.
    pub(super) cookie: Option<String>,
    /// Bytes of the kernel's receive buffer, where it is to be small.
    pub(super) receive_bytes: Option<usize>,
}

/// The head of an answer.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    bytes: Vec<u8>,
    lines: usize,
}

impl Head {
    /// The first field of that name.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        let response = Response::parse(&self.bytes, self.lines).ok()?;
        let value = response.fields.all(name).next()?;
        Some(String::from_utf8_lossy(value).trim().to_owned())
    }

    /// The cookies that are set, each as `NAME=VALUE`.
    pub(super) fn cookies(&self) -> Vec<String> {
        let Ok(response) = Response::parse(&self.bytes, self.lines) else { return Vec::new() };
        let pair = |set: &[u8]| {
            let set = String::from_utf8_lossy(set);
            set.split(';').next().unwrap_or_default().trim().to_owned()
        };
        response.fields.all("set-cookie").map(pair).collect()
    }

    /// The compression that was agreed on; `Err`: an answer to what nobody offered.
    pub(super) fn agreed(&self) -> Result<Option<extension::Agreed>, extension::Malformed> {
        let response = Response::parse(&self.bytes, self.lines).map_err(|_| extension::Malformed)?;
        extension::accept(&response.fields, Some(DEFLATE))
    }
}

/// Reasons why there is no WebSocket.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// The server's answer.
    Status(Head),
    Lost(Lost),
    /// The server let the client in and closed at once.
    Closed(Closing),
    /// A request that cannot be made.
    Request(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Status(head) => write!(f, "status {}", head.status),
            Refusal::Lost(lost) => lost.fmt(f),
            Refusal::Closed(closing) => closing.fmt(f),
            Refusal::Request(problem) => f.write_str(problem),
        }
    }
}

impl Refusal {
    /// The name in JSON: a status, a close code, or how the connection ended.
    pub(super) fn key(&self) -> Value {
        match self {
            Refusal::Status(head) => head.status.into(),
            Refusal::Lost(lost) => lost.key().into(),
            Refusal::Closed(closing) => closing.key(),
            Refusal::Request(_) => Value::Null,
        }
    }
}

impl From<Lost> for Refusal {
    fn from(lost: Lost) -> Refusal {
        Refusal::Lost(lost)
    }
}

impl From<Refusal> for NotTried {
    fn from(refusal: Refusal) -> NotTried {
        NotTried(match refusal {
            Refusal::Lost(Lost::Interrupted) => "interrupted".to_owned(),
            other => format!("the server lets no client in: {other}"),
        })
    }
}

/// The request of a client of the protocol, with the changes.
pub(super) fn request(tester: &Tester<'_>, offer: &Offer) -> Result<Vec<u8>, Refusal> {
    let mut spec = tester.site.plan.client_spec.clone();
    if let Some(subprotocols) = &offer.subprotocols {
        spec.subprotocols.clone_from(subprotocols);
    }
    if let Some(origin) = &offer.origin {
        spec.origin.clone_from(origin);
    }
    spec.deflate = offer.deflate.then_some(DEFLATE);
    spec.headers.extend(offer.cookie.iter().map(|cookie| ("Cookie".to_owned(), cookie.clone().into())));
    let config = spec.wire_config().map_err(|bad| Refusal::Request(bad.to_string()))?;
    let mut written = Written::default();
    Client::new().handle_open(&config, 0, 0, &mut written);
    Ok(std::mem::take(written.out(0)))
}

/// Reads the final answer to a request.
pub(super) fn read_head(channel: &mut Channel<'_>, until: Instant) -> Result<Head, Refusal> {
    let (mut reader, limits) = (HeadReader::default(), Limits::default());
    loop {
        let received = std::mem::take(&mut channel.received);
        let mut input = received.as_slice();
        let bad = |_| Refusal::Request("the answer is not HTTP/1.1".to_owned());
        let read = reader.read(Expect::Response, &limits, &mut input).map_err(bad)?;
        let head = read.map(|(bytes, lines)| (bytes.to_vec(), lines));
        channel.received = input.to_vec();
        if let Some((bytes, lines)) = head {
            let status = Response::parse(&bytes, lines).map_err(bad)?.status;
            // Interim answers precede the final one (RFC 9110 §15.2).
            if !matches!(status, 100 | 102..=199) {
                return Ok(Head { status, bytes, lines });
            }
        } else if !channel.receive(until)? {
            return Err(Lost::Silent.into());
        }
    }
}
