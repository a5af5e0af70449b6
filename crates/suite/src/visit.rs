//! One client of wire over plain blocking code: for probes and checks, where nothing has to be fast.

mod line;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use app::Kind;
use codec::{Limits, Stamp, StreamId};
use url::Url;
use wire::{
    Carrier, Client, Config, DialectId, DialectOptions, Event, HttpOptions, Io, Options, Payload, Settings,
};

pub(crate) use line::address;
use line::{Line, connect};

/// How long one answer may take of a server that is checked.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How often sockets are looked at that have nothing to say.
const POLL: Duration = Duration::from_micros(500);
/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// A client's destination and manner of speaking.
pub(crate) struct Route<'a> {
    /// `ws://…` or `http://…`, the host an address.
    pub(crate) url: &'a str,
    /// The unix socket to use instead of the URL's address.
    pub(crate) socket: Option<&'a Path>,
    pub(crate) dialect: DialectId,
    pub(crate) options: &'a DialectOptions,
    pub(crate) payload: Payload,
}

/// A client on a visit.
pub(crate) struct Visitor {
    config: Config,
    client: Client,
    lines: Lines,
    start: Instant,
    /// Events not taken yet.
    pub(crate) events: Vec<Event>,
}

/// The byte streams of a client, and what it has written to each.
#[derive(Default)]
struct Lines {
    open: Vec<Option<Box<dyn Line>>>,
    unsent: Vec<Vec<u8>>,
    wanted: Vec<StreamId>,
    closing: Vec<StreamId>,
    /// The client's number.
    client: u32,
}

impl codec::Io for Lines {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        let index = usize::from(stream);
        if self.unsent.len() <= index {
            self.unsent.resize_with(index + 1, Vec::new);
        }
        &mut self.unsent[index]
    }

    fn random_u64(&mut self) -> u64 {
        fastrand::u64(..)
    }

    fn open_stream(&mut self, stream: StreamId) {
        self.wanted.push(stream);
    }

    fn close_stream(&mut self, stream: StreamId) {
        self.closing.push(stream);
    }
}

impl Io for Lines {
    fn client(&self) -> u32 {
        self.client
    }
}

impl Visitor {
    /// Connects, and waits until messages may be sent.
    pub(crate) fn arrive(route: &Route<'_>, number: u32, within: Duration) -> Result<Visitor, String> {
        let url = Url::parse(route.url).map_err(|error| format!("{}: {error}", route.url))?;
        let mut visitor = Visitor {
            config: config(&url, route)?,
            client: Client::new(),
            // The first stream is there from the beginning, and nobody asks for it.
            lines: Lines { wanted: vec![0], client: number, ..Lines::default() },
            start: Instant::now(),
            events: Vec::new(),
        };
        let connect = || connect(&url, route.socket).map_err(|error| error.to_string());
        let deadline = visitor.start + within;
        while !visitor.client.is_usable() {
            visitor.turn(&connect)?;
            if Instant::now() > deadline {
                return Err(format!("not ready after {within:?}"));
            }
        }
        Ok(visitor)
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, kind: Kind, seq: u32) {
        let now_ns = self.now_ns();
        let stamp = Stamp::new(0, 0, seq, now_ns, now_ns);
        self.client.send(&self.config, now_ns, net::clock::realtime_ns(), kind, stamp, &mut self.lines);
    }

    /// Looks at every stream once, and at the clock.
    pub(crate) fn look(&mut self, route: &Route<'_>) -> Result<(), String> {
        let url = Url::parse(route.url).map_err(|error| error.to_string())?;
        self.turn(&|| connect(&url, route.socket).map_err(|error| error.to_string()))
    }

    /// Returns whether the server acknowledges broadcasts with a result of its own.
    pub(crate) fn has_ack(&self) -> bool {
        self.config.acks().has_all()
    }

