//! From what is asked for to what the clients of a run share.

use crate::config::Config;
use crate::dialect_id::DialectId;
use crate::http::fields;
use crate::http::request::is_host;
use crate::options::{BadOption, Options};

/// What a data row follows in a JSON message, and what follows it.
const BEFORE_ROW: &[u8] = br#"","data":"#;
const AFTER_ROW: &[u8] = b"}}";

/// The fields the handshake sets itself, and those that would change how the request is framed.
const RESERVED_FIELDS: [&str; 11] = [
    "connection",
    "content-length",
    "host",
    "origin",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "transfer-encoding",
    "upgrade",
];

impl Config {
    /// Checks the options and encodes the parts of a request and of a message that never change.
    pub fn new(mut options: Options) -> Result<Config, BadOption> {
        options.dialect.complete(&mut options)?;
        check(&options)?;
        let parts = options.dialect.parts(&options)?;
        if options.subprotocols.is_empty() {
            let own = options.dialect.subprotocols();
            options.subprotocols = own.iter().map(|&protocol| protocol.to_owned()).collect();
        }
        Ok(Config::of(options, parts))
    }

    /// The same, with messages that take these sizes in turn, which mean what [`Payload::padding`](crate::Payload)
    /// means.
    ///
    /// # Errors
    /// A size that no message can have; a dialect other than `raw` and `json`.
    pub fn with_sizes(self, sizes: &[u32]) -> Result<Config, BadOption> {
        let mut options = self.options().clone();
        let mut tail = |&size: &u32| {
            options.payload.padding = Some(size);
            options.dialect.parts(&options).map(|parts| parts.tail)
        };
        let tails = sizes.iter().map(&mut tail).collect::<Result<_, _>>()?;
        self.varied(tails, "sizes")
    }

    /// The same, with messages that carry these rows in turn, each of them a JSON value: after the stamp in `raw`, as
    /// `data` in the payload of `json`.
    ///
    /// # Errors
    /// A dialect other than these.
    pub fn with_rows(self, rows: &[String]) -> Result<Config, BadOption> {
        let is_json = self.options().dialect == DialectId::Json;
        let tail = |row: &String| match is_json {
            true => [BEFORE_ROW, row.as_bytes(), AFTER_ROW].concat(),
            false => row.clone().into_bytes(),
        };
        self.varied(rows.iter().map(tail).collect(), "rows")
    }

    fn varied(self, tails: Vec<Vec<u8>>, option: &'static str) -> Result<Config, BadOption> {
        if !matches!(self.options().dialect, DialectId::Raw | DialectId::Json) {
            return Err(BadOption::OfDialect { option, expected: "the dialect raw or json" });
        }
        Ok(self.with_tails(tails))
    }
}

fn check(options: &Options) -> Result<(), BadOption> {
    if !is_host(options.host.as_bytes()) {
        return Err(BadOption::Host);
    }
    let path = options.path.reveal().as_bytes();
    if !path.starts_with(b"/") || !path.iter().all(|b| b.is_ascii_graphic() && *b != b'#') {
        return Err(BadOption::Path);
    }
    for (name, value) in &options.headers {
        let reserved = RESERVED_FIELDS.iter().any(|r| name.eq_ignore_ascii_case(r));
        if reserved || !fields::is_token(name.as_bytes()) || !fields::is_value(value.reveal().as_bytes()) {
            return Err(BadOption::Header);
        }
    }
    if options.origin.as_ref().is_some_and(|origin| !fields::is_value(origin.as_bytes())) {
        return Err(BadOption::Header);
    }
    for (n, protocol) in options.subprotocols.iter().enumerate() {
        if !fields::is_token(protocol.as_bytes()) || options.subprotocols[..n].contains(protocol) {
            return Err(BadOption::Subprotocol);
        }
    }
    let has_transports = matches!(options.dialect, DialectId::Sockjs | DialectId::Socketio);
    if options.of_dialect.transport.is_some() && !has_transports {
        return Err(BadOption::OfDialect { option: "transport", expected: "the dialect sockjs or socketio" });
    }
    Ok(())
}
