//! What a request is, and which answer is a good one.

use serde::{Deserialize, Serialize};

use crate::config::{BadOption, Options, encode_fields};
use crate::http::fields;

/// The most requests under way on one connection.
pub const PIPELINING_MAX: u32 = 1024;

/// A client's choices for plain requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpOptions {
    /// The method.
    pub method: String,
    /// The body; `None` sends no body, nor its length.
    pub body: Option<Vec<u8>>,
    /// Whether a connection carries one request after the other, or each has its own.
    pub keep_alive: bool,
    /// Most requests under way on one connection.
    pub pipelining: u32,
    /// The good status codes, as ranges with both ends included.
    pub expect_status: Vec<(u16, u16)>,
    /// The one good body; `None`: any.
    pub expect_body: Option<Vec<u8>>,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            method: "GET".into(),
            body: None,
            keep_alive: true,
            pipelining: 1,
            expect_status: vec![(200, 299)],
            expect_body: None,
        }
    }
}

impl HttpOptions {
    pub(super) fn is_expected(&self, status: u16) -> bool {
        self.expect_status.iter().any(|&(first, last)| (first..=last).contains(&status))
    }

    fn check(&self) -> Result<(), BadOption> {
        let bad = |option, expected| Err(BadOption::OfDialect { option, expected });
        if !fields::is_token(self.method.as_bytes()) || self.method == "CONNECT" {
            return bad("method", "a method such as GET or POST");
        }
        if self.pipelining == 0 || self.pipelining > PIPELINING_MAX {
            return bad("pipelining", "from 1 to 1024 requests");
        }
        if self.pipelining > 1 && !self.keep_alive {
            return bad("keep_alive", "a kept connection: requests are to be pipelined");
        }
        if self.expect_status.iter().any(|&(first, last)| first < 200 || first > last || last > 599) {
            return bad("expect_status", "final status codes: 200 to 599");
        }
        Ok(())
    }
}

/// The whole request, which is the same every time.
pub(super) fn encode(options: &Options) -> Result<Vec<u8>, BadOption> {
    let http = &options.of_dialect.http;
    http.check()?;
    let mut request = Vec::new();
    for part in [&http.method, " ", &options.path, " HTTP/1.1\r\nHost: ", &options.host, "\r\n"] {
        request.extend_from_slice(part.as_bytes());
    }
    request.extend_from_slice(&encode_fields(options));
    if !http.keep_alive {
        request.extend_from_slice(b"Connection: close\r\n");
    }
    if let Some(body) = &http.body {
        request.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(http.body.as_deref().unwrap_or_default());
    Ok(request)
}
