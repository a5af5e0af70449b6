//! The messages of a conversation, by kind and by the values in them.

mod numbered;
pub(crate) mod purposes;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::carried::Turn;
use crate::json::Leaf;
use crate::kind::{Kind, Message};

/// Messages that are looked at, and values and bytes in all of them: more say nothing new, and would fill the
/// memory, where the recording stands as well.
pub(crate) const MESSAGES_MAX: usize = 4_000;
const LEAVES_MAX: usize = 200_000;
const BYTES_MAX: usize = 8 << 20;

/// The messages, and their kinds.
pub(crate) struct Talk {
    pub(crate) messages: Vec<Message>,
    /// The messages of each kind, by whether the client sent them; the protocol's replies are none.
    groups: HashMap<(bool, Kind), Vec<usize>>,
    hasher: RandomState,
    /// The first message with each value, by the value's hash: values are half of the memory of a talk.
    first: HashMap<u64, usize>,
    /// The first of the client's messages with each text, by the text's hash.
    sent: HashMap<u64, usize>,
    /// The first place of each value in the server's messages, by the hash of the value and any key, and of the
    /// value and its own.
    received: HashMap<u64, Place>,
    /// The number of messages after the first [`MESSAGES_MAX`], after the last whose values found room, and
    /// of long ones.
    pub(crate) left_out: usize,
}

/// A value in a message, by the numbers of both.
#[derive(Clone, Copy, Debug)]
struct Place {
    message: usize,
    leaf: usize,
}

impl Talk {
    /// Messages of a conversation; `type_at`: the member that names their kinds, as [`type_member`] finds it.
    ///
    /// [`type_member`]: crate::type_member
    pub(crate) fn new(turns: Vec<Turn>, type_at: Option<&str>) -> Talk {
        let mut talk = Talk {
            messages: Vec::new(),
            groups: HashMap::new(),
            hasher: RandomState::new(),
            first: HashMap::new(),
            sent: HashMap::new(),
            received: HashMap::new(),
            left_out: 0,
        };
        let (mut values, mut bytes, all) = (0, 0, turns.len());
        for turn in turns.into_iter().take(MESSAGES_MAX) {
            // Short ones behind a long one still say what is measured.
            if bytes + turn.body.len() > BYTES_MAX {
                continue;
            }
            let at = talk.messages.len();
            let message = Message::new(turn, type_at);
            values += message.leaves.len();
            bytes += message.turn.body.len();
            for (number, leaf) in message.leaves.iter().enumerate() {
                let value = talk.hasher.hash_one(&*leaf.value);
                talk.first.entry(value).or_insert(at);
                if message.turn.is_sent {
                    if leaf.is_text {
                        talk.sent.entry(value).or_insert(at);
                    }
                    continue;
                }
                // A random value is itself under any name; another is the same under its own name alone.
                for key in [None, Some(leaf.key.as_str())] {
                    let place = Place { message: at, leaf: number };
                    let value = talk.hasher.hash_one((&*leaf.value, key));
                    talk.received.entry(value).or_insert(place);
                }
            }
            // A reply is recognised by the message that it answers, and needs no rule as a kind does.
            if !message.turn.is_reply() {
                talk.groups.entry((message.turn.is_sent, message.kind.clone())).or_default().push(at);
            }
            talk.messages.push(message);
            if values > LEAVES_MAX {
                break;
            }
        }
        talk.left_out = all - talk.messages.len();
        talk
    }

    /// The first message of the server's before `end` that has the value, under this key if there is one, and
    /// the value in it; `None` if the client said it before.
    pub(crate) fn source(&self, value: &str, key: Option<&str>, end: usize) -> Option<(usize, &Leaf)> {
        let place = *self.received.get(&self.hasher.hash_one((value, key)))?;
        let is_own = self.sent.get(&self.hasher.hash_one(value)).is_some_and(|&at| at < place.message);
        let leaf = &self.messages[place.message].leaves[place.leaf];
        (place.message < end && !is_own).then_some((place.message, leaf))
    }

    /// Returns whether no message before this one has the value.
    fn is_first(&self, at: usize, value: &str) -> bool {
        self.first.get(&self.hasher.hash_one(value)) == Some(&at)
    }

    /// Kinds of one side, in the order of their first messages.
    pub(crate) fn kinds(&self, is_sent: bool) -> Vec<&Kind> {
        let own = self.groups.iter().filter(|((sent, _), _)| *sent == is_sent);
        let mut kinds: Vec<(usize, &Kind)> = own.map(|((_, kind), places)| (places[0], kind)).collect();
        kinds.sort_unstable_by_key(|(first, _)| *first);
        kinds.into_iter().map(|(_, kind)| kind).collect()
    }

    /// Messages of one kind of one side, with their numbers.
    pub(crate) fn of(
        &self,
        is_sent: bool,
        kind: &Kind,
    ) -> impl DoubleEndedIterator<Item = (usize, &Message)> {
        let places = self.groups.get(&(is_sent, kind.clone())).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|at| (*at, &self.messages[*at]))
    }
}
