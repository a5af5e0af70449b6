//! A server's session over plain requests, whichever protocol it speaks, and the requests that name one.

use std::hash::{DefaultHasher, Hash, Hasher};

use codec::http::answer::AnswerHead;
use codec::http::date::DateField;

use crate::contract::{Protocol, QuestionOf};
use crate::event::{OnServerEvent, ServerEvent};
use crate::io::Io;
use crate::protocols;
use crate::publication::Publication;
use crate::server_config::ServerConfig;
use crate::session::{self, Question, REQUEST, ServerSession, SessionHead, SessionLink};

/// A whole request that concerns a session.
#[derive(Debug)]
pub struct SessionRequest {
    /// Names the session among the sessions of all protocols.
    name: String,
    /// A session that is not there is made, not missed.
    opens: bool,
    /// The connection lives on after the answer.
    pub(crate) keep_alive: bool,
    pub(crate) body: Vec<u8>,
    of: Of,
}

/// A session's signal to the connection that asked, besides its output: a WebSocket may take it over.
#[derive(Debug)]
pub struct SessionSignal(SignalOf);

/// The outcome of a request.
pub type Answer = session::Answer<SessionSignal>;

/// One session.
#[derive(Debug)]
pub struct Session {
    state: State,
}

type SessionOf<P> = <P as Protocol>::Session;

macro_rules! sessions {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// The question that its protocol has read in the head of a request.
        #[derive(Debug)]
        enum Of {
            $($id(QuestionOf<protocols::$module::$id>),)*
            /// A request for the metrics, which the server's driver knows.
            Metrics(AnswerHead),
            /// A message for this room, as the path names it.
            Publication(AnswerHead, String),
        }

        #[derive(Debug)]
        enum SignalOf {
            $($id(<SessionOf<protocols::$module::$id> as ServerSession>::SessionSignal),)*
        }

        #[derive(Debug)]
        enum State {
            $($id(SessionOf<protocols::$module::$id>),)*
        }

        /// Calls the protocol, whichever it is; something else is for requests that are of none.
        macro_rules! of_any {
            ($value:expr, $session:ident => $call:expr) => {
                match $value { $(State::$id($session) => $call,)* }
            };
            ($value:expr, $question:ident => $call:expr, $head:ident => $else:expr) => {
                match $value {
                    $(Of::$id($question) => $call,)*
                    Of::Metrics($head) | Of::Publication($head, _) => $else,
                }
            };
        }

        impl SessionRequest {
            $(
                #[doc = concat!("One of `", stringify!($module), "`.")]
                pub(super) fn $module(asked: SessionHead<QuestionOf<protocols::$module::$id>>) -> SessionRequest {
                    let SessionHead { name, opens, keep_alive, question } = asked;
                    SessionRequest { name, opens, keep_alive, body: Vec::new(), of: Of::$id(question) }
                }
            )*

            /// The notice to its session that its body is on its way, where one that comes beside another has
            /// to be refused.
            pub(crate) fn beginning(&self) -> Option<SessionRequest> {
                let of = match &self.of {
                    $(Of::$id(question) => Of::$id(question.beginning()?),)*
                    Of::Metrics(_) | Of::Publication(..) => return None,
                };
                let (name, body) = (self.name.clone(), Vec::new());
                // It only tells a session that is there; the request itself opens one.
                Some(SessionRequest { name, opens: false, keep_alive: false, body, of })
            }
        }

        /// Tells the members of a room what is published there, in the words of every protocol.
        fn publish(cfg: &ServerConfig, now_ns: u64, publication: &Publication<'_>, on: &mut impl OnServerEvent) {
            $(<protocols::$module::$id as Protocol>::publish(cfg, now_ns, publication, on);)*
        }

        impl SessionSignal {
            $(
                #[doc = concat!("The signal of a session of `", stringify!($module), "`.")]
                pub(super) fn $module(self) -> <SessionOf<protocols::$module::$id> as ServerSession>::SessionSignal {
                    match self.0 {
                        SignalOf::$id(signal) => signal,
                        _ => unreachable!("a session's signal is for a connection of its own protocol"),
                    }
                }
            )*
        }

        impl Session {
            /// The session that a request [`opens`](SessionRequest::opens), which it is then to be given.
            pub fn new(cfg: &ServerConfig, request: &SessionRequest) -> Session {
                let state = match &request.of {
                    $(Of::$id(question) => State::$id(ServerSession::new(question, cfg)),)*
                    Of::Metrics(_) | Of::Publication(..) => panic!("opens no session"),
                };
                Session { state }
            }

            /// Lets the session answer a request that names it.
            pub fn handle_request(
                &mut self,
                now_ns: u64,
                request: SessionRequest,
                io: &mut impl Io,
                on: &mut impl FnMut(ServerEvent<'_>),
            ) -> Answer {
                let link = &mut SessionLink { now_ns, io };
                match (&mut self.state, request.of) {
                    $((State::$id(session), Of::$id(question)) => {
                        let answer = session.handle_request(link, question, &request.body, on);
                        answer.map(|signal| SessionSignal(SignalOf::$id(signal)))
                    })*
                    _ => unreachable!("a session's name is of its protocol"),
                }
            }
        }
    };
}

protocols!(sessions);

impl SessionRequest {
    /// Makes a request for the server's figures.
    pub(super) fn for_metrics(head: AnswerHead) -> SessionRequest {
        SessionRequest::of_none(head.keep_alive, Of::Metrics(head))
    }

    /// Makes a request whose body is for every member of the room that the path names.
    pub(super) fn for_publishing(head: AnswerHead, room: String) -> SessionRequest {
        SessionRequest::of_none(head.keep_alive, Of::Publication(head, room))
    }

