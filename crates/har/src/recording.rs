//! One session of a browser: its requests in their order, and the WebSocket or the stream that is looked at.

use std::collections::BTreeMap;

use url::Url;

use crate::bad_har::BadHar;
use crate::credentials::{is_opaque, is_typed_secret};
use crate::exchange::{Exchange, header, is_called, seconds};
use crate::file::{Direction, Entries, Entry, FRAMES_MAX, File, Frame, Pair, is_streamed};
use crate::naming::is_of_person;
use crate::stream::{self, Stream};

/// Words of paths and subprotocols of development servers, whose messages are about the page's source.
const DEVELOPMENT: [&str; 6] =
    ["vite-hmr", "webpack-hmr", "webpack_hmr", "sockjs-node", "livereload", "/@vite"];
const TEXT: i64 = 1;
const BINARY: i64 = 2;

/// One browser's recording.
pub struct Recording {
    /// The file's name, for comments.
    pub(crate) name: String,
    /// Requests before and beside the WebSocket, by time.
    pub(crate) exchanges: Vec<Exchange>,
    /// The WebSocket; without one, the request for the stream, with the events of a subscription.
    pub(crate) socket: Socket,
    /// The stream in place of a WebSocket; its events are the socket's, unless it is an answer.
    pub(crate) stream: Option<Stream>,
    /// Other WebSockets and streams by their URLs, without their queries; of this one's other connections, with a word
    /// on that.
    pub(crate) others: Vec<String>,
    /// True if the file had more requests or messages than are read.
    pub(crate) is_cut: bool,
    /// Headers that no request can have.
    pub(crate) unsendable: usize,
    /// True if two users came through one address: what one heard is not told from what the other did.
    pub(crate) has_two_users: bool,
}

/// The WebSocket.
pub(crate) struct Socket {
    pub(crate) at_s: f64,
    pub(crate) url: Url,
    pub(crate) headers: Vec<Pair>,
    pub(crate) status: i64,
    pub(crate) frames: Vec<Text>,
    /// Binary messages, which are left out.
    pub(crate) binary: usize,
}

/// A text message.
pub(crate) struct Text {
    pub(crate) at_s: f64,
    pub(crate) is_sent: bool,
    pub(crate) text: Box<str>,
}

impl Recording {
    /// Reads a HAR; `name` is the file's, for comments.
    ///
    /// # Errors
    /// It is no HAR, or has neither a WebSocket with messages nor a stream with events.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Recording, BadHar> {
        // Some proxies write the mark of UTF-8 first.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let file: File = serde_json::from_slice(text).map_err(|error| BadHar::of(text, &error))?;
        // Freed before anything else is made of what was read: a file may be as large as half the memory.
        drop(bytes);
        let Entries { kept, is_cut } = file.log.entries;
        let recording = Recording::of(name, kept)?;
        Ok(Recording { is_cut: is_cut || recording.is_cut, ..recording })
    }

    /// Sorts what was recorded; `name` is that of the file, for comments.
    ///
    /// # Errors
    /// There is neither a WebSocket with messages nor a stream with events.
    pub fn of(name: &str, mut entries: Vec<Entry>) -> Result<Recording, BadHar> {
        let mut unsendable = 0;
        for entry in &mut entries {
            unsendable += entry.remove_unsendable();
        }
        let (sockets, requests): (Vec<_>, Vec<_>) =
            (1..).zip(entries).partition(|(_, entry)| entry.is_socket());
        let (streamed, requests): (Vec<_>, Vec<_>) =
            requests.into_iter().partition(|(_, entry)| entry.is_streamed());
        let has_streams = !streamed.is_empty();
        let mut room = FRAMES_MAX;
        let streams = streamed.into_iter().filter_map(|(number, entry)| Stream::of(number, entry, &mut room));
        let mut streams: Vec<Stream> = streams.filter(|stream| !stream.events.is_empty()).collect();
        streams.retain(|stream| !is_of_development([stream.asked.url.path()].into_iter()));
        // One that was answered in pieces may be a part of a login, as the first of MCP is.
        let asked = streams.iter().map(|stream| &stream.asked).filter(|asked| asked.method != "GET").cloned();
        let exchanges = requests.into_iter().filter_map(|(number, entry)| Exchange::of(number, entry));
        let mut exchanges: Vec<Exchange> = exchanges.chain(asked).collect();
        exchanges.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        let mut sockets: Vec<Socket> = sockets.into_iter().filter_map(|(_, entry)| socket(entry)).collect();
        let (seen, binary) = (sockets.len(), sockets.iter().map(|socket| socket.binary).sum());
        sockets.sort_by_key(|socket| (socket.is_of_development(), usize::MAX - socket.frames.len()));
        sockets.retain(|socket| !socket.frames.is_empty());
        let is_app = |socket: &Socket| streams.is_empty() || !socket.is_of_development();
        let (socket, stream) = if sockets.first().is_some_and(is_app) {
            (sockets.remove(0), None)
        } else if let Some(mut stream) = stream::take(&mut streams, &exchanges) {
            exchanges.retain(|exchange| exchange.number != stream.asked.number);
            (opened(&mut stream), Some(stream))
        } else {
            return Err(match (seen, binary) {
                (0, _) if has_streams => BadHar::NoEvents,
                (0, _) => BadHar::NoSocket,
                (_, 0) => BadHar::NoMessages,
                (_, binary) => BadHar::OnlyBinary(binary),
            });
        };
        let others = others(&socket, &sockets, &streams);
        let mut together = sockets.iter().filter(|other| socket.is_beside(other));
        let is_of_two = has_two_logins(&exchanges);
        let has_two_users = together.any(|other| is_of_two || socket.is_unlike(other));
        // Events behind these are not read.
        let (name, is_cut) = (name.to_owned(), room == 0);
        Ok(Recording { name, exchanges, socket, stream, others, is_cut, unsendable, has_two_users })
    }
}

