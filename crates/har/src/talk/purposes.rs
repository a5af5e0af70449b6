//! Purposes of a client's messages: which come back, to whom, which answer the server and which keep a connection
//! alive.

use std::collections::{BTreeMap, HashSet};

use super::Talk;
use crate::carried::stomp::is_header;
use crate::json::Leaf;
use crate::kind::{Kind, Message};

/// Kinds of the client's messages that are looked at: an app has some tens.
const KINDS_MAX: usize = 128;
/// Messages of a kind that are followed, and messages after each in which it may come back.
const FOLLOWED_MAX: usize = 40;
const BEHIND_MAX: usize = 300;
/// Texts of a message that are looked for: people say one.
const TEXTS_MAX: usize = 16;
/// A value that stands within another is at least this long.
const WITHIN_BYTES_MIN: usize = 4;
/// An answer to the server follows it within this time, and heartbeats differ by no more.
const AT_ONCE_S: f64 = 0.3;
/// Names of messages that keep a connection alive.
const BEATS: [&str; 6] = ["ping", "pong", "heartbeat", "alive", "keepalive", "beat"];
/// The name of an answer to one of these, and the number of messages before it among which that may be.
const PONG: &str = "pong";
const LATE_MAX: usize = 20;
/// Names of questions and of answers to the one who asked.
const ANSWERS: [&str; 9] =
    ["answer", "reply", "result", "response", "echo", "ask", "get", "query", "request"];
/// Keys of values by which people and rooms are named: they come back, and are not what is said.
const NAMES: [&str; 24] = [
    "room", "room_id", "roomid", "channel", "topic", "match", "game", "lobby", "user", "username", "user_id",
    "userid", "name", "nick", "nickname", "player", "token", "password", "from", "to", "email", "session",
    "color", "type",
];
/// Keys of what people say, in the order in which they are preferred.
const TEXTS: [&str; 8] = ["text", "body", "message", "content", "msg", "say", "payload", "data"];
/// The first of [`TEXTS`], under which nothing but talk stands: `payload` and `data` hold a room as well.
const SAYINGS: usize = 6;
/// New texts with which a kind is what people say, though its name begins as a message does that joins.
const TALK_MIN: usize = 3;

/// The purpose of a kind of the client's messages.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// Everybody hears it, or all but the sender.
    Broadcast(Said),
    /// It comes back to its sender.
    Echo(Said),
    /// It keeps the connection alive.
    Heartbeat { every_s: f64 },
    /// It answers messages of this kind.
    Answer { to: Kind },
    /// It is said before the load.
    Opening,
}

/// A measured message.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// The place of the text that comes back; `None`: there is none, so that a member is added.
    pub(crate) pointer: Option<String>,
    /// Messages in which the text comes to others, and to the sender.
    pub(crate) copy: Option<Kind>,
    pub(crate) own: Option<Kind>,
    pub(crate) ack: Option<Kind>,
    /// The place of the message's number in it and in what answers it: the acknowledgement, or the echo.
    pub(crate) number: Option<String>,
    /// True if the protocol's own reply answers it.
    pub(crate) is_replied: bool,
    pub(crate) to_others: bool,
    /// True if one session cannot tell a broadcast from an echo.
    pub(crate) is_unsure: bool,
    pub(crate) count: usize,
}

impl Said {
    /// Returns whether it carries an id: an echo that is answered by number needs none.
    pub(crate) fn needs_id(&self) -> bool {
        self.number.is_none() || self.ack.is_some()
    }

    /// Returns whether a message of its kind, as a file has it, can be told from others of its kind.
    fn is_told_by(&self, message: &Message) -> bool {
        let leaves = &message.leaves;
        match &self.pointer {
            _ if !self.needs_id() => true,
            // A text that is no JSON becomes an id as a whole.
            Some(_) if leaves.is_empty() => true,
            Some(pointer) => {
                self.number.as_ref() != Some(pointer) && leaves.iter().any(|leaf| leaf.pointer == *pointer)
            }
            None => !leaves.is_empty() && is_object(&message.turn.body),
        }
    }
}

impl Talk {
    /// The newest of the messages of a measured kind that carry an id or a number of their own, with its number;
    /// `None`: a run could not count any.
    pub(crate) fn sample(&self, kind: &Kind, said: &Said) -> Option<(usize, &Message)> {
        self.of(true, kind).rev().find(|(_, message)| said.is_told_by(message))
    }

