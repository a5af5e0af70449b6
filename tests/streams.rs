//! `throng stream` from end to end: what a server plants in its answers is what is found, by throng's own
//! server and by Node's.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::hostile::{HostileServer, Peer};
use crate::support::process::Process;
use crate::support::quota::Quota;
use crate::support::requests::RUN_MAX;
use crate::support::throng::{Outcome, Server, errors_of, finish, run, start_measuring, sum_of, throng};
use crate::support::{REACTS_WITHIN, free_address, in_time, skip, timed};

/// A server's behaviour, and how it does it.
type Case = (&'static str, fn(&mut Peer));

/// The head of an event stream in chunks.
const CHUNKED: &str = "200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked";

/// Runs `throng stream` with these flags, in JSON.
pub(crate) fn stream(url: &str, flags: &str) -> Outcome {
    run(
        throng(["stream", url, "--format", "json", "--no-preflight", "--no-store"])
            .args(flags.split_whitespace()),
        RUN_MAX,
    )
}

/// The counts of these names.
pub(crate) fn counts<const N: usize>(results: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| sum_of(results, name))
}

fn ms(results: &Value, figure: &str, statistic: &str) -> f64 {
    results["steps"][0][figure][statistic]
        .as_f64()
        .unwrap_or_else(|| panic!("{figure} {statistic}: {results:#}"))
}

#[test]
fn each_form_is_read_event_by_event() {
    let server = Server::start(&[]);
    for (form, end) in [("sse", "--end [DONE]"), ("ndjson", "--end /done=true"), ("text", "")] {
        let url = format!("http://{}/stream?events=20&gap=5ms&first=40ms&as={form}", server.address);
        let tokens = "--tokens /choices/0/delta/content --order /n";
        let outcome = stream(&url, &format!("-c 4 -n 12 {end} {tokens}"));
        assert_eq!(outcome.code, Some(0), "{form}: {outcome}");
        let results = outcome.json();
        // The mark of lines is one of them.
        let events = if form == "ndjson" { 21 } else { 20 };
        assert_eq!(counts(&results, ["sent", "received"]), [12, 12], "{form}");
        if form != "text" {
            assert_eq!(counts(&results, ["events", "tokens"]), [12 * events, 12 * 20], "{form}");
        }
        assert!(ms(&results, "first", "min_ms") >= 39.0, "{form}");
        assert_eq!(results["steps"][0]["first"]["count"], 12, "{form}");
    }
}

#[test]
fn bytes_are_those_of_whole_answers() {
    let server = Server::start(&[]);
    for (faults, received) in [("", 12), ("&break=25:0%2", 6)] {
        let url = format!("http://{}/stream?events=50&gap=1ms&bytes=1000&as=ndjson{faults}", server.address);
        let results = stream(&url, "-c 4 -n 12 --end /done=true").json();
        let rates = &results["steps"][0]["rates"];
        let [bytes, answers] = ["received_bytes_per_s", "received_per_s"].map(|name| rates[name].as_f64());
        let answer_bytes = bytes.unwrap() / answers.unwrap();
        assert!((50_000.0..60_000.0).contains(&answer_bytes), "{faults}: {results:#}");
        assert_eq!(counts(&results, ["received"]), [received], "{faults}");
    }
}

#[test]
fn limits_are_about_streams() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=10&gap=5ms&first=50ms", server.address);
    let kept = stream(
        &url,
        "-c 2 -n 4 --limit first<5s --limit gap.p50<1s --limit event_rate>1/s --limit stalls<=9",
    );
    assert_eq!(kept.code, Some(0), "{kept}");
    let broken = stream(&url, "-c 2 -n 4 --limit first<20ms");
    assert_eq!(broken.code, Some(3), "{broken}");
}

#[test]
fn questions_come_at_their_rate() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=10&gap=5ms", server.address);
    let outcome = stream(&url, "-c 20 -R 40 -d 2s --end [DONE] --order /n");
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["sent", "received", "events"]), [80, 80, 800], "{outcome}");
}

#[test]
fn planted_faults_are_found_exactly() {
    let server = Server::start(&[]);
    let query = "events=50&gap=10ms&break=20:1%10&end=missing:2%10&swap=30:5%10&hang=40:6%10";
    let url = format!("http://{}/stream?{query}", server.address);
    // Half of a hundred at once, and once each: none waits for another.
    let outcome = stream(&url, "-c 100 -n 100 --end [DONE] --order /n --drain-timeout 4s");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let found = counts(&results, ["broken_off", "unmarked", "unended", "misordered", "after_end", "missing"]);
    assert_eq!(found, [10, 10, 10, 10, 0, 20], "{results:#}");
    let url = format!("http://{}/stream?events=5&gap=1ms&end=doubled:0%2", server.address);
    let doubled = stream(&url, "-c 10 -n 100 --end [DONE]").json();
    assert_eq!(counts(&doubled, ["after_end", "received", "unmarked"]), [50, 100, 0]);
}

