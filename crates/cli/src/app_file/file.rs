//! The TOML file of an app, key by key. Unknown keys are errors, so that a misspelt one is not silently ignored.

use std::collections::BTreeMap;

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// A name may be as long as this.
pub(super) const NAME_BYTES_MAX: usize = 40;

/// Values to keep: where each is, by its name.
pub(super) type Written = BTreeMap<String, Spanned<String>>;

/// The whole file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Option<Spanned<String>>,
    pub(super) protocol: Option<Spanned<String>>,
    pub(super) flags: Option<Spanned<BTreeMap<String, toml::Value>>>,
    pub(super) frames: Option<Spanned<Frames>>,
    #[serde(default)]
    pub(super) subprotocols: Vec<String>,
    pub(super) data: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) escape: Escape,
    pub(super) people: Option<Spanned<People>>,
    #[serde(default)]
    pub(super) login: Vec<Spanned<Login>>,
    pub(super) connect: Option<Connect>,
    #[serde(default)]
    pub(super) open: Vec<Spanned<Step>>,
    /// Kinds of rooms, by name.
    #[serde(default)]
    pub(super) room: BTreeMap<String, Spanned<Room>>,
    /// Kinds of messages, by name.
    #[serde(default)]
    pub(super) say: BTreeMap<String, Spanned<Say>>,
    #[serde(default)]
    pub(super) role: Vec<Spanned<Role>>,
    pub(super) echo: Option<Spanned<Echo>>,
    pub(super) broadcast: Option<Spanned<Broadcast>>,
    pub(super) publish: Option<Spanned<Publish>>,
    pub(super) stream: Option<Spanned<Stream>>,
    pub(super) flap: Option<Spanned<Flap>>,
    pub(super) resume: Option<Resume>,
    #[serde(default)]
    pub(super) error: Vec<ErrorRule>,
    #[serde(default)]
    pub(super) answer: Vec<AnswerRule>,
    /// Kinds of messages that the server says by itself, by name.
    #[serde(default)]
    pub(super) push: BTreeMap<String, Spanned<PushRule>>,
    #[serde(default)]
    pub(super) ignore: Vec<IgnoreRule>,
    #[serde(default)]
    pub(super) heartbeat: Heartbeats,
    #[serde(default)]
    pub(super) load: Load,
}

/// How much its clients do, as the flags of the same names have it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    pub(super) people: Option<Spanned<toml::Value>>,
    pub(super) rate: Option<Spanned<toml::Value>>,
    pub(super) duration: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub(super) limits: Vec<Spanned<String>>,
}

/// The clients' identities.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct People {
    pub(super) data: Option<Spanned<String>>,
    /// Columns that are made of others.
    #[serde(default)]
    pub(super) columns: BTreeMap<String, Spanned<String>>,
    pub(super) token: Option<Spanned<Token>>,
    /// Steps that everybody repeats besides.
    pub(super) visit: Option<Spanned<Vec<Spanned<String>>>>,
}

/// Each client's credential: a text with its own columns, or a signed token.
pub(super) enum Token {
    Text(String),
    Jwt(Jwt),
}

/// A token that is signed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jwt {
    pub(super) jwt: Spanned<String>,
    pub(super) secret: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) kid: Option<String>,
    pub(super) claims: Option<BTreeMap<String, Spanned<toml::Value>>>,
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl<'de> Visitor<'de> for TokenVisitor {
    type Value = Token;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text such as \"{person.token}\", or { jwt = \"HS256\", secret = \"env:NAME\" }")
    }

    fn visit_str<E>(self, text: &str) -> Result<Token, E> {
        Ok(Token::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Token, A::Error> {
        Jwt::deserialize(MapAccessDeserializer::new(map)).map(Token::Jwt)
    }
}

/// A plain request before the opening request: exactly one of `get` and `post`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    pub(super) get: Option<Spanned<String>>,
    pub(super) post: Option<Spanned<String>>,
    pub(super) form: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    pub(super) json: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Spanned<String>>,
    pub(super) expect: Option<Spanned<u16>>,
    #[serde(default)]
    pub(super) follow: bool,
    #[serde(default)]
    pub(super) keep: Written,
}

/// The opening request.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Connect {
    pub(super) path: Option<Spanned<String>>,
    pub(super) origin: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Spanned<String>>,
    pub(super) method: Option<Spanned<String>>,
    pub(super) body: Option<Spanned<String>>,
}

/// The frames of what is sent, and what comes in them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Frames {
    #[default]
    Text,
    Binary,
    /// Text, and what comes in may be several messages, a line each.
    Lines,
    /// Binary: MessagePack, of what the file has as JSON.
    #[serde(rename = "msgpack")]
    MessagePack,
    /// The same, with the length of each message before it.
    #[serde(rename = "delimited-msgpack")]
    DelimitedMessagePack,
    /// Text, and what comes in may be several records, each ended by this.
    Separator(String),
}

/// A message that goes as text, where others are packed.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AsText {
    Text,
}

/// How data is put into messages.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Escape {
    /// As the inside of a JSON string.
    #[default]
    Json,
    /// As it is.
    None,
}

/// One step of the opening: exactly one of its keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Option<Spanned<String>>,
    pub(super) frame: Option<Spanned<AsText>>,
    pub(super) replied: Option<Spanned<bool>>,
    pub(super) expect: Option<Spanned<When>>,
    pub(super) wait: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) keep: Written,
}

/// Rooms of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Room {
    pub(super) size: Option<Spanned<i64>>,
    pub(super) count: Option<Spanned<i64>>,
    pub(super) zipf: Option<Spanned<f64>>,
    /// The text of their data that the people of a room have in common.
    pub(super) of: Option<Spanned<String>>,
    pub(super) join: Option<Spanned<Join>>,
    pub(super) leave: Option<Spanned<Leave>>,
}

