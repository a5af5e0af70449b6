//! Values in JSON by their pointer (RFC 6901), found by a scan: no tree, no recursion, whatever the depth.

use std::borrow::Cow;

use codec::json;
use codec::json::scan::Scan;

use crate::app_file::JsonScalar;

/// The most keys in a pointer.
pub const POINTER_DEPTH_MAX: usize = 16;

/// A pointer, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer {
    keys: Vec<String>,
}

impl Pointer {
    /// Reads a pointer: empty, or each key with a `/` before it, in which `~1` is a `/` and `~0` a `~`.
    pub fn parse(text: &str) -> Option<Pointer> {
        let mut parts = text.split('/');
        if !parts.next()?.is_empty() {
            return None;
        }
        let keys: Option<Vec<String>> = parts.map(unescaped_key).collect();
        keys.filter(|keys| keys.len() <= POINTER_DEPTH_MAX).map(|keys| Pointer { keys })
    }

    /// Returns whether the value there is this one. Of a key that is there twice, the first counts.
    #[inline]
    pub(crate) fn leads_to(&self, message: &[u8], value: &JsonScalar) -> bool {
        self.follow(message).is_some_and(|mut scan| is_value(&mut scan, value))
    }

    /// The value there as text: a string without its escapes, a number or a word as it is written.
    pub fn value<'a>(&self, message: &'a [u8]) -> Option<Cow<'a, str>> {
        let mut scan = self.follow(message)?;
        if scan.peek()? != b'"' {
            let word = scan.word();
            return std::str::from_utf8(word).ok().filter(|word| !word.is_empty()).map(Cow::Borrowed);
        }
        let raw = scan.string()?;
        match memchr::memchr(b'\\', raw) {
            None => std::str::from_utf8(raw).ok().map(Cow::Borrowed),
            Some(_) => String::from_utf8(json::unescape(raw)?).ok().map(Cow::Owned),
        }
    }

    /// The value there as it is written: a whole object, too.
    #[inline]
    pub fn written<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]> {
        self.follow(message)?.value()
    }

    #[inline]
    fn follow<'a>(&self, message: &'a [u8]) -> Option<Scan<'a>> {
        let mut scan = Scan::new(message);
        self.keys.iter().try_for_each(|key| enter(&mut scan, key))?;
        Some(scan)
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
        self.keys.iter().try_for_each(|key| write!(f, "/{}", escaped(key)))
    }
}

fn unescaped_key(key: &str) -> Option<String> {
    // Other escapes are errors in RFC 6901, section 3.
    let sound = key.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    // In this order (section 4), or ~01 would become a slash.
    sound.then(|| key.replace("~1", "/").replace("~0", "~"))
}

/// Goes on to the value of a key of the object, or to an element of the array, that comes next.
fn enter(scan: &mut Scan<'_>, key: &str) -> Option<()> {
    if scan.token(b'{').is_some() {
        loop {
            let found = is_string(scan.string()?, key);
            scan.token(b':')?;
            if found {
                return Some(());
            }
            scan.skip_value()?;
            scan.token(b',')?;
        }
    }
    scan.token(b'[')?;
    // Only behind the bracket: in an object, digits are a key like any other.
    let index: usize = key.parse().ok()?;
    // An empty array has no element 0.
    if scan.peek()? == b']' {
        return None;
    }
    for _ in 0..index {
        scan.skip_value()?;
        scan.token(b',')?;
    }
    Some(())
}

fn is_value(scan: &mut Scan<'_>, value: &JsonScalar) -> bool {
    match value {
        JsonScalar::Text(text) => scan.string().is_some_and(|raw| is_string(raw, &text.written)),
        JsonScalar::Bare(word) => scan.peek().is_some() && scan.word() == word.as_bytes(),
    }
}