    fn turn(&mut self, connect: &dyn Fn() -> Result<Box<dyn Line>, String>) -> Result<(), String> {
        for stream in std::mem::take(&mut self.lines.wanted) {
            let line = connect()?;
            let index = usize::from(stream);
            if self.lines.open.len() <= index {
                self.lines.open.resize_with(index + 1, || None);
            }
            self.lines.open[index] = Some(line);
            let now_ns = self.now_ns();
            // Connecting blocks, so that a stream is open as soon as it is there.
            self.client.handle_open(&self.config, now_ns, stream, &mut self.lines);
        }
        self.flush()?;
        // The order is a worker's: what is queued goes out before more is read, so that neither side waits
        // for the other.
        let is_quiet = !self.read()?;
        let now_ns = self.now_ns();
        if self.client.poll_timeout().is_some_and(|due_ns| due_ns <= now_ns) {
            let Visitor { client, config, lines, events, .. } = self;
            let handled = client.handle_timeout(config, now_ns, lines, &mut |event| events.push(event));
            handled.map_err(|failure| failure.to_string())?;
        }
        self.flush()?;
        if is_quiet {
            // One visitor at a time needs no poller; a short pause keeps it from taking a CPU of the server
            // it visits.
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Reads what has come in; whether anything has.
    fn read(&mut self) -> Result<bool, String> {
        let mut has_read = false;
        let mut buffer = vec![0; READ_BYTES];
        for index in 0..self.lines.open.len() {
            let Some(line) = &mut self.lines.open[index] else { continue };
            let stream = index as StreamId;
            let now_ns = self.start.elapsed().as_nanos() as u64;
            let got = line.read(&mut buffer);
            let Visitor { client, config, lines, events, .. } = self;
            let on = &mut |event: Event| events.extend(event.each());
            let handled = match got {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.to_string()),
                Ok(0) => {
                    // Gone before the client is told: it may ask for the same stream again.
                    lines.open[index] = None;
                    client.handle_eof(config, now_ns, stream, lines, on)
                }
                Ok(bytes) => client.handle_input(config, now_ns, stream, &buffer[..bytes], lines, on),
            };
            handled.map_err(|failure| failure.to_string())?;
            has_read = true;
        }
        Ok(has_read)
    }

    fn flush(&mut self) -> Result<(), String> {
        for (line, unsent) in self.lines.open.iter_mut().zip(&mut self.lines.unsent) {
            let Some(line) = line else { continue };
            while !unsent.is_empty() {
                match line.write(unsent) {
                    Ok(bytes) => drop(unsent.drain(..bytes)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error.to_string()),
                }
            }
        }
        for stream in std::mem::take(&mut self.lines.closing) {
            if let Some(line) = self.lines.open.get_mut(usize::from(stream)) {
                // Closing comes after the writes, as a goodbye may still be among them.
                *line = None;
            }
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// Checks that `GET` at this URL, or at this unix socket, is answered with 200.
pub(crate) fn get(url: &str, socket: Option<&Path>, within: Duration) -> Result<(), String> {
    let http = HttpOptions { expect_status: vec![(200, 200)], ..HttpOptions::default() };
    ask(url, socket, http, within).map(drop)
}

/// Makes a request at this URL, or at this unix socket, and returns what is told of its answer.
pub(crate) fn ask(
    url: &str,
    socket: Option<&Path>,
    http: HttpOptions,
    within: Duration,
) -> Result<Vec<Event>, String> {
    let method = http.method.clone();
    let options = DialectOptions::from(Settings::from(http));
    let route =
        Route { url, socket, dialect: DialectId::Http, options: &options, payload: Payload::default() };
    let mut visitor = Visitor::arrive(&route, 0, within)?;
    visitor.send(Kind::Echo, 1);
    let deadline = Instant::now() + within;
    while !visitor.events.iter().any(|event| matches!(event, Event::Message { .. })) {
        visitor.look(&route)?;
        for event in &visitor.events {
            match event {
                Event::WrongResponse(wrong) => return Err(wrong.to_string()),
                Event::Broken(failure) => return Err(failure.to_string()),
                _ => {}
            }
        }
        if Instant::now() > deadline {
            return Err(format!("no answer to {method} within {within:?}"));
        }
    }
    Ok(visitor.events)
}

/// Checks that a client becomes usable.
pub(crate) fn handshake(
    url: &str,
    dialect: DialectId,
    options: &DialectOptions,
    within: Duration,
) -> Result<(), String> {
    let route = Route { url, socket: None, dialect, options, payload: Payload::default() };
    Visitor::arrive(&route, 0, within).map(drop)
}

fn config(url: &Url, route: &Route<'_>) -> Result<Config, String> {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let options = Options {
        dialect: route.dialect,
        carrier: Carrier::Http1,
        is_secure: matches!(url.scheme(), "https" | "wss"),
        // As browsers send it: without the scheme's own port.
        host: url.port().map_or(host.to_owned(), |port| format!("{host}:{port}")),
        path: format!("{}{query}", url.path()).into(),
        headers: Vec::new(),
        subprotocols: Vec::new(),
        origin: None,
        basic_auth: None,
        deflate: None,
        limits: Limits::default(),
        payload: route.payload,
        of_dialect: route.options.clone(),
        people: Arc::default(),
    };
    Config::new(options).map_err(|bad| format!("{bad:?}"))
}
