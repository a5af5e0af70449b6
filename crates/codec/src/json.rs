//! JSON texts (RFC 8259), walked and checked without building a tree.
//!
//! Text that a peer sent inside a message goes on to others as it stands, so `walk` checks it to the last
//! character. `scan` is for what is only looked at.

pub mod scan;
mod walk;

use std::borrow::Cow;
use std::str::FromStr;

use walk::Walk;

/// Calls `member` with the key (without its quotation marks, still escaped) and the value of each member of
/// the object that `text` is. `None` when it is not one, or not JSON to its end: then the calls are void.
pub fn object<'a>(text: &'a [u8], mut member: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let mut walk = Walk { text, at: 0 };
    walk.items(b'{', b'}', |walk| {
        let key = walk.key()?;
        member(key, walk.value(1)?);
        Some(())
    })
}

/// The values of these members of the object that `text` is; nothing for those that it lacks. `None` as in
/// [`object`].
// Inlined, so that the names are constants there and compared in place, not by calls of memcmp.
#[inline(always)]
pub fn members<'a, const N: usize>(text: &'a [u8], names: [&str; N]) -> Option<[&'a [u8]; N]> {
    let mut values = [&b""[..]; N];
    object(text, |key, value| {
        if let Some(at) = names.iter().position(|name| name.as_bytes() == key) {
            values[at] = value;
        }
    })?;
    Some(values)
}

/// The first values of the array that `text` is; nothing for those that it lacks. `None` as in [`object`].
#[inline]
pub fn items<const N: usize>(text: &[u8]) -> Option<[&[u8]; N]> {
    let (mut values, mut count) = ([&b""[..]; N], 0);
    array(text, |item| {
        if let Some(value) = values.get_mut(count) {
            *value = item;
        }
        count += 1;
    })?;
    Some(values)
}

/// Returns whether `text` is one value, and JSON to its end.
#[inline]
pub fn is_value(text: &[u8]) -> bool {
    let mut walk = Walk { text, at: 0 };
    let value = walk.value(0);
    walk.skip_blanks();
    value.is_some() && walk.at == text.len()
}

/// Calls `item` with each value of the array that `text` is. `None` as in [`object`].
pub fn array<'a>(text: &'a [u8], mut item: impl FnMut(&'a [u8])) -> Option<()> {
    let mut walk = Walk { text, at: 0 };
    walk.items(b'[', b']', |walk| {
        item(walk.value(1)?);
        Some(())
    })
}

/// The inside of the string that a value is, still escaped.
#[inline]
pub fn string(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Unescapes the inside of a string; leaves it as it is where that is impossible.
#[inline]
pub fn plain(inside: &[u8]) -> Cow<'_, [u8]> {
    match inside.contains(&b'\\') {
        true => unescape(inside).map_or(Cow::Borrowed(inside), Cow::Owned),
        false => Cow::Borrowed(inside),
    }
}

/// Unescapes the inside of a string. `None` for half of a surrogate pair, which stands for nothing.
pub fn unescape(inside: &[u8]) -> Option<Vec<u8>> {
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
    // A low surrogate alone fails in `from_u32`: it stands for nothing.
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
pub fn escape(out: &mut Vec<u8>, plain: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    // For what has to be escaped in JSON, the marks of its strings above all.
    out.reserve(plain.len() + plain.len() / 8);
    let mut rest = plain;
    while let Some(at) = rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// The end of the string that starts at `at`, behind its mark: at its other mark.
#[inline]
pub fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        // The character behind a backslash ends nothing, whatever it is.
        at += 2;
    }
}

/// A value, which is JSON, without the blanks that say nothing.
pub fn without_blanks(value: &[u8]) -> Vec<u8> {
    let (mut plain, mut is_in_string) = (Vec::with_capacity(value.len()), false);
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' if !is_in_string => continue,
            b'"' => is_in_string = !is_in_string,
            _ => {}
        }
        plain.push(byte);
        // The character behind a backslash goes with it: a quotation mark there does not end the string.
        if byte == b'\\' {
            plain.extend(bytes.next());
        }
    }
    plain
}

/// The number that decimal text stands for.
#[inline]
pub fn decimal<N: FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Appends a number in decimal.
#[inline]
pub fn extend_decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::walk::DEPTH_MAX;
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
    fn blanks_say_nothing_but_in_strings() {
        let value = br#"{ "a b" : [ 1 ,"\" c" ],"d\\":"x y" , "e" : null}"#;
        assert_eq!(without_blanks(value), br#"{"a b":[1,"\" c"],"d\\":"x y","e":null}"#);
        assert_eq!(without_blanks(b"[\n\t1,\r\n2]"), b"[1,2]");
    }

    #[test]
    fn json_is_told_from_other_text() {
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
