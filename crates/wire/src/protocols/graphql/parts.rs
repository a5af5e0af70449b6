//! The parts encoded once.

use app::template::{Quoting, Template};
use secret::Secret;

use super::facts::{INIT, SUBSCRIPTION, VARIABLES};
use crate::options::{BadOption, Options};

/// The beginning of every copy that a server writes as graphql-ws does.
pub(super) const PUSHED: &[u8] = br#"{"id":"1","type":"next","payload":"#;
/// The operations that open a session: a question that shows how far the server has come, and the
/// subscription.
pub(super) const PROBE_ID: &[u8] = b"0";
pub(super) const SUBSCRIPTION_ID: &[u8] = b"1";
const PROBE: &[u8] = br#"{"id":"0","type":"subscribe","payload":{"query":"{__typename}"}}"#;

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) init: Template,
    /// Messages behind the acknowledgement; a user's own app need not subscribe to anything.
    pub(super) opening: Vec<Template>,
    /// Bytes that usually follow the id of a message: the variables are closed as often as the data.
    pub(super) behind_id: usize,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let of_dialect = &options.of_dialect;
        let init = Template::literal(r#"{"type":"connection_init""#);
        let init = match of_dialect.settings.secret(INIT.name).map(Secret::reveal) {
            Some(payload) => init.text(r#","payload":"#).then(&options.object(&INIT, payload)?),
            None => init,
        };
        let default = SUBSCRIPTION.default.filter(|_| of_dialect.app.is_none());
        let mut opening = Vec::new();
        if let Some(document) = of_dialect.settings.text(SUBSCRIPTION.name).or(default) {
            let id = Template::literal(SUBSCRIPTION_ID);
            let variables = of_dialect.settings.text(VARIABLES.name).unwrap_or("{}");
            let variables = options.object(&VARIABLES, variables)?;
            opening.extend([operation(&id, document, &variables), Template::literal(PROBE)]);
        }
        Ok(Parts { init: init.text("}"), opening, behind_id: 0 })
    }
}

/// The message that asks for an operation.
pub(super) fn operation(id: &Template, document: &str, variables: &Template) -> Template {
    let head = Template::literal(r#"{"id":""#).then(id).text(r#"","type":"subscribe","payload":{"query":""#);
    head.text(Quoting::JSON.of(document)).text(r#"","variables":"#).then(variables).text("}}")
}
