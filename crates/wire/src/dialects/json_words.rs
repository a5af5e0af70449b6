//! The words of websocket-bench's JSON protocol, as throng writes them: start, time, stamp, padding, end.

pub(crate) const BEFORE_TIME_ECHO: &[u8] = br#"{"type":"echo","payload":{"sendTime":""#;
pub(crate) const BEFORE_TIME_BROADCAST: &[u8] = br#"{"type":"broadcast","payload":{"sendTime":""#;
pub(crate) const BEFORE_STAMP: &[u8] = br#"","id":""#;
pub(crate) const BEFORE_PADDING: &[u8] = br#"","padding":""#;
pub(crate) const END: &[u8] = br#""}}"#;
/// Digits of a u64.
pub(crate) const TIME_DIGITS_MAX: usize = 20;
