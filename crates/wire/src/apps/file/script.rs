//! How far a client has come in a user's app.

use std::collections::VecDeque;

use crate::event::Way;
use crate::stamp::Stamp;

/// The step of a client that has come through its opening.
pub(super) const USABLE: u16 = u16::MAX;

/// Most questions that wait for their answer while a server asks on without letting go.
const QUESTIONS_MAX: usize = 1024;

/// One client's place in it.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The protocol lets the app speak.
    pub(super) is_ready: bool,
    /// The step of the opening that is under way; [`USABLE`] after the last.
    pub(super) step: u16,
    /// Messages said so far.
    said: u32,
    /// When a wait is over, or the next heartbeat is due; 0: never.
    pub(super) wake_ns: u64,
    /// What most apps never need.
    besides: Option<Box<Besides>>,
}

/// What few apps need of a client.
#[derive(Debug, Default)]
struct Besides {
    /// What is to be answered, by number of the answer.
    questions: VecDeque<usize>,
    /// How far it has come, as the last copy told it; empty: nothing has.
    heard: String,
    /// It has come so far over an earlier connection, and is yet to say so.
    is_back: bool,
    /// The doors that it is to go through, by number, with what announces it there, and the step at the first of them.
    passages: VecDeque<(u8, Way, Option<Stamp>)>,
    passage_step: u16,
}

impl Script {
    /// The app may speak.
    pub(crate) fn handle_ready(&mut self) {
        self.is_ready = true;
    }

    /// Something came that is to be answered.
    pub(super) fn handle_question(&mut self, answer: usize) {
        let questions = &mut self.besides.get_or_insert_default().questions;
        if questions.len() < QUESTIONS_MAX {
            questions.push_back(answer);
        }
    }

    /// The number of the answer that is to be given next.
    pub(super) fn next_answer(&mut self) -> Option<usize> {
        self.besides.as_mut()?.questions.pop_front()
    }

    /// It is to go through this door, behind those that it is to go through already.
    pub(crate) fn handle_passage(&mut self, door: u8, way: Way, announced: Option<Stamp>) {
        self.besides.get_or_insert_default().passages.push_back((door, way, announced));
    }

    /// What announces it at the door at which it is.
    pub(crate) fn announced(&self) -> Option<Stamp> {
        self.besides.as_ref()?.passages.front()?.2
    }

    /// The door at which it is, and the step there; `None`: at none.
    #[inline]
    pub(super) fn passage(&self) -> Option<(u8, Way, u16)> {
        let besides = self.besides.as_ref()?;
        besides.passages.front().map(|&(door, way, _)| (door, way, besides.passage_step))
    }

    /// One step further there.
    pub(super) fn advance(&mut self) {
        self.besides.get_or_insert_default().passage_step += 1;
    }

    /// It is through.
    pub(super) fn pass(&mut self) {
        let besides = self.besides.get_or_insert_default();
        besides.passages.pop_front();
        besides.passage_step = 0;
    }

    /// Whether messages may be sent.
    pub(crate) fn is_usable(&self) -> bool {
        self.step == USABLE
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        (self.wake_ns != 0).then_some(self.wake_ns)
    }

    /// How far it has come, for who goes on over another connection; empty: nothing tells.
    pub(crate) fn heard(&self) -> &str {
        self.besides.as_ref().map_or("", |besides| &besides.heard)
    }

    /// A copy tells how far its receiver has come.
    pub(super) fn note(&mut self, heard: &str) {
        let known = &mut self.besides.get_or_insert_default().heard;
        known.clear();
        known.push_str(heard);
    }

    /// The client has come so far over an earlier connection.
    pub(super) fn go_on(&mut self, heard: String) {
        let besides = self.besides.get_or_insert_default();
        (besides.heard, besides.is_back) = (heard, true);
    }

    /// Whether the client is back and is yet to say how far it has come; from then on it has said so.
    pub(super) fn is_back(&mut self) -> bool {
        self.besides.as_mut().is_some_and(|besides| std::mem::take(&mut besides.is_back))
    }

    /// Another message is about to be said: its number on the connection, from 1.
    pub(crate) fn next(&mut self) -> u32 {
        self.said = self.said.wrapping_add(1);
        self.said
    }
}
