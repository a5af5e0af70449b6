//! Messages of both ends of a Phoenix channel when one is joined.

use wire::{DialectId, Room};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const V2: &str = "/socket/websocket?vsn=2.0.0";
pub(crate) const JOIN: &str = r#"["1","1","room:lobby","phx_join",{}]"#;
pub(crate) const JOINED: &str = r#"["1","1","room:lobby","phx_reply",{"response":{},"status":"ok"}]"#;
pub(crate) const JOIN_V1: &str = r#"{"topic":"room:lobby","event":"phx_join","payload":{},"ref":"1"}"#;
pub(crate) const JOINED_V1: &str =
    r#"{"event":"phx_reply","payload":{"response":{},"status":"ok"},"ref":"1","topic":"room:lobby"}"#;

/// The room of a topic's members that use this version of the serializer.
pub(crate) fn room(version: u8) -> Room {
    // The two serializers are numbered from 0.
    Room::of(DialectId::Phoenix, version - 1, b"room:lobby")
}
