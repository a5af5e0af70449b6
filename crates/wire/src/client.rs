//! The client role: HTTP upgrade, WebSocket, protocol and app of one virtual user; or a protocol over plain
//! requests.
//!
//! ```text
//! idle --handle_open, over HTTP/2--> tunnelled: all of this is the business of another client, inside
//! idle --handle_open, if there is a login--> logging in --all answers as expected--> as if idle without one
//! idle --handle_open, if there is a question to ask first--> asking --200, whole--> as if idle without one
//! idle --handle_open--> opening --101, verified--> open --close frames both ways--> open, but silent
//! idle --handle_open, of a transport without WebSocket--> requesting, on several streams
//! requesting --the dialect has a WebSocket take over--> open
//! logging in, asking, opening, open, requesting --any failure--> failed: input is discarded
//! ```

mod login;
mod passage;
mod question;
mod resuming;
mod series;
mod socket;
mod standing;
mod tunnel;

use crate::apps::{App, AppProgress};
use crate::backoff::Reconnection;
use crate::config::Config;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::{Io, Sending};
use crate::link::HttpLink;
use crate::login::Visit;
use crate::opening::Opening;
use crate::options::Carrier;
use crate::pending::Pending;
use crate::registry::Parts;
use crate::registry::clients::{ClientState, LinkContext};
use crate::registry::requesting::HttpClientState;
use app::Kind;
use app::template::{Kept, Mark};
use codec::{Error, Stamp, StreamId};
use question::Question;
use socket::{AppHandler, Session, SessionContext, UnitHandler, split};
use tunnel::{Inside, Tunnel, TunnelUser};

/// One virtual user's connection.
#[derive(Debug, Default)]
pub struct Client {
    state: State,
    /// The client's progress in the app, where the app has any.
    place: Option<Box<AppProgress>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    LoggingIn(Box<Visit>),
    Asking(Box<Question>),
    Opening(Box<Opening>),
    Open(Session),
    Requesting(HttpClientState),
    Tunnelled(Box<Tunnelled>),
    /// A client that is of no further use; the server had this to say of the next connection.
    Failed(Reconnection),
}

/// A connection of HTTP/2, and the client that speaks over a stream of it.
#[derive(Debug)]
struct Tunnelled {
    tunnel: Tunnel,
    inside: Client,
}

impl Client {
    /// A client whose transport is not connected yet.
    pub fn new() -> Client {
        Client::default()
    }

    /// The client that speaks the protocol: this one, or the one that it carries.
    #[inline]
    fn speaker(&self) -> &Client {
        match &self.state {
            State::Tunnelled(of) => &of.inside,
            _ => self,
        }
    }

    /// The transport of `stream` is connected: writes the request.
    pub fn handle_open(&mut self, cfg: &Config, now_ns: u64, stream: StreamId, io: &mut impl Io) {
        if let (State::Idle, Carrier::Http2) = (&self.state, cfg.options().carrier) {
            // The whole client moves inside, with what it has kept, and notices no difference.
            let inside = std::mem::take(self);
            self.state = State::Tunnelled(Box::new(Tunnelled { tunnel: Tunnel::open(cfg, io), inside }));
            return;
        }
        if let State::Tunnelled(of) = &mut self.state {
            of.tunnel = Tunnel::open(cfg, io);
            return;
        }
        // A login comes before all requests, as its cookies and values stand in them.
        if let (State::Idle, Some(_)) = (&self.state, &cfg.login) {
            self.state = State::LoggingIn(Box::new(Visit::new()));
        }
        // Which of several streams stands matters to a protocol over requests alone: all others have one.
        match (&mut self.state, &cfg.login) {
            (State::Requesting(protocol), _) => {
                let (_, _, kept) = split(&cfg.app, &mut self.place);
                protocol.handle_open(over_http(cfg, None, kept, now_ns, io), stream);
            }
            (State::LoggingIn(visit), Some(steps)) => {
                if visit.handle_open(steps, &cfg.common.identities, now_ns, io) {
                    self.ask(cfg, now_ns, io);
                }
            }
            (State::Idle, _) => self.ask(cfg, now_ns, io),
            _ => self.begin(cfg, now_ns, io),
        }
    }

