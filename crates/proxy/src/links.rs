//! Absolute links to the server, in pages, scripts and headers, that are made links to the proxy: in
//! portions, as bodies come.
//!
//! ```text
//! bytes --no beginning of a link--> passed on
//! bytes --a link, and what tells that its host ends there--> the proxy's in its place
//! bytes --what may become a link with what comes next--> held
//! the end --> what is held, by what is known of it
//! ```

use crate::upstream::Upstream;

/// Bytes behind a link that tell whether its host ends there: `:8`, `.t`.
const BEHIND_BYTES: usize = 2;

/// A text, and the one that takes its place.
#[derive(Clone)]
struct Pattern {
    from: Vec<u8>,
    to: Vec<u8>,
    /// True for one that begins with `//`: what stands before it tells it from a comment.
    is_relative: bool,
}

/// Links on their way through the proxy.
#[derive(Clone)]
pub(crate) struct Links {
    patterns: Vec<Pattern>,
    held: Vec<u8>,
    /// The byte before what is held.
    before: u8,
}

impl Links {
    /// Links to `upstream` become links to `own`, the host and port by which the client knows the proxy.
    pub(crate) fn to_proxy(upstream: &Upstream, own: &str) -> Links {
        let mut patterns = Vec::new();
        // A server without TLS has no links with it that would lead to the same server.
        let schemes: &[(&str, &str)] = match upstream.is_tls {
            true => &[("https", "http"), ("wss", "ws"), ("http", "http"), ("ws", "ws")],
            false => &[("http", "http"), ("ws", "ws")],
        };
        for name in upstream.authorities() {
            // As they are, and as JSON may have them.
            for slashes in ["//", "\\/\\/"] {
                let of = |from: &str, to: &str| Pattern {
                    from: format!("{from}{slashes}{name}").into_bytes(),
                    to: format!("{to}{slashes}{own}").into_bytes(),
                    is_relative: from.is_empty(),
                };
                let pairs = schemes.iter().map(|(from, to)| (format!("{from}:"), format!("{to}:")));
                patterns.extend(pairs.map(|(from, to)| of(&from, &to)));
                patterns.push(of("", ""));
            }
        }
        Links { patterns, held: Vec::new(), before: b' ' }
    }

    /// Passes a portion on, but for the beginning of a link at its end.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        self.pass(false, out);
    }

    /// Passes on what is held.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.pass(true, out);
    }

    /// A whole text with its links replaced.
    pub(crate) fn replaced(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut links = self.clone();
        links.push(text, &mut out);
        links.finish(&mut out);
        out
    }

    fn pass(&mut self, is_end: bool, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        let mut at = 0;
        while at < held.len() {
            let start = (at..held.len()).find(|at| may_begin(&held[*at..])).unwrap_or(held.len());
            out.extend_from_slice(&held[at..start]);
            self.before = held[..start].last().copied().unwrap_or(self.before);
            let rest = &held[start..];
            match self.find(rest, is_end) {
                Found::Link(pattern) => {
                    out.extend_from_slice(&pattern.to);
                    at = start + pattern.from.len();
                }
                Found::Perhaps => {
                    self.held = rest.to_vec();
                    return;
                }
                Found::Nothing => {
                    out.extend(rest.first());
                    at = start + 1;
                }
            }
            self.before = held[..at.min(held.len())].last().copied().unwrap_or(self.before);
        }
    }

    /// The link with which these bytes begin.
    fn find(&self, bytes: &[u8], is_end: bool) -> Found<'_> {
        let mut found = Found::Nothing;
        for pattern in &self.patterns {
            // `"//host/"` is a link, `// host` a comment.
            if pattern.is_relative && !matches!(self.before, b'"' | b'\'' | b'(' | b'=' | b'`') {
                continue;
            }
            match bytes.strip_prefix(pattern.from.as_slice()) {
                Some(behind) if !is_end && behind.len() < BEHIND_BYTES => found = Found::Perhaps,
                Some(behind) if is_host_over(behind) => return Found::Link(pattern),
                None if !is_end && !bytes.is_empty() && pattern.from.starts_with(bytes) => {
                    found = Found::Perhaps
                }
                _ => {}
            }
        }
        found
    }
}

