//! The server role: HTTP, WebSocket and dialect of one accepted connection.
//!
//! ```text
//! head --plain request--> body --its end--> head         (answered at the end of the body)
//! head --request of a session--> body --its end--> asked --handle_answered--> head
//! body --not all of it is in, and its session has to know--> asked --handle_answered with a signal--> body
//! head --the preface of HTTP/2--> multiplexed --connection: close, or any failure--> done
//! head --upgrade granted--> open --close frames both ways--> done
//! head --upgrade that a session has a say in--> asked --handle_answered with a signal--> open
//! head, body --connection: close, or any failure--> done
//! open --any failure--> done
//! done: input is discarded
//! ```

mod http;
mod http2;
mod socket;

use codec::StreamId;
use codec::ws::End;
use codec::ws::frame::{Accepts, Header};

use self::http::{Http, Next};
use self::http2::Http2;
use self::socket::{Session, Upgrade};
use crate::event::ServerEvent;
use crate::failure::Failure;
use crate::io::{AnswerPart, Io};
use crate::link::ServerLink;
use crate::registry::sessions::{SessionRequest, SessionSignal};
use crate::room::Room;
use crate::server_config::ServerConfig;

/// The form of a server's frames as it broadcasts them.
const PLAIN: Accepts = Accepts { end: End::Client, deflate: false };

/// One accepted connection.
#[derive(Debug, Default)]
pub struct Server {
    state: State,
}

#[derive(Debug)]
enum State {
    Http(Box<Http>),
    Multiplexed(Box<Http2>),
    Open(Session),
    Done,
}

impl Default for State {
    fn default() -> State {
        State::Http(Box::default())
    }
}

impl Server {
    /// Returns whether a request is half in.
    pub fn is_amid_request(&self) -> bool {
        match &self.state {
            State::Http(http) => !http.may_end(),
            State::Multiplexed(http2) => !http2.may_end(),
            State::Open(_) | State::Done => false,
        }
    }

