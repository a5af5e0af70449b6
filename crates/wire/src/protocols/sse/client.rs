//! The client's side: one request, and the events of its answer.
//!
//! ```text
//! connecting --handle_open--> asked: the request is out
//! asked --200, text/event-stream--> open: events come
//! asked --301, 302, 303, 307, 308 to this server--> connecting, and asks there, of some by a GET
//! asked --204--> refused: it must not ask again (HTML §9.2.3)
//! asked --any other answer--> failed
//! open --the end of the answer--> failed: whoever drives it connects again, from the last event ID on
//! ```

use app::conditions::Opened;
use app::template::Filling;
use codec::event_stream::Reader;
use codec::http::body::{Body, Piece};
use codec::http::cookies::Cookies;
use codec::http::head::{Expect, HeadReader};
use codec::http::response::Response;
use codec::{Error, StreamId, stamp};

use super::parts::Parts;
use crate::absent::NoClient;
use crate::backoff::Reconnection;
use crate::carried::{MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::HttpClientProtocol;
use crate::event::Event;
use crate::failure::{Coding, Failure, Media, StreamReason};
use crate::io::{Io, Sending};
use crate::link::HttpLink;
use crate::location;
use crate::resumption::Resumption;

const STREAM: StreamId = 0;
const NS_PER_MS: u64 = 1_000_000;
/// Most redirects of one request (Fetch standard, "HTTP-redirect fetch").
const REDIRECTS_MAX: u8 = 20;

/// One client's side.
#[derive(Debug)]
pub(crate) struct Client {
    state: State,
    cookies: Cookies,
    /// Reads the events; between two connections it has the last event ID.
    reader: Reader,
}

#[derive(Debug)]
enum State {
    Connecting(Redirected),
    Asked(Box<Asked>),
    Open(Body),
    Refused,
    Over,
}

/// The place to which a request was redirected, and how often.
#[derive(Debug, Default)]
struct Redirected {
    target: Option<Box<str>>,
    times: u8,
    /// True if it has become a GET on its way, without the body.
    is_get: bool,
}

/// A request without its answer.
#[derive(Debug)]
struct Asked {
    head: HeadReader,
    redirected: Redirected,
}

/// The meaning of a whole head.
enum Answer {
    /// Events follow, framed like this.
    Stream(Body),
    /// They are elsewhere.
    Elsewhere(Redirected),
    /// There are none.
    Refused,
}

impl Client {
    /// A client whose connection the driver makes of its own accord.
    pub(crate) fn new() -> Client {
        let state = State::Connecting(Redirected::default());
        Client { state, cookies: Cookies::NONE, reader: Reader::default() }
    }

    /// Reads the head of the answer, once it is whole.
    fn handle_answer<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        input: &mut &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let State::Asked(asked) = &mut self.state else { return Ok(()) };
        let Some(answer) = asked.read(link, &mut self.cookies, input)? else { return Ok(()) };
        match answer {
            Answer::Refused => {
                self.state = State::Refused;
                return Err(Failure::EventStream(StreamReason::NoContent));
            }
            Answer::Stream(body) => {
                self.state = State::Open(body);
                on.handle(ProtocolEvent::Event(Event::Upgraded));
                on.handle(ProtocolEvent::Ready);
            }
            // Over another connection: nothing is waited for that comes with this answer.
            Answer::Elsewhere(redirected) => {
                *input = &[];
                self.state = State::Connecting(redirected);
                link.io.close_stream(STREAM);
                link.io.open_stream(STREAM);
            }
        }
        Ok(())
    }

    /// Reads what is in of the stream.
    #[inline]
    fn handle_stream<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        input: &mut &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let limits = &link.common.options().limits;
        let State::Open(body) = &mut self.state else { return Ok(()) };
        while let Some(piece) = body.read(limits, input)? {
            let Piece::Data(mut data) = piece else { return Err(Failure::EventStream(StreamReason::End)) };
            while let Some(event) = self.reader.next(limits, &mut data)? {
                let text = event.data;
                let (bytes, found) = (text.len() as u32, stamp::find(text));
                on.handle(ProtocolEvent::text(text, bytes, found, MessageHint::Pushed, Opened::whole));
            }
        }
        Ok(())
    }
}

