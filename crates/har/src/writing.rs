//! Messages as a file has them: the recorded text with placeholders for what varies.

use std::collections::{BTreeMap, BTreeSet};

use app::app_file::KEEPS_MAX;

use crate::carried::stomp::DESTINATION;
use crate::credentials::{is_argument, is_of_login, is_random, is_typed_secret, key_of_argument};
use crate::json::{Leaf, in_string, replaced};
use crate::kind::{Kind, Message, leaves_of};
use crate::naming::{SEQ, identifier, is_counter, is_of_id, is_of_person};
use crate::talk::Talk;
use crate::talk::purposes::Said;
use crate::toml_text::plain;
use crate::trace::Trace;

/// Keys of what names a room, in messages, parameters and paths.
const ROOMS: [&str; 17] = [
    "room",
    "room_id",
    "roomid",
    "room_name",
    "rooms",
    "match",
    "game",
    "lobby",
    "channel",
    "chat",
    "topic",
    "board",
    "doc",
    "document",
    "table",
    "conversation",
    "group",
];
/// The option that names a room by itself.
const TOPIC: &str = "topic";
/// Options that name a part of the server: the same for all clients, even if a page has them.
const NAMES: [&str; 4] = ["channel", "namespace", "vsn", "eio"];
/// The name of messages that subscribe, in STOMP.
const SUBSCRIBE: &str = "subscribe";
/// The key of what names a room by its place.
const ROOM: &str = "room";
/// Options that let a user in: all in them is the user's own.
const CREDENTIALS: [&str; 2] = ["auth", "init-payload"];
/// A time differs from the message's by less than a day, in seconds or milliseconds.
const DAY_S: f64 = 86_400.0;
/// A number that varies is seen to do so in this many messages.
const SERIES_MIN: usize = 3;
/// The same of a text with digits alone, under a key of what counts messages. Elsewhere, two in a row may be ids
/// of users, or amounts.
const COUNT_MIN: usize = 2;

/// The id of a message, and the user's message with it.
pub(crate) const ID: &str = "{id}";
pub(crate) const ID_AND_PADDING: &str = "{id} {padding}";

/// Writes the messages of one conversation.
pub(crate) struct Writing<'a, 't> {
    pub(crate) talk: &'a Talk,
    pub(crate) other: Option<&'a Talk>,
    pub(crate) trace: &'a mut Trace<'t>,
    /// Values that a file keeps of the server's messages: the message's number, with name and pointer of each.
    pub(crate) kept: BTreeMap<usize, BTreeSet<(String, String)>>,
    /// Replies of the protocol to steps of the opening: values can be kept of these.
    pub(crate) replies: BTreeSet<usize>,
    /// True once the opening is written: from there on, nothing more is kept in it.
    pub(crate) is_opened: bool,
    /// The message of the server that the next one answers, of which values are kept first.
    pub(crate) asked: Option<usize>,
    /// Remarks on what is not sure.
    pub(crate) notes: BTreeSet<String>,
}

impl Writing<'_, '_> {
    /// A message, with placeholders; `said` is what is measured in it, and `end` the last message that may have values.
    pub(crate) fn message(&mut self, at: usize, said: Option<&Said>, end: usize) -> String {
        let talk = self.talk;
        let message = &talk.messages[at];
        let body = &message.turn.body;
        if message.leaves.is_empty() {
            let is_said = said.is_some_and(|said| said.pointer.is_some());
            return if is_said { ID_AND_PADDING.to_owned() } else { plain(body) };
        }
        // Apps may refuse what is no UUID or number, or take equal ones for one message.
        let is_id_at = |pointer: &String| {
            let is_id = |leaf: &Leaf| is_uuid(&leaf.value) || is_digits(&leaf.value);
            message.leaves.iter().any(|leaf| leaf.pointer == *pointer && is_id(leaf))
        };
        let padding = said.map(|said| {
            let mut texts = talk.other_texts(at, said.pointer.as_deref());
            texts.retain(|pointer| !is_id_at(pointer));
            texts
        });
        let by: BTreeMap<String, String> = message
            .leaves
            .iter()
            .filter_map(|leaf| {
                let placeholder = match (said, &padding) {
                    (Some(said), _) if said.number.as_ref() == Some(&leaf.pointer) => Some(SEQ.to_owned()),
                    (Some(said), Some(padding)) if said.pointer.as_ref() == Some(&leaf.pointer) => {
                        Some(if padding.is_empty() { ID_AND_PADDING } else { ID }.to_owned())
                    }
                    (_, Some(padding)) if padding.contains(&leaf.pointer) => Some("{padding}".to_owned()),
                    _ => self.leaf(message, leaf, at, end, said.is_some()),
                };
                Some((leaf.pointer.clone(), placeholder?))
            })
            .collect();
        let text = replaced(body, &message.leaves, |leaf| by.get(&leaf.pointer).cloned());
        match said {
            // Nothing in it is a text: what the server hands on whole takes the id along.
            Some(said) if said.pointer.is_none() && said.needs_id() => with_id(&text),
            _ => text,
        }
    }

