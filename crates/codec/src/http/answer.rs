//! Answers with a body: whole, or in chunks as they come up (RFC 9112 §7.1).

use super::date::DateField;
use super::request::{CLOSE, Request, status_text};
use crate::io;

/// The content type of plain text.
pub const TEXT: &str = "text/plain; charset=UTF-8";

/// The content type of bytes that mean nothing: no browser takes them for a page.
pub const OCTETS: &str = "application/octet-stream";

/// The version of requests over HTTP/2, whose answers are written as those of HTTP/1.1, but for the chunks:
/// frames tell where a body ends (RFC 9113 §8.1).
pub const MINOR_OF_HTTP2: u8 = 2;

/// How an answer's head goes on after its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerHead {
    /// The minor version of the request: only 1 has chunks. HTTP/2 is [`MINOR_OF_HTTP2`].
    pub minor: u8,
    /// True if the connection lives on.
    pub keep_alive: bool,
    /// The request was a HEAD, whose answer has no body, but says how long a GET's would be (RFC 9110
    /// §9.3.2).
    pub to_head: bool,
    /// The time of the answer.
    pub date: DateField,
    /// Whole field lines.
    pub fields: String,
}

impl AnswerHead {
    /// Appends a whole answer.
    pub fn write_whole(&self, out: &mut Vec<u8>, status: u16, content_type: Option<&str>, body: &[u8]) {
        self.write(out, status, content_type);
        // Neither may carry one, nor say how long it is (RFC 9110 §8.6).
        if !matches!(status, 204 | 304) {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        if !self.to_head {
            out.extend_from_slice(body);
        }
    }

    /// Appends the head of an answer whose end is not known yet. Without chunks the connection's end is its
    /// end: such a head has no `keep_alive`.
    pub fn write_stream(&self, out: &mut Vec<u8>, status: u16, content_type: &str) {
        debug_assert!(self.minor >= 1 || !self.keep_alive);
        self.write(out, status, Some(content_type));
        // A peer of HTTP/1.0 knows no transfer codings (RFC 9112 §6.1).
        if self.has_chunks() {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends a part of the stream's body, given in parts itself; not nothing.
    pub fn write_chunk(&self, out: &mut Vec<u8>, parts: &[&[u8]]) {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        debug_assert!(bytes > 0, "an empty chunk is the end");
        if self.has_chunks() {
            out.extend_from_slice(format!("{bytes:x}\r\n").as_bytes());
        }
        io::extend(out, parts);
        if self.has_chunks() {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Appends the end of the stream.
    pub fn write_end(&self, out: &mut Vec<u8>) {
        if self.has_chunks() {
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }

    fn has_chunks(&self) -> bool {
        self.minor == 1
    }

    fn write(&self, out: &mut Vec<u8>, status: u16, content_type: Option<&str>) {
        let connection = match (self.keep_alive, self.minor) {
            (false, _) => CLOSE,
            // HTTP/1.0 closes unless both say otherwise, HTTP/1.1 stays open unless one does (RFC 9112 §9.3).
            (true, 0) => "Connection: keep-alive\r\n",
            (true, _) => "",
        };
        for part in ["HTTP/1.1 ", status_text(status), "\r\n", &self.fields, connection] {
            out.extend_from_slice(part.as_bytes());
        }
        self.date.write(out);
        if let Some(content_type) = content_type {
            for part in ["Content-Type: ", content_type, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }
}

/// Fields that let pages of other origins read the answer, credentials included.
pub fn cors(request: &Request<'_>) -> String {
    let text = |name| request.fields.all(name).next().and_then(|value| std::str::from_utf8(value).ok());
    let mut fields = match text("origin") {
        Some(origin) => {
            format!("Access-Control-Allow-Origin: {origin}\r\nAccess-Control-Allow-Credentials: true\r\n")
        }
        // The wildcard does not go with credentials (Fetch, "CORS protocol and credentials"), so it is for
        // requests without an origin only.
        None => "Access-Control-Allow-Origin: *\r\n".to_owned(),
    };
    // A cache must not hand one origin's answer to another.
    fields.push_str("Vary: Origin\r\n");
    if let Some(headers) = text("access-control-request-headers").filter(|headers| !headers.is_empty()) {
        fields.push_str(&format!("Access-Control-Allow-Headers: {headers}\r\n"));
    }
    fields
}
