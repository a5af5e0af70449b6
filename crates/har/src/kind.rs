//! Kinds of messages: what tells those of an app apart, and the condition by which a file recognises one.

use std::collections::BTreeMap;

use crate::carried::Turn;
use crate::carried::stomp::{DESTINATION, Frame};
use crate::credentials::{arguments, is_argument, is_login, is_pin, login_command};
use crate::json::{self, Leaf};
use crate::naming::SEQ;
use crate::toml_text::{escaped, inline, plain, quoted};
use crate::type_member;

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

/// Commands of STOMP: those that log in, and the one that says something.
const LOGIN_COMMANDS: [&str; 2] = ["CONNECT", "STOMP"];
const SEND: &str = "SEND";
/// The member with JSON-RPC's answer.
const RESULT: &str = "result";
/// A number in a destination.
const NUMBER: char = '#';
const HEARTBEAT: &str = "heartbeat";
/// The expression for STOMP's heartbeat.
pub(crate) const BEAT: &str = r"^\r?\n$";

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
    /// A frame of STOMP: its command, its destination without numbers, and what names the message in its
    /// body, in the body's order.
    Frame { command: String, destination: String, names: Vec<(String, Name)> },
    /// White space alone: STOMP's heartbeat.
    Beat,
    /// Nothing: the event's name is all.
    Nothing,
}

/// The name of a kind, a text or a number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Name {
    text: String,
    is_text: bool,
}

impl Name {
    fn text(text: &str) -> Name {
        Name { text: text.to_owned(), is_text: true }
    }

    /// The name as comments have it: documents of GraphQL are long.
    fn shown(&self) -> String {
        self.text.chars().take(NAME_BYTES_MAX).collect()
    }

    /// The name as conditions have it.
    fn written(&self) -> String {
        if self.is_text { quoted(&self.text) } else { self.text.clone() }
    }
}

impl Kind {
    /// The kind of a message; `type_at`: the member that names it, where it is called unlike those of [`NAMING`].
    pub(crate) fn of(turn: &Turn, leaves: &[Leaf], type_at: Option<&str>) -> Kind {
        // From the surest sign to the weakest: names that the protocol gives, a frame's command, members such
        // as `type`, an event, a member that is used like `type`, the keys of an object, the first word.
        let event = turn.event.clone();
        let signs = turn.signs.iter().map(|sign| (sign.pointer.to_owned(), Name::text(&sign.text)));
        let signs: BTreeMap<String, Name> = signs.collect();
        if !signs.is_empty() {
            return Kind { event, tag: Tag::Members(signs) };
        }
        if let Some(frame) = Frame::of(&turn.body) {
            return Kind { event, tag: tag_of_frame(&frame) };
        }
        if event.is_none() && !turn.body.is_empty() && turn.body.trim().is_empty() {
            return Kind { event, tag: Tag::Beat };
        }
        let members: BTreeMap<String, Name> = leaves.iter().filter_map(naming).collect();
        let tag = if !members.is_empty() {
            Tag::Members(members)
        } else if event.is_some() {
            Tag::Nothing
        } else if let Some((pointer, word)) =
            type_at.and_then(|pointer| Some((pointer, type_member::word_at(pointer, leaves)?)))
        {
            Tag::Members([(pointer.to_owned(), Name::text(word))].into())
        } else if turn.body.trim_start().starts_with('{') && !leaves.is_empty() {
            let mut keys: Vec<String> = leaves.iter().filter_map(|leaf| first_key(&leaf.pointer)).collect();
            keys.dedup();
            Tag::Keys(keys)
        } else if leaves.is_empty() {
            Tag::Text(command(&turn.body).to_owned())
        } else if let Some(name) = leaves.first().filter(|first| is_name_of_login(first, leaves)) {
            Tag::Members([(name.pointer.clone(), Name::text(&name.value))].into())
        } else if let Some((word, _)) = login_command(&turn.body).filter(|_| turn.is_sent) {
            Tag::Text(word.to_owned())
        } else {
            Tag::Nothing
        };
        Kind { event, tag }
    }

