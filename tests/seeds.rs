//! The command lines of docs/logs/SEEDS.md, which do what five published benchmarks did: all of them, in a
//! short form, or as printed (`make seeds`, which puts what they say into the document; `make seeds
//! ONLY=saturate`, or `ONLY=003:`, those that say so or stand under a heading that does).

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::support;
use crate::support::throng::{Outcome, Server, run, throng};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/logs/SEEDS.md");

/// A line in its short form, and as printed: a sweep takes minutes for each of its levels.
const SHORT_MAX: Duration = Duration::from_secs(60);
const WHOLE_MAX: Duration = Duration::from_secs(3_600);

/// The document's address of the server.
const ADDRESS: &str = "127.0.0.1:9000";
const SOCKET: &str = "/tmp/star.sock";

/// The steps that the document shows of a longer run.
const STEPS_SHOWN_MAX: usize = 20;

const BEFORE_LINE: &str = "```sh\nthrong ";
const BEFORE_OUTPUT: &str = "\n```text\n";

/// Reductions of the short form. A flag that a line lacks is added if its verb is named.
const LESS: [(&str, &str, &str); 12] = [
    ("", "--clients", "50"),
    ("", "--warmup", "500ms"),
    ("", "--cooldown", "10ms"),
    ("", "-d", "1"),
    ("echo", "--duration", "1s"),
    ("broadcast", "--step-size", "20"),
    ("broadcast", "--total-steps", "2"),
    // Not what a debug build on a busy machine is about.
    ("broadcast", "--limit-rtt", "50s"),
    ("saturate", "--levels", "5"),
    ("saturate", "--max-rate", "20"),
    ("saturate", "--duration", "1s"),
    ("idle", "--duration", "1s"),
];

/// Sentences due of a line, by its verb.
const SAID: [(&str, &[&str]); 5] = [
    ("echo", &["handshake time", "latency", "median", "99.9%", "connection timeouts 0"]),
    ("broadcast", &["clients:", "95per-rtt:", "min-rtt:", "median-rtt:", "max-rtt:"]),
    ("saturate", &["safe rate", "deliveries", "knee", "overload"]),
    ("idle", &["connected  50 of 50"]),
    ("http", &["latency", "requests", "answered"]),
];

#[test]
fn every_line_runs_in_a_short_form() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("star.sock");
    let server = Server::start(&["--socket", socket.to_str().unwrap()]);
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let lines = lines(&document);
    assert!(lines.len() >= 13, "{lines:#?}");
    for line in lines {
        let words = shortened(line);
        let outcome = run_line(&words, server.address, &socket, SHORT_MAX);
        assert_eq!(outcome.code, Some(0), "{line}\n{outcome}");
        let (_, said) = SAID.iter().find(|(verb, _)| line.starts_with(verb)).expect("a verb");
        for word in *said {
            assert!(outcome.stdout.contains(word), "{line}\nsays nothing of {word:?}\n{outcome}");
        }
        assert!(!outcome.stdout.contains(" missing"), "{line}\n{outcome}");
    }
}

#[test]
#[ignore = "takes twenty minutes: make seeds"]
fn every_line_as_printed() {
    let mut serve =
        throng(["serve", "--listen", ADDRESS, "--socket", SOCKET, "--processes", "2", "--threads", "1"]);
    let _server = support::process::Process::start(&mut serve).listening_at(ADDRESS.parse().unwrap());
    assert!(support::wait_until(support::REACTS_WITHIN, || Path::new(SOCKET).exists()));
    let mut document = std::fs::read_to_string(DOCUMENT).unwrap();
    let only = std::env::var("ONLY").unwrap_or_default();
    let chosen: Vec<String> = lines_about(&document, &only).map(str::to_owned).collect();
    assert!(!chosen.is_empty(), "no line, and no heading, says {only:?}");
    for line in chosen {
        eprintln!("throng {line}");
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let outcome = run_line(&words, ADDRESS.parse().unwrap(), Path::new(SOCKET), WHOLE_MAX);
        assert_eq!(outcome.code, Some(0), "{line}\n{outcome}");
        document = with_output(&document, &line, abridged(&outcome.stdout).trim_end());
        // What has been measured is kept, whatever becomes of the rest.
        std::fs::write(DOCUMENT, &document).unwrap();
    }
}

