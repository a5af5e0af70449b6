//! Plain HTTP/1.1 over blocking sockets, one request a connection: what reads a target's metrics, pushes
//! figures to a collector and serves a page of them. Connections that are measured are the engine's, and
//! never come here.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use httparse::Status;

const READ_BYTES: usize = 64 << 10;
const ANSWER_BYTES_MAX: usize = 4 << 20;
const HEAD_BYTES_MAX: usize = 8 << 10;
const FIELDS_MAX: usize = 64;

/// The destination of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name or address; an IPv6 address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub path: String,
}

/// Timeouts of waiting for the other side.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Timeout of connecting, and of each read and write.
    pub word: Duration,
    /// Timeout of its whole answer, however slowly that comes.
    pub answer: Duration,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a str,
    /// Fields of the head beside those that every request has.
    pub fields: &'a [(&'a str, &'a str)],
    /// The body; empty without one.
    pub body: &'a [u8],
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Source {
    /// Gets the answer.
    ///
    /// # Errors
    /// Why it cannot be reached, or why what it says is not an answer, in words for the user.
    pub fn get(&self, timeouts: Timeouts) -> Result<Answer, String> {
        self.send(Request { method: "GET", fields: &[], body: b"" }, timeouts)
    }

    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// As [`Source::get`].
    pub fn send(&self, request: Request<'_>, timeouts: Timeouts) -> Result<Answer, String> {
        let Request { method, fields, body } = request;
        let failed = |error: io::Error| error.to_string();
        let Self { host, port, path } = self;
        let addresses = (host.as_str(), *port).to_socket_addrs().map_err(failed)?;
        let mut stream = connect(addresses, timeouts.word)?;
        be_patient(&stream, timeouts.word).map_err(failed)?;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n");
        let length = body.len().to_string();
        let length = (!body.is_empty()).then_some(("Content-Length", length.as_str()));
        for (name, value) in fields.iter().copied().chain(length) {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        stream.write_all(&[head.as_bytes(), body].concat()).map_err(failed)?;
        answer(&read(&mut stream, timeouts.answer).map_err(failed)?)
    }
}

/// Connects to the first of a name's addresses at which a server listens.
fn connect(addresses: impl Iterator<Item = SocketAddr>, timeout: Duration) -> Result<TcpStream, String> {
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Answers the one request of a connection: with the body that `page` has for its path and query, or else
/// that there is none.
///
/// # Errors
/// The client went away, or did not send its request in time.
pub fn serve(
    mut stream: TcpStream,
    timeout: Duration,
    kind: &str,
    page: impl FnOnce(&str) -> Result<String, String>,
) -> io::Result<()> {
    be_patient(&stream, timeout)?;
    let (start, mut head) = (Instant::now(), Vec::new());
    let mut chunk = [0; 1024];
    let path = loop {
        let received = stream.read(&mut chunk)?;
        head.extend_from_slice(&chunk[..received]);
        if received == 0 || head.len() > HEAD_BYTES_MAX {
            return Ok(());
        }
        // The socket's own timeout is for each read, and nothing else is done meanwhile.
        if start.elapsed() > timeout {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(&head) {
            Ok(Status::Partial) => {}
            Ok(Status::Complete(_)) => break request.path.unwrap_or_default().to_owned(),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    };
    let (status, body) = match page(&path) {
        Ok(body) => ("200 OK", body),
        Err(why) => ("404 Not Found", why),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn be_patient(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))
}

/// Reads a whole answer, or what comes until the connection ends. One that is too long is an error.
fn read(stream: &mut impl Read, timeout: Duration) -> io::Result<Vec<u8>> {
    let (start, mut answer) = (Instant::now(), Vec::new());
    let mut buffer = vec![0; READ_BYTES];
    while !is_whole(&answer) {
        if answer.len() > ANSWER_BYTES_MAX {
            let problem = format!("the answer is longer than {} MiB", ANSWER_BYTES_MAX >> 20);
            return Err(io::Error::other(problem));
        }
        match stream.read(&mut buffer)? {
            0 => break,
            // The socket's own timeout is for each read: a server that drips a byte at a time would never
            // meet it.
            _ if start.elapsed() > timeout => return Err(io::ErrorKind::TimedOut.into()),
            bytes => answer.extend_from_slice(&buffer[..bytes]),
        }
    }
    Ok(answer)
}

/// Returns whether an answer is whole by its own framing: not every server closes a connection when it is
/// asked to.
fn is_whole(answer: &[u8]) -> bool {
    match Head::of(answer) {
        Ok(Head { status: 204, .. }) => true,
        Ok(Head { bytes, is_chunked: true, .. }) => {
            // The cheap test first: chunks are parsed once, and not again for each read of a long answer.
            answer.ends_with(b"0\r\n\r\n") && unchunked(&answer[bytes..]).is_some()
        }
        Ok(Head { bytes, length: Some(length), .. }) => answer.len() - bytes >= length,
        _ => false,
    }
}

fn answer(bytes: &[u8]) -> Result<Answer, String> {
    let head = Head::of(bytes)?;
    let body = &bytes[head.bytes..];
    let body = match head {
        Head { is_chunked: true, .. } => unchunked(body).ok_or("a chunk is cut short")?,
        Head { length: Some(length), .. } => body.get(..length).ok_or("the body is cut short")?.to_vec(),
        Head { .. } => body.to_vec(),
    };
    Ok(Answer { status: head.status, body })
}

/// The head of an answer.
struct Head {
    bytes: usize,
    status: u16,
    is_chunked: bool,
    length: Option<usize>,
}

impl Head {
    fn of(answer: &[u8]) -> Result<Self, String> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut response = httparse::Response::new(&mut fields);
        let parsed = response.parse(answer).map_err(|error| format!("not HTTP: {error}"))?;
        let (Status::Complete(bytes), Some(status)) = (parsed, response.code) else {
            return Err("the answer ends within its head".into());
        };
        let field = |name: &str| {
            let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
            found.and_then(|field| std::str::from_utf8(field.value).ok())
        };
        let length = field("content-length").and_then(|length| length.trim().parse().ok());
        Ok(Self { bytes, status, is_chunked: field("transfer-encoding").is_some(), length })
    }
}

/// RFC 9112 §7.1, without trailers.
fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let Ok(Status::Complete((start, size))) = httparse::parse_chunk_size(bytes) else {
            return None;
        };
        if size == 0 {
            return Some(body);
        }
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        body.extend_from_slice(bytes.get(start..end)?);
        bytes = bytes.get(end + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const PATIENCE: Timeouts = Timeouts { word: Duration::from_secs(5), answer: Duration::from_secs(5) };

    #[test]
    fn bodies_in_each_framing() {
        for framed in [
            &b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nup 1\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nup \r\n2\r\n1\n\r\n0\r\n\r\n",
        ] {
            assert_eq!(answer(framed), Ok(Answer { status: 200, body: b"up 1\n".to_vec() }));
        }
    }

    #[test]
    fn invalid_answers_are_said() {
        for (bytes, named) in [
            (&b"SSH-2.0\r\n\r\n"[..], "not HTTP"),
            (b"HTTP/1.1 200 OK\r\nA: ", "within its head"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nup", "cut short"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nup", "cut short"),
        ] {
            let problem = answer(bytes).unwrap_err();
            assert!(problem.contains(named), "{problem}");
        }
    }

    #[test]
    fn endless_answers_are_refused() {
        let error = read(&mut io::repeat(b'x'), PATIENCE.answer).unwrap_err();
        assert!(error.to_string().contains(" 4 MiB"), "{error}");
    }

    /// Answers one connection with these bytes and keeps it open until the other side is gone.
    fn answering(bytes: &'static [u8]) -> Source {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE.answer)).unwrap();
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0, "it is asked");
            stream.write_all(bytes).unwrap();
            stream.read(&mut [0; 1024])
        });
        Source { host: "127.0.0.1".into(), port, path: "/".into() }
    }

    #[test]
    fn kept_connections_need_no_end() {
        for bytes in [
            &b"HTTP/1.1 204 No Content\r\n\r\n"[..],
            b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        ] {
            let request =
                Request { method: "POST", fields: &[("Content-Type", "application/json")], body: b"{}" };
            let start = Instant::now();
            let answer = answering(bytes).send(request, PATIENCE).unwrap();
            assert!((200..300).contains(&answer.status), "{answer:?}");
            assert!(start.elapsed() < PATIENCE.word / 2, "it was known to be all");
        }
    }

    #[test]
    fn names_are_reached_at_any_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap();
        let reached = connect([closed, address].into_iter(), PATIENCE.word).unwrap();
        assert_eq!(reached.peer_addr().unwrap(), address);
        let why = connect([closed].into_iter(), PATIENCE.word).unwrap_err();
        assert!(why.contains("refused"), "{why}");
        assert!(connect([].into_iter(), PATIENCE.word).unwrap_err().contains("no address"));
    }

    #[test]
    fn served_pages_can_be_fetched() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let page = |path: &str| match path {
                    "/here?a=1" => Ok("up 1".to_owned()),
                    _ => Err("it is /here".to_owned()),
                };
                serve(stream.unwrap(), PATIENCE.word, "text/plain", page).unwrap();
            }
        });
        let get = |path: &str| {
            let source = Source { host: "127.0.0.1".into(), port, path: path.into() };
            let Answer { status, body } = source.get(PATIENCE).unwrap();
            (status, String::from_utf8(body).unwrap())
        };
        assert_eq!(get("/here?a=1"), (200, "up 1".into()));
        assert_eq!(get("/there"), (404, "it is /here".into()));
        served.join().unwrap();
    }
}
