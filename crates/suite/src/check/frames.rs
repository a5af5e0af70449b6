//! WebSocket itself, frame by frame (RFC 6455): what comes back is what was sent, a ping has its pong, a
//! close its close.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use codec::http::head::{Expect, HeadReader};
use codec::http::response::Response;
use codec::ws::frame::{self, Accepts, Opcode};
use codec::ws::mask::Key;
use codec::ws::reader::{Item, Reader};
use codec::ws::{End, close, upgrade};
use codec::{Limits, StreamId};
use url::Url;

use crate::visit::{self, ANSWER_MAX};

/// The code of a normal close (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;
/// Letters of one to four bytes, beside characters that look like JSON and markup.
const UTF8: &str = "throng: \u{e9}\u{df} \u{20ac} \u{1f514} \"'\\</\u{2028}";

/// How often one who waits looks at the clock, and whether the user has had enough.
const TICK: Duration = Duration::from_millis(100);

/// Checks a server that sends back whatever comes. It has so long for each answer, whatever else it says meanwhile.
pub(super) fn check(url: &str, is_interrupted: &dyn Fn() -> bool) -> Result<(), String> {
    let mut socket = Socket::open(url, is_interrupted).map_err(|why| format!("handshake: {why}"))?;
    // A prime period, so that pieces that change places or are repeated are seen.
    let large: Vec<u8> = (0..64 << 10).map(|k: u32| (k % 251) as u8).collect();
    let messages: [(&str, Opcode, &[u8]); 5] = [
        ("text", Opcode::Text, b"hello"),
        ("binary", Opcode::Binary, &[0, 255, 128, 7]),
        ("UTF-8", Opcode::Text, UTF8.as_bytes()),
        ("an empty message", Opcode::Text, b""),
        ("64 KiB", Opcode::Binary, &large),
    ];
    for (name, opcode, payload) in messages {
        socket.echo(opcode, payload).map_err(|why| format!("{name}: {why}"))?;
    }
    socket.ping().map_err(|why| format!("ping: {why}"))?;
    socket.close().map_err(|why| format!("close: {why}"))
}

/// A WebSocket without a session on it.
struct Socket<'a> {
    stream: TcpStream,
    reader: Reader,
    /// Bytes that came in and were not looked at yet.
    input: Vec<u8>,
    /// Until when the answer has to be there that is waited for.
    deadline: Instant,
    is_interrupted: &'a dyn Fn() -> bool,
}

/// Frames received.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    opcode: Opcode,
    payload: Vec<u8>,
}

impl<'a> Socket<'a> {
    fn open(url: &str, is_interrupted: &'a dyn Fn() -> bool) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let mut socket = Socket::connect(&url, is_interrupted).map_err(|error| error.to_string())?;
        let key = upgrade::new_key(&mut Random);
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let request = format!(
            "GET {}{query} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
            url.path(),
            String::from_utf8_lossy(&key)
        );
        socket.write(request.as_bytes())?;
        let mut head = HeadReader::default();
        loop {
            socket.read_more()?;
            let bytes = std::mem::take(&mut socket.input);
            let mut rest = bytes.as_slice();
            let found = head.read(Expect::Response, &Limits::default(), &mut rest);
            if let Some((head, lines)) = found.map_err(|failure| failure.to_string())? {
                let response = Response::parse(head, lines).map_err(|failure| failure.to_string())?;
                upgrade::verify(&response, &key, &[], None).map_err(|failure| failure.to_string())?;
                socket.input = rest.to_vec();
                return Ok(socket);
            }
        }
    }

    fn connect(url: &Url, is_interrupted: &'a dyn Fn() -> bool) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&visit::address(url)?, Duration::from_secs(2))?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        let deadline = Instant::now() + ANSWER_MAX;
        Ok(Socket { stream, reader: Reader::default(), input: Vec::new(), deadline, is_interrupted })
    }

    fn echo(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), String> {
        let back = self.ask(opcode, payload)?;
        if back.opcode != opcode {
            return Err(format!("came back as {:?}", back.opcode));
        }
        if back.payload != payload {
            return Err(format!("{} bytes came back changed, as {}", payload.len(), back.payload.len()));
        }
        Ok(())
    }

