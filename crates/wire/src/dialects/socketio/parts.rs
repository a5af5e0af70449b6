//! What is encoded once, and what a request says in its query.

use super::transport::Transport;
use super::version::Version;
use crate::dialects::parts::Parts;
use crate::dialects::{json, token};
use crate::http::query;
use crate::json::{escape, object};
use crate::options::{BadOption, Options};
use crate::stamp::{self, padding};

/// Asks for the version and the transport, where the path does not say so itself.
pub(crate) fn complete(options: &mut Options) -> Result<(), BadOption> {
    if options.of_dialect.token_in.is_some() {
        token::place(options, None)?;
    }
    if query::param(options.path.reveal(), "EIO").is_none() {
        let eio = options.of_dialect.eio.unwrap_or(4).to_string();
        query::add(&mut options.path, "EIO", &eio);
    }
    let transport = Transport::of(options)?.first();
    if query::param(options.path.reveal(), "transport").is_none() {
        query::add(&mut options.path, "transport", transport);
    }
    Ok(())
}

/// The message to a namespace up to what varies, and what follows the stamp.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let of_dialect = &options.of_dialect;
    let bad = |option, expected| BadOption::OfDialect { option, expected };
    let version = Version::of(options).ok_or(bad("eio", "3 or 4"))?;
    let namespace = of_dialect.namespace.as_deref().unwrap_or("/");
    if !namespace.starts_with('/') || namespace.bytes().any(|byte| byte == b',' || byte < b' ') {
        return Err(bad("namespace", "a name that starts with / and has no comma"));
    }
    let to = if namespace == "/" { String::new() } else { format!("{namespace},") };
    let auth = auth(options)?;
    if version == Version::V3 && !auth.is_empty() {
        return Err(bad(
            "auth",
            "a parameter of the URL: Engine.IO 3 knows no other (--token-in query:NAME)",
        ));
    }
    let connect = [b"40", to.as_bytes(), &auth].concat();
    // Engine.IO 3 connects to `/` without being asked to.
    let is_asked_for = version == Version::V4 || namespace != "/";
    let usual = if of_dialect.binary { format!("451-{to}") } else { format!("42{to}") }.into_bytes();
    let head = |name: &str| {
        let rest = if of_dialect.binary {
            format!(r#"["{name}",{{"_placeholder":true,"num":0}}]"#)
        } else {
            format!(r#"["{name}",{{"sendTime":""#)
        };
        [&usual[..], rest.as_bytes()].concat()
    };
    Ok(Parts {
        opening: if is_asked_for { vec![connect] } else { Vec::new() },
        heads: ["echo", "broadcast"].map(head),
        tail: tail(options)?,
        usual,
        ..Parts::default()
    })
}

/// What follows the stamp: in an attachment but padding.
fn tail(options: &Options) -> Result<Vec<u8>, BadOption> {
    if options.of_dialect.binary {
        let size = options.payload.padding.unwrap_or(0);
        let max = options.limits.message_bytes_max.saturating_sub(stamp::BINARY_BYTES);
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        if size > max {
            return Err(BadOption::PayloadSize { min: 0, max });
        }
        return Ok(padding(size as usize).collect());
    }
    let mut tail = json::parts(options)?.tail;
    // The payload is the last of an array, not of an object.
    tail.pop();
    tail.push(b']');
    Ok(tail)
}

/// What lets the client into the namespace: a JSON object, or nothing.
fn auth(options: &Options) -> Result<Vec<u8>, BadOption> {
    let of_dialect = &options.of_dialect;
    let bad = |option, expected| BadOption::OfDialect { option, expected };
    let token = of_dialect.token.as_ref().filter(|_| of_dialect.token_in.is_none());
    match (of_dialect.auth.as_ref(), token) {
        (None, None) => Ok(Vec::new()),
        (Some(_), Some(_)) => Err(bad("token", "a token or an auth payload, not both")),
        (Some(auth), None) => {
            let auth = auth.reveal().trim().as_bytes();
            object(auth, |_, _| {}).ok_or(bad("auth", "a JSON object"))?;
            Ok(auth.to_vec())
        }
        (None, Some(token)) => {
            let mut auth = br#"{"token":""#.to_vec();
            escape(&mut auth, token.reveal().as_bytes());
            auth.extend_from_slice(br#""}"#);
            Ok(auth)
        }
    }
}
