//! `throng serve` against the frames that [h2spec](https://github.com/summerwind/h2spec) sends to a page with a
//! body, recorded, in `conformance/h2spec.txt`: what it expects, a line for each case.

use wire::ServerConfig;

use crate::common::http2::*;
use crate::common::serve;

const H2SPEC: &str = include_str!("conformance/h2spec.txt");

/// Cases in which throng does otherwise on purpose.
const ON_PURPOSE: [(&str, &str); 3] = [
    ("http2/3.5/2", "no preface: what may be HTTP/1.1 is refused in HTTP/1.1"),
    ("http2/5.3.1/1", "priorities mean nothing any more, and are not judged (RFC 9113 §5.3.2)"),
    ("http2/5.3.1/2", "the same"),
];

/// The SETTINGS that h2spec begins with.
const HELLO: [(u16, u32); 1] = [(4, 0xffff)];
/// The head of its requests for the page.
const GET: &[u8] =
    b"\x82\x86\x44\x85\x61\x07\x27\x5e\x88\x41\x8b\x08\x9d\x5c\x0b\x81\x70\xdc\x65\xf6\x82\xef";

/// The bytes of a case.
fn bytes_of(text: &str) -> Vec<u8> {
    let digits = |hex: &str| -> Vec<u8> {
        let pairs = (0..hex.len()).step_by(2);
        pairs.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let words = text.split(' ').flat_map(|word| match word.split_once('*') {
        _ if word == "HELLO" => [PREFACE, &settings(&HELLO)].concat(),
        _ if word == "ACK" => frame(SETTINGS, ACK, 0, b""),
        Some(("GET", count)) => {
            let streams = (0..count.parse().unwrap()).map(|number: u32| 2 * number + 1);
            streams.flat_map(|stream| frame(HEADERS, WHOLE, stream, GET)).collect()
        }
        Some((hex, count)) => digits(hex).repeat(count.parse().unwrap()),
        None => digits(word),
    });
    words.collect()
}

/// Returns whether the server has answered with the frame that is expected, by a word and its numbers.
fn is_answered(expected: &str, answers: &[Seen], has_closed: bool) -> bool {
    let (what, numbers) = expected.split_once(' ').unwrap_or((expected, ""));
    let is_among = |number: u32| numbers.split(' ').any(|one| one == number.to_string());
    let code = |payload: &[u8]| u32::from_be_bytes(payload[payload.len() - 4..].try_into().unwrap());
    let is_error = |(kind, _, _, payload): &Seen| match *kind {
        RST_STREAM => what == "error" && is_among(code(payload)),
        // Behind the last stream; what follows the code is for people.
        GOAWAY => is_among(code(&payload[..8])),
        _ => false,
    };
    let has = |wanted: u8, flags: u8| answers.iter().any(|frame| (frame.0, frame.1) == (wanted, flags));
    match what {
        "goaway" | "error" => answers.iter().any(is_error),
        "closed" => has_closed,
        "ping" if numbers == "closed" => has_closed || has(PING, ACK),
        "ping" => has(PING, ACK),
        "settings" => has(SETTINGS, 0),
        "ack" => has(SETTINGS, ACK),
        "headers" => answers.iter().any(|frame| frame.0 == HEADERS && is_among(frame.2)),
        "data" => {
            // With a window that grows, what comes last fills it.
            let last = answers.iter().rfind(|frame| frame.0 == DATA);
            last.is_some_and(|frame| numbers.is_empty() || is_among(frame.3.len() as u32))
        }
        other => panic!("nothing is known of {other:?}"),
    }
}

#[test]
fn servers_pass_h2spec_but_on_purpose() {
    let cases: Vec<Vec<&str>> = H2SPEC
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.splitn(3, " | ").collect())
        .collect();
    assert_eq!(cases.len(), 146);
    let different = cases.iter().filter_map(|case| {
        let (expected, name, outcome) =
            (case[0], case[1], serve(&ServerConfig::default(), &bytes_of(case[2])));
        // A peer without the preface hears HTTP/1.1.
        let answers = if outcome.out.starts_with(b"HTTP/1.1") { Vec::new() } else { frames(&outcome.out) };
        let is_passed = is_answered(expected, &answers, outcome.result.is_err());
        let is_on_purpose = ON_PURPOSE.iter().any(|(id, _)| name.split(' ').next() == Some(id));
        (is_passed == is_on_purpose).then(|| format!("{name}: {answers:?}, by h2spec {expected}"))
    });
    assert_eq!(different.collect::<Vec<_>>(), [""; 0]);
}
