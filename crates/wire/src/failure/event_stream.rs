//! Failures of event streams.

use std::fmt;

use super::coding::Coding;

/// Reason why an event stream is of no further use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StreamReason {
    /// The answer to a request for one is something else.
    Media(Media),
    /// It is encoded so that it cannot be read.
    Encoded(Coding),
    /// The server has redirected the request over and over, or to where this client has no connection.
    Redirects,
    /// The server has ended it.
    End,
    /// The server has none for this client, and wants it not to ask again (HTML §9.2.3).
    NoContent,
}

/// The media type of an answer in place of an event stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Media {
    /// `text/html`.
    Html,
    /// `application/json` and its kin.
    Json,
    /// `text/plain`.
    Text,
    /// Any other.
    Other,
    /// The answer does not say.
    Unknown,
}

impl Media {
    /// The media type in a field `Content-Type`, but for its parameters; `None` if it is an event stream's.
    pub(crate) fn named(content_type: Option<&[u8]>) -> Option<Media> {
        let Some(value) = content_type else { return Some(Media::Unknown) };
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        let name = value[..end].trim_ascii().to_ascii_lowercase();
        match name.as_slice() {
            b"text/event-stream" => None,
            b"text/html" => Some(Media::Html),
            b"text/plain" => Some(Media::Text),
            json if json.ends_with(b"/json") || json.ends_with(b"+json") => Some(Media::Json),
            _ => Some(Media::Other),
        }
    }
}

impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Media::Html => "HTML",
            Media::Json => "JSON",
            Media::Text => "plain text",
            Media::Other => "another media type",
            Media::Unknown => "no Content-Type",
        })
    }
}

impl StreamReason {
    /// The name under which results count it.
    pub(super) fn name(self) -> &'static str {
        match self {
            StreamReason::Media(_) => "not_event_stream",
            StreamReason::Encoded(_) => "stream_encoded",
            StreamReason::Redirects => "stream_redirects",
            StreamReason::End => "stream_end",
            StreamReason::NoContent => "no_content",
        }
    }
}

impl fmt::Display for StreamReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamReason::Media(media) => write!(
                f,
                "the server answered with {media}, not with an event stream (Content-Type: text/event-stream); \
                 give the URL that the page's EventSource opens"
            ),
            StreamReason::Encoded(coding) => write!(
                f,
                "the event stream is compressed (Content-Encoding: {coding}), which throng does not ask for; \
                 switch off compression of text/event-stream"
            ),
            StreamReason::Redirects => f.write_str(
                "the event stream is redirected over and over, or to another server (https:// is another than \
                 http://); give the URL that it leads to",
            ),
            StreamReason::End => f.write_str("the server ended the event stream"),
            StreamReason::NoContent => f.write_str(
                "the server answered with HTTP 204: it has no event stream here, and clients are not to ask again",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `format-mime-*` of web-platform-tests, and what servers send in place of a stream.
    #[test]
    fn media_types_are_told_apart_by_essence() {
        for (value, media) in [
            ("text/event-stream", None),
            ("text/event-stream;", None),
            ("Text/Event-Stream ; charset=windows-1252", None),
            ("x bogus", Some(Media::Other)),
            ("text/x-bogus", Some(Media::Other)),
            ("text/event-stream-x", Some(Media::Other)),
            ("text/html; charset=utf-8", Some(Media::Html)),
            ("application/json", Some(Media::Json)),
            ("application/problem+json", Some(Media::Json)),
            ("text/plain", Some(Media::Text)),
        ] {
            assert_eq!(Media::named(Some(value.as_bytes())), media, "{value}");
        }
        assert_eq!(Media::named(None), Some(Media::Unknown));
    }
}
