//! What is encoded once, and what both roles know: the version, and the numbers of a client's own messages.

use secret::Secret;

use super::binary;
use crate::dialects::json as plain;
use crate::dialects::parts::Parts;
use crate::http::query;
use crate::json;
use crate::options::{BadOption, Options};
use crate::stamp::{self, padding};

/// The topic of websocket-shootout's Phoenix server.
pub(super) const TOPIC: &str = "room:lobby";
/// The number of a client's join, which all its later messages show, and of all its heartbeats.
pub(super) const JOIN_REF: &str = "1";
pub(super) const HEARTBEAT_REF: &str = "0";
/// What a client speaks unless told otherwise.
const VSN: &str = "2.0.0";

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

/// Adds the version to the query, unless it is there.
pub(crate) fn complete(options: &mut Options) -> Result<(), BadOption> {
    let bad = |expected| BadOption::OfDialect { option: "vsn", expected };
    let asked = options.of_dialect.vsn.as_deref();
    let vsn = match (Version::in_path(options.path.reveal()), asked) {
        (Some(there), Some(asked)) if there != asked => return Err(bad("the version that the URL has")),
        (there, asked) => there.or(asked).unwrap_or(VSN).to_owned(),
    };
    let version = Version::of(&vsn).ok_or(bad("1.0.0 or 2.0.0"))?;
    if version == Version::V1 && options.of_dialect.binary {
        return Err(BadOption::OfDialect {
            option: "binary",
            expected: "version 2.0.0, which alone has binary messages",
        });
    }
    if Version::in_path(options.path.reveal()).is_none() {
        query::add(&mut options.path, "vsn", &vsn);
    }
    Ok(())
}

/// Topics and numbers, around what varies.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let of_dialect = &options.of_dialect;
    let join_params = of_dialect.join_params.as_ref().map_or("{}", Secret::reveal).trim();
    if json::object(join_params.as_bytes(), |_, _| {}).is_none() {
        return Err(BadOption::OfDialect { option: "join_params", expected: "a JSON object" });
    }
    let topic = of_dialect.topic.as_deref().unwrap_or(TOPIC);
    if topic.len() > usize::from(u8::MAX) {
        return Err(BadOption::OfDialect { option: "topic", expected: "at most 255 bytes" });
    }
    if of_dialect.binary {
        return binary_parts(options, topic, join_params);
    }
    let mut quoted = b"\"".to_vec();
    json::escape(&mut quoted, topic.as_bytes());
    quoted.push(b'"');
    let is_v2 = Version::in_path(options.path.reveal()).and_then(Version::of) != Some(Version::V1);
    let with_topic = |before: &str, after: &str| [before.as_bytes(), &quoted, after.as_bytes()].concat();
    let head = |event: &str| match is_v2 {
        true => with_topic("\",", &format!(r#","{event}",{{"body":{{"sendTime":""#)),
        false => {
            with_topic(r#"","topic":"#, &format!(r#","event":"{event}","payload":{{"body":{{"sendTime":""#))
        }
    };
    let returned = plain::parts(options)?.tail;
    Ok(Parts {
        opening: vec![join(is_v2, &quoted, join_params), heartbeat(is_v2)],
        start: if is_v2 { format!(r#"["{JOIN_REF}",""#) } else { r#"{"ref":""#.to_owned() }.into_bytes(),
        heads: [head("echo"), head("broadcast")],
        tail: [&returned[..], if is_v2 { b"]" } else { b"}" }].concat(),
        returned,
        usual: match is_v2 {
            true => with_topic("[null,null,", r#","broadcast","#),
            false => br#"{"event":"broadcast","#.to_vec(),
        },
        ..Parts::default()
    })
}

fn join(is_v2: bool, topic: &[u8], params: &str) -> Vec<u8> {
    let (before, after) = match is_v2 {
        true => (format!(r#"["{JOIN_REF}","{JOIN_REF}","#), format!(r#","phx_join",{params}]"#)),
        false => (
            r#"{"topic":"#.to_owned(),
            format!(r#","event":"phx_join","payload":{params},"ref":"{JOIN_REF}"}}"#),
        ),
    };
    [before.as_bytes(), topic, after.as_bytes()].concat()
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

/// For binary pushes: the topic and the event, and the padding.
fn binary_parts(options: &Options, topic: &str, join_params: &str) -> Result<Parts, BadOption> {
    let size = options.payload.padding.unwrap_or(0);
    let overhead = binary::HEAD_BYTES_MAX + stamp::BINARY_BYTES;
    let max = u32::try_from(options.limits.message_bytes_max.saturating_sub(overhead)).unwrap_or(u32::MAX);
    if size > max {
        return Err(BadOption::PayloadSize { min: 0, max });
    }
    let mut quoted = b"\"".to_vec();
    json::escape(&mut quoted, topic.as_bytes());
    quoted.push(b'"');
    Ok(Parts {
        opening: vec![join(true, &quoted, join_params), heartbeat(true)],
        start: topic.as_bytes().to_vec(),
        heads: [b"echo".to_vec(), b"broadcast".to_vec()],
        tail: padding(size as usize).collect(),
        ..Parts::default()
    })
}