/// The arguments behind `throng`, line by line.
fn lines(document: &str) -> Vec<&str> {
    document.split(BEFORE_LINE).skip(1).filter_map(|rest| rest.lines().next()).collect()
}

/// Seeds that say `text`, or whose heading does.
fn lines_about<'a>(document: &'a str, text: &str) -> impl Iterator<Item = &'a str> {
    let sections = document.split("\n## ");
    sections.flat_map(move |section| {
        let is_meant = section.lines().next().is_some_and(|heading| heading.contains(text));
        lines(section).into_iter().filter(move |line| is_meant || line.contains(text))
    })
}

fn shortened(line: &str) -> Vec<String> {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    for (verb, flag, value) in LESS {
        match words.iter().position(|word| word == flag) {
            Some(at) => words[at + 1] = value.to_owned(),
            None if words[0] == verb => words.extend([flag.to_owned(), value.to_owned()]),
            None => {}
        }
    }
    words
}

fn run_line(words: &[String], address: SocketAddr, socket: &Path, within: Duration) -> Outcome {
    let placed =
        |word: &String| word.replace(ADDRESS, &address.to_string()).replace(SOCKET, socket.to_str().unwrap());
    run(throng([]).args(words.iter().map(placed)), within)
}

/// Abridges several steps to the first line and the messages of each, or of twenty of them. Details are
/// indented by two.
fn abridged(output: &str) -> String {
    let is_step = |line: &str| line.starts_with("clients:");
    let steps = output.lines().filter(|line| is_step(line)).count();
    let every = steps.div_ceil(STEPS_SHOWN_MAX).max(1);
    let mut step = 0;
    let is_shown = |line: &&str| {
        step += usize::from(is_step(line));
        let is_messages = line.starts_with("  messages");
        let is_detail = line.starts_with("  ") && !line.starts_with("   ") && !is_messages;
        let is_left_out = (is_step(line) || is_messages) && !step.is_multiple_of(every);
        !(steps > 1 && is_detail || is_left_out)
    };
    output.lines().filter(is_shown).flat_map(|line| [line, "\n"]).collect()
}

/// The document with this output behind the line, in place of the one that was there.
fn with_output(document: &str, line: &str, output: &str) -> String {
    let block = format!("{BEFORE_LINE}{line}\n```\n");
    let (before, after) = document.split_once(&block).expect("the line");
    let rest = match after.strip_prefix(BEFORE_OUTPUT) {
        Some(old) => old.split_once("\n```\n").expect("the end of the output").1,
        None => after,
    };
    format!("{before}{block}{BEFORE_OUTPUT}{output}\n```\n{rest}")
}

#[test]
fn details_of_many_steps_are_left_out() {
    let step = "clients:    25\n  rtt         p50 1ms\n  messages    5 sent\n";
    let rest = "\nhow much  25 clients\ntrust     few samples\n          others\n";
    assert_eq!(abridged(&[step, rest].concat()), [step, rest].concat());
    let short = "clients:    25\n  messages    5 sent\n";
    assert_eq!(abridged(&[step, step, rest].concat()), [short, short, rest].concat());
    assert_eq!(abridged(&[&step.repeat(40), rest].concat()), [&short.repeat(20), rest].concat());
}

#[test]
fn outputs_replace_earlier_ones() {
    let document = "a\n\n```sh\nthrong echo\n```\n\nb\n";
    let once = with_output(document, "echo", "one\ntwo");
    assert_eq!(once, "a\n\n```sh\nthrong echo\n```\n\n```text\none\ntwo\n```\n\nb\n");
    assert_eq!(
        with_output(&once, "echo", "three"),
        "a\n\n```sh\nthrong echo\n```\n\n```text\nthree\n```\n\nb\n"
    );
}