    /// The purpose of each kind of the client's messages; `other` is a session of another user at the same time.
    pub(crate) fn purposes(&self, other: Option<&Talk>) -> Vec<(Kind, Purpose)> {
        let kinds = self.kinds(true);
        let mut explained: HashSet<Kind> = HashSet::new();
        let mut found = Vec::new();
        for kind in kinds.into_iter().take(KINDS_MAX) {
            let purpose = match self.answer(kind).or_else(|| self.heartbeat(kind)) {
                Some(purpose) => purpose,
                None if kind.is_beat() || kind.is_joining() && !self.is_talk(kind) => Purpose::Opening,
                None => {
                    let said = self.said(kind, other, &explained).map(|said| self.acknowledged(kind, said));
                    said.or_else(|| self.numbered_echo(kind)).unwrap_or(Purpose::Opening)
                }
            };
            if let Purpose::Broadcast(said) | Purpose::Echo(said) = &purpose {
                explained.extend([&said.copy, &said.own, &said.ack].into_iter().flatten().cloned());
            }
            found.push((kind.clone(), purpose));
        }
        found
    }

    fn heartbeat(&self, kind: &Kind) -> Option<Purpose> {
        let times: Vec<f64> = self.of(true, kind).map(|(_, message)| message.turn.at_s).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        let is_regular = gaps.iter().all(|gap| (gap - mean).abs() < AT_ONCE_S.max(mean / 5.0));
        let is_named = kind.is_named(&BEATS);
        let has_texts =
            self.of(true, kind).any(|(at, message)| message.leaves.iter().any(|leaf| self.is_new(at, leaf)));
        // People are neither that regular nor silent: whoever types says something new.
        let is_beat = is_named || gaps.len() >= 3 && is_regular && mean >= 1.0 && !has_texts;
        (is_beat && !gaps.is_empty()).then_some(Purpose::Heartbeat { every_s: mean })
    }

    /// The kind of the server's messages that this one follows at once, each time; a pong may come late, and
    /// behind others.
    fn answer(&self, kind: &Kind) -> Option<Purpose> {
        let is_pong = kind.is_named(&[PONG]);
        // Where both sides ask, the server's pong is an answer itself.
        let is_ping = |kind: &Kind| kind.is_named(&BEATS) && !kind.is_named(&[PONG]);
        let before = |at: usize| {
            let mut before = self.messages[..at].iter().rev();
            match is_pong {
                true => before.take(LATE_MAX).find(|message| !message.turn.is_sent && is_ping(&message.kind)),
                false => before.next().filter(|message| !message.turn.is_sent),
            }
        };
        let mut asked: Vec<&Kind> = Vec::new();
        for (at, message) in self.of(true, kind) {
            let is_soon = |before: &&Message| is_pong || message.turn.at_s - before.turn.at_s < AT_ONCE_S;
            let question = before(at).filter(is_soon)?;
            asked.push(&question.kind);
        }
        let to = *asked.first()?;
        let is_same = asked.iter().all(|other| *other == to);
        let questions = self.of(false, to).count();
        let is_named = kind.is_named(&BEATS) || to.is_named(&BEATS);
        // People answer sometimes, programs each time; the recording may end before the last answer.
        (is_same && questions <= asked.len() + 1 && (is_named || asked.len() > 2) && !kind.is_joining())
            .then(|| Purpose::Answer { to: to.clone() })
    }

    /// The number of the question that a message answers: a late answer may stand behind others.
    pub(crate) fn question(&self, at: usize, to: &Kind) -> usize {
        let is_question = |before: &Message| !before.turn.is_sent && before.kind == *to;
        let found = self.messages[..at].iter().rposition(is_question);
        found.expect("an answer stands behind its question")
    }

    /// Returns whether people talk by it, as with `message.create`: what is joined stands under no such key.
    fn is_talk(&self, kind: &Kind) -> bool {
        let is_text = |at: usize, leaf: &Leaf| rank_of(&leaf.pointer) < SAYINGS && self.is_text(at, leaf);
        let messages = self.of(true, kind);
        let texts = messages.filter(|(at, message)| message.leaves.iter().any(|leaf| is_text(*at, leaf)));
        texts.take(TALK_MIN).count() == TALK_MIN
    }

