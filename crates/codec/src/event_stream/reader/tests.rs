//! The facts of web-platform-tests' `eventsource/format-*` cases as a table, and the bounds.

use super::*;

/// Event type, data and last event ID of each event, and the reconnection time.
type Read = (Vec<[String; 3]>, Option<u32>);

fn read_in(stream: &[u8], step: usize, limits: &Limits) -> Result<Read, Error> {
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for mut input in stream.chunks(step) {
        while let Some(StreamEvent { kind, data, id }) = reader.next(limits, &mut input)? {
            events.push([kind, data, id].map(text));
        }
        assert!(input.is_empty());
    }
    Ok((events, reader.retry_ms()))
}

fn read(stream: &[u8], step: usize) -> Read {
    read_in(stream, step, &Limits::default()).unwrap()
}

/// Each case: its name there, the stream, and the data of its events.
#[rustfmt::skip]
const DATA: [(&str, &[u8], &[&str]); 17] = [
    ("format-bom", b"\xef\xbb\xbfdata:1\n\n\xef\xbb\xbfdata:2\n\ndata:3\n\n", &["1", "3"]),
    ("format-bom-2", b"\xef\xbb\xbf\xef\xbb\xbfdata:1\n\ndata:2\n\ndata:3\n\n", &["2", "3"]),
    ("format-comments", b"data:1\r:\0\n:\r\ndata:2\n:xxxxxxxx\rdata:3\n:data:fail\r:xxxxxxxx\ndata:4\n\n", &["1\n2\n3\n4"]),
    ("format-data-before-final-empty-line", b"retry:1000\ndata:test1\n\nid:test\ndata:test2", &["test1"]),
    ("format-field-data", b"data:\n\ndata\ndata\n\ndata:test\n\n", &["", "\n", "test"]),
    ("format-field-parsing", b"data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", &["\0\n 2\n1\n3\n\n4"]),
    ("format-field-retry-empty", b"retry\ndata:test\n\n", &["test"]),
    ("format-field-unknown", b"data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", &["test\n\ntest"]),
    ("format-leading-space", b"data:\ttest\rdata: \ndata:test\n\n", &["\ttest\n\ntest"]),
    ("format-newlines", b"data:test\r\ndata\ndata:test\r\n\r", &["test\n\ntest"]),
    ("format-null-character", b"data:\0\n\n\n\n", &["\0"]),
    ("format-utf-8", "data:ok\u{2026}\n\n".as_bytes(), &["ok\u{2026}"]),
    ("an end within the mark", b"\xef\xbb", &[]),
    ("a line that begins like the mark", b"\xef\xbbdata:1\ndata:2\n\n", &["2"]),
    ("each of the line ends", b"data:1\r\rdata:2\n\ndata:3\r\n\r\ndata:4\n\rdata:5\r\n\ndata:6\n\r\n", &["1", "2", "3", "4", "5", "6"]),
    ("blank lines alone", b"\n\r\r\n\n", &[]),
    ("no UTF-8", b"data:a\xff\n\n", &["a\u{fffd}"]),
];

/// A name, a stream, and type, data and last event ID of its events.
type Case = (&'static str, &'static [u8], &'static [[&'static str; 3]]);

/// Cases with an event type and a last event ID.
#[rustfmt::skip]
const EVENTS: [Case; 11] = [
    ("format-field-event", b"event:test\ndata:x\n\ndata:x\n\n", &[["test", "x", ""], ["", "x", ""]]),
    ("format-field-event-empty", b"event: \ndata:data\n\n", &[["", "data", ""]]),
    ("format-field-id", "id: \u{2026}\nretry: 200\ndata: hello\n\n".as_bytes(), &[["", "hello", "\u{2026}"]]),
    ("format-field-id-2", "id: \u{2026}\nretry: 200\ndata: hello\n\ndata: 2\n\n".as_bytes(), &[["", "hello", "\u{2026}"], ["", "2", "\u{2026}"]]),
    ("format-field-id-3 persists", b"id: 1\ndata: 1\n\ndata: 2\n\n", &[["", "1", "1"], ["", "2", "1"]]),
    ("format-field-id-3 changes", b"id: 1\ndata: 1\n\nid: 2\ndata:2\n\ndata:3\n\n", &[["", "1", "1"], ["", "2", "2"], ["", "3", "2"]]),
    ("format-field-id-3 resets", b"id: 1\ndata: 1\n\nid:\ndata:2\n\ndata:3\n\n", &[["", "1", "1"], ["", "2", ""], ["", "3", ""]]),
    ("format-field-id-null", b"id: 1\ndata:1\n\nid: \0\0\ndata:2\n\nid: 3\0x\ndata:3\n\n", &[["", "1", "1"], ["", "2", "1"], ["", "3", "1"]]),
    ("an id without data", b"id: 7\n\ndata:1\n\n", &[["", "1", "7"]]),
    ("a type without data", b"event: lost\n\ndata:1\n\n", &[["", "1", ""]]),
    ("the last of each", b"event: a\nid: 1\ndata: x\nid: 2\nevent: b\n\n", &[["b", "x", "2"]]),
];

