//! A connection over which many requests are made at once (RFC 9113), and answered once their bodies are in.
//!
//! ```text
//! preface --its end--> open: our settings are out
//! open --a head--> asked --data--> asked --its end--> answered
//! answered --more than a status--> replying: the body goes out as the client has room for it
//! asked, of a session for this request alone --its end--> taken: its session answers, part by part --the last--> over
//! open --a head that another session or a form has to answer--> reset: HTTP_1_1_REQUIRED, with which clients ask again over HTTP/1.1
//! asked --a part that breaks the rules--> reset
//! taken, replying --RST_STREAM--> over, and its session is told
//! answered, replying, or reset by the client --DATA or HEADERS--> the connection ends with STREAM_CLOSED
//! ```
//!
//! Sessions of several requests, forms and WebSockets are there over HTTP/1.1 only: they take a connection,
//! and have no use for a share of one.

mod replies;

use std::collections::VecDeque;

use codec::http::answer::MINOR_OF_HTTP2;
use codec::http::body::Framing;
use codec::http::fields::Fields;
use codec::http::request::Request;
use codec::http2::connection::{self, Connection, ConnectionEvent, PREFACE, SERVER_WINDOW};
use codec::http2::credit::{Receiving, Sending};
use codec::http2::frame::{Frame, FrameReader};
use codec::http2::head::{self, RequestHead};
use codec::http2::hpack;
use codec::http2::past::PastStreams;
use codec::{Error, ErrorCode, Http2Reason};

use self::replies::Replies;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::{AnswerPart, Io};
use crate::registry::servers;
use crate::registry::sessions::SessionRequest;
use crate::server_config::ServerConfig;
use crate::session::PlainAnswer;

/// The part of the preface that looks like the head of a request.
pub(super) const PREFACE_HEAD: &[u8] = PREFACE.split_at(18).0;

/// Most requests whose bodies are coming in, or whose answers are not out; others are refused. Go's default
/// is 250, nginx' 128.
const STREAMS_MAX: u32 = 1000;

/// The state of a connection after the head of the preface.
#[derive(Debug)]
pub(super) struct Http2 {
    /// Bytes of the rest of the preface that are in.
    prefaced: usize,
    frames: FrameReader,
    connection: Connection,
    head: RequestHead,
    /// Oldest first.
    asked: VecDeque<PendingRequest>,
    replies: Replies,
    /// Whole requests that their sessions have to answer, by their streams.
    taken: VecDeque<(u32, SessionRequest)>,
    past: PastStreams,
    /// The last stream that the client has opened.
    last: u32,
}

/// A block of fields: the head of a request, or its trailer.
#[derive(Clone, Copy, Debug)]
struct HeadBlock<'a> {
    stream: u32,
    block: &'a [u8],
    /// True if nothing follows it.
    ends: bool,
}

/// A request whose body is coming in.
#[derive(Debug)]
struct PendingRequest {
    stream: u32,
    answer: Answer,
    /// Bytes of the body that are in, and that there are to be.
    bytes: u64,
    length: Option<u64>,
    receiving: Receiving,
    sending: Sending,
}

/// Answers to a request.
#[derive(Debug)]
enum Answer {
    /// An empty answer, with a field that belongs to its status.
    Bare(u16, Option<(&'static str, &'static str)>),
    /// A complete answer, as it would be over HTTP/1.1.
    Whole(Vec<u8>),
    /// Whatever its session says.
    OfSession(Box<SessionRequest>),
}

impl Http2 {
    /// Sends the server's first frames.
    pub(super) fn open(cfg: &ServerConfig, io: &mut impl Io) -> Http2 {
        connection::greet(&cfg.limits, SERVER_WINDOW, Some(STREAMS_MAX), io.out(0));
        Http2 {
            prefaced: 0,
            frames: FrameReader::default(),
            connection: Connection::server(),
            head: RequestHead::default(),
            asked: VecDeque::new(),
            replies: Replies::default(),
            taken: VecDeque::new(),
            past: PastStreams::default(),
            last: 0,
        }
    }

    /// Returns whether the client may leave now: no request is half in.
    pub(super) fn may_end(&self) -> bool {
        self.asked.is_empty() && !self.frames.is_partial()
    }

    /// Takes a request that [`ServerEvent::Asked`] has announced, and its stream.
    pub(super) fn take_request(&mut self) -> Option<(u32, SessionRequest)> {
        self.taken.pop_front()
    }

    /// Returns whether an answer is under way that its session goes on with.
    pub(super) fn is_answering(&self) -> bool {
        self.replies.are_open()
    }

    /// Bytes of an answer that wait for the client's windows.
    pub(super) fn unsent_bytes(&self, stream: u32) -> usize {
        self.replies.unsent_bytes(stream)
    }

    /// Bytes of all answers that wait for the client's windows.
    pub(super) fn all_unsent_bytes(&self) -> usize {
        self.replies.all_unsent_bytes()
    }

