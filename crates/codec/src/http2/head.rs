//! The contents of a block of fields, judged as a head (RFC 9113 §8.2, §8.3).

use super::hpack::Decoder;
use crate::error::Error;
use crate::http::{fields, request};
use crate::limits::Limits;

/// Fields that are about one connection of HTTP/1.1, and have no place here (§8.2.2).
const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Returns whether a field may not be sent over HTTP/2, whoever asks for it.
pub fn is_foreign(name: &str, value: &[u8]) -> bool {
    OF_CONNECTIONS.contains(&name) || (name == "te" && value != b"trailers")
}

/// Kinds of fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FieldKind {
    /// Its name begins with a colon.
    Pseudo,
    Regular,
    Malformed,
}

fn sort_of(name: &[u8], value: &[u8]) -> FieldKind {
    let is_pseudo = name.first() == Some(&b':');
    let letters = &name[usize::from(is_pseudo)..];
    // Names are in lower case on the wire (§8.2.1): two spellings could pass a proxy as two fields.
    let is_name = fields::is_token(letters) && !letters.iter().any(u8::is_ascii_uppercase);
    let is_foreign = std::str::from_utf8(name).is_ok_and(|name| is_foreign(name, value));
    match (is_name && fields::is_value(value) && !is_foreign, is_pseudo) {
        (false, _) => FieldKind::Malformed,
        (true, true) => FieldKind::Pseudo,
        (true, false) => FieldKind::Regular,
    }
}

/// The head of an answer, with what the reader keeps of its regular fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerHead<K> {
    /// 100 to 599.
    pub status: u16,
    /// How long the body says that it is.
    pub length: Option<u64>,
    /// The values that were kept of the regular fields.
    pub kept: K,
}

/// A longer block is not kept to be known again.
const KNOWN_BYTES_MAX: usize = 1024;

/// Judges the heads of a connection's answers.
#[derive(Debug)]
pub struct AnswerHeads<K> {
    known: Option<Known<K>>,
}

/// The head that came last. As long as the table does not change, the same block means the same; and where a
/// server has put into the table what it says, the next block is the same.
#[derive(Debug)]
struct Known<K> {
    block: Vec<u8>,
    changes: u64,
    head: AnswerHead<K>,
}

impl<K> Default for AnswerHeads<K> {
    fn default() -> AnswerHeads<K> {
        AnswerHeads { known: None }
    }
}

impl<K: Copy + Default> AnswerHeads<K> {
    /// Judges a block; `keep` takes its regular fields. `None`: they break the rules, which is the end of the
    /// stream and not of the connection.
    pub fn judge(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        limits: &Limits,
        keep: &mut impl FnMut(&mut K, &[u8], &[u8]),
    ) -> Result<Option<AnswerHead<K>>, Error> {
        let changes = decoder.changes();
        if let Some(known) =
            self.known.as_ref().filter(|known| known.changes == changes && known.block == block)
        {
            return Ok(Some(known.head));
        }
        let Some(head) = judge_answer(decoder, block, limits, keep)? else { return Ok(None) };
        // A block that adds to the table means something else once the table has it.
        if decoder.changes() == changes && block.len() <= KNOWN_BYTES_MAX {
            let mut kept = self.known.take().map_or_else(Vec::new, |known| known.block);
            kept.clear();
            kept.extend_from_slice(block);
            self.known = Some(Known { block: kept, changes, head });
        }
        Ok(Some(head))
    }
}

/// Judges the head of an answer; `keep` takes its regular fields. `None`: they break the rules.
pub fn judge_answer<K: Default>(
    decoder: &mut Decoder,
    block: &[u8],
    limits: &Limits,
    keep: &mut impl FnMut(&mut K, &[u8], &[u8]),
) -> Result<Option<AnswerHead<K>>, Error> {
    let (mut status, mut length, mut is_bad, mut has_regular) = (None, None, false, false);
    let mut kept = K::default();
    decoder.decode(block, limits, &mut |name, value| match sort_of(name, value) {
        // Once, and before the regular fields (§8.3).
        FieldKind::Pseudo if name == b":status" && status.is_none() && !has_regular => {
            status = fields::number(value).ok().filter(|n| value.len() == 3 && (100..600).contains(n));
            is_bad |= status.is_none();
        }
        FieldKind::Regular => {
            has_regular = true;
            keep(&mut kept, name, value);
            if name == b"content-length" {
                let number = fields::number(value).ok();
                // Repeated alike it may be (RFC 9110 §8.6); two lengths are how requests are smuggled.
                is_bad |= number.is_none() || length.is_some_and(|other| Some(other) != number);
                length = number;
            }
        }
        FieldKind::Pseudo | FieldKind::Malformed => is_bad = true,
    })?;
    let head = status.map(|status| AnswerHead { status: status as u16, length, kept });
    Ok(head.filter(|_| !is_bad))
}

