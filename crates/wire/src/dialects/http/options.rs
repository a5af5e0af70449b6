//! What a request is, and which answer is a good one.

use serde::{Deserialize, Serialize};

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

/// What may be asked for twice (RFC 9110 §9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

impl HttpOptions {
    /// Whether a request may be sent again when nobody knows what became of it.
    pub(super) fn is_idempotent(&self) -> bool {
        IDEMPOTENT.contains(&self.method.as_str())
    }

    /// Whether an answer with this status is a good one.
    pub fn is_expected(&self, status: u16) -> bool {
        self.expect_status.iter().any(|&(first, last)| (first..=last).contains(&status))
    }
}
