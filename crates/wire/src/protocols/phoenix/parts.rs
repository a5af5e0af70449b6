//! Parts encoded once, and shared by both roles: the version, and the numbers of a client's own messages.

use app::app_file::{JOINS_MAX, Join};
use app::template::{Piece, Quoting, Template};
use codec::http::query;
use codec::ws::MessageType;
use secret::Secret;

use super::binary;
use super::facts::{BINARY, JOIN_PARAMS, TOPIC, TOPIC_NAME, VERSION, VSN};
use crate::carried::{AppMessage, MessageTemplate};
use crate::options::{BadOption, Options};

/// The length of a topic is one byte of a binary message.
const TOPIC_BYTES_MAX: usize = u8::MAX as usize;

/// The number of all of a client's heartbeats. Its joins come first, and have the numbers from 1 on: later
/// messages show the number of their topic's join.
pub(super) const HEARTBEAT_REF: &str = "0";
/// The beginning of a leave's number, before the join's number.
pub(super) const LEAVE_REF: &str = "leave-";
/// A message for a room that is not joined.
const NO_TOPIC: BadOption =
    BadOption::OfDialect { option: "app", expected: "messages for rooms that have a `join`" };
/// More topics than a client keeps in mind.
const TOO_MANY_TOPICS: BadOption =
    BadOption::OfDialect { option: "app", expected: "at most 8 kinds of rooms" };
/// Topics that are chosen in two ways.
const TWO_TOPICS: BadOption = BadOption::OfDialect {
    option: TOPIC_NAME.name,
    expected: "no topic: the app's file says which are joined",
};
/// The usual ending of a reply to a message that was taken, rare in others: there the id is found sooner.
pub(super) const ACCEPTED: &[u8] = br#","status":"ok"}]"#;

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// Messages are objects.
    V1,
    /// Messages are arrays, or binary.
    V2,
}

impl Version {
    /// Phoenix takes `~> 1.0.0` and `~> 2.0.0`.
    pub(super) fn of(vsn: &str) -> Option<Version> {
        let (version, patch) = match vsn.as_bytes() {
            [b'1', b'.', b'0', b'.', patch @ ..] => (Version::V1, patch),
            [b'2', b'.', b'0', b'.', patch @ ..] => (Version::V2, patch),
            _ => return None,
        };
        (!patch.is_empty() && patch.iter().all(u8::is_ascii_digit)).then_some(version)
    }

    /// Reads the version from the query of a path, if it is there.
    pub(super) fn in_path(path: &str) -> Option<&str> {
        query::param(path, "vsn")
    }
}

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The client's topics; at least one.
    pub(super) topics: Vec<Topic>,
    pub(super) heartbeat: Vec<u8>,
    version: Version,
    /// Most bytes of a message.
    message_bytes_max: usize,
    /// The usual beginning of a message that answers nothing.
    pushed: Vec<u8>,
    /// Bytes that usually follow the id in one.
    behind_id: usize,
}

/// A topic that is joined, and may be each client's own.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: Template,
    /// The name as a JSON string, with its quotation marks.
    quoted: Template,
    /// The payload that joins it.
    pub(super) join: Template,
    pub(super) leave: Template,
    /// The kind of rooms, where clients come and go.
    pub(super) visited: Option<u16>,
}

/// Adds the version to the query, unless it is there.
pub(super) fn complete(options: &mut Options) -> Result<(), BadOption> {
    let settings = &options.of_dialect.settings;
    let asked = settings.text(VERSION.name);
    let vsn = match (Version::in_path(options.path.reveal()), asked) {
        (Some(there), Some(asked)) if there != asked => {
            return Err(BadOption::of(&VERSION, "the version that the URL has"));
        }
        // A path that names a version is a user's own, copied from an app most likely: it goes before the
        // default.
        (there, asked) => there.or(asked).unwrap_or(VSN).to_owned(),
    };
    let version = Version::of(&vsn).ok_or(BadOption::of(&VERSION, "1.0.0 or 2.0.0"))?;
    if version == Version::V1 && settings.is_on(BINARY.name) {
        return Err(BadOption::of(&BINARY, "version 2.0.0, which alone has binary messages"));
    }
    if Version::in_path(options.path.reveal()).is_none() {
        options.path = query::with(options.path.reveal(), "vsn", &vsn).into();
    }
    Ok(())
}