/// Reads the fields behind a body, and returns whether they keep the rules.
pub fn judge_trailer(decoder: &mut Decoder, block: &[u8], limits: &Limits) -> Result<bool, Error> {
    let mut is_good = true;
    decoder
        .decode(block, limits, &mut |name, value| is_good &= sort_of(name, value) == FieldKind::Regular)?;
    Ok(is_good)
}

/// The head of a request: texts end to end, and where each is among them.
#[derive(Debug, Default)]
pub struct RequestHead {
    text: Vec<u8>,
    fields: Vec<(usize, usize)>,
    method: Option<usize>,
    path: Option<usize>,
    scheme: Option<usize>,
    authority: Option<usize>,
    host: Option<usize>,
    length: Option<u64>,
    is_bad: bool,
}

impl RequestHead {
    /// Reads a block in place of the one before, and returns whether it keeps the rules.
    pub fn read(&mut self, decoder: &mut Decoder, block: &[u8], limits: &Limits) -> Result<bool, Error> {
        // Their memory serves one request after the other.
        let (text, fields) = (std::mem::take(&mut self.text), std::mem::take(&mut self.fields));
        *self = RequestHead { text, fields, ..RequestHead::default() };
        self.text.clear();
        self.fields.clear();
        decoder.decode(block, limits, &mut |name, value| self.add(name, value))?;
        Ok(!self.is_bad && self.has_good_target() && self.has_good_host())
    }