    /// A value in a message; `None`: it stays as it is.
    fn leaf(
        &mut self,
        message: &Message,
        leaf: &Leaf,
        at: usize,
        end: usize,
        is_measured: bool,
    ) -> Option<String> {
        if message.kind.is_named_at(&leaf.pointer)
            || leaf.value.is_empty()
            || !leaf.is_text && !leaf.is_number()
        {
            return None;
        }
        if let Some(fixed) = message.turn.fixed.iter().find(|sign| sign.pointer == leaf.pointer) {
            return Some(fixed.text.clone());
        }
        if leaf.pointer == DESTINATION {
            return self.destination(message, &leaf.value);
        }
        let found = self.kept_value(leaf, at, end).or_else(|| time(leaf, message.turn.at_s));
        if found.is_some() {
            return found;
        }
        if message.is_login() {
            return self.credential(message, leaf);
        }
        // An event's arguments have no names: with what joins, a client names the room first. A name or a
        // password may follow.
        let is_unnamed = leaf.key.is_empty() && message.kind.is_joining() && !is_measured;
        let is_room = is_unnamed && self.is_first_of_all(message, leaf);
        let found = self.room(if is_room { ROOM } else { &leaf.key }, &leaf.value);
        if found.is_some() {
            return found;
        }
        if leaf.is_number() {
            return if is_typed_secret(&leaf.key) {
                Some(self.trace.column(&leaf.key, &leaf.value))
            } else if self.is_own_number(message, leaf) {
                self.own_number(leaf, message.turn.at_s)
            } else {
                self.series(&message.kind, leaf, SERIES_MIN)
            };
        }
        if let Some(found) = self.counter(&message.kind, leaf) {
            return Some(found);
        }
        if let Some(found) = self.trace.resolve(&leaf.key, &leaf.value, message.turn.at_s, in_string) {
            return Some(found);
        }
        if is_uuid(&leaf.value) {
            return Some("{uuid}".to_owned());
        }
        // APIs write ids as texts, too. What is not measured has a column for those that no answer has.
        if is_digits(&leaf.value) && !is_of_person(&leaf.key) && self.is_own_number(message, leaf) {
            let at_s = message.turn.at_s;
            if is_measured {
                return self.own_number(leaf, at_s);
            }
            if let Some(found) = self.trace.own_number(&leaf.key, &leaf.value, at_s) {
                return Some(found);
            }
        }
        let is_personal = is_unnamed && !is_room || self.differs(message, leaf);
        (is_personal && !is_measured || is_of_person(&leaf.key))
            .then(|| self.trace.column(&leaf.key, &leaf.value))
    }

    /// A value in a message that logs in: the user's own, unless an answer had it.
    fn credential(&mut self, message: &Message, leaf: &Leaf) -> Option<String> {
        if !is_of_login(&leaf.key) {
            return None;
        }
        let arguments = message.leaves.iter().filter(|other| !message.kind.is_named_at(&other.pointer));
        let key = if is_argument(leaf) { key_of_argument(leaf, arguments) } else { &leaf.key };
        let found = self.trace.resolve(key, &leaf.value, message.turn.at_s, in_string);
        Some(found.unwrap_or_else(|| self.trace.column(key, &leaf.value)))
    }

    /// The destination of a frame, with a placeholder for a room's number.
    fn destination(&mut self, message: &Message, value: &str) -> Option<String> {
        let found = with_rooms(value);
        let is_found = found != plain(value);
        if message.kind.is_named(&[SUBSCRIBE]) {
            self.notes.insert(match is_found {
                true => "{room} stands for the number in the destination: --room-size 10 lets ten clients share one".to_owned(),
                false => "all clients share the recorded destination: write {room} into it for several, and run with --room-size".to_owned(),
            });
        }
        is_found.then_some(found)
    }

    /// Returns whether an argument is the first that both users say.
    fn is_first_of_all(&self, message: &Message, leaf: &Leaf) -> bool {
        let is_shared = |other: &&Leaf| other.key.is_empty() && !self.differs(message, other);
        message.leaves.iter().find(is_shared).is_some_and(|first| first.pointer == leaf.pointer)
    }

