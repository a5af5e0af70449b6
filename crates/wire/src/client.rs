//! The client role: HTTP upgrade, WebSocket and dialect of one virtual user; or a dialect over plain requests.
//!
//! ```text
//! idle --handle_open, if there is a question to ask first--> asking --200, whole--> as if idle without one
//! idle --handle_open--> opening --101, verified--> open --close frames both ways--> open, but silent
//! idle --handle_open, of a transport without WebSocket--> requesting, on several streams
//! requesting --the dialect has a WebSocket take over--> open
//! asking, opening, open, requesting --any failure--> failed: input is discarded
//! ```

use crate::config::Config;
use crate::dialects::contract::Link;
use crate::dialects::over_http::HttpLink;
use crate::dialects::registry::ClientState;
use crate::dialects::requesting::HttpClientState;
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::http::{Exchange, Got};
use crate::io::{Io, Sending, StreamId};
use crate::opening::{Opening, Socket};
use crate::stamp::Stamp;
use crate::ws::receiver::{Incoming, Receiver};
use crate::ws::sender::Sender;

/// One virtual user's connection.
#[derive(Debug, Default)]
pub struct Client {
    state: State,
    /// Which client of the run it is.
    number: u32,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Asking(Box<Exchange>),
    Opening(Box<Opening>),
    Open(Session),
    Requesting(Box<HttpClientState>),
    Failed,
}

/// A WebSocket, and what is spoken on it.
#[derive(Debug)]
struct Session {
    receiver: Receiver,
    sender: Sender,
    dialect: ClientState,
}

impl Client {
    /// A client whose transport is not connected yet.
    pub fn new() -> Client {
        Client::default()
    }

    /// The same, for dialects that tell clients apart: this is number `number` of the run, from 0.
    pub fn numbered(number: u32) -> Client {
        Client { number, ..Client::default() }
    }

    /// The transport of `stream` is connected: writes the request.
    pub fn handle_open(&mut self, cfg: &Config, now_ns: u64, stream: StreamId, io: &mut impl Io) {
        match (&mut self.state, cfg.question()) {
            (State::Requesting(dialect), _) => {
                dialect.handle_open(&mut HttpLink { cfg, now_ns, io }, stream);
            }
            (State::Idle, Some(place)) => {
                let mut exchange = Exchange::connecting(stream);
                exchange.handle_open(io);
                exchange.request(io, |out| cfg.write_plain(out, "GET", place, "", None));
                self.state = State::Asking(Box::new(exchange));
            }
            _ => self.begin(cfg, now_ns, io),
        }
    }

    /// Stream 0 is connected, and there is nothing to ask: the first request of the transport itself.
    fn begin(&mut self, cfg: &Config, now_ns: u64, io: &mut impl Io) {
        self.state = match HttpClientState::new(cfg) {
            Some(mut dialect) => {
                dialect.handle_open(&mut HttpLink { cfg, now_ns, io }, 0);
                State::Requesting(Box::new(dialect))
            }
            None => {
                let options = cfg.options();
                let key = cfg.write_upgrade(io, |io| options.dialect.write_path(options, now_ns, io));
                State::Opening(Box::new(Opening::new(key)))
            }
        };
    }

    /// The answer to the first question comes in.
    fn handle_told(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        mut input: &[u8],
        io: &mut impl Io,
    ) -> Result<(), Failure> {
        let State::Asking(exchange) = &mut self.state else { return Ok(()) };
        while let Some(got) = exchange.next(&cfg.options().limits, &mut input, io)? {
            match got {
                Got::Head { status: 200, .. } | Got::Data(_) => {}
                Got::Head { status, .. } => return Err(Failure::HttpStatus(status)),
                Got::End if exchange.is_open() => {
                    self.begin(cfg, now_ns, io);
                    return Ok(());
                }
                Got::End => io.open_stream(0),
            }
        }
        Ok(())
    }

    /// Bytes came in on `stream`, in any portions. After an error the connection is of no further use.
    pub fn handle_input(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        stream: StreamId,
        bytes: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let mut input = bytes;
        if let State::Asking(_) = self.state {
            let result = self.handle_told(cfg, now_ns, input, io);
            return result.inspect_err(|_| self.state = State::Failed);
        }
        if let State::Requesting(dialect) = &mut self.state {
            let result = dialect.handle_input(&mut HttpLink { cfg, now_ns, io }, stream, bytes, on);
            return self.settle(result);
        }
        if let State::Opening(opening) = &mut self.state {
            match opening.handle_input(cfg, &mut input) {
                Ok(None) => return Ok(()),
                Ok(Some(socket)) => {
                    let dialect = ClientState::new(cfg.options().dialect);
                    self.state = State::Open(Session::on(socket, dialect));
                    on(Event::Upgraded);
                    if let Some((dialect, mut link)) = self.dialect(cfg, now_ns, io) {
                        dialect.handle_upgraded(&mut link, on);
                    }
                }
                Err(failure) => {
                    self.state = State::Failed;
                    return Err(failure);
                }
            }
        }
        let State::Open(session) = &mut self.state else { return Ok(()) };
        let result = session.handle_input(cfg, now_ns, self.number, input, io, on);
        result.inspect_err(|_| self.state = State::Failed)
    }

