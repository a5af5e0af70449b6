//! The request, encoded.

use app::template::{CompiledTemplate, Filling, Template};

use crate::asking::{HttpOptions, PIPELINING, PieceRules, body_template};
use crate::options::{BadOption, Options};
use crate::request;

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The request, up to what says how long its body is, for each kind of messages.
    heads: Vec<Template>,
    /// The rest of it, where that is the same every time.
    rest: Vec<u8>,
    pub(super) http: HttpOptions,
    /// The body of each kind, where it is a message, which each request has another of.
    pub(super) messages: Vec<CompiledTemplate>,
    /// Rules for answers that come in pieces.
    pub(super) pieces: Option<PieceRules>,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let http = HttpOptions::from(&options.of_dialect.settings);
        http.check()?;
        if http.stream.is_some() && http.pipelining > 1 {
            let expected = "1: a streamed answer has its connection to itself";
            return Err(BadOption::OfDialect { option: PIPELINING, expected });
        }
        let [path, query] = options.target()?;
        let usual = path.then(&query);
        let app = options.of_dialect.app.as_deref();
        let broadcasts = app.map_or(&[][..], |app| &app.broadcasts);
        let targets = broadcasts.iter().map(|broadcast| broadcast.target.as_ref().unwrap_or(&usual));
        let mut heads = Vec::with_capacity(broadcasts.len().max(1));
        for target in targets.chain(broadcasts.is_empty().then_some(&usual)) {
            heads.push(encode(options, &http, target)?);
        }
        let (pieces, rest) = (PieceRules::new(&http, &options.headers)?, rest(http.body.as_deref()));
        let messages = body_template(options, &http)?.into_iter().collect();
        Ok(Parts { heads, rest, http, messages, pieces })
    }

    /// Appends a request, for a message of this kind.
    pub(super) fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>, kind: usize) {
        let (head, message) = (&self.heads[kind], self.messages.get(kind));
        if let Some(message) = message.filter(|_| head.tells_body()) {
            let mut body = Vec::new();
            message.write(&mut body, filling, 0);
            head.write(out, &Filling { tail: &body, ..*filling }, 0);
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            return out.extend_from_slice(&body);
        }
        head.write(out, filling, 0);
        let Some(message) = message else { return out.extend_from_slice(&self.rest) };
        let start = out.len();
        message.write(out, filling, 0);
        let length = format!("Content-Length: {}\r\n\r\n", out.len() - start);
        out.splice(start..start, length.into_bytes());
    }
}

/// The text behind the head's last field of a request with this body, its length included.
fn rest(body: Option<&[u8]>) -> Vec<u8> {
    let length = body.map(|body| format!("Content-Length: {}\r\n", body.len()));
    [length.unwrap_or_default().as_bytes(), b"\r\n", body.unwrap_or_default()].concat()
}

/// The head of all requests for a target, the same every time but for the client's own values.
fn encode(options: &Options, http: &HttpOptions, target: &Template) -> Result<Template, BadOption> {
    if !request::is_target(&target.sample()) {
        return Err(BadOption::Path);
    }
    Ok(Template::literal(&http.method)
        .text(" ")
        .then(target)
        .text(format!(" HTTP/1.1\r\nHost: {}\r\n", options.host))
        .then(&options.encode_fields()?)
        .text(if http.keep_alive { "" } else { "Connection: close\r\n" }))
}
