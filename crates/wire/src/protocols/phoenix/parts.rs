//! What is encoded once, and what both roles know: the version, and the numbers of a client's own messages.

use secret::Secret;

use super::binary;
use super::facts::{BINARY, JOIN_PARAMS, TOPIC, TOPIC_NAME, VERSION, VSN};
use crate::carried::{Letter, Utterance};
use crate::http::query;
use crate::options::{BadOption, Options};
use crate::template::{Piece, Quoting, Template};

/// The length of a topic is one byte of a binary message.
const TOPIC_BYTES_MAX: usize = u8::MAX as usize;

/// The number of a client's join, which all its later messages show, and of all its heartbeats.
pub(super) const JOIN_REF: &str = "1";
pub(super) const HEARTBEAT_REF: &str = "0";
/// What a reply to a message that was taken usually ends with, and other messages seldom: there the id is found sooner.
pub(super) const ACCEPTED: &[u8] = br#","status":"ok"}]"#;

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// As objects.
    V1,
    /// As arrays, or binary.
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

    /// What the query of a path says, if it does.
    pub(super) fn in_path(path: &str) -> Option<&str> {
        query::param(path, "vsn")
    }
}

/// What is encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) join: Template,
    pub(super) heartbeat: Vec<u8>,
    /// The topic joined, which may be each client's own.
    pub(super) topic: Template,
    /// The same as a JSON string, with its marks.
    quoted_topic: Template,
    version: Version,
    /// Most bytes of a message.
    message_bytes_max: usize,
    /// What a message that answers nothing usually starts with.
    pushed: Vec<u8>,
    /// Bytes that usually follow the id in one.
    behind_id: usize,
}

/// Adds the version to the query, unless it is there.
pub(super) fn complete(options: &mut Options) -> Result<(), BadOption> {
    let settings = &options.of_dialect.settings;
    let asked = settings.text(VERSION.name);
    let vsn = match (Version::in_path(options.path.reveal()), asked) {
        (Some(there), Some(asked)) if there != asked => {
            return Err(BadOption::of(&VERSION, "the version that the URL has"));
        }
        (there, asked) => there.or(asked).unwrap_or(VSN).to_owned(),
    };
    let version = Version::of(&vsn).ok_or(BadOption::of(&VERSION, "1.0.0 or 2.0.0"))?;
    if version == Version::V1 && settings.is_on(BINARY.name) {
        return Err(BadOption::of(&BINARY, "version 2.0.0, which alone has binary messages"));
    }
    if Version::in_path(options.path.reveal()).is_none() {
        query::add(&mut options.path, "vsn", &vsn);
    }
    Ok(())
}

impl Parts {
    /// The topic, and what is said about it.
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let settings = &options.of_dialect.settings;
        let join_params = settings.secret(JOIN_PARAMS.name).map_or("{}", Secret::reveal);
        let join_params = options.object(&JOIN_PARAMS, join_params)?;
        let topic = options.template(settings.text(TOPIC_NAME.name).unwrap_or(TOPIC), Quoting::Plain)?;
        if topic.longest(&options.people.rows).is_none_or(|bytes| bytes > TOPIC_BYTES_MAX) {
            return Err(BadOption::of(
                &TOPIC_NAME,
                "at most 255 bytes for each client, without its token or what its login has kept",
            ));
        }
        let quoted = Template::literal("\"").then(&topic.escaped()).text("\"");
        let is_v1 = Version::in_path(options.path.reveal()).and_then(Version::of) == Some(Version::V1);
        Ok(Parts {
            join: join(!is_v1, &quoted, &join_params),
            heartbeat: heartbeat(!is_v1),
            topic,
            version: if is_v1 { Version::V1 } else { Version::V2 },
            message_bytes_max: options.limits.message_bytes_max,
            pushed: match is_v1 {
                true => br#"{"event":""#.to_vec(),
                false => Template::literal("[null,null,").then(&quoted).text(",").start().to_vec(),
            },
            quoted_topic: quoted,
            behind_id: 0,
        })
    }

    /// Whether a message is as those usually are that answer nothing.
    #[inline]
    pub(super) fn is_pushed(&self, message: &[u8]) -> bool {
        message.starts_with(&self.pushed)
            && (self.version == Version::V2 || !message.starts_with(br#"{"event":"phx_"#))
    }

    /// Bytes that usually follow the id in such a message as this, or in a reply.
    #[inline]
    pub(super) fn bytes_behind_id(&self, message: &[u8]) -> usize {
        if message.ends_with(ACCEPTED) { self.behind_id + ACCEPTED.len() - 1 } else { self.behind_id }
    }

    pub(super) fn letter(&self, utterance: &Utterance<'_>) -> Result<Letter, BadOption> {
        let &Utterance { event, ref body, kind, .. } = utterance;
        let letter = Letter { kind, is_numbered: kind.is_some(), ..Letter::default() };
        if utterance.is_binary {
            let max = self.message_bytes_max.saturating_sub(binary::HEAD_BYTES_MAX);
            if body.bytes_max(0) > max || event.len() > usize::from(u8::MAX) {
                let max = u32::try_from(max).unwrap_or(u32::MAX);
                return Err(BadOption::PayloadSize { min: 0, max });
            }
            let event = event.as_bytes().to_vec();
            return Ok(Letter { text: body.into(), is_binary: true, event, ..letter });
        }
        let name = Quoting::JSON.of(event);
        let template = match self.version {
            Version::V2 => Template::literal(format!(r#"["{JOIN_REF}",""#))
                .hole(Piece::Number)
                .text("\",")
                .then(&self.quoted_topic)
                .text(",\"")
                .text(name)
                .text("\",")
                .then(body)
                .text("]"),
            Version::V1 => Template::literal(r#"{"ref":""#)
                .hole(Piece::Number)
                .text(r#"","topic":"#)
                .then(&self.quoted_topic)
                .text(r#","event":""#)
                .text(name)
                .text(r#"","payload":"#)
                .then(body)
                .text("}"),
        };
        Ok(Letter { text: (&template).into(), ..letter })
    }

    /// Others are sent what was sent, after another start.
    pub(super) fn handle_letters(&mut self, letters: &[&Letter]) {
        self.behind_id = letters.first().and_then(|letter| letter.text.bytes_behind_id()).unwrap_or(0);
    }
}

fn join(is_v2: bool, topic: &Template, params: &Template) -> Template {
    match is_v2 {
        true => Template::literal(format!(r#"["{JOIN_REF}","{JOIN_REF}","#))
            .then(topic)
            .text(r#","phx_join","#)
            .then(params)
            .text("]"),
        false => Template::literal(r#"{"topic":"#)
            .then(topic)
            .text(r#","event":"phx_join","payload":"#)
            .then(params)
            .text(format!(r#","ref":"{JOIN_REF}"}}"#)),
    }
}

fn heartbeat(is_v2: bool) -> Vec<u8> {
    let message = match is_v2 {
        true => format!(r#"[null,"{HEARTBEAT_REF}","phoenix","heartbeat",{{}}]"#),
        false => {
            format!(r#"{{"topic":"phoenix","event":"heartbeat","payload":{{}},"ref":"{HEARTBEAT_REF}"}}"#)
        }
    };
    message.into_bytes()
}