/// The request for a stream in place of a WebSocket's, with the events of a subscription.
fn opened(stream: &mut Stream) -> Socket {
    let asked = &stream.asked;
    let events = if stream.is_answer { Vec::new() } else { std::mem::take(&mut stream.events) };
    let frames = events.into_iter().map(|event| Text {
        at_s: if stream.is_timed { event.time } else { asked.at_s },
        is_sent: false,
        text: event.data,
    });
    Socket {
        at_s: asked.at_s,
        url: asked.url.clone(),
        headers: asked.headers.clone(),
        status: asked.status.into(),
        frames: frames.collect(),
        binary: 0,
    }
}

/// The WebSockets and streams that are left out.
fn others(socket: &Socket, sockets: &[Socket], streams: &[Stream]) -> Vec<String> {
    let url = shown(&socket.url);
    // A page that is loaded again connects again.
    let named = |what: &str, other: &Url| match shown(other) {
        again if again == url => format!("{what} {url}, connected another time"),
        other => format!("{what} {other}"),
    };
    let sockets = sockets.iter().map(|other| named("the WebSocket", &other.url));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for stream in streams {
        let what = if stream.is_answer { "streamed answers of" } else { "the event stream" };
        *counts.entry(named(what, &stream.asked.url)).or_default() += 1;
    }
    let streams = counts.into_iter().map(|(name, count)| match count {
        1 => name,
        count => format!("{name} ({count})"),
    });
    sockets.chain(streams).collect()
}

/// Returns whether two names logged in: a form may ask for several, each under a key of its own.
fn has_two_logins(exchanges: &[Exchange]) -> bool {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let logins = exchanges.iter().filter(|exchange| exchange.status < 400 && exchange.has_password());
    for (key, value) in logins.flat_map(Exchange::fields) {
        let is_name = is_of_person(&key) && !is_typed_secret(&key);
        if is_name && *names.entry(key).or_insert_with(|| value.clone()) != value {
            return true;
        }
    }
    false
}

/// Returns whether one of these words is of a development server.
fn is_of_development<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|words| DEVELOPMENT.iter().any(|word| words.contains(word)))
}

/// Returns whether a URL has Pusher's key of an app, which is public: `/app/KEY?protocol=7`.
pub(crate) fn has_app_key(url: &Url) -> bool {
    url.path().starts_with("/app/") && url.query_pairs().any(|(name, _)| name == "protocol")
}