    fn ping(&mut self) -> Result<(), String> {
        let payload = b"are you there";
        match self.ask(Opcode::Ping, payload)? {
            Frame { opcode: Opcode::Pong, payload: back } if back == payload => Ok(()),
            Frame { opcode: Opcode::Pong, .. } => {
                Err("the pong does not carry the ping's payload".to_owned())
            }
            other => Err(format!("answered with {:?}", other.opcode)),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match self.ask(Opcode::Close, &NORMAL.to_be_bytes())? {
            Frame { opcode: Opcode::Close, payload } => match close::parse(&payload) {
                // A server may answer a close with its own code or with none (RFC 6455 §5.5.1).
                Ok(NORMAL | close::NO_CODE) => Ok(()),
                Ok(code) => Err(format!("answered with code {code}")),
                Err(reason) => Err(format!("{reason:?}")),
            },
            other => Err(format!("answered with {:?}", other.opcode)),
        }
    }

    /// Sends something, and waits for the answer.
    fn ask(&mut self, opcode: Opcode, payload: &[u8]) -> Result<Frame, String> {
        self.deadline = Instant::now() + ANSWER_MAX;
        self.send(opcode, payload)?;
        self.receive()
    }

    fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), String> {
        let mut out = Vec::new();
        let start = frame::open(&mut out, End::Client);
        out.extend_from_slice(payload);
        // Masked, as all that a client sends (RFC 6455 §5.3).
        frame::seal(&mut out, start, opcode, false, Some(Key::new(fastrand::u32(..).to_ne_bytes())));
        self.write(&out)
    }

    /// The next message or control frame; a server's own pings are answered and left out.
    fn receive(&mut self) -> Result<Frame, String> {
        loop {
            if let Some(frame) = self.take()? {
                if frame.opcode != Opcode::Ping {
                    return Ok(frame);
                }
                self.send(Opcode::Pong, &frame.payload)?;
            } else {
                self.read_more()?;
            }
        }
    }

    fn take(&mut self) -> Result<Option<Frame>, String> {
        let bytes = std::mem::take(&mut self.input);
        let mut rest = bytes.as_slice();
        let accepts = Accepts { end: End::Client, deflate: false };
        let item = self.reader.next(&Limits::default(), accepts, &mut rest);
        let frame = item.map_err(|failure| failure.to_string())?.map(|item| match item {
            Item::Message { message_type, payload, .. } => {
                Frame { opcode: message_type.into(), payload: payload.bytes.to_vec() }
            }
            Item::Control(opcode, payload) => Frame { opcode, payload: payload.bytes.to_vec() },
        });
        self.input = rest.to_vec();
        Ok(frame)
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            self.check_time()?;
            match self.stream.write(bytes) {
                // A server that does not read takes a part, or nothing within a tick.
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    fn read_more(&mut self) -> Result<(), String> {
        let mut buffer = [0; 16 << 10];
        loop {
            self.check_time()?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(bytes) => {
                    self.input.extend_from_slice(&buffer[..bytes]);
                    return Ok(());
                }
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Checks that there is time left: a server that says something else all the time, such as pings,
    /// gets no more of it.
    fn check_time(&self) -> Result<(), String> {
        if (self.is_interrupted)() {
            return Err("interrupted".to_owned());
        }
        match Instant::now() <= self.deadline {
            true => Ok(()),
            false => Err(format!("no answer within {ANSWER_MAX:?}")),
        }
    }
}

/// Returns whether it is only that nothing could be done within a [`TICK`], or that a signal came.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Randomness for the handshake's key; nothing is written through it.
struct Random;

impl codec::Io for Random {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        unreachable!("a key is only drawn")
    }

    fn random_u64(&mut self) -> u64 {
        fastrand::u64(..)
    }

    fn open_stream(&mut self, _: StreamId) {}

    fn close_stream(&mut self, _: StreamId) {}
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    /// A server that shakes hands, pings ten times a second, and does nothing else.
    fn pinging() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            let request = String::from_utf8(request).unwrap();
            let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
            let accept = upgrade::accept_of(key.as_bytes());
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {}\r\n\r\n",
                String::from_utf8_lossy(&accept)
            );
            stream.write_all(answer.as_bytes()).unwrap();
            while stream.write_all(&[0x89, 0]).is_ok() {
                thread::sleep(TICK);
            }
        });
        url
    }

    #[test]
    fn a_server_that_only_pings_has_not_answered() {
        let start = Instant::now();
        assert_eq!(check(&pinging(), &|| false), Err("text: no answer within 5s".to_owned()));
        assert!(start.elapsed() < ANSWER_MAX + Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[test]
    fn interruptions_do_not_wait_for_answers() {
        let looks = AtomicU32::new(0);
        let is_interrupted = || looks.fetch_add(1, Ordering::Relaxed) > 9;
        assert_eq!(check(&pinging(), &is_interrupted), Err("text: interrupted".to_owned()));
    }
}