    /// The purpose of what is said, if anybody hears it.
    fn said(&self, kind: &Kind, other: Option<&Talk>, explained: &HashSet<Kind>) -> Option<Purpose> {
        let (pointer, returns) = self.returns(kind);
        let is_replied = self.of(true, kind).any(|(_, message)| self.is_replied(message));
        let count = self.of(true, kind).count();
        let mut said = Said {
            pointer,
            copy: None,
            own: None,
            ack: None,
            number: None,
            is_replied,
            to_others: false,
            is_unsure: false,
            count,
        };
        // A second user's session shows who hears it. Without one, that is guessed from what came back here:
        // of which kinds, and how much more of them than was sent.
        if let Some(heard) = other.map(|other| self.heard(kind, &said, other)).filter(|heard| heard.is_some())
        {
            said.copy = heard;
            let back = returns.iter().find(|back| Some(*back) != said.copy.as_ref()).cloned();
            said.to_others = returns.is_empty();
            match returns.contains(said.copy.as_ref()?) {
                true => said.ack = back,
                false => said.own = back,
            }
            said.pointer = said.pointer.or_else(|| self.relayed_text(kind, said.copy.as_ref()?));
            said.pointer = said.pointer.or_else(|| self.whole_text(kind));
            return Some(Purpose::Broadcast(said));
        }
        let relayed = self.relayed(kind, &returns, explained);
        if returns.is_empty() {
            if let Some(copy) = relayed.filter(|_| other.is_none()) {
                said.pointer = self.relayed_text(kind, &copy);
                (said.copy, said.to_others) = (Some(copy), true);
                return Some(Purpose::Broadcast(said));
            }
            said.pointer = self.best_text(kind);
            return is_replied.then_some(Purpose::Echo(said));
        }
        if other.is_some() {
            said.copy = returns.first().cloned();
            return Some(Purpose::Echo(said));
        }
        let is_answer = kind.is_named(&ANSWERS) || returns.iter().any(|back| back.is_named(&ANSWERS));
        // More came of it than this client sent: the others' messages are of that kind, too.
        let is_foreign = |back: &&Kind| self.of(false, back).count() > count || *back == kind;
        if let Some(copy) = returns.iter().find(is_foreign).cloned() {
            said.ack = returns.into_iter().find(|back| *back != copy);
            said.copy = Some(copy);
        } else if is_answer {
            said.copy = returns.into_iter().next();
            return Some(Purpose::Echo(said));
        } else if let Some(copy) = relayed {
            said.own = returns.into_iter().next();
            said.copy = Some(copy);
        } else {
            said.is_unsure = true;
            let mut returns = returns.into_iter();
            (said.copy, said.ack) = (returns.next(), returns.next());
        }
        Some(Purpose::Broadcast(said))
    }

    fn is_replied(&self, message: &Message) -> bool {
        let is_reply = |other: &Message| other.turn.is_reply() && other.turn.answers == message.turn.asks;
        message.turn.asks.is_some() && self.messages.iter().any(is_reply)
    }

    /// The kind of the replies to this one, if the file has to recognise them.
    fn told_reply(&self, kind: &Kind) -> Option<&Kind> {
        let (_, message) = self.of(true, kind).next_back()?;
        let is_reply = |other: &&Message| {
            other.turn.is_told_reply()
                && other.turn.answers == message.turn.asks
                && message.turn.asks.is_some()
        };
        self.messages.iter().find(is_reply).map(|reply| &reply.kind)
    }

    /// The same with the reply that the file recognises.
    fn acknowledged(&self, kind: &Kind, mut purpose: Purpose) -> Purpose {
        match &mut purpose {
            Purpose::Broadcast(said) => {
                said.ack = said.ack.take().or_else(|| self.told_reply(kind).cloned());
                let is_free = |answer: &Kind| {
                    ![&said.copy, &said.own].into_iter().flatten().any(|heard| heard == answer)
                };
                if said.ack.is_none()
                    && let Some((answer, number)) = self.numbered(kind, is_free)
                {
                    (said.ack, said.number) = (Some(answer), Some(number));
                }
            }
            Purpose::Echo(said) => {
                let numbered = self.numbered(kind, |answer| said.copy.as_ref() == Some(answer));
                said.number = numbered.map(|(_, number)| number);
            }
            Purpose::Heartbeat { .. } | Purpose::Answer { .. } | Purpose::Opening => {}
        }
        purpose
    }

    /// An echo whose answer says no more than its number.
    fn numbered_echo(&self, kind: &Kind) -> Option<Purpose> {
        let told = self.told_reply(kind).map(|reply| (reply.clone(), None));
        let numbered = || self.numbered(kind, |_| true).map(|(answer, number)| (answer, Some(number)));
        let (copy, number) = told.or_else(numbered)?;
        let count = self.of(true, kind).count();
        // One that is asked once is a part of the opening.
        (count > 1).then(|| {
            Purpose::Echo(Said {
                pointer: self.best_text(kind),
                copy: Some(copy),
                own: None,
                ack: None,
                number,
                is_replied: false,
                to_others: false,
                is_unsure: false,
                count,
            })
        })
    }

