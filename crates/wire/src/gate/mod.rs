//! Access to the server, for clients that have logged in or have a token signed with the right key. All that
//! is decided from the request alone, so that any worker and any process decides alike and nothing has to be
//! remembered.

mod form;
mod token;

use codec::http::query;
use codec::http::request::Request;
use secret::Secret;

use crate::dialect_id::DialectId;
use crate::facts::TokenHome;

pub(crate) use form::Form;
use form::PATH;

/// Paths open without a login, over plain requests. A WebSocket may be opened at any path.
const OPEN: [&str; 4] = ["/", PATH, "/metrics", "/upload"];
/// Names of a token in a query, beside the names that protocols give it.
const TOKENS: [&str; 2] = ["token", "access_token"];

/// Requirements on a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// True if the cookie of a login at `/login` lets a client in.
    pub login: bool,
    /// A JSON Web Token that was signed with this key (HS256) and is valid now.
    pub jwt: Option<Secret>,
}

impl Gate {
    /// Returns whether a request may have what it asks for, at this second of the wall clock.
    pub(crate) fn admits(&self, request: &Request<'_>, unix_s: u64) -> bool {
        let is_open = || OPEN.contains(&request.path()) && !request.wants_websocket();
        let has_token =
            |key: &Secret| tokens(request).any(|token| token::is_valid(token, key.reveal(), unix_s));
        (!self.login || form::is_logged_in(&request.fields) || is_open())
            && self.jwt.as_ref().is_none_or(|key| has_token(key) || is_open())
    }

    /// Returns whether the form to log in by is there.
    pub(crate) fn has_form_at(&self, path: &str) -> bool {
        self.login && path == PATH
    }
}

/// Names of a token in a query.
pub(crate) fn token_names() -> impl Iterator<Item = &'static str> {
    let homes = DialectId::ALL.iter().filter_map(|dialect| match dialect.facts().token {
        TokenHome::Query(name) => Some(name),
        TokenHome::Nowhere | TokenHome::Authorization | TokenHome::Message => None,
    });
    TOKENS.into_iter().chain(homes)
}

/// All that a request has for a token: in its query, or in its `Authorization`.
fn tokens<'a>(request: &'a Request<'_>) -> impl Iterator<Item = &'a str> {
    let in_query = token_names().filter_map(|name| query::param(request.target, name));
    let borne = request.fields.all("authorization").filter_map(|value| {
        let (scheme, token) = std::str::from_utf8(value).ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    in_query.chain(borne)
}
