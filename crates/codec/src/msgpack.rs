//! MessagePack, and the JSON that says the same: messages are written and recognised as JSON, and travel in
//! this form.
//!
//! ```text
//! nil, booleans, numbers, strings, arrays, maps   as JSON has them; a key that is no string becomes one
//! bin                                             a string of base64 (RFC 4648 §4)
//! ext, timestamps among them                      {"type":T,"data":"base64"}
//! NaN and the infinities                          null, as JavaScript's JSON.stringify has them
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmp::Marker;
use rmp::decode::{self, RmpRead};
use rmp::encode;

use crate::json;

/// The deepest nesting that is read; the walk through JSON accepts no more, either.
const DEPTH_MAX: u32 = 100;

/// Appends the value that a JSON text is. `None` if it is none: then something of it may have been appended.
pub fn encode(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    match text.trim_ascii() {
        b"null" => encode::write_nil(out).ok(),
        b"false" => encode::write_bool(out, false).ok(),
        b"true" => encode::write_bool(out, true).ok(),
        text @ [b'"', ..] => encode_string(out, json::string(text)?),
        text @ [b'[', ..] => {
            let mut items = Vec::new();
            json::array(text, |item| items.push(item))?;
            encode::write_array_len(out, items.len().try_into().ok()?).ok()?;
            items.into_iter().try_for_each(|item| encode(out, item))
        }
        text @ [b'{', ..] => {
            let mut members = Vec::new();
            json::object(text, |key, value| members.push((key, value)))?;
            encode::write_map_len(out, members.len().try_into().ok()?).ok()?;
            members.into_iter().try_for_each(|(key, value)| {
                encode_string(out, key)?;
                encode(out, value)
            })
        }
        number => encode_number(out, std::str::from_utf8(number).ok()?),
    }
}

fn encode_string(out: &mut Vec<u8>, inside: &[u8]) -> Option<()> {
    let plain = json::plain(inside);
    encode::write_str(out, std::str::from_utf8(&plain).ok()?).ok()
}

/// An integer in the fewest bytes; what has a point or an exponent as a double.
fn encode_number(out: &mut Vec<u8>, text: &str) -> Option<()> {
    if let Ok(number) = text.parse() {
        return encode::write_uint(out, number).map(drop).ok();
    }
    if let Ok(number) = text.parse() {
        return encode::write_sint(out, number).map(drop).ok();
    }
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    encode::write_f64(out, number).ok()
}

/// Appends the JSON of each value that the bytes are, a line each. `None` if they are none, or not to their
/// end: then something may have been appended.
pub fn decode(out: &mut Vec<u8>, mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        decode_value(out, &mut bytes, DEPTH_MAX)?;
        out.push(b'\n');
    }
    Some(())
}

fn decode_value(out: &mut Vec<u8>, bytes: &mut &[u8], depth: u32) -> Option<()> {
    // Lengths are not believed beforehand: items are read one by one, and a text that ends early fails where
    // it does.
    let marker = decode::read_marker(bytes).ok()?;
    match marker {
        Marker::Null => out.extend_from_slice(b"null"),
        Marker::False => out.extend_from_slice(b"false"),
        Marker::True => out.extend_from_slice(b"true"),
        Marker::FixPos(number) => say(out, number),
        Marker::FixNeg(number) => say(out, number),
        Marker::U8 => say(out, bytes.read_data_u8().ok()?),
        Marker::U16 => say(out, bytes.read_data_u16().ok()?),
        Marker::U32 => say(out, bytes.read_data_u32().ok()?),
        Marker::U64 => say(out, bytes.read_data_u64().ok()?),
        Marker::I8 => say(out, bytes.read_data_i8().ok()?),
        Marker::I16 => say(out, bytes.read_data_i16().ok()?),
        Marker::I32 => say(out, bytes.read_data_i32().ok()?),
        Marker::I64 => say(out, bytes.read_data_i64().ok()?),
        Marker::F32 => say_float(out, bytes.read_data_f32().ok()?.into()),
        Marker::F64 => say_float(out, bytes.read_data_f64().ok()?),
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            let length = length(marker, bytes)?;
            say_string(out, take(bytes, length)?);
        }
        Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
            let length = length(marker, bytes)?;
            say_base64(out, take(bytes, length)?);
        }
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
            let length = length(marker, bytes)?;
            decode_items(out, b"[]", length, |out| decode_value(out, bytes, depth.checked_sub(1)?))?;
        }
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
            let length = length(marker, bytes)?;
            decode_items(out, b"{}", length, |out| {
                decode_key(out, bytes, depth.checked_sub(1)?)?;
                out.push(b':');
                decode_value(out, bytes, depth - 1)
            })?;
        }
        Marker::Reserved => return None,
        _ => {
            let length = length(marker, bytes)?;
            let kind = bytes.read_data_i8().ok()?;
            out.extend_from_slice(br#"{"type":"#);
            say(out, kind);
            out.extend_from_slice(br#","data":"#);
            say_base64(out, take(bytes, length)?);
            out.push(b'}');
        }
    }
    Some(())
}

