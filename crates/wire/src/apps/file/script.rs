//! How far a client has come in a user's app.

use std::collections::VecDeque;

use app::Kind;
use app::template::{Kept, Values, uuid};
use codec::Stamp;

use crate::event::Direction;
use crate::pending::Pending;

/// The step of a client that has come through its opening.
pub(super) const USABLE: u16 = u16::MAX;

/// Most questions that wait for their answer while a server asks on without letting go.
const QUESTIONS_MAX: usize = 1024;

/// One client's progress in the script.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// True if the protocol lets the app send messages.
    pub(super) is_ready: bool,
    /// The step of the opening that is under way; [`USABLE`] after the last.
    pub(super) step: u16,
    /// Messages said so far.
    said: u32,
    /// When a wait is over, or the next heartbeat is due; 0: never.
    pub(super) wake_ns: u64,
    /// State that few apps need.
    extras: Option<Box<ScriptExtras>>,
}

/// State of a client that few apps need.
#[derive(Debug, Default)]
struct ScriptExtras {
    /// Messages to answer, by number of the answer.
    questions: VecDeque<usize>,
    /// How far it has come, as the last copy told it.
    heard: Values,
    /// It has come so far over an earlier connection, and is yet to say so.
    is_back: bool,
    /// The latest copy did not tell how far it has come.
    is_unplaced: bool,
    /// The rooms that it is to join or leave, by number, with what announces it there, and the step at the
    /// first of them.
    passages: VecDeque<(u8, Direction, Option<Stamp>)>,
    passage_step: u16,
    /// Values kept of messages since it last sent something, by number.
    kept: Vec<(u16, Box<str>)>,
    /// Measured messages whose answers are known by their numbers.
    numbered: Pending,
    /// When each heartbeat is due, where there are several.
    due_ns: Vec<u64>,
}

impl ScriptExtras {
    /// Returns whether nothing is in it.
    fn is_blank(&self) -> bool {
        let ScriptExtras { questions, heard, is_back, is_unplaced, passages, kept, numbered, due_ns, .. } =
            self;
        let is_idle = questions.is_empty() && passages.is_empty() && kept.is_empty() && numbered.is_empty();
        is_idle && heard.is_empty() && !is_back && !is_unplaced && due_ns.is_empty()
    }
}

impl Script {
    /// A script without steps.
    pub(crate) fn through() -> Script {
        Script { step: USABLE, ..Script::default() }
    }

    /// Handles that the app may send messages.
    pub(crate) fn handle_ready(&mut self) {
        self.is_ready = true;
    }

    /// Handles a message that must be answered.
    pub(super) fn handle_question(&mut self, answer: usize) {
        let questions = &mut self.extras.get_or_insert_default().questions;
        if questions.len() < QUESTIONS_MAX {
            questions.push_back(answer);
        }
    }

    /// The number of the answer that is to be given next.
    pub(super) fn next_answer(&mut self) -> Option<usize> {
        self.extras.as_mut()?.questions.pop_front()
    }

    /// Queues a join or a leave, behind those that it is to do already.
    pub(crate) fn handle_passage(&mut self, visited: u8, way: Direction, announced: Option<Stamp>) {
        self.extras.get_or_insert_default().passages.push_back((visited, way, announced));
    }

    /// The stamp that announces it in the room that it is joining.
    pub(crate) fn announced(&self) -> Option<Stamp> {
        self.extras.as_ref()?.passages.front()?.2
    }

    /// The room that it is joining or leaving, and the step there; `None`: at none.
    #[inline]
    pub(super) fn passage(&self) -> Option<(u8, Direction, u16)> {
        let extras = self.extras.as_ref()?;
        extras.passages.front().map(|&(visited, way, _)| (visited, way, extras.passage_step))
    }

    /// Returns whether it is to leave this room after what it does now.
    pub(super) fn is_to_leave(&self, visited: u8) -> bool {
        let mut passages = self.extras.iter().flat_map(|extras| &extras.passages);
        passages.any(|&(room, way, _)| room == visited && way == Direction::Out)
    }

    /// Goes so many steps further there.
    pub(super) fn advance(&mut self, steps: u16) {
        self.extras.get_or_insert_default().passage_step += steps;
    }

    /// It is through.
    pub(super) fn pass(&mut self) {
        let extras = self.extras.get_or_insert_default();
        extras.passages.pop_front();
        extras.passage_step = 0;
    }

    /// Returns whether messages may be sent.
    pub(crate) fn is_usable(&self) -> bool {
        self.step == USABLE
    }

    /// Starts the heartbeats of a client that is ready: one each time its interval of nanoseconds has passed.
    pub(super) fn start_heartbeats(&mut self, now_ns: u64, every_ns: impl Iterator<Item = u64>) {
        let due_ns: Vec<u64> = every_ns.map(|every_ns| now_ns + every_ns).collect();
        self.wake_ns = due_ns.iter().copied().min().unwrap_or(0);
        // A single one is in wake_ns already.
        if due_ns.len() > 1 {
            self.extras.get_or_insert_default().due_ns = due_ns;
        }
    }

