//! Options of requests and their answers. They have a verb of its own, `throng http`, and so a type.

use app::template::{CompiledTemplate, Quoting};
use codec::http::request;

use super::streaming::StreamOptions;
use crate::options::{BadOption, Options};
use crate::settings::{Settings, Value};

/// A client's choices for plain requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// The method.
    pub method: String,
    /// The body; `None` sends no body, nor its length.
    pub body: Option<Vec<u8>>,
    /// True if a connection carries one request after the other, or each has its own.
    pub keep_alive: bool,
    /// Most requests under way on one connection: one behind the other, or on streams of their own.
    pub pipelining: u32,
    /// The good status codes, as ranges with both ends included.
    pub expect_status: Vec<(u16, u16)>,
    /// The one good body; `None`: any.
    pub expect_body: Option<Vec<u8>>,
    /// True if names in braces in the body stand for each client's own values.
    pub is_template: bool,
    /// Answers that come in pieces; `None`: whole ones.
    pub stream: Option<StreamOptions>,
}

/// The most requests under way on one connection.
const PIPELINING_MAX: u32 = 1024;

/// Methods that may be sent twice (RFC 9110 §9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

const METHOD: &str = "method";
const BODY: &str = "body";
pub(crate) const NO_KEEP_ALIVE: &str = "no-keep-alive";
pub(crate) const PIPELINING: &str = "pipelining";
const EXPECT_STATUS: &str = "expect-status";
const EXPECT_BODY: &str = "expect-body";
const IS_TEMPLATE: &str = "body-template";

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            method: "GET".into(),
            body: None,
            keep_alive: true,
            pipelining: 1,
            expect_status: vec![(200, 299)],
            expect_body: None,
            is_template: false,
            stream: None,
        }
    }
}

impl From<HttpOptions> for Settings {
    fn from(options: HttpOptions) -> Settings {
        let HttpOptions { method, body, keep_alive, pipelining, expect_status, .. } = options;
        let HttpOptions { expect_body, is_template, stream, .. } = options;
        let ranges: Vec<String> =
            expect_status.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        let mut settings = Settings::default()
            .with(METHOD, method)
            .with(PIPELINING, u64::from(pipelining))
            .with(EXPECT_STATUS, ranges.join(","));
        for (name, bytes) in [(BODY, body), (EXPECT_BODY, expect_body)] {
            if let Some(bytes) = bytes {
                settings = settings.with(name, bytes);
            }
        }
        let switches = [(NO_KEEP_ALIVE, !keep_alive), (IS_TEMPLATE, is_template)];
        for (name, _) in switches.into_iter().filter(|(_, is_on)| *is_on) {
            settings = settings.with(name, Value::On);
        }
        match stream {
            Some(stream) => stream.put(settings),
            None => settings,
        }
    }
}

impl From<&Settings> for HttpOptions {
    fn from(settings: &Settings) -> HttpOptions {
        let usual = HttpOptions::default();
        let range = |text: &str| {
            let (first, last) = text.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        let ranges = |text: &str| text.split(',').filter_map(range).collect();
        let pipelining = settings.number(PIPELINING).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        HttpOptions {
            method: settings.text(METHOD).map_or(usual.method, str::to_owned),
            body: settings.bytes(BODY).map(<[u8]>::to_vec),
            keep_alive: !settings.is_on(NO_KEEP_ALIVE),
            pipelining: pipelining.unwrap_or(usual.pipelining),
            expect_status: settings.text(EXPECT_STATUS).map_or(usual.expect_status, ranges),
            expect_body: settings.bytes(EXPECT_BODY).map(<[u8]>::to_vec),
            is_template: settings.is_on(IS_TEMPLATE),
            stream: StreamOptions::of(settings),
        }
    }
}

impl HttpOptions {
    /// The largest body of a request: what a message of a WebSocket may have unless more is asked for. Each
    /// process of a run has it in its memory.
    pub const BODY_BYTES_MAX: usize = 16 << 20;

    /// Refuses options that cannot be carried out in any version of HTTP.
    pub(crate) fn check(&self) -> Result<(), BadOption> {
        let bad = |option, expected| Err(BadOption::OfDialect { option, expected });
        if !request::is_method(&self.method) {
            return bad(METHOD, "a method such as GET or POST");
        }
        if self.body.as_ref().is_some_and(|body| body.len() > Self::BODY_BYTES_MAX) {
            return bad("body or --input", "at most 16 MiB");
        }
        if self.pipelining == 0 || self.pipelining > PIPELINING_MAX {
            return bad(PIPELINING, "from 1 to 1024 requests");
        }
        if self.pipelining > 1 && !self.keep_alive {
            return bad(NO_KEEP_ALIVE, "a kept connection: requests are to be pipelined");
        }
        if self.expect_status.iter().any(|&(first, last)| first < 200 || first > last || last > 599) {
            return bad(EXPECT_STATUS, "final status codes: 200 to 599");
        }
        Ok(())
    }

    /// Returns whether a request may be sent again when its outcome is unknown.
    pub(crate) fn is_idempotent(&self) -> bool {
        IDEMPOTENT.contains(&self.method.as_str())
    }

    /// Returns whether an answer with this status is a good one.
    pub fn is_expected(&self, status: u16) -> bool {
        self.expect_status.iter().any(|&(first, last)| (first..=last).contains(&status))
    }
}

/// The body in which people's names stand for what is each client's own, if it is one.
pub(crate) fn body_template(
    options: &Options,
    http: &HttpOptions,
) -> Result<Option<CompiledTemplate>, BadOption> {
    let Some(body) = http.body.as_ref().filter(|_| http.is_template) else { return Ok(None) };
    let expected = "text: with --users, what is in braces is each client's own";
    let text = std::str::from_utf8(body).map_err(|_| BadOption::OfDialect { option: "body", expected })?;
    Ok(Some(CompiledTemplate::from(&options.template(text, Quoting::JSON)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asking::{EndMark, StreamForm};

    #[test]
    fn options_round_trip() {
        let all = HttpOptions {
            method: "POST".into(),
            body: Some(vec![0, 255]),
            keep_alive: false,
            pipelining: 7,
            expect_status: vec![(200, 299), (404, 404)],
            expect_body: Some(Vec::new()),
            is_template: true,
            stream: Some(StreamOptions {
                form: Some(StreamForm::Lines),
                end: Some(EndMark::parse("/done=true")),
                tokens: Some("/response".into()),
                order: Some("/n".into()),
                stall_times: 3,
            }),
        };
        for options in [HttpOptions::default(), all] {
            assert_eq!(HttpOptions::from(&Settings::from(options.clone())), options);
        }
        assert_eq!(HttpOptions::from(&Settings::default()), HttpOptions::default());
    }
}
