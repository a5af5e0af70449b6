//! The server's complaints about requests.

use crate::http::answer::AnswerHead;

/// The fault of a request, as engine.io numbers it.
pub(crate) type Complaint = (u8, &'static str);

pub(crate) const UNKNOWN_TRANSPORT: Complaint = (0, "Transport unknown");
pub(crate) const UNKNOWN_SESSION: Complaint = (1, "Session ID unknown");
pub(crate) const BAD_METHOD: Complaint = (2, "Bad handshake method");
pub(crate) const BAD_REQUEST: Complaint = (3, "Bad request");
pub(crate) const FORBIDDEN: Complaint = (4, "Forbidden");
pub(crate) const UNKNOWN_VERSION: Complaint = (5, "Unsupported protocol version");

/// Writes what is wrong with a request for a WebSocket, as engine.io does.
pub(crate) fn write_in_words(head: &AnswerHead, out: &mut Vec<u8>, status: u16, (_, message): Complaint) {
    head.write_whole(out, status, Some("text/html"), message.as_bytes());
}

/// Writes what is wrong with a request.
pub(crate) fn write(head: &AnswerHead, out: &mut Vec<u8>, status: u16, (code, message): Complaint) {
    let body = format!(r#"{{"code":{code},"message":"{message}"}}"#);
    head.write_whole(out, status, Some("application/json"), body.as_bytes());
}
