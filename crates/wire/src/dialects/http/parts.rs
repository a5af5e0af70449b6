//! The request, encoded.

use super::options::{HttpOptions, PIPELINING_MAX};
use crate::dialects::parts::Parts;
use crate::http::fields;
use crate::options::{BadOption, Options};

/// The largest body of a request: what a message of a WebSocket may have unless more is asked for.
const BODY_BYTES_MAX: usize = 16 << 20;

/// The request, encoded.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    Ok(Parts { heads: [encode(options)?, Vec::new()], ..Parts::default() })
}

/// The whole request, which is the same every time.
fn encode(options: &Options) -> Result<Vec<u8>, BadOption> {
    let http = &options.of_dialect.http;
    check(http)?;
    let mut request = Vec::new();
    for part in [&http.method, " ", options.path.reveal(), " HTTP/1.1\r\nHost: ", &options.host, "\r\n"] {
        request.extend_from_slice(part.as_bytes());
    }
    request.extend_from_slice(&options.encode_fields());
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

fn check(http: &HttpOptions) -> Result<(), BadOption> {
    let bad = |option, expected| Err(BadOption::OfDialect { option, expected });
    if !fields::is_token(http.method.as_bytes()) || http.method == "CONNECT" {
        return bad("method", "a method such as GET or POST");
    }
    if http.body.as_ref().is_some_and(|body| body.len() > BODY_BYTES_MAX) {
        return bad("body", "at most 16 MiB");
    }
    if http.pipelining == 0 || http.pipelining > PIPELINING_MAX {
        return bad("pipelining", "from 1 to 1024 requests");
    }
    if http.pipelining > 1 && !http.keep_alive {
        return bad("keep_alive", "a kept connection: requests are to be pipelined");
    }
    if http.expect_status.iter().any(|&(first, last)| first < 200 || first > last || last > 599) {
        return bad("expect_status", "final status codes: 200 to 599");
    }
    Ok(())
}
