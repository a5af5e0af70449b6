//! JSON texts (RFC 8259), walked and checked without building a tree.
//!
//! What a peer sent inside a message goes on to others as it stands, so it is checked to the last character. No
//! recursion and no allocation, whatever the depth: the kinds of the open containers are the bits of one number.
//! [`scan`] is for what is only looked at.

pub(crate) mod scan;

/// The deepest nesting accepted. Ruby's parser has the same `max_nesting`.
pub(crate) const DEPTH_MAX: u32 = 100;

/// Calls `member` with the key (without its quotation marks, still escaped) and the value of each member of the
/// object that `text` is. `None` when it is not one, or not JSON to its end: then the calls are void.
pub(crate) fn object<'a>(text: &'a [u8], mut member: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let mut walk = Walk { text, at: 0 };
    walk.items(b'{', b'}', |walk| {
        let key = walk.key()?;
        member(key, walk.value(1)?);
        Some(())
    })
}

/// The values of these members of the object that `text` is; nothing for those that it lacks. `None` as in [`object`].
pub(crate) fn members<'a, const N: usize>(text: &'a [u8], names: [&str; N]) -> Option<[&'a [u8]; N]> {
    let mut values = [&b""[..]; N];
    object(text, |key, value| {
        if let Some(at) = names.iter().position(|name| name.as_bytes() == key) {
            values[at] = value;
        }
    })?;
    Some(values)
}

/// The first values of the array that `text` is; nothing for those that it lacks. `None` as in [`object`].
pub(crate) fn items<const N: usize>(text: &[u8]) -> Option<[&[u8]; N]> {
    let (mut values, mut count) = ([&b""[..]; N], 0);
    array(text, |item| {
        if let Some(value) = values.get_mut(count) {
            *value = item;
        }
        count += 1;
    })?;
    Some(values)
}

/// Whether `text` is one value, and JSON to its end.
pub(crate) fn is_value(text: &[u8]) -> bool {
    let mut walk = Walk { text, at: 0 };
    let value = walk.value(0);
    walk.skip_blanks();
    value.is_some() && walk.at == text.len()
}

/// Calls `item` with each value of the array that `text` is. `None` as in [`object`].
pub(crate) fn array<'a>(text: &'a [u8], mut item: impl FnMut(&'a [u8])) -> Option<()> {
    let mut walk = Walk { text, at: 0 };
    walk.items(b'[', b']', |walk| {
        item(walk.value(1)?);
        Some(())
    })
}

/// The inside of the string that a value is, still escaped.
pub(crate) fn string(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// What the inside of a string stands for. `None` for half of a surrogate pair, which stands for nothing.
pub(crate) fn unescape(inside: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        plain.extend_from_slice(&rest[..at]);
        let (&escape, after) = rest[at + 1..].split_first()?;
        rest = after;
        plain.push(match escape {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let letter = unescape_unicode(&mut rest)?;
                plain.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            itself => itself,
        });
    }
    plain.extend_from_slice(rest);
    Some(plain)
}

/// The character whose number follows `\u`, in one escape or, as a surrogate pair, in two (RFC 8259 §7).
fn unescape_unicode(rest: &mut &[u8]) -> Option<char> {
    let first = take_hex(rest)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    *rest = rest.strip_prefix(b"\\u")?;
    let second = take_hex(rest)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
}

