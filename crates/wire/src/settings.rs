//! Options of a dialect. Everything has a default.

use std::collections::BTreeMap;
use std::sync::Arc;

use app::app_file::AppFile;
use secret::Secret;
use serde::{Deserialize, Serialize};

use crate::flag::{Flag, FlagKind, TRANSPORT};

/// A client's choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialectOptions {
    /// A token that lets the client in, passed on as it is.
    pub token: Option<Secret>,
    /// The place of the token; `None` for the place where the protocol's own clients put it.
    pub token_in: Option<TokenPlace>,
    /// The acknowledgement of a broadcast.
    pub ack: Ack,
    /// The user's own app; `None`: the benchmark's messages.
    pub app: Option<Arc<AppFile>>,
    /// Settings that only its protocol understands.
    pub settings: Settings,
}

impl From<Settings> for DialectOptions {
    /// Makes options in which nothing else was chosen.
    fn from(settings: Settings) -> DialectOptions {
        DialectOptions { settings, ..DialectOptions::default() }
    }
}

/// Places of a token in the upgrade request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenPlace {
    /// A parameter of that name in the query.
    Query(String),
    /// A header of that name.
    Header(String),
    /// A cookie of that name.
    Cookie(String),
}

/// The acknowledgement of a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ack {
    /// A message for the sender alone, where the dialect has one.
    #[default]
    Result,
    /// The sender's own copy: of servers that send everything they get to everyone.
    Copy,
    /// The answer that the message itself asks for; echoes, too, have theirs so.
    Callback,
}

/// Choices by the names of their [flags](Flag).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings(BTreeMap<String, Value>);

/// A value chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A text.
    Text(String),
    /// A credential.
    Secret(Secret),
    /// A number: nanoseconds, of a time.
    Number(u64),
    /// Switched on.
    On,
    /// Bytes that need not be text.
    Bytes(Vec<u8>),
}

impl Settings {
    /// Adds a choice.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Settings {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the choices of `others` where nothing was chosen.
    pub fn or(self, others: Settings) -> Settings {
        let mut all = others.0;
        all.extend(self.0);
        Settings(all)
    }

    /// The names of what was chosen.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The values chosen as text or as a secret, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Value::Text(text) => Some((name.as_str(), text.as_str())),
            Value::Secret(secret) => Some((name.as_str(), secret.reveal())),
            _ => None,
        })
    }

    /// The way in which sessions are to travel, where the protocol has several and one was chosen.
    pub fn transport(&self) -> Option<&str> {
        self.text(TRANSPORT)
    }

    /// A credential.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.0.values().filter_map(|value| match value {
            Value::Secret(secret) => Some(secret),
            _ => None,
        })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn secret(&self, name: &str) -> Option<&Secret> {
        match self.0.get(name)? {
            Value::Secret(secret) => Some(secret),
            _ => None,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        match self.0.get(name)? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::On)
    }

    /// A time in nanoseconds, or a size in bytes: as chosen, or as the flag says.
    ///
    /// # Panics
    /// If the flag is for neither.
    pub(crate) fn amount(&self, flag: &Flag) -> u64 {
        let (FlagKind::Time(default) | FlagKind::Size(default)) = flag.kind else {
            panic!("--{} has no default of its own", flag.name)
        };
        self.number(flag.name).unwrap_or(default)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<Secret> for Value {
    fn from(secret: Secret) -> Value {
        Value::Secret(secret)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Bytes(bytes)
    }
}
