//! The history of a server's broadcasts, for clients that lose their connections and come back.
//!
//! Rules. Each message of a room gets a number as it is broadcast, and carries it. A client that comes back
//! names the last that it has got, and is sent those behind it that are still there. A room keeps its latest
//! messages, up to a number or an age; all rooms together keep no more than [`BYTES_MAX`]. What is too old in
//! rooms that have fallen silent goes before what is not in others, give or take a sixteenth of the age. A
//! number that was never given stands for no message. What came since a client was told that it is back is
//! no part of what it missed: no fault hits that. What sessions had joined is kept beside it, by protocols
//! whose clients need not join again ([`Sessions`]).

mod sessions;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::room::Room;
use sessions::Sessions;

/// Bytes of all messages together; where there would be more, the room of the newest forgets its oldest.
const BYTES_MAX: usize = 64 << 20;
/// How often all rooms are looked through for what is too old, in the time for which messages are kept, while
/// they are full.
const SWEEPS: u64 = 16;
/// Memory of a message beside its own bytes.
const MESSAGE_BYTES: usize = 96;
/// Characters of a token, and of these, those that are chance. The others follow from them, for this server
/// alone.
const TOKEN_CHARS: usize = 20;
const CHANCE_CHARS: usize = 10;
const EPOCH_CHARS: usize = 4;

/// The messages that a room keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The room keeps this number of its latest messages.
    Messages(u32),
    /// Messages of the last nanoseconds.
    Time(u64),
}

/// A fault of one message that is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayFault {
    /// True if the message is not sent again.
    pub forget: bool,
    /// True if the message is sent twice to clients that come back.
    pub again: bool,
    /// True if the message changes places with the next.
    pub swap: bool,
}

/// The fault of the k-th message that is sent again.
type ReplayFaults = Box<dyn Fn(u64) -> ReplayFault + Send + Sync>;

/// The history of a server.
pub struct History {
    keep: Keep,
    replay_faults: ReplayFaults,
    own: RandomState,
    state: Mutex<State>,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct State {
    rooms: HashMap<Room, Log>,
    /// The last number that was given, and the last of which a room has nothing any more that it had.
    number: u64,
    gone: u64,
    bytes: usize,
    /// When all rooms were last looked through for what is too old.
    swept_ns: u64,
    /// Messages sent again.
    replayed: u64,
}

/// The kept messages of a room.
#[derive(Default)]
struct Log {
    kept: VecDeque<Entry>,
    /// The number of the last that is there no more.
    gone: u64,
}

struct Entry {
    number: u64,
    at_ns: u64,
    message: Message,
}

/// A message as it is sent: its text, and what belongs to it.
pub(crate) type Message = Arc<[Vec<u8>]>;

/// Messages a client has missed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    /// The ones still kept.
    pub(crate) messages: Vec<Message>,
    /// True if that is all.
    pub(crate) is_whole: bool,
}

impl History {
    /// An empty history. `replay_faults` gives the faults of messages that are sent again.
    pub fn new(keep: Keep, replay_faults: impl Fn(u64) -> ReplayFault + Send + Sync + 'static) -> History {
        let (own, state, sessions) = (RandomState::new(), Mutex::default(), Mutex::default());
        History { keep, replay_faults: Box::new(replay_faults), own, state, sessions }
    }

    /// Numbers a message of a room, and keeps it as `encode` makes it of the number.
    pub(crate) fn add(&self, room: Room, now_ns: u64, encode: impl FnOnce(u64) -> Vec<Vec<u8>>) -> Message {
        let state = &mut *self.lock();
        state.number += 1;
        let number = state.number;
        let message: Message = encode(number).into();
        state.bytes += bytes_of(&message);
        if state.bytes > BYTES_MAX {
            state.sweep(self.keep, now_ns);
        }
        let log = state.rooms.entry(room).or_insert_with(|| Log { gone: state.gone, ..Log::default() });
        // The clock is read before the lock is had: no entry is older than the one before.
        let at_ns = log.kept.back().map_or(now_ns, |latest| latest.at_ns.max(now_ns));
        log.kept.push_back(Entry { number, at_ns, message: Arc::clone(&message) });
        while (state.bytes > BYTES_MAX || self.keep.is_over(log, now_ns))
            && log.forget_oldest(&mut state.bytes)
        {}
        if log.kept.is_empty() {
            state.gone = number;
            state.rooms.remove(&room);
        }
        message
    }

