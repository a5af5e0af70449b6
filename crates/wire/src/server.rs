//! The server role: HTTP, WebSocket and dialect of one accepted connection.
//!
//! ```text
//! head --plain request--> body --its end--> head         (answered at the end of the body)
//! head --request of a session--> body --its end--> asked --handle_answered--> head
//! body --not all of it is in, and its session has to know--> asked --handle_answered with a word--> body
//! head --upgrade granted--> open --close frames both ways--> done
//! head, body --connection: close, or any failure--> done
//! open --any failure--> done
//! done: input is discarded
//! ```

mod http;

use self::http::Http;
use crate::config::ServerConfig;
use crate::dialect_id::DialectId;
use crate::dialects::contract::ServerLink;
use crate::dialects::registry::ServerState;
use crate::event::ServerEvent;
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::{Io, StreamId};
use crate::session::{SessionRequest, Word};
use crate::ws::receiver::{Incoming, Receiver};
use crate::ws::sender::Sender;
use crate::ws::upgrade::{self, Terms};
use crate::ws::{End, frame};

/// One accepted connection.
#[derive(Debug, Default)]
pub struct Server {
    state: State,
}

#[derive(Debug)]
enum State {
    Http(Box<Http>),
    Open(Session),
    Done,
}

impl Default for State {
    fn default() -> State {
        State::Http(Box::default())
    }
}

/// After an upgrade.
#[derive(Debug)]
struct Session {
    receiver: Receiver,
    sender: Sender,
    dialect: ServerState,
}

impl Server {
    /// A connection that was just accepted.
    pub fn new() -> Server {
        Server::default()
    }

    /// Bytes came in on `stream`, in any portions. After an error the connection is to be closed once the
    /// output, which tells the peer why, is sent.
    pub fn handle_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        stream: StreamId,
        bytes: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        debug_assert_eq!(stream, 0, "a server's connection is one stream");
        let mut input = bytes;
        let result = loop {
            match &mut self.state {
                State::Http(http) => match http.handle_input(cfg, now_ns, &mut input, io, on) {
                    Ok(Some(next)) => self.state = next,
                    Ok(None) => break Ok(()),
                    Err(failure) => break Err(failure),
                },
                State::Open(session) => break session.handle_input(cfg, now_ns, input, io, on),
                State::Done => break Ok(()),
            }
        };
        let over = match &self.state {
            State::Open(session) => session.receiver.is_closed(),
            State::Http(_) => false,
            State::Done => true,
        };
        if over || result.is_err() {
            self.state = State::Done;
            io.close_stream(0);
        }
        result
    }

    /// The peer closed `stream`. Fine between requests and after a completed close, [`Failure::Eof`] elsewhere.
    pub fn handle_eof(
        &mut self,
        _cfg: &ServerConfig,
        _now_ns: u64,
        _stream: StreamId,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        match &self.state {
            State::Http(http) if http.may_end() => Ok(()),
            State::Done => Ok(()),
            _ => Err(Failure::Eof),
        }
    }

    /// The time named by [`poll_timeout`](Server::poll_timeout) has come.
    pub fn handle_timeout(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let State::Open(Session { sender, dialect, .. }) = &mut self.state else { return Ok(()) };
        let result = dialect.handle_timeout(&mut ServerLink { cfg, now_ns, sender, io }, on);
        self.settle(result, io)
    }

    /// Ends an open connection whose dialect has failed.
    fn settle(&mut self, result: Result<(), Failure>, io: &mut impl Io) -> Result<(), Failure> {
        if let (Err(failure), State::Open(Session { sender, .. })) = (result, &mut self.state) {
            sender.fail(io, failure);
            self.state = State::Done;
            io.close_stream(0);
        }
        result
    }

    /// When the dialect wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        match &self.state {
            State::Open(session) => session.dialect.poll_timeout(),
            _ => None,
        }
    }

    /// The request that [`ServerEvent::Asked`] announced; once, and not if the connection has failed since.
    pub fn take_request(&mut self) -> Option<SessionRequest> {
        match &mut self.state {
            State::Http(http) => http.take_request(),
            State::Open(session) => session.dialect.take_request(),
            State::Done => None,
        }
    }

    /// The answer to the request taken is written to this connection, and the session's word, if it has one, is for
    /// it. Goes on with what came in meanwhile.
    pub fn handle_answered(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        word: Option<Word>,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let http = match &mut self.state {
            State::Http(http) => http,
            State::Open(Session { sender, dialect, .. }) => {
                let result = dialect.handle_answered(&mut ServerLink { cfg, now_ns, sender, io }, word, on);
                return self.settle(result, io);
            }
            State::Done => return Ok(()),
        };
        if word.is_some() {
            let waiting = http.admit().unwrap_or_default();
            return self.handle_input(cfg, now_ns, 0, &waiting, io, on);
        }
        let Some((keep_alive, waiting)) = http.settle() else { return Ok(()) };
        on(ServerEvent::Requested { keep_alive });
        if !keep_alive {
            self.state = State::Done;
        }
        self.handle_input(cfg, now_ns, 0, &waiting, io, on)
    }

    /// Starts the close handshake. Does nothing before the upgrade or after another close.
    pub fn close(&mut self, cfg: &ServerConfig, now_ns: u64, code: u16, io: &mut impl Io) {
        if let State::Open(session) = &mut self.state {
            let Session { sender, dialect, .. } = session;
            if !sender.is_closed() {
                dialect.handle_close(&mut ServerLink { cfg, now_ns, sender, io });
            }
            sender.close(io, code);
        }
    }
}