impl Asked {
    /// Reads the answer, once its head is whole.
    fn read<I: Io>(
        &mut self,
        link: &HttpLink<'_, Parts, I>,
        cookies: &mut Cookies,
        input: &mut &[u8],
    ) -> Result<Option<Answer>, Failure> {
        let options = link.common.options();
        loop {
            let Some((head, lines)) = self.head.read(Expect::Response, &options.limits, input)? else {
                return Ok(None);
            };
            let response = Response::parse(head, lines)?;
            let field = |name| response.fields.all(name).next();
            match response.status {
                // Interim answers (RFC 9110 §15.2) may precede the final one.
                100 | 102..=199 => continue,
                200 => {}
                204 => return Ok(Some(Answer::Refused)),
                status @ (301 | 302 | 303 | 307 | 308) => {
                    cookies.handle_all(&response.fields)?;
                    let location = field("location").and_then(|value| std::str::from_utf8(value).ok());
                    let redirected =
                        location.and_then(|location| self.redirected.follow(status, location, link));
                    return redirected
                        .map(|to| Some(Answer::Elsewhere(to)))
                        .ok_or(Failure::EventStream(StreamReason::Redirects));
                }
                status => return Err(Failure::Codec(Error::HttpStatus(status))),
            }
            if let Some(media) = Media::named(field("content-type")) {
                return Err(Failure::EventStream(StreamReason::Media(media)));
            }
            if let Some(coding) = field("content-encoding").and_then(Coding::named) {
                return Err(Failure::EventStream(StreamReason::Encoded(coding)));
            }
            cookies.handle_all(&response.fields)?;
            return Ok(Some(Answer::Stream(Body::new(response.body(false)?))));
        }
    }
}

impl Redirected {
    /// Follows another redirect; `None` after too many, or to a server to which this client has no
    /// connection.
    fn follow<I: Io>(
        &self,
        status: u16,
        location: &str,
        link: &HttpLink<'_, Parts, I>,
    ) -> Option<Redirected> {
        let asked = || match &self.target {
            Some(target) => target.to_string(),
            None => link.parts.target(&Filling::of(link.context())),
        };
        let options = link.common.options();
        let target = location::target(location, options.scheme(), &options.host, asked)?;
        let is_get = self.is_get || link.parts.becomes_get(status);
        (self.times < REDIRECTS_MAX).then(|| Redirected {
            target: Some(target.into()),
            times: self.times + 1,
            is_get,
        })
    }
}

impl HttpClientProtocol for Client {
    type Parts = Parts;
    type Socket = NoClient<Parts>;

    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, _stream: StreamId) {
        let State::Connecting(redirected) = &mut self.state else { return };
        let redirected = std::mem::take(redirected);
        if redirected.times == 0 {
            self.cookies = link.kept.cookies.clone();
        }
        let filling = Filling::of(link.context_with(&self.cookies));
        let Redirected { target, is_get, .. } = &redirected;
        let (target, last_id) = (target.as_deref(), self.reader.last_id());
        link.parts.write(link.io.out(STREAM), &filling, target, *is_get, last_id);
        self.state = State::Asked(Box::new(Asked { head: HeadReader::default(), redirected }));
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        _stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let mut input = bytes;
        self.handle_answer(link, &mut input, on)?;
        self.handle_stream(link, &mut input, on)
    }

    fn handle_eof<I: Io>(
        &mut self,
        _link: &mut HttpLink<'_, Parts, I>,
        _stream: StreamId,
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match &self.state {
            State::Open(_) => Err(Failure::EventStream(StreamReason::End)),
            State::Connecting(_) | State::Asked(_) => Err(Failure::Codec(Error::EofBeforeAnswer)),
            State::Refused | State::Over => Ok(()),
        }
    }

    fn resume(&mut self, resumption: &Resumption) {
        self.reader = Reader::after(&resumption.offset);
    }

    fn resumption(&self) -> Option<Resumption> {
        let offset = self.reader.last_id().to_vec();
        (!offset.is_empty()).then(|| Resumption { offset, ..Resumption::default() })
    }

    /// Before the first event, there is no ID to come back with, and what is sent meanwhile would not be sent
    /// again.
    fn lacks_place(&self) -> bool {
        !self.reader.has_dispatched()
    }

    fn reconnection(&self) -> Reconnection {
        match (&self.state, self.reader.retry_ms()) {
            (State::Refused, _) => Reconnection::Never,
            (_, Some(ms)) => Reconnection::After { wait_ns: u64::from(ms) * NS_PER_MS },
            (_, None) => Reconnection::Usual,
        }
    }

    fn cookies(&self) -> &Cookies {
        &self.cookies
    }

    fn is_ready(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Sends nothing, as there is no way to the server. A plan without requests to publish is refused before
    /// it begins.
    fn send<I: Io>(
        &mut self,
        _link: &mut HttpLink<'_, Parts, I>,
        _message_template: &MessageTemplate,
        _filling: &Filling<'_>,
    ) -> Sending {
        Sending::Out
    }

    /// There is no goodbye: the server notices that the connection is gone.
    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        self.state = State::Over;
        link.io.close_stream(STREAM);
    }

    fn is_closed(&self) -> bool {
        matches!(self.state, State::Over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocator adds 8 bytes and rounds up to 16: 80 are a client's memory beside that of its record.
    #[test]
    fn an_idle_client_is_small() {
        assert!(size_of::<Client>() <= 72, "{}", size_of::<Client>());
    }
}