/// Returns whether a link may begin with these bytes, of which there is one at least.
fn may_begin(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [b'h', b't', ..]
            | [b'w', b's', ..]
            | [b'/', b'/', ..]
            | [b'\\', b'/', ..]
            | [b'h' | b'w' | b'/' | b'\\']
    )
}

enum Found<'a> {
    Link(&'a Pattern),
    /// Undecided until more bytes come.
    Perhaps,
    Nothing,
}

/// Returns whether a host and port end where these bytes begin.
pub(crate) fn is_host_over(behind: &[u8]) -> bool {
    let next = behind.get(1).copied().unwrap_or_default();
    match behind.first() {
        Some(b'.') => !next.is_ascii_alphanumeric(),
        Some(b':') => !next.is_ascii_digit(),
        Some(b'-') => false,
        Some(byte) => !byte.is_ascii_alphanumeric(),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::upstream;

    const OWN: &str = "127.0.0.1:4000";

    fn replaced(url: &str, text: &str) -> String {
        String::from_utf8(Links::to_proxy(&upstream(url), OWN).replaced(text.as_bytes())).unwrap()
    }

    #[test]
    fn links_of_the_server_lead_to_the_proxy() {
        for (text, expected) in [
            ("https://app.test/a", "http://127.0.0.1:4000/a"),
            ("http://app.test", "http://127.0.0.1:4000"),
            ("wss://app.test:443/cable", "ws://127.0.0.1:4000/cable"),
            (r#""ws_url":"wss:\/\/app.test\/x""#, r#""ws_url":"ws:\/\/127.0.0.1:4000\/x""#),
            ("src=\"//app.test/a.js\"", "src=\"//127.0.0.1:4000/a.js\""),
            ("See https://app.test.", "See http://127.0.0.1:4000."),
            // Others' hosts, ports and comments stay.
            ("https://app.test.evil/", "https://app.test.evil/"),
            ("https://app.test:8443/", "https://app.test:8443/"),
            ("https://app.testing/", "https://app.testing/"),
            ("https://my.app.test/", "https://my.app.test/"),
            ("x //app.test", "x //app.test"),
            ("hwhttp:/", "hwhttp:/"),
        ] {
            assert_eq!(replaced("https://app.test", text), expected);
        }
        assert_eq!(replaced("http://app.test", "https://app.test/"), "https://app.test/");
        assert_eq!(replaced("http://127.0.0.1:3000", "'ws://localhost:3000/'"), "'ws://127.0.0.1:4000/'");
    }

    #[test]
    fn portions_give_the_same_text() {
        let text =
            b"<a href='https://app.test/x'>https://app.test.</a> wss://app.test:443 httpsx https://app.tes";
        let links = Links::to_proxy(&upstream("https://app.test"), OWN);
        let whole = links.replaced(text);
        for size in 1..text.len() {
            let (mut links, mut out) = (links.clone(), Vec::new());
            for chunk in text.chunks(size) {
                links.push(chunk, &mut out);
            }
            links.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&whole), "{size}");
        }
    }

    #[test]
    fn only_what_may_become_a_link_is_held() {
        let (mut links, mut out) = (Links::to_proxy(&upstream("https://app.test"), OWN), Vec::new());
        links.push(b"data: hello\n\n", &mut out);
        assert_eq!(out, b"data: hello\n\n");
        links.push(b"see https:/", &mut out);
        assert_eq!(out, b"data: hello\n\nsee ");
        links.push(b"/other.test/", &mut out);
        assert_eq!(out, b"data: hello\n\nsee https://other.test/");
    }
}
