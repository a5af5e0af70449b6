//! An answer that comes in pieces, as it comes in.
//!
//! ```text
//! idle --a head with a good status, or a first message--> open --data, a message--> open: an event for each piece
//! open --the end mark--> marked --data--> marked: whatever comes is behind the end
//! open, marked --the end of the body, or of the connection; over a WebSocket, the mark itself--> idle
//! ```

use std::borrow::Cow;

use app::places::Pointer;
use codec::event_stream::{Reader, StreamEvent};
use codec::http::fields;
use codec::{Error, Limits, Stamp};
use memchr::memmem;
use secret::Secret;

use super::options::HttpOptions;
use super::streaming::{EndMark, StreamForm, StreamOptions};
use crate::carried::{ProtocolEvent, ProtocolHandler};
use crate::event::{Event, Progress, WrongResponse};
use crate::failure::{Coding, Failure, Media};
use crate::options::BadOption;

/// Rules by which each event is judged, compiled once.
#[derive(Debug)]
pub(crate) struct PieceRules {
    form: Option<StreamForm>,
    end: Option<(EndMark, Option<Pointer>)>,
    tokens: Option<Pointer>,
    order: Option<Pointer>,
    error: Pointer,
    /// True if the request says that its answer may be JSON, which then is one event.
    takes_json: bool,
}

impl PieceRules {
    /// Compiles the options of requests with these fields; `None`: answers come whole.
    pub(crate) fn new(
        http: &HttpOptions,
        fields: &[(String, Secret)],
    ) -> Result<Option<PieceRules>, BadOption> {
        let takes_json = fields.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("accept") && value.reveal().contains("application/json")
        });
        let Some(options) = &http.stream else { return Ok(None) };
        let mut pointers = [None, None, None];
        for (place, (option, text)) in pointers.iter_mut().zip(options.pointers()) {
            let parse = |text| Pointer::parse(text).ok_or(StreamOptions::bad_pointer(option));
            *place = text.map(parse).transpose()?;
        }
        let [end, tokens, order] = pointers;
        let end = options.end.clone().map(|mark| (mark, end));
        let error = Pointer::parse("/error").expect("a pointer");
        Ok(Some(PieceRules { form: options.form, end, tokens, order, error, takes_json }))
    }

    /// The media type of a body that is no stream, unless the user wants it read as one.
    fn misses(&self, kind: BodyKind) -> Option<Media> {
        kind.whole.filter(|media| match (media, self.form) {
            (_, Some(StreamForm::Chunks)) => false,
            // Some servers call lines of JSON so.
            (Media::Json, form) => !self.takes_json && form != Some(StreamForm::Lines),
            _ => true,
        })
    }

    /// Returns whether a body is JSON that was asked for: one event, in however many reads it comes.
    fn takes_whole(&self, kind: BodyKind) -> bool {
        let is_json = matches!(kind.whole, Some(Media::Json));
        is_json && self.takes_json && self.form.is_none() && kind.coding.is_none()
    }

    /// Returns whether an event says that the answer has failed: by its type (Anthropic's API), or by a JSON
    /// member `error` that holds something (OpenAI's, Ollama's, JSON-RPC 2.0 §5.1).
    fn is_error(&self, kind: &[u8], data: &[u8]) -> bool {
        // The search spares nearly every event a parse.
        let has_member = || memmem::find(data, br#""error""#).and_then(|_| self.error.written(data));
        kind == b"error"
            || has_member().is_some_and(|written| !matches!(written, b"null" | b"false" | b"\"\""))
    }

    /// Recognises the end mark: `None` for any other event, or else whether the mark counts as an event as
    /// well.
    fn is_end(&self, kind: &[u8], data: &[u8]) -> Option<bool> {
        let (is_end, counts) = match self.end.as_ref()? {
            (EndMark::Data(mark), _) => (data == mark.as_bytes(), false),
            (EndMark::Event(name), _) => (kind == name.as_bytes(), false),
            (EndMark::Pointer(_, value), pointer) => {
                let found = pointer.as_ref().and_then(|pointer| Some((pointer.written(data)?, pointer)));
                let is_there = found.is_some_and(|(written, pointer)| match value {
                    Some(value) => pointer.value(data).as_deref() == Some(value.as_str()),
                    None => !matches!(written, b"null" | b"false" | b"\"\""),
                });
                (is_there, true)
            }
        };
        is_end.then_some(counts)
    }

    /// Tokens in an event: one for a text that is not empty, or the number that stands there.
    fn tokens(&self, data: &[u8]) -> u32 {
        let Some(written) = self.tokens.as_ref().and_then(|pointer| pointer.written(data)) else { return 0 };
        match written.first() {
            Some(b'"') => u32::from(written != b"\"\""),
            _ => std::str::from_utf8(written).ok().and_then(|number| number.parse().ok()).unwrap_or(0),
        }
    }

    /// The event's number, which is to grow.
    fn number(&self, data: &[u8]) -> Option<u64> {
        self.order.as_ref()?.value(data)?.parse().ok()
    }
}

