//! A client whose WebSocket (RFC 8441), or whose event stream, is a stream of HTTP/2.
//!
//! ```text
//! greeting --the server's settings, which allow tunnels and a stream--> asking: CONNECT goes out on the first stream
//! greeting --settings that allow tunnels, but no stream--> greeting: later settings may
//! greeting --settings that allow a stream, no upgrade--> asking: the request goes out, and ends our side of it
//! asking --2xx, or any answer but to an upgrade--> open: what the client inside says goes out as data, and data is what it hears
//! open --the client inside connects anew--> left: input is discarded, and it asks over the next connection
//! open --the end of the stream--> over: the client inside judges that as it would the end of a connection
//! greeting, asking, open --anything else--> failed: input is discarded, and the client inside is as it was
//! ```
//!
//! The client inside speaks as if it had a connection of its own: the request for its upgrade is asked as a
//! CONNECT, and the answer is told to it as the answer to an upgrade, so that both are made and judged in one
//! place. The request and answer of an event stream are passed on as they are, but for what HTTP/2 says
//! otherwise.
//!
//! A tunnel knows it as [`TunnelUser`], and the client inside knows the driver as `dyn Io`: a client that has
//! a client inside would have no end otherwise, as a module and as a type.

use codec::http::head::{Expect, HeadReader};
use codec::http::request::Request;
use codec::http2::connection::{self, CLIENT_WINDOW, Connection, ConnectionEvent, PREFACE};
use codec::http2::credit::{Receiving, Sending};
use codec::http2::frame::{self, Frame, FrameReader, flag, kind};
use codec::http2::{head, hpack};
use codec::ws::upgrade::{self, Key};
use codec::{Error, ErrorCode, Http2Reason, Limits, Stamp, StreamId};

use crate::config::Config;
use crate::failure::Failure;
use crate::io::{Io, RequestOutcome};
use crate::outgoing::Outgoing;

/// The byte stream of the connection.
const STREAM: StreamId = 0;
/// The stream of HTTP/2 that is the tunnel: the first of a client (RFC 9113 §5.1.1).
const TUNNEL: u32 = 1;

/// Fields that an upgrade of HTTP/1.1 has, and a CONNECT says otherwise, or not at all (RFC 8441 §5).
const OF_UPGRADES: [&str; 4] = ["host", "upgrade", "connection", "sec-websocket-key"];

/// A client that speaks over a tunnel.
pub(super) trait TunnelUser {
    /// Asks for the upgrade.
    fn begin(&mut self, io: &mut Inside<'_>);
    /// Bytes came in.
    fn handle_input(&mut self, bytes: &[u8], io: &mut Inside<'_>) -> Result<(), Failure>;
    /// The server says no more.
    fn handle_eof(&mut self, io: &mut Inside<'_>) -> Result<(), Failure>;
    /// Returns whether that is to be expected: both have said goodbye.
    fn is_closed(&self) -> bool;
}

/// A connection, of which one stream is a tunnel.
#[derive(Debug)]
pub(super) struct Tunnel {
    state: State,
    frames: FrameReader,
    connection: Connection,
    sending: Sending,
    receiving: Receiving,
    /// Output of the client inside that is not out yet.
    said: Outgoing,
    /// More of that waits than is kept.
    is_overfull: bool,
    /// The client inside asks for no upgrade: with its request it has said all.
    only_asks: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Greeting,
    /// The request is sent; the client inside waits for an answer to this key, if it asks for an upgrade.
    Asking(Option<Key>),
    Open,
    Over,
    Left,
    Failed,
}

/// The I/O of the client inside: the tunnel sends its output.
pub(super) struct Inside<'a> {
    io: &'a mut dyn Io,
    said: &'a mut Vec<u8>,
    /// True if the client has asked for another connection.
    has_left: bool,
}

impl codec::Io for Inside<'_> {
    fn out(&mut self, _stream: StreamId) -> &mut Vec<u8> {
        self.said
    }

    fn random_u64(&mut self) -> u64 {
        self.io.random_u64()
    }

    fn open_stream(&mut self, stream: StreamId) {
        self.has_left = true;
        self.io.open_stream(stream);
    }

    fn close_stream(&mut self, stream: StreamId) {
        self.io.close_stream(stream);
    }

    fn handle_reason(&mut self, reason: &[u8]) {
        self.io.handle_reason(reason);
    }
}

impl Io for Inside<'_> {
    fn client(&self) -> u32 {
        self.io.client()
    }

