//! A session that passed through the proxy, within bounds: requests with the bodies that a file may be made
//! of, and WebSockets with their messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codec::ws::MessageType;
use codec::ws::frame::Opcode;
use har::{Content, Direction, Entry, Frame, PostData, events_in, is_streamed};
use jiff::Timestamp;

use crate::links::is_host_over;
use crate::trouble::Trouble;

/// Bytes of all bodies, heads and messages: a browser's session has some megabytes.
const SESSION_BYTES_MAX: usize = 64 << 20;
/// Bytes of one body. Values that are said later stand at the top of a page.
const BODY_BYTES_MAX: usize = 2 << 20;
/// Messages of all WebSockets, and portions of streams. A file is made of the first 4,000 of one.
const MESSAGES_MAX: usize = 50_000;
/// Requests and WebSockets.
const ENTRIES_MAX: usize = 10_000;
/// Kinds of troubles: a server may redirect to any number of origins.
const TROUBLES_MAX: usize = 100;

/// A recording under way, shared by all connections.
#[derive(Clone, Default)]
pub struct Session(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    exchanges: Vec<Exchange>,
    bytes: usize,
    messages: usize,
    changes: u64,
    /// Answers' bodies in the order in which they are let go.
    bodies: VecDeque<usize>,
    troubles: BTreeMap<Trouble, u64>,
}

/// A request with its answer as it comes in.
struct Exchange {
    entry: Entry,
    /// Texts that name the proxy, and the server's in their place.
    names: Arc<[(String, String)]>,
    body: Vec<u8>,
    answer: Vec<u8>,
    /// Bytes of a stream's answer that had come, and when: the events of a portion have its time.
    portions: Vec<Portion>,
    /// True once the answer's body has made room for others.
    is_let_go: bool,
}

/// Bytes that had come by a time, in seconds since 1970.
#[derive(Clone, Copy)]
struct Portion {
    end: usize,
    at_s: f64,
}

/// The place of a request in the recording; `None` if there was no room for it.
pub(crate) type Place = Option<usize>;

/// A side's body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Request,
    Answer,
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves what was recorded as good as it was.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an entry. In what the client says, `names` of the proxy become the server's.
    pub(crate) fn begin(&self, entry: Entry, names: Arc<[(String, String)]>) -> Place {
        let mut state = self.lock();
        let head_bytes = entry.request.url.len() + head_bytes(&entry.request.headers);
        if state.exchanges.len() >= ENTRIES_MAX || !state.make_room(head_bytes) {
            state.note(Trouble::LeftOut);
            return None;
        }
        let (body, answer, portions) = (Vec::new(), Vec::new(), Vec::new());
        state.exchanges.push(Exchange { entry, names, body, answer, portions, is_let_go: false });
        Some(state.exchanges.len() - 1)
    }

    /// Changes an entry.
    pub(crate) fn change(&self, place: Place, change: impl FnOnce(&mut Entry)) {
        let Some(place) = place else { return };
        let mut state = self.lock();
        let entry = &mut state.exchanges[place].entry;
        let before = head_bytes(&entry.response.headers);
        change(entry);
        let grown = head_bytes(&entry.response.headers) - before;
        state.bytes += grown;
        state.changes += 1;
    }

    /// Keeps a portion of a body, up to a bound.
    pub(crate) fn keep(&self, place: Place, side: Side, bytes: &[u8]) {
        let Some(place) = place else { return };
        let mut state = self.lock();
        let kept = state.exchanges[place].part(side).len();
        let bytes = &bytes[..bytes.len().min(BODY_BYTES_MAX - kept)];
        if bytes.is_empty() || state.has_let_go(place, side) {
            return;
        }
        if !state.make_room(bytes.len()) {
            return state.note(Trouble::LeftOut);
        }
        // A body that comes slowly may have made the room itself: its rest alone would be read as the whole.
        if state.has_let_go(place, side) {
            state.bytes -= bytes.len();
            return;
        }
        state.exchanges[place].part(side).extend_from_slice(bytes);
        if side == Side::Answer && state.exchanges[place].is_streamed() {
            // A file is made of its events: it makes no room for pages.
            state.note_portion(place);
        } else if side == Side::Answer && kept == 0 {
            state.bodies.push_back(place);
        }
    }

    /// Keeps a message of a WebSocket.
    pub(crate) fn hear(&self, place: Place, direction: Direction, message_type: MessageType, bytes: &[u8]) {
        let Some(place) = place else { return };
        let mut state = self.lock();
        // Binary messages are counted, and make no file.
        let data: Box<str> = match message_type {
            MessageType::Text => String::from_utf8_lossy(bytes).into(),
            MessageType::Binary => Box::default(),
        };
        if state.messages >= MESSAGES_MAX || !state.make_room(data.len() + size_of::<Frame>()) {
            return state.note(Trouble::LeftOut);
        }
        state.messages += 1;
        let frame = Frame { direction, time: now_s(), opcode: Opcode::from(message_type) as i64, data };
        state.exchanges[place].entry.messages.get_or_insert_default().push(frame);
    }

    /// Counts something that went wrong.
    pub(crate) fn note(&self, trouble: Trouble) {
        self.lock().note(trouble);
    }

    /// Number of changes so far: a recording with the same number is the same.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Returns whether nothing has passed.
    pub fn is_empty(&self) -> bool {
        self.lock().exchanges.is_empty()
    }

    /// Things that went wrong, with how often.
    pub fn troubles(&self) -> BTreeMap<Trouble, u64> {
        self.lock().troubles.clone()
    }

    /// A copy without answers' bodies but streams: what a summary is made of.
    pub fn outline(&self) -> Vec<Entry> {
        let state = self.lock();
        let of = |exchange: &Exchange| Exchange {
            entry: exchange.entry.clone(),
            names: Arc::clone(&exchange.names),
            body: exchange.body.clone(),
            answer: if exchange.is_streamed() { exchange.answer.clone() } else { Vec::new() },
            portions: exchange.portions.clone(),
            is_let_go: exchange.is_let_go,
        };
        state.exchanges.iter().map(|exchange| of(exchange).into_entry()).collect()
    }

    /// The entries; the recording is empty afterwards, and its proxy has to have ended.
    pub fn take(&self) -> Vec<Entry> {
        let exchanges = std::mem::take(&mut self.lock().exchanges);
        exchanges.into_iter().map(Exchange::into_entry).collect()
    }
}