/// Returns whether a string with its escapes (RFC 8259 §7) is this text.
fn is_string(raw: &[u8], text: &str) -> bool {
    if memchr::memchr(b'\\', raw).is_none() {
        return raw == text.as_bytes();
    }
    json::unescape(raw).is_some_and(|plain| plain == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(pointer: &str, message: &str, value: JsonScalar) -> bool {
        Pointer::parse(pointer).expect(pointer).leads_to(message.as_bytes(), &value)
    }

    fn text(value: &str) -> JsonScalar {
        JsonScalar::Text(value.into())
    }

    fn bare(value: &str) -> JsonScalar {
        JsonScalar::Bare(value.into())
    }

    #[test]
    fn values_are_found_by_their_pointer() {
        let message =
            r#" { "a" : [ {"b":"no"} , {"b":"yes","c":-1.5e3} ], "t":true , "x":"z", "a~/":"odd", "":0 } "#;
        assert!(leads("/a/1/b", message, text("yes")));
        assert!(leads("/a/0/b", message, text("no")));
        assert!(leads("/a/1/c", message, bare("-1.5e3")));
        assert!(leads("/t", message, bare("true")));
        assert!(leads("/a~0~1", message, text("odd")));
        assert!(leads("/", message, bare("0")));
        assert!(leads("", "\"whole\"", text("whole")));
        assert!(leads("/0", "[true]", bare("true")));
        for (pointer, value) in [
            ("/a/2/b", text("yes")),
            ("/a/1/b", text("ye")),
            ("/a/b", text("yes")),
            ("/b", text("yes")),
            ("/x/z", text("z")),
            ("/t", text("true")),
            ("/x", bare("z")),
            ("/a/1/c", bare("-1")),
            ("/a", text("a")),
        ] {
            assert!(!leads(pointer, message, value), "{pointer}");
        }
    }

    #[test]
    fn a_value_is_told_as_text() {
        let message = br#"{"a":{"t":"x\"\u00e9","n":-1.5e3,"o":{},"l":[true]},"e":"","s":"plain"}"#;
        let told = |pointer: &str| Pointer::parse(pointer).unwrap().value(message).map(Cow::into_owned);
        for (pointer, text) in
            [("/a/t", "x\"é"), ("/a/n", "-1.5e3"), ("/a/l/0", "true"), ("/e", ""), ("/s", "plain")]
        {
            assert_eq!(told(pointer).as_deref(), Some(text), "{pointer}");
        }
        for none in ["/a", "/a/o", "/a/l", "/b", "/s/x"] {
            assert_eq!(told(none), None, "{none}");
        }
        assert_eq!(Pointer::parse("/a").unwrap().value(br#"{"a":"cut of"#), None);
    }

    #[test]
    fn escapes_in_keys_and_values_are_understood() {
        let message = r#"{"\u0074ype":"\/a\"\\\n\u00e9\ud83d\ude00é"}"#;
        assert!(leads("/type", message, text("/a\"\\\n\u{e9}😀é")));
        for broken in [r#"{"t":"\ud83d"}"#, r#"{"t":"\ud83dx"}"#, r#"{"t":"\u00"}"#, r#"{"t":"\uzzzz"}"#] {
            assert!(!leads("/t", broken, text("\u{fffd}")), "{broken}");
        }
    }

    #[test]
    fn damaged_json_is_no_match_and_no_panic() {
        let message = r#"{"a":[1,{"b":"\u0041"}],"c":{"d":"e"}}"#;
        for end in 0..message.len() - 5 {
            assert!(!leads("/c/d", &message[..end], text("e")), "{}", &message[..end]);
        }
        let deep = format!("{{\"a\":{}", "[{\"x\":".repeat(100_000));
        assert!(!leads("/b", &deep, bare("1")));
        for odd in ["", "{", "[", "[]", "{}", "[,]", "{\"a\"}", "{\"a\":}", "\u{feff}{}", "nul"] {
            assert!(!leads("/a", odd, bare("1")) && !leads("/0", odd, bare("1")), "{odd}");
        }
    }

    #[test]
    fn pointers_that_are_none() {
        for bad in ["a", "a/b", "/~", "/~2", "/a~"] {
            assert_eq!(Pointer::parse(bad), None, "{bad}");
        }
        assert!(Pointer::parse(&"/a".repeat(POINTER_DEPTH_MAX)).is_some());
        assert!(Pointer::parse(&"/a".repeat(POINTER_DEPTH_MAX + 1)).is_none());
    }
}
