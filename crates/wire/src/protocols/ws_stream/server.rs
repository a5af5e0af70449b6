//! The server's side: each message is answered with as many messages as the query asks for, and with what is
//! to be wrong with them.
//!
//! ```text
//! idle --a message--> answering: its events go out when they are due
//! answering --a message--> answering: its answer waits for its turn
//! answering --the last event--> the marks, and the next answer, or idle; without a mark, the close of the connection
//! answering --the event to break at--> over: the connection ends without a close
//! idle, answering --the server closes--> over: nothing follows
//! ```

use codec::http::request::Request;
use codec::ws::MessageType;
use codec::ws::close::{self, NORMAL};

use crate::absent::NoSession;
use crate::asking::{ScriptedAnswer, ScriptedPart};
use crate::contract::ServerProtocol;
use crate::event::OnServerEvent;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::ServerLink;
use crate::server_config::ServerConfig;

/// Events that are due go out together up to this size: a query may make any number due at once.
const PORTION_BYTES: usize = 64 << 10;
/// Most questions that wait behind an answer.
const WAITING_MAX: u32 = 1 << 10;

/// One connection's side: in a box, as those of other protocols are small.
#[derive(Debug)]
pub(crate) struct Server(Box<Answering>);

#[derive(Debug)]
struct Answering {
    /// Path and query, by which each message is answered.
    target: Box<str>,
    answer: Option<ScriptedAnswer>,
    /// Number of questions behind the one that is being answered.
    waiting: u32,
}

impl Answering {
    /// Begins the next answer.
    fn begin<I: Io>(&mut self, link: &mut ServerLink<'_, I>) {
        // A query is sound for all answers or for none.
        let mut answer = ScriptedAnswer::next_of(link.cfg, &self.target).expect("checked at the upgrade");
        answer.start(link.now_ns);
        self.answer = Some(answer);
    }

    /// Sends a part of the answer.
    fn handle_part<I: Io>(&mut self, link: &mut ServerLink<'_, I>, part: ScriptedPart, mark: &str) {
        match part {
            ScriptedPart::Event(text) => link.say(&[text.as_bytes()]),
            ScriptedPart::Break => link.io.close_stream(0),
            // Nothing else tells a client that this was all.
            ScriptedPart::End { marks: 0 } => link.sender.close(link.io, NORMAL),
            ScriptedPart::End { marks } => {
                for _ in 0..marks {
                    link.say(&[mark.as_bytes()]);
                }
                self.answer = None;
                if let Some(left) = self.waiting.checked_sub(1) {
                    self.waiting = left;
                    self.begin(link);
                }
            }
        }
    }
}

impl ServerProtocol for Server {
    type Session = NoSession;

    fn open(_cfg: &ServerConfig, request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        match ScriptedAnswer::is_sound(request.target) {
            true => {
                let target = request.target.into();
                Ok(Server(Box::new(Answering { target, answer: None, waiting: 0 })))
            }
            false => Err(400),
        }
    }

    fn handle_upgraded<I: Io>(&mut self, _link: &mut ServerLink<'_, I>, _on: &mut impl OnServerEvent) {}

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        _message_type: MessageType,
        start: usize,
        _on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        link.io.out(0).truncate(start);
        let answering = &mut *self.0;
        match &answering.answer {
            None => answering.begin(link),
            Some(_) if answering.waiting < WAITING_MAX => answering.waiting += 1,
            Some(_) => return Err(link.refuse(close::POLICY, "too many questions wait")),
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.answer.as_ref()?.poll_timeout()
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        while link.io.out(0).len() < PORTION_BYTES
            && let Some(answer) = &mut self.0.answer
            && let Some(part) = answer.poll_part(link.now_ns)
        {
            let mark = answer.mark();
            self.0.handle_part(link, part, mark);
        }
        Ok(())
    }

    fn follows_reader(&self) -> bool {
        true
    }

    /// Gives the answers up: nothing may follow a close frame.
    fn handle_close<I: Io>(&mut self, _link: &mut ServerLink<'_, I>) {
        (self.0.answer, self.0.waiting) = (None, 0);
    }
}
