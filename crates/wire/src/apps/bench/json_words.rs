//! The words of websocket-bench's JSON protocol, as throng writes them: start, time, stamp, padding, end.

pub(super) const BEFORE_TIME_ECHO: &[u8] = br#"{"type":"echo","payload":{"sendTime":""#;
pub(super) const BEFORE_TIME_BROADCAST: &[u8] = br#"{"type":"broadcast","payload":{"sendTime":""#;
/// The text before a payload's time, wherever it stands.
pub(super) const BEFORE_TIME: &[u8] = br#"{"sendTime":""#;
pub(super) const BEFORE_STAMP: &[u8] = br#"","id":""#;
pub(super) const BEFORE_PADDING: &[u8] = br#"","padding":""#;
pub(super) const END: &[u8] = br#""}}"#;
/// Digits of a u64.
pub(super) const TIME_DIGITS_MAX: usize = 20;
