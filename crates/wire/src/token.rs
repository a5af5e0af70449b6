//! The place of a token in the upgrade request.

use codec::http::query;
use secret::Secret;

use crate::facts::TokenHome;
use crate::options::{BadOption, Options};
use crate::settings::TokenPlace;

/// Puts the token, if there is one, where it is wanted: `home` is where the protocol's own clients put it.
pub(crate) fn place(options: &mut Options, home: TokenHome) -> Result<(), BadOption> {
    let Some(token) = options.of_dialect.token.clone() else { return Ok(()) };
    let place = match (options.of_dialect.token_in.clone(), home) {
        (Some(place), _) => place,
        (None, TokenHome::Query(name)) => TokenPlace::Query(name.to_owned()),
        (None, TokenHome::Message) => return Ok(()),
        (None, TokenHome::Authorization) => {
            options.headers.push(("Authorization".to_owned(), authorization(&token)));
            return Ok(());
        }
        (None, TokenHome::Nowhere) => {
            let places = "query:NAME, header:NAME or cookie:NAME, as this protocol has no place of its own";
            return Err(bad("token-in", places));
        }
    };
    match place {
        TokenPlace::Query(name) => {
            options.path = query::with(options.path.reveal(), &name, token.reveal()).into()
        }
        TokenPlace::Header(name) => options.headers.push((name, token)),
        TokenPlace::Cookie(name) => {
            if !token.reveal().bytes().all(is_cookie_octet)
                || !name.bytes().all(is_cookie_octet)
                || name.contains('=')
            {
                return Err(bad("token", "characters that a cookie can carry (RFC 6265 §4.1.1)"));
            }
            add_cookie(&mut options.headers, &name, token.reveal());
        }
    }
    Ok(())
}

/// The value of an `Authorization` header. A scheme and its credentials have a space between them, and a
/// bearer token has none (RFC 9110 §11.4, RFC 6750 §2.1).
fn authorization(token: &Secret) -> Secret {
    match token.reveal().contains(' ') {
        true => token.clone(),
        false => format!("Bearer {}", token.reveal()).into(),
    }
}

fn bad(option: &'static str, expected: &'static str) -> BadOption {
    BadOption::OfDialect { option, expected }
}

/// A request has one cookie field at the most (RFC 6265 §5.4).
fn add_cookie(headers: &mut Vec<(String, Secret)>, name: &str, value: &str) {
    match headers.iter_mut().find(|(field, _)| field.eq_ignore_ascii_case("cookie")) {
        Some((_, cookies)) => *cookies = format!("{}; {name}={value}", cookies.reveal()).into(),
        None => headers.push(("Cookie".to_owned(), format!("{name}={value}").into())),
    }
}

fn is_cookie_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}