/// How a room is joined: what the protocol calls it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Join {
    pub(super) topic: Option<Spanned<String>>,
    pub(super) channel: Option<Spanned<String>>,
    pub(super) namespace: Option<Spanned<String>>,
    pub(super) params: Option<Spanned<String>>,
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Option<Spanned<String>>,
    pub(super) replied: Option<Spanned<bool>>,
    pub(super) expect: Option<Spanned<When>>,
    #[serde(default)]
    pub(super) keep: Written,
}

/// How a room is left, where that takes a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leave {
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Spanned<String>,
    pub(super) replied: Option<Spanned<bool>>,
    pub(super) expect: Option<Spanned<When>>,
}

/// Messages of one kind, for the rooms of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Say {
    pub(super) room: Option<Spanned<String>>,
    pub(super) to: Option<To>,
    /// The URL to publish it at, if it is published.
    pub(super) post: Option<Spanned<String>>,
    pub(super) event: Option<Spanned<String>>,
    pub(super) body: Spanned<String>,
    pub(super) copy: Option<Spanned<When>>,
    pub(super) own: Option<Spanned<When>>,
    pub(super) ack: Option<Spanned<When>>,
    pub(super) replied: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) keep: Written,
    pub(super) share: Option<Spanned<String>>,
    pub(super) rate: Option<Spanned<toml::Value>>,
}

/// A share of the people who say the same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Role {
    pub(super) name: Spanned<String>,
    pub(super) share: Spanned<String>,
    /// Nothing, if they only listen.
    #[serde(default)]
    pub(super) says: Vec<Spanned<RoleMessage>>,
    /// Rooms they never leave; by default all that are not visited.
    pub(super) rooms: Option<Spanned<Vec<Spanned<String>>>>,
    /// Steps they repeat besides.
    pub(super) visit: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A kind of messages that a role says, and how often.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleMessage {
    pub(super) say: Spanned<String>,
    /// Over all of its people.
    pub(super) rate: Option<Spanned<toml::Value>>,
    /// The time between two of the same person.
    pub(super) every: Option<Spanned<String>>,
}

/// The members of a room that hear a message.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum To {
    All,
    Others,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Echo {
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Spanned<String>,
    pub(super) reply: Option<Spanned<When>>,
    pub(super) replied: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) keep: Written,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Broadcast {
    pub(super) to: Option<To>,
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Spanned<String>,
    pub(super) copy: Option<Spanned<When>>,
    pub(super) own: Option<Spanned<When>>,
    pub(super) ack: Option<Spanned<When>>,
    pub(super) replied: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) keep: Written,
}

/// How clients lose their connections and come back, as the flags of the same names have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flap {
    pub(super) up: Spanned<String>,
    pub(super) away: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) how: Vec<Spanned<String>>,
    pub(super) resume: Option<bool>,
}

/// How a client that is back is told what it has missed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    pub(super) keep: Spanned<toml::Value>,
    pub(super) first: Option<Spanned<toml::Value>>,
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Option<Spanned<String>>,
}

/// The request by which the app is asked to tell a room something. What it is told stands here, or in
/// messages of several kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Publish {
    pub(super) post: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Spanned<String>>,
    pub(super) body: Option<Spanned<String>>,
    pub(super) expect: Option<Spanned<u16>>,
    pub(super) connections: Option<Spanned<u32>>,
    pub(super) copy: Option<Spanned<When>>,
}

/// How answers that come in pieces are asked for and read, as the flags of the same names have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stream {
    pub(super) api: Option<Spanned<String>>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) prompt: Option<Spanned<String>>,
    pub(super) method: Option<Spanned<String>>,
    pub(super) body: Option<Spanned<String>>,
    #[serde(rename = "as")]
    pub(super) form: Option<Spanned<String>>,
    pub(super) end: Option<Spanned<String>>,
    pub(super) tokens: Option<Spanned<String>>,
    pub(super) order: Option<Spanned<String>>,
    pub(super) stall: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorRule {
    pub(super) kind: Spanned<String>,
    pub(super) when: Spanned<When>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRule {
    pub(super) when: Spanned<When>,
    #[serde(default)]
    pub(super) keep: Written,
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IgnoreRule {
    pub(super) when: Spanned<When>,
    #[serde(default)]
    pub(super) keep: Written,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PushRule {
    pub(super) when: Spanned<When>,
    #[serde(default)]
    pub(super) keep: Written,
    pub(super) number: Option<Spanned<String>>,
    pub(super) time: Option<Spanned<String>>,
    pub(super) same: Option<Spanned<String>>,
    pub(super) room: Option<Spanned<String>>,
}

/// One table, or several.
#[derive(Default)]
pub(super) struct Heartbeats(pub(super) Vec<Heartbeat>);

impl<'de> Deserialize<'de> for Heartbeats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeartbeatsVisitor)
    }
}

struct HeartbeatsVisitor;

impl<'de> Visitor<'de> for HeartbeatsVisitor {
    type Value = Heartbeats;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[heartbeat], or several [[heartbeat]]")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Heartbeats, A::Error> {
        Heartbeat::deserialize(MapAccessDeserializer::new(map)).map(|one| Heartbeats(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Heartbeats, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Heartbeats)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Heartbeat {
    pub(super) every: Spanned<String>,
    pub(super) room: Option<Spanned<String>>,
    pub(super) event: Option<Spanned<String>>,
    pub(super) send: Spanned<String>,
}

/// How a message is recognised: all that is given must hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub(super) event: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) regex: Option<String>,
    #[serde(default)]
    pub(super) json: BTreeMap<String, Spanned<toml::Value>>,
}