    /// Returns whether method, scheme and path are as in §8.3.1. A tunnel's (§8.5) are not: this server has
    /// no tunnels.
    fn has_good_target(&self) -> bool {
        let (method, scheme) = (self.method(), self.value(self.scheme));
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        let is_path = match self.target() {
            "*" => method == "OPTIONS",
            path => path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic()),
        };
        request::is_method(method) && is_scheme && is_path
    }

    /// Returns whether the request names one host: `:authority`, `host`, or both alike (§8.3.1).
    fn has_good_host(&self) -> bool {
        let (authority, host) = (self.value(self.authority), self.value(self.host));
        let named = if self.authority.is_some() { authority } else { host };
        let is_alike = self.host.is_none() || host.eq_ignore_ascii_case(named);
        is_alike && request::is_host(named.as_bytes())
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        let at = self.fields.len();
        let had_regular = self.fields.last().is_some_and(|_| !self.field(at - 1).0.starts_with(':'));
        let place = match (sort_of(name, value), name) {
            (FieldKind::Regular, b"host") => Some(&mut self.host),
            (FieldKind::Regular, b"content-length") => {
                let number = fields::number(value).ok();
                self.is_bad |= number.is_none() || self.length.is_some_and(|other| Some(other) != number);
                self.length = number;
                None
            }
            (FieldKind::Regular, _) => None,
            (FieldKind::Pseudo, b":method") => Some(&mut self.method),
            (FieldKind::Pseudo, b":path") => Some(&mut self.path),
            (FieldKind::Pseudo, b":scheme") => Some(&mut self.scheme),
            (FieldKind::Pseudo, b":authority") => Some(&mut self.authority),
            _ => return self.is_bad = true,
        };
        if let Some(place) = place {
            // Each may be there once.
            self.is_bad |= place.replace(at).is_some();
        }
        // Behind a regular field a pseudo-field is an error, trailers included (§8.3).
        self.is_bad |= name.starts_with(b":") && (had_regular || std::str::from_utf8(value).is_err());
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.fields.push((name.len(), self.text.len()));
    }

    fn field(&self, at: usize) -> (&str, &[u8]) {
        let start = if at == 0 { 0 } else { self.fields[at - 1].1 };
        let (name_bytes, end) = self.fields[at];
        let (name, value) = self.text[start..end].split_at(name_bytes);
        (std::str::from_utf8(name).unwrap_or_default(), value)
    }

    fn value(&self, place: Option<usize>) -> &str {
        place.map_or("", |at| std::str::from_utf8(self.field(at).1).unwrap_or_default())
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.value(self.method)
    }

    /// The path, with its query.
    pub fn target(&self) -> &str {
        self.value(self.path)
    }

    /// Bytes that the body is to have.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// All fields that are no pseudo-fields.
    pub fn regular(&self) -> impl Iterator<Item = (&str, &[u8])> {
        (0..self.fields.len()).map(|at| self.field(at)).filter(|(name, _)| !name.starts_with(':'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of literals that leave no trace.
    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
    }

    #[test]
    fn heads_of_answers() {
        let judge = |fields: &[(&str, &str)]| {
            let mut heads = AnswerHeads::default();
            let decoder = &mut Decoder::default();
            // The second time it is known.
            let all: Vec<_> = (0..2)
                .map(|_| heads.judge(decoder, &block(fields), &Limits::default(), &mut |_, _, _| {}).unwrap())
                .collect();
            assert_eq!(all[0], all[1]);
            all[0]
        };
        let of = |status, length| Some(AnswerHead { status, length, kept: () });
        assert_eq!(judge(&[(":status", "200")]), of(200, None));
        assert_eq!(judge(&[(":status", "404"), ("content-length", "12"), ("x", "")]), of(404, Some(12)));
        assert_eq!(
            judge(&[
                (":status", "200"),
                ("content-length", "1"),
                ("content-length", "1"),
                ("te", "trailers")
            ]),
            of(200, Some(1))
        );
        for bad in [
            &[("x", "y")][..],
            &[("x", "y"), (":status", "200")],
            &[(":status", "200"), (":status", "200")],
            &[(":status", "2000")],
            &[(":status", "099")],
            &[(":status", "20x")],
            &[(":status", "200"), (":path", "/")],
            &[(":status", "200"), ("X", "y")],
            &[(":status", "200"), ("", "y")],
            &[(":status", "200"), ("x y", "z")],
            &[(":status", "200"), ("x", "a\nb")],
            &[(":status", "200"), ("x", " a")],
            &[(":status", "200"), ("connection", "close")],
            &[(":status", "200"), ("te", "gzip")],
            &[(":status", "200"), ("content-length", "-1")],
            &[(":status", "200"), ("content-length", "1"), ("content-length", "2")],
        ] {
            assert_eq!(judge(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn known_blocks_change_with_the_table() {
        let (mut heads, mut decoder) = (AnswerHeads::default(), Decoder::default());
        let mut judge = |block: &[u8]| {
            heads.judge(&mut decoder, block, &Limits::default(), &mut |(), _, _| {}).unwrap().unwrap().status
        };
        // An entry for a status, twice referred to; then another takes its index.
        assert_eq!(judge(b"\x48\x03201"), 201);
        assert_eq!((judge(b"\xbe"), judge(b"\xbe")), (201, 201));
        assert_eq!(judge(b"\x48\x03503"), 503);
        assert_eq!((judge(b"\xbe"), judge(b"\xbe")), (503, 503));
    }

    #[test]
    fn heads_of_requests() {
        let whole =
            [(":method", "GET"), (":scheme", "http"), (":path", "/a?b"), (":authority", "h"), ("x", "y")];
        let (mut head, decoder) = (RequestHead::default(), &mut Decoder::default());
        let mut read = |fields: &[(&str, &str)]| {
            let is_good = head.read(decoder, &block(fields), &Limits::default()).unwrap();
            (is_good, head.method().to_owned(), head.target().to_owned(), head.regular().count())
        };
        assert_eq!(read(&whole), (true, "GET".into(), "/a?b".into(), 1));
        for without in 0..4 {
            let fields: Vec<_> =
                whole.iter().enumerate().filter(|&(at, _)| at != without).map(|(_, f)| *f).collect();
            assert!(!read(&fields).0, "without {:?}", whole[without].0);
        }
        for more in [
            ("X", "y"),
            (":method", "GET"),
            (":authority", "h"),
            (":x", "y"),
            ("upgrade", "websocket"),
            ("host", "g"),
        ] {
            assert!(!read(&[&whole[..], &[more]].concat()).0, "{more:?}");
            assert!(!read(&[&[more], &whole[..]].concat()).0, "{more:?}");
        }
        for (at, value) in [
            (0, ""),
            (0, "G T"),
            (0, "CONNECT"),
            (1, ""),
            (1, "h ttp"),
            (1, "1"),
            (2, ""),
            (2, "*"),
            (2, "a"),
            (2, "/ a"),
            (3, ""),
            (3, "h h"),
            (3, "u@h"),
        ] {
            let mut fields = whole;
            fields[at].1 = value;
            assert!(!read(&fields).0, "{:?}", fields[at]);
        }
        let lengths = |all: &[&'static str]| {
            let lengths = all.iter().map(|length| ("content-length", *length));
            whole.into_iter().chain(lengths).collect::<Vec<_>>()
        };
        assert!(read(&lengths(&["5", "5"])).0);
        assert!(!read(&lengths(&["0", "5"])).0 && !read(&lengths(&["x"])).0);
        let asterisk = [(":method", "OPTIONS"), (":scheme", "https"), (":path", "*"), ("host", "h")];
        assert!(read(&asterisk).0);
        assert!(!read(&[&asterisk[..], &[("host", "h")]].concat()).0);
        assert!(read(&[&whole[..4], &[("host", "H")]].concat()).0, "none of that is left");
    }
}
