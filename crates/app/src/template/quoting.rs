//! How what stands in a hole is written: as the place around the hole wants it.

use codec::http::query::ESCAPED;
use codec::json;
use percent_encoding::percent_encode;
use serde::{Deserialize, Serialize};

/// How what stands in a hole is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quoting {
    /// The text stays as it is.
    #[default]
    Plain,
    /// The text becomes the inside of a JSON string, which stands in `within` other strings (RFC 8259 §7).
    Json {
        /// The number of strings around it.
        within: u8,
    },
    /// Percent-encoded, as in a path, a query and the value of a form (RFC 3986 §2.1).
    Percent,
}

impl Quoting {
    /// The inside of a JSON string.
    pub const JSON: Quoting = Quoting::Json { within: 0 };

    /// This quoting within a JSON string. Percent-encoded text has nothing to escape.
    pub(super) fn escaped(self) -> Quoting {
        match self {
            Quoting::Plain => Quoting::JSON,
            Quoting::Json { within } => Quoting::Json { within: within + 1 },
            Quoting::Percent => Quoting::Percent,
        }
    }

    /// A text, quoted.
    pub fn of(self, text: &str) -> String {
        let mut out = Vec::new();
        self.write(&mut out, text.as_bytes());
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Appends a text, quoted.
    pub(super) fn write(self, out: &mut Vec<u8>, text: &[u8]) {
        match self {
            Quoting::Plain => out.extend_from_slice(text),
            Quoting::Json { within: 0 } => json::escape(out, text),
            Quoting::Json { within } => {
                let mut once = Vec::with_capacity(2 * text.len());
                json::escape(&mut once, text);
                Quoting::Json { within: within - 1 }.write(out, &once);
            }
            Quoting::Percent => {
                for part in percent_encode(text, ESCAPED) {
                    out.extend_from_slice(part.as_bytes());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_own() {
        let written = |quoting: Quoting| quoting.of("a\"b é&\n");
        assert_eq!(written(Quoting::Plain), "a\"b é&\n");
        assert_eq!(written(Quoting::JSON), r#"a\"b é&\n"#);
        assert_eq!(written(Quoting::JSON.escaped()), r#"a\\\"b é&\\n"#);
        assert_eq!(written(Quoting::Percent), "a%22b%20%C3%A9%26%0A");
        assert_eq!(Quoting::Plain.escaped(), Quoting::JSON);
    }
}
