//! What a server keeps of its broadcasts, for clients that lose their connections and come back.
//!
//! Rules. Each message of a room gets a number as it is broadcast, and carries it. A client that comes back names the last
//! that it has got, and is sent those behind it that are still there. A room keeps its latest messages: so many, or those of so
//! long; all rooms together no more than [`BYTES_MAX`]. A number that was never given is nobody's.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use crate::room::Room;

/// Bytes of all messages together; where there would be more, the room of the newest forgets its oldest.
const BYTES_MAX: usize = 64 << 20;
/// What a message takes beside its own bytes.
const MESSAGE_BYTES: usize = 96;
/// Characters of a token, and of these, those that are chance. The others follow from them, for this server alone.
const TOKEN_CHARS: usize = 20;
const CHANCE_CHARS: usize = 10;

/// How much a room keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its latest messages.
    Messages(u32),
    /// Those of the last nanoseconds.
    Time(u64),
}

/// What is done wrong to one message that is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mischief {
    /// It is forgotten.
    pub forget: bool,
    /// It is sent twice.
    pub again: bool,
    /// It changes places with the next.
    pub swap: bool,
}

/// What becomes of the k-th message that is sent again.
type Meddler = Box<dyn Fn(u64) -> Mischief + Send + Sync>;

/// What a server keeps.
pub struct History {
    keep: Keep,
    meddler: Meddler,
    own: RandomState,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rooms: HashMap<Room, VecDeque<(u64, u64, Message)>>,
    /// The last number that was given.
    number: u64,
    bytes: usize,
    /// Messages sent again.
    replayed: u64,
}

/// A message as it is sent: its text, and what belongs to it.
pub(crate) type Message = Arc<[Vec<u8>]>;

impl History {
    /// Nothing yet. Nothing goes wrong unless `meddler` says so.
    pub fn new(keep: Keep, meddler: impl Fn(u64) -> Mischief + Send + Sync + 'static) -> History {
        let (own, state) = (RandomState::new(), Mutex::default());
        History { keep, meddler: Box::new(meddler), own, state }
    }

    /// Numbers a message of a room, and keeps it as `encode` makes it of the number.
    pub(crate) fn add(&self, room: Room, now_ns: u64, encode: impl FnOnce(u64) -> Vec<Vec<u8>>) -> Message {
        let mut state = self.lock();
        state.number += 1;
        let number = state.number;
        let message: Message = encode(number).into();
        state.bytes += bytes_of(&message);
        let log = state.rooms.entry(room).or_default();
        log.push_back((number, now_ns, Arc::clone(&message)));
        let mut freed = 0;
        let mut forget = |log: &mut VecDeque<_>| {
            freed += log.pop_front().map_or(0, |(_, _, message): (u64, u64, Message)| bytes_of(&message));
            freed
        };
        match self.keep {
            Keep::Messages(most) => {
                while log.len() > most as usize {
                    forget(log);
                }
            }
            Keep::Time(time_ns) => {
                while log.front().is_some_and(|&(_, at_ns, _)| at_ns + time_ns < now_ns) {
                    forget(log);
                }
            }
        }
        state.bytes -= freed;
        while state.bytes > BYTES_MAX {
            let log = state.rooms.get_mut(&room).expect("it has just got one");
            let Some((_, _, message)) = log.pop_front() else { break };
            state.bytes -= bytes_of(&message);
        }
        message
    }

    /// The messages of a room behind a number, as far as they are still there; `None`: that number was never given.
    pub(crate) fn after(&self, room: Room, number: u64, now_ns: u64) -> Option<Vec<Message>> {
        let state = &mut *self.lock();
        if number > state.number {
            return None;
        }
        let oldest_ns = match self.keep {
            Keep::Messages(_) => 0,
            Keep::Time(time_ns) => now_ns.saturating_sub(time_ns),
        };
        let log = state.rooms.get(&room).into_iter().flatten();
        let kept = log.filter(|&&(other, at_ns, _)| other > number && at_ns >= oldest_ns);
        let mut replayed = Vec::new();
        let mut waiting = None;
        for (_, _, message) in kept {
            let mischief = (self.meddler)(state.replayed);
            state.replayed += 1;
            if mischief.forget {
                continue;
            }
            if mischief.swap && waiting.is_none() {
                waiting = Some(Arc::clone(message));
                continue;
            }
            replayed.push(Arc::clone(message));
            replayed.extend(mischief.again.then(|| Arc::clone(message)));
            replayed.extend(waiting.take());
        }
        replayed.extend(waiting);
        Some(replayed)
    }