    /// A value that the server said before, under the same name or at random.
    fn kept_value(&mut self, leaf: &Leaf, at: usize, end: usize) -> Option<String> {
        // A random value is the same wherever it stands; any other may be equal by chance, but for its name.
        let key = (!is_random(&leaf.value)).then_some(leaf.key.as_str());
        if key == Some("") {
            return None;
        }
        let talk = self.talk;
        let asked = self.asked.and_then(|asked| {
            let is_same = |other: &&Leaf| other.value == leaf.value && key.is_none_or(|key| other.key == key);
            Some((asked, talk.messages[asked].leaves.iter().find(is_same)?))
        });
        let (number, found) = match asked {
            Some(found) => found,
            None => talk.source(&leaf.value, key, at.min(end))?,
        };
        let at_s = self.talk.messages[number].turn.at_s;
        let kept = self.kept.get(&number);
        let is_full =
            self.trace.is_full() || kept.is_some_and(|kept| kept.len() >= KEEPS_MAX) || !found.is_reachable();
        // A place is kept once, under one name, by however many messages it is used.
        let known = kept.into_iter().flatten().find(|(_, pointer)| *pointer == found.pointer);
        let known = known.map(|(name, _)| name.clone());
        if known.is_none() && (is_full || asked.is_none() && !self.can_keep(number)) {
            return None;
        }
        let name = known.unwrap_or_else(|| self.trace.keep(&found.key, &leaf.value, at_s));
        self.kept.entry(number).or_default().insert((name.clone(), found.pointer.clone()));
        Some(format!("{{{name}}}"))
    }

    /// Returns whether the opening has a step for this message, which can still keep a value.
    fn can_keep(&self, number: usize) -> bool {
        let message = &self.talk.messages[number];
        !self.is_opened
            && match message.turn.answers {
                Some(_) => self.replies.contains(&number),
                None => message.kind.condition(&self.talk.kinds(false)).is_some(),
            }
    }

    /// Returns whether each user says the same number here each time, and the other one another.
    fn is_own_number(&self, message: &Message, leaf: &Leaf) -> bool {
        let Some(other) = self.other else { return false };
        let values = |talk: &Talk| -> Vec<String> {
            let leaves = talk.of(true, &message.kind).flat_map(|(_, message)| &message.leaves);
            leaves.filter(|other| other.pointer == leaf.pointer).map(|other| other.value.clone()).collect()
        };
        // Once or twice, a number may differ by chance.
        let is_one = |values: &[String]| {
            (values.len() >= SERIES_MIN || is_of_id(&leaf.key))
                && values.windows(2).all(|pair| pair[0] == pair[1])
        };
        let (own, theirs) = (values(self.talk), values(other));
        is_one(&own) && is_one(&theirs) && !theirs.is_empty() && own.first() != theirs.first()
    }

    /// A number of the user's own: an answer's, or else the recorded one with a remark.
    fn own_number(&mut self, leaf: &Leaf, at_s: f64) -> Option<String> {
        let found = self.trace.own_number(&leaf.key, &leaf.value, at_s);
        if found.is_none() {
            let (key, column) = (&leaf.key, identifier(&leaf.key));
            self.notes.insert(format!(
                "{key} differs between the users, and no answer has it: give it a column, and write {{person.{column}}}"
            ));
        }
        found
    }

    /// Texts of digits that count messages: others vary as people type.
    fn counter(&self, kind: &Kind, leaf: &Leaf) -> Option<String> {
        if !is_digits(&leaf.value) {
            return None;
        }
        let values_min = if is_counter(&leaf.key) { COUNT_MIN } else { SERIES_MIN };
        self.series(kind, leaf, values_min).filter(|found| found == SEQ)
    }

    /// Numbers that count, and numbers that vary.
    fn series(&self, kind: &Kind, leaf: &Leaf, values_min: usize) -> Option<String> {
        let values = self
            .talk
            .of(true, kind)
            .filter_map(|(_, message)| message.leaves.iter().find(|other| other.pointer == leaf.pointer));
        let values: Vec<i64> = values.filter_map(|other| other.value.parse().ok()).collect();
        let (Some(min), Some(max)) = (values.iter().min(), values.iter().max()) else { return None };
        if values.len() < values_min || min == max {
            return None;
        }
        // The next one, and the one behind it: overflow is no step of one.
        let counts = values.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        match counts {
            true => Some(SEQ.to_owned()),
            false if *min >= 0 => Some(format!("{{random:{min}..{max}}}")),
            false => None,
        }
    }