/// Form and coding of a body, as its head names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyKind {
    media: Option<StreamForm>,
    /// Its media type, if bodies of that come whole.
    whole: Option<Media>,
    coding: Option<Coding>,
}

impl BodyKind {
    /// Handles a field of the head: of several with the same name, the first counts.
    pub(crate) fn handle_field(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"content-type") {
            if self.media.is_none() {
                let form = StreamForm::of_media(value);
                let is_whole = |media: &Media| matches!(media, Media::Html | Media::Json);
                self.whole =
                    Media::named(Some(value)).filter(|_| form == StreamForm::Chunks).filter(is_whole);
                self.media = Some(form);
            }
        } else if name.eq_ignore_ascii_case(b"content-encoding") {
            self.coding = self.coding.or_else(|| fields::members(value).find_map(Coding::named));
        }
    }
}

/// The pieces of the answer that is coming in.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    course: Course,
    kind: BodyKind,
    /// The number of the request.
    request: u32,
    reader: Reader,
    /// A line, or an answer of one event, of which only the beginning is in.
    line: Vec<u8>,
    /// The latest read that brought a chunk.
    chunk_ns: u64,
}

/// The course of an answer so far.
#[derive(Debug, Default)]
struct Course {
    state: State,
    /// The latest number, one more than it: 0 is none yet.
    latest: u64,
    has_events: bool,
    /// True once the answer is known as a wrong one, which is told once.
    is_wrong: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Open,
    Marked,
}

impl Pieces {
    /// Returns whether an answer is coming in.
    pub(crate) fn is_open(&self) -> bool {
        self.course.state != State::Idle
    }

    /// Returns whether its end mark is in.
    pub(crate) fn is_marked(&self) -> bool {
        self.course.state == State::Marked
    }

    /// The head of a good answer to this request is in. A body that is encoded is a wrong one: its reads are
    /// its pieces. So is one that is no stream.
    pub(crate) fn begin(
        &mut self,
        rules: &PieceRules,
        kind: BodyKind,
        stamp: Stamp,
        on: &mut impl ProtocolHandler,
    ) {
        let course = Course { state: State::Open, ..Course::default() };
        *self = Pieces { course, kind, request: stamp.seq, ..Pieces::default() };
        let encoded = kind.coding.map(WrongResponse::Encoded);
        if let Some(wrong) = encoded.or_else(|| rules.misses(kind).map(WrongResponse::NotStream)) {
            self.course.miss(wrong, on);
        }
        tell(on, stamp.seq, Progress::Begun { stamp });
    }

