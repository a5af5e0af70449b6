//! Writing an event.

/// Appends an event with one field `data` for each line of it; an empty id is none.
pub(crate) fn write_event(out: &mut Vec<u8>, id: &[u8], data: &[u8]) {
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

/// Counts the events in these bytes; `None` if they are not whole events as [`write_event`] writes them.
pub(crate) fn whole_events(bytes: &[u8]) -> Option<u32> {
    let (mut events, mut lines) = (0, 0);
    simdutf8::basic::from_utf8(bytes).ok()?;
    for line in bytes.strip_suffix(b"\n")?.split(|&byte| byte == b'\n') {
        match line {
            b"" if lines > 0 => (events, lines) = (events + 1, 0),
            _ if line.starts_with(b"data: ") => lines += 1,
            _ if lines == 0 && line.starts_with(b"id: ") => {}
            _ => return None,
        }
    }
    (lines == 0).then_some(events)
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
        assert_eq!(whole_events(&out), Some(4));
    }

    #[test]
    fn a_line_end_in_data_begins_a_line() {
        for data in [&b"a\rb"[..], b"a\nb", b"a\r\ndata: b"] {
            let mut out = Vec::new();
            write_event(&mut out, b"", data);
            assert_eq!(whole_events(&out), Some(1), "{}", out.escape_ascii());
        }
    }

    #[test]
    fn other_bytes_are_no_events() {
        for bytes in [
            &b""[..],
            b"\n",
            b"data: x",
            b"data: x\n",
            b"retry: 1\n\n",
            b"data: \xff\n\n",
            b"data: x\nid: 1\n\n",
            b"\n\n",
        ] {
            assert_eq!(whole_events(bytes), None, "{}", bytes.escape_ascii());
        }
    }
}