    /// The name of a room with its number as a placeholder.
    pub(crate) fn room(&mut self, key: &str, value: &str) -> Option<String> {
        if !is_of_room(key) {
            return None;
        }
        let numbered = numbered_room(key, value);
        self.notes.insert(match numbered {
            Some(_) => format!(
                "{{room}} stands for the number in the {key}: --room-size 10 lets ten clients share one"
            ),
            None => format!(
                "all clients share the recorded {key}: write {{room}} into it for several, and run with --room-size"
            ),
        });
        numbered
    }

    /// Returns whether another user said something else here.
    fn differs(&self, message: &Message, leaf: &Leaf) -> bool {
        let Some(other) = self.other else { return false };
        let same = other.of(true, &message.kind).next();
        let theirs =
            same.and_then(|(_, other)| other.leaves.iter().find(|theirs| theirs.pointer == leaf.pointer));
        theirs.is_some_and(|theirs| theirs.value != leaf.value)
    }

    /// An option of the protocol: JSON or a text.
    pub(crate) fn option(&mut self, name: &str, text: &str, at_s: f64) -> String {
        let leaves = leaves_of(text);
        let lets_in = CREDENTIALS.contains(&name);
        if leaves.is_empty() || !text.starts_with(['{', '[']) {
            if NAMES.contains(&name) {
                return plain(text);
            }
            let resolved = self.trace.resolve(name, text, at_s, plain);
            let resolved = resolved.or_else(|| if name == TOPIC { self.room(name, text) } else { None });
            let resolved = resolved.or_else(|| lets_in.then(|| self.trace.column(name, text)));
            return resolved.unwrap_or_else(|| plain(text));
        }
        let by: BTreeMap<String, String> = leaves
            .iter()
            .filter(|leaf| leaf.is_text || leaf.is_number())
            .filter_map(|leaf| {
                let found = self
                    .room(&leaf.key, &leaf.value)
                    .or_else(|| self.trace.resolve(&leaf.key, &leaf.value, at_s, in_string));
                let is_own = leaf.is_text && is_of_person(&leaf.key) || lets_in && is_of_login(&leaf.key);
                let found = found.or_else(|| is_own.then(|| self.trace.column(&leaf.key, &leaf.value)));
                Some((leaf.pointer.clone(), found?))
            })
            .collect();
        replaced(text, &leaves, |leaf| by.get(&leaf.pointer).cloned())
    }
}

/// A path with a placeholder for a room's number behind a word for rooms.
pub(crate) fn with_rooms(path: &str) -> String {
    let mut parts: Vec<String> = plain(path).split('/').map(str::to_owned).collect();
    for at in 1..parts.len() {
        let part = &parts[at];
        let base = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let word = if base.is_empty() {
            parts[at - 1].trim_end_matches('s')
        } else {
            base.trim_end_matches(['-', '_', '.'])
        };
        if base.len() < part.len() && is_of_room(word) {
            parts[at] = format!("{base}{{room}}");
        }
    }
    parts.join("/")
}

/// The name of a room under this key, with its number as a placeholder.
pub(crate) fn numbered_room(key: &str, value: &str) -> Option<String> {
    let base = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = base.len() < value.len() && base.len() < 32 && value.len() - base.len() < 7;
    (is_of_room(key) && is_numbered).then(|| format!("{}{{room}}", plain(base)))
}

/// Returns whether what stands under a key names a room.
pub(crate) fn is_of_room(key: &str) -> bool {
    ROOMS.contains(&key.to_lowercase().replace('-', "_").as_str())
}

/// The time of the message, in whole seconds or milliseconds.
fn time(leaf: &Leaf, at_s: f64) -> Option<String> {
    let value: f64 = leaf.value.parse().ok().filter(|_| leaf.is_number() || is_digits(&leaf.value))?;
    let is_now = |seconds: f64| (seconds - at_s).abs() < DAY_S && at_s > DAY_S;
    match (is_now(value), is_now(value / 1e3)) {
        (true, _) => Some("{now}".to_owned()),
        (_, true) => Some("{now}000".to_owned()),
        _ => None,
    }
}

/// Returns whether it is a number without a sign, as a text has it, too.
fn is_digits(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether it is a UUID.
pub(crate) fn is_uuid(value: &str) -> bool {
    let groups: Vec<&str> = value.split('-').collect();
    let is_hex = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(is_hex)
}

/// An object with an id as its last member.
fn with_id(text: &str) -> String {
    let text = text.trim_end();
    format!("{},\"ref\":\"{{id}}\"}}", text.strip_suffix('}').unwrap_or(text))
}