    /// A stream of HTTP/2 stands for the transport: writes the request, as if for HTTP/1.1. What comes back is
    /// input of stream 0.
    pub fn handle_stream_open(&mut self, cfg: &Config, now_ns: u64, io: &mut impl Io) {
        match self.state {
            // It has asked before, and was told to ask elsewhere.
            State::Requesting(_) => self.handle_open(cfg, now_ns, 0, io),
            _ => self.begin(cfg, now_ns, io),
        }
    }

    /// Stream 0 is connected, and the client has logged in if it has to: the first question, if there is one
    /// to ask.
    fn ask(&mut self, cfg: &Config, now_ns: u64, io: &mut impl Io) {
        if let State::LoggingIn(visit) = &mut self.state {
            let place =
                self.place.get_or_insert_with(|| cfg.app.place().unwrap_or_else(AppProgress::through));
            // What the login gave outlives it: the requests from here on have it in them.
            place.given.get_or_insert_default().kept = visit.take();
        }
        let Some(place) = cfg.question() else { return self.begin(cfg, now_ns, io) };
        let (_, _, kept) = split(&cfg.app, &mut self.place);
        let context = cfg.common.context(io, now_ns, kept);
        self.state = State::Asking(Box::new(Question::ask(cfg, place, context, io)));
    }

    /// Stream 0 is connected, and there is nothing to ask: the first request of the transport itself.
    fn begin(&mut self, cfg: &Config, now_ns: u64, io: &mut impl Io) {
        if self.place.is_none() {
            self.place = cfg.app.place();
        }
        if let State::Asking(question) = &mut self.state {
            let cookies = question.take_cookies();
            self.keep_cookies(cookies);
        }
        cfg.app.go_on(&mut self.place);
        let known = self.place.as_ref().and_then(|place| place.given.as_ref()?.resumption.as_deref());
        let query = known.and_then(|known| cfg.parts.query(known)).unwrap_or_default();
        let mut requesting = HttpClientState::new(&cfg.parts);
        if let (Some(protocol), Some(known)) = (&mut requesting, known.filter(|known| known.is_of_protocol()))
        {
            protocol.resume(known);
        }
        let (_, _, kept) = split(&cfg.app, &mut self.place);
        self.state = match requesting {
            Some(mut protocol) => {
                protocol.handle_open(over_http(cfg, None, kept, now_ns, io), 0);
                // The cookies are with the protocol from now on, and without a login nothing else is kept: its
                // memory counts for every client.
                self.place.take_if(|_| !cfg.app.has_places() && cfg.login.is_none());
                State::Requesting(protocol)
            }
            None => {
                // Some paths have something new in them each time, such as a session's id.
                let write_place = |io: &mut _| cfg.parts.write_path(now_ns, io);
                let context = cfg.common.context(io, now_ns, kept);
                let asked = cfg.common.write_upgrade(io, context, write_place, &query);
                State::Opening(Box::new(Opening::new(asked)))
            }
        };
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
        // First what nearly all input is for, whose place is then never changed through a reference.
        if let State::Open(session) = &mut self.state {
            let context = &mut SessionContext { cfg, now_ns, place: &mut self.place };
            let result = session.handle_input(context, bytes, io, on);
            return result.inspect_err(|_| self.fail());
        }
        self.handle_rare_input(cfg, now_ns, stream, bytes, io, on)
    }