    /// A part of the body is in, of a read at this time.
    pub(crate) fn handle_data(
        &mut self,
        rules: &PieceRules,
        limits: &Limits,
        now_ns: u64,
        mut data: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let Pieces { course, kind, request, reader, line, chunk_ns } = self;
        let BodyKind { media, coding, .. } = *kind;
        if course.state == State::Idle {
            return Ok(());
        }
        let mut handle = |kind: &[u8], data: &[u8]| course.handle_piece(rules, *request, kind, data, on);
        let form = rules.form.or(media).filter(|_| coding.is_none());
        match form.unwrap_or(StreamForm::Chunks) {
            StreamForm::Events => {
                while let Some(StreamEvent { kind, data, .. }) = reader.next(limits, &mut data)? {
                    handle(kind, data);
                }
            }
            StreamForm::Lines => {
                while let Some(whole) = take_line(limits, line, &mut data)? {
                    if let Some(text) = line_text(&whole) {
                        handle(b"", text);
                    }
                }
            }
            // One event, and known to be an error by its end alone.
            StreamForm::Chunks if rules.takes_whole(*kind) => {
                if line.len() + data.len() > limits.message_bytes_max {
                    return Err(Failure::Codec(Error::EventTooLarge));
                }
                line.extend_from_slice(data);
            }
            // Chunks that came together are one piece: what a user would see at once. Nothing is none.
            StreamForm::Chunks if *chunk_ns == now_ns || data.is_empty() => {}
            StreamForm::Chunks => {
                *chunk_ns = now_ns;
                handle(b"", data);
            }
        }
        Ok(())
    }

    /// A message of a WebSocket is in, which is an event whatever it holds.
    pub(crate) fn handle_message(
        &mut self,
        rules: &PieceRules,
        message: &[u8],
        on: &mut impl ProtocolHandler,
    ) {
        self.course.handle_piece(rules, self.request, b"", message, on);
    }

    /// The answer is whole, and with it its one event; a last line need not have an end.
    pub(crate) fn finish(&mut self, rules: &PieceRules, on: &mut impl ProtocolHandler) {
        if self.course.state == State::Idle {
            return;
        }
        let last = std::mem::take(&mut self.line);
        if let Some(last) = line_text(&last) {
            self.course.handle_piece(rules, self.request, b"", last, on);
        }
        // An end mark alone says that there was nothing to say.
        if !self.course.has_events && self.course.state != State::Marked {
            self.course.miss(WrongResponse::NoEvents, on);
        }
        let is_marked = self.course.state == State::Marked || rules.end.is_none();
        tell(on, self.request, Progress::Ended { is_marked });
        self.course.state = State::Idle;
    }
}

impl Course {
    /// Tells one piece of the answer to this request, unless it is the end mark and nothing else.
    fn handle_piece(
        &mut self,
        rules: &PieceRules,
        request: u32,
        kind: &[u8],
        data: &[u8],
        on: &mut impl ProtocolHandler,
    ) {
        if self.state == State::Marked {
            return tell(on, request, Progress::AfterEnd);
        }
        if let Some(counts) = rules.is_end(kind, data) {
            self.state = State::Marked;
            if !counts {
                return;
            }
        }
        if !self.is_wrong && rules.is_error(kind, data) {
            self.miss(WrongResponse::ErrorEvent, on);
        }
        let number = rules.number(data);
        let is_misordered = number.is_some_and(|number| number < self.latest);
        self.latest = self.latest.max(number.map_or(0, |number| number.saturating_add(1)));
        self.has_events = true;
        tell(on, request, Progress::Event { tokens: rules.tokens(data), is_misordered });
    }

    /// Tells that the answer is a wrong one, unless it is known.
    fn miss(&mut self, wrong: WrongResponse, on: &mut impl ProtocolHandler) {
        if !std::mem::replace(&mut self.is_wrong, true) {
            on.handle(ProtocolEvent::Event(Event::WrongResponse(wrong)));
        }
    }
}

/// Tells how the answer to this request has come on.
fn tell(on: &mut impl ProtocolHandler, request: u32, progress: Progress) {
    on.handle(ProtocolEvent::Event(Event::Progress { request, progress }));
}

/// The text of a line, without a record separator (RFC 7464); `None` if it is empty.
fn line_text(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    Some(line.strip_prefix(b"\x1e").unwrap_or(line)).filter(|text| !text.is_empty())
}