    /// Its name, for comments and tables.
    pub(crate) fn name(&self) -> String {
        let members = match &self.tag {
            Tag::Members(members) => members.values().map(Name::shown).collect(),
            Tag::Frame { command, destination, names } => {
                let names = names.iter().map(|(_, name)| name.shown());
                [command.clone(), destination.clone()].into_iter().chain(names).collect()
            }
            Tag::Beat => vec![HEARTBEAT.to_owned()],
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

    /// Returns whether the value at this pointer names it.
    pub(crate) fn is_named_at(&self, pointer: &str) -> bool {
        match &self.tag {
            Tag::Members(names) => names.contains_key(pointer),
            Tag::Frame { names, .. } => names.iter().any(|(named, _)| named == pointer),
            _ => false,
        }
    }

    /// Returns whether it is a heartbeat by itself, and nothing that anybody says.
    pub(crate) fn is_beat(&self) -> bool {
        self.tag == Tag::Beat
    }

    /// Returns whether clients come in with it.
    pub(crate) fn is_joining(&self) -> bool {
        self.is_named(&JOINING) || self.is_login()
    }

    /// Returns whether the client logs in with it: its values are the user's, and none is a room.
    pub(crate) fn is_login(&self) -> bool {
        let event = self.event.as_deref().map(without_arguments);
        event.is_some_and(|event| is_login(&event))
            || match &self.tag {
                Tag::Members(members) => {
                    members.values().any(|name| name.is_text && is_login(&without_arguments(&name.text)))
                }
                // Only a text that logs in has `pin` for its kind.
                Tag::Text(text) => is_login(text) || is_pin(text),
                Tag::Frame { command, destination, names } => {
                    LOGIN_COMMANDS.contains(&command.as_str())
                        || command == SEND && is_login(destination)
                        || names.iter().any(|(_, name)| is_login(&name.text))
                }
                // Messages may have a token along.
                Tag::Keys(_) | Tag::Beat | Tag::Nothing => false,
            }
    }

    /// Returns whether it has a login's name that chats have for something else.
    fn is_pin(&self) -> bool {
        let members = match &self.tag {
            Tag::Members(members) => members.values().any(|name| name.is_text && is_pin(&name.text)),
            _ => false,
        };
        members || self.event.as_deref().is_some_and(|event| is_pin(&without_arguments(event)))
    }

    /// The condition that holds for it, among all kinds of the same side; `None` if nothing tells it from others.
    pub(crate) fn condition(&self, all: &[&Kind]) -> Option<String> {
        self.told(all, |_| true)
    }

    /// The condition that holds for the answer to one message alone, with its number at this pointer, among all
    /// kinds of the same side.
    pub(crate) fn numbered_condition(&self, pointer: &str, all: &[&Kind]) -> String {
        let event = self.event.as_ref().map(|event| format!("event = {}", quoted(&plain(event))));
        let mut pairs = vec![format!("{} = {}", quoted(pointer), quoted(SEQ))];
        if let Tag::Members(members) = &self.tag {
            let named = members.iter().filter(|(named, _)| *named != pointer);
            pairs.extend(named.map(|(named, name)| format!("{} = {}", quoted(named), name.written())));
        }
        // What refuses a call has its number, too, and so may a copy of another's message.
        let sign = match &self.tag {
            Tag::Keys(keys) if keys.iter().any(|key| key == RESULT) => Some(RESULT),
            Tag::Keys(keys) => {
                let is_number = |key: &str| pointer.ends_with(&format!("/{key}"));
                let is_own = |key: &&String| !is_number(key) && is_plain(key) && self.is_alone_with(key, all);
                keys.iter().find(is_own).map(String::as_str)
            }
            _ => None,
        };
        let sign = sign.map(|key| format!("contains = {}", quoted(&format!("\"{key}\""))));
        let json = format!("json = {}", inline(pairs.into_iter()));
        inline(event.into_iter().chain([json]).chain(sign))
    }

    /// Returns whether no other kind has this key.
    fn is_alone_with(&self, key: &str, all: &[&Kind]) -> bool {
        let has = |kind: &Kind| matches!(&kind.tag, Tag::Keys(keys) if keys.iter().any(|other| other == key));
        !all.iter().any(|kind| *kind != self && has(kind))
    }

    /// The same where nothing was asked: an answer's number is known to answers alone.
    pub(crate) fn unasked_condition(&self, all: &[&Kind]) -> Option<String> {
        self.told(all, |name| !name.text.starts_with('{'))
    }

    fn told(&self, all: &[&Kind], is_meant: impl Fn(&Name) -> bool) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(event) = &self.event {
            parts.push(format!("event = {}", quoted(&plain(event))));
        }
        match &self.tag {
            Tag::Members(members) => {
                let meant = members.iter().filter(|(_, name)| is_meant(name));
                let pairs = meant.map(|(pointer, name)| format!("{} = {}", quoted(pointer), name.written()));
                parts.push(format!("json = {}", inline(pairs)));
            }
            Tag::Keys(keys) => {
                let has =
                    |kind: &Kind, key: &String| matches!(&kind.tag, Tag::Keys(keys) if keys.contains(key));
                let keys: Vec<&String> = keys.iter().filter(|key| is_plain(key)).collect();
                // The keys of kinds may overlap: one that no other has is enough.
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
            Tag::Frame { command, destination, names } => {
                let others = all.iter().filter(|other| **other != self);
                let is_shared = others
                    .clone()
                    .any(|other| matches!(&other.tag, Tag::Frame { command: own, .. } if own == command));
                let expression = match is_shared {
                    true => expression_of_frame(command, destination, names),
                    false => format!("^{command}\\r?\\n"),
                };
                parts.push(format!("regex = {}", quoted(&expression)));
            }
            Tag::Beat => parts.push(format!("regex = {}", quoted(BEAT))),
            Tag::Text(_) | Tag::Nothing => {}
        }
        (!parts.is_empty()).then(|| inline(parts.into_iter()))
    }
}

/// Returns whether a key stands in JSON as it is, and is no placeholder in a condition.
fn is_plain(key: &str) -> bool {
    !key.contains(['{', '"', '\\'])
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

fn tag_of_frame(frame: &Frame<'_>) -> Tag {
    let leaves = json::leaves(frame.body).unwrap_or_default();
    let mut names: Vec<(String, Name)> = Vec::new();
    for (pointer, name) in leaves.iter().filter_map(naming) {
        // A member that is repeated would make the expression as long as the body.
        if names.iter().all(|(known, _)| *known != pointer) {
            names.push((pointer, name));
        }
    }
    let destination = frame.header(DESTINATION).unwrap_or_default();
    let mut without_numbers = String::new();
    for letter in destination.chars() {
        match letter.is_ascii_digit() {
            true if without_numbers.ends_with(NUMBER) => {}
            true => without_numbers.push(NUMBER),
            false => without_numbers.push(letter),
        }
    }
    Tag::Frame { command: frame.command.to_owned(), destination: without_numbers, names }
}

/// The expression that tells a frame from others of its command.
fn expression_of_frame(command: &str, destination: &str, names: &[(String, Name)]) -> String {
    let mut expression = format!("^{command}\\r?\\n");
    if !destination.is_empty() {
        let parts: Vec<String> = destination.split(NUMBER).map(escaped).collect();
        expression += &format!("(?s:.*)\\b{DESTINATION}:{}\\r?\\n", parts.join("[0-9]+"));
    }
    for (pointer, name) in names {
        let key = pointer.rsplit('/').next().unwrap_or_default();
        let value = escaped(&name.text);
        // The opcode 1 is no part of 10.
        let value = if name.is_text { format!("\"{value}\"") } else { format!("{value}\\b") };
        expression += &format!("(?s:.*)\"{}\"\\s*:\\s*{value}", escaped(key));
    }
    expression
}

/// Returns whether a list begins with the name of a login: `["login", "name", "password"]`.
fn is_name_of_login(first: &Leaf, leaves: &[Leaf]) -> bool {
    let is_named = || is_login(&first.value) || is_pin(&first.value) && leaves.iter().all(is_argument);
    first.is_text && first.pointer == "/0" && leaves.len() > 1 && is_named()
}

/// The name of an event; of a document of GraphQL, its head and its first field, whose arguments may have any
/// name.
fn without_arguments(event: &str) -> String {
    let mut depth = 0_usize;
    let head = event.splitn(3, '{').take(2).flat_map(str::chars);
    let outside = head.filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    outside.collect()
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
    /// A message with its values and its kind, which `type_at` may name.
    pub(crate) fn new(turn: Turn, type_at: Option<&str>) -> Message {
        let mut leaves = leaves_of(&turn.body);
        if leaves.is_empty() && turn.is_sent && turn.event.is_none() {
            leaves = match Frame::of(&turn.body) {
                Some(frame) => frame.leaves(&turn.body),
                None => arguments(&turn.body),
            };
        }
        let kind = Kind::of(&turn, &leaves, type_at);
        Message { turn, leaves, kind }
    }

    /// Returns whether the client logs in with it: its values are the user's.
    pub(crate) fn is_login(&self) -> bool {
        let values = self.leaves.iter().filter(|leaf| !self.kind.is_named_at(&leaf.pointer));
        let mut values = values.peekable();
        self.kind.is_login() || self.kind.is_pin() && values.peek().is_some() && values.all(is_argument)
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
