//! Writing an event.

/// Appends an event with one field `data` for each line of it; an empty id is none.
pub fn write_event(out: &mut Vec<u8>, id: &[u8], data: &[u8]) {
    if !id.is_empty() {
        write_field(out, b"id: ", id);
    }
    // A CR would end the line as an LF does, and the data would be another.
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        write_field(out, b"data: ", line);
    }
    out.push(b'\n');
}

fn write_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_stream::Reader;
    use crate::limits::Limits;

    #[test]
    fn written_events_are_read_again() {
        let mut out = Vec::new();
        let events: [(&[u8], &[u8]); 4] =
            [(b"1", b"{}"), (b"", b"a\nb"), (b"x:2", b""), (b"3", b" \xc3\xa9")];
        for (id, data) in &events {
            write_event(&mut out, id, data);
        }
        let (mut reader, mut input, mut read) = (Reader::default(), &out[..], Vec::new());
        while let Some(event) = reader.next(&Limits::default(), &mut input).unwrap() {
            read.push([event.id, event.data].map(<[u8]>::to_vec));
        }
        let ids: [&[u8]; 4] = [b"1", b"1", b"x:2", b"3"];
        let expected: Vec<_> =
            ids.iter().zip(events).map(|(id, (_, data))| [id.to_vec(), data.to_vec()]).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn a_line_end_in_data_begins_a_line() {
        for (data, lines) in [
            ("a\rb", "data: a\ndata: b\n\n"),
            ("a\nb", "data: a\ndata: b\n\n"),
            ("a\r\ndata: b", "data: a\ndata: \ndata: data: b\n\n"),
        ] {
            let mut out = Vec::new();
            write_event(&mut out, b"", data.as_bytes());
            assert_eq!(out, lines.as_bytes(), "{data:?}");
        }
    }
}
