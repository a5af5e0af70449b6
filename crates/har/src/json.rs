//! The values in a message, each with its place, so that one can be replaced and the rest stays as it was written.

use std::ops::Range;

/// Values of one message that are looked at.
const LEAVES_MAX: usize = 400;

/// A text, a number or a word (`true`, `null`) in a JSON message.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// Its pointer (RFC 6901).
    pub(crate) pointer: String,
    /// The last name in the pointer.
    pub(crate) key: String,
    /// Its place: of a text, without the quotation marks.
    pub(crate) range: Range<usize>,
    /// True if it stands in quotation marks.
    pub(crate) is_text: bool,
    /// The value, unescaped.
    pub(crate) value: String,
}

impl Leaf {
    /// Returns whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        !self.is_text && self.value.starts_with(|c: char| c == '-' || c.is_ascii_digit())
    }

    /// Returns whether a file can name its place.
    pub(crate) fn is_reachable(&self) -> bool {
        self.pointer.matches('/').count() <= app::places::POINTER_DEPTH_MAX
    }
}

/// The values of a message in their order; `None` if it is no JSON object or array.
pub(crate) fn leaves(text: &str) -> Option<Vec<Leaf>> {
    let mut found = Vec::new();
    walk(text, text, "", "", &mut found)?;
    Some(found)
}

fn walk(whole: &str, text: &str, pointer: &str, key: &str, found: &mut Vec<Leaf>) -> Option<()> {
    let text = text.trim();
    let of = |value: &[u8]| std::str::from_utf8(value).ok().map(str::to_owned);
    // A value is a part of the message: its place is how far it is from the beginning.
    let place = |value: &str| value.as_ptr().addr() - whole.as_ptr().addr();
    let part = |value: &[u8]| {
        let start = value.as_ptr().addr() - whole.as_ptr().addr();
        whole.get(start..start + value.len())
    };
    if found.len() >= LEAVES_MAX {
        return Some(());
    }
    match text.as_bytes().first()? {
        b'{' => codec::json::object(text.as_bytes(), |name, value| {
            let (Some(name), Some(value)) = (of(&codec::json::plain(name)), part(value)) else { return };
            let escaped = name.replace('~', "~0").replace('/', "~1");
            walk(whole, value, &format!("{pointer}/{escaped}"), &name, found);
        }),
        b'[' => {
            let mut at = 0;
            codec::json::array(text.as_bytes(), |value| {
                if let Some(value) = part(value) {
                    walk(whole, value, &format!("{pointer}/{at}"), key, found);
                }
                at += 1;
            })
        }
        _ if pointer.is_empty() => None,
        _ => {
            let inside = codec::json::string(text.as_bytes()).and_then(part);
            let plain = inside.unwrap_or(text);
            let value = match inside {
                Some(inside) => of(&codec::json::plain(inside.as_bytes())).unwrap_or_default(),
                None => text.to_owned(),
            };
            let range = place(plain)..place(plain) + plain.len();
            let (pointer, key) = (pointer.to_owned(), key.to_owned());
            found.push(Leaf { pointer, key, range, is_text: inside.is_some(), value });
            Some(())
        }
    }
}

/// The message with the values at these places replaced. What stays is kept from being read as a placeholder.
pub(crate) fn replaced(text: &str, leaves: &[Leaf], by: impl Fn(&Leaf) -> Option<String>) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for leaf in leaves {
        if let Some(placeholder) = by(leaf) {
            out += &without_placeholders(&text[at..leaf.range.start], "\\u007b");
            out += &placeholder;
            at = leaf.range.end;
        }
    }
    out + &without_placeholders(&text[at..], "\\u007b")
}

/// A text within a string of JSON, kept from being read as a placeholder.
pub(crate) fn in_string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    without_placeholders(&quoted[1..quoted.len() - 1], "\\u007b")
}

/// A text with this in place of each brace that would open a placeholder. Between JSON's own braces and a
/// letter, there is a quotation mark: all others are in strings, where an escape means the same.
pub(crate) fn without_placeholders(text: &str, brace: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let opens = letter == '{' && letters.peek().is_some_and(char::is_ascii_lowercase);
        if opens { out += brace } else { out.push(letter) }
    }
    out
}

/// The member of an object under this name, as it is written.
pub(crate) fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    codec::json::object(text.trim().as_bytes(), |key, value| {
        if key == name.as_bytes() {
            found = std::str::from_utf8(value).ok();
        }
    })?;
    found
}

/// The text that a member of an object is.
pub(crate) fn text_member(text: &str, name: &str) -> Option<String> {
    text_of(member(text, name)?)
}

/// The text that a value is, unescaped.
pub(crate) fn text_of(value: &str) -> Option<String> {
    let plain = codec::json::plain(codec::json::string(value.trim().as_bytes())?).into_owned();
    String::from_utf8(plain).ok()
}

/// The items of an array, as they are written.
pub(crate) fn items(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    codec::json::array(text.trim().as_bytes(), |item| found.extend(std::str::from_utf8(item).ok()))?;
    Some(found)
}

/// The members of an object but these, as an object.
pub(crate) fn without(text: &str, names: &[&str]) -> Option<String> {
    let mut kept = Vec::new();
    codec::json::object(text.trim().as_bytes(), |key, value| {
        let [key, value] = [key, value].map(|part| String::from_utf8_lossy(part).into_owned());
        if !names.contains(&key.as_str()) {
            kept.push(format!("\"{key}\":{value}"));
        }
    })?;
    Some(format!("{{{}}}", kept.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places() {
        let text = r#"{"type":"say", "line":{"te/xt":"a\"b","n":[7,true]}}"#;
        let found = leaves(text).unwrap();
        let shown: Vec<_> = found.iter().map(|leaf| (leaf.pointer.as_str(), leaf.value.as_str())).collect();
        assert_eq!(
            shown,
            [("/type", "say"), ("/line/te~1xt", "a\"b"), ("/line/n/0", "7"), ("/line/n/1", "true")]
        );
        let by = |leaf: &Leaf| (leaf.pointer == "/line/te~1xt").then(|| "{id}".to_owned());
        assert_eq!(replaced(text, &found, by), r#"{"type":"say", "line":{"te/xt":"{id}","n":[7,true]}}"#);
    }

    #[test]
    fn braces_in_texts_are_no_placeholders() {
        let text = r#"{"a":"{person.name}","{id}":{}}"#;
        let found = leaves(text).unwrap();
        assert_eq!(replaced(text, &found, |_| None), r#"{"a":"\u007bperson.name}","\u007bid}":{}}"#);
    }

    #[test]
    fn texts_that_are_no_json_have_none() {
        for text in ["", "hello", "7", "\"x\"", "{", &"[".repeat(100_000)] {
            assert!(leaves(text).is_none(), "{text:.10}");
        }
    }
}