impl Session {
    /// Writes the 101 and what the dialect says first; or gives the HTTP status to refuse the request with.
    fn open(
        request: &Request<'_>,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<Session, u16> {
        let id = cfg.dialect.map_or_else(|| DialectId::at(request.path()), DialectId::group);
        let terms =
            Terms { origins: &cfg.origins, origin_refusal: id.origin_refusal(), deflate: cfg.deflate };
        let granted = upgrade::judge(request, terms, |offered| subprotocol(cfg, id, offered))?;
        let dialect = ServerState::open(id, request, granted.subprotocol)?;
        granted.write(io.out(0));
        let level = cfg.deflate.map_or(0, |deflate| deflate.level);
        let (inflater, deflater) = granted.deflate.map(|agreed| agreed.codecs(End::Server, level)).unzip();
        let mut session = Session {
            receiver: Receiver::new(End::Server, inflater),
            sender: Sender::new(End::Server, deflater),
            dialect,
        };
        on(ServerEvent::Upgraded);
        session.dialect.handle_upgraded(&mut ServerLink { cfg, now_ns, sender: &mut session.sender, io }, on);
        Ok(session)
    }

    #[inline]
    fn handle_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let Session { receiver, sender, dialect } = self;
        loop {
            let handled = match receiver.next(&cfg.limits, sender, io, &mut input) {
                Ok(None) => return Ok(()),
                // Our close is out: whatever else the client says is judged, but nothing may be answered.
                Ok(Some(Incoming::Message(message))) if sender.is_closed() => {
                    let out = io.out(0);
                    let start = out.len();
                    let judged = message.append_to(out);
                    out.truncate(start);
                    judged
                }
                Ok(Some(Incoming::Message(message))) => {
                    let out = io.out(0);
                    let start = frame::open(out, End::Server);
                    let mut link = ServerLink { cfg, now_ns, sender, io };
                    match message.append_to(link.io.out(0)) {
                        Ok(()) => dialect.handle_message(&mut link, message.text, start, on),
                        Err(failure) => {
                            link.io.out(0).truncate(start);
                            Err(failure)
                        }
                    }
                }
                Ok(Some(Incoming::Control)) => Ok(()),
                Ok(Some(Incoming::Closed { code })) => {
                    on(ServerEvent::Closed { code });
                    Ok(())
                }
                Err(failure) => Err(failure),
            };
            handled.inspect_err(|&failure| sender.fail(io, failure))?;
        }
    }
}

/// The subprotocol of that name, if it is spoken where this dialect is.
fn subprotocol<'a>(cfg: &'a ServerConfig, dialect: DialectId, name: &[u8]) -> Option<&'a str> {
    match cfg.subprotocols.as_slice() {
        [] => dialect.spoken_subprotocols().iter().copied().find(|spoken| spoken.as_bytes() == name),
        spoken => spoken.iter().map(String::as_str).find(|spoken| spoken.as_bytes() == name),
    }
}
