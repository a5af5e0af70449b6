//! How the frames of a session are written into an answer, on the server's side.

use codec::http::answer::AnswerHead;
use codec::json;

/// A way to receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Receiving {
    XhrPolling,
    XhrStreaming,
    EventSource,
    HtmlFile,
    Jsonp,
}

impl Receiving {
    /// The receiving transport of the end of a path.
    pub(crate) fn named(name: &str) -> Option<Receiving> {
        Some(match name {
            "xhr" => Receiving::XhrPolling,
            "xhr_streaming" => Receiving::XhrStreaming,
            "eventsource" => Receiving::EventSource,
            "htmlfile" => Receiving::HtmlFile,
            "jsonp" => Receiving::Jsonp,
            _ => return None,
        })
    }

    /// Returns whether an answer takes more than one frame.
    pub(crate) fn is_streaming(self) -> bool {
        matches!(self, Receiving::XhrStreaming | Receiving::EventSource | Receiving::HtmlFile)
    }

    /// Returns whether frames come as scripts that call a function the client has named.
    pub(crate) fn has_callback(self) -> bool {
        matches!(self, Receiving::HtmlFile | Receiving::Jsonp)
    }

    fn content_type(self) -> &'static str {
        match self {
            Receiving::XhrPolling | Receiving::XhrStreaming | Receiving::Jsonp => {
                "application/javascript; charset=UTF-8"
            }
            Receiving::EventSource => "text/event-stream",
            Receiving::HtmlFile => "text/html; charset=UTF-8",
        }
    }
}

/// The page around the scripts, with the function that gets the frames in the middle.
const HTML_BEFORE: &str = r#"<!doctype html>
<html><head>
  <meta http-equiv="X-UA-Compatible" content="IE=edge" />
  <meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
</head><body><h2>Don't panic!</h2>
  <script>
    document.domain = document.domain;
    var c = parent."#;
const HTML_AFTER: &str = r#";
    c.start();
    function p(d) {c.message(d);};
    window.onload = function() {c.stop();};
  </script>"#;
/// Browsers show nothing of a page that is shorter.
const HTML_BYTES_MIN: usize = 1024;
/// Browsers hand on nothing of an answer that is shorter.
const XHR_PRELUDE: &[u8] = &[b'h'; 2048];

/// An answer that frames are written to.
#[derive(Debug)]
pub(crate) struct Receiver {
    receiving: Receiving,
    head: AnswerHead,
    callback: String,
    /// Bytes of frames sent, with the text around each.
    sent_bytes: usize,
}

impl Receiver {
    /// The answer to a request; of a streaming one the start is written.
    pub(crate) fn open(
        receiving: Receiving,
        head: AnswerHead,
        callback: String,
        out: &mut Vec<u8>,
    ) -> Receiver {
        if receiving.is_streaming() {
            head.write_stream(out, 200, receiving.content_type());
        }
        match receiving {
            Receiving::XhrStreaming => head.write_chunk(out, &[XHR_PRELUDE, b"\n"]),
            // For the sake of a bug in Opera.
            Receiving::EventSource => head.write_chunk(out, &[b"\r\n"]),
            Receiving::HtmlFile => {
                let page = [HTML_BEFORE, &callback, HTML_AFTER].concat();
                let blanks = vec![b' '; HTML_BYTES_MIN.saturating_sub(page.len())];
                head.write_chunk(out, &[page.as_bytes(), &blanks, b"\r\n\r\n"]);
            }
            Receiving::XhrPolling | Receiving::Jsonp => {}
        }
        Receiver { receiving, head, callback, sent_bytes: 0 }
    }

    /// Writes a frame, given in parts. Returns true if the answer is whole, because it takes only one frame
    /// or has enough.
    pub(crate) fn write_frame(&mut self, out: &mut Vec<u8>, parts: [&[u8]; 3], bytes_max: usize) -> bool {
        let [a, b, c] = parts;
        let sent = match self.receiving {
            Receiving::XhrPolling | Receiving::XhrStreaming => self.write(out, &[a, b, c, b"\n"]),
            Receiving::EventSource => self.write(out, &[b"data: ", a, b, c, b"\r\n\r\n"]),
            Receiving::HtmlFile => {
                let frame = quote(parts);
                self.write(out, &[b"<script>\np(", &frame, b");\n</script>\r\n"])
            }
            Receiving::Jsonp => {
                let (callback, frame) = (self.callback.clone(), quote(parts));
                self.write(out, &[b"/**/", callback.as_bytes(), b"(", &frame, b");\r\n"])
            }
        };
        self.sent_bytes += sent;
        !self.receiving.is_streaming() || self.sent_bytes >= bytes_max
    }

    /// Writes the end of an answer that has become whole, or that gets no more.
    pub(crate) fn end(self, out: &mut Vec<u8>) {
        if self.receiving.is_streaming() {
            self.head.write_end(out);
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, parts: &[&[u8]]) -> usize {
        if self.receiving.is_streaming() {
            self.head.write_chunk(out, parts);
        } else {
            if self.receiving == Receiving::Jsonp {
                // The script must not be taken for anything else.
                self.head.fields.push_str("X-Content-Type-Options: nosniff\r\n");
            }
            self.head.write_whole(out, 200, Some(self.receiving.content_type()), &parts.concat());
        }
        parts.iter().map(|part| part.len()).sum()
    }
}

/// A frame as a string in a script. `</` would end the script that it is in.
fn quote(parts: [&[u8]; 3]) -> Vec<u8> {
    let frame = parts.concat();
    let mut quoted = Vec::with_capacity(frame.len() + frame.len() / 4 + 2);
    quoted.push(b'"');
    let mut rest = &frame[..];
    while let Some(at) = memchr::memmem::find(rest, b"</") {
        json::escape(&mut quoted, &rest[..at]);
        quoted.extend_from_slice(b"<\\/");
        rest = &rest[at + 2..];
    }
    json::escape(&mut quoted, rest);
    quoted.push(b'"');
    quoted
}