impl State {
    fn note(&mut self, trouble: Trouble) {
        if self.troubles.len() < TROUBLES_MAX || self.troubles.contains_key(&trouble) {
            *self.troubles.entry(trouble).or_default() += 1;
            self.changes += 1;
        }
    }

    /// Notes that a portion of a stream has come.
    fn note_portion(&mut self, place: usize) {
        let Exchange { answer, portions, .. } = &mut self.exchanges[place];
        if self.messages < MESSAGES_MAX {
            self.messages += 1;
            portions.push(Portion { end: answer.len(), at_s: now_s() });
        }
    }

    /// Returns whether this body has made room for others.
    fn has_let_go(&self, place: usize, side: Side) -> bool {
        side == Side::Answer && self.exchanges[place].is_let_go
    }

    /// Makes room for `bytes` by letting the oldest bodies go, and takes it; false if none is left to let go.
    fn make_room(&mut self, bytes: usize) -> bool {
        while self.bytes + bytes > SESSION_BYTES_MAX {
            let Some(oldest) = self.bodies.pop_front() else { return false };
            // Logins and their pages are small, and are what a file needs most.
            let is_needed = self.exchanges[oldest].entry.request.method != "GET";
            if !is_needed {
                self.bytes -= std::mem::take(&mut self.exchanges[oldest].answer).len();
                self.exchanges[oldest].is_let_go = true;
                self.note(Trouble::BodyLeftOut);
            }
        }
        self.bytes += bytes;
        self.changes += 1;
        true
    }
}

impl Exchange {
    fn part(&mut self, side: Side) -> &mut Vec<u8> {
        match side {
            Side::Request => &mut self.body,
            Side::Answer => &mut self.answer,
        }
    }

    /// Returns whether the answer comes event by event.
    fn is_streamed(&self) -> bool {
        is_streamed(&media_type(&self.entry.response.headers))
    }

