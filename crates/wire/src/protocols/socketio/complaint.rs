//! The server's complaints about requests.

use codec::http::answer::AnswerHead;

/// The fault of a request, as engine.io numbers it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Complaint {
    code: u8,
    message: &'static str,
}

const fn complaint(code: u8, message: &'static str) -> Complaint {
    Complaint { code, message }
}

pub(crate) const UNKNOWN_TRANSPORT: Complaint = complaint(0, "Transport unknown");
pub(crate) const UNKNOWN_SESSION: Complaint = complaint(1, "Session ID unknown");
pub(crate) const BAD_METHOD: Complaint = complaint(2, "Bad handshake method");
pub(crate) const BAD_REQUEST: Complaint = complaint(3, "Bad request");
pub(crate) const FORBIDDEN: Complaint = complaint(4, "Forbidden");
pub(crate) const UNKNOWN_VERSION: Complaint = complaint(5, "Unsupported protocol version");

/// Writes what is wrong with a request for a WebSocket, as engine.io does.
pub(crate) fn write_in_words(head: &AnswerHead, out: &mut Vec<u8>, status: u16, complaint: Complaint) {
    head.write_whole(out, status, Some("text/html"), complaint.message.as_bytes());
}

/// Writes what is wrong with a request.
pub(crate) fn write(head: &AnswerHead, out: &mut Vec<u8>, status: u16, complaint: Complaint) {
    let Complaint { code, message } = complaint;
    let body = format!(r#"{{"code":{code},"message":"{message}"}}"#);
    head.write_whole(out, status, Some("application/json"), body.as_bytes());
}