    /// Bytes that came in ahead of their turn, and are kept: requests behind one that a session has not
    /// answered yet. A driver that reads on although there are many of them runs into the limit of a body.
    pub fn waiting_bytes(&self) -> usize {
        match &self.state {
            State::Http(http) => http.waiting_bytes(),
            State::Multiplexed(_) | State::Open(_) | State::Done => 0,
        }
    }

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
        let result = match &mut self.state {
            State::Open(session) => session.handle_input(cfg, now_ns, bytes, io, on),
            State::Http(http) => {
                let mut input = bytes;
                match http.handle_input(cfg, now_ns, &mut input, io, on) {
                    Ok(Some(next)) => {
                        self.state = match next {
                            Next::Open(session) => State::Open(session),
                            Next::Multiplexed(http2) => State::Multiplexed(http2),
                            Next::Done => State::Done,
                        };
                        // What is behind the head is in the new state's terms already: a client may send
                        // frames before it has the 101.
                        return self.handle_input(cfg, now_ns, stream, input, io, on);
                    }
                    Ok(None) => Ok(()),
                    Err(failure) => Err(failure),
                }
            }
            State::Multiplexed(http2) => http2.handle_input(cfg, now_ns, bytes, io, on),
            State::Done => Ok(()),
        };
        let over = match &self.state {
            State::Open(session) => session.receiver.is_closed(),
            State::Http(_) | State::Multiplexed(_) => false,
            State::Done => true,
        };
        // Closed once, here, whatever state ended it: what comes in after that is discarded.
        if over || result.is_err() {
            self.state = State::Done;
            io.close_stream(0);
        }
        result
    }

    /// The peer closed `stream`. Fine between requests and after a completed close, [`Failure::Eof`]
    /// elsewhere.
    pub fn handle_eof(
        &mut self,
        _cfg: &ServerConfig,
        _now_ns: u64,
        _stream: StreamId,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        match &self.state {
            State::Http(http) if http.may_end() => Ok(()),
            State::Multiplexed(http2) if http2.may_end() => Ok(()),
            State::Done => Ok(()),
            _ => Err(Failure::Eof),
        }
    }

    /// The time named by [`poll_timeout`](Server::poll_timeout) has come; before it, nothing happens.
    pub fn handle_timeout(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
    ) -> Result<(), Failure> {
        let State::Open(Session { sender, dialect, .. }) = &mut self.state else { return Ok(()) };
        if dialect.poll_timeout().is_none_or(|at_ns| now_ns < at_ns) {
            return Ok(());
        }
        let result = dialect.handle_timeout(&mut ServerLink { cfg, now_ns, sender, io });
        self.settle(result, io)
    }

    /// Ends an open connection whose dialect has failed.
    fn settle(&mut self, result: Result<(), Failure>, io: &mut impl Io) -> Result<(), Failure> {
        if let (Err(failure), State::Open(Session { sender, .. })) = (result, &mut self.state) {
            sender.fail(io, failure.close_code());
            self.state = State::Done;
            io.close_stream(0);
        }
        result
    }

    /// Appends to `out` what these frames are to this member of a [room of readers](crate::Room::of_readers):
    /// messages in words of its own, and control frames as they are.
    pub fn put_copies(&self, room: Room, mut frames: &[u8], out: &mut Vec<u8>) {
        let State::Open(session) = &self.state else { return };
        while let Ok(Some((header, at))) = Header::parse(frames, PLAIN) {
            // Frames of ours are whole, but a length is only a number in a header: it must not reach beyond
            // them.
            let end = at.saturating_add(usize::try_from(header.len).unwrap_or(usize::MAX)).min(frames.len());
            match header.opcode.is_control() {
                true => out.extend_from_slice(&frames[..end]),
                false => session.dialect.put_copy(room, &frames[at..end], out),
            }
            frames = &frames[end..];
        }
    }

    /// When the dialect wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        match &self.state {
            State::Open(session) => session.dialect.poll_timeout(),
            _ => None,
        }
    }

    /// Returns whether the dialect is not to be woken while bytes wait to be sent to the client.
    pub fn follows_reader(&self) -> bool {
        matches!(&self.state, State::Open(session) if session.dialect.follows_reader())
    }

    /// A request that [`ServerEvent::Asked`] announced, and the stream of HTTP/2 that it came on, or 0: once
    /// for each, and not if the connection has failed since.
    pub fn take_request(&mut self) -> Option<(u32, SessionRequest)> {
        match &mut self.state {
            State::Http(http) => http.take_request().map(|request| (0, request)),
            State::Open(session) => session.dialect.take_request().map(|request| (0, request)),
            State::Multiplexed(http2) => http2.take_request(),
            State::Done => None,
        }
    }

    /// Returns whether an answer is under way that a session goes on with, on a stream of HTTP/2.
    pub fn is_answering(&self) -> bool {
        matches!(&self.state, State::Multiplexed(http2) if http2.is_answering())
    }

    /// Bytes of an answer on a stream of HTTP/2 that wait for the client's windows.
    pub fn unsent_bytes(&self, stream: u32) -> usize {
        match &self.state {
            State::Multiplexed(http2) => http2.unsent_bytes(stream),
            State::Http(_) | State::Open(_) | State::Done => 0,
        }
    }

    /// Bytes of all answers on streams of HTTP/2 that wait for the client's windows.
    pub fn all_unsent_bytes(&self) -> usize {
        match &self.state {
            State::Multiplexed(http2) => http2.all_unsent_bytes(),
            State::Http(_) | State::Open(_) | State::Done => 0,
        }
    }

    /// Sends the part that a session has written of its answer to a request on a stream of HTTP/2.
    pub fn handle_part(
        &mut self,
        stream: u32,
        part: &[u8],
        then: AnswerPart,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        if let State::Multiplexed(http2) = &mut self.state {
            http2.handle_part(stream, part, then, io, on);
        }
    }

    /// Goes on after the answer to the request taken, of no stream, has been written to this connection, with
    /// what came in meanwhile. `signal` is the session's for this connection, if it gave one.
    pub fn handle_answered(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        signal: Option<SessionSignal>,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let http = match &mut self.state {
            State::Http(http) => http,
            State::Open(Session { sender, dialect, .. }) => {
                let result = dialect.handle_answered(&mut ServerLink { cfg, now_ns, sender, io }, signal, on);
                return self.settle(result, io);
            }
            State::Multiplexed(_) | State::Done => return Ok(()),
        };
        // Before a plain answer: a session that was asked about an upgrade has answered that, and no request.
        if let Some((upgrade, waiting)) = http.take_upgrade() {
            self.handle_entered(cfg, now_ns, *upgrade, signal, io, on)?;
            return self.handle_input(cfg, now_ns, 0, &waiting, io, on);
        }
        if signal.is_some() {
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

    /// A session has said whether there is to be a WebSocket. If it is not, the request is answered.
    fn handle_entered(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        upgrade: Upgrade,
        signal: Option<SessionSignal>,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        if signal.is_none() {
            self.state = State::Done;
            io.close_stream(0);
            // The session's own answer is written by now, and says why.
            return Err(Failure::Refused(400));
        }
        let mut session = upgrade.open(cfg, now_ns, io, on);
        let link = &mut ServerLink { cfg, now_ns, sender: &mut session.sender, io };
        let result = session.dialect.handle_answered(link, signal, on);
        self.state = State::Open(session);
        self.settle(result, io)
    }

    /// Starts the close handshake. Does nothing before the upgrade or after another close.
    pub fn close(&mut self, cfg: &ServerConfig, now_ns: u64, code: u16, io: &mut impl Io) {
        if let State::Open(session) = &mut self.state {
            let Session { sender, dialect, .. } = session;
            // The dialect's goodbye is a message, and none may follow a close frame (RFC 6455 §5.5.1).
            if !sender.is_closed() {
                dialect.handle_close(&mut ServerLink { cfg, now_ns, sender, io });
            }
            sender.close(io, code);
        }
    }
}