/// Schemes and flags for two questions at once.
const PAIRS: [(&str, &str); 3] =
    [("http", "-c 2"), ("http", "--http2 --streams 2 -c 1"), ("ws", "-c 2 --body tea?")];

/// Results of answers that are each twice as long as an answer without events is waited for.
fn long_answers(server: &Server, scheme: &str, flags: &str) -> Value {
    let url = format!("{scheme}://{}/stream?events=40&gap=100ms", server.address);
    stream(&url, &format!("{flags} --drain-timeout 2s --end [DONE]")).json()
}

#[test]
fn long_answers_delay_no_question() {
    let server = Server::start(&[]);
    for (scheme, pair) in PAIRS {
        let results = long_answers(&server, scheme, &format!("{pair} -n 4"));
        assert_eq!(
            counts(&results, ["sent", "received", "unended"]),
            [4, 2, 2],
            "{scheme} {pair}: {results:#}"
        );
        assert_eq!(results["steps"][0]["first"]["count"], 4, "{scheme} {pair}");
        assert!(ms(&results, "first", "max_ms") < 1_000.0, "{scheme} {pair}: {results:#}");
    }
}

#[test]
fn answers_of_a_warmup_delay_no_question() {
    let server = Server::start(&[]);
    for (scheme, pair) in PAIRS {
        let results = long_answers(&server, scheme, &format!("{pair} -n 2 --warmup 100ms"));
        assert_eq!(
            counts(&results, ["sent", "received", "unended"]),
            [2, 0, 2],
            "{scheme} {pair}: {results:#}"
        );
        assert!(ms(&results, "first", "max_ms") < 1_000.0, "{scheme} {pair}: {results:#}");
    }
}

#[test]
fn stalls_are_found_where_planted() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=50&gap=20ms&stall=1s@25:4%10", server.address);
    // A machine that is busy for as long makes more of them, or reads both sides of one at once.
    timed(|| {
        let results = stream(&url, "-c 20 -n 20").json();
        let [received, stalls, here] = counts(&results, ["received", "stalls", "stalls_here"]);
        assert_eq!(received, 20, "{results:#}");
        let max_ms = ms(&results, "gap", "max_ms");
        in_time(stalls - here == 2 && max_ms > 999.0, || format!("{stalls} - {here}, {max_ms}"))?;
        // Those that this machine makes have owners, too.
        let planted_percent = 100.0 * 2.0 / stalls as f64;
        let own = owned(&results, &["server_asleep", "server_cpu", "cpu_contention"]);
        in_time(own >= planted_percent - 1.0, || format!("{results:#}"))
    });
}

/// The share of stalls that these owners have together, in percent.
fn owned(results: &Value, owners: &[&str]) -> f64 {
    let shares = &results["steps"][0]["stall_owners_percent"];
    owners.iter().filter_map(|owner| shares[owner].as_f64()).sum()
}

#[test]
fn a_stopped_generator_owns_its_stalls() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=100&gap=20ms", server.address);
    timed(|| {
        let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
        command.args("-c 20 -n 40".split(' '));
        let generator = start_measuring(&mut command);
        assert!(generator.signal(Signal::STOP));
        thread::sleep(Duration::from_secs(1));
        assert!(generator.signal(Signal::CONT));
        let results = finish(generator, RUN_MAX).json();
        let [received, stalls, here] = counts(&results, ["received", "stalls", "stalls_here"]);
        assert_eq!(received, 40, "{results:#}");
        in_time(stalls >= 20 && stalls == here, || format!("{results:#}"))?;
        in_time(owned(&results, &["generator"]) > 80.0, || format!("{results:#}"))
    });
}

#[test]
fn a_throttled_generator_owns_its_stalls() {
    let Some(quota) = Quota::new(10) else { return };
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=250&gap=8ms", server.address);
    let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
    // The server waits less than the shortest stall, and less often than events are read together.
    command.args("-c 60 -n 60 --stall 2 --connect-timeout 20s".split(' '));
    let results = run(&mut quota.over(&command), 2 * RUN_MAX).json();
    assert!(results["steps"][0]["generator"]["throttled_percent"].as_f64() > Some(10.0), "{results:#}");
    // Beside other programs, it also waits for a CPU.
    let own = owned(&results, &["generator", "cpu_contention"]);
    assert!(sum_of(&results, "stalls") > 0 && own > 60.0, "{results:#}");
}