    /// The latest number that was given to anything; 0 if none was.
    pub(crate) fn latest(&self) -> u64 {
        self.lock().number
    }

    /// Messages of rooms behind a number; `None` if that number was never given. `back_at`: the latest number
    /// when the client was told that it is back, if that was before.
    pub(crate) fn after(
        &self,
        rooms: &[Room],
        number: u64,
        back_at: Option<u64>,
        now_ns: u64,
    ) -> Option<Missed> {
        let state = &mut *self.lock();
        if number > state.number {
            return None;
        }
        let gone = |room: &Room| state.rooms.get(room).map_or(state.gone, |log| log.gone);
        let has_all = rooms.iter().all(|room| gone(room) <= number);
        let missed = self.missed(state, rooms, back_at, now_ns, |entry| entry.number <= number);
        Some(Missed { is_whole: missed.is_whole && has_all, ..missed })
    }

    /// Messages of a room from a time on that are still kept. `back_at`: as for [`after`](Self::after).
    pub(crate) fn since(&self, room: Room, from_ns: u64, back_at: Option<u64>, now_ns: u64) -> Vec<Message> {
        self.missed(&mut self.lock(), &[room], back_at, now_ns, |entry| entry.at_ns < from_ns).messages
    }

    /// The messages of rooms behind the ones that the client had, as they are sent again: whole unless one of
    /// them is too old.
    fn missed<'s>(
        &self,
        state: &'s mut State,
        rooms: &[Room],
        back_at: Option<u64>,
        now_ns: u64,
        was_had: impl Fn(&Entry) -> bool,
    ) -> Missed {
        let oldest_ns = match self.keep {
            Keep::Messages(_) => 0,
            Keep::Time(time_ns) => now_ns.saturating_sub(time_ns),
        };
        let (mut messages, mut is_whole, mut waiting) = (Vec::new(), true, None);
        // Of a million that are kept, only those are looked at that were missed.
        let behind = |log: &'s Log| log.kept.range(log.kept.partition_point(&was_had)..);
        let logs = &state.rooms;
        let mut entries: Vec<&Entry> =
            rooms.iter().filter_map(|room| logs.get(room)).flat_map(behind).collect();
        // As they were sent, whatever their rooms: a client may go on from the last that it gets.
        entries.sort_by_key(|entry| entry.number);
        for entry in entries {
            if entry.at_ns < oldest_ns {
                is_whole = false;
                continue;
            }
            let message = &entry.message;
            let mut replay_fault = ReplayFault::default();
            if back_at.is_none_or(|back_at| entry.number <= back_at) {
                replay_fault = (self.replay_faults)(state.replayed);
                state.replayed += 1;
            }
            if replay_fault.forget {
                continue;
            }
            if replay_fault.swap && waiting.is_none() {
                waiting = Some(Arc::clone(message));
                continue;
            }
            messages.push(Arc::clone(message));
            messages.extend(replay_fault.again.then(|| Arc::clone(message)));
            messages.extend(waiting.take());
        }
        messages.extend(waiting);
        Missed { messages, is_whole }
    }

    /// The sessions' subscriptions.
    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().expect("nothing panics while it is held")
    }

    /// The epoch that tells this server's numbers from another's.
    pub(crate) fn epoch(&self) -> [u8; EPOCH_CHARS] {
        self.digits(b"epoch")
    }

    /// A token for a session, by characters that are chance.
    pub(crate) fn token(&self, chance: &[u8; TOKEN_CHARS]) -> [u8; TOKEN_CHARS] {
        let mut token = *chance;
        let check: [u8; TOKEN_CHARS - CHANCE_CHARS] = self.digits(&chance[..CHANCE_CHARS]);
        token[CHANCE_CHARS..].copy_from_slice(&check);
        token
    }

    /// The hash of a text, for this server alone.
    fn digits<const N: usize>(&self, text: &[u8]) -> [u8; N] {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
        let hash = self.own.hash_one(text);
        std::array::from_fn(|at| DIGITS[(hash >> (5 * at)) as usize % 32])
    }

    /// Returns whether this server gave that token.
    pub(crate) fn knows(&self, token: &[u8]) -> bool {
        token.try_into().is_ok_and(|token: &[u8; TOKEN_CHARS]| self.token(token) == *token)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it is held")
    }
}