#[test]
fn streams_mean_the_same_in_any_portions() {
    for (name, stream, data) in DATA {
        for step in 1..=stream.len() {
            let (events, _) = read(stream, step);
            assert_eq!(events.iter().map(|[_, data, _]| data).collect::<Vec<_>>(), data, "{name}, {step}");
        }
    }
    for (name, stream, expected) in EVENTS {
        for step in 1..=stream.len() {
            assert_eq!(read(stream, step).0, expected, "{name}, {step}");
        }
    }
}

#[test]
fn trailing_bytes_change_no_event() {
    let ends_blank =
        |stream: &[u8]| [&b"\n\n"[..], b"\r\r", b"\n\r", b"\n\r\n"].iter().any(|end| stream.ends_with(end));
    let of_data = DATA.map(|(name, stream, _)| (name, stream));
    let of_events = EVENTS.map(|(name, stream, _)| (name, stream));
    let all = of_data.into_iter().chain(of_events).filter(|(_, stream)| ends_blank(stream));
    for (name, stream) in all {
        let (expected, _) = read(stream, stream.len());
        for trail in [&b"data: half"[..], b"id: 9\ndata: 1\n", b"event", b":", b"\r", b"retry: 5"] {
            let trailed = [stream, trail].concat();
            for step in 1..=trailed.len() {
                assert_eq!(read(&trailed, step).0, expected, "{name} {trail:?} {step}");
            }
        }
    }
}

#[test]
fn ids_of_unfinished_events_are_not_resumed_from() {
    let mut reader = Reader::after(b"6");
    let mut input = &b"data: 1\n\nid: 7\ndata: 2\n"[..];
    assert!(reader.next(&Limits::default(), &mut input).unwrap().is_some());
    assert!(reader.next(&Limits::default(), &mut input).unwrap().is_none());
    assert_eq!(reader.last_id(), b"6");
}

/// `format-field-retry`, `format-field-retry-bogus`, and numbers without bound.
#[test]
fn reconnection_times_are_digits_alone() {
    for (field, expected) in [
        ("retry:3000", Some(3000)),
        ("retry: 3000", Some(3000)),
        ("retry:2000\nretry:1000x", Some(2000)),
        ("retry:-1", None),
        ("retry:1.5", None),
        ("retry:  1", None),
        ("retry:\u{663}", None),
        ("retry", None),
        ("retry:", None),
        ("retry:0", Some(0)),
        ("retry:0100", Some(100)),
        ("retry:100000000000000000000", Some(RETRY_MS_MAX)),
    ] {
        let stream = format!("{field}\ndata:x\n\n");
        for step in 1..=stream.len() {
            assert_eq!(read(stream.as_bytes(), step).1, expected, "{field}");
        }
    }
}

#[test]
fn lines_and_events_are_bounded() {
    let limits = Limits { message_bytes_max: 16, ..Limits::default() };
    for (stream, fits) in [
        (&b"data:12345678901\n\n"[..], true),
        (b"data:123456789012\n\n", false),
        (b":3456789012345678", false),
        (b"data:1234567\ndata:12345678\n\n", true),
        (b"data:1234567\ndata:123456789\ndata:\n\n", false),
        (b"data:1234567\n\ndata:123456789\n\n", true),
    ] {
        for step in 1..=stream.len() {
            assert_eq!(read_in(stream, step, &limits).is_ok(), fits, "{} {step}", stream.escape_ascii());
        }
    }
}

#[test]
fn ids_are_bounded() {
    for (bytes, fits) in [(ID_BYTES_MAX, true), (ID_BYTES_MAX + 1, false)] {
        let stream = format!("id:{}\n\n", "7".repeat(bytes));
        assert_eq!(read_in(stream.as_bytes(), 1 << 10, &Limits::default()).is_ok(), fits);
    }
}

#[test]
fn idle_streams_hold_nothing() {
    let mut reader = Reader::default();
    for portion in [&b"data: 1"[..], b"\nid: 4\n", b"\n: ping\n\n"] {
        let mut input = portion;
        while reader.next(&Limits::default(), &mut input).unwrap().is_some() {}
    }
    assert!(reader.partial.is_none());
    assert_eq!(reader.last_id(), b"4");
}
