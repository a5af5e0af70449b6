//! Summarises an answer in one line: the status in words, where it leads, and the first line of its body.

/// The most characters shown of a body.
const BODY_CHARS_MAX: usize = 120;

/// The parts of an answer that a person wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status; `None` if the answer is not HTTP/1.
    pub(crate) status: Option<u16>,
    reason: String,
    /// The destination of a redirect.
    pub(crate) location: Option<String>,
    /// The name that the server gives itself.
    pub(crate) server: Option<String>,
    /// The media type of the body, without parameters.
    pub(crate) content_type: Option<String>,
    /// The first line of the body, or the title of a page.
    pub(crate) body: Option<String>,
}

impl Answer {
    /// Reads an answer as it came, to be quoted and not acted upon: odd parts are left out, and HTTP/2 is not
    /// read.
    pub(crate) fn read(said: &[u8]) -> Answer {
        if !said.starts_with(b"HTTP/1.") {
            return Answer::default();
        }
        let text = String::from_utf8_lossy(said);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let mut parts = lines.next().unwrap_or_default().splitn(3, ' ').skip(1);
        let (status, reason) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
        let field = |name: &str| {
            let found = fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim())
        };
        let is_chunked = field("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
        // The first chunk is behind its size: for a line of it, no more need be taken apart.
        let body = if is_chunked { body.split_once("\r\n").map_or("", |(_, chunk)| chunk) } else { body };
        let is_text = field("content-encoding").is_none();
        Answer {
            status: status.parse().ok(),
            reason: readable(reason),
            location: field("location").map(readable),
            server: field("server").map(readable),
            content_type: field("content-type").and_then(|value| value.split(';').next()).map(readable),
            body: Some(first_line(body)).filter(|line| is_text && !line.is_empty()),
        }
    }

    /// `404 Not Found`.
    pub(crate) fn reason(&self, status: u16) -> String {
        format!("{status} {}", self.reason).trim_end().to_owned()
    }

    /// `401 Unauthorized: no token`, `301 Moved Permanently, which leads to https://…`.
    pub(crate) fn told(&self, status: u16) -> String {
        let status = self.reason(status);
        match (&self.location, &self.body) {
            (Some(location), _) => format!("{status}, which leads to {location}"),
            (None, Some(body)) => format!("{status}: {body}"),
            (None, None) => status,
        }
    }
}

/// The first line with words in it; of a page, its title.
fn first_line(body: &str) -> String {
    let title = body.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    if let Some((title, _)) = title {
        return readable(title.trim());
    }
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.starts_with('<') { String::new() } else { readable(line) }
}

fn readable(text: &str) -> String {
    let is_readable = |c: &char| stats::is_shown(*c) && *c != char::REPLACEMENT_CHARACTER;
    text.chars().filter(is_readable).take(BODY_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answer: &str) -> String {
        Answer::read(answer.as_bytes()).told(401)
    }

    #[test]
    fn an_answer_on_a_line() {
        for (answer, line) in [
            ("HTTP/1.1 401 Unauthorized\r\n\r\nno token\nat all", "401 Unauthorized: no token"),
            ("HTTP/1.1 401 Not You\r\nContent-Length: 0\r\n\r\n", "401 Not You"),
            ("HTTP/1.1 401\r\n\r\n\r\n  why\x1b[2J ", "401: why[2J"),
            ("HTTP/1.1 401 A\r\nlocation: https://b/c\r\n\r\nmoved", "401 A, which leads to https://b/c"),
            ("HTTP/1.1 401 A\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "401 A: hello"),
            ("HTTP/1.1 401 A\r\n\r\n<!doctype html>\n<title>Go away</title>", "401 A: Go away"),
            ("HTTP/1.1 401 A\r\n\r\n<html><body>", "401 A"),
            ("HTTP/1.1 401 A\r\nContent-Encoding: gzip\r\n\r\n~~~~", "401 A"),
            ("", "401"),
            ("\0\0\x12\x04\0\0\0\0\0\x08\x03401\x0f\x12\x1dTue, 24 Nov 2026 17:03:15 GMT", "401"),
        ] {
            assert_eq!(told(answer), line, "{answer:?}");
        }
    }
}