    /// Bytes that are for no open session: apart, so that a session does not pay for what others need.
    #[inline(never)]
    fn handle_rare_input(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        stream: StreamId,
        bytes: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if let State::Tunnelled(of) = &mut self.state {
            let Tunnelled { tunnel, inside } = &mut **of;
            let client = &mut TunnelledClient { client: inside, cfg, now_ns, on };
            return tunnel.handle_input(cfg, now_ns, bytes, io, client);
        }
        if let (State::LoggingIn(visit), Some(steps)) = (&mut self.state, &cfg.login) {
            let mut input = bytes;
            let (limits, identities) = (&cfg.options().limits, &cfg.common.identities);
            let progress = visit.handle_input(steps, limits, identities, now_ns, &mut input, io);
            let result = progress.and_then(|progress| self.handle_went(cfg, now_ns, progress, input, io, on));
            return result.inspect_err(|_| self.fail());
        }
        if let State::Asking(question) = &mut self.state {
            let told = question.handle_input(&cfg.options().limits, bytes, io);
            if told.inspect_err(|_| self.fail())? {
                self.begin(cfg, now_ns, io);
            }
            return Ok(());
        }
        if let State::Requesting(protocol) = &mut self.state {
            let (script, pending, kept) = split(&cfg.app, &mut self.place);
            let handler = &mut UnitHandler::new(AppHandler { cfg, client: io.client(), kept, script, on });
            let link = over_http(cfg, pending, kept, now_ns, io);
            let result = protocol.handle_input(link, stream, bytes, handler);
            return self.conclude(result, cfg, now_ns, io, on);
        }
        let mut cookies = self.cookies();
        let State::Opening(opening) = &mut self.state else { return Ok(()) };
        let mut input = bytes;
        match opening.handle_input(&cfg.common, &mut cookies, &mut input) {
            Ok(None) => Ok(()),
            Ok(Some(socket)) => {
                on(Event::Upgraded);
                self.keep_cookies(cookies);
                let mut session = Session::on(socket, ClientState::new(&cfg.parts));
                let given = self.place.as_mut().and_then(|place| place.given.as_mut());
                if let Some(resumption) = given.and_then(|given| given.resumption.take())
                    && resumption.is_of_protocol()
                {
                    session.protocol.resume(&resumption);
                }
                self.shrink_place(cfg);
                session.handle_upgraded(&mut SessionContext { cfg, now_ns, place: &mut self.place }, io, on);
                self.state = State::Open(session);
                // What the server said behind its 101, which came in the same portion.
                self.handle_input(cfg, now_ns, stream, input, io, on)
            }
            Err(failure) => {
                self.fail();
                Err(failure)
            }
        }
    }

    /// The peer closed `stream`, which was open: one that never was is lost
    /// ([`handle_lost`](Client::handle_lost)). Fine after a completed close and between requests,
    /// [`Error::EofBeforeAnswer`] in a request, [`Failure::Eof`] elsewhere.
    pub fn handle_eof(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        stream: StreamId,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        match &mut self.state {
            // After both close frames, the end of the connection is the server's to make (RFC 6455 §7.1.1).
            State::Open(session) if session.receiver.is_closed() => Ok(()),
            State::Tunnelled(of) => {
                let Tunnelled { tunnel, inside } = &mut **of;
                tunnel.act(io, |io| TunnelledClient { client: inside, cfg, now_ns, on }.handle_eof(io))
            }
            State::LoggingIn(visit) => {
                let Some(steps) = &cfg.login else { return Err(Failure::Codec(Error::EofBeforeAnswer)) };
                let progress = visit.handle_eof(steps, &cfg.common.identities, now_ns, io)?;
                self.handle_went(cfg, now_ns, progress, b"", io, on)
            }
            State::Asking(question) => question.handle_eof(io),
            State::Requesting(protocol) => {
                let (script, pending, kept) = split(&cfg.app, &mut self.place);
                let handler =
                    &mut UnitHandler::new(AppHandler { cfg, client: io.client(), kept, script, on });
                let link = over_http(cfg, pending, kept, now_ns, io);
                let result = protocol.handle_eof(link, stream, handler);
                self.conclude(result, cfg, now_ns, io, on)
            }
            // The opening request is a request like any other: it has no answer.
            State::Opening(_) => Err(Failure::Codec(Error::EofBeforeAnswer)),
            _ => Err(Failure::Eof),
        }
    }

    /// Finishes a call of a protocol over requests: a WebSocket may have taken over, and the app's script may
    /// have messages to send.
    fn conclude(
        &mut self,
        result: Result<(), Failure>,
        cfg: &Config,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let State::Requesting(protocol) = &mut self.state else { return result };
        match (result, protocol.take_over()) {
            (Err(_), _) => self.fail(),
            (Ok(()), Some((socket, open))) => {
                let cookies = protocol.cookies().clone();
                self.state = State::Open(Session::on(socket, open));
                self.keep_cookies(cookies);
            }
            (Ok(()), None) => {}
        }
        // Whatever came of it: the script hears of events before a failure, too, and then has nothing to say.
        self.speak(cfg, now_ns, io, on);
        result
    }

