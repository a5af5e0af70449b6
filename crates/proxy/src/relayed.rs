//! Bodies on their way through the proxy: passed on in portions, with a copy of what a file may be made of.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap};

use crate::headers;
use crate::links::Links;
use crate::session::{Place, Session, Side};
use crate::trouble::Trouble;

/// Compressed bytes that are decoded at once: they may become a thousand times as many.
const CODED_BYTES_MAX: usize = 4 << 10;
/// Media types whose values may be said later.
const KEPT: [&str; 5] = ["html", "json", "text/plain", "x-www-form-urlencoded", "event-stream"];
/// Media types in which links stand.
const LINKED: [&str; 7] = ["html", "json", "javascript", "css", "xml", "text/plain", "event-stream"];

/// A body that failed on the way.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A body, and what is done with it.
pub(crate) struct Relayed {
    inner: Incoming,
    session: Session,
    place: Place,
    side: Side,
    is_kept: bool,
    /// True until the first letter of a body without a type tells whether it is a page.
    is_untold: bool,
    decoder: Option<Decoder>,
    links: Option<Links>,
    /// True if the client gets other bytes than the server sent, or may.
    is_changed: bool,
    /// A portion that waits to be decoded.
    coded: Bytes,
    /// True until something of the body has come.
    is_empty: bool,
    is_over: bool,
}

/// A decoder that gives what it has.
enum Decoder {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Decoder {
    fn of(coding: &str) -> Option<Decoder> {
        // RFC 9110 §8.4.1: names of codings have no case.
        match coding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Decoder::Gzip(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Some(Decoder::Deflate(ZlibDecoder::new(Vec::new()))),
            _ => None,
        }
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let decoded = match self {
            Decoder::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Decoder::Deflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
        };
        Ok(std::mem::take(decoded))
    }

    /// Checks that nothing is missing.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Deflate(decoder) => decoder.try_finish(),
        }
    }
}

impl Relayed {
    /// The body of a request.
    pub(crate) fn of_request(inner: Incoming, head: &HeaderMap, session: Session, place: Place) -> Relayed {
        let (side, is_kept) = (Side::Request, is_one(head, &KEPT));
        Relayed {
            inner,
            session,
            place,
            side,
            is_kept,
            is_untold: false,
            decoder: None,
            links: None,
            is_changed: false,
            coded: Bytes::new(),
            is_empty: true,
            is_over: false,
        }
    }

    /// The body of an answer with this head, with its links replaced.
    pub(crate) fn of_answer(
        inner: Incoming,
        head: &HeaderMap,
        links: Links,
        session: Session,
        place: Place,
    ) -> Relayed {
        // A part of a body does not begin as the whole does.
        let is_whole = !head.contains_key(CONTENT_RANGE) && !inner.is_end_stream();
        let mut is_untold = is_whole && !head.contains_key(CONTENT_TYPE);
        let (mut is_kept, mut is_linked) =
            (is_untold || is_one(head, &KEPT), is_untold || is_one(head, &LINKED));
        let coding = headers::text(head, &CONTENT_ENCODING)
            .filter(|coding| !coding.trim().eq_ignore_ascii_case("identity"));
        let decoder = coding.filter(|_| is_linked).and_then(Decoder::of);
        if let Some(coding) = coding.filter(|_| decoder.is_none() && is_linked) {
            session.note(Trouble::Encoded(coding.chars().take(20).collect()));
            (is_kept, is_linked, is_untold) = (false, false, false);
        }
        let links = is_linked.then_some(links);
        let (side, is_changed) = (Side::Answer, links.is_some());
        Relayed {
            side,
            is_kept,
            is_untold,
            decoder,
            links,
            is_changed,
            ..Relayed::of_request(inner, head, session, place)
        }
    }

    /// Returns whether the client gets other bytes than the server sent, or may: the head goes before the body.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// A portion as the client gets it.
    fn passed(&mut self, bytes: Bytes) -> Result<Bytes, Failed> {
        self.is_empty &= bytes.is_empty();
        let bytes = match &mut self.decoder {
            Some(decoder) => decoder.push(&bytes)?.into(),
            None => bytes,
        };
        if let Some(is_page) = Some(&bytes).filter(|_| self.is_untold).and_then(|bytes| har::is_page(bytes)) {
            self.is_untold = false;
            self.is_kept = is_page;
            self.links = self.links.take().filter(|_| is_page);
        }
        // White space before the first letter says nothing, also of a page.
        if self.is_kept && !self.is_untold {
            self.session.keep(self.place, self.side, &bytes);
        }
        let Some(links) = &mut self.links else { return Ok(bytes) };
        let mut out = Vec::with_capacity(bytes.len());
        links.push(&bytes, &mut out);
        Ok(out.into())
    }

    /// Ends a body that cannot go on.
    fn broken(&mut self, error: Failed) -> Failed {
        self.is_over = true;
        // A client that breaks off its own request is no trouble of the server's.
        if self.side == Side::Answer {
            self.session.note(Trouble::BrokenAnswer);
        }
        error
    }

    /// The rest at the end.
    fn rest(&mut self) -> io::Result<Bytes> {
        // A redirect may be announced as compressed and have no body, which is no whole gzip.
        if let Some(decoder) = self.decoder.as_mut().filter(|_| !self.is_empty) {
            decoder.finish()?;
        }
        let mut out = Vec::new();
        if let Some(links) = &mut self.links {
            links.finish(&mut out);
        }
        Ok(out.into())
    }
}

/// Returns whether a body is of one of these types.
fn is_one(head: &HeaderMap, kinds: &[&str]) -> bool {
    let kind = headers::text(head, &CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    kinds.iter().any(|known| kind.contains(known))
}

impl Body for Relayed {
    type Data = Bytes;
    type Error = Failed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failed>>> {
        let this = &mut *self;
        while !this.is_over {
            if this.coded.is_empty() {
                match std::task::ready!(Pin::new(&mut this.inner).poll_frame(context)) {
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(bytes) => this.coded = bytes,
                        // Trailers go on as they are.
                        Err(frame) => return Poll::Ready(Some(Ok(frame))),
                    },
                    Some(Err(error)) => return Poll::Ready(Some(Err(this.broken(error.into())))),
                    None => {
                        this.is_over = true;
                        return Poll::Ready(match this.rest() {
                            Ok(rest) => (!rest.is_empty()).then(|| Ok(Frame::data(rest))),
                            Err(error) => Some(Err(this.broken(error.into()))),
                        });
                    }
                }
            }
            let at_once = if this.decoder.is_some() { CODED_BYTES_MAX } else { usize::MAX };
            let portion = this.coded.split_to(at_once.min(this.coded.len()));
            match this.passed(portion) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Err(error) => return Poll::Ready(Some(Err(this.broken(error)))),
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || !self.is_changed && self.coded.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_changed { SizeHint::default() } else { self.inner.size_hint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coded_portions_are_decoded_as_they_come() {
        let text = b"<a href='https://app.test/'>".repeat(100);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let coded = gzip.finish().unwrap();
        let mut decoder = Decoder::of("gzip").unwrap();
        let decoded: Vec<u8> = coded.chunks(7).flat_map(|chunk| decoder.push(chunk).unwrap()).collect();
        assert_eq!(decoded, text);
        assert!(Decoder::of("gzip").unwrap().push(b"no gzip at all").is_err());
        assert!(Decoder::of("br").is_none());
    }
}
