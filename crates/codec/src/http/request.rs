//! A request's head, judged (RFC 9112 §3), and the answers a server needs.

use super::body::Framing;
use super::date::DateField;
use super::fields::{self, Fields};
use super::head::parse_failure;
use crate::error::{Error, HttpReason};

/// The head of a request that keeps the rules.
#[derive(Debug)]
pub struct Request<'a> {
    /// The method, as it came.
    pub method: &'a str,
    /// Path and query; `*` for `OPTIONS *`; a query alone where an absolute form has no path; for CONNECT
    /// host and port.
    pub target: &'a str,
    /// The minor version: 1, or 0 for HTTP/1.0; over HTTP/2 what stands for it there.
    pub minor: u8,
    /// The fields.
    pub fields: Fields<'a>,
    /// How the body is framed; a request without one has `Length(0)`.
    pub body: Framing,
}

impl<'a> Request<'a> {
    /// Judges a whole head of `lines` lines, as [`HeadReader`](super::HeadReader) found it.
    pub fn parse(head: &'a [u8], lines: usize) -> Result<Request<'a>, Error> {
        let mut list = vec![httparse::EMPTY_HEADER; lines];
        let mut parsed = httparse::Request::new(&mut list);
        parsed.parse(head).map_err(|error| match parse_failure(error) {
            // The parser takes whatever stands behind the second space for a version, and 505 is for real
            // ones.
            Error::BadHttp(HttpReason::Version) if !has_version(head) => {
                Error::BadHttp(HttpReason::StartLine)
            }
            failure => failure,
        })?;
        let (Some(method), Some(uri), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
            return Err(Error::BadHttp(HttpReason::StartLine));
        };
        let used = parsed.headers.len();
        list.truncate(used);
        let fields = Fields { list };
        let target = path_of(method, uri).ok_or(Error::BadHttp(HttpReason::Target))?;
        check_host(&fields, minor)?;
        let body = Framing::announced(&fields, minor)?.unwrap_or(Framing::Length(0));
        Ok(Request { method, target, minor, fields, body })
    }

    /// Returns whether the connection serves another request after this one (RFC 9112 §9.3).
    pub fn keep_alive(&self) -> bool {
        // After a CONNECT, a client that believes in its tunnel sends no requests.
        self.method != "CONNECT" && super::response::keep_alive(&self.fields, self.minor)
    }

    /// The field line that says so in the answer, where it must be said.
    pub fn connection_field(&self) -> &'static str {
        match (self.keep_alive(), self.minor) {
            (false, _) => CLOSE,
            (true, 0) => "Connection: keep-alive\r\n",
            (true, _) => "",
        }
    }

    /// Returns whether it asks for a WebSocket, rightly or wrongly: such a request is held to the rules of
    /// RFC 6455.
    pub fn wants_websocket(&self) -> bool {
        self.fields.has_member("upgrade", "websocket")
            || self.fields.all("sec-websocket-key").next().is_some()
    }

    /// The path without the query; `/` where there is none before it.
    pub fn path(&self) -> &'a str {
        let end = memchr::memchr(b'?', self.target.as_bytes()).unwrap_or(self.target.len());
        match &self.target[..end] {
            "" => "/",
            path => path,
        }
    }
}

/// Returns whether the request line ends in a version of HTTP, if in none that is spoken here (RFC 9112
/// §2.3).
fn has_version(head: &[u8]) -> bool {
    let line = head.split(|&b| b == b'\r').next().unwrap_or_default();
    // A space within the target is no matter of versions.
    let parts: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    matches!(parts[..], [_, _, [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]]
        if major.is_ascii_digit() && minor.is_ascii_digit())
}

/// Origin form as it is, absolute form without scheme and authority, and for CONNECT authority form (RFC 9112
/// §3.2); nothing else.
fn path_of<'a>(method: &str, uri: &'a str) -> Option<&'a str> {
    // The grammar has no other characters (RFC 3986 §2).
    if !uri.is_ascii() {
        return None;
    }
    if method == "CONNECT" {
        return Some(uri).filter(|uri| uri.contains(':') && is_host(uri.as_bytes()));
    }
    if uri.starts_with('/') || (uri == "*" && method == "OPTIONS") {
        return Some(uri);
    }
    // Whether there is TLS is not seen here: either scheme is taken for the connection's own.
    let (scheme, rest) = uri.split_once("://")?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let authority = rest.find(['/', '?']).unwrap_or(rest.len());
    if !is_host(&rest.as_bytes()[..authority]) {
        return None;
    }
    match &rest[authority..] {
        "" => Some("/"),
        path => Some(path),
    }
}

