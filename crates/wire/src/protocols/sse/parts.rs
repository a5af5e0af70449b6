//! The request, encoded once.

use app::template::{Filling, Quoting, Template};
use codec::http::request::normalized_method;

use super::facts::{BODY, METHOD};
use crate::options::{BadOption, Options};
use crate::request;

/// The field of a client that comes back (HTML §9.2.4).
pub(super) const LAST_EVENT_ID: &str = "Last-Event-ID";
const ACCEPT: &str = "Accept";
const CONTENT_TYPE: &str = "Content-Type";
/// The media type of a form (WHATWG URL, "application/x-www-form-urlencoded").
const FORM: &str = "application/x-www-form-urlencoded";
/// Fields of a body, which go with it where a redirect turns its request into a GET (Fetch standard,
/// "request-body-header name").
const OF_BODIES: [&str; 4] = ["Content-Encoding", "Content-Language", "Content-Location", CONTENT_TYPE];

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Path and query.
    target: Template,
    original: RequestTemplate,
    /// The request where a redirect has turned it into a GET.
    as_get: RequestTemplate,
    /// A user's own app says what is broadcast.
    pub(super) has_app: bool,
}

/// A request without its target and `Last-Event-ID`.
#[derive(Debug)]
struct RequestTemplate {
    method: String,
    /// The head behind the target.
    rest: Template,
    /// The body; `None` sends none, nor its length.
    body: Option<Template>,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let [path, query] = options.target()?;
        let target = path.then(&query);
        if !request::is_target(&target.sample()) {
            return Err(BadOption::Path);
        }
        if field(options, LAST_EVENT_ID).is_some() {
            return Err(BadOption::Header);
        }
        let settings = &options.of_dialect.settings;
        let body = settings.text(BODY.name).map(|text| body(options, text)).transpose()?;
        let method = settings.text(METHOD.name).map(normalized_method);
        let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
        if !request::is_stream_method(method) {
            return Err(BadOption::of(&METHOD, "a method such as GET or POST"));
        }
        let is_of_body = |name: &str| OF_BODIES.iter().any(|field| name.eq_ignore_ascii_case(field));
        let mut without_body = options.clone();
        without_body.headers.retain(|(name, _)| !is_of_body(name));
        Ok(Parts {
            target,
            original: RequestTemplate::new(options, method, body)?,
            as_get: RequestTemplate::new(&without_body, "GET", None)?,
            has_app: options.of_dialect.app.is_some(),
        })
    }

    /// Appends a request for the stream behind an event, if there is one. A redirect may have led to another
    /// target, and have turned the request into a GET.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        filling: &Filling<'_>,
        redirected: Option<&str>,
        is_get: bool,
        last_id: &[u8],
    ) {
        let RequestTemplate { method, rest, body } = if is_get { &self.as_get } else { &self.original };
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        match redirected {
            Some(target) => out.extend_from_slice(target.as_bytes()),
            None => self.target.write(out, filling, 0),
        }
        rest.write(out, filling, 0);
        if !last_id.is_empty() {
            for part in [LAST_EVENT_ID.as_bytes(), b": ", last_id, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        let Some(body) = body else { return out.extend_from_slice(b"\r\n") };
        let start = out.len();
        body.write(out, filling, 0);
        let length = format!("Content-Length: {}\r\n\r\n", out.len() - start);
        out.splice(start..start, length.into_bytes());
    }

    /// Returns whether a redirect with this status turns the request into a GET (Fetch standard,
    /// "HTTP-redirect fetch").
    pub(super) fn becomes_get(&self, status: u16) -> bool {
        match status {
            301 | 302 => self.original.method == "POST",
            303 => self.original.method != "GET",
            _ => false,
        }
    }

    /// Path and query of this client's stream.
    pub(super) fn target(&self, filling: &Filling<'_>) -> String {
        self.target.filled_text(filling)
    }
}

impl RequestTemplate {
    fn new(options: &Options, method: &str, body: Option<Template>) -> Result<RequestTemplate, BadOption> {
        let accept = if field(options, ACCEPT).is_some() { "" } else { "Accept: text/event-stream\r\n" };
        let media = body.as_ref().filter(|_| field(options, CONTENT_TYPE).is_none());
        let media = media.and_then(|body| request::media_of(&body.sample()));
        let media = media.map(|media| format!("{CONTENT_TYPE}: {media}\r\n")).unwrap_or_default();
        let rest =
            format!(" HTTP/1.1\r\nHost: {}\r\n{accept}Cache-Control: no-store\r\n{media}", options.host);
        // A POST or PUT without a body says so: `Content-Length: 0` (RFC 9110 §8.6).
        let has_length = matches!(method, "POST" | "PUT");
        Ok(RequestTemplate {
            method: method.to_owned(),
            rest: Template::literal(rest).then(&options.encode_fields_with_cookies()?),
            body: body.or_else(|| has_length.then(Template::default)),
        })
    }
}

/// A template of the body, in which values are escaped as its media type says.
fn body(options: &Options, text: &str) -> Result<Template, BadOption> {
    let plain = options.template(text, Quoting::Plain)?;
    let media = field(options, CONTENT_TYPE).or(request::media_of(&plain.sample())).unwrap_or_default();
    let media = media.to_ascii_lowercase();
    if media.contains("json") {
        options.template(text, Quoting::JSON)
    } else if media.starts_with(FORM) {
        options.template(text, Quoting::Percent)
    } else {
        Ok(plain)
    }
}

/// The value of a field that the user has given.
fn field<'o>(options: &'o Options, name: &str) -> Option<&'o str> {
    let mut all = options.headers.iter();
    all.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.reveal())
}
