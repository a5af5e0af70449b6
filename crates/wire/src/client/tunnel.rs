//! A client whose WebSocket (RFC 8441), or whose event stream, has an HTTP/2 connection to itself.
//!
//! ```text
//! greeting --the server's settings, which allow tunnels and a stream--> open: the request is out; data is what the client inside hears
//! greeting --settings that allow tunnels, but no stream--> greeting: later settings may
//! greeting --settings that allow a stream, no upgrade--> open: the request goes out, and ends our side of it
//! open --the client inside connects anew--> left: input is discarded, and it asks over the next connection
//! open --the end of the stream--> over: the client inside judges that as it would the end of a connection
//! greeting, open --anything else--> failed: input is discarded, and the client inside is as it was
//! ```
//!
//! It is a [`Multiplexer`] of one stream.
//!
//! A tunnel knows the client inside as [`TunnelUser`], and that knows the driver as `dyn Io`: a client that has
//! a client inside would have no end otherwise, as a module and as a type.

use codec::http2::frame::{Frame, FrameReader};
use codec::{ErrorCode, Stamp, StreamId};

use crate::config::Config;
use crate::failure::Failure;
use crate::io::{Io, RequestOutcome};
use crate::multiplexer::{Multiplexer, StreamEvent};

/// The byte stream of the connection.
const STREAM: StreamId = 0;
/// The stream of HTTP/2 that is the tunnel: the first of a client (RFC 9113 §5.1.1).
const TUNNEL: u32 = 1;

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
    connection: Multiplexer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Greeting,
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
        Multiplexer::greet(cfg, io.out(STREAM));
        Tunnel {
            state: State::Greeting,
            frames: FrameReader::default(),
            connection: Multiplexer::new(cfg, 1),
        }
    }

    /// Has the client inside do something, and sends its output.
    pub(super) fn act<T>(&mut self, io: &mut impl Io, act: impl FnOnce(&mut Inside<'_>) -> T) -> T {
        self.connection.flush(TUNNEL, io.out(STREAM));
        let (result, has_left) = self.connection.write(TUNNEL, |said| {
            let mut inside = Inside { io, said, has_left: false };
            let result = act(&mut inside);
            (result, inside.has_left)
        });
        if has_left {
            self.state = State::Left;
            return result;
        }
        self.connection.flush(TUNNEL, io.out(STREAM));
        result
    }

    /// Returns whether more waits for room than is kept: the server does not read.
    #[inline]
    pub(super) fn is_overfull(&self) -> bool {
        self.connection.is_overfull(TUNNEL)
    }

    /// The failure if the server withholds something without which nothing more can be sent.
    pub(super) fn withheld(&self) -> Option<Failure> {
        match self.state {
            State::Greeting => self.connection.is_without_streams().then_some(Failure::NoStreams),
            State::Open => self.connection.withheld(TUNNEL),
            State::Over | State::Left | State::Failed => None,
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
                Multiplexer::put_goodbye(failure, io.out(STREAM));
                return Err(failure);
            }
        }
        self.frames = frames;
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
        match self.connection.handle_frame(cfg, now_ns, frame, io.out(STREAM))? {
            StreamEvent::Ready if self.state == State::Greeting => self.ask(cfg, io, inside),
            StreamEvent::Ready | StreamEvent::Nothing => Ok(()),
            StreamEvent::Input { bytes, ends, .. } => {
                if !bytes.is_empty() {
                    self.act(io, |io| inside.handle_input(&bytes, io))?;
                }
                if ends { self.handle_end(io, inside) } else { Ok(()) }
            }
            // A reset with CANCEL is how a stream of a tunnel ends abruptly (RFC 8441 §5); behind both
            // goodbyes it does no harm.
            StreamEvent::Reset { was_open: true, .. } if inside.is_closed() => self.handle_end(io, inside),
            StreamEvent::Reset { code, .. } => Err(Failure::Reset(code)),
            StreamEvent::Failed { failure, .. } => Err(failure),
            // A server that leaves in peace serves the streams it has looked at to their end (RFC 9113 §6.8).
            StreamEvent::Leaving { last, code } if last < TUNNEL || code != ErrorCode::NoError => {
                Err(Failure::GoAway(code))
            }
            StreamEvent::Leaving { .. } => Ok(()),
        }
    }

    /// The server's settings are in: asks it for the tunnel, if it has any.
    fn ask(&mut self, cfg: &Config, io: &mut impl Io, inside: &mut impl TunnelUser) -> Result<(), Failure> {
        match self.connection.check_room() {
            // Later settings may allow one.
            Err(Failure::NoStreams) => return Ok(()),
            others => others?,
        }
        let mut request = Vec::new();
        inside.begin(&mut Inside { io, said: &mut request, has_left: false });
        self.connection.open_stream(cfg, 0, &request, io.out(STREAM))?;
        self.state = State::Open;
        Ok(())
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
        self.connection.close_stream(TUNNEL, io.out(STREAM));
        io.close_stream(STREAM);
        Ok(())
    }
}
