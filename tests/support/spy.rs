//! Looks for a marker wherever something of it could stand: argument lists of processes, files, a server that quotes.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::Pid;

use super::throng::Outcome;
use super::{START_MAX, wait_until};

/// Between two looks at all processes: a child lives longer than that.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Reads the argument lists of all processes until it is asked what it saw.
pub struct Spy {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<String>>,
}

impl Spy {
    /// Looks for the marker in the argument list of any process but this one, and what forks from it: until a child has
    /// become another program, it has the list of its parent.
    pub fn on(marker: &str, but: Option<Pid>) -> Spy {
        let is_over = Arc::new(AtomicBool::new(false));
        let (marker, ended) = (marker.to_owned(), Arc::clone(&is_over));
        let own = but.map(words_of);
        let thread = thread::spawn(move || {
            let mut seen = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                for process in fs::read_dir("/proc").unwrap().flatten() {
                    let Ok(words) = fs::read(process.path().join("cmdline")) else { continue };
                    // What is read of a process that comes or goes may be cut short.
                    let is_own = own.as_ref().is_some_and(|own| own.starts_with(&words));
                    if contains(&words, &marker) && !is_own {
                        seen.push(String::from_utf8_lossy(&words).replace('\0', " "));
                    }
                }
                thread::sleep(LOOK_INTERVAL);
            }
            seen.dedup();
            seen
        });
        Spy { is_over, thread }
    }

    /// The argument lists that had it.
    pub fn seen(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// The argument list of a process that has just been started: for a moment it has none.
fn words_of(pid: Pid) -> Vec<u8> {
    let path = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
    let mut words = Vec::new();
    let has_some = wait_until(START_MAX, || {
        words = fs::read(&path).unwrap();
        !words.is_empty()
    });
    assert!(has_some, "{path} stays empty");
    words
}

/// Returns whether the marker is in the bytes.
pub fn contains(bytes: &[u8], marker: &str) -> bool {
    bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
}

/// The files below a folder that have the marker in them, or in their names; how many were looked at.
pub fn search(folder: &Path, marker: &str) -> (Vec<String>, usize) {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            let (inner, files) = search(&entry, marker);
            found.extend(inner);
            looked_at += files;
        } else if entry.is_file() {
            looked_at += 1;
            let name = entry.display().to_string();
            if contains(&fs::read(&entry).unwrap(), marker) || name.contains(marker) {
                found.push(name);
            }
        }
    }
    (found, looked_at)
}

/// A server that refuses everybody, and quotes what it was asked, in the body and where it leads to.
pub struct Quoting {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Quoting {
    /// Starts it; it ends with the test.
    pub fn start() -> Quoting {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let all = Arc::clone(&all);
                thread::spawn(move || {
                    let mut asked = Vec::new();
                    let mut bytes = [0; 4096];
                    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
                        match stream.read(&mut bytes) {
                            Ok(read) if read > 0 => asked.extend_from_slice(&bytes[..read]),
                            _ => return,
                        }
                    }
                    all.lock().unwrap().extend_from_slice(&asked);
                    let quoted = String::from_utf8_lossy(&asked).replace("\r\n", " | ");
                    let body = format!("no entry with {quoted}");
                    let head = format!("HTTP/1.1 401 No entry with {quoted}\r\nContent-Type: text/plain\r\n");
                    let length = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                    let _ = stream.write_all([head, length, body].concat().as_bytes());
                });
            }
        });
        Quoting { address, heard }
    }

    /// Returns whether a client has said this.
    pub fn has_heard(&self, text: &str) -> bool {
        contains(&self.heard.lock().unwrap(), text)
    }
}

/// Everything that lets a client in, with a marker in each.
pub fn secrets_of(address: SocketAddr, marker: &str) -> [String; 8] {
    [
        format!("://me:{marker}-pass@{address}/?access_token={marker}-query&room=1#sig={marker}-fragment"),
        "-H".to_owned(),
        format!("Cookie: a={marker}-cookie"),
        format!("-HX-Api-Key:{marker}-key"),
        format!("--header=Proxy-Authorization: Basic {marker}-proxy"),
        "--token".to_owned(),
        format!("{marker}-token"),
        "--token-in=header:X-Token".to_owned(),
    ]
}

/// Neither what was said nor what was written to the folder, which is something, has the marker in it.
pub fn assert_no_marker(outcome: &Outcome, folder: &Path, marker: &str) {
    assert!(!outcome.stdout.contains(marker) && !outcome.stderr.contains(marker), "{outcome}");
    let (found, files) = search(folder, marker);
    assert!(found.is_empty() && files > 0, "{found:?} of {files} files");
}
