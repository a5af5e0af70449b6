//! The cookies that servers have set, as a client sends them back (RFC 6265): all of them with every request,
//! because a client here speaks to one server, or to those that it logs in at for that one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fields::{self, Fields};
use crate::error::Error;

/// Most bytes that a client keeps, names and values together. Servers accept no larger heads
/// (`Limits::head_bytes_max`).
pub const COOKIES_BYTES_MAX: usize = 16 << 10;

/// The separator of two.
const BETWEEN: &str = "; ";

/// Places of cookies in a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CookiePlace {
    /// A field of their own.
    OwnField,
    /// Behind others, in a field that is there.
    Behind,
}

/// The cookies a client sends back: `a=1; b=2`.
#[derive(Clone, Default, PartialEq, Eq)]
#[allow(clippy::box_collection)] // 8 bytes in a client without cookies, not 16
pub struct Cookies(Option<Box<String>>);

impl fmt::Debug for Cookies {
    /// Without them: they let the client in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cookies", self.all().count())
    }
}

impl Cookies {
    /// None yet.
    pub const NONE: Cookies = Cookies(None);

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs().next().is_none()
    }

    /// The name of a cookie that is for all servers of a site (RFC 6265 §5.2.3).
    pub fn name_of_site(set_cookie: &[u8]) -> Option<&str> {
        let text = std::str::from_utf8(set_cookie).ok()?;
        let (pair, attributes) = text.split_once(';')?;
        let is_domain = |attribute: &str| {
            let name = attribute.split_once('=').map_or(attribute, |(name, _)| name);
            name.trim().eq_ignore_ascii_case("domain")
        };
        attributes.split(';').any(is_domain).then(|| name_of(pair.trim()).trim())
    }

    /// Takes away the one of this name.
    pub fn forget(&mut self, name: &str) {
        let others: Vec<&str> = self.pairs().filter(|pair| name_of(pair) != name).collect();
        self.0 = (!others.is_empty()).then(|| others.join(BETWEEN).into());
    }

    /// Joins these cookies with those of another server that have other names.
    pub fn and(&self, others: &Cookies) -> Cookies {
        let added = others.pairs().filter(|pair| self.get(name_of(pair)).is_none());
        let all: Vec<&str> = self.pairs().chain(added).collect();
        Cookies((!all.is_empty()).then(|| all.join(BETWEEN).into()))
    }

    /// Takes in what an answer sets. [`Error::TooManyCookies`] if no request has room for it.
    pub fn handle_all(&mut self, fields: &Fields<'_>) -> Result<(), Error> {
        let fits = fields.all("set-cookie").all(|set| self.handle(set));
        fits.then_some(()).ok_or(Error::TooManyCookies)
    }

    /// Takes in one `Set-Cookie`. False, and nothing done, if there are too many. Malformed cookies are
    /// ignored (§5.2).
    pub fn handle(&mut self, set_cookie: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(set_cookie) else { return true };
        let mut parts = text.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return true };
        let (name, value) = (name.trim(), value.trim());
        // It goes into a head of ours as it is, so that a bad one would break every request to come.
        if !fields::is_token(name.as_bytes()) || !fields::is_value(value.as_bytes()) {
            return true;
        }
        // A newer one takes the place of one of its name (§5.3, step 11); path and domain are not told apart.
        let others: Vec<&str> = self.pairs().filter(|pair| name_of(pair) != name).collect();
        let mut kept = others.join(BETWEEN);
        if !is_over(parts) {
            kept += if kept.is_empty() { "" } else { BETWEEN };
            kept.extend([name, "=", value]);
        }
        let fits = kept.len() <= COOKIES_BYTES_MAX;
        if fits {
            kept.shrink_to_fit();
            self.0 = Some(kept.into());
        }
        fits
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Appends all cookies but the ones named in `but`, if there are any.
    pub fn write(&self, out: &mut Vec<u8>, but: &[String], place: CookiePlace) {
        let mut before = match place {
            CookiePlace::OwnField => "Cookie: ",
            CookiePlace::Behind => BETWEEN,
        };
        let length = out.len();
        for pair in self.pairs().filter(|pair| !but.iter().any(|name| name == name_of(pair))) {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(pair.as_bytes());
            before = BETWEEN;
        }
        if place == CookiePlace::OwnField && out.len() > length {
            out.extend_from_slice(b"\r\n");
        }
    }

    fn pairs(&self) -> impl Iterator<Item = &str> {
        self.0.as_deref().map_or("", String::as_str).split(BETWEEN).filter(|pair| !pair.is_empty())
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs().filter_map(|pair| pair.split_once('='))
    }
}