fn check_host(fields: &Fields<'_>, minor: u8) -> Result<(), Error> {
    match fields.only("host") {
        // HTTP/1.0 has no such field; in HTTP/1.1 exactly one is due (RFC 9112 §3.2).
        Ok(None) if minor == 0 => Ok(()),
        Ok(Some(host)) if is_host(host) => Ok(()),
        _ => Err(Error::BadHttp(HttpReason::Host)),
    }
}

/// Returns whether requests for a path may have this method: CONNECT asks for a tunnel (RFC 9110 §9.3.6).
pub fn is_method(name: &str) -> bool {
    fields::is_token(name.as_bytes()) && name != "CONNECT"
}

/// A method as browsers send it: six in capitals, however they are given (Fetch standard, "normalize").
pub fn normalized_method(name: &str) -> &str {
    const IN_CAPITALS: [&str; 6] = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
    IN_CAPITALS.into_iter().find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name)
}

/// Returns whether the bytes are one host and maybe a port: no userinfo, no list, not nothing. Of RFC 3986's
/// reg-name (§3.2.2), all but the comma: with it, two readers could see two hosts.
pub fn is_host(bytes: &[u8]) -> bool {
    let (host, after) = match bytes.strip_prefix(b"[") {
        Some(rest) => {
            let Some(end) = memchr::memchr(b']', rest) else { return false };
            let is_address = rest[..end].iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'));
            (if is_address { &rest[..end] } else { &[][..] }, &rest[end + 1..])
        }
        None => {
            let end = memchr::memchr(b':', bytes).unwrap_or(bytes.len());
            let is_name =
                bytes[..end].iter().all(|b| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(b));
            (if is_name { &bytes[..end] } else { &[][..] }, &bytes[end..])
        }
    };
    let is_port = |port: &[u8]| port.len() <= 5 && port.iter().all(u8::is_ascii_digit);
    !host.is_empty() && (after.is_empty() || after.strip_prefix(b":").is_some_and(is_port))
}

/// The field line of an answer after which the connection closes.
pub const CLOSE: &str = "Connection: close\r\n";