    /// The peer closed `stream`. Fine after a completed close and between requests, [`Failure::Eof`] elsewhere.
    pub fn handle_eof(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        stream: StreamId,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        match &mut self.state {
            State::Open(session) if session.receiver.is_closed() => Ok(()),
            State::Asking(exchange) => match exchange.handle_eof() {
                Ok(is_whole) => {
                    if is_whole {
                        io.open_stream(0);
                    }
                    Ok(())
                }
                Err(failure) => Err(failure),
            },
            State::Requesting(dialect) => {
                let result = dialect.handle_eof(&mut HttpLink { cfg, now_ns, io }, stream, on);
                self.settle(result)
            }
            _ => Err(Failure::Eof),
        }
    }

    /// After a call of a dialect over requests: a WebSocket may have taken over.
    fn settle(&mut self, result: Result<(), Failure>) -> Result<(), Failure> {
        let State::Requesting(dialect) = &mut self.state else { return result };
        match (result, dialect.take_over()) {
            (Err(_), _) => self.state = State::Failed,
            (Ok(()), Some((socket, dialect))) => self.state = State::Open(Session::on(socket, dialect)),
            (Ok(()), None) => {}
        }
        result
    }

    /// The connection of `stream` is broken, and gone. True when the session goes on without it, or over another that
    /// it asks for; false when this is its end.
    pub fn handle_lost(&mut self, cfg: &Config, now_ns: u64, stream: StreamId, io: &mut impl Io) -> bool {
        let State::Requesting(dialect) = &mut self.state else { return false };
        dialect.handle_lost(&mut HttpLink { cfg, now_ns, io }, stream)
    }

    /// The time named by [`poll_timeout`](Client::poll_timeout) has come.
    pub fn handle_timeout(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if let State::Requesting(dialect) = &mut self.state {
            let result = dialect.handle_timeout(&mut HttpLink { cfg, now_ns, io }, on);
            return result.inspect_err(|_| self.state = State::Failed);
        }
        let Some((dialect, mut link)) = self.dialect(cfg, now_ns, io) else { return Ok(()) };
        let result = dialect.handle_timeout(&mut link, on);
        if let Err(failure) = result {
            link.sender.fail(link.io, failure);
            self.state = State::Failed;
        }
        result
    }

    /// When the dialect wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        match &self.state {
            State::Open(session) => session.dialect.poll_timeout(),
            State::Requesting(dialect) => dialect.poll_timeout(),
            _ => None,
        }
    }

    /// Whether the server has granted the WebSocket, or is asked without one: what is missing then is the dialect's.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_) | State::Requesting(_))
    }

    /// Whether messages may be sent.
    pub fn is_usable(&self) -> bool {
        match &self.state {
            State::Open(session) => !session.sender.is_closed() && session.dialect.is_usable(),
            State::Requesting(dialect) => dialect.is_usable(),
            _ => false,
        }
    }

    /// Sends one stamped message; nothing when the client is not usable. `unix_ns` is the wall clock, for
    /// dialects whose messages show it.
    ///
    /// # Panics
    /// If the dialect has no such kind of message: see [`DialectId::can_broadcast`](crate::DialectId::can_broadcast).
    #[inline]
    pub fn send(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        unix_ns: u64,
        kind: Kind,
        stamp: Stamp,
        io: &mut impl Io,
    ) -> Sending {
        if let Some((dialect, mut link)) = self.dialect(cfg, now_ns, io) {
            if dialect.is_usable() {
                dialect.send(&mut link, unix_ns, kind, stamp);
            }
        } else if let State::Requesting(dialect) = &mut self.state
            && dialect.is_usable()
        {
            return dialect.send(&mut HttpLink { cfg, now_ns, io }, unix_ns, kind, stamp);
        }
        Sending::Out
    }

    /// Starts the close handshake (RFC 6455 §7.1.2), or says goodbye as the dialect does over requests. Does
    /// nothing before the upgrade or after another close.
    pub fn close(&mut self, cfg: &Config, code: u16, io: &mut impl Io) {
        match &mut self.state {
            State::Open(session) => session.sender.close(io, code),
            State::Requesting(dialect) => dialect.close(cfg, io),
            _ => {}
        }
    }

    /// Whether no goodbye is to be waited for: none is owed, or there is no way to say one.
    pub fn is_closed(&self) -> bool {
        match &self.state {
            State::Open(session) => session.receiver.is_closed(),
            State::Requesting(dialect) => dialect.is_closed(),
            _ => true,
        }
    }

    /// The dialect of an open session, and what it acts through.
    #[inline]
    fn dialect<'a, I: Io>(
        &'a mut self,
        cfg: &'a Config,
        now_ns: u64,
        io: &'a mut I,
    ) -> Option<(&'a mut ClientState, Link<'a, I>)> {
        match &mut self.state {
            State::Open(Session { sender, dialect, .. }) => {
                Some((dialect, Link { cfg, now_ns, client: self.number, sender, io }))
            }
            _ => None,
        }
    }
}

impl Session {
    fn on(Socket { receiver, sender }: Socket, dialect: ClientState) -> Session {
        Session { receiver, sender, dialect }
    }

    #[inline]
    fn handle_input(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        client: u32,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let Session { receiver, sender, dialect } = self;
        loop {
            let handled = match receiver.next(&cfg.options().limits, sender, io, &mut input) {
                Ok(None) => return Ok(()),
                Ok(Some(Incoming::Message(message))) => {
                    let mut link = Link { cfg, now_ns, client, sender, io };
                    dialect.handle_message(&mut link, &message, on)
                }
                Ok(Some(Incoming::Control)) => Ok(()),
                Ok(Some(Incoming::Closed { code })) => {
                    on(Event::Closed { code });
                    Ok(())
                }
                Err(failure) => Err(failure),
            };
            handled.inspect_err(|&failure| sender.fail(io, failure))?;
        }
    }
}