/// The names in the value of a `Cookie` field.
pub fn names(value: &str) -> impl Iterator<Item = &str> {
    value.split(';').map(|pair| name_of(pair.trim()))
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

/// No server dates a cookie before this year but to take it away.
const EXPIRED_UNTIL_YEAR: i16 = 2000;

/// Returns whether attributes take a cookie away: by its age, or else by a date of long ago (RFC 6265 §5.3,
/// step 3).
fn is_over<'a>(attributes: impl Iterator<Item = &'a str>) -> bool {
    let (mut age, mut date) = (None, None);
    for (name, value) in attributes.filter_map(|attribute| attribute.split_once('=')) {
        match name.trim() {
            name if name.eq_ignore_ascii_case("max-age") => age = value.trim().parse::<i64>().ok().or(age),
            name if name.eq_ignore_ascii_case("expires") => date = Some(value),
            _ => {}
        }
    }
    let year = |date: &str| {
        let parts = date.split([' ', '-']).filter(|part| part.len() == 4);
        parts.filter_map(|part| part.parse::<i16>().ok()).next()
    };
    match age {
        Some(seconds) => seconds <= 0,
        None => date.and_then(year).is_some_and(|year| year < EXPIRED_UNTIL_YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::CookiePlace::{Behind, OwnField};
    use super::*;

    fn cookies(set: &[&str]) -> Cookies {
        let mut cookies = Cookies::NONE;
        assert!(set.iter().all(|one| cookies.handle(one.as_bytes())));
        cookies
    }

    fn written(cookies: &Cookies, but: &[String], place: CookiePlace) -> String {
        let mut out = Vec::new();
        cookies.write(&mut out, but, place);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn set_cookies_are_sent_back() {
        let jar = cookies(&["sid=s%3Aab.c=; Path=/; HttpOnly", "theme = dark ;SameSite=Lax", "sid=2"]);
        assert_eq!(written(&jar, &[], OwnField), "Cookie: theme=dark; sid=2\r\n");
        assert_eq!(written(&jar, &["sid".into()], OwnField), "Cookie: theme=dark\r\n");
        assert_eq!(written(&jar, &["sid".into()], Behind), "; theme=dark");
        assert_eq!((jar.get("sid"), jar.get("si"), jar.get("theme")), (Some("2"), None, Some("dark")));
        assert_eq!(written(&jar, &["sid".into(), "theme".into()], OwnField), "");
        assert_eq!(format!("{jar:?}"), "2 cookies");
    }

    #[test]
    fn own_cookies_go_before_others() {
        let both = cookies(&["sid=A"]).and(&cookies(&["sid=B", "theme=dark"]));
        assert_eq!(both, cookies(&["sid=A", "theme=dark"]));
        assert_eq!(Cookies::NONE.and(&Cookies::NONE), Cookies::NONE);
        assert_eq!(Cookies::name_of_site(b"sid = 1; Path=/; domain=example.com"), Some("sid"));
        assert_eq!(Cookies::name_of_site(b"sid=Domain=x; Path=/"), None);
        let mut jar = cookies(&["sid=A", "theme=dark"]);
        jar.forget("sid");
        assert_eq!(jar, cookies(&["theme=dark"]));
    }

    #[test]
    fn age_goes_before_date() {
        let jar = cookies(&["a=1", "b=2", "a=3; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=60"]);
        assert_eq!(written(&jar, &[], OwnField), "Cookie: b=2; a=3\r\n");
        let past =
            cookies(&["a=1", "a=; expires=Tue, 12-Oct-1999 07:00:00 GMT", "b=; Expires=Fri, 31 Dec 2199"]);
        assert_eq!(written(&past, &[], OwnField), "Cookie: b=\r\n");
    }

    #[test]
    fn deleted_cookies_are_gone_and_nonsense_ignored() {
        let gone = "a=; expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/";
        let jar = cookies(&["a=1", "b=2", gone, "b=3; Max-Age=0", "c=; Max-Age=60"]);
        assert_eq!(written(&jar, &[], OwnField), "Cookie: c=\r\n");
        for nonsense in ["", "a", "=b", "a b=c", "a=b\u{7}c", ";a=b"] {
            assert_eq!(cookies(&[nonsense]), Cookies::NONE, "{nonsense:?}");
        }
    }

    #[test]
    fn there_is_an_end_to_them() {
        let mut jar = cookies(&["a=1"]);
        let large = format!("b={}", "x".repeat(COOKIES_BYTES_MAX));
        assert!(!jar.handle(large.as_bytes()));
        assert_eq!(jar, cookies(&["a=1"]));
        let list = vec![httparse::Header { name: "Set-Cookie", value: large.as_bytes() }];
        assert_eq!(jar.handle_all(&Fields { list }), Err(Error::TooManyCookies));
    }

    #[test]
    fn names_of_those_that_a_user_gives() {
        assert_eq!(names("a={x}; b=1;c").collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