fn take_hex(rest: &mut &[u8]) -> Option<u32> {
    let (digits, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

/// Appends `plain`, which is UTF-8, as the inside of a string.
pub(crate) fn escape(out: &mut Vec<u8>, plain: &[u8]) {
    for &byte in plain {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..b' ' => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

/// A place in a text.
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    /// The whole text: blanks, an opening bracket, what `item` takes off, with commas between, and the closing one.
    fn items(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Walk<'a>) -> Option<()>,
    ) -> Option<()> {
        self.token(open)?;
        if self.peek()? == close {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                match self.next()? {
                    b',' => {}
                    byte if byte == close => break,
                    _ => return None,
                }
            }
        }
        self.skip_blanks();
        (self.at == self.text.len()).then_some(())
    }

    /// Past one value inside `depth` containers.
    fn value(&mut self, outer: u32) -> Option<&'a [u8]> {
        self.skip_blanks();
        let start = self.at;
        // The kinds of the open containers, the innermost last: 1 is an object.
        let (mut kinds, mut depth) = (0u128, outer);
        loop {
            let opened = match self.next()? {
                b'{' => Some((1, b'}')),
                b'[' => Some((0, b']')),
                b'"' => self.string().map(|_| None)?,
                first => self.scalar(first).map(|()| None)?,
            };
            if let Some((kind, close)) = opened {
                (kinds, depth) = (kinds << 1 | kind, depth + 1);
                if depth > DEPTH_MAX {
                    return None;
                }
                if self.peek()? != close {
                    if kind == 1 {
                        self.key()?;
                    }
                    continue;
                }
            }
            while depth > outer {
                match (self.next()?, kinds & 1) {
                    (b',', 1) => {
                        self.key()?;
                        break;
                    }
                    (b',', 0) => break,
                    (b'}', 1) | (b']', 0) => (kinds, depth) = (kinds >> 1, depth - 1),
                    _ => return None,
                }
            }
            if depth == outer {
                return Some(&self.text[start..self.at]);
            }
        }
    }

    /// Past a key and its colon.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.token(b'"')?;
        let key = self.string()?;
        self.token(b':')?;
        Some(key)
    }

    /// Past the rest of a string whose opening mark has been read: its inside.
    fn string(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        loop {
            let rest = &self.text[self.at..];
            let length = memchr::memchr2(b'"', b'\\', rest)?;
            if rest[..length].iter().any(|&byte| byte < b' ') {
                return None;
            }
            self.at += length + 1;
            if rest[length] == b'"' {
                return Some(&self.text[start..self.at - 1]);
            }
            let escape = *self.text.get(self.at)?;
            self.at += 1;
            match escape {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.text.get(self.at..self.at + 4)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.at += 4;
                }
                _ => return None,
            }
        }
    }

    /// Past the rest of a number or a word.
    fn scalar(&mut self, first: u8) -> Option<()> {
        let word: &[u8] = match first {
            b't' => b"rue",
            b'f' => b"alse",
            b'n' => b"ull",
            _ => {
                self.at -= 1;
                return self.number();
            }
        };
        let found = self.text[self.at..].starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    fn number(&mut self) -> Option<()> {
        self.skip_any(b"-");
        match self.text.get(self.at)? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.skip_any(b".") {
            self.digits()?;
        }
        if self.skip_any(b"eE") {
            self.skip_any(b"+-");
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    /// Past one byte if it is one of these.
    fn skip_any(&mut self, bytes: &[u8]) -> bool {
        let found = self.text.get(self.at).is_some_and(|byte| bytes.contains(byte));
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The byte after blanks; not consumed.
    fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn token(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }
}

/// Appends a number in decimal.
#[inline]
pub(crate) fn extend_decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_json(value: &str) -> bool {
        let is_item = array(format!("[{value}]").as_bytes(), |_| {}).is_some();
        assert_eq!(is_value(value.as_bytes()), is_item, "{value}");
        is_item
    }

    #[test]
    fn members_and_items_as_they_stand() {
        let mut got = Vec::new();
        let text = br#" { "a" : [1, {"b":"}"}] ,"c\"d":"x" , "e":null } "#;
        object(text, |key, value| got.push((key, value))).unwrap();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"a", br#"[1, {"b":"}"}]"#), (br#"c\"d"#, br#""x""#), (b"e", b"null")];
        assert_eq!(got, expected);
        assert_eq!(members(text, ["e", "a", "f"]), Some([&b"null"[..], br#"[1, {"b":"}"}]"#, b""]));
        assert_eq!(members(b"[]", ["a"]), None);
        assert_eq!(items(br#"[7,"8",[]]"#), Some([&b"7"[..], br#""8""#]));
        assert_eq!((items(b"[7]"), items::<1>(b"{}")), (Some([&b"7"[..], b""]), None));
        let mut got = Vec::new();
        array(br#"[null,"9" ,[ ],{}]"#, |item| got.push(item)).unwrap();
        assert_eq!(got, [&b"null"[..], br#""9""#, b"[ ]", b"{}"]);
        assert!(object(b"{}", |_, _| panic!("it is empty")).is_some());
        assert!(array(b"[ ]", |_| panic!("it is empty")).is_some());
    }

    #[test]
    fn what_is_json_and_what_is_not() {
        for good in [
            "0",
            "-0.5e+10",
            "12E3",
            "\"\\u00e9\\n\\/\"",
            "true",
            "[[],{}]",
            "{\"a\":[{}],\"b\":{\"c\":[]}}",
            "\"é\"",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in [
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "--1",
            "tru",
            "nul",
            "NaN",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u12\"",
            "\"\n\"",
            "{",
            "[",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "[1}",
            "{\"a\":1]",
            "1 2",
            "'a'",
            "[,]",
            "{,}",
            "\u{a0}1",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
        for bad in ["", "{", "{}x", "{} {}", "[]", "1", "{\"a\":1"] {
            assert!(object(bad.as_bytes(), |_, _| {}).is_none(), "{bad}");
        }
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
        assert!(array(nested(DEPTH_MAX as usize).as_bytes(), |_| {}).is_some());
        assert!(array(nested(DEPTH_MAX as usize + 1).as_bytes(), |_| {}).is_none());
        assert!(array("[".repeat(1_000_000).as_bytes(), |_| {}).is_none());
    }

    #[test]
    fn escapes_stand_for_characters() {
        assert_eq!(
            unescape(br#"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z"#).unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\té😀z".as_bytes()
        );
        for half in [r"\ud83d", r"\ude00", r"\ud83dx", r"\ud83d\n", r"\ud83d\u0041", "\\"] {
            assert_eq!(unescape(half.as_bytes()), None, "{half}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_survives_escaping(text in any::<String>()) {
            let mut out = b"[\"".to_vec();
            escape(&mut out, text.as_bytes());
            out.extend_from_slice(b"\"]");
            let mut inside = None;
            array(&out, |item| inside = string(item)).unwrap();
            prop_assert_eq!(unescape(inside.unwrap()).unwrap(), text.as_bytes());
        }

        #[test]
        fn anything_is_judged_without_a_panic(text in r#"[\[\]{}",:\\u0-9a-e \-.tfn]{0,40}"#) {
            let _ = object(text.as_bytes(), |_, _| {});
            let _ = array(text.as_bytes(), |_| {});
            let _ = unescape(text.as_bytes());
        }
    }
}
