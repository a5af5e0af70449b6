//! What is encoded once, and what a request says in its query.

use super::facts::{AUTH, BINARY, EIO, MSGPACK, NAMESPACE};
use super::packet::MAIN;
use super::transport::Transport;
use super::version::Version;
use crate::carried::{Letter, Utterance};
use crate::http::query;
use crate::io;
use crate::options::{BadOption, Options};
use crate::resumption::Resumption;
use crate::settings::Ack;
use crate::template::{Filling, Piece, Quoting, Template};

/// What is encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) version: Version,
    pub(super) transport: Transport,
    /// The namespace's name.
    pub(super) namespace: Vec<u8>,
    /// The packet that connects to it, where one is asked to.
    pub(super) connect: Option<Template>,
    /// The same as far as the namespace, and what lets the client into it.
    connects: [Template; 2],
    /// What events to and from it start with, without attachments.
    pub(super) usual: Vec<u8>,
    /// The same, with one.
    attached: Vec<u8>,
    has_acks: bool,
    /// Packets are maps of MessagePack.
    pub(super) is_packed: bool,
    /// Bytes that usually follow the id.
    pub(super) behind_id: usize,
}

/// Asks for the version and the transport, where the path does not say so itself.
pub(super) fn complete(options: &mut Options) -> Result<(), BadOption> {
    if query::param(options.path.reveal(), "EIO").is_none() {
        let eio = options.of_dialect.settings.number(EIO.name).unwrap_or(4).to_string();
        query::add(&mut options.path, "EIO", &eio);
    }
    let transport = Transport::of(options)?.first();
    if query::param(options.path.reveal(), "transport").is_none() {
        query::add(&mut options.path, "transport", transport);
    }
    Ok(())
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let version = Version::of(options).ok_or(BadOption::of(&EIO, "3 or 4"))?;
        let namespace = options.of_dialect.settings.text(NAMESPACE.name).unwrap_or("/");
        if !namespace.starts_with('/') || namespace.bytes().any(|byte| byte == b',' || byte < b' ') {
            return Err(BadOption::of(&NAMESPACE, "a name that starts with / and has no comma"));
        }
        let to = if namespace.as_bytes() == MAIN { String::new() } else { format!("{namespace},") };
        let auth = auth(options)?;
        if version == Version::V3 && !auth.is_empty() {
            return Err(BadOption::of(
                &AUTH,
                "a parameter of the URL: Engine.IO 3 knows no other (--token-in query:NAME)",
            ));
        }
        let settings = &options.of_dialect.settings;
        let (is_packed, transport) = (settings.is_on(MSGPACK.name), Transport::of(options)?);
        let fits =
            transport == Transport::WebSocket && version == Version::V4 && !settings.is_on(BINARY.name);
        if is_packed && !fits {
            return Err(BadOption::of(
                &MSGPACK,
                "the transport websocket of Engine.IO 4, without attachments",
            ));
        }
        // Engine.IO 3 connects to `/` without being asked to.
        let is_asked_for = version == Version::V4 || namespace.as_bytes() != MAIN;
        Ok(Parts {
            version,
            transport,
            namespace: namespace.as_bytes().to_vec(),
            connect: is_asked_for.then(|| Template::literal("40").text(&to).then(&auth)),
            connects: [Template::literal("40").text(&to), auth],
            usual: format!("42{to}").into_bytes(),
            attached: format!("451-{to}").into_bytes(),
            has_acks: options.of_dialect.ack == Ack::Callback,
            is_packed,
            behind_id: 0,
        })
    }

    /// An event whose arguments are the body: JSON values with commas between them, or one attachment.
    pub(super) fn letter(&self, utterance: &Utterance<'_>) -> Letter {
        let &Utterance { event, ref body, is_binary, kind, wants_reply, .. } = utterance;
        let name = Quoting::JSON.of(event);
        let mut template = Template::literal(if is_binary { &self.attached } else { &self.usual });
        let is_numbered = wants_reply || (kind.is_some() && self.has_acks);
        if is_numbered {
            template = template.hole(Piece::Number);
        }
        template = template.text("[\"").text(name).text("\"");
        let letter = Letter { kind, is_numbered, ..Letter::default() };
        if is_binary {
            template = template.text(r#",{"_placeholder":true,"num":0}]"#);
            return Letter { text: (&template).into(), attachment: Some(body.into()), ..letter };
        }
        if !body.is_empty() {
            template = template.text(",").then(body);
        }
        Letter { text: (&template.text("]")).into(), ..letter }
    }

    /// Writes the packet that connects to the namespace and goes on with a session, as socket.io-client does: `pid` and `offset`
    /// among what lets the client in.
    pub(super) fn write_resume(&self, out: &mut Vec<u8>, filling: &Filling<'_>, resumption: &Resumption) {
        let [start, auth] = &self.connects;
        start.write(out, filling, 0);
        let Resumption { session, offset, .. } = resumption;
        io::extend(out, &[br#"{"pid":""#, session, br#"","offset":""#, offset, b"\""]);
        let auth = auth.filled(filling);
        let members = auth.strip_prefix(b"{").unwrap_or(b"}").trim_ascii_start();
        io::extend(out, &[if members.starts_with(b"}") { b"" } else { b"," }, members]);
    }

    pub(super) fn handle_letters(&mut self, letters: &[&Letter]) {
        self.behind_id = letters.iter().find_map(|l| l.text.bytes_behind_id()).unwrap_or(0);
    }
}

/// What lets the client into the namespace: a JSON object, or nothing.
fn auth(options: &Options) -> Result<Template, BadOption> {
    let of_dialect = &options.of_dialect;
    let token = of_dialect.token.as_ref().filter(|_| of_dialect.token_in.is_none());
    match (of_dialect.settings.secret(AUTH.name), token) {
        (None, None) => Ok(Template::default()),
        (Some(_), Some(_)) => {
            let expected = "a token or an auth payload, not both";
            Err(BadOption::OfDialect { option: "token", expected })
        }
        (Some(auth), None) => options.object(&AUTH, auth.reveal()),
        (None, Some(token)) => {
            let token = options.template(token.reveal(), Quoting::Plain)?.quoted(Quoting::JSON);
            Ok(Template::literal(r#"{"token":""#).then(&token).text(r#""}"#))
        }
    }
}
