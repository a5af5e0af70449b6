//! The reader of event streams beside Chromium's `EventSource`, on streams made at random of what such are made of.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::Limits;
use codec::event_stream::Reader;
use fastrand::Rng;

use crate::support::browser::chromium;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::skip;
use crate::support::target::Unavailable;

const WITHIN: Duration = Duration::from_secs(120);
const SEED: u64 = 45;
const STREAMS: usize = 400;
const LINES_MAX: usize = 24;
/// Parts of streams: fields, what may be mistaken for them, and line ends.
const FIELDS: [&[u8]; 18] = [
    b"data:",
    b"data: ",
    b"data",
    b"data: x",
    b"data:y",
    b" data",
    b"event:",
    b"event: a",
    b"event:b",
    b"id:",
    b"id: 1",
    b"id:2",
    b"id",
    b"retry:",
    b"retry: 1",
    b":",
    b"\0",
    b"\xef\xbb\xbf",
];
const VALUES: [&[u8]; 8] = [b"", b"", b"", b" ", b":", b"\0", b"\xc3\xa9", b"\xff"];
const ENDS: [&[u8]; 8] = [b"\n", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b""];

type Events = Vec<[String; 3]>;

fn stream(rng: &mut Rng) -> Vec<u8> {
    let mut pick = |from: &[&'static [u8]]| from[rng.usize(..from.len())];
    let mut line = || [pick(&FIELDS), pick(&VALUES), pick(&ENDS)].concat();
    let lines: Vec<Vec<u8>> = (0..LINES_MAX).map(|_| line()).collect();
    let stream = lines[..rng.usize(..LINES_MAX)].concat();
    // Chromium takes a line end right behind the byte order mark for a part of the next line (event_source_parser.cc).
    match stream.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if rest.starts_with(b"\n") || rest.starts_with(b"\r") => rest.to_vec(),
        _ => stream,
    }
}

fn read(stream: &[u8]) -> Events {
    let (mut reader, mut input, mut events) = (Reader::default(), stream, Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    while let Some(event) = reader.next(&Limits::default(), &mut input).unwrap() {
        let kind = if event.kind.is_empty() { b"message" } else { event.kind };
        events.push([kind, event.data, event.id].map(text));
    }
    // A page hears of those types alone for which it listens.
    events.retain(|[kind, ..]| ["message", "a", "b"].contains(&kind.as_str()));
    events
}

#[test]
fn streams_are_read_as_chromium_reads_them() {
    let Some(chromium) = chromium("event streams in Chromium") else { return };
    let scripts = match Scripts::install("sse") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("playwright-core (npm)", &why),
    };
    let mut rng = Rng::with_seed(SEED);
    let streams: Vec<Vec<u8>> = (0..STREAMS).map(|_| stream(&mut rng)).collect();
    let encoded: Vec<String> = streams.iter().map(|stream| STANDARD.encode(stream)).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("streams.json");
    fs::write(&file, serde_json::to_string(&encoded).unwrap()).unwrap();
    let mut process = Process::start(scripts.command("reads.js").arg(chromium).arg(&file));
    assert!(process.wait(WITHIN).is_some_and(|status| status.success()), "{:?}", process.into_output());
    let (stdout, _) = process.into_output();
    let theirs: Vec<Events> = serde_json::from_str(&stdout).unwrap();
    assert!(theirs.iter().map(Vec::len).sum::<usize>() > STREAMS / 2, "too few events to compare");
    for (stream, theirs) in streams.iter().zip(theirs) {
        assert_eq!(read(stream), theirs, "{}", stream.escape_ascii());
    }
}
