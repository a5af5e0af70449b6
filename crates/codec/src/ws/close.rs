//! The close frame's payload (RFC 6455 §5.5.1, §7.4).

use super::utf8;
use crate::error::Reason;

/// A close frame without a code is reported as this (§7.1.5).
pub const NO_CODE: u16 = 1005;

/// The purpose of the connection is fulfilled (§7.4.1).
pub const NORMAL: u16 = 1000;
/// An endpoint goes away, such as a server that shuts down (§7.4.1).
pub const GOING_AWAY: u16 = 1001;
/// The peer has done what the endpoint does not allow (§7.4.1).
pub const POLICY: u16 = 1008;

/// The code in a close frame's payload, [`NO_CODE`] for an empty one.
pub fn parse(payload: &[u8]) -> Result<u16, Reason> {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return if payload.is_empty() { Ok(NO_CODE) } else { Err(Reason::BadClose) };
    };
    let code = u16::from_be_bytes(*code);
    if !may_be_sent(code) {
        return Err(Reason::BadClose);
    }
    utf8::check(reason).map_err(|_| Reason::BadUtf8)?;
    Ok(code)
}

/// Returns whether an endpoint may put the code into a close frame: §7.4.1, the IANA registry (1012–1014),
/// and the ranges of §7.4.2 for libraries (3000s) and applications (4000s).
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_reasons() {
        assert_eq!(parse(b""), Ok(NO_CODE));
        assert_eq!(parse(b"\x03"), Err(Reason::BadClose));
        assert_eq!(parse(b"\x03\xe8"), Ok(1000));
        assert_eq!(parse(b"\x13\x87why"), Ok(4999));
        assert_eq!(parse(b"\x03\xe8\xce\xba\xff"), Err(Reason::BadUtf8));
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535] {
            assert_eq!(parse(&u16::to_be_bytes(code)), Err(Reason::BadClose), "{code}");
        }
        for code in [1000, 1003, 1007, 1011, 1014, 3000, 3999, 4000] {
            assert_eq!(parse(&u16::to_be_bytes(code)), Ok(code));
        }
    }
}
