//! Content codings, which nothing here undoes.

use std::fmt;

/// The content coding of a page (RFC 9110 §8.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`.
    Deflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
    /// Any other.
    Other,
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Coding {
    /// The coding of this name; `None` if the content is as it is.
    pub(crate) fn named(name: &[u8]) -> Option<Coding> {
        let known = [
            ("gzip", Coding::Gzip),
            ("x-gzip", Coding::Gzip),
            ("deflate", Coding::Deflate),
            ("br", Coding::Brotli),
            ("zstd", Coding::Zstd),
        ];
        if name.eq_ignore_ascii_case(b"identity") {
            return None;
        }
        let is_named = |(known, _): &&(&str, Coding)| name.eq_ignore_ascii_case(known.as_bytes());
        Some(known.iter().find(is_named).map_or(Coding::Other, |(_, coding)| *coding))
    }

    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Other => "unknown",
        }
    }
}