    /// The place of the text that comes back, and the kinds in which it does, by how often.
    fn returns(&self, kind: &Kind) -> (Option<String>, Vec<Kind>) {
        let mut found: BTreeMap<String, BTreeMap<&Kind, usize>> = BTreeMap::new();
        for (at, message) in self.of(true, kind).take(FOLLOWED_MAX) {
            let behind = &self.messages[at + 1..self.messages.len().min(at + 1 + BEHIND_MAX)];
            let behind: Vec<&Message> = behind.iter().filter(|message| is_heard(message)).collect();
            let whole = message.leaves.is_empty().then(|| whole(&message.turn.body));
            let leaves = message.leaves.iter().filter(|leaf| self.is_text(at, leaf)).take(TEXTS_MAX);
            for leaf in leaves.chain(&whole) {
                for back in behind.iter().filter(|back| carries(back, &leaf.value)) {
                    *found.entry(leaf.pointer.clone()).or_default().entry(&back.kind).or_default() += 1;
                }
            }
        }
        let rank = |pointer: &str, kinds: &BTreeMap<&Kind, usize>| {
            (kinds.len(), kinds.values().sum::<usize>(), usize::MAX - rank_of(pointer))
        };
        let best = found.into_iter().max_by_key(|(pointer, kinds)| rank(pointer, kinds));
        let Some((pointer, kinds)) = best else { return (None, Vec::new()) };
        let mut kinds: Vec<(&Kind, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| usize::MAX - count);
        (Some(pointer), kinds.into_iter().map(|(kind, _)| kind.clone()).collect())
    }

    /// Returns whether a value is what somebody said: a text that nobody has said before, and no name.
    fn is_text(&self, at: usize, leaf: &Leaf) -> bool {
        let message = &self.messages[at];
        // The name of a kind comes back with each of its messages.
        let is_name = NAMES.contains(&leaf.key.to_lowercase().as_str())
            || is_header(leaf)
            || message.kind.is_named_at(&leaf.pointer);
        let is_fixed = message.turn.fixed.iter().any(|sign| sign.pointer == leaf.pointer);
        leaf.is_text && !leaf.value.is_empty() && !is_name && !is_fixed && self.is_new(at, leaf)
    }

    fn is_new(&self, at: usize, leaf: &Leaf) -> bool {
        leaf.is_text && self.is_first(at, &leaf.value)
    }

    /// The kind in which another user heard it.
    fn heard(&self, kind: &Kind, said: &Said, other: &Talk) -> Option<Kind> {
        let received = || other.messages.iter().filter(|message| is_heard(message));
        for (at, message) in self.of(true, kind).take(FOLLOWED_MAX) {
            let texts = message.leaves.iter().filter(|leaf| self.is_text(at, leaf)).take(TEXTS_MAX);
            let texts: Vec<&Leaf> = texts.collect();
            let whole = message.leaves.is_empty().then(|| whole(&message.turn.body));
            let pointer = said.pointer.as_deref();
            let is_meant = |leaf: &&Leaf| pointer.is_none_or(|pointer| leaf.pointer == pointer);
            let heard = |back: &Message| match texts.is_empty() && whole.is_none() {
                // Moves have no text: they are heard whole.
                true => {
                    !message.leaves.is_empty()
                        && message.leaves.iter().all(|leaf| {
                            back.leaves.iter().any(|other| other.key == leaf.key && other.value == leaf.value)
                        })
                }
                false => texts
                    .iter()
                    .copied()
                    .chain(&whole)
                    .filter(is_meant)
                    .any(|leaf| carries(back, &leaf.value)),
            };
            if let Some(back) = received().find(|back| heard(back)) {
                return Some(back.kind.clone());
            }
        }
        None
    }

    /// A kind of the server's messages that looks like what others say: the same name, or the same text in it.
    fn relayed(&self, kind: &Kind, returns: &[Kind], explained: &HashSet<Kind>) -> Option<Kind> {
        let (_, sample) = self.of(true, kind).next()?;
        let texts: HashSet<&str> = sample
            .leaves
            .iter()
            .filter(|leaf| leaf.is_text && !NAMES.contains(&leaf.key.to_lowercase().as_str()))
            // The name of a kind stands under the same key in all of them.
            .filter(|leaf| !sample.kind.is_named_at(&leaf.pointer))
            .map(|leaf| leaf.key.as_str())
            .collect();
        let looks = |other: &&&Kind| {
            let Some((_, message)) = self.of(false, other).next() else { return false };
            let keys: HashSet<&str> =
                message.leaves.iter().filter(|leaf| leaf.is_text).map(|leaf| leaf.key.as_str()).collect();
            *other == &kind || !texts.is_empty() && texts.is_subset(&keys)
        };
        let received = self.kinds(false);
        let open = |other: &&&Kind| !returns.contains(other) && !explained.contains(**other);
        received.iter().filter(open).find(looks).map(|kind| (*kind).clone())
    }

