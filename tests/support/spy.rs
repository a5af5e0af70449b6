//! Looks for a marker wherever something of it could stand: argument lists of processes, files, a server that quotes.

use std::collections::HashMap;
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

/// Between two looks at all processes.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Reads the argument lists of all processes until it is asked what it saw.
pub struct Spy {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    looks: Arc<Mutex<Looks>>,
    root: u32,
}

/// Processes by their numbers, as they were seen last.
#[derive(Default)]
struct Looks {
    parents: HashMap<u32, u32>,
    words: HashMap<u32, Vec<u8>>,
    /// Argument lists that had the marker.
    marked: Vec<String>,
}

impl Spy {
    /// Looks for the marker in the argument list of any process but this one, and what forks from it: until a
    /// child has become another program, it has the list of its parent.
    pub fn on(marker: &str, process: Pid) -> Spy {
        let (is_over, looks) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Looks::default())));
        let (marker, own) = (marker.to_owned(), words_of(process));
        let (ended, shared) = (Arc::clone(&is_over), Arc::clone(&looks));
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                for process in fs::read_dir("/proc").unwrap().flatten() {
                    let Ok(words) = fs::read(process.path().join("cmdline")) else { continue };
                    // What is read of a process that comes or goes may be cut short.
                    if !own.starts_with(&words) {
                        shared.lock().unwrap().add(&process.path(), words, &marker);
                    }
                }
                thread::sleep(LOOK_INTERVAL);
            }
        });
        Spy { is_over, thread, looks, root: process.as_raw_nonzero().get().unsigned_abs() }
    }

    /// Waits until as many processes that descend from this one and have the word were looked at.
    pub fn await_children(&self, number: usize, word: &str) {
        let looked_at = || self.looks.lock().unwrap().descendants(self.root, word);
        assert!(wait_until(START_MAX, || looked_at() >= number), "{word}: {} of {number}", looked_at());
    }

    /// The argument lists that had it.
    pub fn seen(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let mut marked = std::mem::take(&mut self.looks.lock().unwrap().marked);
        marked.dedup();
        marked
    }
}

impl Looks {
    /// Adds the process of a folder of `/proc`.
    fn add(&mut self, folder: &Path, words: Vec<u8>, marker: &str) {
        if contains(&words, marker) {
            self.marked.push(String::from_utf8_lossy(&words).replace('\0', " "));
        }
        let Some(pid) = folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()) else {
            return;
        };
        if self.words.get(&pid) == Some(&words) {
            return; // its parent is known
        }
        if let Some(parent) = parent_in(folder) {
            self.parents.insert(pid, parent);
            self.words.insert(pid, words);
        }
    }

    fn descendants(&self, root: u32, word: &str) -> usize {
        let parent = |pid: &u32| self.parents.get(pid).copied();
        // A number may be another process's by now: no line is longer than there are processes.
        let above = |pid: &u32| std::iter::successors(parent(pid), parent).take(self.parents.len());
        let is_below = |pid: &u32| above(pid).any(|above| above == root);
        self.words.iter().filter(|(pid, words)| contains(words, word) && is_below(pid)).count()
    }
}

fn parent_in(folder: &Path) -> Option<u32> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
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