    /// A session has written a part of its answer, as over HTTP/1.1 but for the chunks.
    pub(super) fn handle_part(
        &mut self,
        stream: u32,
        part: &[u8],
        then: AnswerPart,
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) {
        if !self.replies.extend(stream, part, then, io.out(0)) {
            // The client has reset it before its session could be told.
            on(ServerEvent::StreamLost { stream });
        } else if then == AnswerPart::Aborted {
            // No answer: it is not counted as one.
            on(ServerEvent::StreamLost { stream });
        } else if then != AnswerPart::More {
            on(ServerEvent::Requested { keep_alive: true });
        }
        // Nothing else can have been waiting: no window has grown.
        self.flush(io, &mut |_: ServerEvent<'_>| {});
    }

    /// Answers requests. After an error, which the client is told, the connection is to be closed.
    pub(super) fn handle_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        // Apart, because a frame that came in pieces lies in there while it is handled.
        let mut frames = std::mem::take(&mut self.frames);
        let result = self.handle_preface(&mut input).and_then(|()| {
            while let Some(frame) = frames.next(&mut input)? {
                self.handle_frame(cfg, now_ns, frame, io, on)?;
            }
            Ok(())
        });
        self.frames = frames;
        result.inspect_err(|&failure| {
            if let Some(code) = failure.goodbye_code() {
                connection::put_goodbye(self.last, code, io.out(0));
            }
        })
    }

    fn handle_preface(&mut self, input: &mut &[u8]) -> Result<(), Failure> {
        // The reader of heads has taken the first part for a request of a method PRI, as is its purpose (RFC
        // 9113 §3.4).
        let missing = &PREFACE[PREFACE_HEAD.len() + self.prefaced..];
        let (mine, rest) = input.split_at(missing.len().min(input.len()));
        if !missing.starts_with(mine) {
            return Err(Failure::Codec(Error::NotHttp2));
        }
        self.prefaced += mine.len();
        *input = rest;
        Ok(())
    }

    fn handle_frame(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        frame: Frame<'_>,
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        match self.connection.handle_frame(frame, &cfg.limits, now_ns, io.out(0))? {
            ConnectionEvent::Head { stream, block, ends } => {
                self.handle_head(cfg, now_ns, HeadBlock { stream, ends, block: &block }, io, on)
            }
            ConnectionEvent::Data { stream, data, taken, ends } => {
                let Some(at) = self.find(stream)? else {
                    return self.past.judge(stream).map_err(Failure::from);
                };
                let asked = &mut self.asked[at];
                asked.bytes += data.len() as u64;
                if let Answer::OfSession(request) = &mut asked.answer {
                    request.body.extend_from_slice(data);
                }
                if let (Some(more), false) = (asked.receiving.take(taken)?, ends) {
                    connection::put_room(stream, more, io.out(0));
                }
                if asked.bytes > cfg.limits.body_bytes_max {
                    asked.answer = Answer::Bare(413, None);
                    self.answer(cfg, now_ns, at, io, on);
                    // The rest is not needed (§8.1).
                    self.reset(stream, ErrorCode::NoError, io);
                } else if ends {
                    self.handle_end(cfg, now_ns, at, io, on);
                }
                Ok(())
            }
            ConnectionEvent::Reset { stream, .. } => {
                match self.find(stream)? {
                    Some(at) => drop(self.asked.remove(at)),
                    None if self.replies.remove(stream) => on(ServerEvent::StreamLost { stream }),
                    None => {}
                }
                Ok(())
            }
            ConnectionEvent::Room { stream: 0, .. } => {
                self.flush(io, on);
                Ok(())
            }
            ConnectionEvent::Room { stream, more } => {
                let grown = match self.find(stream)? {
                    Some(at) => {
                        self.asked[at].sending.grow(more).inspect_err(|_| drop(self.asked.remove(at)))
                    }
                    None => self.replies.grow(stream, more),
                };
                match grown {
                    Ok(()) => self.flush(io, on),
                    // It ends its stream only (§6.9.1).
                    Err(reason) => {
                        self.reset(stream, reason.code(), io);
                        if self.replies.remove(stream) {
                            on(ServerEvent::StreamLost { stream });
                        }
                    }
                }
                Ok(())
            }
            ConnectionEvent::Settings { more } => {
                let mut windows = self.asked.iter_mut().map(|asked| &mut asked.sending);
                let grown = windows.try_for_each(|window| window.grow(more));
                grown.and_then(|()| self.replies.grow_all(more))?;
                self.flush(io, on);
                Ok(())
            }
            ConnectionEvent::GoAway { .. } | ConnectionEvent::Nothing => Ok(()),
        }
    }

    /// Sends what answers have left to say.
    fn flush(&mut self, io: &mut impl Io, on: &mut impl OnServerEvent) {
        let Connection { sending, settings, .. } = &mut self.connection;
        self.replies.flush(sending, settings, io.out(0), |stream| on(ServerEvent::StreamDrained { stream }));
        while let Some(stream) = self.replies.poll_broken() {
            self.reset(stream, ErrorCode::InternalError, io);
        }
    }

    /// Finds the request on a stream; `None` if it is over. An idle stream is a protocol error (§5.1).
    fn find(&self, stream: u32) -> Result<Option<usize>, Failure> {
        let at = self.asked.binary_search_by_key(&stream, |asked| asked.stream).ok();
        if at.is_none() && (stream > self.last || stream.is_multiple_of(2)) {
            return Err(Http2Reason::Frame.into());
        }
        Ok(at)
    }

