//! Packets as socket.io-msgpack-parser has them: a map of MessagePack in a binary message for each,
//! attachments in their places. Engine.IO's own packets, the handshake and heartbeats, remain text.
//!
//! ```text
//! 42/ns,7["echo",P]    {"type":2,"nsp":"/ns","id":7,"data":["echo",P]}
//! ```

use codec::{json, msgpack};

use super::packet::{MAIN, Packet};

/// Engine.IO's type of the messages that are packets.
const MESSAGE: u8 = b'4';

/// A text as a map; `None`: it is no packet of Socket.IO, and remains text.
pub(super) fn pack(text: &[u8]) -> Option<Vec<u8>> {
    let packet = text.strip_prefix(&[MESSAGE])?;
    let (&kind, _) = packet.split_first()?;
    let Packet { namespace, id, payload, .. } = Packet::parse(packet).ok()?;
    let mut map = [br#"{"type":"#, &[kind][..], br#","nsp":""#].concat();
    json::escape(&mut map, namespace);
    map.push(b'"');
    for (name, value) in [(&br#","id":"#[..], id.unwrap_or_default()), (br#","data":"#, payload)] {
        if !value.is_empty() {
            map.extend_from_slice(name);
            map.extend_from_slice(value);
        }
    }
    map.push(b'}');
    let mut packed = Vec::new();
    msgpack::encode(&mut packed, &map)?;
    Some(packed)
}

/// The text that such a map stands for; `None` if it is none.
pub(super) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut map = Vec::new();
    msgpack::decode(&mut map, packed)?;
    let [kind, namespace, id, data] = json::members(&map, ["type", "nsp", "id", "data"])?;
    let namespace = json::plain(json::string(namespace)?);
    if !matches!(kind, [b'0'..=b'4']) || namespace.contains(&b',') {
        return None;
    }
    let mut text = [&[MESSAGE], kind].concat();
    if *namespace != *MAIN {
        text.extend_from_slice(&namespace);
        text.push(b',');
    }
    // What JavaScript leaves undefined comes as an extension: there is none.
    if id.iter().all(u8::is_ascii_digit) {
        text.extend_from_slice(id);
    }
    text.extend_from_slice(data);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_back_as_they_went() {
        for text in [
            r#"40{"token":"123"}"#,
            "40",
            r#"40/chat,{"a":[1,-5,1.5]}"#,
            r#"42["echo",{"text":"\"é\"","n":null}]"#,
            r#"42/chat,17["echo",true]"#,
            r#"4317["ok"]"#,
            "41/chat,",
        ] {
            let packed = pack(text.as_bytes()).unwrap();
            let again = String::from_utf8(unpack(&packed).unwrap()).unwrap();
            assert_eq!(again, text);
        }
    }

    #[test]
    fn maps_equal_the_official_parsers() {
        // notepack.io 2.2.0: encode({ type: 2, nsp: '/', data: ['say', 1] }).
        let packed = b"\x83\xa4type\x02\xa3nsp\xa1/\xa4data\x92\xa3say\x01";
        assert_eq!(pack(br#"42["say",1]"#).as_deref(), Some(&packed[..]));
        assert_eq!(unpack(packed).as_deref(), Some(&br#"42["say",1]"#[..]));
        // A disconnection, with what is undefined in it: encode({ type: 1, nsp: '/', id: undefined }).
        let undefined = b"\x83\xa4type\x01\xa3nsp\xa1/\xa2id\xd4\x00\x00";
        assert_eq!(unpack(undefined).as_deref(), Some(&b"41"[..]));
    }

    #[test]
    fn invalid_packets_fail_and_heartbeats_remain_text() {
        for text in ["2", "3probe", "0{}", "4", "4x"] {
            assert_eq!(pack(text.as_bytes()), None, "{text}");
        }
        for packed in
            [&b""[..], b"\xc0", b"\x80", b"\x82\xa4type\x09\xa3nsp\xa1/", b"\x82\xa4type\x02\xa3nsp\x01"]
        {
            assert_eq!(unpack(packed), None, "{packed:x?}");
        }
    }
}