/// Asserts that every fault that is planted in twenty of `answers` at once is found.
fn assert_faults_are_found(answers: u64, events: u64, gap_ms: u64) {
    let server = Server::start(&[]);
    let (each, half, later) = (answers / 20, events / 2, events * 3 / 5);
    // All are asked at once, and a busy machine may take three times as long for them.
    let drain_ms = 3 * events * gap_ms + 6_000;
    let query = [
        format!(
            "events={events}&gap={gap_ms}ms&break={half}:3%{each}&end=missing:4%{each}&swap={later}:6%{each}"
        ),
        format!(
            "&stall=3s@{later}:5%{each}&hang={later}:7%{each}&error={half}:8%{each}&end=doubled:9%{each}"
        ),
    ]
    .concat();
    let url = format!("http://{}/stream?{query}", server.address);
    let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
    command.args(["-c", &answers.to_string(), "-n", &answers.to_string()]);
    let flags = format!("--end [DONE] --order /n --drain-timeout {drain_ms}ms --connect-timeout 30s");
    let outcome = run(command.args(flags.split_whitespace()), 4 * RUN_MAX);
    let results = outcome.json();
    let found = counts(&results, ["sent", "broken_off", "unmarked", "unended", "misordered", "after_end"]);
    assert_eq!(found, [answers, 20, 20, 20, 20, 20], "{outcome}");
    assert_eq!(errors_of(&results, "http_error_event"), 20, "{outcome}");
    let usual_ms = ms(&results, "gap", "p50_ms");
    if usual_ms >= 250.0 {
        skip("planted stalls", &format!("three seconds are none beside gaps of {usual_ms} ms"));
    } else {
        // A busy machine makes more of them, and reads the event before one late.
        let [stalls, here] = counts(&results, ["stalls", "stalls_here"]);
        assert!(stalls - here >= 20 && ms(&results, "gap", "max_ms") >= 2_900.0, "{outcome}");
    }
    // What broke off or hung had come so far.
    let (whole, cut) = (answers - 40, 20 * (half + later));
    assert_eq!(counts(&results, ["events", "received"]), [whole * events + cut, whole], "{outcome}");
}

#[test]
fn a_thousand_answers_are_accounted_for() {
    assert_faults_are_found(1_000, 100, 80);
}

#[test]
#[ignore = "a test of the machine: make torture"]
fn torture_two_thousand_answers_are_accounted_for() {
    assert_faults_are_found(2_000, 200, 100);
}

/// Node's own http and its http2, which plant the same and keep a journal.
pub(crate) fn node() -> Option<(Process, [SocketAddr; 2])> {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("streamed answers of Node.js", "needs node");
        return None;
    }
    let addresses = [free_address(), free_address()];
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/streams/server.mjs");
    let ports = addresses.map(|address| address.port().to_string());
    let process = Process::start(Command::new("node").arg(script).args(ports));
    let process = addresses.into_iter().fold(process, Process::listening_at);
    Some((process, addresses))
}

#[test]
fn faults_in_nodes_journal_are_found() {
    let Some((_node, [first, second])) = node() else { return };
    let flags = "-m POST -b {} -n 40 --order /n --drain-timeout 4s";
    for (address, load, path, end) in [
        (first, "-c 40", "sse", "--end [DONE]"),
        (first, "-c 40", "ndjson", "--end /done=true"),
        (second, "--http2 -c 4 --streams 10", "sse", "--end [DONE]"),
        (second, "--http2 -c 1 --streams 40", "ndjson", "--end /done=true"),
    ] {
        let before = journal(first);
        let url = format!("http://{address}/{path}?faults");
        let results = stream(&url, &format!("{flags} {load} {end}")).json();
        let journal = journal(first);
        let planted = ["broken", "unmarked", "doubled", "swapped", "endless"]
            .map(|fault| of(&journal, fault) - of(&before, fault));
        let found = counts(&results, ["broken_off", "unmarked", "after_end", "misordered", "unended"]);
        assert_eq!((found, planted), ([4; 5], [4; 5]), "{path} {load}: {results:#}");
    }
}

