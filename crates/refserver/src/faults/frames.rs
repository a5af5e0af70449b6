//! Output cut into what counts as a message and what does not.

/// The first bytes of a server's text and binary frames that are whole messages, plain or compressed (RFC
/// 6455 §5.2, RFC 7692 §6).
const MESSAGES: [u8; 4] = [0x81, 0x82, 0xc1, 0xc2];

/// The bit of a frame that is the last, or the only one, of its message (RFC 6455 §5.2).
const FIN: u8 = 0x80;

/// A frame or another part of the output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A frame that is a whole message, and where its payload starts.
    Message(&'a [u8], usize),
    /// A control frame, or the answer to the upgrade.
    Other(&'a [u8]),
}

/// Cuts output, which must not be empty, into its first piece and the rest. Bytes that are no frame form one
/// piece to the end.
pub(super) fn cut(output: &[u8]) -> (Piece<'_>, &[u8]) {
    // No frame starts with an H: that would be a continued opcode 8.
    if output[0] == b'H' {
        let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(output.len(), |at| at + 4);
        return (Piece::Other(&output[..end]), &output[end..]);
    }
    let Some((start, end)) = header(output).filter(|(_, end)| *end <= output.len()) else {
        return (Piece::Other(output), &[]);
    };
    let (frame, behind) = output.split_at(end);
    let piece = if MESSAGES.contains(&frame[0]) { Piece::Message(frame, start) } else { Piece::Other(frame) };
    (piece, behind)
}

/// The end of the whole frames from `from` on. A frame that is still being written may follow them: its
/// header, with the FIN bit, is written last.
pub(crate) fn whole(output: &[u8], from: usize) -> usize {
    let mut rest = output.get(from..).unwrap_or_default();
    while rest.first().is_some_and(|&first| first & FIN != 0 || first == b'H') {
        (_, rest) = cut(rest);
    }
    output.len() - rest.len()
}

/// The start of an unmasked frame's payload, and its end.
fn header(frame: &[u8]) -> Option<(usize, usize)> {
    let (start, length) = match *frame.get(1)? {
        126 => (4, u16::from_be_bytes(*frame.get(2..)?.first_chunk()?).into()),
        127 => (10, u64::from_be_bytes(*frame.get(2..)?.first_chunk()?)),
        short => (2, short.into()),
    };
    Some((start, start.checked_add(length.try_into().ok()?)?))
}

/// Flips a bit of the payload: at three quarters, behind the part that names the kind of the message. ASCII
/// stays ASCII, so that the encoding remains valid.
pub(super) fn corrupt(frame: &mut [u8], payload_at: usize) {
    let at = payload_at + (frame.len() - payload_at) * 3 / 4;
    if let Some(byte) = frame.get_mut(at) {
        *byte ^= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match length {
            0..126 => frame.push(length as u8),
            126..65_536 => frame.extend([&[126][..], &(length as u16).to_be_bytes()].concat()),
            _ => frame.extend([&[127][..], &(length as u64).to_be_bytes()].concat()),
        }
        frame.resize(frame.len() + length, b'x');
        frame
    }

    #[test]
    fn frames_of_every_length_are_told_apart() {
        let (short, medium, long, ping) =
            (frame(0x81, 5), frame(0xc2, 300), frame(0x82, 70_000), frame(0x89, 0));
        let head = b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec();
        let output = [&head[..], &short, &ping, &medium, &long].concat();
        let (mut rest, mut pieces) = (&output[..], Vec::new());
        while !rest.is_empty() {
            let (piece, behind) = cut(rest);
            pieces.push(piece);
            rest = behind;
        }
        let expected = [
            Piece::Other(&head),
            Piece::Message(&short, 2),
            Piece::Other(&ping),
            Piece::Message(&medium, 4),
            Piece::Message(&long, 10),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn corrupt_messages_differ_in_one_payload_bit() {
        for length in [1, 5, 300] {
            let sound = frame(0x81, length);
            let mut damaged = sound.clone();
            let at = sound.len() - length;
            corrupt(&mut damaged, at);
            let bits: u32 = sound.iter().zip(&damaged).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!((bits, &damaged[..at]), (1, &sound[..at]));
        }
        corrupt(&mut frame(0x81, 0), 2);
    }
}
