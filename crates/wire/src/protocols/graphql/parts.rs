//! What is encoded once.

use secret::Secret;

use super::facts::{INIT, SUBSCRIPTION, VARIABLES};
use crate::contract::{Letter, Utterance};
use crate::json;
use crate::options::{BadOption, Options};
use crate::template::{Piece, Quoting, Template};

/// What every copy starts with that a server writes as graphql-ws does.
pub(super) const PUSHED: &[u8] = br#"{"id":"1","type":"next","payload":"#;
/// The operations that open a session: a question that shows how far the server has come, and the subscription.
pub(super) const PROBE_ID: &[u8] = b"0";
pub(super) const SUBSCRIPTION_ID: &[u8] = b"1";
const PROBE: &[u8] = br#"{"id":"0","type":"subscribe","payload":{"query":"{__typename}"}}"#;

/// What is encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) init: Template,
    /// What follows the acknowledgement; a user's own app need not subscribe to anything.
    pub(super) opening: Vec<Template>,
    /// Bytes that usually follow the id of a message: the variables are closed as often as the data.
    pub(super) behind_id: usize,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let of_dialect = &options.of_dialect;
        let object = |flag, text: &str| {
            let object = options.template(text.trim(), Quoting::JSON)?;
            json::object(&object.sample(), |_, _| {}).ok_or(BadOption::of(flag, "a JSON object"))?;
            Ok(object)
        };
        let init = Template::literal(r#"{"type":"connection_init""#);
        let init = match of_dialect.settings.secret(INIT.name).map(Secret::reveal) {
            Some(payload) => init.text(r#","payload":"#).then(&object(&INIT, payload)?),
            None => init,
        };
        let of_bench = SUBSCRIPTION.default.filter(|_| of_dialect.app.is_none());
        let mut opening = Vec::new();
        if let Some(document) = of_dialect.settings.text(SUBSCRIPTION.name).or(of_bench) {
            let id = Template::literal(SUBSCRIPTION_ID);
            let variables = object(&VARIABLES, of_dialect.settings.text(VARIABLES.name).unwrap_or("{}"))?;
            opening.extend([operation(&id, document, &variables), Template::literal(PROBE)]);
        }
        Ok(Parts { init: init.text("}"), opening, behind_id: 0 })
    }

    /// An event's name is a document; the benchmark's is the name of a mutation's field.
    pub(super) fn letter(&self, utterance: &Utterance<'_>) -> Result<Letter, BadOption> {
        let &Utterance { event, ref body, kind, .. } = utterance;
        json::object(&body.sample(), |_, _| {}).ok_or(BadOption::OfDialect {
            option: "app",
            expected: "messages that are JSON objects, as GraphQL's variables are",
        })?;
        let id = Template::default().hole(Piece::Number);
        let text = if event.contains('{') {
            operation(&id, event, body)
        } else {
            operation(&id, &format!("mutation($payload:JSON!){{{event}(payload:$payload)}}"), body)
        };
        Ok(Letter { text: (&text).into(), kind, is_numbered: true, ..Letter::default() })
    }
}

fn operation(id: &Template, document: &str, variables: &Template) -> Template {
    let mut query = Vec::new();
    json::escape(&mut query, document.as_bytes());
    let head = Template::literal(r#"{"id":""#).then(id).text(r#"","type":"subscribe","payload":{"query":""#);
    head.text(query).text(r#"","variables":"#).then(variables).text("}}")
}
