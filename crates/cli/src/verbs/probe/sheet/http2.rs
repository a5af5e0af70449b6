//! HTTP/2, and WebSockets over it (RFC 8441).

use std::time::Instant;

use serde_json::json;

use super::channel::{Channel, Lost, Way};
use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;
use super::websocket::ANSWER_MAX;

pub(super) static HTTP2: Probe = Probe::new(
    &[Topic { key: "http2", name: "HTTP/2", how: "read the server's SETTINGS" }],
    Needs::Server,
    http2,
);

/// The client's preface (RFC 9113 §3.4), and SETTINGS without a setting.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Bytes of a frame's header (§4.1), the kind of SETTINGS (§6.5), and bytes of a setting.
const HEADER_BYTES: usize = 9;
const SETTINGS: u8 = 4;
const SETTING_BYTES: usize = 6;
/// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3) and SETTINGS_MAX_CONCURRENT_STREAMS.
const ENABLE_CONNECT: u16 = 8;
const STREAMS_MAX: u16 = 3;

fn http2(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let none = || vec![Ok(Finding::new("none", json!({ "spoken": false, "websockets": false })))];
    let tls = tester.site.tls(Some("h2"), None)?;
    let mut channel = match Channel::open(tester, &Way { tls: tls.as_ref(), ..Way::default() }) {
        Err(Lost::Tls(_)) => return Ok(none()),
        opened => opened?,
    };
    // A server without ALPN may still have finished the handshake (RFC 7301 §3.2).
    if let (Some(of), Some(tls)) = (&channel.tls, &tls)
        && of.check_agreed(tls).is_err()
    {
        return Ok(none());
    }
    let until = Instant::now() + ANSWER_MAX;
    let settings = match channel.send(PREFACE, until) {
        Ok(()) => loop {
            if let Some(settings) = settings(&channel.received) {
                break settings;
            }
            match channel.receive(until) {
                Ok(true) => {}
                Err(lost @ Lost::Interrupted) => return Err(lost.into()),
                // A server of HTTP/1.1 answers as it likes to what it takes for a request.
                Ok(false) | Err(_) => break None,
            }
        },
        Err(lost @ Lost::Interrupted) => return Err(lost.into()),
        Err(_) => None,
    };
    let Some(settings) = settings else { return Ok(none()) };
    let value = |id| settings.iter().find(|(known, _)| *known == id).map(|(_, value)| *value);
    let (websockets, streams) = (value(ENABLE_CONNECT) == Some(1), value(STREAMS_MAX));
    let over = if websockets { "with WebSockets (RFC 8441)" } else { "without WebSockets (RFC 8441)" };
    let most = streams.map_or("any number of streams".to_owned(), |streams| {
        results::format::counted(streams.into(), "stream")
    });
    let data = json!({ "spoken": true, "websockets": websockets, "streams_max": streams });
    let finding = Finding::new(format!("spoken, {over}; {most} at once"), data);
    Ok(vec![Ok(if websockets {
        finding.allows("Browsers may use HTTP/2 here: compare with --http2.")
    } else {
        finding
    })])
}

/// The settings in the frame that comes first, if that is SETTINGS; `None` while more has to come;
/// `Some(None)`: something else.
fn settings(received: &[u8]) -> Option<Option<Vec<(u16, u32)>>> {
    let header = received.first_chunk::<HEADER_BYTES>()?;
    if header[3] != SETTINGS {
        return Some(None);
    }
    let bytes = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
    let payload = received[HEADER_BYTES..].get(..bytes)?;
    let setting = |setting: &[u8]| {
        let (id, value) = setting.split_first_chunk()?;
        Some((u16::from_be_bytes(*id), u32::from_be_bytes(value.try_into().ok()?)))
    };
    Some(Some(payload.chunks_exact(SETTING_BYTES).filter_map(setting).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_from_answers() {
        let frame = b"\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x08\0\0\0\x01";
        for bytes in 0..frame.len() {
            assert_eq!(settings(&frame[..bytes]), None, "{bytes}");
        }
        assert_eq!(settings(frame), Some(Some(vec![(3, 100), (8, 1)])));
        assert_eq!(settings(b"HTTP/1.1 400 Bad Request\r\n"), Some(None));
    }
}
