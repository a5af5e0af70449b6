//! The TOML file of a dialect, key by key. Unknown keys are errors, so that a misspelt one is not silently ignored.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) frames: Frames,
    #[serde(default)]
    pub(super) subprotocols: Vec<String>,
    pub(super) data: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) escape: Escape,
    #[serde(default)]
    pub(super) open: Vec<Spanned<Step>>,
    pub(super) echo: Option<Spanned<Echo>>,
    pub(super) broadcast: Option<Spanned<Broadcast>>,
    #[serde(default)]
    pub(super) error: Vec<ErrorRule>,
    #[serde(default)]
    pub(super) answer: Vec<AnswerRule>,
    #[serde(default)]
    pub(super) ignore: Vec<IgnoreRule>,
    pub(super) heartbeat: Option<Heartbeat>,
}

/// The frames of what is sent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Frames {
    #[default]
    Text,
    Binary,
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
    pub(super) send: Option<Spanned<String>>,
    pub(super) expect: Option<Spanned<When>>,
    pub(super) wait: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Echo {
    pub(super) send: Spanned<String>,
    pub(super) reply: Option<Spanned<When>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Broadcast {
    pub(super) send: Spanned<String>,
    pub(super) copy: Option<Spanned<When>>,
    pub(super) own: Option<Spanned<When>>,
    pub(super) ack: Option<Spanned<When>>,
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
    pub(super) send: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IgnoreRule {
    pub(super) when: Spanned<When>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Heartbeat {
    pub(super) every: Spanned<String>,
    pub(super) send: Spanned<String>,
}

/// How a message is recognised: all that is given must hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub(super) contains: Option<String>,
    pub(super) regex: Option<String>,
    #[serde(default)]
    pub(super) json: BTreeMap<String, Spanned<toml::Value>>,
}
