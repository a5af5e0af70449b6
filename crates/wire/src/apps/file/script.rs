//! How far a client has come in a user's app.

use std::collections::VecDeque;

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
    /// What is to be answered, by number of the answer.
    pub(super) questions: VecDeque<usize>,
}

impl Script {
    /// The app may speak.
    pub(crate) fn handle_ready(&mut self) {
        self.is_ready = true;
    }

    /// Something came that is to be answered.
    pub(super) fn handle_question(&mut self, answer: usize) {
        if self.questions.len() < QUESTIONS_MAX {
            self.questions.push_back(answer);
        }
    }

    /// Whether messages may be sent.
    pub(crate) fn is_usable(&self) -> bool {
        self.step == USABLE
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        (self.wake_ns != 0).then_some(self.wake_ns)
    }

    /// Another message is about to be said: its number on the connection, from 1.
    pub(crate) fn next(&mut self) -> u32 {
        self.said = self.said.wrapping_add(1);
        self.said
    }
}