    fn handle_request_outcome(&mut self, stamp: Stamp, outcome: RequestOutcome) {
        self.io.handle_request_outcome(stamp, outcome);
    }
}

impl Tunnel {
    /// The connection stands: greets the server.
    pub(super) fn open(cfg: &Config, io: &mut impl Io) -> Tunnel {
        let out = io.out(STREAM);
        out.extend_from_slice(PREFACE);
        connection::greet(&cfg.options().limits, CLIENT_WINDOW, None, out);
        let connection = Connection::client();
        Tunnel {
            state: State::Greeting,
            frames: FrameReader::default(),
            sending: Sending::new(connection.settings.window),
            receiving: Receiving::new(CLIENT_WINDOW),
            connection,
            said: Outgoing::default(),
            is_overfull: false,
            only_asks: cfg.is_over_requests(),
        }
    }

    /// Has the client inside do something, and sends its output.
    pub(super) fn act<T>(&mut self, io: &mut impl Io, act: impl FnOnce(&mut Inside<'_>) -> T) -> T {
        self.flush(io);
        let ((result, has_left), fits) = self.said.add(|said| {
            let mut inside = Inside { io, said, has_left: false };
            let result = act(&mut inside);
            (result, inside.has_left)
        });
        // For good: a client whose server does not read is given up for it.
        self.is_overfull |= !fits;
        if has_left {
            self.state = State::Left;
        }
        self.flush(io);
        result
    }

    /// Sends what waits, as far as the server has room for it.
    fn flush(&mut self, io: &mut impl Io) {
        // What the client inside says before is the head of its request, which goes out as one.
        if !self.may_send() {
            return;
        }
        loop {
            let left = self.said.left();
            let room = self.connection.sending.left().min(self.sending.left());
            let bytes = room.min(self.connection.settings.payload_bytes_max).min(left.len());
            if bytes == 0 {
                // No room, or nothing to send: the rest waits for the server's next frame.
                return;
            }
            let flags = if self.only_asks && bytes == left.len() { flag::END_STREAM } else { 0 };
            frame::put(io.out(STREAM), kind::DATA, flags, TUNNEL, &left[..bytes]);
            self.connection.sending.spend(bytes);
            self.sending.spend(bytes);
            self.said.spend(bytes);
        }
    }

    /// Returns whether more waits for room than is kept: the server does not read.
    #[inline]
    pub(super) fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    /// Returns whether data may go out: behind an upgrade that is granted, or behind any other request.
    fn may_send(&self) -> bool {
        match self.state {
            State::Open => true,
            State::Asking(_) => self.only_asks,
            State::Greeting | State::Over | State::Left | State::Failed => false,
        }
    }

    /// Returns whether the server's settings are in, and allow no stream yet.
    fn is_without_streams(&self) -> bool {
        self.state == State::Greeting && self.connection.settings.streams_max == 0
    }

    /// The failure if the server withholds something without which nothing more can be sent.
    pub(super) fn withheld(&self) -> Option<Failure> {
        let is_held = self.may_send() && !self.said.left().is_empty();
        match self.is_without_streams() {
            true => Some(Failure::NoStreams),
            false => is_held.then_some(Failure::NoWindow),
        }
    }

    /// Returns whether the connection is of no further use.
    pub(super) fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// Bytes came in. After an error the connection is of no further use, and the server has been told why.
    pub(super) fn handle_input(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        mut input: &[u8],
        io: &mut impl Io,
        inside: &mut impl TunnelUser,
    ) -> Result<(), Failure> {
        // Apart, because a frame that came in pieces lies in there while it is handled.
        let mut frames = std::mem::take(&mut self.frames);
        while !matches!(self.state, State::Failed | State::Left) {
            let handled = match frames.next(&mut input) {
                Ok(None) => break,
                Ok(Some(frame)) => self.handle_frame(cfg, now_ns, frame, io, inside),
                Err(error) => Err(error.into()),
            };
            if let Err(failure) = handled {
                self.state = State::Failed;
                if let Some(code) = failure.goodbye_code() {
                    connection::put_goodbye(0, code, io.out(STREAM));
                }
                return Err(failure);
            }
        }
        self.frames = frames;
        self.flush(io);
        Ok(())
    }

    fn handle_frame(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        frame: Frame<'_>,
        io: &mut impl Io,
        inside: &mut impl TunnelUser,
    ) -> Result<(), Failure> {
        match self.connection.handle_frame(frame, &cfg.options().limits, now_ns, io.out(STREAM))? {
            // Before, the tunnel has no window that could change.
            ConnectionEvent::Settings { more } if self.state != State::Greeting => {
                self.sending.grow(more).map_err(Failure::from)
            }
            ConnectionEvent::Settings { .. } => self.ask(cfg, io, inside),
            ConnectionEvent::Head { stream: TUNNEL, block, ends } => {
                self.handle_head(cfg, &block, io, inside)?;
                if ends { self.handle_end(io, inside) } else { Ok(()) }
            }
            ConnectionEvent::Data { stream: TUNNEL, data, taken, ends } if self.state == State::Open => {
                if let Some(more) = self.receiving.take(taken)? {
                    connection::put_room(TUNNEL, more, io.out(STREAM));
                }
                self.act(io, |io| inside.handle_input(data, io))?;
                if ends { self.handle_end(io, inside) } else { Ok(()) }
            }
            // Both have said all they had to: nothing is lost by it.
            ConnectionEvent::Reset { stream: TUNNEL, .. } if self.state == State::Over => Ok(()),
            ConnectionEvent::Reset { stream: TUNNEL, .. }
                // A reset with CANCEL is how a stream of a tunnel ends abruptly (RFC 8441 §5); behind both
                // goodbyes it does no harm.
                if inside.is_closed() && self.state == State::Open =>
            {
                self.handle_end(io, inside)
            }
            ConnectionEvent::Reset { stream: TUNNEL, code } if self.state != State::Greeting => {
                Err(Failure::Reset(code))
            }
            // A server that leaves in peace serves the streams it has looked at to their end (RFC 9113 §6.8).
            ConnectionEvent::GoAway { last, code } if last < TUNNEL || code != ErrorCode::NoError => {
                Err(Failure::GoAway(code))
            }
            ConnectionEvent::Room { stream: TUNNEL, more } if self.state != State::Greeting => {
                self.sending.grow(more).map_err(Failure::from)
            }
            ConnectionEvent::Room { stream: 0, .. }
            | ConnectionEvent::GoAway { .. }
            | ConnectionEvent::Nothing => Ok(()),
            // Data of a stream that was not opened, or behind its end.
            ConnectionEvent::Data { .. }
            | ConnectionEvent::Reset { .. }
            | ConnectionEvent::Room { .. }
            | ConnectionEvent::Head { .. } => Err(Http2Reason::Frame.into()),
        }
    }

    /// The server's settings are in: asks it for the tunnel, if it has any.
    fn ask(&mut self, cfg: &Config, io: &mut impl Io, inside: &mut impl TunnelUser) -> Result<(), Failure> {
        if !self.connection.settings.has_tunnels && !self.only_asks {
            return Err(Failure::NoTunnel);
        }
        if self.is_without_streams() {
            return Ok(());
        }
        self.sending = Sending::new(self.connection.settings.window);
        self.act(io, |io| inside.begin(io));
        let asked = std::mem::take(&mut self.said);
        // Read back, so that what an upgrade consists of is known in one place.
        let (mut reader, mut text) = (HeadReader::default(), asked.left());
        // It is ours: the server's heads have bounds.
        let any =
            Limits { head_bytes_max: usize::MAX, headers_max: usize::MAX, ..cfg.options().limits.clone() };
        let Some((head, lines)) = reader.read(Expect::Request, &any, &mut text)? else {
            return Err(Failure::Codec(Error::HeadTooLarge));
        };
        let request = Request::parse(head, lines)?;
        let key = request.fields.only("sec-websocket-key").ok().flatten();
        let key = key.and_then(|key| key.try_into().ok());
        if key.is_none() && !self.only_asks {
            return Err(Failure::Codec(Error::BadUpgrade));
        }
        let block = |out: &mut Vec<u8>| write_request(cfg, &request, self.only_asks, out);
        connection::put_head(TUNNEL, self.only_asks && text.is_empty(), block, io.out(STREAM));
        // The body of a request, which waits for room as all data does.
        self.said.add(|said| said.extend_from_slice(text));
        self.state = State::Asking(key);
        Ok(())
    }

    /// A head of the answer is in, or what stands behind all data.
    fn handle_head(
        &mut self,
        cfg: &Config,
        block: &[u8],
        io: &mut impl Io,
        inside: &mut impl TunnelUser,
    ) -> Result<(), Failure> {
        let (limits, decoder) = (&cfg.options().limits, &mut self.connection.decoder);
        let State::Asking(key) = self.state else {
            let is_good = head::judge_trailer(decoder, block, limits)?;
            return if is_good && self.state == State::Open {
                Ok(())
            } else {
                Err(Http2Reason::Field.into())
            };
        };
        let mut fields = Vec::new();
        let answer = head::judge_answer(decoder, block, limits, &mut |(), name, value| {
            // There is no key in a CONNECT, and no answer to one (RFC 8441 §5): the client inside is told the
            // one it waits for.
            let is_agreed = name.starts_with(b"sec-websocket-") && name != b"sec-websocket-accept";
            if is_agreed || name == b"set-cookie" || key.is_none() {
                fields.extend([name, b": ", value, b"\r\n"].concat());
            }
        })?;
        match answer.ok_or(Http2Reason::Field)?.status {
            // There is no other protocol to switch to (RFC 9113 §8.6).
            101 => Err(Http2Reason::Field.into()),
            100..200 => Ok(()),
            status => {
                let told = match key {
                    None => [format!("HTTP/1.1 {status} \r\n").as_bytes(), &fields, b"\r\n"].concat(),
                    Some(key) if (200..300).contains(&status) => told_as_upgrade(&key, &fields),
                    Some(_) => return Err(Failure::Codec(Error::HttpStatus(status))),
                };
                self.state = State::Open;
                self.act(io, |io| inside.handle_input(&told, io))
            }
        }
    }

    /// The server says no more: ours ends, too, and with the stream the connection, which carries nothing
    /// else.
    fn handle_end(&mut self, io: &mut impl Io, inside: &mut impl TunnelUser) -> Result<(), Failure> {
        if self.state == State::Left {
            return Ok(());
        }
        // First, so that a goodbye that is missing is a failure of the tunnel's as it is of a connection's.
        self.act(io, |io| inside.handle_eof(io))?;
        self.state = State::Over;
        if !self.only_asks {
            frame::put(io.out(STREAM), kind::DATA, flag::END_STREAM, TUNNEL, b"");
        }
        io.close_stream(STREAM);
        Ok(())
    }
}

/// Appends the block of a request; an upgrade is asked for by a CONNECT (RFC 8441 §4, §5).
fn write_request(cfg: &Config, request: &Request<'_>, only_asks: bool, out: &mut Vec<u8>) {
    let options = cfg.options();
    let upgrade = [(":method", "CONNECT"), (":protocol", "websocket")];
    let method = if only_asks { &[(":method", request.method)][..] } else { &upgrade };
    let place = [(":scheme", options.scheme()), (":authority", &options.host), (":path", request.target)];
    // Names in upper case are malformed in HTTP/2 (RFC 9113 §8.2.1).
    let lower: Vec<(String, &[u8])> =
        request.fields.list.iter().map(|field| (field.name.to_ascii_lowercase(), field.value)).collect();
    let regular = lower.iter().map(|(name, value)| (name.as_str(), *value));
    let regular = regular.filter(|(name, _)| !OF_UPGRADES.contains(name));
    let pseudo = method.iter().chain(&place).map(|&(name, value)| (name, value.as_bytes()));
    hpack::write_once(pseudo.chain(regular), secret::is_secret, out);
}

/// The answer to an upgrade that says what was agreed on.
fn told_as_upgrade(key: &Key, agreed: &[u8]) -> Vec<u8> {
    let start = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
    [start, &upgrade::accept_of(key)[..], b"\r\n", agreed, b"\r\n"].concat()
}
