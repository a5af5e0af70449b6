//! Clients on one HTTP/2 connection, each on a stream: of a WebSocket by RFC 8441, or an event stream.
//!
//! ```text
//! a stream: asked --2xx, or any answer but to an upgrade--> open --END_STREAM--> ended
//! asked, open, ended --close_stream, RST_STREAM--> over: frames that were under way for it are discarded
//! asked, open --a head that breaks a rule, or refuses the upgrade--> failed: the driver closes it
//! the connection: greeting --SETTINGS--> open --GOAWAY--> leaving: it serves its streams, and takes no others
//! ```
//!
//! A client speaks as if it had a connection of its own: the request for its upgrade is asked as a CONNECT,
//! and the answer is told to it as the answer to an upgrade, so that both are made and judged in one place.
//! The request and answer of an event stream are passed on as they are, but for what HTTP/2 says otherwise.
//!
//! The driver reads the frames, so that an event may borrow from one while the clients write.

mod event;
mod request;
mod stream;

use std::borrow::Cow;

use codec::http2::connection::{self, CLIENT_WINDOW, Connection, ConnectionEvent, PREFACE};
use codec::http2::frame::{self, Frame};
use codec::http2::head;
use codec::http2::past::PastStreams;
use codec::{Error, ErrorCode, Http2Reason, Limits};

use crate::config::Config;
use crate::failure::Failure;
use stream::{Heard, Stream};

pub use event::{StreamEvent, StreamOwner};

/// The first stream of a client, and how far apart they are (RFC 9113 §5.1.1).
const FIRST: u32 = 1;
const APART: u32 = 2;

/// The client's side of a connection.
#[derive(Debug)]
pub struct Multiplexer {
    connection: Connection,
    /// Streams in the order of their numbers, so that each is found without a table.
    streams: Vec<Stream>,
    /// Streams that this side has reset: most connections have none.
    past: Option<Box<PastStreams>>,
    /// The number of the next stream.
    next: u32,
    /// Clients that are to share the connection.
    clients: u32,
    is_greeted: bool,
    is_leaving: bool,
    /// Clients ask for no upgrade: with its request, each has said all.
    only_asks: bool,
}

impl Multiplexer {
    /// The connection of this many clients, which has not begun.
    pub fn new(cfg: &Config, clients: u32) -> Multiplexer {
        Multiplexer {
            connection: Connection::client(),
            // A connection of one client has room for one.
            streams: Vec::with_capacity(1),
            past: None,
            next: FIRST,
            clients,
            is_greeted: false,
            is_leaving: false,
            only_asks: cfg.is_over_requests(),
        }
    }

    /// Appends what a client says first.
    pub fn greet(cfg: &Config, out: &mut Vec<u8>) {
        out.extend_from_slice(PREFACE);
        connection::greet(&cfg.options().limits, CLIENT_WINDOW, None, out);
    }

    /// Appends why the connection ends, where the server is owed that.
    pub fn put_goodbye(failure: Failure, out: &mut Vec<u8>) {
        if let Some(code) = failure.goodbye_code() {
            connection::put_goodbye(0, code, out);
        }
    }

    /// Returns whether the server's settings are in.
    pub fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    /// Returns whether it takes further streams, as far as their number goes.
    pub fn takes_streams(&self) -> bool {
        !self.is_leaving && self.next <= frame::STREAM_MAX
    }

    /// Returns whether it carries no stream.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Clients with a stream, and the numbers of these.
    pub fn clients(&self) -> impl Iterator<Item = StreamOwner> {
        self.streams.iter().map(|stream| StreamOwner { client: stream.client, stream: stream.id })
    }

    /// Returns whether the server's settings are in, and allow no stream yet.
    pub fn is_without_streams(&self) -> bool {
        self.is_greeted && self.connection.settings.streams_max == 0
    }

