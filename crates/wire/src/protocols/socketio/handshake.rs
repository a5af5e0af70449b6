//! The first packet of an Engine.IO session, both ways.

use codec::json;

use super::heartbeat::Pace;
use super::version::Version;
use crate::failure::Failure;

/// The server's handshake of a new session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handshake<'a> {
    /// Names the session in later requests.
    pub(crate) sid: &'a [u8],
    /// A WebSocket may take the session over.
    pub(crate) has_upgrade: bool,
    pub(crate) pace: Pace,
    /// Most bytes of one message, or of packets joined; version 3 does not say.
    pub(crate) payload_bytes_max: Option<u64>,
}

impl<'a> Handshake<'a> {
    /// Reads the packet without its type. Times of nothing are refused, and of more than 49 days shortened.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Handshake<'a>, Failure> {
        let (mut sid, mut upgrades) = (None, false);
        let (mut interval, mut timeout, mut payload) = (None, None, None);
        let walked = json::object(text, |key, value| match key {
            b"sid" => sid = json::string(value),
            b"upgrades" => {
                let is_array = json::array(value, |item| upgrades |= item == br#""websocket""#);
                // Found in something that is no array after all, it counts for nothing.
                upgrades &= is_array.is_some();
            }
            b"pingInterval" => interval = json::decimal(value),
            b"pingTimeout" => timeout = json::decimal(value),
            b"maxPayload" => payload = json::decimal(value),
            _ => {}
        });
        let time = |ms: Option<u64>| match ms {
            Some(ms @ 1..) => Ok(ms.try_into().unwrap_or(u32::MAX)),
            _ => Err(Failure::BadMessage),
        };
        // What was read of an object that is broken further on does not count.
        let sid = walked.and(sid).filter(|sid| is_sid(sid)).ok_or(Failure::BadMessage)?;
        Ok(Handshake {
            sid,
            has_upgrade: upgrades,
            pace: Pace { interval_ms: time(interval)?, timeout_ms: time(timeout)? },
            payload_bytes_max: payload,
        })
    }

    /// Appends the packet, its type included.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) {
        let upgrades = if self.has_upgrade { r#""websocket""# } else { "" };
        out.extend_from_slice(br#"0{"sid":""#);
        out.extend_from_slice(self.sid);
        let rest = format!(
            r#"","upgrades":[{upgrades}],"pingInterval":{},"pingTimeout":{}"#,
            self.pace.interval_ms, self.pace.timeout_ms,
        );
        out.extend_from_slice(rest.as_bytes());
        if let (Version::V4, Some(bytes)) = (version, self.payload_bytes_max) {
            out.extend_from_slice(format!(r#","maxPayload":{bytes}"#).as_bytes());
        }
        out.push(b'}');
    }
}

/// Returns whether this can name a session: it goes into a query as it is.
fn is_sid(sid: &[u8]) -> bool {
    const SID_BYTES_MAX: usize = 128;
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    !sid.is_empty() && sid.len() <= SID_BYTES_MAX && sid.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &[u8] = br#"{"sid":"iQsve_rggjfvhuPlAAC_","upgrades":["websocket"],"pingInterval":300,"pingTimeout":200,"maxPayload":1000000}"#;

    #[test]
    fn as_recorded_from_socket_io_4_8() {
        let handshake = Handshake::parse(RECORDED).unwrap();
        assert_eq!(
            handshake,
            Handshake {
                sid: b"iQsve_rggjfvhuPlAAC_",
                has_upgrade: true,
                pace: Pace { interval_ms: 300, timeout_ms: 200 },
                payload_bytes_max: Some(1_000_000),
            }
        );
        let mut out = Vec::new();
        handshake.write(&mut out, Version::V4);
        assert_eq!(out, [b"0", RECORDED].concat());
        out.clear();
        handshake.write(&mut out, Version::V3);
        let end = out.len();
        assert!(out[..end].ends_with(br#""pingTimeout":200}"#), "{}", out.escape_ascii());
    }

    #[test]
    fn rare_heartbeats_are_shortened() {
        let good = std::str::from_utf8(RECORDED).unwrap();
        let rare = good.replacen(":300", ":604800000", 1).replacen(":200", ":4294967296", 1);
        let pace = Handshake::parse(rare.as_bytes()).unwrap().pace;
        assert_eq!(pace, Pace { interval_ms: 604_800_000, timeout_ms: u32::MAX });
    }

    #[test]
    fn invalid_handshakes_are_refused() {
        let good = std::str::from_utf8(RECORDED).unwrap();
        for (from, to) in [
            ("{", ""),
            ("\"sid\"", "\"id\""),
            ("iQsve", "iQ&sve"),
            ("iQsve_rggjfvhuPlAAC_", ""),
            (":300", ":0"),
            (":300", ":-1"),
            (":300", ":1e3"),
            (":200", ":99999999999999999999999"),
            ("\"pingTimeout\":200,", ""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_eq!(Handshake::parse(bad.as_bytes()), Err(Failure::BadMessage), "{bad}");
        }
        assert_eq!(Handshake::parse(b""), Err(Failure::BadMessage));
        let none = good.replace("[\"websocket\"]", "[\"webtransport\"]");
        assert!(!Handshake::parse(none.as_bytes()).unwrap().has_upgrade);
    }
}
