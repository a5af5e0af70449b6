//! WebSocket bytes by hand (RFC 6455), for peers that must be able to get them wrong. Nothing here is throng's code:
//! a mistake in its codec cannot hide behind the same mistake in the test.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha1::{Digest, Sha1};

pub const TEXT: u8 = 0x81;
pub const BINARY: u8 = 0x82;
pub const CLOSE: u8 = 0x88;
pub const PING: u8 = 0x89;
pub const PONG: u8 = 0x8a;

/// The bit added to the first byte of a compressed message (RFC 7692 §6).
pub const RSV1: u8 = 0x40;

/// A client's request for a WebSocket, with the key of §1.2's example.
pub const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                           Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// The mask of all our frames: nothing here depends on its being random.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// The answer to a client's key (§4.2.2).
pub fn accept_key(key: &str) -> String {
    BASE64.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")))
}

/// A server's frame: `first` holds FIN, the reserved bits and the opcode.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    [header(first, 0, payload.len()), payload.to_vec()].concat()
}

/// A client's frame.
pub fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let masked: Vec<u8> = payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    [header(first, 0x80, payload.len()), MASK.to_vec(), masked].concat()
}

/// The body of a close frame.
pub fn close_body(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason.as_bytes()].concat()
}

/// The header in its shortest form (§5.2), without a masking key.
fn header(first: u8, mask_bit: u8, length: usize) -> Vec<u8> {
    match length {
        0..=125 => vec![first, mask_bit | length as u8],
        126..=0xffff => [&[first, mask_bit | 126][..], &(length as u16).to_be_bytes()].concat(),
        _ => [&[first, mask_bit | 127][..], &(length as u64).to_be_bytes()].concat(),
    }
}

/// Takes one frame from the front of the bytes: its first byte and its payload, unmasked. `None` if it is not whole.
pub fn take_frame(bytes: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let (&first, &second) = (bytes.first()?, bytes.get(1)?);
    let (length, mut at) = match second & 0x7f {
        126 => (usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().unwrap())), 4),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().unwrap()) as usize, 10),
        length => (usize::from(length), 2),
    };
    let mut mask = [0; 4];
    if second & 0x80 != 0 {
        mask.copy_from_slice(bytes.get(at..at + 4)?);
        at += 4;
    }
    let payload = bytes.get(at..at + length)?;
    let payload = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    bytes.drain(..at + length);
    Some((first, payload))
}

/// A compressed message that inflates to so many MiB of zeros, a thousand times its size. A flushed block stands for
/// itself, so that it may come again and again.
pub fn bomb(mebibytes: usize) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&[0; 1 << 20]).unwrap();
    encoder.flush().unwrap();
    encoder.get_ref().repeat(mebibytes)
}
