//! `Sec-WebSocket-Extensions`: offering and agreeing on permessage-deflate (RFC 6455 §9.1, RFC 7692 §7.1).

use super::deflate::{Deflater, Inflater};
use super::end::End;
use crate::http::fields::{self, Fields, Param};
use crate::limits::DeflateOptions;

const NAME: &str = "permessage-deflate";
/// The field both sides use.
pub const FIELD: &str = "sec-websocket-extensions";

/// The terms both ends agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// The server forgets its window after each message.
    pub server_no_context_takeover: bool,
    /// The client does.
    pub client_no_context_takeover: bool,
    /// The server's window, 8–15 bits.
    pub server_max_window_bits: u8,
    /// The client's.
    pub client_max_window_bits: u8,
}

impl Agreed {
    /// The two directions of one end.
    pub fn codecs(self, end: End, level: u8) -> (Box<Inflater>, Box<Deflater>) {
        let server = (self.server_max_window_bits, self.server_no_context_takeover);
        let client = (self.client_max_window_bits, self.client_no_context_takeover);
        let ((_, theirs), (bits, ours)) = match end {
            End::Client => (server, client),
            End::Server => (client, server),
        };
        (Box::new(Inflater::new(theirs)), Box::new(Deflater::new(level, bits, ours)))
    }

    /// The value of the server's answer.
    pub fn answer(self) -> String {
        let mut value = NAME.to_owned();
        if self.server_no_context_takeover {
            value += "; server_no_context_takeover";
        }
        if self.client_no_context_takeover {
            value += "; client_no_context_takeover";
        }
        if self.server_max_window_bits < 15 {
            value += &format!("; server_max_window_bits={}", self.server_max_window_bits);
        }
        value
    }
}

/// The value of a client's offer. Like browsers', it lets the server choose our window (§7.1.2.2).
pub fn offer(options: DeflateOptions) -> String {
    let takeover = "; server_no_context_takeover; client_no_context_takeover";
    format!("{NAME}; client_max_window_bits{}", if options.no_context_takeover { takeover } else { "" })
}

/// The field is out of shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// The server's choice: the first offer it can meet. With no `options` none, but the offers must be
/// well-formed.
pub fn choose(fields: &Fields<'_>, options: Option<DeflateOptions>) -> Result<Option<Agreed>, Malformed> {
    let mut agreed = None;
    for member in fields.members(FIELD) {
        let (name, params) = split(member)?;
        if let Some(options) = options
            && agreed.is_none()
            && name.eq_ignore_ascii_case(NAME.as_bytes())
            && let Some(mut met) = read_params(&params, Side::Offer)
        {
            // A server may always forget, and may ask the client to (§7.1.1).
            met.server_no_context_takeover |= options.no_context_takeover;
            met.client_no_context_takeover |= options.no_context_takeover;
            // The client's wish for a small window of its own is its own affair: 15 bits inflate everything.
            met.client_max_window_bits = 15;
            agreed = Some(met);
        }
    }
    Ok(agreed)
}

/// The client's reading of the answer to its [`offer`]: `Err` for anything that was not offered.
pub fn accept(fields: &Fields<'_>, offered: Option<DeflateOptions>) -> Result<Option<Agreed>, Malformed> {
    let mut members = fields.members(FIELD);
    let Some(member) = members.next() else { return Ok(None) };
    let (name, params) = split(member)?;
    let options = offered.filter(|_| members.next().is_none() && name.eq_ignore_ascii_case(NAME.as_bytes()));
    let options = options.ok_or(Malformed)?;
    let mut agreed = read_params(&params, Side::Answer).ok_or(Malformed)?;
    // A client forgets as it has announced, whether or not the server repeats it (§7.1.1.2).
    agreed.client_no_context_takeover |= options.no_context_takeover;
    Ok(Some(agreed))
}

fn split(member: &[u8]) -> Result<(&[u8], Vec<Param<'_>>), Malformed> {
    let end = memchr::memchr(b';', member).unwrap_or(member.len());
    let name = fields::trim(&member[..end]);
    let params = fields::params(&member[end..]).ok_or(Malformed)?;
    if fields::is_token(name) { Ok((name, params)) } else { Err(Malformed) }
}

/// Sides of the negotiation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Offer,
    Answer,
}

