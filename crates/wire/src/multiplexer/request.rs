//! A client's request, translated from HTTP/1.1.

use codec::http::head::{Expect, HeadReader};
use codec::http::request::Request;
use codec::http2::{connection, hpack};
use codec::ws::upgrade::Key;
use codec::{Error, Limits};

use crate::config::Config;
use crate::failure::Failure;

/// Fields that an upgrade of HTTP/1.1 has, and a CONNECT says otherwise, or not at all (RFC 8441 §5).
const OF_UPGRADES: [&str; 4] = ["host", "upgrade", "connection", "sec-websocket-key"];

/// A request whose head is out.
pub(super) struct Asked<'a> {
    /// The key to which the client waits for an answer, if it asks for an upgrade.
    pub(super) key: Option<Key>,
    /// The request's body.
    pub(super) body: &'a [u8],
}

/// Appends the head of a request; an upgrade is asked for by a CONNECT.
pub(super) fn put<'a>(
    cfg: &Config,
    stream: u32,
    only_asks: bool,
    mut text: &'a [u8],
    out: &mut Vec<u8>,
) -> Result<Asked<'a>, Failure> {
    // Read back, so that what an upgrade consists of is known in one place.
    let mut reader = HeadReader::default();
    // It is ours: the server's heads have bounds.
    let any = Limits { head_bytes_max: usize::MAX, headers_max: usize::MAX, ..cfg.options().limits.clone() };
    let Some((head, lines)) = reader.read(Expect::Request, &any, &mut text)? else {
        return Err(Failure::Codec(Error::HeadTooLarge));
    };
    let request = Request::parse(head, lines)?;
    let key = request.fields.only("sec-websocket-key").ok().flatten();
    let key = key.and_then(|key| key.try_into().ok());
    if key.is_none() && !only_asks {
        return Err(Failure::Codec(Error::BadUpgrade));
    }
    let block = |out: &mut Vec<u8>| write(cfg, &request, only_asks, out);
    connection::put_head(stream, only_asks && text.is_empty(), block, out);
    Ok(Asked { key, body: text })
}

/// Appends the block of a request (RFC 8441 §4, §5).
fn write(cfg: &Config, request: &Request<'_>, only_asks: bool, out: &mut Vec<u8>) {
    let options = cfg.options();
    let upgrade = [(":method", "CONNECT"), (":protocol", "websocket")];
    let method = if only_asks { &[(":method", request.method)][..] } else { &upgrade };
    let place = [(":scheme", options.scheme()), (":authority", &options.host), (":path", request.target)];
    // Names in upper case are malformed in HTTP/2 (RFC 9113 §8.2.1).
    let lower: Vec<(String, &[u8])> =
        request.fields.list.iter().map(|field| (field.name.to_ascii_lowercase(), field.value)).collect();
    let regular = lower.iter().map(|(name, value)| (name.as_str(), *value));
    let regular = regular.filter(|(name, _)| !OF_UPGRADES.contains(name));
    let pseudo = method.iter().chain(&place).map(|&(name, value)| (name, value.as_bytes()));
    hpack::write_once(pseudo.chain(regular), secret::is_secret, out);
}