    /// A token for a session, by characters that are chance.
    pub(crate) fn token(&self, chance: &[u8; TOKEN_CHARS]) -> [u8; TOKEN_CHARS] {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
        let mut token = *chance;
        let mut check = self.own.hash_one(&chance[..CHANCE_CHARS]);
        for place in &mut token[CHANCE_CHARS..] {
            *place = DIGITS[(check % 32) as usize];
            check /= 32;
        }
        token
    }

    /// Whether this server gave that token.
    pub(crate) fn knows(&self, token: &[u8]) -> bool {
        token.try_into().is_ok_and(|token: &[u8; TOKEN_CHARS]| self.token(token) == *token)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it is held")
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("keep", &self.keep).finish_non_exhaustive()
    }
}

fn bytes_of(message: &Message) -> usize {
    MESSAGE_BYTES + message.iter().map(Vec::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect_id::DialectId;

    fn room(topic: u64) -> Room {
        Room { dialect: DialectId::Socketio, topic }
    }

    fn history(keep: Keep, meddler: fn(u64) -> Mischief) -> History {
        let history = History::new(keep, meddler);
        for second in 1..=10 {
            history.add(room(if second == 5 { 1 } else { 0 }), second, |n| vec![vec![n as u8]]);
        }
        history
    }

    /// The numbers of what follows number 2 in the room.
    fn after(history: &History, number: u64, now_ns: u64) -> Option<Vec<u8>> {
        let messages = history.after(room(0), number, now_ns)?;
        Some(messages.iter().map(|message| message[0][0]).collect())
    }

    #[test]
    fn a_room_keeps_its_latest_messages_or_those_of_a_time() {
        let sound = |_| Mischief::default();
        let few = history(Keep::Messages(3), sound);
        assert_eq!(after(&few, 2, 99), Some(vec![8, 9, 10]));
        assert_eq!(after(&few, 9, 99), Some(vec![10]));
        assert_eq!(
            (after(&few, 10, 99), after(&few, 11, 99)),
            (Some(vec![]), None),
            "a number of the future"
        );
        let fresh = history(Keep::Time(4), sound);
        assert_eq!(after(&fresh, 0, 10), Some(vec![6, 7, 8, 9, 10]));
        assert_eq!(after(&fresh, 0, 13), Some(vec![9, 10]));
        assert_eq!(few.after(room(2), 3, 1).map(|messages| messages.len()), Some(0));
    }

    #[test]
    fn what_is_sent_again_goes_wrong_as_it_is_told() {
        let odd = |k| Mischief { forget: k == 0, again: k == 1, swap: k == 2 };
        assert_eq!(after(&history(Keep::Messages(4), odd), 0, 0), Some(vec![8, 8, 10, 9]));
        let last = |k| Mischief { swap: k == 3, ..Mischief::default() };
        assert_eq!(after(&history(Keep::Messages(4), last), 0, 0), Some(vec![7, 8, 9, 10]));
    }

    #[test]
    fn tokens_are_the_servers_own() {
        let sound = |_| Mischief::default();
        let (one, other) = (History::new(Keep::Messages(1), sound), History::new(Keep::Messages(1), sound));
        let token = one.token(b"abcdefghijklmnopqrst");
        assert!(one.knows(&token) && !other.knows(&token));
        assert!(!one.knows(b"abcdefghijklmnopqrst") && !one.knows(b"") && !one.knows(&token[1..]));
    }

    #[test]
    fn a_million_messages_take_no_more_memory_than_there_is_for_them() {
        let history = History::new(Keep::Messages(u32::MAX), |_| Mischief::default());
        for at in 0..600 {
            history.add(room(0), at, |_| vec![vec![0; 1 << 18]]);
        }
        assert!(history.lock().bytes <= BYTES_MAX);
        assert!(history.after(room(0), 0, 0).is_some_and(|messages| messages.len() > 200));
    }
}