/// Appends `items` items in these brackets, with commas between them.
fn decode_items(
    out: &mut Vec<u8>,
    &[open, close]: &[u8; 2],
    items: usize,
    mut item: impl FnMut(&mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    out.push(open);
    for number in 0..items {
        if number > 0 {
            out.push(b',');
        }
        item(out)?;
    }
    out.push(close);
    Some(())
}

fn decode_key(out: &mut Vec<u8>, bytes: &mut &[u8], depth: u32) -> Option<()> {
    let mut key = Vec::new();
    decode_value(&mut key, bytes, depth)?;
    match key.first() {
        // Keys within keys would be escaped anew at each depth, and grow without bound.
        Some(b'{' | b'[') => return None,
        Some(b'"') => out.extend_from_slice(&key),
        _ => say_string(out, &key),
    }
    Some(())
}

/// How many bytes or items come behind this marker.
fn length(marker: Marker, bytes: &mut &[u8]) -> Option<usize> {
    Some(match marker {
        Marker::FixStr(length) | Marker::FixArray(length) | Marker::FixMap(length) => length.into(),
        Marker::FixExt1 => 1,
        Marker::FixExt2 => 2,
        Marker::FixExt4 => 4,
        Marker::FixExt8 => 8,
        Marker::FixExt16 => 16,
        Marker::Str8 | Marker::Bin8 | Marker::Ext8 => bytes.read_data_u8().ok()?.into(),
        Marker::Str16 | Marker::Bin16 | Marker::Ext16 | Marker::Array16 | Marker::Map16 => {
            bytes.read_data_u16().ok()?.into()
        }
        _ => bytes.read_data_u32().ok()?.try_into().ok()?,
    })
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn say(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn say_float(out: &mut Vec<u8>, number: f64) {
    let text = match number.abs() {
        _ if !number.is_finite() => "null".to_owned(),
        // As JavaScript has it, where all digits would be hundreds.
        size if size >= 1e21 || (size > 0.0 && size < 1e-6) => format!("{number:e}"),
        _ => number.to_string(),
    };
    out.extend_from_slice(text.as_bytes());
}

fn say_string(out: &mut Vec<u8>, plain: &[u8]) {
    out.push(b'"');
    json::escape(out, String::from_utf8_lossy(plain).as_bytes());
    out.push(b'"');
}

fn say_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    say_string(out, STANDARD.encode(bytes).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        decode(&mut out, bytes)?;
        Some(String::from_utf8(out).unwrap())
    }

    fn encoded(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        encode(&mut out, text.as_bytes())?;
        Some(out)
    }

    /// Compares with @msgpack/msgpack 3.1.3's encodings of these.
    #[test]
    fn values_are_as_javascript_encodes_them() {
        for (text, bytes) in [
            ("null", &b"\xc0"[..]),
            ("[true,false]", b"\x92\xc3\xc2"),
            (
                "[0,127,128,256,65536,4294967296]",
                b"\x96\x00\x7f\xcc\x80\xcd\x01\x00\xce\x00\x01\x00\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00",
            ),
            ("[-1,-32,-33,-129]", b"\x94\xff\xe0\xd0\xdf\xd1\xff\x7f"),
            ("1.5", b"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"),
            (r#"{"a":[],"\u00e9":{}}"#, b"\x82\xa1a\x90\xa2\xc3\xa9\x80"),
        ] {
            assert_eq!(encoded(text).as_deref(), Some(bytes), "{text}");
            let again = decoded(bytes).unwrap();
            assert_eq!(encoded(&again).as_deref(), Some(bytes), "{again}");
        }
        assert_eq!(encoded(&format!("\"{}\"", "x".repeat(32))).unwrap()[..2], *b"\xd9\x20");
    }

    #[test]
    fn values_beyond_json_are_translated() {
        for (bytes, text) in [
            (&b"\xc4\x02hi"[..], "\"aGk=\"\n"),
            (b"\xd6\xff\x00\x00\x00\x01", "{\"type\":-1,\"data\":\"AAAAAQ==\"}\n"),
            (b"\xc7\x01\x05x", "{\"type\":5,\"data\":\"eA==\"}\n"),
            (b"\x82\x01\xa1a\xc3\xa1b", "{\"1\":\"a\",\"true\":\"b\"}\n"),
            (b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "null\n"),
            (b"\xcb\x7f\xef\xff\xff\xff\xff\xff\xff", "1.7976931348623157e308\n"),
            (b"\xa2\"\\", "\"\\\"\\\\\"\n"),
            (b"\xa1\xff", "\"\u{fffd}\"\n"),
            (b"\x01\x90", "1\n[]\n"),
            (b"", ""),
        ] {
            assert_eq!(decoded(bytes).as_deref(), Some(text), "{bytes:x?}");
        }
    }

    #[test]
    fn invalid_messages_are_refused() {
        let deep = [vec![0x91; 200], vec![0xc0]].concat();
        for bytes in [
            &b"\xc1"[..],
            b"\x92\x01",
            b"\xa5hi",
            b"\xdd\xff\xff\xff\xff",
            b"\x81\x90\x01",
            b"\x81\xd4\x01\x00\x01",
            &deep,
        ] {
            assert_eq!(decoded(bytes), None, "{bytes:x?}");
        }
        for text in ["", "x", "[1", "{\"a\"}", "\"\\ud800\"x", "1e999", "[nul]"] {
            assert_eq!(encoded(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_values_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(text) = decoded(&bytes) {
                prop_assert!(text.lines().all(|line| json::is_value(line.as_bytes())), "{text}");
                prop_assert!(text.len() <= 12 * bytes.len(), "{} of {}", text.len(), bytes.len());
            }
        }

        #[test]
        fn strings_come_back_as_they_went(text in ".*", number in any::<i64>()) {
            let mut written = b"[\"".to_vec();
            json::escape(&mut written, text.as_bytes());
            written.extend_from_slice(format!("\",{number}]").as_bytes());
            let mut bytes = Vec::new();
            encode(&mut bytes, &written).unwrap();
            let text = decoded(&bytes).unwrap();
            prop_assert_eq!(text.trim_end().as_bytes(), &written[..]);
        }
    }
}