    /// Checks whether another stream may be opened now.
    ///
    /// # Errors
    /// [`Failure::NoTunnel`], [`Failure::NoStreams`], which later settings may change, and
    /// [`Failure::StreamLimit`].
    pub fn check_room(&self) -> Result<(), Failure> {
        let settings = &self.connection.settings;
        if !settings.has_tunnels && !self.only_asks {
            return Err(Failure::NoTunnel);
        }
        match settings.streams_max {
            0 => Err(Failure::NoStreams),
            allowed if self.streams.len() >= allowed as usize => {
                Err(Failure::StreamLimit { allowed, clients: self.clients })
            }
            _ => Ok(()),
        }
    }

    /// Opens the stream of a client, with the request that it has written as if for HTTP/1.1. Returns its
    /// number.
    ///
    /// # Errors
    /// A request that cannot be sent.
    pub fn open_stream(
        &mut self,
        cfg: &Config,
        client: u32,
        request: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<u32, Failure> {
        let id = self.next;
        let asked = request::put(cfg, id, self.only_asks, request, out)?;
        let mut stream = Stream::new(id, client, asked.key, self.connection.settings.window);
        // The body of a request, which waits for room as all data does.
        stream.write(|said| said.extend_from_slice(asked.body));
        stream.flush(&mut self.connection, self.only_asks, out);
        self.streams.push(stream);
        self.next += APART;
        Ok(id)
    }

    fn find(&self, id: u32) -> Option<usize> {
        self.streams.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    /// Adds what `write` appends to what the client of a stream says. It goes out with
    /// [`flush`](Multiplexer::flush).
    #[inline]
    pub fn write<T>(&mut self, id: u32, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        match self.find(id) {
            Some(at) => self.streams[at].write(write),
            // Nobody listens.
            None => write(&mut Vec::new()),
        }
    }

    /// Sends what waits on a stream, as far as the server has room for it.
    #[inline]
    pub fn flush(&mut self, id: u32, out: &mut Vec<u8>) {
        if let Some(at) = self.find(id) {
            self.streams[at].flush(&mut self.connection, self.only_asks, out);
        }
    }

    fn flush_all(&mut self, out: &mut Vec<u8>) {
        for stream in &mut self.streams {
            stream.flush(&mut self.connection, self.only_asks, out);
        }
    }

    /// Returns whether more of what a client has said waits for room than is kept: the server does not read.
    pub fn is_overfull(&self, id: u32) -> bool {
        self.find(id).is_some_and(|at| self.streams[at].is_overfull)
    }

    /// The failure if the server withholds something without which the client of a stream can send nothing
    /// more.
    pub fn withheld(&self, id: u32) -> Option<Failure> {
        let is_held = self.find(id).is_some_and(|at| self.streams[at].is_held(self.only_asks));
        is_held.then_some(Failure::NoWindow)
    }

    /// Ends a stream: in peace where the server has ended its side, and otherwise by a reset (RFC 8441 §5).
    pub fn close_stream(&mut self, id: u32, out: &mut Vec<u8>) {
        let Some(at) = self.find(id) else { return };
        let stream = self.streams.remove(at);
        if stream.has_said_all(self.only_asks) && stream.is_ended() {
            return;
        }
        if stream.is_ended() && !self.only_asks {
            return stream.put_end(out);
        }
        self.past.get_or_insert_default().add_reset(id);
        connection::put_reset(id, ErrorCode::Cancel, out);
    }

    /// Handles a frame. After an error the connection is of no further use, and the server is to be told why
    /// ([`put_goodbye`](Multiplexer::put_goodbye)).
    ///
    /// # Errors
    /// A frame that breaks a rule of the whole connection.
    pub fn handle_frame<'a>(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        frame: Frame<'a>,
        out: &mut Vec<u8>,
    ) -> Result<StreamEvent<'a>, Failure> {
        let limits = &cfg.options().limits;
        match self.connection.handle_frame(frame, limits, now_ns, out)? {
            ConnectionEvent::Settings { more } => {
                self.is_greeted = true;
                for stream in &mut self.streams {
                    stream.sending.grow(more)?;
                }
                self.flush_all(out);
                Ok(StreamEvent::Ready)
            }
            ConnectionEvent::Head { stream, block, ends } => self.handle_head(limits, stream, &block, ends),
            ConnectionEvent::Data { stream, data, taken, ends } => {
                self.handle_data(stream, data, taken, ends, out)
            }
            ConnectionEvent::Reset { stream, code } => self.handle_reset(stream, code),
            ConnectionEvent::GoAway { last, code } => {
                self.is_leaving = true;
                Ok(StreamEvent::Leaving { last, code })
            }
            ConnectionEvent::Room { stream: 0, .. } => {
                self.flush_all(out);
                Ok(StreamEvent::Nothing)
            }
            ConnectionEvent::Room { stream, more } => {
                match self.find(stream) {
                    Some(at) => {
                        self.streams[at].sending.grow(more)?;
                        self.streams[at].flush(&mut self.connection, self.only_asks, out);
                    }
                    None => self.check_opened(stream)?,
                }
                Ok(StreamEvent::Nothing)
            }
            ConnectionEvent::Nothing => Ok(StreamEvent::Nothing),
        }
    }