/// The parameters of an offer or an answer, each at most once (§7.1); `None` when they are not as they must
/// be. Only an offer may name `client_max_window_bits` without a value.
fn read_params(params: &[Param<'_>], of: Side) -> Option<Agreed> {
    let mut agreed = Agreed {
        server_no_context_takeover: false,
        client_no_context_takeover: false,
        server_max_window_bits: 15,
        client_max_window_bits: 15,
    };
    for (n, &(name, value)) in params.iter().enumerate() {
        if params[..n].iter().any(|&(before, _)| before == name) {
            return None;
        }
        match (name, value) {
            (b"server_no_context_takeover", None) => agreed.server_no_context_takeover = true,
            (b"client_no_context_takeover", None) => agreed.client_no_context_takeover = true,
            (b"server_max_window_bits", Some(value)) => agreed.server_max_window_bits = bits(value)?,
            (b"client_max_window_bits", Some(value)) => agreed.client_max_window_bits = bits(value)?,
            (b"client_max_window_bits", None) if of == Side::Offer => {}
            _ => return None,
        }
    }
    Some(agreed)
}

/// 8 to 15, without leading zeros (§7.1.2).
fn bits(value: &[u8]) -> Option<u8> {
    match value {
        [d @ b'8'..=b'9'] => Some(d - b'0'),
        [b'1', d @ b'0'..=b'5'] => Some(10 + d - b'0'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(value: &str, f: impl FnOnce(&Fields<'_>) -> T) -> T {
        let list = vec![httparse::Header { name: "Sec-WebSocket-Extensions", value: value.as_bytes() }];
        f(&Fields { list })
    }

    fn chosen(value: &str) -> Result<Option<String>, Malformed> {
        let options = Some(DeflateOptions::default());
        with(value, |f| choose(f, options)).map(|agreed| agreed.map(Agreed::answer))
    }

    #[test]
    fn servers_take_the_first_possible_offer() {
        for (offers, answer) in [
            ("permessage-deflate", Some("permessage-deflate")),
            ("permessage-deflate; client_max_window_bits", Some("permessage-deflate")),
            ("permessage-deflate; client_max_window_bits=10", Some("permessage-deflate")),
            (
                "permessage-deflate; server_max_window_bits=8",
                Some("permessage-deflate; server_max_window_bits=8"),
            ),
            (
                "permessage-deflate; server_max_window_bits=\"10\"; server_no_context_takeover",
                Some("permessage-deflate; server_no_context_takeover; server_max_window_bits=10"),
            ),
            (
                "permessage-deflate; server_max_window_bits=7, permessage-deflate; client_no_context_takeover",
                Some("permessage-deflate; client_no_context_takeover"),
            ),
            ("x-webkit-deflate-frame", None),
            ("permessage-deflate; server_max_window_bits", None),
            ("permessage-deflate; server_max_window_bits=08", None),
            ("permessage-deflate; server_max_window_bits=16", None),
            ("permessage-deflate; server_no_context_takeover=1", None),
            ("permessage-deflate; client_max_window_bits; client_max_window_bits", None),
            ("permessage-deflate; mode=x", None),
        ] {
            assert_eq!(chosen(offers).as_ref().map(Option::as_deref), Ok(answer), "{offers}");
        }
        for garbage in [";", "a b", "permessage-deflate;", "a;=", "\"a\"", "a; b=\"c"] {
            assert_eq!(chosen(garbage), Err(Malformed), "{garbage}");
        }
        assert_eq!(with("permessage-deflate", |f| choose(f, None)), Ok(None));
    }

    #[test]
    fn clients_accept_only_their_offer() {
        let offered = Some(DeflateOptions::default());
        assert_eq!(with("", |f| accept(f, None)), Ok(None));
        let agreed = with("permessage-deflate; client_max_window_bits=9", |f| accept(f, offered)).unwrap();
        assert_eq!(agreed.map(|a| a.client_max_window_bits), Some(9));
        for answer in [
            "permessage-deflate, permessage-deflate",
            "permessage-deflate; client_max_window_bits",
            "permessage-deflate; x",
            "permessage-bzip2",
        ] {
            assert_eq!(with(answer, |f| accept(f, offered)), Err(Malformed), "{answer}");
        }
        assert_eq!(with("permessage-deflate", |f| accept(f, None)), Err(Malformed));
    }

    #[test]
    fn context_takeover_follows_offer_and_answer() {
        let offered = Some(DeflateOptions { no_context_takeover: true, ..DeflateOptions::default() });
        for (answer, server_forgets) in
            [("permessage-deflate", false), ("permessage-deflate; server_no_context_takeover", true)]
        {
            let agreed = with(answer, |f| accept(f, offered)).unwrap().unwrap();
            assert!(agreed.client_no_context_takeover, "{answer}");
            assert_eq!(agreed.server_no_context_takeover, server_forgets, "{answer}");
        }
    }
}
