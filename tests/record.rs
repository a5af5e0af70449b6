//! `throng record URL`: what it refuses, and what is left of a session that makes no file. Sessions that do
//! are in `recorded_apps` and `streamed_apis`.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::browser::opened_by;
use crate::support::process::Process;
use crate::support::throng::{Outcome, finish, run, throng};
use crate::support::{REACTS_WITHIN, wait_until};

const WITHIN: Duration = Duration::from_secs(30);

/// Records in a folder, has `use_it` use the address, and interrupts.
pub(crate) fn record(folder: &TempDir, words: &[&str], use_it: impl FnOnce(&str)) -> Outcome {
    let process = Process::start(throng(["record"]).args(words).current_dir(folder));
    let address = || {
        let said = process.said();
        said.split_once("http://")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map(|(address, _)| address.to_owned())
    };
    assert!(wait_until(WITHIN, || address().is_some()), "{:?}", process.said());
    use_it(&address().unwrap());
    process.signal(Signal::INT);
    finish(process, WITHIN)
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn unusable_command_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("users.csv"), "mine").unwrap();
    for (words, flag) in [
        (&["http://127.0.0.1:1", "--listen", "0.0.0.0:0"][..], "--listen"),
        (&["http://127.0.0.1:1", "--listen", "127.0.0.2:0", "--sessions", "2"], "--listen"),
        (&["ftp://127.0.0.1:1"], "URL"),
        (&["127.0.0.1:1", "--name", "a/b"], "--name"),
        (&["127.0.0.1:1", "--out", "nowhere"], "--out"),
        (&["127.0.0.1:1"], "users.csv"),
    ] {
        let outcome = run(throng(["record"]).args(words).current_dir(&folder), WITHIN);
        assert_eq!(outcome.code, Some(2), "{words:?} {outcome}");
        assert!(outcome.stderr.contains(flag), "{words:?} {outcome}");
    }
    assert_eq!(names(&folder), ["users.csv"]);
}

#[test]
fn taken_address_of_the_second_user_is_named() {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let taken = listener.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let first = format!("127.0.0.1:{}", taken.port());
    let words = ["record", "http://127.0.0.1:1", "--sessions", "2", "--listen", &first];
    let outcome = run(throng(words).current_dir(&folder), WITHIN);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains(&taken.to_string()), "{outcome}");
}

#[test]
fn session_without_requests_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = record(&folder, &["http://127.0.0.1:1"], |_| {});
    assert_eq!((outcome.code, names(&folder).len()), (Some(130), 0), "{outcome}");
}

#[test]
fn browser_opens_each_users_address() {
    let (folder, desktop) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = opened_by(desktop.path(), "#!/bin/sh\necho \"$@\" >>\"$0.given\"\n");
    let opened = || {
        let given = fs::read_to_string(desktop.path().join("xdg-open.given")).unwrap_or_default();
        let mut opened: Vec<String> = given.lines().map(str::to_owned).collect();
        opened.sort_unstable();
        opened
    };
    let mut command = throng(["record", "http://127.0.0.1:1/chat", "--open", "--sessions", "2"]);
    let process = Process::start(command.env("PATH", path).current_dir(&folder));
    assert!(wait_until(WITHIN, || opened().len() == 2), "{:?} {}", opened(), process.said());
    process.signal(Signal::INT);
    let outcome = finish(process, WITHIN);
    let printed: Vec<&str> =
        outcome.stdout.split_whitespace().filter(|word| word.ends_with("/chat")).collect();
    assert_eq!(opened(), printed, "{outcome}");
}

#[test]
fn session_without_sockets_keeps_its_har() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/start", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The proxy tries the server first, without a request.
            if stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi");
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let outcome = record(&folder, &[&url, "--name", "mine", "--out", "."], |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
        write!(stream, "GET /start HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\n2\r\nhi\r\n0\r\n\r\n"), "{answer}");
    });
    assert_eq!((outcome.code, names(&folder)), (Some(1), vec!["mine.har".to_owned()]), "{outcome}");
    let again = run(throng(["record", &url, "--name", "mine"]).current_dir(&folder), WITHIN);
    assert!(again.code == Some(2) && again.stderr.contains("WebSocket"), "{again}");
    let har: Value = serde_json::from_slice(&fs::read(folder.path().join("mine.har")).unwrap()).unwrap();
    let entry = &har["log"]["entries"][0];
    assert_eq!(entry["request"]["url"], url);
    assert_eq!(
        (&entry["response"]["status"], &entry["response"]["content"]["text"]),
        (&200.into(), &"hi".into())
    );
}
