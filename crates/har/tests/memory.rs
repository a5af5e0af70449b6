//! Memory of large recordings, beside their size.

use std::env;
use std::fs;
use std::process::Command;

use har::{Recording, draft};

/// A tenth of the largest that is promised: memory grows with the size.
const HAR_BYTES: usize = 20 << 20;
/// Multiple of its size that a recording may take, its own bytes included.
const MULTIPLE_MAX: f64 = 3.0;
/// A short talk, at the beginning of what is large.
const TALK: &str = r#"{"log":{"entries":[{"request":{"method":"GET","url":"ws://a/"},"_webSocketMessages":[{"type":"send","time":1.0,"opcode":1,"data":"{\"type\":\"say\",\"text\":\"good morning\"}"},{"type":"receive","time":1.0,"opcode":1,"data":"{\"type\":\"say\",\"text\":\"good morning\"}"}"#;

/// A field of this process's memory, in bytes.
fn memory_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A recording with this frame or this entry, repeated until it is large.
fn large(frame: &str, entry: &str) -> Vec<u8> {
    let repeated = |part: &str| match part.len() {
        0 => String::new(),
        len => format!(",{part}").repeat(HAR_BYTES / (len + 1)),
    };
    format!("{TALK}{}]}}{}]}}}}", repeated(frame), repeated(entry)).into_bytes()
}

/// The name of the shape that a process of its own measures: memory that one leaves is no other's.
const SHAPE: &str = "THRONG_TEST_SHAPE";
const SHAPES: [&str; 5] = ["bodies", "frames", "tiny sockets", "tiny requests", "tiny frames"];

fn shaped(name: &str) -> Vec<u8> {
    let text = "x".repeat(4_000);
    let body = format!(r#""content":{{"mimeType":"text/html","text":"{text}"}}"#);
    let data = &text[..250];
    match name {
        "bodies" => {
            let answer = format!(r#""response":{{"status":200,{body}}}"#);
            large("", &format!(r#"{{"request":{{"url":"http://a/"}},{answer}}}"#))
        }
        "frames" => large(&format!(r#"{{"type":"receive","time":1.0,"opcode":1,"data":"{data}"}}"#), ""),
        "tiny sockets" => large(
            "",
            r#"{"request":{"url":"ws://a"},"_webSocketMessages":[{"type":"send"},{"type":"send"}]}"#,
        ),
        "tiny requests" => {
            large("", r#"{"request":{"url":"http://a","headers":[{"name":"a"},{"name":"b"}]}}"#)
        }
        _ => large(r#"{"type":"send","opcode":1,"time":2}"#, ""),
    }
}

fn measure(name: &str) {
    let before = memory_bytes("VmRSS:");
    let har = shaped(name);
    let size = har.len() as f64;
    // Resets the peak (proc(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let drafted = draft(&[Recording::read("a.har", har).unwrap()], "users.csv");
    assert!(drafted.is_measured, "{name}: {}", drafted.toml);
    let multiple = (memory_bytes("VmHWM:") - before) as f64 / size;
    println!("{name}: {multiple:.1} times the size");
    assert!(multiple <= MULTIPLE_MAX, "{name}: {multiple:.1} times the size");
}

#[test]
fn memory_is_bounded_by_the_size() {
    if let Ok(name) = env::var(SHAPE) {
        return measure(&name);
    }
    for name in SHAPES {
        let mut process = Command::new(env::current_exe().unwrap());
        let output =
            process.args(["--exact", "memory_is_bounded_by_the_size", "--nocapture"]).env(SHAPE, name);
        let output = output.output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        println!("{}", said[0]);
        assert!(output.status.success(), "{}{}", said[0], said[1]);
    }
}
