//! The request, encoded once.

use crate::options::{BadOption, Options};
use crate::request;
use crate::template::{Filling, Template};

/// The field of a client that comes back (HTML §9.2.4).
pub(super) const LAST_EVENT_ID: &str = "Last-Event-ID";
const ACCEPT: &str = "Accept";

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Path and query.
    target: Template,
    /// The head behind the target, up to what only clients that come back add.
    rest: Template,
    /// A user's own app says what is broadcast.
    pub(super) has_app: bool,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let [path, query] = options.target()?;
        let target = path.then(&query);
        let has = |field: &str| options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(field));
        if !request::is_target(&target.sample()) {
            return Err(BadOption::Path);
        }
        if has(LAST_EVENT_ID) {
            return Err(BadOption::Header);
        }
        let accept = if has(ACCEPT) { "" } else { "Accept: text/event-stream\r\n" };
        let rest = format!(" HTTP/1.1\r\nHost: {}\r\n{accept}Cache-Control: no-store\r\n", options.host);
        let rest = Template::literal(rest).then(&options.encode_fields_with_cookies()?);
        Ok(Parts { target, rest, has_app: options.of_dialect.app.is_some() })
    }

    /// Appends a request for the stream behind an event, if there is one; to another place if a redirect led
    /// there.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        filling: &Filling<'_>,
        redirected: Option<&str>,
        last_id: &[u8],
    ) {
        out.extend_from_slice(b"GET ");
        match redirected {
            Some(target) => out.extend_from_slice(target.as_bytes()),
            None => self.target.write(out, filling, 0),
        }
        self.rest.write(out, filling, 0);
        if !last_id.is_empty() {
            for part in [LAST_EVENT_ID.as_bytes(), b": ", last_id, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Path and query of this client's stream.
    pub(super) fn target(&self, filling: &Filling<'_>) -> String {
        self.target.filled_text(filling)
    }
}