impl Parts {
    /// The topic, and what is said about it.
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let is_v1 = Version::in_path(options.path.reveal()).and_then(Version::of) == Some(Version::V1);
        let version = if is_v1 { Version::V1 } else { Version::V2 };
        let topics: Vec<Topic> = (1..)
            .zip(joins(options)?)
            .map(|(number, Join { name, params, visited })| {
                let quoted = Template::literal("\"").then(&name.escaped()).text("\"");
                let leave = leave(version, number, &quoted);
                Topic { join: join(version, number, &quoted, &params), leave, name, quoted, visited }
            })
            .collect();
        let is_binary = options.of_dialect.settings.is_on(BINARY.name);
        let too_long = |topic: &Topic| match topic.name.longest(&options.people.rows) {
            Some(bytes) => bytes > TOPIC_BYTES_MAX,
            // Only binary messages have one byte for its length; what a server has named itself (LiveView) it
            // can read.
            None => is_binary || !topic.name.has_kept(),
        };
        if topics.iter().any(too_long) {
            return Err(BadOption::of(
                &TOPIC_NAME,
                "at most 255 bytes for each client, without its token; in binary messages without what its login has kept",
            ));
        }
        let pushed = match (version, &topics[..]) {
            (Version::V1, _) => br#"{"event":""#.to_vec(),
            (Version::V2, [topic]) => {
                Template::literal("[null,null,").then(&topic.quoted).text(",").start().to_vec()
            }
            // Of several topics, none is the usual one.
            (Version::V2, _) => b"[null,null,\"".to_vec(),
        };
        Ok(Parts {
            heartbeat: heartbeat(version),
            topics,
            version,
            message_bytes_max: options.limits.message_bytes_max,
            pushed,
            behind_id: 0,
        })
    }

    /// Returns whether a topic that messages name has a value in its name that the client was given at its
    /// login.
    pub(super) fn names_kept(&self) -> bool {
        self.topics.iter().any(|topic| topic.name.has_kept())
    }

    /// The topics that a client joins at once, and stays in: a bit each.
    pub(super) fn standing(&self) -> u8 {
        let of = |(at, topic): (usize, &Topic)| if topic.visited.is_none() { 1 << at } else { 0 };
        self.topics.iter().enumerate().map(of).sum()
    }

    /// Returns whether a message is as those usually are that answer nothing.
    #[inline]
    pub(super) fn is_pushed(&self, message: &[u8]) -> bool {
        message.starts_with(&self.pushed)
            // In the first version replies begin like anything else.
            && (self.version == Version::V2 || !message.starts_with(br#"{"event":"phx_"#))
    }

    /// Bytes that usually follow the id in such a message as this, or in a reply.
    #[inline]
    pub(super) fn bytes_behind_id(&self, message: &[u8]) -> usize {
        if message.ends_with(ACCEPTED) { self.behind_id + ACCEPTED.len() - 1 } else { self.behind_id }
    }

    pub(super) fn message_template(
        &self,
        app_message: &AppMessage<'_>,
    ) -> Result<MessageTemplate, BadOption> {
        let &AppMessage { event, ref body, kind, room, .. } = app_message;
        let quoted = &self.topics.get(usize::from(room)).ok_or(NO_TOPIC)?.quoted;
        let message_template =
            MessageTemplate { kind, is_numbered: kind.is_some(), ..MessageTemplate::default() };
        if app_message.message_type == MessageType::Binary {
            // The head has lengths of a byte each, so that its most is known before the topic is.
            let max = self.message_bytes_max.saturating_sub(binary::HEAD_BYTES_MAX);
            if body.bytes_max(0) > max || event.len() > usize::from(u8::MAX) {
                let max = u32::try_from(max).unwrap_or(u32::MAX);
                return Err(BadOption::PayloadSize { min: 0, max });
            }
            let event = event.as_bytes().to_vec();
            let message_type = MessageType::Binary;
            return Ok(MessageTemplate { text: body.into(), message_type, event, ..message_template });
        }
        let name = Quoting::JSON.of(event);
        let template = match self.version {
            Version::V2 => Template::literal(format!(r#"["{}",""#, room + 1))
                .hole(Piece::Number)
                .text("\",")
                .then(quoted)
                .text(",\"")
                .text(name)
                .text("\",")
                .then(body)
                .text("]"),
            Version::V1 => Template::literal(r#"{"ref":""#)
                .hole(Piece::Number)
                .text(r#"","topic":"#)
                .then(quoted)
                .text(r#","event":""#)
                .text(name)
                .text(r#"","payload":"#)
                .then(body)
                .text("}"),
        };
        Ok(MessageTemplate { text: (&template).into(), ..message_template })
    }

    /// Others are sent what was sent, after another start.
    pub(super) fn handle_templates(&mut self, templates: &[&MessageTemplate]) {
        self.behind_id = templates
            .first()
            .and_then(|message_template| message_template.text.bytes_behind_id())
            .unwrap_or(0);
    }
}

/// The messages that join the topics: as the app's file has it, or flags do.
fn joins(options: &Options) -> Result<Vec<Join>, BadOption> {
    let settings = &options.of_dialect.settings;
    let written = options.of_dialect.app.as_ref().map_or(&[][..], |app| &app.joins);
    let topic = settings.text(TOPIC_NAME.name);
    if !written.is_empty() {
        return match topic {
            Some(_) => Err(TWO_TOPICS),
            None if written.len() > JOINS_MAX => Err(TOO_MANY_TOPICS),
            None => Ok(written.to_vec()),
        };
    }
    let params = settings.secret(JOIN_PARAMS.name).map_or("{}", Secret::reveal);
    let params = options.object(&JOIN_PARAMS, params)?;
    let name = options.template(topic.unwrap_or(TOPIC), Quoting::Plain)?;
    Ok(vec![Join { name, params, visited: None }])
}

fn join(version: Version, number: u16, topic: &Template, params: &Template) -> Template {
    match version {
        Version::V2 => Template::literal(format!(r#"["{number}","{number}","#))
            .then(topic)
            .text(r#","phx_join","#)
            .then(params)
            .text("]"),
        Version::V1 => Template::literal(r#"{"topic":"#)
            .then(topic)
            .text(r#","event":"phx_join","payload":"#)
            .then(params)
            .text(format!(r#","ref":"{number}"}}"#)),
    }
}

/// The message that leaves a topic. Its number is none that a message or a join has.
fn leave(version: Version, number: u16, topic: &Template) -> Template {
    match version {
        Version::V2 => Template::literal(format!(r#"["{number}","{LEAVE_REF}{number}","#))
            .then(topic)
            .text(r#","phx_leave",{}]"#),
        Version::V1 => Template::literal(r#"{"topic":"#)
            .then(topic)
            .text(format!(r#","event":"phx_leave","payload":{{}},"ref":"{LEAVE_REF}{number}"}}"#)),
    }
}

fn heartbeat(version: Version) -> Vec<u8> {
    let message = match version {
        Version::V2 => format!(r#"[null,"{HEARTBEAT_REF}","phoenix","heartbeat",{{}}]"#),
        Version::V1 => {
            format!(r#"{{"topic":"phoenix","event":"heartbeat","payload":{{}},"ref":"{HEARTBEAT_REF}"}}"#)
        }
    };
    message.into_bytes()
}
