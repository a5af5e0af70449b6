//! Frames of HTTP/2, put together and taken apart without the codec that is tested.

use codec::{Error, Http2Reason};
use wire::Failure;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
/// Flags of a head that is an answer.
pub(crate) const WHOLE: u8 = END_STREAM | END_HEADERS;

pub(crate) const OK: &[u8] = b"\x88";
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

pub(crate) fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = all
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

pub(crate) fn code(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

pub(crate) fn goaway(last: u32, number: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[code(last), code(number)].concat())
}

/// Kind, flags, stream and payload of a frame.
pub(crate) type Seen = (u8, u8, u32, Vec<u8>);

/// The frames in some output.
pub(crate) fn frames(mut out: &[u8]) -> Vec<Seen> {
    let mut all = Vec::new();
    while let [l0, l1, l2, kind, flags, s0, s1, s2, s3, rest @ ..] = out {
        let (payload, behind) = rest.split_at(u32::from_be_bytes([0, *l0, *l1, *l2]) as usize);
        all.push((*kind, *flags, u32::from_be_bytes([*s0, *s1, *s2, *s3]), payload.to_vec()));
        out = behind;
    }
    assert!(out.is_empty(), "half a frame");
    all
}

/// The failure of a connection whose peer broke this rule.
pub(crate) fn bad(reason: Http2Reason) -> Failure {
    Failure::Codec(Error::BadHttp2(reason))
}