impl Keep {
    /// Returns whether the oldest message of a room is one too many, or too old.
    fn is_over(self, log: &Log, now_ns: u64) -> bool {
        match self {
            Keep::Messages(most) => log.kept.len() > most as usize,
            Keep::Time(ns) => log.kept.front().is_some_and(|oldest| now_ns.saturating_sub(oldest.at_ns) > ns),
        }
    }
}

impl Log {
    /// Drops the room's oldest message, if it has one, and takes its size off the `bytes` of all rooms.
    fn forget_oldest(&mut self, bytes: &mut usize) -> bool {
        let Some(oldest) = self.kept.pop_front() else { return false };
        self.gone = oldest.number;
        *bytes -= bytes_of(&oldest.message);
        true
    }
}

impl State {
    /// Forgets what is too old, wherever it is, and rooms of which nothing is left: clients name them, and
    /// may name as many as they like. No more than [`SWEEPS`] times in the time for which messages are kept.
    fn sweep(&mut self, keep: Keep, now_ns: u64) {
        let Keep::Time(ns) = keep else { return };
        if now_ns.saturating_sub(self.swept_ns) < ns / SWEEPS {
            return;
        }
        self.swept_ns = now_ns;
        let State { rooms, gone, bytes, .. } = self;
        rooms.retain(|_, log| {
            while keep.is_over(log, now_ns) && log.forget_oldest(bytes) {}
            if log.kept.is_empty() {
                *gone = log.gone.max(*gone);
            }
            !log.kept.is_empty()
        });
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
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::dialect_id::DialectId;

    fn room(topic: u64) -> Room {
        Room { dialect: DialectId::Socketio, topic }
    }

    fn history(keep: Keep, replay_faults: fn(u64) -> ReplayFault) -> History {
        let history = History::new(keep, replay_faults);
        for second in 1..=10 {
            history.add(room(if second == 5 { 1 } else { 0 }), second, |n| vec![vec![n as u8]]);
        }
        history
    }

    fn numbers(messages: &[Message]) -> Vec<u8> {
        messages.iter().map(|message| message[0][0]).collect()
    }

    /// The numbers of what follows a number in the room.
    fn after(history: &History, number: u64, now_ns: u64) -> Option<Vec<u8>> {
        Some(numbers(&history.after(&[room(0)], number, None, now_ns)?.messages))
    }

    #[test]
    fn rooms_keep_messages_by_number_or_time() {
        let sound = |_| ReplayFault::default();
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
        let nothing = Missed { messages: Vec::new(), is_whole: true };
        assert_eq!(few.after(&[room(2)], 3, None, 1), Some(nothing));
    }

    #[test]
    fn messages_of_several_rooms_keep_their_order() {
        let all = history(Keep::Messages(9), |_| ReplayFault::default());
        let missed = all.after(&[room(0), room(1)], 3, None, 99).unwrap();
        assert_eq!((numbers(&missed.messages), missed.is_whole), (vec![4, 5, 6, 7, 8, 9, 10], true));
    }

    #[test]
    fn gaps_in_the_kept_messages_are_said() {
        let sound = |_| ReplayFault::default();
        let is_whole = |history: &History, number, now_ns| {
            history.after(&[room(0)], number, None, now_ns).map(|missed| missed.is_whole)
        };
        let few = history(Keep::Messages(3), sound);
        assert_eq!([6, 7, 8].map(|number| is_whole(&few, number, 99)), [Some(false), Some(true), Some(true)]);
        let fresh = history(Keep::Time(4), sound);
        assert_eq!(
            [5, 6].map(|number| is_whole(&fresh, number, 10)),
            [Some(true); 2],
            "5 was another room's"
        );
        assert_eq!([6, 8].map(|number| is_whole(&fresh, number, 13)), [Some(false), Some(true)]);
        let none = history(Keep::Messages(0), sound);
        assert_eq!([9, 10].map(|number| is_whole(&none, number, 10)), [Some(false), Some(true)]);
        assert!(none.lock().rooms.is_empty(), "rooms of which nothing is kept take no room");
    }

    #[test]
    fn messages_since_a_time() {
        let few = history(Keep::Messages(3), |_| ReplayFault::default());
        let since = |from_ns| numbers(&few.since(room(0), from_ns, None, 99));
        assert_eq!([since(0), since(9), since(11)], [vec![8, 9, 10], vec![9, 10], vec![]]);
    }

    #[test]
    fn replays_fail_as_told() {
        let odd = |k| ReplayFault { forget: k == 0, again: k == 1, swap: k == 2 };
        assert_eq!(after(&history(Keep::Messages(4), odd), 0, 0), Some(vec![8, 8, 10, 9]));
        let last = |k| ReplayFault { swap: k == 3, ..ReplayFault::default() };
        assert_eq!(after(&history(Keep::Messages(4), last), 0, 0), Some(vec![7, 8, 9, 10]));
    }

    #[test]
    fn faults_end_where_clients_are_back() {
        let all = |_| ReplayFault { forget: true, ..ReplayFault::default() };
        let history = history(Keep::Messages(4), all);
        let behind = [None, Some(8)].map(|back_at| {
            let missed = history.after(&[room(0)], 6, back_at, 0).unwrap();
            (numbers(&missed.messages), numbers(&history.since(room(0), 7, back_at, 0)))
        });
        assert_eq!(behind, [(vec![], vec![]), (vec![9, 10], vec![9, 10])]);
        assert_eq!(history.lock().replayed, 12, "each of the others has its number");
    }

    #[test]
    fn tokens_are_the_servers_own() {
        let sound = |_| ReplayFault::default();
        let (one, other) = (History::new(Keep::Messages(1), sound), History::new(Keep::Messages(1), sound));
        let token = one.token(b"abcdefghijklmnopqrst");
        assert!(one.knows(&token) && !other.knows(&token));
        assert!(!one.knows(b"abcdefghijklmnopqrst") && !one.knows(b"") && !one.knows(&token[1..]));
    }

    #[test]
    fn old_messages_of_silent_rooms_make_room() {
        let history = History::new(Keep::Time(1_000), |_| ReplayFault::default());
        let tell = |topic, at_ns| _ = history.add(room(topic), at_ns, |_| vec![vec![0; BYTES_MAX / 16]]);
        for silent in 0..14 {
            tell(silent, silent);
        }
        for n in 0..8 {
            tell(99, 1_500 + n);
        }
        assert_eq!(history.lock().rooms.len(), 1, "rooms of which nothing is left take no room");
        let missed = |topic| {
            let Missed { messages, is_whole } = history.after(&[room(topic)], 0, None, 1_600).unwrap();
            (messages.len(), is_whole)
        };
        assert_eq!([missed(99), missed(0)], [(8, true), (0, false)]);
        let is_whole = |number| history.after(&[room(0)], number, None, 1_600).unwrap().is_whole;
        assert_eq!([13, 14].map(is_whole), [false, true], "as far as is known of rooms that are forgotten");
        tell(0, 1_600);
        assert_eq!([13, 14].map(is_whole), [false, true], "as far as is known of one that was");
    }

    #[test]
    fn million_messages_fit_the_memory_bound() {
        for (messages, bytes) in [(600, 1 << 18), (1_000_000, 200)] {
            let looked_at = Arc::new(AtomicU64::new(0));
            let looks = Arc::clone(&looked_at);
            let history = History::new(Keep::Messages(u32::MAX), move |_| {
                looks.fetch_add(1, Ordering::Relaxed);
                ReplayFault::default()
            });
            for at in 0..messages {
                history.add(room(0), at, |_| vec![vec![0; bytes]]);
            }
            assert!(history.lock().bytes <= BYTES_MAX);
            let missed = history.after(&[room(0)], messages - 3, None, 0).unwrap();
            assert_eq!(
                (missed.messages.len(), missed.is_whole, looked_at.load(Ordering::Relaxed)),
                (3, true, 3)
            );
            let missed = history.after(&[room(0)], 0, None, 0).unwrap();
            assert!(missed.messages.len() > 200 && !missed.is_whole);
        }
    }
}
