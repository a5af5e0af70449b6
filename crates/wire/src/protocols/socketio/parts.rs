//! Parts encoded once, and the choices in a request's query.

use app::app_file::{JOINS_MAX, Join};
use app::template::{Filling, Piece, Quoting, Template};
use codec::http::query;
use codec::ws::MessageType;

use super::facts::{AUTH, BINARY, EIO, MSGPACK, NAMESPACE};
use super::packet::MAIN;
use super::transport::Transport;
use super::version::Version;
use crate::carried::{AppMessage, MessageTemplate};
use crate::options::{BadOption, Options};
use crate::resumption::Resumption;
use crate::settings::Ack;

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) version: Version,
    pub(super) transport: Transport,
    /// The namespaces that a client connects to; one, unless the app's file has several.
    pub(super) namespaces: Vec<Namespace>,
    /// The beginning of events to and from the first, without attachments.
    pub(super) usual: Vec<u8>,
    has_acks: bool,
    /// Packets are maps of MessagePack.
    pub(super) is_packed: bool,
    /// Bytes that usually follow the id.
    pub(super) behind_id: usize,
}

/// A namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(super) name: Vec<u8>,
    /// The packet that connects to it: as far as its name, and what lets the client in.
    connect: [Template; 2],
    /// The beginnings of events in it, without attachments and with one.
    starts: [Vec<u8>; 2],
}

impl Namespace {
    fn new(name: &str, auth: Template) -> Result<Namespace, BadOption> {
        // The comma ends the name in a packet, and there is no way to escape one.
        if !name.starts_with('/') || name.bytes().any(|byte| byte == b',' || byte < b' ') {
            return Err(BadOption::of(&NAMESPACE, "a name that starts with / and has no comma"));
        }
        let to = if name.as_bytes() == MAIN { String::new() } else { format!("{name},") };
        Ok(Namespace {
            name: name.as_bytes().to_vec(),
            connect: [Template::literal("40").text(&to), auth],
            starts: [format!("42{to}").into_bytes(), format!("451-{to}").into_bytes()],
        })
    }

    /// The packet that connects to it.
    pub(super) fn write_connect(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        for part in &self.connect {
            part.write(out, filling, 0);
        }
    }
}