    /// Sends the messages of the app's script that are due.
    fn speak(&mut self, cfg: &Config, now_ns: u64, io: &mut impl Io, on: &mut impl FnMut(Event)) {
        let context = &mut SessionContext { cfg, now_ns, place: &mut self.place };
        match &mut self.state {
            State::Open(session) => session.speak(context, io, on),
            State::Requesting(protocol) => {
                while let Some((message_template, seq, announced)) = context.poll(on) {
                    let (_, pending, kept) = split(&cfg.app, context.place);
                    let mark = Mark::of(announced.as_ref());
                    let filling = cfg.filling(mark, seq, cfg.common.context(io, now_ns, kept));
                    protocol.send(over_http(cfg, pending, kept, now_ns, io), message_template, &filling);
                }
            }
            _ => {}
        }
    }

    /// The connection of `stream` is broken, and gone. True when the session goes on without it, or over
    /// another that it asks for; false when this is its end.
    pub fn handle_lost(&mut self, cfg: &Config, now_ns: u64, stream: StreamId, io: &mut impl Io) -> bool {
        let State::Requesting(protocol) = &mut self.state else { return false };
        let (_, _, kept) = split(&cfg.app, &mut self.place);
        protocol.handle_lost(over_http(cfg, None, kept, now_ns, io), stream)
    }

    /// The time named by [`poll_timeout`](Client::poll_timeout) has come.
    pub fn handle_timeout(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let (_, _, kept) = split(&cfg.app, &mut self.place);
        let result = match &mut self.state {
            State::Tunnelled(of) => {
                // As a trait object: a closure around `on` for each level of clients would be a type without
                // an end.
                let (Tunnelled { tunnel, inside }, mut on) = (&mut **of, on as &mut dyn FnMut(Event));
                tunnel.act(io, |io| inside.handle_timeout(cfg, now_ns, io, &mut on))
            }
            State::Requesting(protocol) => protocol.handle_timeout(over_http(cfg, None, kept, now_ns, io)),
            // It was the app that wanted to be woken.
            State::Open(session) if session.protocol.poll_timeout().is_none_or(|at_ns| now_ns < at_ns) => {
                Ok(())
            }
            State::Open(Session { sender, protocol, .. }) => {
                let identities = &cfg.common.identities;
                let link_context = LinkContext { pending: None, identities, kept, now_ns, sender, io };
                let result = protocol.handle_timeout(&cfg.parts, link_context);
                result.inspect_err(|&failure| sender.fail(io, failure.close_code()))
            }
            _ => return Ok(()),
        };
        match result {
            Ok(()) => self.speak(cfg, now_ns, io, on),
            Err(_) => self.fail(),
        }
        result
    }