    /// The place of a text that both have: what is sent, and what others hear.
    fn relayed_text(&self, kind: &Kind, copy: &Kind) -> Option<String> {
        let keys: HashSet<&str> = self
            .of(false, copy)
            .flat_map(|(_, message)| &message.leaves)
            .filter(|leaf| leaf.is_text)
            .map(|leaf| leaf.key.as_str())
            .collect();
        self.texts(kind)
            .into_iter()
            .find(|leaf| keys.is_empty() || keys.contains(leaf.key.as_str()))
            .map(|leaf| leaf.pointer)
            .or_else(|| self.repeated_text(kind, copy))
    }

    /// The place of what people say, if others heard the same words from somebody else before.
    fn repeated_text(&self, kind: &Kind, copy: &Kind) -> Option<String> {
        let (_, message) = self.of(true, kind).next_back()?;
        let is_heard = |leaf: &Leaf| {
            let is_it = |other: &Leaf| other.is_text && other.key == leaf.key && other.value == leaf.value;
            self.of(false, copy).any(|(_, back)| back.leaves.iter().any(is_it))
        };
        let is_talk = |leaf: &&Leaf| {
            let is_said = leaf.is_text && !leaf.value.is_empty() && rank_of(&leaf.pointer) < SAYINGS;
            is_said && !message.kind.is_named_at(&leaf.pointer) && is_heard(leaf)
        };
        let talk = message.leaves.iter().filter(is_talk).min_by_key(|leaf| rank_of(&leaf.pointer));
        talk.map(|leaf| leaf.pointer.clone())
    }

    /// The place of a text that is no JSON: all of it.
    fn whole_text(&self, kind: &Kind) -> Option<String> {
        let (_, message) = self.of(true, kind).next_back()?;
        let is_json = kind.event.is_some() || message.turn.body.starts_with(['{', '[']);
        (message.leaves.is_empty() && !is_json).then(String::new)
    }

    fn best_text(&self, kind: &Kind) -> Option<String> {
        self.texts(kind).into_iter().next().map(|leaf| leaf.pointer)
    }

    /// The texts of a message, those first that people say.
    fn texts(&self, kind: &Kind) -> Vec<Leaf> {
        self.of(true, kind).next_back().map(|(at, _)| self.texts_of(at)).unwrap_or_default()
    }

    fn texts_of(&self, at: usize) -> Vec<Leaf> {
        let leaves = self.messages[at].leaves.iter();
        let mut texts: Vec<Leaf> = leaves.filter(|leaf| self.is_text(at, leaf)).cloned().collect();
        texts.sort_by_key(|leaf| rank_of(&leaf.pointer));
        texts
    }

    /// Places of a message's texts that are padding: they were said, and the id stands elsewhere.
    pub(crate) fn other_texts(&self, at: usize, pointer: Option<&str>) -> Vec<String> {
        let others = self.texts_of(at).into_iter().map(|leaf| leaf.pointer);
        others.filter(|other| Some(other.as_str()) != pointer).collect()
    }
}

/// Returns whether a text ends as an object does, which takes a further member.
fn is_object(text: &str) -> bool {
    text.trim_end().ends_with('}')
}

/// The preference among texts, by their keys.
pub(crate) fn rank_of(pointer: &str) -> usize {
    let key = pointer.rsplit('/').next().unwrap_or_default().to_lowercase();
    TEXTS.iter().position(|text| key == *text).unwrap_or(TEXTS.len())
}

/// A message that is no JSON, as one value.
fn whole(body: &str) -> Leaf {
    Leaf {
        pointer: String::new(),
        key: String::new(),
        range: 0..body.len(),
        is_text: true,
        value: body.to_owned(),
    }
}

/// Returns whether a message is the server's, and not the protocol's reply.
fn is_heard(message: &Message) -> bool {
    !message.turn.is_sent && message.turn.answers.is_none()
}

/// Returns whether a message has this value, or one with it inside.
pub(crate) fn carries(message: &Message, value: &str) -> bool {
    let has = |found: &str| found == value || value.len() >= WITHIN_BYTES_MIN && found.contains(value);
    match message.leaves.is_empty() {
        true => has(message.turn.body.trim_matches('"')),
        false => message.leaves.iter().any(|leaf| leaf.is_text && has(&leaf.value)),
    }
}