/// Asks for the version and the transport, where the path does not say so itself.
pub(super) fn complete(options: &mut Options) -> Result<(), BadOption> {
    if query::param(options.path.reveal(), "EIO").is_none() {
        let eio = options.of_dialect.settings.number(EIO.name).unwrap_or(4).to_string();
        options.path = query::with(options.path.reveal(), "EIO", &eio).into();
    }
    let transport = Transport::of(options)?.first();
    if query::param(options.path.reveal(), "transport").is_none() {
        options.path = query::with(options.path.reveal(), "transport", transport).into();
    }
    Ok(())
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let version = Version::of(options).ok_or(BadOption::of(&EIO, "3 or 4"))?;
        let namespaces = namespaces(options)?;
        if version == Version::V3 && namespaces.len() > 1 {
            return Err(BadOption::of(&NAMESPACE, "one namespace over Engine.IO 3"));
        }
        if version == Version::V3 && namespaces.iter().any(|namespace| !namespace.connect[1].is_empty()) {
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
        Ok(Parts {
            version,
            transport,
            usual: namespaces[0].starts[0].clone(),
            namespaces,
            has_acks: options.of_dialect.ack == Ack::Callback,
            is_packed,
            behind_id: 0,
        })
    }

    /// The place of this among its namespaces.
    pub(super) fn place_of(&self, namespace: &[u8]) -> Option<usize> {
        self.namespaces.iter().position(|own| own.name == namespace)
    }

    /// An event whose arguments are the body: JSON values with commas between them, or one attachment.
    pub(super) fn message_template(
        &self,
        app_message: &AppMessage<'_>,
    ) -> Result<MessageTemplate, BadOption> {
        let &AppMessage { event, ref body, message_type, kind, wants_reply, room, .. } = app_message;
        let name = Quoting::JSON.of(event);
        let namespace = self.namespaces.get(usize::from(room)).ok_or(NO_NAMESPACE)?;
        let is_binary = message_type == MessageType::Binary;
        let mut template = Template::literal(&namespace.starts[usize::from(is_binary)]);
        let is_numbered = wants_reply || (kind.is_some() && self.has_acks);
        if is_numbered {
            template = template.hole(Piece::Number);
        }
        template = template.text("[\"").text(name).text("\"");
        let message_template = MessageTemplate { kind, is_numbered, ..MessageTemplate::default() };
        if is_binary {
            template = template.text(r#",{"_placeholder":true,"num":0}]"#);
            return Ok(MessageTemplate {
                text: (&template).into(),
                attachment: Some(body.into()),
                ..message_template
            });
        }
        if !body.is_empty() {
            template = template.text(",").then(body);
        }
        Ok(MessageTemplate { text: (&template.text("]")).into(), ..message_template })
    }

    /// Writes the packet that connects to the namespace and goes on with a session, as socket.io-client does:
    /// `pid` and `offset` among what lets the client in.
    pub(super) fn write_resume(&self, out: &mut Vec<u8>, filling: &Filling<'_>, resumption: &Resumption) {
        let [start, auth] = &self.namespaces[0].connect;
        start.write(out, filling, 0);
        let Resumption { session, offset, .. } = resumption;
        codec::io::extend(out, &[br#"{"pid":""#, session, br#"","offset":""#, offset, b"\""]);
        let auth = auth.filled(filling);
        // The members of the credential stand behind ours, in the same object.
        let members = auth.strip_prefix(b"{").unwrap_or(b"}").trim_ascii_start();
        codec::io::extend(out, &[if members.starts_with(b"}") { b"" } else { b"," }, members]);
    }

    pub(super) fn handle_templates(&mut self, templates: &[&MessageTemplate]) {
        self.behind_id = templates.iter().find_map(|l| l.text.bytes_behind_id()).unwrap_or(0);
    }
}

/// A message for a room that no namespace is.
const NO_NAMESPACE: BadOption =
    BadOption::OfDialect { option: "app", expected: "messages for rooms that have a `join`" };

/// The namespaces: as the app's file has them, or a flag does.
fn namespaces(options: &Options) -> Result<Vec<Namespace>, BadOption> {
    let (chosen, auth) = (options.of_dialect.settings.text(NAMESPACE.name), auth(options)?);
    let written = options.of_dialect.app.as_ref().map_or(&[][..], |app| &app.joins);
    match (written, chosen) {
        ([], name) => Ok(vec![Namespace::new(name.unwrap_or("/"), auth)?]),
        (_, Some(_)) => {
            Err(BadOption::of(&NAMESPACE, "no namespace: the app's file says which are connected to"))
        }
        (written, None) if written.len() > JOINS_MAX => {
            Err(BadOption::OfDialect { option: "app", expected: "at most 8 kinds of rooms" })
        }
        (written, None) => written.iter().map(|join| of_join(join, &auth)).collect(),
    }
}

/// One that the app's file has. What lets the client into all of them may be a flag's.
fn of_join(join: &Join, auth: &Template) -> Result<Namespace, BadOption> {
    let name = join.name.as_literal().and_then(|name| std::str::from_utf8(name).ok());
    let name = name.filter(|_| join.visited.is_none());
    let name = name.ok_or(BadOption::OfDialect {
        option: "app",
        expected: "namespaces that are the same for all, and that nobody leaves",
    })?;
    let has_own = join.params.as_literal() != Some(b"{}");
    Namespace::new(name, if has_own { join.params.clone() } else { auth.clone() })
}

/// The credential for the namespace: a JSON object, or nothing.
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
