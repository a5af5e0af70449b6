//! The request, encoded.

use crate::asking::HttpOptions;
use crate::options::{BadOption, Options};
use crate::template::{Filling, Stencil, Template};

/// What is encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The request, up to what says how long its body is.
    head: Template,
    /// The rest of it, where that is the same every time.
    rest: Vec<u8>,
    pub(super) http: HttpOptions,
    /// The body where it is a message, which each request has another of.
    pub(super) message: Option<Stencil>,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let http = HttpOptions::from(&options.of_dialect.settings);
        http.check()?;
        let (head, rest) = (encode(options, &http)?, rest(http.body.as_deref()));
        Ok(Parts { head, rest, http, message: None })
    }

    /// Appends a request.
    pub(super) fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        self.head.write(out, filling, 0);
        let Some(message) = &self.message else { return out.extend_from_slice(&self.rest) };
        let start = out.len();
        message.write(out, filling, 0);
        let length = format!("Content-Length: {}\r\n\r\n", out.len() - start);
        out.splice(start..start, length.into_bytes());
    }
}

/// What follows the head's last field of a request with this body, and how long that is.
fn rest(body: Option<&[u8]>) -> Vec<u8> {
    let length = body.map(|body| format!("Content-Length: {}\r\n", body.len()));
    [length.unwrap_or_default().as_bytes(), b"\r\n", body.unwrap_or_default()].concat()
}

/// The head of all requests, the same every time but for who sends it.
fn encode(options: &Options, http: &HttpOptions) -> Result<Template, BadOption> {
    let [path, query] = options.target()?;
    Ok(Template::literal(&http.method)
        .text(" ")
        .then(&path)
        .then(&query)
        .text(format!(" HTTP/1.1\r\nHost: {}\r\n", options.host))
        .then(&options.encode_fields()?)
        .text(if http.keep_alive { "" } else { "Connection: close\r\n" }))
}
