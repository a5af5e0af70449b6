//! Packets joined into the body of a request or an answer.
//!
//! ```text
//! version 4: <packet>RS<packet>RS…          an attachment is b and its bytes in base64
//! version 3: <length>:<packet><length>:…    in characters of UTF-16; an attachment is b4 and its bytes in base64
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Between two packets, since version 4: the record separator of ASCII.
const SEPARATOR: u8 = 0x1e;

/// Appends a packet of text, in parts, with a separator before it.
pub(crate) fn push_text(packets: &mut Vec<u8>, parts: &[&[u8]]) {
    packets.push(SEPARATOR);
    parts.iter().for_each(|part| packets.extend_from_slice(part));
}

/// Appends an attachment, with a separator before it.
pub(crate) fn push_attachment(packets: &mut Vec<u8>, bytes: &[u8]) {
    packets.extend_from_slice(&[SEPARATOR, b'b']);
    let start = packets.len();
    packets.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut packets[start..]);
    debug_assert_eq!(written, Ok(packets.len() - start));
}
