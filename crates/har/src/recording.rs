//! One session of a browser: its requests in their order, and the WebSocket that is looked at.

use jiff::Timestamp;
use url::Url;

use crate::bad_har::BadHar;
use crate::credentials::{is_opaque, is_typed_secret};
use crate::file::{Direction, Entries, Entry, File, Frame, Pair, Request};
use crate::json;

/// Words of paths and subprotocols of development servers, whose messages are about the page's source.
const DEVELOPMENT: [&str; 5] = ["vite-hmr", "webpack-hmr", "sockjs-node", "livereload", "/@vite"];
const TEXT: i64 = 1;
const BINARY: i64 = 2;

/// One browser's recording.
pub struct Recording {
    /// The file's name, for comments.
    pub(crate) name: String,
    /// Requests before and beside the WebSocket, by time.
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) socket: Socket,
    /// URLs of other WebSockets, without their queries; of this one's other connections, with a word on that.
    pub(crate) others: Vec<String>,
    /// True if the file had more requests or messages than are read.
    pub(crate) is_cut: bool,
    /// Headers that no request can have.
    pub(crate) unsendable: usize,
}

/// A request and its answer.
pub(crate) struct Exchange {
    /// Its number in the file, from 1.
    pub(crate) number: usize,
    pub(crate) at_s: f64,
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: Vec<Pair>,
    /// The body, and its type.
    pub(crate) body: String,
    pub(crate) body_kind: String,
    pub(crate) status: u16,
    pub(crate) answer_headers: Vec<Pair>,
    pub(crate) answer: Option<String>,
}

impl Exchange {
    /// Returns whether the body is a form.
    pub(crate) fn is_form(&self) -> bool {
        self.body_kind.starts_with("application/x-www-form-urlencoded")
    }

    /// The fields of a form; nothing if the body is something else.
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        match self.is_form() {
            true => url::form_urlencoded::parse(self.body.as_bytes()).into_owned().collect(),
            false => Vec::new(),
        }
    }

    /// Returns whether the body is JSON, by its type and by itself.
    pub(crate) fn is_json(&self) -> bool {
        let kind = header(&self.headers, "content-type").unwrap_or(&self.body_kind);
        kind.contains("json") && json::leaves(&self.body).is_some()
    }

    /// The fields of a form or of a JSON body.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        let leaves = json::leaves(&self.body).unwrap_or_default();
        let of_json = leaves.into_iter().map(|leaf| (leaf.key, leaf.value));
        self.form().into_iter().map(|(key, value)| (last_part(&key), value)).chain(of_json).collect()
    }

    /// Returns whether a password, or its like, was sent.
    pub(crate) fn has_password(&self) -> bool {
        self.fields().iter().any(|(key, _)| is_typed_secret(key))
    }

    /// The cookies that the answer set, each as `NAME=VALUE`. Chrome writes several in one header, a line each.
    pub(crate) fn set_cookies(&self) -> impl Iterator<Item = &str> {
        let headers = self.answer_headers.iter().filter(|header| is_called(header, "set-cookie"));
        headers
            .flat_map(|header| header.value.lines())
            .filter_map(|line| line.split(';').next())
            .map(str::trim)
    }
}

/// The name of a field, without what is around it: `user[password]` is `password`.
fn last_part(key: &str) -> String {
    let inside = key.strip_suffix(']').and_then(|key| key.rsplit('[').next());
    inside.unwrap_or(key).to_owned()
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
    /// It is no HAR, or has no WebSocket with messages.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Recording, BadHar> {
        // Some proxies write the mark of UTF-8 first.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let file: File = serde_json::from_slice(text).map_err(|error| BadHar::of(text, &error))?;
        // Freed before anything else is made of what was read: a file may be as large as half the memory.
        drop(bytes);
        let Entries { kept, is_cut } = file.log.entries;
        Ok(Recording { is_cut, ..Recording::of(name, kept)? })
    }

    /// Sorts what was recorded; `name` is that of the file, for comments.
    ///
    /// # Errors
    /// There is no WebSocket with messages.
    pub fn of(name: &str, mut entries: Vec<Entry>) -> Result<Recording, BadHar> {
        let mut unsendable = 0;
        for entry in &mut entries {
            unsendable += entry.remove_unsendable();
        }
        let has_streams = entries.iter().any(Entry::is_event_stream);
        let (sockets, requests): (Vec<_>, Vec<_>) =
            (1..).zip(entries).partition(|(_, entry)| entry.is_socket());
        let exchanges = requests.into_iter().filter_map(|(number, entry)| exchange(number, entry));
        let mut exchanges: Vec<Exchange> = exchanges.collect();
        exchanges.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        let mut sockets: Vec<Socket> = sockets.into_iter().filter_map(|(_, entry)| socket(entry)).collect();
        let (seen, binary) = (sockets.len(), sockets.iter().map(|socket| socket.binary).sum());
        sockets.sort_by_key(|socket| (socket.is_of_development(), usize::MAX - socket.frames.len()));
        let mut sockets = sockets.into_iter();
        let socket = sockets.next().filter(|socket| !socket.frames.is_empty());
        let Some(socket) = socket else {
            return Err(match (seen, binary) {
                (0, _) if has_streams => BadHar::OnlyStreams,
                (0, _) => BadHar::NoSocket,
                (_, 0) => BadHar::NoMessages,
                (_, binary) => BadHar::OnlyBinary(binary),
            });
        };
        let url = shown(&socket.url);
        // A page that is loaded again connects again.
        let named = |other: Socket| match shown(&other.url) {
            again if again == url => format!("{url}, connected another time"),
            other => other,
        };
        let others = sockets.filter(|other| !other.frames.is_empty()).map(named).collect();
        Ok(Recording { name: name.to_owned(), exchanges, socket, others, is_cut: false, unsendable })
    }
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

    /// Returns whether the answer is a stream of events.
    fn is_event_stream(&self) -> bool {
        self.response.content.mime_type.starts_with("text/event-stream")
    }
}

impl Socket {
    fn is_of_development(&self) -> bool {
        let offered = self.headers.iter().filter(|header| is_called(header, "sec-websocket-protocol"));
        let mut words = offered.map(|header| header.value.as_str()).chain([self.url.path()]);
        words.any(|words| DEVELOPMENT.iter().any(|word| words.contains(word)))
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

/// Returns whether a header has this name, which is lower-case.
pub(crate) fn is_called(header: &Pair, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

/// The value of the first header of this name.
pub(crate) fn header<'a>(headers: &'a [Pair], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| is_called(header, name)).map(|header| header.value.as_str())
}

fn exchange(number: usize, entry: Entry) -> Option<Exchange> {
    let Entry { started_date_time, request, response, .. } = entry;
    let Request { method, url, headers, post_data } = request;
    let (body, body_kind) = post_data.map(|data| (data.text, data.mime_type)).unwrap_or_default();
    Some(Exchange {
        number,
        at_s: seconds(&started_date_time),
        method,
        url: Url::parse(&url).ok().filter(|url| url.has_host())?,
        headers,
        body,
        body_kind,
        status: u16::try_from(response.status).unwrap_or_default(),
        answer_headers: response.headers,
        answer: response.content.text,
    })
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

/// Seconds since 1970; 0 for a time that is none.
fn seconds(time: &str) -> f64 {
    time.parse::<Timestamp>().map_or(0.0, |time| time.as_nanosecond() as f64 / 1e9)
}
