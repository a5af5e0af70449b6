//! Memory of large recordings, beside their size.

use std::env;
use std::fs;
use std::process::Command;

use har::{Recording, draft};

/// The largest that is promised, and a tenth of it: memory grows with the size.
const HAR_BYTES_MAX: usize = 200 << 20;
const HAR_BYTES: usize = HAR_BYTES_MAX / 10;
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

/// A recording with this frame or this entry, repeated until it has about so many bytes.
fn large(frame: &str, entry: &str, bytes: usize) -> Vec<u8> {
    let repeated = |part: &str| match part.len() {
        0 => String::new(),
        len => format!(",{part}").repeat(bytes / (len + 1)),
    };
    format!("{TALK}{}]}}{}]}}}}", repeated(frame), repeated(entry)).into_bytes()
}

/// The file that a process measures.
const RECORDING: &str = "THRONG_TEST_RECORDING";
const SHAPES: [&str; 9] = [
    "bodies",
    "frames",
    "JSON frames",
    "one escaped text",
    "headers",
    "tiny sockets",
    "tiny requests",
    "tiny events",
    "tiny frames",
];

fn shaped(name: &str, bytes: usize) -> Vec<u8> {
    let large = |frame: &str, entry: &str| large(frame, entry, bytes);
    let text = "x".repeat(4_000);
    let body = format!(r#""content":{{"mimeType":"text/html","text":"{text}"}}"#);
    let data = &text[..250];
    match name {
        "bodies" => {
            let answer = format!(r#""response":{{"status":200,{body}}}"#);
            large("", &format!(r#"{{"request":{{"url":"http://a/"}},{answer}}}"#))
        }
        "frames" => large(&format!(r#"{{"type":"receive","time":1.0,"opcode":1,"data":"{data}"}}"#), ""),
        "JSON frames" => {
            let data = format!(r#"{{\"type\":\"said\",\"text\":\"{text}\"}}"#);
            large(&format!(r#"{{"type":"receive","time":1.0,"opcode":1,"data":"{data}"}}"#), "")
        }
        "one escaped text" => {
            // So much of all that it stands there once.
            let data = format!(r#"\"{}"#, &text[..30]).repeat(bytes / 33);
            large(&format!(r#"{{"type":"receive","time":1.0,"opcode":1,"data":"{data}"}}"#), "")
        }
        "headers" => {
            let headers = [r#"{"name":"n","value":"v"}"#; 60].join(",");
            large("", &format!(r#"{{"request":{{"url":"http://a/","headers":[{headers}]}}}}"#))
        }
        "tiny sockets" => large(
            "",
            r#"{"request":{"url":"ws://a"},"_webSocketMessages":[{"type":"send"},{"type":"send"}]}"#,
        ),
        "tiny requests" => {
            large("", r#"{"request":{"url":"http://a","headers":[{"name":"a"},{"name":"b"}]}}"#)
        }
        "tiny events" => {
            let content = format!(r#""mimeType":"text/event-stream","text":"{}""#, r"data:\n\n".repeat(500));
            large(
                "",
                &format!(
                    r#"{{"request":{{"url":"http://a/"}},"response":{{"status":200,"content":{{{content}}}}}}}"#
                ),
            )
        }
        _ => large(r#"{"type":"send","opcode":1,"time":2}"#, ""),
    }
}

/// Measures the recording in a file; the process has made nothing else.
fn measure(path: &str) {
    let before = memory_bytes("VmRSS:");
    let drafted = draft(&[Recording::read("a.har", fs::read(path).unwrap()).unwrap()], "users.csv");
    assert!(drafted.is_measured, "{path}: {}", drafted.toml);
    let size = fs::metadata(path).unwrap().len();
    let multiple = (memory_bytes("VmHWM:") - before) as f64 / size as f64;
    println!("{path}: {multiple:.1} times the size");
    assert!(multiple <= MULTIPLE_MAX, "{path}: {multiple:.1} times the size");
}

/// Measures each shape in a process of its own, which runs this test again: memory that one leaves is no
/// other's.
fn measure_all(test: &str, bytes: usize) {
    if let Ok(path) = env::var(RECORDING) {
        return measure(&path);
    }
    for name in SHAPES {
        let path = format!("{}/{name}, {bytes} bytes.har", env!("CARGO_TARGET_TMPDIR"));
        fs::write(&path, shaped(name, bytes)).unwrap();
        let mut process = Command::new(env::current_exe().unwrap());
        process.args(["--exact", test, "--include-ignored", "--nocapture"]).env(RECORDING, &path);
        let output = process.output();
        fs::remove_file(&path).unwrap();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        println!("{}", said[0]);
        assert!(output.status.success(), "{}{}", said[0], said[1]);
    }
}

#[test]
fn memory_is_bounded_by_the_size() {
    measure_all("memory_is_bounded_by_the_size", HAR_BYTES);
}

#[test]
#[ignore = "600 MB of memory for minutes: make torture"]
fn torture_memory_is_bounded_at_the_largest() {
    measure_all("torture_memory_is_bounded_at_the_largest", HAR_BYTES_MAX);
}