    /// The number of a heartbeat that is due; it is due again after its interval, which `every_ns` gives.
    pub(super) fn next_heartbeat(&mut self, now_ns: u64, every_ns: impl Fn(usize) -> u64) -> Option<usize> {
        if self.wake_ns == 0 || now_ns < self.wake_ns {
            return None;
        }
        let all = self.extras.as_mut().map(|extras| &mut extras.due_ns).filter(|due| !due.is_empty());
        // With one heartbeat, the time to wake is all that there is to know.
        let Some(due_ns) = all else {
            self.wake_ns = now_ns + every_ns(0);
            return Some(0);
        };
        let first = (0..due_ns.len()).min_by_key(|&at| due_ns[at])?;
        due_ns[first] = now_ns + every_ns(first);
        self.wake_ns = due_ns.iter().copied().min().unwrap_or(0);
        Some(first)
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        (self.wake_ns != 0).then_some(self.wake_ns)
    }

    /// A measured message goes out under this number.
    pub(super) fn handle_numbered(&mut self, number: u32, kind: Kind, stamp: Stamp) {
        let numbered = &mut self.extras.get_or_insert_default().numbered;
        numbered.push(number.into(), kind, stamp);
    }

    /// The measured message that has this number, or this UUID, once, if it is meant.
    pub(super) fn take_numbered(&mut self, key: &str, is_meant: impl Fn(&Stamp) -> bool) -> Option<Stamp> {
        let numbered = &mut self.extras.as_mut()?.numbered;
        match uuid::number(key) {
            None => numbered.take_if(key.parse().ok()?, is_meant),
            Some(number) => numbered.take_if(number.into(), |stamp| {
                key.as_bytes().eq_ignore_ascii_case(&uuid::of_message(stamp, number)) && is_meant(stamp)
            }),
        }
        .map(|(_, stamp)| stamp)
    }

    /// A message has a value that is kept.
    pub(super) fn handle_kept(&mut self, number: u16, value: &str) {
        self.extras.get_or_insert_default().kept.push((number, value.into()));
    }

    /// The client's values with those that are yet to be [taken](Script::take_kept); `None`: all are.
    pub(super) fn kept_since(&self, before: &Kept) -> Option<Kept> {
        let extras = self.extras.as_ref().filter(|extras| !extras.kept.is_empty())?;
        let mut values = before.values.clone();
        for (number, value) in &extras.kept {
            values.set(*number, value);
        }
        Some(Kept { values, ..Kept::default() })
    }

    /// The values kept since they were last taken. Most clients need nothing besides, and have nothing
    /// besides then.
    #[inline]
    pub(crate) fn take_kept(&mut self) -> Vec<(u16, Box<str>)> {
        let Some(extras) = self.extras.as_mut().filter(|extras| !extras.kept.is_empty()) else {
            return Vec::new();
        };
        let kept = std::mem::take(&mut extras.kept);
        self.extras.take_if(|extras| extras.is_blank());
        kept
    }

    /// How far the client has come, to go on over another connection; `None` if no message told.
    pub(crate) fn heard(&self) -> Option<&Values> {
        self.extras.as_ref().map(|extras| &extras.heard).filter(|heard| !heard.is_empty())
    }

    /// A message tells how far its receiver has come, in the value of this number.
    pub(super) fn note(&mut self, number: u16, heard: &str) {
        let extras = self.extras.get_or_insert_default();
        extras.heard.set(number, heard);
        extras.is_unplaced = false;
    }

    /// A copy does not tell how far its receiver has come, such as one of a history.
    pub(super) fn handle_unplaced(&mut self) {
        self.extras.get_or_insert_default().is_unplaced = true;
    }

    /// Returns whether the client, if it went on from the place it knows, would be sent what it has.
    pub(crate) fn is_unplaced(&self) -> bool {
        self.extras.as_ref().is_none_or(|extras| extras.is_unplaced || extras.heard.is_empty())
    }

    /// The client has come so far over an earlier connection.
    pub(super) fn go_on(&mut self, heard: Values) {
        let extras = self.extras.get_or_insert_default();
        (extras.heard, extras.is_back) = (heard, true);
    }

    /// Returns whether the client is back and is yet to say how far it has come.
    pub(super) fn is_back(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.is_back)
    }

    /// Takes note that a client that is back says how far it has come: true at the first call only.
    pub(super) fn take_is_back(&mut self) -> bool {
        self.extras.as_mut().is_some_and(|extras| std::mem::take(&mut extras.is_back))
    }

    /// Another message is about to be said: its number on the connection, from 1.
    pub(crate) fn next(&mut self) -> u32 {
        self.said = self.said.wrapping_add(1);
        self.said
    }
}
