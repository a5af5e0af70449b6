//! The field lines of a request's head.

use codec::http::cookies::{self, CookiePlace};

use super::pieces::{Piece, Template};

impl Template {
    /// A line for each of these fields.
    pub fn of_fields(fields: &[(String, Template)]) -> Template {
        let line = |all: Template, (name, value): &(String, Template)| {
            all.text(name).text(": ").then(value).text("\r\n")
        };
        fields.iter().fold(Template::default(), line)
    }

    /// Field lines with the cookies of a client that logs in. Where the fields have a `Cookie`, the client's
    /// go behind its values, except those of the same names: a request has one such field (RFC 6265 §5.4).
    pub fn of_fields_with_cookies(fields: &[(String, Template)]) -> Template {
        let mut fields = fields.to_vec();
        let given = fields.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let Some((_, value)) = given else {
            let cookies = Piece::Cookies { but: Vec::new(), place: CookiePlace::OwnField };
            return Template::of_fields(&fields).hole(cookies);
        };
        let sample = String::from_utf8_lossy(&value.sample()).into_owned();
        let but = cookies::names(&sample).map(str::to_owned).collect();
        *value = std::mem::take(value).hole(Piece::Cookies { but, place: CookiePlace::Behind });
        Template::of_fields(&fields)
    }
}