    fn into_entry(self) -> Entry {
        let Exchange { mut entry, names, body, answer, portions, .. } = self;
        let own = |text: String| names.iter().fold(text, |text, (from, to)| renamed(text, from, to));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if !body.is_empty() {
            let mime_type = media_type(&entry.request.headers);
            entry.request.post_data = Some(PostData { mime_type, text: own(text(body)) });
        }
        entry.request.url = own(entry.request.url);
        for frame in entry.messages.iter_mut().flatten().filter(|frame| frame.direction == Direction::Send) {
            frame.data = own(std::mem::take(&mut frame.data).into()).into();
        }
        let mime_type = media_type(&entry.response.headers);
        if mime_type.to_ascii_lowercase().starts_with(codec::event_stream::MEDIA_TYPE) && !answer.is_empty() {
            // Behind the last portion that found room, times are its own.
            let last = portions.last().map_or(0.0, |portion| portion.at_s);
            let time_of = |bytes: usize| {
                let at = portions.partition_point(|portion| portion.end < bytes);
                portions.get(at).map_or(last, |portion| portion.at_s)
            };
            entry.events = Some(events_in(&answer, MESSAGES_MAX, time_of));
        }
        entry.response.content =
            Content { mime_type, text: (!answer.is_empty()).then(|| text(answer)), encoding: None };
        entry
    }
}

fn now_s() -> f64 {
    Timestamp::now().as_nanosecond() as f64 / 1e9
}

/// The media type that a head names.
fn media_type(headers: &[har::Pair]) -> String {
    let found = headers.iter().find(|header| header.name == "content-type");
    found.map(|header| header.value.clone()).unwrap_or_default()
}

/// The text with an origin replaced wherever its host and port end there.
fn renamed(text: String, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A form has `:` as `%3A`.
        let is_whole = is_host_over(part.as_bytes()) && !part.starts_with("%3A");
        out += if is_whole { to } else { from };
        out += part;
    }
    out
}

fn head_bytes(headers: &[har::Pair]) -> usize {
    headers.iter().map(|header| header.name.len() + header.value.len()).sum()
}

#[cfg(test)]
mod tests {
    use har::{Pair, Request};

    use super::*;

    fn entry(method: &str) -> Entry {
        Entry { request: Request { method: method.to_owned(), ..Request::default() }, ..Entry::default() }
    }

    impl Session {
        pub(crate) fn begin_plain(&self, entry: Entry) -> Place {
            self.begin(entry, Arc::default())
        }
    }

    #[test]
    fn sent_texts_name_the_server() {
        let session = Session::default();
        let names = [("http://localhost:4000".to_owned(), "https://app.test".to_owned())];
        let place = session.begin(entry("POST"), names.into());
        session.keep(place, Side::Request, b"url=http://localhost:4000/a");
        for direction in [Direction::Send, Direction::Receive] {
            session.hear(place, direction, MessageType::Text, b"http://localhost:4000/");
        }
        let entry = session.take().remove(0);
        assert_eq!(entry.request.post_data.unwrap().text, "url=https://app.test/a");
        let said = entry.messages.unwrap().into_iter().map(|frame| frame.data.into_string());
        assert_eq!(said.collect::<Vec<_>>(), ["https://app.test/", "http://localhost:4000/"]);
    }

    #[test]
    fn other_ports_keep_their_origins() {
        let own = |text: &str| renamed(text.to_owned(), "http://localhost:400", "https://app.test");
        assert_eq!(own("http://localhost:400"), "https://app.test");
        assert_eq!(
            own("a=http://localhost:400/&b=http://localhost:4000/"),
            "a=https://app.test/&b=http://localhost:4000/"
        );
        let coded = renamed("u=http%3A%2F%2Flocalhost%3A3000".to_owned(), "http%3A%2F%2Flocalhost", "x");
        assert_eq!(coded, "u=http%3A%2F%2Flocalhost%3A3000");
    }

    #[test]
    fn oldest_bodies_make_room() {
        let session = Session::default();
        let body = vec![b'x'; BODY_BYTES_MAX + 1];
        let login = session.begin_plain(entry("POST"));
        session.keep(login, Side::Answer, &body);
        for _ in 0..2 * SESSION_BYTES_MAX / BODY_BYTES_MAX {
            let place = session.begin_plain(entry("GET"));
            session.keep(place, Side::Answer, &body);
        }
        let troubles = session.troubles();
        let entries = session.take();
        let kept: Vec<usize> =
            entries.iter().map(|entry| entry.response.content.text.as_ref().map_or(0, String::len)).collect();
        assert_eq!(kept[0], BODY_BYTES_MAX);
        assert_eq!((kept[1], kept[kept.len() - 1]), (0, BODY_BYTES_MAX));
        assert!(kept.iter().sum::<usize>() <= SESSION_BYTES_MAX);
        assert_eq!(troubles.keys().collect::<Vec<_>>(), [&Trouble::BodyLeftOut]);
    }

