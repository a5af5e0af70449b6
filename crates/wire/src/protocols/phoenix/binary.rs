//! The binary messages of the v2 serializer.

/// Most bytes of a string in the head: its length fits into a byte.
pub(super) const STRING_BYTES_MAX: usize = u8::MAX as usize;
/// Most bytes before the data: five of kind and lengths, and four strings.
pub(super) const HEAD_BYTES_MAX: usize = 5 + 4 * STRING_BYTES_MAX;

const PUSH: u8 = 0;
const REPLY: u8 = 1;
const BROADCAST: u8 = 2;

/// A binary message of a server, as far as a client needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Received<'a> {
    /// A message to this client or to everyone.
    Pushed { data: &'a [u8] },
    /// The answer to a push.
    Replied { status: &'a [u8], data: &'a [u8] },
}

impl<'a> Received<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Option<Received<'a>> {
        let (&kind, rest) = message.split_first()?;
        Some(match kind {
            PUSH => Received::Pushed { data: strings::<3>(rest)?.1 },
            REPLY => {
                let ([_, _, _, status], data) = strings(rest)?;
                Received::Replied { status, data }
            }
            BROADCAST => Received::Pushed { data: strings::<2>(rest)?.1 },
            _ => return None,
        })
    }
}

/// A client's push.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Push<'a> {
    pub(super) join_ref: &'a [u8],
    pub(super) number: &'a [u8],
    pub(super) topic: &'a [u8],
    pub(super) event: &'a [u8],
    pub(super) data: &'a [u8],
}

impl<'a> Push<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Option<Push<'a>> {
        let ([join_ref, number, topic, event], data) = strings(message.strip_prefix(&[PUSH])?)?;
        Some(Push { join_ref, number, topic, event, data })
    }

    /// Appends it, without its data.
    pub(super) fn write_head(out: &mut Vec<u8>, strings: [&[u8]; 4]) {
        write(out, PUSH, strings);
    }
}

/// Appends a server's answer with the status `ok`.
pub(super) fn write_reply(out: &mut Vec<u8>, join_ref: &[u8], number: &[u8], topic: &[u8], data: &[u8]) {
    write(out, REPLY, [join_ref, number, topic, b"ok"]);
    out.extend_from_slice(data);
}

/// Appends a server's message to everyone.
pub(super) fn write_broadcast(out: &mut Vec<u8>, topic: &[u8], event: &[u8], data: &[u8]) {
    write(out, BROADCAST, [topic, event]);
    out.extend_from_slice(data);
}

fn write<const N: usize>(out: &mut Vec<u8>, kind: u8, strings: [&[u8]; N]) {
    out.push(kind);
    out.extend(strings.map(|string| u8::try_from(string.len()).expect("they came with such lengths")));
    for string in strings {
        out.extend_from_slice(string);
    }
}

/// N lengths, N strings, and what follows.
fn strings<const N: usize>(bytes: &[u8]) -> Option<([&[u8]; N], &[u8])> {
    let (lengths, mut rest) = bytes.split_first_chunk::<N>()?;
    let mut strings = [&[][..]; N];
    for (string, &length) in strings.iter_mut().zip(lengths) {
        (*string, rest) = rest.split_at_checked(usize::from(length))?;
    }
    Some((strings, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    const DATA: &[u8] = &[1, 2, 3, 255];

    #[test]
    fn recorded_pushes_and_answers() {
        let push = bytes("0001020a04353137726f6f6d3a6c6f6262796563686f010203ff");
        let strings: [&[u8]; 4] = [b"5", b"17", b"room:lobby", b"echo"];
        let [join_ref, number, topic, event] = strings;
        assert_eq!(Push::parse(&push), Some(Push { join_ref, number, topic, event, data: DATA }));
        let mut out = Vec::new();
        Push::write_head(&mut out, strings);
        assert_eq!([&out, DATA].concat(), push);

        let reply = bytes("0101020a02353137726f6f6d3a6c6f6262796f6b010203ff");
        assert_eq!(Received::parse(&reply), Some(Received::Replied { status: b"ok", data: DATA }));
        let mut out = Vec::new();
        write_reply(&mut out, b"5", b"17", b"room:lobby", DATA);
        assert_eq!(out, reply);

        let broadcast = bytes("020a03726f6f6d3a6c6f62627962696e010203ff");
        assert_eq!(Received::parse(&broadcast), Some(Received::Pushed { data: DATA }));
        let mut out = Vec::new();
        write_broadcast(&mut out, b"room:lobby", b"bin", DATA);
        assert_eq!(out, broadcast);

        let pushed = bytes("00010a0435726f6f6d3a6c6f62627962696e70010203ff");
        assert_eq!(Received::parse(&pushed), Some(Received::Pushed { data: DATA }));
    }

    #[test]
    fn truncated_messages_are_none() {
        let push = bytes("0001010a0431");
        assert_eq!(Push::parse(&push), None);
        for whole in ["0101020a02353137726f6f6d3a6c6f6262796f6b", "020a03726f6f6d3a6c6f62627962696e"] {
            let whole = bytes(whole);
            assert!(Received::parse(&whole).is_some());
            for len in 0..whole.len() {
                assert_eq!(Received::parse(&whole[..len]), None, "{len}");
                assert_eq!(Push::parse(&whole[..len]), None, "{len}");
            }
        }
        assert_eq!(Received::parse(&[3, 0, 0, 0, 0]), None);
    }
}
