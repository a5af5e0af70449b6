//! The request, encoded: the blocks of its head, and its body.

use app::template::{CompiledTemplate, Filling, Template};
use codec::http2::head;
use codec::http2::hpack::{Blocks, Field, FieldValue, Indexing};

use crate::asking::{HttpOptions, NO_KEEP_ALIVE, PieceRules, body_template};
use crate::options::{BadOption, Options};

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) blocks: Blocks<Template>,
    /// The body, where it is the same every time.
    pub(super) body: Vec<u8>,
    /// The body, where each request has another.
    pub(super) message: Option<CompiledTemplate>,
    pub(super) http: HttpOptions,
    /// Rules for answers that come in pieces.
    pub(super) pieces: Option<PieceRules>,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let http = HttpOptions::from(&options.of_dialect.settings);
        http.check()?;
        if !http.keep_alive {
            let expected = "a kept connection: HTTP/2 has one for all requests";
            return Err(BadOption::OfDialect { option: NO_KEEP_ALIVE, expected });
        }
        if options.of_dialect.app.as_ref().is_some_and(|app| !app.login.is_empty()) {
            let expected = "no [[login]]: its requests go over HTTP/1.1, on the connection of the others";
            return Err(BadOption::OfDialect { option: "http2", expected });
        }
        let blocks = Blocks::new(&fields(options, &http)?);
        let (pieces, message) = (PieceRules::new(&http, &options.headers)?, body_template(options, &http)?);
        let body = http.body.clone().filter(|_| message.is_none()).unwrap_or_default();
        Ok(Parts { blocks, body, message, http, pieces })
    }

    /// Returns whether requests have bodies.
    pub(super) fn has_body(&self) -> bool {
        self.message.is_some() || !self.body.is_empty()
    }

    /// The body of one request, where each has another.
    pub(super) fn own_body(&self, filling: &Filling<'_>) -> Option<Vec<u8>> {
        self.message.as_ref().map(|message| {
            let mut body = Vec::new();
            message.write(&mut body, filling, 0);
            body
        })
    }
}

/// The fields of all requests, pseudo-fields first (RFC 9113 §8.3).
fn fields(options: &Options, http: &HttpOptions) -> Result<Vec<Field<Template>>, BadOption> {
    let [path, query] = options.target()?;
    let literal = |name: &str, value: &str, worth| Field {
        name: name.to_owned(),
        value: FieldValue::Literal(value.into()),
        worth,
    };
    let mut all = vec![
        literal(":method", &http.method, Indexing::Entry),
        literal(":scheme", options.scheme(), Indexing::Entry),
        literal(":authority", &options.host, Indexing::Entry),
        // It may have the client in it: as an entry, it would push out those that all requests share.
        Field { name: ":path".to_owned(), value: field_value(path.then(&query)), worth: Indexing::Nothing },
    ];
    for (name, value) in options.fields()? {
        // As HTTP/2 has them (RFC 9113 §8.2.1), however the user writes them.
        let name = name.to_ascii_lowercase();
        if head::is_foreign(&name, &value.sample()) {
            return Err(BadOption::Header);
        }
        // Never in a table, not even in a proxy's (RFC 7541 §7.1.3).
        let worth = if secret::is_secret(&name) { Indexing::Secret } else { Indexing::Entry };
        all.push(Field { name, value: field_value(value), worth });
    }
    // Frames tell the length of a body that each request has another of.
    if let Some(body) = http.body.as_ref().filter(|_| !http.is_template) {
        all.push(literal("content-length", &body.len().to_string(), Indexing::Nothing));
    }
    Ok(all)
}

fn field_value(template: Template) -> FieldValue<Template> {
    match template.as_literal() {
        Some(text) => FieldValue::Literal(text.into()),
        None => FieldValue::Filled(template),
    }
}