/// Appends an answer with an empty body; `fields` are whole field lines.
pub fn answer(out: &mut Vec<u8>, status: u16, date: DateField, fields: &[&str]) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status_text(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    // There is none in a 204 (RFC 9110 §8.6).
    if status != 204 {
        out.extend_from_slice(b"Content-Length: 0\r\n");
    }
    date.write(out);
    for field in fields {
        out.extend_from_slice(field.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// A status with its reason phrase; `500 Internal Server Error` for one that no answer here has.
pub fn status_text(status: u16) -> &'static str {
    match status {
        200 => "200 OK",
        202 => "202 Accepted",
        204 => "204 No Content",
        302 => "302 Found",
        304 => "304 Not Modified",
        400 => "400 Bad Request",
        401 => "401 Unauthorized",
        403 => "403 Forbidden",
        404 => "404 Not Found",
        405 => "405 Method Not Allowed",
        413 => "413 Content Too Large",
        426 => "426 Upgrade Required",
        501 => "501 Not Implemented",
        431 => "431 Request Header Fields Too Large",
        505 => "505 HTTP Version Not Supported",
        _ => "500 Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use HttpReason::*;

    fn parse(head: &str) -> Result<Request<'_>, Error> {
        Request::parse(head.as_bytes(), head.matches('\n').count())
    }

    #[test]
    fn targets_in_either_form() {
        for (line, target) in [
            ("GET /a?b HTTP/1.1", "/a?b"),
            ("GET http://h:80/a HTTP/1.1", "/a"),
            ("GET HTTP://h HTTP/1.1", "/"),
            ("GET https://h:443/a?b HTTP/1.1", "/a?b"),
            ("GET Https://h HTTP/1.1", "/"),
            ("GET http://h?b HTTP/1.1", "?b"),
            ("OPTIONS * HTTP/1.1", "*"),
            ("CONNECT h:443 HTTP/1.1", "h:443"),
        ] {
            let head = format!("{line}\r\nHost: h\r\n\r\n");
            let request = parse(&head).unwrap();
            assert_eq!(request.target, target);
            assert_eq!(request.path(), if target == "?b" { "/" } else { target.split('?').next().unwrap() });
        }
    }

    #[test]
    fn bad_heads_are_refused_with_the_reason() {
        for (head, reason) in [
            ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("CONNECT h HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("CONNECT / HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("CONNECT http://h:80/ HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("GET httpss://h/ HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("GET ws://h/ HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("GET https:/h HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("GET /\u{e9} HTTP/1.1\r\nHost: h\r\n\r\n", Target),
            ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", StartLine),
            ("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", StartLine),
            ("GET /\r\n\r\n", StartLine),
            ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", Version),
            ("GET / HTTP/1.2\r\nHost: h\r\n\r\n", Version),
            ("GET / HTTP/1.10\r\nHost: h\r\n\r\n", StartLine),
            ("GET / HTTP/1.\r\nHost: h\r\n\r\n", StartLine),
            ("GET / HTTP/x.1\r\nHost: h\r\n\r\n", StartLine),
            ("GET / http/1.1\r\nHost: h\r\n\r\n", StartLine),
            ("GET / FOO\r\nHost: h\r\n\r\n", StartLine),
            ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", FieldLine),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", FieldLine),
            ("GET / HTTP/1.1\r\n: h\r\n\r\n", FieldLine),
            ("GET / HTTP/1.1\r\n\r\n", Host),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", Host),
            ("GET / HTTP/1.1\r\nHost:\r\n\r\n", Host),
            ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", Host),
            ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", Host),
            ("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", Host),
            ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", Host),
        ] {
            assert_eq!(parse(head).err(), Some(Error::BadHttp(reason)), "{}", head.escape_debug());
        }
    }

    #[test]
    fn ambiguous_lengths_are_refused() {
        for (fields, reason) in [
            ("Content-Length: 18446744073709551616", ContentLength),
            ("Content-Length: -1", ContentLength),
            ("Content-Length:", ContentLength),
            ("Content-Length: 1, 1", ContentLength),
            ("Content-Length: 1\r\nContent-Length: 1", ContentLength),
            ("Content-Length: 1\r\nTransfer-Encoding: chunked", ContentLength),
            ("Transfer-Encoding: chunked, gzip", TransferEncoding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", TransferEncoding),
            ("Transfer-Encoding: gzip, chunked", Coding),
            ("Transfer-Encoding: deflate\r\nTransfer-Encoding: chunked", Coding),
            ("Transfer-Encoding: chunked, gzip, chunked", TransferEncoding),
            ("Transfer-Encoding: \"x\", chunked", TransferEncoding),
            ("Transfer-Encoding:", TransferEncoding),
            ("Transfer-Encoding: \"chunked\"", TransferEncoding),
        ] {
            let head = format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n\r\n");
            assert_eq!(parse(&head).err(), Some(Error::BadHttp(reason)), "{fields}");
        }
        let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(parse(old).err(), Some(Error::BadHttp(TransferEncoding)));
    }

    #[test]
    fn hosts_may_have_what_names_may_have() {
        for host in ["h", "a_b.c~d", "a!b$c&d'e(f)*+;=", "%41", "[::1]:80", "1.2.3.4:", "h:65535"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn lengths_and_persistence() {
        let r = parse("POST / HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 007\r\n\r\n").unwrap();
        assert_eq!((r.body, r.keep_alive()), (Framing::Length(7), true));
        let r = parse("POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n").unwrap();
        assert_eq!(r.body, Framing::Chunked);
        assert!(!parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").unwrap().keep_alive());
        assert!(!parse("GET / HTTP/1.0\r\n\r\n").unwrap().keep_alive());
        let old = parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").unwrap();
        assert_eq!((old.keep_alive(), old.connection_field()), (true, "Connection: keep-alive\r\n"));
    }
}
