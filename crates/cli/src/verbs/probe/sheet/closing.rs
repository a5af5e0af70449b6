//! The end of a WebSocket, with the server's close frame or without one.

use std::fmt;

use serde_json::{Value, json};

use super::channel::Lost;
use super::row::NotTried;

/// The end of a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closing {
    /// The code of the server's close frame, if there was one.
    pub(super) code: Option<u16>,
    /// The server's reason.
    pub(super) reason: String,
    /// The end of the connection.
    pub(super) end: Lost,
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.reason.as_str()) {
            (Some(code), "") => write!(f, "close code {code}"),
            (Some(code), reason) => write!(f, "close code {code} {reason:?}"),
            (None, "") => write!(f, "{} without a close frame", self.end),
            (None, reason) => write!(f, "{}, {reason}", self.end),
        }
    }
}

impl Closing {
    /// The name in JSON: the code, or how the connection ended.
    pub(super) fn key(&self) -> Value {
        self.code.map_or_else(|| self.end.key().into(), Value::from)
    }

    /// The fields of JSON.
    pub(super) fn json(&self) -> Value {
        json!({ "code": self.code, "reason": self.reason, "end": self.end.key() })
    }
}

impl From<Closing> for NotTried {
    fn from(closing: Closing) -> NotTried {
        NotTried(match closing.end {
            Lost::Interrupted => "interrupted".to_owned(),
            Lost::Broken => format!("the server sent {}", closing.reason),
            _ => format!("the server closes before it can be found: {closing}"),
        })
    }
}
