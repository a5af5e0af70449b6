//! One plain request: HTTP/1.0, so that the body ends with the connection (RFC 1945).

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// An endpoint that takes longer than this is not worth asking every second.
const TIMEOUT: Duration = Duration::from_millis(900);
/// One whose answer drips is not waited for longer than this.
const READ_MAX: Duration = Duration::from_secs(2);
const READ_BYTES: usize = 64 << 10;
const ANSWER_BYTES_MAX: u64 = 4 << 20;
const FIELDS_MAX: usize = 64;

/// Where metrics are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub path: String,
}

impl Source {
    /// The body of the answer.
    pub(crate) fn fetch(&self) -> Result<String, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut addresses = (self.host.as_str(), self.port).to_socket_addrs().map_err(failed)?;
        let address = addresses.next().ok_or("the name has no address")?;
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(failed)?;
        stream
            .set_read_timeout(Some(TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(TIMEOUT)))
            .map_err(failed)?;
        let Self { host, port, path } = self;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(failed)?;
        body(&read(&mut stream).map_err(failed)?)
    }
}

/// All there is until the end, however slowly it drips, or until [`READ_MAX`].
fn read(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let (start, mut answer) = (Instant::now(), Vec::new());
    let mut stream = stream.take(ANSWER_BYTES_MAX);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(answer),
            _ if start.elapsed() > READ_MAX => return Err(io::ErrorKind::TimedOut.into()),
            bytes => answer.extend_from_slice(&buffer[..bytes]),
        }
    }
}

fn body(answer: &[u8]) -> Result<String, String> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(head) =
        response.parse(answer).map_err(|error| format!("not HTTP: {error}"))?
    else {
        return Err("the answer ends within its head".into());
    };
    match response.code {
        Some(200) => {}
        code => return Err(format!("the answer is HTTP {}", code.unwrap_or(0))),
    }
    // Some servers answer HTTP/1.0 with what only HTTP/1.1 has.
    let is_chunked =
        response.headers.iter().any(|field| field.name.eq_ignore_ascii_case("transfer-encoding"));
    let bytes = if is_chunked {
        unchunked(&answer[head..]).ok_or("a chunk is cut short")?
    } else {
        answer[head..].to_vec()
    };
    String::from_utf8(bytes).map_err(|_| "the answer is not UTF-8".into())
}

/// RFC 9112 §7.1, without trailers.
fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(bytes) else {
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
    use super::*;

    #[test]
    fn bodies_in_either_framing() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nup 1\n"), Ok("up 1\n".into()));
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nup \r\n2\r\n1\n\r\n0\r\n\r\n";
        assert_eq!(body(chunked), Ok("up 1\n".into()));
    }

    #[test]
    fn what_is_no_answer_is_said() {
        for (answer, named) in [
            (&b"HTTP/1.1 404 Not Found\r\n\r\n"[..], "HTTP 404"),
            (b"SSH-2.0\r\n\r\n", "not HTTP"),
            (b"HTTP/1.1 200 OK\r\nA: ", "within its head"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nup", "cut short"),
            (b"HTTP/1.1 200 OK\r\n\r\n\xff", "not UTF-8"),
        ] {
            let problem = body(answer).unwrap_err();
            assert!(problem.contains(named), "{problem}");
        }
    }
}
