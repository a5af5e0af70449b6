//! Kinds of messages: what tells those of an app apart, and the condition by which a file recognises one.

use std::collections::BTreeMap;

use crate::carried::Turn;
use crate::json::{self, Leaf};
use crate::toml_text::{inline, quoted};
use crate::trace::{escaped, plain};

/// Members by which apps name the kind of a message.
const NAMING: [&str; 12] = [
    "type",
    "event",
    "action",
    "op",
    "opcode",
    "cmd",
    "command",
    "kind",
    "method",
    "target",
    "messageType",
    "msgType",
];
/// Names of messages with which clients come in, which a load does not repeat.
const JOINING: [&str; 16] = [
    "join",
    "subscribe",
    "login",
    "auth",
    "hello",
    "enter",
    "register",
    "init",
    "connect",
    "identify",
    "start",
    "create",
    "setup",
    "handshake",
    "open",
    "protocol",
];
/// A name of a kind is at most this long.
const NAME_BYTES_MAX: usize = 40;
/// Numbers that name a kind, as opcodes do, are below this.
const OPCODE_MAX: u64 = 1000;

/// A kind of messages.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Kind {
    pub(crate) event: Option<String>,
    pub(crate) tag: Tag,
}

/// Signs of a kind in the message itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Tag {
    /// Values at these pointers.
    Members(BTreeMap<String, Name>),
    /// An object with these members, of which none names it.
    Keys(Vec<String>),
    /// A text that is no JSON, up to what varies.
    Text(String),
    /// Nothing: the event's name is all.
    Nothing,
}

/// The name of a kind, a text or a number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Name {
    text: String,
    is_text: bool,
}

impl Kind {
    pub(crate) fn of(turn: &Turn, leaves: &[Leaf]) -> Kind {
        let event = turn.event.clone();
        let members: BTreeMap<String, Name> = leaves.iter().filter_map(naming).collect();
        let tag = if !members.is_empty() {
            Tag::Members(members)
        } else if event.is_some() {
            Tag::Nothing
        } else if turn.body.trim_start().starts_with('{') && !leaves.is_empty() {
            let mut keys: Vec<String> = leaves.iter().filter_map(|leaf| first_key(&leaf.pointer)).collect();
            keys.dedup();
            Tag::Keys(keys)
        } else if leaves.is_empty() {
            Tag::Text(command(&turn.body).to_owned())
        } else {
            Tag::Nothing
        };
        Kind { event, tag }
    }

    /// Its name, for comments and tables.
    pub(crate) fn name(&self) -> String {
        let members = match &self.tag {
            Tag::Members(members) => members.values().map(|name| name.text.clone()).collect(),
            Tag::Keys(keys) => vec![format!("{{{}}}", keys.join(", "))],
            Tag::Text(text) => vec![text.clone()],
            Tag::Nothing => Vec::new(),
        };
        // GraphQL's events are whole documents.
        let event = self.event.iter().map(|event| event.chars().take(NAME_BYTES_MAX).collect());
        let words: Vec<String> = event.chain(members).filter(|word: &String| !word.is_empty()).collect();
        if words.is_empty() { "message".to_owned() } else { words.join(" ") }
    }

    /// Returns whether one of its words begins with one of these.
    pub(crate) fn is_named(&self, words: &[&str]) -> bool {
        let name = self.name().to_lowercase();
        let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
        parts.any(|part| words.iter().any(|word| part.starts_with(word)))
    }

    /// Returns whether clients come in with it.
    pub(crate) fn is_joining(&self) -> bool {
        self.is_named(&JOINING)
    }

    /// The condition that holds for it, among all kinds of the same side; `None` if nothing tells it from others.
    pub(crate) fn condition(&self, all: &[&Kind]) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(event) = &self.event {
            parts.push(format!("event = {}", quoted(&plain(event))));
        }
        match &self.tag {
            Tag::Members(members) => {
                let value = |name: &Name| if name.is_text { quoted(&name.text) } else { name.text.clone() };
                let pairs =
                    members.iter().map(|(pointer, name)| format!("{} = {}", quoted(pointer), value(name)));
                parts.push(format!("json = {}", inline(pairs)));
            }
            Tag::Keys(keys) => {
                let has =
                    |kind: &Kind, key: &String| matches!(&kind.tag, Tag::Keys(keys) if keys.contains(key));
                let is_plain = |key: &&String| !key.contains(['{', '"', '\\']);
                let keys: Vec<&String> = keys.iter().filter(is_plain).collect();
                let own =
                    keys.iter().copied().find(|key| !all.iter().any(|kind| *kind != self && has(kind, key)));
                parts.push(format!(
                    "contains = {}",
                    quoted(&format!("\"{}\"", own.or(keys.first().copied())?))
                ));
            }
            Tag::Text(text) if !text.is_empty() => {
                parts.push(format!("regex = {}", quoted(&format!("^{}", escaped(text)))))
            }
            Tag::Text(_) | Tag::Nothing => {}
        }
        (!parts.is_empty()).then(|| inline(parts.into_iter()))
    }
}

/// The member that names the kind of a message: at the top, or in the first argument of an event.
fn naming(leaf: &Leaf) -> Option<(String, Name)> {
    let path = leaf.pointer.strip_prefix("/0/").or(leaf.pointer.strip_prefix('/'))?;
    let is_name = match leaf.is_text {
        true => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-:./".contains(c);
            !leaf.value.is_empty() && leaf.value.len() <= NAME_BYTES_MAX && leaf.value.chars().all(is_plain)
        }
        false => leaf.value.parse::<u64>().is_ok_and(|number| number < OPCODE_MAX),
    };
    let name = Name { text: leaf.value.clone(), is_text: leaf.is_text };
    (is_name && NAMING.contains(&path)).then(|| (leaf.pointer.clone(), name))
}

/// The first name in a pointer, if it is a member's.
fn first_key(pointer: &str) -> Option<String> {
    let first = pointer.strip_prefix('/')?.split('/').next()?;
    first.parse::<usize>().is_err().then(|| first.replace("~1", "/").replace("~0", "~"))
}

/// An object without members: SignalR's answer to the handshake.
const EMPTY: &str = "{}";

/// The word in capitals with which a text begins, as in STOMP, or the whole of a short one such as `ping`.
fn command(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = &text[..end];
    let is_command = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
    let is_beat = ["ping", "pong"].contains(&text.to_ascii_lowercase().as_str());
    // An empty object has no name either, but is told from all others.
    match (is_command || is_beat, text.trim()) {
        (true, _) => word,
        (_, EMPTY) => EMPTY,
        _ => "",
    }
}

/// A message with its values.
pub(crate) struct Message {
    pub(crate) turn: Turn,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) kind: Kind,
}

impl Message {
    pub(crate) fn new(turn: Turn) -> Message {
        let leaves = leaves_of(&turn.body);
        let kind = Kind::of(&turn, &leaves);
        Message { turn, leaves, kind }
    }
}

/// The values of a message: of JSON, or of JSON values with commas between them, as events have them.
pub(crate) fn leaves_of(body: &str) -> Vec<Leaf> {
    json::leaves(body).unwrap_or_else(|| {
        let mut leaves = json::leaves(&format!("[{body}]")).unwrap_or_default();
        for leaf in &mut leaves {
            leaf.range = leaf.range.start - 1..leaf.range.end - 1;
        }
        leaves
    })
}