    #[test]
    fn binary_messages_take_no_room() {
        let session = Session::default();
        let place = session.begin_plain(entry("GET"));
        let body = vec![0; 1 << 20];
        for _ in 0..2 * SESSION_BYTES_MAX / body.len() {
            session.hear(place, Direction::Receive, MessageType::Binary, &body);
        }
        session.hear(place, Direction::Receive, MessageType::Text, b"text");
        assert!(session.troubles().is_empty(), "{:?}", session.troubles());
    }

    #[test]
    fn events_have_the_times_of_their_portions() {
        let session = Session::default();
        let place = session.begin_plain(entry("GET"));
        let kind = Pair { name: "content-type".to_owned(), value: "text/event-stream".to_owned() };
        session.change(place, |entry| entry.response.headers.push(kind));
        session.keep(place, Side::Answer, b": hello\n\nid: 1\ndata: a\n\ndata: b\nda");
        std::thread::sleep(std::time::Duration::from_millis(5));
        session.keep(place, Side::Answer, b"ta: c\n\nevent: x\ndata: d\n\ndata: half");
        for _ in 0..2 * SESSION_BYTES_MAX / BODY_BYTES_MAX {
            let page = session.begin_plain(entry("GET"));
            session.keep(page, Side::Answer, &vec![b'x'; BODY_BYTES_MAX]);
        }
        let outlined = session.outline().remove(0).events.unwrap();
        let events = session.take().remove(0).events.unwrap();
        assert_eq!(outlined, events);
        let told = events.iter().map(|event| (&*event.event_name, &*event.event_id, &*event.data));
        assert_eq!(told.collect::<Vec<_>>(), [("", "1", "a"), ("", "1", "b\nc"), ("x", "1", "d")]);
        let times: Vec<f64> = events.iter().map(|event| event.time).collect();
        assert!(times[0] + 0.004 < times[1] && times[1] == times[2], "{times:?}");
    }

    #[test]
    fn body_let_go_midway_stays_out() {
        let session = Session::default();
        let slow = session.begin_plain(entry("GET"));
        session.keep(slow, Side::Answer, b"the beginning");
        for _ in 0..SESSION_BYTES_MAX / BODY_BYTES_MAX {
            let place = session.begin_plain(entry("GET"));
            session.keep(place, Side::Answer, &vec![b'x'; BODY_BYTES_MAX]);
        }
        session.keep(slow, Side::Answer, b"the rest");
        assert_eq!(session.take()[0].response.content.text, None);
    }

    #[test]
    fn troubles_are_bounded() {
        let session = Session::default();
        for number in 0..2 * TROUBLES_MAX {
            session.note(Trouble::Elsewhere(format!("http://{number}.test")));
        }
        session.note(Trouble::Elsewhere("http://0.test".to_owned()));
        let troubles = session.troubles();
        assert_eq!(
            (troubles.len(), troubles[&Trouble::Elsewhere("http://0.test".to_owned())]),
            (TROUBLES_MAX, 2)
        );
    }

    #[test]
    fn messages_are_bounded() {
        let session = Session::default();
        let place = session.begin_plain(entry("GET"));
        for _ in 0..SESSION_BYTES_MAX / (1 << 20) + 7 {
            session.hear(place, Direction::Receive, MessageType::Text, &vec![b'x'; 1 << 20]);
        }
        session.hear(None, Direction::Receive, MessageType::Text, b"of an entry that had no room");
        assert_eq!(session.troubles()[&Trouble::LeftOut], 8);
        let frames = session.take().remove(0).messages.unwrap();
        assert_eq!(frames.len(), SESSION_BYTES_MAX / (1 << 20) - 1);
    }

    #[test]
    fn bodies_have_the_types_of_their_heads() {
        let session = Session::default();
        let pair = |value: &str| Pair { name: "content-type".to_owned(), value: value.to_owned() };
        let mut posted = entry("POST");
        posted.request.headers.push(pair("application/json"));
        let place = session.begin_plain(posted);
        session.keep(place, Side::Request, b"{}");
        session.change(place, |entry| entry.response.headers.push(pair("text/html")));
        session.keep(place, Side::Answer, b"<p>");
        session.keep(place, Side::Answer, b"</p>");
        let outline = session.outline().remove(0);
        assert_eq!(outline.response.content.text, None);
        let entry = session.take().remove(0);
        assert_eq!(
            entry.request.post_data,
            Some(PostData { mime_type: "application/json".into(), text: "{}".into() })
        );
        assert_eq!(entry.response.content.text.as_deref(), Some("<p></p>"));
        assert_eq!(entry.response.content.mime_type, "text/html");
    }
}