/// Journal of Node: faults planted so far, and how long its first events took.
pub(crate) fn journal(address: SocketAddr) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
    stream.write_all(b"GET /journal HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Count of a planted fault.
pub(crate) fn of(journal: &Value, fault: &str) -> u64 {
    journal["planted"][fault].as_u64().unwrap_or(0)
}

#[test]
fn answers_without_a_stream_fail_by_name() {
    let cases: &[Case] = &[
        ("http_not_stream", |p| {
            p.answer("200 OK\r\nContent-Type: text/html\r\nContent-Length: 3").send(b"<p>").hold()
        }),
        ("http_not_stream", |p| {
            let head = "200 OK\r\nContent-Type: application/json\r\nContent-Length: 25";
            p.answer(head).send(br#"{"error":"no such model"}"#).hold()
        }),
        ("http_no_events", |p| p.answer("200 OK\r\nContent-Length: 0").hold()),
        ("http_no_events", |p| p.answer(CHUNKED).send(b"3\r\n:\n\n\r\n0\r\n\r\n").hold()),
        ("http_error_event", |p| {
            p.answer(CHUNKED).send(b"17\r\nevent: error\ndata: {}\n\n\r\n0\r\n\r\n").hold()
        }),
    ];
    for (kind, treat) in cases {
        let server = HostileServer::start(*treat);
        let outcome = stream(&format!("http://{}/", server.address), "-c 2 -n 2 --drain-timeout 2s");
        let results = outcome.json();
        assert_eq!((errors_of(&results, kind), sum_of(&results, "received")), (2, 2), "{kind}: {outcome}");
        let loss = &results["steps"][0]["losses"][0];
        assert_eq!((outcome.code, &loss["key"]), (Some(3), &Value::from("loss.wrong")), "{kind}: {outcome}");
    }
}

#[test]
fn unknown_parameters_of_streams_are_refused() {
    let server = Server::start(&[]);
    for (query, name) in [("stal=1s@4", "stall"), ("gap=1ms&gap=2ms", "twice"), ("events=x", "a number")] {
        let url = format!("http://{}/stream?{query}", server.address);
        let results = stream(&url, "-c 1 -n 1").json();
        assert_eq!(errors_of(&results, "http_4xx"), 1, "{query}: {results:#}");
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
        write!(stream, "GET /stream?{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(name), "{answer}");
    }
}

#[test]
fn hostile_streams_are_counted_and_bounded() {
    let cases: &[Case] = &[
        ("broke_off", |p| p.answer(CHUNKED).send(b"6\r\ndata: \r\n").fin()),
        ("bad_http", |p| p.answer(CHUNKED).send(b"8\r\ndata:1\n\n\r\nxyz\r\n").hold()),
        ("event_too_large", |p| p.answer(CHUNKED).send(b"FFFFFFFFF\r\ndata: ").flood(&[b'x'; 65_536])),
        ("event_too_large", |p| {
            p.answer("200 OK\r\nContent-Type: application/x-ndjson").flood(&[b'x'; 65_536])
        }),
    ];
    for (kind, treat) in cases {
        let server = HostileServer::start(*treat);
        let flags = "-c 2 -n 2 --max-message 1MiB --drain-timeout 2s";
        let results = stream(&format!("http://{}/", server.address), flags).json();
        assert!(errors_of(&results, kind) > 0, "{kind}: {results:#}");
        assert_eq!(counts(&results, ["broken_off", "received"]), [2, 0], "{kind}: {results:#}");
    }
}

#[test]
fn compressed_streams_are_wrong_answers() {
    let server = HostileServer::start(|p| {
        let head = "200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4";
        p.answer(head).send(b"\x1f\x8b\x08\x00").hold();
    });
    let outcome = stream(&format!("http://{}/", server.address), "-c 2 -n 2");
    let results = outcome.json();
    assert_eq!((errors_of(&results, "http_encoded"), sum_of(&results, "received")), (2, 2), "{results:#}");
    let loss = &results["steps"][0]["losses"][0];
    assert_eq!((outcome.code, &loss["key"]), (Some(3), &Value::from("loss.wrong")), "{outcome}");
}

#[test]
fn prompts_come_from_rows_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("prompts.csv");
    std::fs::write(&rows, "prompt\n\"say \"\"hi\"\"\"\nwait\n").unwrap();
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=5&gap=1ms", server.address);
    let rows = rows.to_str().unwrap();
    let outcome =
        stream(&url, &format!("--api openai --prompt {{person.prompt}} --users {rows} -c 2 -n 4 --order /n"));
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["events", "tokens", "unmarked"]), [20, 20, 0]);
}

/// An app's file, and the rows of its two users.
const APP: &str = r#"
[people]
data = "users.csv"

[[login]]
post = "/login"
json = { name = "{person.name}" }
keep = { key = "json:/key" }

