//! Requests and checks of their answers: whichever version of HTTP, or WebSocket, carries them.

mod answer;
mod options;
mod pieces;
mod script;
mod streaming;

pub(crate) use answer::Answer;
pub use options::HttpOptions;
pub(crate) use options::{NO_KEEP_ALIVE, PIPELINING, body_template};
pub(crate) use pieces::{BodyKind, PieceRules, Pieces};
pub(crate) use script::{ScriptedAnswer, ScriptedPart};
pub use streaming::{EndMark, StreamForm, StreamOptions};

/// Most requests that wait in one client. What comes up beyond is not sent, and so never answered.
pub(crate) const REQUESTS_MAX: usize = 1 << 20;