/// A URL without what may be a secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    if !has_app_key(&url) {
        let parts = url.path().split('/').map(|part| if is_opaque(&decoded(part)) { "*" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        url.set_path(&path);
    }
    url.set_query(None);
    // A URL that cannot have them has none.
    let _ = (url.set_username(""), url.set_password(None));
    url.into()
}

impl Entry {
    /// Returns whether it is a WebSocket. Firefox writes its URL with `http`.
    pub(crate) fn is_socket(&self) -> bool {
        self.messages.is_some()
            || self.request.url.starts_with("ws:")
            || self.request.url.starts_with("wss:")
            || self.response.status == 101
    }

    /// Returns whether the answer gives the browser a cookie.
    pub(crate) fn sets_cookie(&self) -> bool {
        self.response.headers.iter().any(|header| header.name.eq_ignore_ascii_case("set-cookie"))
    }

    /// Removes headers that no request can have, and returns their number: browsers refuse them, and a run would.
    fn remove_unsendable(&mut self) -> usize {
        let headers = &mut self.request.headers;
        let count = headers.len();
        let is_control = |byte: u8| byte != b'\t' && byte.is_ascii_control();
        headers.retain(|header| !header.value.bytes().any(is_control));
        count - headers.len()
    }

    /// Returns whether the answer comes event by event. Refusals may have its type as well.
    fn is_streamed(&self) -> bool {
        let has_events = self.events.as_ref().is_some_and(|events| !events.is_empty());
        let is_good = (200..300).contains(&self.response.status);
        has_events || is_good && is_streamed(&self.response.content.mime_type)
    }
}

impl Socket {
    fn is_of_development(&self) -> bool {
        let offered = self.headers.iter().filter(|header| is_called(header, "sec-websocket-protocol"));
        is_of_development(offered.map(|header| header.value.as_str()).chain([self.url.path()]))
    }

    /// Returns whether another has the same place of the server, and messages at the same time: a page that is
    /// loaded again has closed the one before.
    fn is_beside(&self, other: &Socket) -> bool {
        let times = |socket: &Socket| Some((socket.frames.first()?.at_s, socket.frames.last()?.at_s));
        let (Some((begin, end)), Some((from, to))) = (times(self), times(other)) else { return false };
        self.url.path() == other.url.path() && begin <= to && from <= end
    }

    /// Returns whether another was let in by other means.
    fn is_unlike(&self, other: &Socket) -> bool {
        ["cookie", "authorization"].iter().any(|name| self.header(name) != other.header(name))
    }

    /// The user and the password in its URL.
    pub(crate) fn login(&self) -> Option<(String, String)> {
        let password = self.url.password().filter(|password| !password.is_empty())?;
        Some((decoded(self.url.username()), decoded(password)))
    }

    /// A header of the opening request.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The subprotocols that were offered.
    pub(crate) fn offered(&self) -> Vec<String> {
        let names = self.header("sec-websocket-protocol").unwrap_or_default().split(',');
        names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// A part of a URL in front of its query, unescaped.
pub(crate) fn decoded(text: &str) -> String {
    // As the name of a field of a form, in which these three mean something.
    let name = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let field = url::form_urlencoded::parse(name.as_bytes()).next();
    field.map(|(name, _)| name.into_owned()).unwrap_or_default()
}

fn socket(entry: Entry) -> Option<Socket> {
    let url = Url::parse(&entry.request.url).ok().filter(|url| url.has_host())?;
    let mut frames = Vec::new();
    let mut binary = 0;
    for Frame { direction, time, opcode, data } in entry.messages.unwrap_or_default() {
        match (direction, opcode) {
            (Direction::Other, _) => {}
            (_, TEXT) => {
                frames.push(Text { at_s: time, is_sent: direction == Direction::Send, text: data });
            }
            (_, BINARY) => binary += 1,
            // Pings and closes are the WebSocket's own.
            _ => {}
        }
    }
    frames.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let at_s = seconds(&entry.started_date_time);
    Some(Socket { at_s, url, headers: entry.request.headers, status: entry.response.status, frames, binary })
}