[connect]
path = "/sse"
headers = { Authorization = "Bearer {key}" }

[stream]
body = '{"prompt":"{person.prompt}","key":"{key}"}'
end = "[DONE]"
order = "/n"

[load]
people = 2
"#;

/// Writes the file into a folder of its own.
fn app_file(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.toml"), text).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,prompt\nada,\"say \"\"hi\"\"\"\nbob,wait\n")
        .unwrap();
    folder
}

/// Runs a verb with the file.
fn with_app(folder: &tempfile::TempDir, words: &str) -> Outcome {
    let mut command = throng([]);
    command.args(words.split_whitespace()).args(["--format", "json", "--no-store"]);
    run(command.current_dir(folder.path()), RUN_MAX)
}

#[test]
fn an_app_file_logs_in_before_it_asks() {
    let Some((_node, [first, second])) = node() else { return };
    let folder = app_file(APP);
    for (verb, people) in [("run app.toml", ""), ("stream --app app.toml", "-c 2")] {
        let before = journal(first);
        let (verb, url) = verb.split_once(' ').unwrap();
        let outcome = with_app(&folder, &format!("{verb} {url} http://{first} {people} -n 8"));
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(counts(&results, ["events", "received", "unmarked"]), [8 * 20, 8, 0], "{outcome}");
        assert_eq!(results["steps"][0]["handshake_parts"]["login"]["count"], 2, "{outcome}");
        let journal = journal(first);
        for (user, body) in [
            ("Bearer key-ada user=ada", r#"{"prompt":"say \"hi\"","key":"key-ada"}"#),
            ("Bearer key-bob user=bob", r#"{"prompt":"wait","key":"key-bob"}"#),
        ] {
            let added = |part: &str, key: &str| {
                journal[part][key].as_u64().unwrap_or(0) - before[part][key].as_u64().unwrap_or(0)
            };
            assert_eq!([added("users", user), added("bodies", body)], [4, 4], "{verb}: {journal:#}");
        }
    }
    let outcome = with_app(&folder, &format!("stream http://{second} --app app.toml --http2"));
    outcome.assert_failed(2, "usage.http2", &["[[login]]"]);
}

#[test]
fn an_app_file_of_streams_has_no_messages() {
    for (from, to, key, name) in [
        ("[load]", "[echo]\nsend = \"{id}\"\n[load]", "usage.file", "app.toml:19:2"),
        ("order", "tokens = \"text\"\norder", "usage.file", "app.toml:17:10"),
        ("order", "model = \"m\"\norder", "usage.file", "api"),
        ("[DONE]", "", "usage.file", "app.toml:16:7"),
        ("{person.prompt}", "{person.none}", "usage.file", "app.toml:15:8"),
        ("[people]", "protocol = \"sse\"\n[people]", "usage.file", "app.toml:2:1"),
    ] {
        assert!(APP.contains(from), "{from}");
        let folder = app_file(&APP.replacen(from, to, 1));
        with_app(&folder, "run app.toml http://127.0.0.1:9").assert_failed(2, key, &[name]);
    }
    let folder = app_file(APP);
    for (words, key) in [
        ("run app.toml http://127.0.0.1:9 --search", "usage.search"),
        ("echo ws://127.0.0.1:9 --app app.toml", "usage.app"),
        ("http http://127.0.0.1:9 --app app.toml", "usage.app"),
        ("stream http://127.0.0.1:9 --prompt hi", "usage.prompt"),
        ("stream http://127.0.0.1:9 --end=", "usage.end.value_validation"),
        ("stream http://127.0.0.1:9 --end event:", "usage.end.value_validation"),
    ] {
        with_app(&folder, words).assert_failed(2, key, &[]);
    }
}

#[test]
fn prompts_over_http2_are_each_clients_own() {
    let Some((_node, [first, second])) = node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("prompts.csv");
    // The second is longer than the window that Node grants at first, and goes out in parts.
    let long = "x".repeat(100_000);
    std::fs::write(&rows, format!("prompt\nhi\n{long}\n")).unwrap();
    let rows = rows.to_str().unwrap();
    let flags =
        format!("--http2 --streams 2 -c 2 -n 8 -m POST --users {rows} -b {{person.prompt}} --order /n");
    let outcome = stream(&format!("http://{second}/sse"), &flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(counts(&outcome.json(), ["events", "received"]), [8 * 21, 8]);
    let bodies = &journal(first)["bodies"];
    assert_eq!([&bodies["hi"], &bodies[long.as_str()]].map(|count| count.as_u64()), [Some(4), Some(4)]);
}
