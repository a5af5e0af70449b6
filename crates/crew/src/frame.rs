//! Messages over a byte stream: a length of four bytes, little endian, then postcard.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest message that is believed: a step's books with 2²² broadcasts, and to spare.
const FRAME_BYTES_MAX: u32 = 1 << 29;

/// Writes one message.
pub(crate) fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|&n| n <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("a message too large to send"))?;
    stream.write_all(&length.to_le_bytes())?;
    stream.write_all(&body)?;
    stream.flush()
}

/// Reads one message; `None` at the end of the stream.
pub(crate) fn read<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    let length = u32::from_le_bytes(length);
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other("a message of an absurd length"));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    postcard::from_bytes(&body).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_one_by_one() {
        let mut stream = Vec::new();
        write(&mut stream, &(7u32, "seven")).unwrap();
        write(&mut stream, &(8u32, "eight")).unwrap();
        let mut bytes = stream.as_slice();
        assert_eq!(read::<(u32, String)>(&mut bytes).unwrap(), Some((7, "seven".into())));
        assert_eq!(read::<(u32, String)>(&mut bytes).unwrap(), Some((8, "eight".into())));
        assert_eq!(read::<(u32, String)>(&mut bytes).unwrap(), None);
    }

    #[test]
    fn truncated_and_oversized_messages_are_errors() {
        let mut stream = Vec::new();
        write(&mut stream, &"whole").unwrap();
        assert!(read::<String>(&mut &stream[..stream.len() - 1]).is_err());
        assert!(read::<String>(&mut [0xff; 8].as_slice()).is_err());
    }
}