/// Takes a line off the input; `None` when more bytes are needed.
fn take_line<'a>(
    limits: &Limits,
    begun: &mut Vec<u8>,
    input: &mut &'a [u8],
) -> Result<Option<Cow<'a, [u8]>>, Failure> {
    let end = memchr::memchr(b'\n', input);
    let (mine, rest) = input.split_at(end.unwrap_or(input.len()));
    if begun.len() + mine.len() > limits.message_bytes_max {
        return Err(Failure::Codec(Error::EventTooLarge));
    }
    *input = rest.get(1..).unwrap_or_default();
    match (end, begun.is_empty()) {
        (None, _) => {
            begun.extend_from_slice(mine);
            Ok(None)
        }
        (Some(_), true) => Ok(Some(Cow::Borrowed(mine))),
        (Some(_), false) => {
            begun.extend_from_slice(mine);
            Ok(Some(Cow::Owned(std::mem::take(begun))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The progress of an answer with this body, in portions of `step` bytes, each a read of its own.
    fn read(stream: &StreamOptions, body: &[u8], step: usize) -> Vec<Progress> {
        let (progress, wrong) = read_of(stream, &[], "", body, step);
        assert_eq!(wrong, []);
        progress
    }

    /// The same of a body of this type, and what is wrong with the answer.
    fn read_of(
        stream: &StreamOptions,
        fields: &[(String, Secret)],
        media: &str,
        body: &[u8],
        step: usize,
    ) -> (Vec<Progress>, Vec<WrongResponse>) {
        let http = HttpOptions { stream: Some(stream.clone()), ..HttpOptions::default() };
        let rules = PieceRules::new(&http, fields).unwrap().unwrap();
        let (mut pieces, mut told, mut wrong) = (Pieces::default(), Vec::new(), Vec::new());
        let on = &mut |event: ProtocolEvent<'_>| match event {
            ProtocolEvent::Event(Event::Progress { request: 7, progress }) => told.push(progress),
            ProtocolEvent::Event(Event::WrongResponse(response)) => wrong.push(response),
            other => panic!("{other:?}"),
        };
        let stamp = Stamp::new(0, 0, 7, 5, 6);
        let mut kind = BodyKind::default();
        if !media.is_empty() {
            kind.handle_field(b"Content-Type", media.as_bytes());
        }
        pieces.begin(&rules, kind, stamp, on);
        for (read, portion) in (1..).zip(body.chunks(step)) {
            pieces.handle_data(&rules, &Limits::default(), read, portion, on).unwrap();
        }
        pieces.finish(&rules, on);
        assert!(!pieces.is_open());
        assert_eq!(told.remove(0), Progress::Begun { stamp });
        (told, wrong)
    }

    fn event(tokens: u32, is_misordered: bool) -> Progress {
        Progress::Event { tokens, is_misordered }
    }

    fn options(form: StreamForm, end: &str) -> StreamOptions {
        StreamOptions {
            form: Some(form),
            end: Some(EndMark::parse(end)),
            tokens: Some("/text".into()),
            order: Some("/n".into()),
            ..StreamOptions::default()
        }
    }

    #[test]
    fn events_in_any_portions() {
        let body = b"data: {\"n\":0,\"text\":\"\"}\n\nevent: delta\r\ndata: {\"n\":2,\"text\":\"a\"}\r\n\r\n: ping\n\n\
            data: {\"n\":1,\"text\":\"b\"}\n\ndata: [DONE]\n\ndata: [DONE]\n\n";
        let expected = [
            event(0, false),
            event(1, false),
            event(1, true),
            Progress::AfterEnd,
            Progress::Ended { is_marked: true },
        ];
        for step in 1..=body.len() {
            assert_eq!(read(&options(StreamForm::Events, "[DONE]"), body, step), expected, "{step}");
        }
    }

    #[test]
    fn lines_in_any_portions() {
        // The last one has no end, and the third is empty.
        let body = b"{\"n\":0,\"text\":\"a\"}\r\n{\"n\":1,\"text\":7}\n\n\x1e{\"n\":2,\"done\":true}";
        let expected =
            [event(1, false), event(7, false), event(0, false), Progress::Ended { is_marked: true }];
        for step in 1..=body.len() {
            assert_eq!(read(&options(StreamForm::Lines, "/done=true"), body, step), expected, "{step}");
        }
    }

    #[test]
    fn chunks_of_a_read_are_one_event() {
        let told = read(&options(StreamForm::Chunks, "[DONE]"), b"abcdef", 2);
        assert_eq!(
            told,
            [event(0, false), event(0, false), event(0, false), Progress::Ended { is_marked: false }]
        );
    }

    #[test]
    fn marks_by_type_and_by_pointer() {
        let body = b"data: {\"result\":null}\n\nevent: stop\ndata: {\"result\":{}}\n\n";
        let told = |end| read(&options(StreamForm::Events, end), body, body.len());
        let marked = Progress::Ended { is_marked: true };
        assert_eq!(told("event:stop"), [event(0, false), marked], "it is no event of its own");
        assert_eq!(told("/result"), [event(0, false), event(0, false), marked]);
        assert_eq!(told("/result=1").last(), Some(&Progress::Ended { is_marked: false }));
    }

    #[test]
    fn answers_that_are_no_streams_are_wrong() {
        let [html, json] = [Media::Html, Media::Json].map(WrongResponse::NotStream);
        let (error, none) = (WrongResponse::ErrorEvent, WrongResponse::NoEvents);
        let (usual, as_json) =
            (&[][..], &[("Accept".to_owned(), Secret::from("application/json, text/event-stream"))][..]);
        for (form, fields, media, body, expected) in [
            (None, usual, "text/html", "<p>", Some(html)),
            (Some(StreamForm::Events), usual, "text/html", "<p>", Some(html)),
            (Some(StreamForm::Chunks), usual, "text/html", "<p>", None),
            (None, usual, "application/json", r#"{"a":1}"#, Some(json)),
            (None, as_json, "application/json", r#"{"result":{}}"#, None),
            (None, as_json, "application/json", r#"{"error":{"code":-1}}"#, Some(error)),
            (Some(StreamForm::Lines), usual, "application/json", r#"{"a":1}"#, None),
            (None, usual, "application/stream+json", "{}", None),
            (None, usual, "text/event-stream", ": ping\n\n", Some(none)),
            (None, usual, "", "", Some(none)),
            (None, usual, "text/event-stream", "data: [DONE]\n\n", None),
            (None, usual, "text/event-stream", "event: error\ndata: {}\n\ndata: 1\n\n", Some(error)),
            (None, usual, "text/event-stream", "data: {\"error\":null,\"t\":\"\\\"error\\\"\"}\n\n", None),
            (None, usual, "application/x-ndjson", "{\"error\":\"no\"}\n{\"error\":\"no\"}", Some(error)),
        ] {
            let end = Some(EndMark::parse("[DONE]"));
            let stream = StreamOptions { form, end, ..StreamOptions::default() };
            for step in [1, body.len().max(1)] {
                let (_, wrong) = read_of(&stream, fields, media, body.as_bytes(), step);
                assert_eq!(wrong, Vec::from_iter(expected), "{media}: {body} by {step}");
            }
        }
    }

    #[test]
    fn json_that_was_asked_for_is_one_event() {
        let fields = [("Accept".to_owned(), Secret::from("application/json"))];
        let stream = StreamOptions { tokens: Some("/text".into()), ..StreamOptions::default() };
        let body = br#"{"id":1,"text":"ab"}"#;
        for step in 1..=body.len() {
            let (told, _) = read_of(&stream, &fields, "application/json", body, step);
            assert_eq!(told, [event(1, false), Progress::Ended { is_marked: true }], "{step}");
        }
    }

    #[test]
    fn media_types_name_their_form() {
        let form = |media: &[u8]| StreamForm::of_media(media);
        assert_eq!(form(b"Text/Event-Stream; charset=utf-8"), StreamForm::Events);
        assert_eq!(form(b"application/x-ndjson"), StreamForm::Lines);
        assert_eq!(form(b"text/plain"), StreamForm::Chunks);
    }
}
