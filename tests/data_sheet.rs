//! `throng probe URL`: what its sheet leaves out, and how it ends. What it finds is in `probe_truth`.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::probe_truth::planted::{found, sheet};
use crate::support::hostile::{HostileServer, Peer};
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, throng};
use crate::support::websocket;
use crate::support::{retry, skip};

/// A sheet without risky probes, on a busy machine.
const SHEET_MAX: Duration = Duration::from_secs(120);
const WITHIN: Duration = Duration::from_secs(30);
/// Time for the first row, on a busy machine.
const INTERRUPTED_AFTER_MAX: Duration = Duration::from_secs(20);
/// A value of that row.
const COMPRESSION: &str = "compression/deflate";

#[test]
fn risky_probes_need_agreement() {
    let server = Server::start(&["--history", "50"]);
    let of_sockets =
        ["message_max", "connections", "handshake_rate", "message_rate", "slow_reader", "close_codes"];
    for (path, risky) in [("", &of_sockets[..]), ("socket.io/", &["resume_time", "resume_messages"])] {
        let outcome = sheet(&format!("{}{path}", server.url()), &[]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let rows = &outcome.json()["rows"];
        for row in risky {
            let why = rows[row]["not_tried"].as_str().unwrap_or_default();
            assert!(why.contains("--yes"), "made without --yes: {row}: {outcome}");
        }
    }
}

#[test]
fn connections_stay_within_their_bound() {
    let (open, peak) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let noted = Arc::clone(&peak);
    let server = HostileServer::start(move |p: &mut Peer| {
        noted.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        p.upgrade();
        while let Some((first, payload)) = p.receive_frame() {
            p.frame(if first == websocket::PING { websocket::PONG } else { first }, &payload);
            if first == websocket::CLOSE {
                break;
            }
        }
        open.fetch_sub(1, Ordering::SeqCst);
    });
    let outcome = sheet(&server.url(), &["--yes", "--max", "60"]);
    assert_eq!(found(&outcome.json(), "connections/open"), Some(json!(60)), "{outcome}");
    // The connections of the probes that wait are among them.
    assert_eq!(peak.load(Ordering::SeqCst), 60, "{outcome}");
}

/// Makes a sheet on a terminal, where the user types this answer.
fn on_terminal(server: &Server, answer: &str) -> Outcome {
    let probe = throng([]);
    let line = format!(
        "'{}' probe ws://{}/ws --idle 1s --max 5 --max-message 2KiB",
        probe.get_program().to_str().unwrap(),
        server.address
    );
    let typed = r#"printf '%s\n' "$1" | script --quiet --return --command "$2" /dev/null"#;
    run(Command::new("sh").args(["-c", typed, "sh", answer, &line]), SHEET_MAX)
}

#[test]
fn terminals_ask_before_risky_probes() {
    if Command::new("script").arg("--version").output().is_err() {
        return skip("the question before risky probes", "script(1) is not here");
    }
    let server = Server::start(&[]);
    for (answer, is_made) in [("y", true), ("n", false), ("", false)] {
        let outcome = on_terminal(&server, answer);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let shows = |start: &str| outcome.stdout.lines().any(|line| line.starts_with(start));
        assert!(shows("  connections: "), "asks for each risk: {outcome}");
        assert!(!shows("  resumption: "), "nothing resumes here: {outcome}");
        assert_eq!(shows("connections "), is_made, "{answer:?}: {outcome}");
    }
}

/// A frame that no client may take (RFC 6455 §5.5: a ping of two parts).
#[test]
fn malformed_frames_are_no_fin() {
    let server = HostileServer::start(|p: &mut Peer| {
        p.upgrade();
        while let Some((first, payload)) = p.receive_frame() {
            if first == websocket::CLOSE {
                p.send(&[0x09, 0x00]);
                break;
            }
            p.send(&websocket::frame(
                if first == websocket::PING { websocket::PONG } else { first },
                &payload,
            ));
        }
        p.hold();
    });
    let outcome = sheet(&server.url(), &["--yes"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let close = found(&outcome.json(), "close_codes/close");
    assert_eq!(close, Some(json!("protocol_error")), "{outcome}");
}

/// Makes a sheet and interrupts it after this time.
fn interrupted(server: &Server, after: Duration) -> Outcome {
    let url = format!("ws://{}/ws", server.address);
    let process = Process::start(&mut throng(["probe", &url, "--format", "json"]));
    thread::sleep(after);
    assert!(process.signal(Signal::INT));
    finish(process, WITHIN)
}

#[test]
fn interrupted_sheets_have_what_was_found() {
    let server = Server::start(&[]);
    let mut after = Duration::from_secs(3);
    let outcome = loop {
        let outcome = interrupted(&server, after);
        let sheet: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        if found(&sheet, COMPRESSION).is_some() || after > INTERRUPTED_AFTER_MAX {
            break outcome;
        }
        retry("a sheet", &format!("nothing found in {after:?}"));
        after *= 2;
    };
    assert_eq!(outcome.code, Some(130), "{outcome}");
    let sheet = outcome.json();
    assert_eq!(found(&sheet, COMPRESSION), Some(json!(false)), "{outcome}");
    assert!(sheet["rows"]["idle"]["not_tried"].is_string(), "{outcome}");
}

#[test]
fn messages_without_bytes_are_no_limit() {
    let outcome = run(throng(["probe", "ws://127.0.0.1:1/"]).args(["--max-message", "0"]), WITHIN);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--max-message"), "{outcome}");
}

#[test]
fn servers_without_websockets_have_short_sheets() {
    let page = HostileServer::start(|p| {
        p.answer("200 OK\r\nContent-Length: 0").fin();
    });
    let outcome = sheet(&page.url(), &["--yes"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(found(&outcome.json(), "http2/spoken"), Some(json!(false)), "{outcome}");
    assert!(outcome.json()["rows"]["idle"]["not_tried"].is_string(), "{outcome}");
    let text = run(throng(["probe", &page.url()]).env("NO_COLOR", "1"), SHEET_MAX);
    let mut rows = text.stdout.lines().skip_while(|line| !line.starts_with("HTTP/2")).peekable();
    assert!(rows.peek().is_some() && rows.all(|line| line.chars().count() <= 80), "{text}");
}
