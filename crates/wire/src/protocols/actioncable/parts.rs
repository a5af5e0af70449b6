//! The parts encoded once.

use app::app_file::Join;
use app::template::{Quoting, Template};

use super::facts::{CHANNEL, CHANNEL_CLASS, CHANNEL_PARAMS, EXTENDED, PONGS, SUBSCRIPTIONS};
use crate::carried::{AppMessage, MessageTemplate};
use crate::flag::Flag;
use crate::options::{BadOption, Options};

/// A message for a room that is not joined.
const NO_SUBSCRIPTION: BadOption =
    BadOption::OfDialect { option: "app", expected: "messages for rooms that have a `join`" };
/// A beginning that no message has.
const NO_MESSAGE: &[u8] = b"\0";

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The commands that subscribe.
    pub(super) subscribe: Vec<Template>,
    /// Messages that end a subscription.
    pub(super) unsubscribe: Vec<Template>,
    /// The kind of rooms of each, where clients come and go.
    pub(super) visited: Vec<Option<u16>>,
    /// Number of those that a client stays in.
    pub(super) standing: usize,
    /// Identifiers of the subscriptions, as they stand in a JSON string.
    pub(super) identifiers: Vec<Template>,
    /// Number of subscriptions that messages go to and come from: the first, or each one of the app's file.
    counted: usize,
    /// True if the extended protocol is spoken, and pings are answered.
    pub(super) is_extended: bool,
    pub(super) answers_pings: bool,
    /// The beginning of a message to the first subscription, up to its action's name; or one that no message
    /// has, where the subscription has a name of each client's own.
    pub(super) usual: Vec<u8>,
}

impl Parts {
    /// Identifiers, in commands and answers.
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let settings = &options.of_dialect.settings;
        let joins = options.of_dialect.app.as_ref().map_or(&[][..], |app| &app.joins);
        let identifiers = if joins.is_empty() { of_flags(options)? } else { of_joins(options, joins)? };
        let own = identifiers.first().ok_or(BadOption::of(&SUBSCRIPTIONS, "at least one subscription"))?;
        let command = |command: &str, identifier: &Template| {
            let start = format!(r#"{{"command":"{command}","identifier":""#);
            Template::literal(start).then(identifier).text(r#""}"#)
        };
        let all = |name: &'static str| identifiers.iter().map(move |identifier| command(name, identifier));
        let visited: Vec<Option<u16>> =
            (0..identifiers.len()).map(|at| joins.get(at).and_then(|join| join.visited)).collect();
        let usual = |own: &[u8]| [br#"{"identifier":""#, own, br#"","message":{"action":""#].concat();
        Ok(Parts {
            subscribe: all("subscribe").collect(),
            unsubscribe: all("unsubscribe").collect(),
            standing: visited.iter().filter(|visited| visited.is_none()).count(),
            visited,
            is_extended: options.subprotocols.iter().any(|offered| offered == EXTENDED),
            answers_pings: settings.is_on(PONGS.name),
            usual: own.as_literal().map_or(NO_MESSAGE.to_vec(), usual),
            counted: joins.len().max(1),
            identifiers,
        })
    }

    /// Returns whether a subscription that messages name has a value in its name that the client was given at
    /// its login.
    pub(super) fn names_kept(&self) -> bool {
        self.identifiers[..self.counted].iter().any(Template::has_kept)
    }

    /// The subscriptions whose messages count.
    pub(super) fn counted(&self) -> &[Template] {
        &self.subscribe[..self.counted]
    }

    /// The action is a member of the data like any other, as `perform` has it in Rails' own client.
    pub(super) fn message_template(
        &self,
        app_message: &AppMessage<'_>,
    ) -> Result<MessageTemplate, BadOption> {
        let members = app_message.body.members().ok_or(BadOption::OfDialect {
            option: "app",
            expected: "messages that are JSON objects, as Action Cable's data are",
        })?;
        let own = self.identifiers.get(usize::from(app_message.room)).ok_or(NO_SUBSCRIPTION)?;
        let mut data = Template::literal("{");
        if !app_message.event.is_empty() {
            let comma = if members.is_empty() { "" } else { "," };
            data =
                data.text(r#""action":""#).text(Quoting::JSON.of(app_message.event)).text(r#"""#).text(comma);
        }
        let data = data.then(&members).text("}");
        let template = Template::literal(br#"{"command":"message","identifier":""#)
            .then(own)
            .text(br#"","data":""#)
            .then(&data.escaped())
            .text(br#""}"#);
        Ok(MessageTemplate { text: (&template).into(), kind: app_message.kind, ..MessageTemplate::default() })
    }
}

/// Identifiers of the subscriptions that flags ask for.
fn of_flags(options: &Options) -> Result<Vec<Template>, BadOption> {
    let settings = &options.of_dialect.settings;
    let params = settings.text(CHANNEL_PARAMS.name).unwrap_or("{}");
    let params = options.object(&CHANNEL_PARAMS, params)?.members().unwrap_or_default();
    let channel = Template::literal(Quoting::JSON.of(settings.text(CHANNEL_CLASS.name).unwrap_or(CHANNEL)));
    let numbers = 1..=settings.number(SUBSCRIPTIONS.name).unwrap_or(1);
    Ok(numbers.map(|number| identifier(&channel, &params, number)).collect())
}

/// Identifiers of the app's file's subscriptions.
fn of_joins(options: &Options, joins: &[Join]) -> Result<Vec<Template>, BadOption> {
    let is_there = |flag: &Flag| options.of_dialect.settings.names().any(|name| name == flag.name);
    if [CHANNEL_CLASS, CHANNEL_PARAMS, SUBSCRIPTIONS].iter().any(is_there) {
        let expected = "no channel: the app's file says which are subscribed to";
        return Err(BadOption::of(&CHANNEL_CLASS, expected));
    }
    let identifier_of =
        |join: &Join| identifier(&join.name.escaped(), &join.params.members().unwrap_or_default(), 1);
    Ok(joins.iter().map(identifier_of).collect())
}

/// The identifier of a subscription, as it stands in a JSON string.
fn identifier(channel: &Template, params: &Template, number: u64) -> Template {
    let comma = if params.is_empty() { "" } else { "," };
    let id = if number > 1 { format!(r#","id":{number}"#) } else { String::new() };
    let plain = Template::literal(r#"{"channel":""#).then(channel).text("\"").text(comma).then(params);
    plain.text(id).text("}").escaped()
}
