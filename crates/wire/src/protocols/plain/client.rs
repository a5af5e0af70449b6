//! The client's side: no state.

use app::conditions::Opened;
use app::template::Filling;
use codec::ws::MessageType;
use codec::ws::receiver::Message;
use codec::{msgpack, varint};
use memchr::memmem::Finder;

use super::parts::{Parts, Reading};
use crate::carried::{
    Arrival, MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler, Shares, Spelling,
};
use crate::contract::ClientProtocol;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;

#[derive(Debug)]
pub(crate) struct Client;

impl ClientProtocol for Client {
    type Parts = Parts;

    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, Parts, I>, on: &mut impl ProtocolHandler) {
        on.handle(ProtocolEvent::Ready);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let bytes = message.bytes()?;
        if let Reading::Whole = link.parts.reading {
            on.handle(arrival(bytes, message.message_type, message.wire_bytes));
        } else {
            let &Message { message_type, wire_bytes, .. } = message;
            let frame = Frame { bytes, message_type, wire_bytes };
            hear_several(&link.parts.reading, &frame, on);
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) {
        if message_template.is_packed
            && let Some(packed) = packed(message_template, filling, &link.parts.reading)
        {
            return link.sender.message(link.io, MessageType::Binary, |out| out.extend_from_slice(&packed));
        }
        link.sender.message(link.io, message_template.message_type, |out| {
            message_template.text.write(out, filling, 0)
        });
    }
}

/// A message in MessagePack. `None`: it is no JSON. The file was held to that when it was read, but a cell of
/// the users' data may stand outside of quotes; the message then goes as the text that it is, for the server
/// to refuse.
#[inline(never)]
fn packed(message_template: &MessageTemplate, filling: &Filling<'_>, reading: &Reading) -> Option<Vec<u8>> {
    let (mut text, mut value) = (Vec::new(), Vec::new());
    message_template.text.write(&mut text, filling, 0);
    msgpack::encode(&mut value, &text)?;
    if !matches!(reading, Reading::MessagePack { delimited: true, .. }) {
        return Some(value);
    }
    let mut record = Vec::with_capacity(value.len() + size_of::<u32>());
    varint::extend(&mut record, value.len());
    record.extend_from_slice(&value);
    Some(record)
}

/// A frame received.
struct Frame<'a> {
    bytes: &'a [u8],
    message_type: MessageType,
    /// On the wire, compressed perhaps.
    wire_bytes: u32,
}

/// Tells what stands in a frame that may hold several messages: apart, so that a frame that is one does not
/// pay for it.
#[inline(never)]
fn hear_several(reading: &Reading, frame: &Frame<'_>, on: &mut impl ProtocolHandler) {
    match reading {
        Reading::Whole => {}
        Reading::Records(separator) => hear_records(separator, frame, on),
        Reading::MessagePack { delimited, line_end } => hear_values(*delimited, line_end, frame, on),
    }
}

/// Tells each record of a frame, of which the last need not end; empty ones are nothing. Of the frame's bytes
/// on the wire, each record has its share.
fn hear_records(separator: &Finder<'_>, frame: &Frame<'_>, on: &mut impl ProtocolHandler) {
    let &Frame { bytes, message_type, wire_bytes } = frame;
    let (mut shares, mut start) = (Shares::new(wire_bytes, bytes.len()), 0);
    while start < bytes.len() {
        let length = separator.find(&bytes[start..]);
        let record = &bytes[start..][..length.unwrap_or(bytes.len() - start)];
        start = length.map_or(bytes.len(), |length| start + length + separator.needle().len());
        if !record.is_empty() {
            on.handle(arrival(record, message_type, shares.next(start)));
        }
    }
}

/// Tells each value of a frame of MessagePack as JSON; a frame that is none as it is, as servers greet in
/// text.
fn hear_values(delimited: bool, line_end: &Finder<'_>, frame: &Frame<'_>, on: &mut impl ProtocolHandler) {
    match lines_of(delimited, frame) {
        Some(lines) => {
            let frame = Frame { bytes: &lines, message_type: MessageType::Text, ..*frame };
            hear_records(line_end, &frame, on);
        }
        None => on.handle(arrival(frame.bytes, frame.message_type, frame.wire_bytes)),
    }
}

/// The values of a frame as JSON, a line each; `None` if it is no MessagePack.
fn lines_of(delimited: bool, frame: &Frame<'_>) -> Option<Vec<u8>> {
    if frame.message_type == MessageType::Text {
        return None;
    }
    let (mut lines, mut rest) = (Vec::new(), frame.bytes);
    while !rest.is_empty() {
        let values = if delimited { varint::take(&mut rest)? } else { std::mem::take(&mut rest) };
        msgpack::decode(&mut lines, values)?;
    }
    Some(lines)
}

#[inline(always)]
fn arrival(text: &[u8], message_type: MessageType, bytes: u32) -> ProtocolEvent<'_> {
    let spelling = Spelling::Whole { message_type };
    ProtocolEvent::Arrival(Arrival {
        text,
        spelling,
        found: None,
        hint: MessageHint::Unknown,
        bytes,
        open: Opened::whole,
    })
}