    fn of_none(keep_alive: bool, of: Of) -> SessionRequest {
        SessionRequest { name: String::new(), opens: false, keep_alive, body: Vec::new(), of }
    }

    /// Names the session among the sessions of all protocols.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a session that is not there is to be made.
    pub fn opens(&self) -> bool {
        self.opens
    }

    /// The worker that keeps the session, of `of` equals and from 0: the same for every request that names
    /// it.
    pub fn keeper(&self, of: usize) -> usize {
        // Its keys are always the same, unlike a HashMap's: all workers come to one result.
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        (hasher.finish() % of as u64) as usize
    }

    /// Sets the date of an answer that was made without a session, by code without a clock.
    pub(crate) fn set_date(&mut self, date: DateField) {
        of_any!(&mut self.of, question => question.set_date(date), _head => {});
    }

    /// Notes that the session knows that the request's body was on its way.
    pub(crate) fn set_begun(&mut self) {
        of_any!(&mut self.of, question => question.set_begun(), _head => {});
    }

    /// Returns whether it only announces the body of another request.
    pub fn is_beginning(&self) -> bool {
        of_any!(&self.of, question => question.is_beginning(), _head => false)
    }

    /// Returns whether no other request is for its session, which may be kept wherever it came in.
    pub(crate) fn is_alone(&self) -> bool {
        of_any!(&self.of, question => question.is_alone(), _head => false)
    }

    /// Returns whether it wants to know what the server does, and so concerns no session:
    /// [`answer_metrics`](Self::answer_metrics).
    pub fn is_for_metrics(&self) -> bool {
        matches!(self.of, Of::Metrics(_))
    }

    /// Writes the answer to such a request: metrics in the text format of Prometheus.
    ///
    /// # Panics
    /// If it is none.
    pub fn answer_metrics(&self, metrics: &str, out: &mut Vec<u8>) {
        let Of::Metrics(head) = &self.of else { panic!("a request of a session") };
        head.write_whole(out, 200, Some("text/plain; version=0.0.4"), metrics.as_bytes());
    }

    /// Returns whether it is for everyone in a room, and so concerns no session: [`publish`](Self::publish),
    /// and then [`answer_published`](Self::answer_published).
    pub fn is_for_publishing(&self) -> bool {
        matches!(self.of, Of::Publication(..))
    }

    /// Tells everyone in the room what such a request has for them, by [`ServerEvent::Rebroadcast`]s alone: a
    /// message without a sender counts once, not once for each protocol. Returns false, and sends nothing, if
    /// its body is not JSON.
    pub fn publish(&self, cfg: &ServerConfig, now_ns: u64, on: &mut impl FnMut(ServerEvent<'_>)) -> bool {
        let Of::Publication(_, room) = &self.of else { return false };
        let publication = Publication::new(room, &self.body);
        publication.map(|publication| publish(cfg, now_ns, &publication, on)).is_some()
    }

    /// Writes the answer to such a request: the number of the room's members, or an error for `None`, when
    /// the body is no JSON.
    pub fn answer_published(&self, members: Option<u64>, out: &mut Vec<u8>) {
        let Of::Publication(head, _) = &self.of else { return };
        let (status, body) = match members {
            Some(members) => (202, format!(r#"{{"members":{members}}}"#)),
            None => (400, r#"{"error":"the body has to be JSON"}"#.to_owned()),
        };
        head.write_whole(out, status, Some("application/json"), body.as_bytes());
    }

    /// Answers that there is no such session.
    pub fn refuse(self, io: &mut impl Io) {
        of_any!(self.of, question => question.refuse(&self.body, io),
            head => head.write_whole(io.out(REQUEST), 404, None, b""));
    }
}

impl Session {
    /// The connection held is gone before its answer was whole, or the one is gone that has taken the
    /// session.
    pub fn handle_lost(&mut self, now_ns: u64, io: &mut impl Io, on: &mut impl FnMut(ServerEvent<'_>)) {
        let link = &mut SessionLink { now_ns, io };
        of_any!(&mut self.state, session => session.handle_lost(link, on));
    }

    /// Broadcasts of a room that the session has joined: frames, end to end. What cannot be sent now is kept.
    pub fn handle_broadcast(
        &mut self,
        now_ns: u64,
        frames: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        let link = &mut SessionLink { now_ns, io };
        of_any!(&mut self.state, session => session.handle_broadcast(link, frames, on));
    }

    /// When the session wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        of_any!(&self.state, session => session.poll_timeout())
    }

    /// The time named by [`poll_timeout`](Session::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now_ns: u64, io: &mut impl Io, on: &mut impl FnMut(ServerEvent<'_>)) {
        let link = &mut SessionLink { now_ns, io };
        of_any!(&mut self.state, session => session.handle_timeout(link, on));
    }

    /// Bytes that wait for the client to ask for them.
    pub fn queued_bytes(&self) -> usize {
        of_any!(&self.state, session => session.queued_bytes())
    }

    /// Returns whether nothing is due while bytes wait to be sent to the reader of the answer held.
    pub fn follows_reader(&self) -> bool {
        of_any!(&self.state, session => session.follows_reader())
    }

    /// Handles that too many bytes wait: the session ends, and its client is told when it asks.
    pub fn give_up(&mut self, now_ns: u64, io: &mut impl Io, on: &mut impl FnMut(ServerEvent<'_>)) {
        let link = &mut SessionLink { now_ns, io };
        of_any!(&mut self.state, session => session.give_up(link, on));
    }

    /// Returns whether it may be forgotten. Until then its name is taken.
    pub fn is_over(&self) -> bool {
        of_any!(&self.state, session => session.is_over())
    }
}
