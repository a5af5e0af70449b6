//! websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself,
//! and so is the answer to a message that belongs to neither. Only a broadcast has to be told apart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
const HEADER_BYTES: usize = 1 + 4;
const TIME_BYTES: usize = 8;

#[derive(Deserialize, Serialize)]
struct JsonMessage<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
}

/// The message that the sender of a broadcast gets besides its own copy, or nothing if the message is no broadcast.
pub fn broadcast_result(message: &Message) -> Option<Message> {
    match message {
        Message::Text(text) => json_result(text).map(Message::from),
        Message::Binary(data) => binary_result(data).map(Message::Binary),
        _ => None,
    }
}

fn json_result(text: &str) -> Option<String> {
    let mut message: JsonMessage = serde_json::from_str(text).ok()?;
    if message.kind != "broadcast" {
        return None;
    }
    message.kind = "broadcastResult".into();
    serde_json::to_string(&message).ok()
}

fn binary_result(data: &[u8]) -> Option<Bytes> {
    let (header, rest) = data.split_first_chunk::<HEADER_BYTES>()?;
    let [b'b', size @ ..] = *header else { return None };
    if rest.len() < TIME_BYTES || u32::from_be_bytes(size) as usize != rest.len() {
        return None;
    }
    Some([&[b'r'], &data[1..]].concat().into())
}