    fn handle_head(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        head_block: HeadBlock<'_>,
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let HeadBlock { stream, ends, block } = head_block;
        let (decoder, limits) = (&mut self.connection.decoder, &cfg.limits);
        // Streams only count upwards (§5.1.1), so this is no new request.
        if stream <= self.last {
            // A trailer ends its request (§8.1).
            let is_good = head::judge_trailer(decoder, block, limits)?;
            match self.find(stream)? {
                Some(at) if ends && is_good => self.handle_end(cfg, now_ns, at, io, on),
                Some(at) => self.refuse(at, ErrorCode::ProtocolError, io),
                None => return self.past.judge(stream).map_err(Failure::from),
            }
            return Ok(());
        }
        if stream.is_multiple_of(2) {
            return Err(Http2Reason::Frame.into());
        }
        if stream > self.last + 2 {
            self.past.add_skipped(self.last + 1..=stream - 1);
        }
        self.last = stream;
        // Decoded even where it is refused next: the table is shared by all that follows.
        if !self.head.read(decoder, block, limits)? {
            self.reset(stream, ErrorCode::ProtocolError, io);
            return Ok(());
        }
        // With REFUSED_STREAM the client knows that nothing was done, and may ask again (§8.7).
        if self.asked.len() + self.replies.len() >= STREAMS_MAX as usize {
            self.reset(stream, ErrorCode::RefusedStream, io);
            return Ok(());
        }
        let list = self.head.regular().map(|(name, value)| httparse::Header { name, value }).collect();
        let request = Request {
            method: self.head.method(),
            target: self.head.target(),
            // The rest of the server knows requests as HTTP/1.1 has them, except for the length of the body:
            // frames tell that.
            minor: MINOR_OF_HTTP2,
            fields: Fields { list },
            body: Framing::Length(0),
        };
        let answer = match cfg.gate.admits(&request, cfg.unix_s(now_ns)) {
            true => servers::plain_answer(cfg, now_ns, &request, io),
            false => PlainAnswer::Status(401),
        };
        let answer = match answer {
            // It must say how to be let in (RFC 9110 §15.5.2).
            PlainAnswer::Status(401) => Answer::Bare(401, Some(("www-authenticate", "Bearer"))),
            PlainAnswer::Status(status) => Answer::Bare(status, None),
            // A client that wants the body back asks over HTTP/1.1.
            PlainAnswer::Echo(..) => Answer::Bare(200, None),
            PlainAnswer::Methods(status, methods) => Answer::Bare(status, Some(("allow", methods))),
            PlainAnswer::Whole(answer) => Answer::Whole(answer),
            PlainAnswer::OfSession(request) if request.is_alone() => Answer::OfSession(request),
            PlainAnswer::OfSession(_) | PlainAnswer::OfForm(_) => {
                self.reset(stream, ErrorCode::Http11Required, io);
                return Ok(());
            }
        };
        let receiving = Receiving::new(SERVER_WINDOW);
        let sending = Sending::new(self.connection.settings.window);
        let length = self.head.length();
        self.asked.push_back(PendingRequest { stream, answer, bytes: 0, length, receiving, sending });
        if ends {
            self.handle_end(cfg, now_ns, self.asked.len() - 1, io, on);
        }
        Ok(())
    }

    /// A request is whole, if its body is as long as its head says (§8.1.1).
    fn handle_end(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        at: usize,
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) {
        let PendingRequest { bytes, length, .. } = self.asked[at];
        match length.is_none_or(|length| length == bytes) {
            true => self.answer(cfg, now_ns, at, io, on),
            false => self.refuse(at, ErrorCode::ProtocolError, io),
        }
    }

    fn answer(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        at: usize,
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) {
        let Some(PendingRequest { stream, answer, sending, .. }) = self.asked.remove(at) else { return };
        match answer {
            Answer::Bare(status, field) => {
                let date = cfg.date(now_ns).value();
                let date = date.as_ref().map(|date| &date[..]);
                let write = |out: &mut Vec<u8>| hpack::write_answer(status, field, date, out);
                connection::put_head(stream, true, write, io.out(0));
            }
            Answer::Whole(answer) => {
                self.replies.begin(stream, sending);
                self.handle_part(stream, &answer, AnswerPart::Last, io, on);
                return;
            }
            Answer::OfSession(request) => {
                self.replies.begin(stream, sending);
                self.taken.push_back((stream, *request));
                return on(ServerEvent::Asked);
            }
        }
        on(ServerEvent::Requested { keep_alive: true });
    }

    fn refuse(&mut self, at: usize, code: ErrorCode, io: &mut impl Io) {
        if let Some(PendingRequest { stream, .. }) = self.asked.remove(at) {
            self.reset(stream, code, io);
        }
    }

    fn reset(&mut self, stream: u32, code: ErrorCode, io: &mut impl Io) {
        self.past.add_reset(stream);
        connection::put_reset(stream, code, io.out(0));
    }
}
