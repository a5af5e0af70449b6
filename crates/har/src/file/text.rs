//! Texts as recordings have them: null is none, half a character is replaced, and what is too long is cut.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// Bytes of one text that are kept: a page or a message that says what a file needs has a hundredth of it, and
/// a copy of each stands beside the recording in memory.
pub(crate) const TEXT_BYTES_MAX: usize = 4 << 20;
/// A character that was cut in two is replaced by one of this length, or is left out.
const CHARACTER_BYTES_MAX: usize = 4;

/// Reads what may be null.
pub(super) fn or_empty<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Returns whether a text may have been cut.
pub(super) fn is_cut(text: &str) -> bool {
    text.len() + CHARACTER_BYTES_MAX > TEXT_BYTES_MAX
}

/// Reads a text.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(some_text(deserializer)?.unwrap_or_default())
}

/// Reads a text that says something by its absence.
pub(super) fn some_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Text>::deserialize(deserializer)?.map(|text| text.0))
}

/// Reads a text that never grows.
pub(super) fn boxed_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<str>, D::Error> {
    Ok(text(deserializer)?.into_boxed_str())
}

struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        // As a text, it would be refused for a half of a character, such as `\ud800` where JavaScript has cut it
        // (RFC 8259 §8.2).
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
        Ok(Text(String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into_owned()))
    }
}
