//! A form to log in by, as web applications have it: a page with a token in a hidden field and a cookie that
//! it belongs to; a `POST` with both, answered by a redirect and the cookie of a session.

use codec::http::answer::{AnswerHead, TEXT};
use codec::http::fields::Fields;
use codec::http::query;
use codec::http::request::Request;
use ring::hmac;

/// The path of the form.
pub(super) const PATH: &str = "/login";
/// The longest form; anything longer is not from our page.
const BODY_BYTES_MAX: usize = 4096;
const HTML: &str = "text/html; charset=UTF-8";

/// The cookie that the hidden field belongs to, and the cookie of a session.
const VISIT: &str = "visit";
const SESSION: &str = "session";

/// The key that seals cookies and fields. No user's data is behind them: with the key a client can be any
/// user, as it can with the form.
const KEY: &[u8] = b"throng serve --login";

/// A request for the form, and what it will be answered.
#[derive(Debug)]
pub(crate) struct Form {
    head: AnswerHead,
    method: Method,
    visit: Option<String>,
    random: u64,
    body: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Get,
    Post,
    Other,
}

impl Form {
    /// One that is asked for.
    pub(crate) fn asked(request: &Request<'_>, head: AnswerHead, random: u64) -> Form {
        let method = match request.method {
            "GET" => Method::Get,
            "POST" => Method::Post,
            _ => Method::Other,
        };
        let visit = cookie(&request.fields, VISIT).map(str::to_owned);
        Form { head, method, visit, random, body: Vec::new() }
    }

    /// A part of the body came in.
    pub(crate) fn push(&mut self, part: &[u8]) {
        let room = (BODY_BYTES_MAX + 1).saturating_sub(self.body.len());
        self.body.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// The whole answer: the page; a redirect if the password is the name; otherwise 401, 403 or 413.
    pub(crate) fn answer(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.method {
            Method::Get => {
                let visit = self.visit.take().unwrap_or_else(|| format!("{:016x}", self.random));
                let page = format!(
                    "<!doctype html>\n<title>Log in</title>\n<form method=\"post\" action=\"{PATH}\">\n\
                     <input type=\"hidden\" name=\"csrf\" value=\"{}\">\n<input name=\"name\"> <input name=\"password\" \
                     type=\"password\"> <button>Log in</button>\n</form>\n",
                    sealed(VISIT, &visit)
                );
                self.head.fields = format!("Set-Cookie: {VISIT}={visit}; Path=/; HttpOnly\r\n");
                self.head.write_whole(&mut out, 200, Some(HTML), page.as_bytes());
            }
            Method::Post => match self.judge() {
                Ok(name) => {
                    let session = format!("{name}.{}", sealed(SESSION, &name));
                    self.head.fields =
                        format!("Location: /\r\nSet-Cookie: {SESSION}={session}; Path=/; HttpOnly\r\n");
                    self.head.write_whole(&mut out, 302, None, b"");
                }
                Err((status, why)) => self.head.write_whole(&mut out, status, Some(TEXT), why.as_bytes()),
            },
            Method::Other => {
                self.head.fields = "Allow: GET, POST\r\n".to_owned();
                self.head.write_whole(&mut out, 405, None, b"");
            }
        }
        out
    }

    /// Judges a login: the user's name, or the status and words of the refusal.
    fn judge(&self) -> Result<String, (u16, &'static str)> {
        if self.body.len() > BODY_BYTES_MAX {
            return Err((413, "That is no form of this page.\n"));
        }
        let field = |name: &str| {
            let pairs = self.body.split(|&byte| byte == b'&');
            let mut values = pairs.filter_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
            values.next().and_then(|value| String::from_utf8(query::form_value(value)).ok())
        };
        let seal = self.visit.as_ref().map(|visit| sealed(VISIT, visit));
        if seal.is_none() || field("csrf") != seal {
            return Err((403, "This form is not of this page: reload it.\n"));
        }
        let is_sound = |name: &String| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_@".contains(&byte))
        };
        let name = field("name").filter(is_sound);
        name.filter(|name| field("password").as_ref() == Some(name))
            .ok_or((401, "Name and password do not go together.\n"))
    }
}

/// Returns whether a request has the cookie of a client that has logged in.
pub(super) fn is_logged_in(fields: &Fields<'_>) -> bool {
    let parts = cookie(fields, SESSION).and_then(|session| session.rsplit_once('.'));
    parts.is_some_and(|(name, seal)| sealed(SESSION, name) == seal)
}

fn cookie<'a>(fields: &'a Fields<'_>, name: &str) -> Option<&'a str> {
    let pairs = fields.all("cookie").flat_map(|value| value.split(|&byte| byte == b';'));
    let mut values = pairs.filter_map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        pair.trim().strip_prefix(name)?.strip_prefix('=')
    });
    values.next()
}

/// The seal that shows that a text is ours, and its purpose.
fn sealed(purpose: &str, text: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, KEY), format!("{purpose} {text}").as_bytes());
    tag.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}
