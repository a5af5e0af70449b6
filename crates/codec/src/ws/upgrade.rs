//! The opening handshake of both ends (RFC 6455 §4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use super::extension::{self, Agreed};
use crate::error::Error;
use crate::http::body::Framing;
use crate::http::fields::{self, Fields};
use crate::http::request::Request;
use crate::http::response::Response;
use crate::io::Io;
use crate::limits::DeflateOptions;

/// A `Sec-WebSocket-Key`.
pub type Key = [u8; 24];

/// A fresh key (§4.1): 16 random bytes.
#[inline]
pub fn new_key(io: &mut impl Io) -> Key {
    let nonce = u128::from(io.random_u64()) << 64 | u128::from(io.random_u64());
    let mut key = [0; 24];
    let n = STANDARD.encode_slice(nonce.to_ne_bytes(), &mut key);
    debug_assert_eq!(n, Ok(24));
    key
}

/// The `Sec-WebSocket-Accept` that answers a key (§4.2.2).
pub fn accept_of(key: &[u8]) -> [u8; 28] {
    // The GUID of §1.3, which no server adds to a key by chance.
    let hash = Sha1::new().chain_update(key).chain_update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").finalize();
    let mut accept = [0; 28];
    let n = STANDARD.encode_slice(hash, &mut accept);
    debug_assert_eq!(n, Ok(28));
    accept
}

/// Judges the answer as the client must (§4.1), and returns what was agreed on compression.
pub fn verify(
    response: &Response<'_>,
    key: &Key,
    subprotocols: &[String],
    deflate_offered: Option<DeflateOptions>,
) -> Result<Option<Agreed>, Error> {
    if response.status != 101 {
        return Err(Error::HttpStatus(response.status));
    }
    let fields = &response.fields;
    let upgrade = fields.only("upgrade").ok().flatten();
    let to_websocket = upgrade.is_some_and(|u| u.eq_ignore_ascii_case(b"websocket"));
    // HTTP/1.0 knows no upgrades, and a cache that speaks it would pass the fields on.
    if response.minor == 0 || !to_websocket || !fields.has_member("connection", "upgrade") {
        return Err(Error::BadUpgrade);
    }
    if fields.only("sec-websocket-accept") != Ok(Some(&accept_of(key))) {
        return Err(Error::BadAccept);
    }
    match fields.only("sec-websocket-protocol") {
        Ok(None) => {}
        Ok(Some(chosen)) if subprotocols.iter().any(|p| p.as_bytes() == chosen) => {}
        _ => return Err(Error::UnaskedProtocol),
    }
    extension::accept(fields, deflate_offered).map_err(|_| Error::UnaskedExtension)
}

/// An upgrade the server grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted<'a> {
    /// The answer to the client's key.
    pub accept: [u8; 28],
    /// The subprotocol chosen.
    pub subprotocol: Option<&'a str>,
    /// The compression chosen.
    pub deflate: Option<Agreed>,
}

/// Terms on which a server grants upgrades.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Origins served; empty: all.
    pub origins: &'a [String],
    /// The HTTP status for the others.
    pub origin_refusal: u16,
    /// Accept permessage-deflate when offered.
    pub deflate: Option<DeflateOptions>,
}

/// The server's judgement of a request (§4.2.1): the upgrade, or the HTTP status to refuse it with.
/// `compiled` finds the subprotocol of that name, if it is spoken here.
pub fn judge<'c>(
    request: &Request<'_>,
    terms: Terms<'_>,
    compiled: impl Fn(&[u8]) -> Option<&'c str>,
) -> Result<Granted<'c>, u16> {
    let fields = &request.fields;
    if request.method != "GET" {
        return Err(405);
    }
    let asks = fields.has_member("upgrade", "websocket") && fields.has_member("connection", "upgrade");
    // The bytes of a body would be taken for frames.
    if request.minor == 0 || !asks || request.body != Framing::Length(0) {
        return Err(400);
    }
    let Ok(Some(key)) = fields.only("sec-websocket-key") else { return Err(400) };
    if !is_key(key) {
        return Err(400);
    }
    if fields.only("sec-websocket-version") != Ok(Some(b"13")) {
        return Err(426);
    }
    check_origin(fields, terms.origins, terms.origin_refusal)?;
    let subprotocol = choose_subprotocol(fields, compiled)?;
    let deflate = extension::choose(fields, terms.deflate).map_err(|_| 400u16)?;
    Ok(Granted { accept: accept_of(key), subprotocol, deflate })
}

/// Returns whether a key looks like 16 bytes in base64: the bytes themselves do not matter.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    key.len() == 24 && key.ends_with(b"==") && key[..22].iter().all(is_digit)
}

/// Refuses a request from an origin that is not allowed with the status `refusal`, and one with two origins
/// with 400.
pub fn check_origin(fields: &Fields<'_>, allowed: &[String], refusal: u16) -> Result<(), u16> {
    match fields.only("origin") {
        Err(_) => Err(400),
        Ok(Some(origin))
            if !allowed.is_empty() && !allowed.iter().any(|a| a.as_bytes().eq_ignore_ascii_case(origin)) =>
        {
            Err(refusal)
        }
        Ok(_) => Ok(()),
    }
}

/// The client's first choice among ours; its list must be of tokens, each once.
fn choose_subprotocol<'c>(
    fields: &Fields<'_>,
    compiled: impl Fn(&[u8]) -> Option<&'c str>,
) -> Result<Option<&'c str>, u16> {
    let offered: Vec<&[u8]> = fields.members("sec-websocket-protocol").collect();
    let mut chosen = None;
    for (n, protocol) in offered.iter().enumerate() {
        if !fields::is_token(protocol) || offered[..n].contains(protocol) {
            return Err(400);
        }
        chosen = chosen.or_else(|| compiled(protocol));
    }
    Ok(chosen)
}

/// The field lines that go with a refusal of that status.
pub fn refusal_fields(status: u16) -> &'static str {
    match status {
        401 => "WWW-Authenticate: Bearer\r\n",
        405 => "Allow: GET\r\n",
        426 => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        _ => "",
    }
}

impl Granted<'_> {
    /// Appends the 101.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Accept: ",
        );
        out.extend_from_slice(&self.accept);
        if let Some(subprotocol) = self.subprotocol {
            out.extend_from_slice(b"\r\nSec-WebSocket-Protocol: ");
            out.extend_from_slice(subprotocol.as_bytes());
        }
        if let Some(agreed) = self.deflate {
            out.extend_from_slice(b"\r\nSec-WebSocket-Extensions: ");
            out.extend_from_slice(agreed.answer().as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_rfc_6455() {
        assert_eq!(&accept_of(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ=="));
        for bad in [&b""[..], b"c2hvcnQ=", b"dGhlIHNhbXBsZSBub25jZQ= ", b"dGhlIHNhbXBsZSBub25jZQAA"] {
            assert!(!is_key(bad), "{}", bad.escape_ascii());
        }
    }
}