    fn handle_data<'a>(
        &mut self,
        id: u32,
        data: &'a [u8],
        taken: usize,
        ends: bool,
        out: &mut Vec<u8>,
    ) -> Result<StreamEvent<'a>, Failure> {
        let Some(at) = self.find(id) else { return self.discard(id) };
        let stream = &mut self.streams[at];
        if !stream.is_open() {
            return Err(Http2Reason::Frame.into());
        }
        if let Some(more) = stream.receiving.take(taken)? {
            connection::put_room(id, more, out);
        }
        Ok(stream.hear(Cow::Borrowed(data), ends))
    }

    /// A head of an answer is in, or what stands behind all data.
    fn handle_head<'a>(
        &mut self,
        limits: &Limits,
        id: u32,
        block: &[u8],
        ends: bool,
    ) -> Result<StreamEvent<'a>, Failure> {
        let Some(at) = self.find(id) else {
            // Decoded all the same: its fields may have gone into the table that all streams share.
            head::judge_trailer(&mut self.connection.decoder, block, limits)?;
            return self.discard(id);
        };
        let stream = &mut self.streams[at];
        let heard = stream.handle_head(&mut self.connection.decoder, limits, block)?;
        Ok(match heard {
            Heard::Interim if ends => stream.failed(Http2Reason::Field.into()),
            Heard::Interim => StreamEvent::Nothing,
            Heard::Head(told) => stream.hear(Cow::Owned(told), ends),
            Heard::Trailer => stream.hear(Cow::Borrowed(b""), ends),
            Heard::Failed(failure) => stream.failed(failure),
        })
    }

    fn handle_reset<'a>(&mut self, id: u32, code: ErrorCode) -> Result<StreamEvent<'a>, Failure> {
        let Some(at) = self.find(id) else {
            self.check_opened(id)?;
            return Ok(StreamEvent::Nothing);
        };
        let stream = self.streams.remove(at);
        Ok(StreamEvent::Reset { client: stream.client, code, was_open: stream.is_open() })
    }

    /// Discards DATA or HEADERS of a stream that is over, if they may still come.
    fn discard<'a>(&self, id: u32) -> Result<StreamEvent<'a>, Failure> {
        self.check_opened(id)?;
        match &self.past {
            Some(past) => past.judge(id)?,
            None => return Err(Http2Reason::StreamClosed.into()),
        }
        Ok(StreamEvent::Nothing)
    }

    /// Refuses a frame on a stream that nobody has opened (RFC 9113 §5.1).
    fn check_opened(&self, id: u32) -> Result<(), Failure> {
        match id < self.next && id % APART == FIRST % APART {
            true => Ok(()),
            false => Err(Failure::Codec(Error::BadHttp2(Http2Reason::Frame))),
        }
    }
}
