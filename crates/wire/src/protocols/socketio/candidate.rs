//! A WebSocket that wants to take over a session of plain requests, on the server's side.
//!
//! ```text
//! asks to enter --may: the 101--> waiting --2probe: 3probe, asks for polling to end--> waiting --5: asks for the session--> done
//! asks to enter --no such session--> refused; --another one is before it: the 101--> closed
//! any other ask --may not; no session; too late--> closed
//! ```
//!
//! While it asks, what comes in waits.

use std::collections::VecDeque;

use codec::http::answer::AnswerHead;
use codec::ws::MessageType;

use super::output::PacketOutput;
use super::request::{Request, UPGRADE_TIMEOUT_NS, Verb};
use super::service::Service;
use super::version::Version;
use crate::failure::Failure;
use crate::session::SessionHead;

/// Messages that may wait.
const WAITING_MAX: usize = 64;

/// One such connection.
#[derive(Debug)]
pub(crate) struct Candidate {
    version: Version,
    service: Service,
    sid: String,
    /// The question, until it is answered.
    asked: Option<Verb>,
    probed: bool,
    waiting: VecDeque<(MessageType, Vec<u8>)>,
    until_ns: u64,
}

impl Candidate {
    /// Asks to enter.
    pub(crate) fn new(version: Version, service: Service, sid: &str) -> Candidate {
        Candidate {
            version,
            service,
            sid: sid.to_owned(),
            asked: Some(Verb::Enter),
            probed: false,
            waiting: VecDeque::new(),
            until_ns: u64::MAX,
        }
    }

    /// The upgrade is done.
    pub(crate) fn handle_upgraded(&mut self, now_ns: u64) {
        self.until_ns = now_ns + UPGRADE_TIMEOUT_NS;
    }

    /// Takes the question.
    pub(crate) fn take_request(&mut self) -> Option<SessionHead<Request>> {
        let (version, service, verb) = (self.version, self.service, self.asked?);
        let head = AnswerHead::default();
        Some(SessionHead {
            name: service.session_name(&self.sid),
            opens: false,
            keep_alive: false,
            question: Request { version, service, room: 0, verb, head, sid: String::new() },
        })
    }

    /// Keeps a message, or takes it: then something may have to be asked.
    pub(crate) fn handle_message(
        &mut self,
        message_type: MessageType,
        message: &[u8],
        out: &mut impl PacketOutput,
    ) -> Result<bool, Failure> {
        if self.asked.is_some() {
            // A client sends one message at a time here, and waits for its answer: no proper client sends
            // this many.
            if self.waiting.len() >= WAITING_MAX {
                return Err(Failure::BadMessage);
            }
            self.waiting.push_back((message_type, message.to_vec()));
            return Ok(false);
        }
        self.asked = match (message_type, message, self.probed) {
            (MessageType::Text, b"2probe", false) => {
                out.text(&[b"3probe"]);
                Some(Verb::Probe)
            }
            (MessageType::Text, b"5", true) => Some(Verb::Take),
            _ => return Err(Failure::BadMessage),
        };
        Ok(true)
    }

    /// Handles that the connection was admitted.
    pub(crate) fn handle_admitted(&mut self) {
        self.probed = self.asked.take() == Some(Verb::Probe);
    }

    /// Returns whether the answer to something is waited for.
    pub(crate) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Takes all messages that wait.
    pub(crate) fn take_waiting(&mut self) -> VecDeque<(MessageType, Vec<u8>)> {
        std::mem::take(&mut self.waiting)
    }

    /// The next message that waits.
    pub(crate) fn poll_waiting(&mut self) -> Option<(MessageType, Vec<u8>)> {
        self.waiting.pop_front()
    }

    /// Until when it must have taken over.
    pub(crate) fn poll_timeout(&self) -> u64 {
        self.until_ns
    }
}
