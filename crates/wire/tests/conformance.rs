//! `throng serve` against requests of three suites of others, in `conformance/`: what each of them expects, a
//! line for each case.
//!
//! [h1spec](https://github.com/uNetworking/h1spec), [Http11Probe](https://github.com/MDA2AV/Http11Probe) and
//! the vectors of [llhttp](https://github.com/nodejs/llhttp) (`test/request`).

use wire::ServerConfig;

use crate::common::*;

const H1SPEC: &str = include_str!("conformance/h1spec.txt");
const HTTP11PROBE: &str = include_str!("conformance/http11probe.txt");
const LLHTTP: &str = include_str!("conformance/llhttp.txt");

/// Vectors of llhttp that throng judges otherwise on purpose: it is a server of HTTP/1.1 and of WebSockets,
/// llhttp a parser of whatever looks like HTTP.
const ON_PURPOSE: [(&str, &str); 15] = [
    ("connection: No restart when keep-alive is off (1.0)", "what follows the last request is not read"),
    ("connection: CRLF between requests, explicit close", "the same"),
    ("connection: CRLF between requests, explicit close followed by tab", "the same"),
    ("connection: Multiple tokens with folding and LWS", "a WebSocket without a key (RFC 6455 §4.2.1)"),
    ("connection: Upgrade GET request", "the same"),
    ("content-length: Content-Length reset when no body is received", "bodies are read, not skipped"),
    ("invalid: HTTP protocol and ANNOUNCE method", "any token is a method (RFC 9110 §9.1)"),
    ("invalid: Invalid method", "the same"),
    ("method: M-SEARCH request", "only OPTIONS is for * (RFC 9112 §3.2.4)"),
    ("method: SOURCE request with ICE", "no HTTP"),
    ("method: OPTIONS request with RTSP", "no HTTP"),
    ("method: ANNOUNCE request with RTSP", "no HTTP"),
    ("method: PRI request HTTP2", "the preface of HTTP/2 is no request of HTTP/1.1 (RFC 9113 §3.4)"),
    ("sample: No HTTP version", "HTTP/0.9 is none that is spoken (RFC 9112 §2.3)"),
    ("uri: host:port and basic auth", "userinfo hides the host (RFC 9110 §4.2.4)"),
];

/// A line of a table.
struct Case {
    expected: &'static str,
    name: &'static str,
    request: Vec<u8>,
    body: Option<&'static str>,
}

fn cases(table: &'static str) -> Vec<Case> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split(" | ").collect();
            let (request, body) = (unescaped(columns[2]), columns.get(3).copied());
            Case { expected: columns[0], name: columns[1], request, body }
        })
        .collect()
}

/// The bytes that the text stands for: `\r`, `\n`, `\t`, `\\` and `\x80` as in Rust.
fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'r' => b'\r',
                b'n' => b'\n',
                b't' => b'\t',
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            },
            other => other,
        });
    }
    bytes
}

/// The statuses of all answers, and the body of the last.
fn answers(out: &[u8]) -> (Vec<u16>, String) {
    let text = String::from_utf8_lossy(out);
    let heads = text.split("HTTP/1.1 ").skip(1);
    let statuses = heads.map(|head| head[..3].parse().unwrap()).collect();
    let body = text.rsplit("\r\n\r\n").next().unwrap_or_default();
    (statuses, body.to_owned())
}

/// Returns whether a status is among those that are listed, as they are or by their first digit.
fn is_among(status: u16, expected: &str) -> bool {
    let (status, class) = (status.to_string(), format!("{}xx", status / 100));
    expected.split(' ').any(|one| one == status || one == class)
}

#[test]
fn suites_for_servers_pass_whole() {
    for (table, count) in [(H1SPEC, 33), (HTTP11PROBE, 67)] {
        let cases = cases(table);
        assert_eq!(cases.len(), count);
        for Case { expected, name, request, body } in cases {
            let outcome = serve(&ServerConfig::default(), &request);
            let (statuses, answered) = answers(&outcome.out);
            match statuses.first() {
                None => assert!(expected == "waits" && outcome.result.is_ok(), "{name}: no answer"),
                Some(&status) => assert!(is_among(status, expected), "{name}: {status}"),
            }
            assert!(body.is_none_or(|body| statuses != [200] || body == answered), "{name}: {answered}");
        }
    }
}

#[test]
fn requests_are_judged_as_by_llhttp() {
    let cases = cases(LLHTTP);
    let different: Vec<String> = cases
        .iter()
        .filter_map(|Case { expected, name, request, .. }| {
            let outcome = serve(&ServerConfig::default(), request);
            let (statuses, _) = answers(&outcome.out);
            // What refuses the request as HTTP; 404, 405 and 501 are answers to one that is understood.
            let (refused, complete): (Vec<u16>, Vec<u16>) =
                statuses.iter().partition(|status| [400, 505].contains(*status));
            let judged = format!("{}{}", complete.len(), if refused.is_empty() { "" } else { "!" });
            let why = ON_PURPOSE.iter().find(|(on_purpose, _)| on_purpose == name);
            match (judged == *expected, why) {
                (true, None) | (false, Some(_)) => None,
                _ => Some(format!("{name}: {judged}, by llhttp {expected}; {why:?}")),
            }
        })
        .collect();
    assert_eq!(different, [""; 0], "of {} vectors", cases.len());
    assert_eq!(cases.len() - ON_PURPOSE.len(), 106, "those that are judged the same");
}