    /// When the protocol or the app wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        let protocol = match &self.state {
            State::Tunnelled(of) => return of.inside.poll_timeout(),
            State::Open(session) => session.protocol.poll_timeout(),
            State::Requesting(protocol) => protocol.poll_timeout(),
            _ => return None,
        };
        let app = self.place.as_ref().and_then(|place| place.script.poll_timeout());
        protocol.into_iter().chain(app).min()
    }

    /// Sends one stamped message; nothing when the client is not usable. `unix_ns` is the wall clock, for
    /// messages that show it.
    ///
    /// # Panics
    /// If the app has no such kind of message: see
    /// [`DialectId::can_broadcast`](crate::DialectId::can_broadcast).
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
        if let State::Tunnelled(of) = &mut self.state {
            let Tunnelled { tunnel, inside } = &mut **of;
            return tunnel.act(io, |io| inside.send(cfg, now_ns, unix_ns, kind, stamp, io));
        }
        let (script, pending, kept) = split(&cfg.app, &mut self.place);
        let seq = match script {
            None => 0,
            // Numbers are given to what goes out, and to nothing else: the app counts with them.
            Some(script) if script.is_usable() => {
                let seq = script.next();
                if let App::File(app) = &cfg.app {
                    app.handle_sending(script, seq, kind, stamp);
                }
                seq
            }
            // The script is still at the app's opening, in which a message of the load would be out of
            // place.
            Some(_) => return Sending::Out,
        };
        let mark = Mark { stamp: &stamp, unix_ns };
        match &mut self.state {
            State::Open(Session { sender, protocol, .. }) if protocol.is_ready() => {
                let filling = cfg.filling(mark, seq, cfg.common.context(io, now_ns, kept));
                let link_context =
                    LinkContext { pending, identities: &cfg.common.identities, kept, now_ns, sender, io };
                protocol.send(&cfg.parts, link_context, cfg.message_template(kind, &stamp), &filling);
                Sending::Out
            }
            State::Requesting(protocol) if protocol.is_ready() => {
                let filling = cfg.filling(mark, seq, cfg.common.context(io, now_ns, kept));
                let link = over_http(cfg, pending, kept, now_ns, io);
                protocol.send(link, cfg.message_template(kind, &stamp), &filling)
            }
            _ => Sending::Out,
        }
    }

    /// Payload bytes of each message of this kind, if they may be sent [in a series](Client::send_series).
    #[inline]
    pub fn series_bytes(&self, cfg: &Config, kind: Kind) -> Option<u32> {
        match &self.state {
            // Compressed, each frame differs from the one before in more than its stamp.
            State::Open(session) if kind == Kind::Echo && session.sender.is_plain() && self.is_usable() => {
                cfg.series().map(|series| series.bytes)
            }
            _ => None,
        }
    }

    /// Sends `messages` echoes, which were due and go out at the same time. The stamps of the others follow
    /// the first's ([`Stamp::after`]). Only where there are [series](Client::series_bytes).
    pub fn send_series(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        unix_ns: u64,
        first: Stamp,
        messages: u32,
        io: &mut impl Io,
    ) {
        debug_assert!(self.series_bytes(cfg, Kind::Echo).is_some());
        match &mut self.state {
            State::Open(Session { sender, .. })
                // A clock whose digits do not fit where the first message has them makes the messages differ
                // in length.
                if cfg.message_template(Kind::Echo, &first).text.fits(unix_ns) =>
            {
                series::send(sender, cfg, now_ns, unix_ns, first, messages, io);
            }
            _ => {
                for n in 0..messages {
                    self.send(cfg, now_ns, unix_ns, Kind::Echo, first.after(n), io);
                }
            }
        }
    }

    /// Starts the close handshake (RFC 6455 §7.1.2), or says goodbye as the protocol does over requests. Does
    /// nothing before the upgrade or after another close.
    pub fn close(&mut self, cfg: &Config, now_ns: u64, code: u16, io: &mut impl Io) {
        match &mut self.state {
            State::Tunnelled(of) => {
                let Tunnelled { tunnel, inside } = &mut **of;
                tunnel.act(io, |io| inside.close(cfg, now_ns, code, io));
            }
            State::Open(session) => session.sender.close(io, code),
            State::Requesting(protocol) => {
                let (_, _, kept) = split(&cfg.app, &mut self.place);
                protocol.close(over_http(cfg, None, kept, now_ns, io))
            }
            _ => {}
        }
    }
}

/// The client inside a tunnel, with what else it needs to be told.
struct TunnelledClient<'a> {
    client: &'a mut Client,
    cfg: &'a Config,
    now_ns: u64,
    on: &'a mut dyn FnMut(Event),
}

impl TunnelUser for TunnelledClient<'_> {
    fn begin(&mut self, io: &mut Inside<'_>) {
        self.client.handle_stream_open(self.cfg, self.now_ns, io);
    }

    fn handle_input(&mut self, bytes: &[u8], io: &mut Inside<'_>) -> Result<(), Failure> {
        self.client.handle_input(self.cfg, self.now_ns, 0, bytes, io, &mut self.on)
    }

    fn handle_eof(&mut self, io: &mut Inside<'_>) -> Result<(), Failure> {
        self.client.handle_eof(self.cfg, self.now_ns, 0, io, &mut self.on)
    }

    fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

/// The link of a protocol over requests.
fn over_http<'a, I: Io>(
    cfg: &'a Config,
    pending: Option<&'a mut Pending>,
    kept: &'a Kept,
    now_ns: u64,
    io: &'a mut I,
) -> HttpLink<'a, Parts, I> {
    HttpLink { parts: &cfg.parts, pending, common: &cfg.common, kept, now_ns, io }
}
