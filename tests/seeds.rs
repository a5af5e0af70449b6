//! The command lines of the benchmarks that throng replaces, as their authors printed them: what stood after
//! `bin/websocket-bench` stands after `throng`. Their machines' addresses are loopback ones here, and one step is enough.

mod support;

use std::time::Duration;

use support::throng::{Server, run, throng};

const RUN_MAX: Duration = Duration::from_secs(60);

/// The published lines; URL is where their server was.
const LINES: [&str; 5] = [
    // websocket-shootout's README
    "broadcast URL --concurrent 10 --sample-size 100 --step-size 1000 --limit-percentile 95 --limit-rtt 250ms",
    "broadcast URL -c 4 -s 40 -l 127.0.0.5 -l 127.0.0.246 -l 127.0.0.247 --step-size 1000",
    "broadcast URL -l 127.0.0.5 -l 127.0.0.246 -l 127.0.0.247 -c 4 -s 40 --step-size 1000 --server-type json",
    "broadcast URL -l 127.0.0.5 -l 127.0.0.246 -l 127.0.0.247 -c 4 -s 40 --step-size 100 --origin http://127.0.0.1/ \
     --server-type json",
    // the AnyCable comparison of 2018
    "broadcast -l 127.0.0.145 -l 127.0.0.146 -l 127.0.0.147 --concurrent 4 --sample-size 100 --step-size 1000 \
     --payload-padding 200 --total-steps 10 --origin http://0.0.0.0 URL --server-type=json",
];

#[test]
fn published_command_lines_run_and_print_the_same_lines() {
    let server = Server::start(&[]);
    for line in LINES {
        let mut words: Vec<String> =
            line.split_whitespace().map(|word| word.replace("URL", &server.url())).collect();
        match words.iter().position(|word| word == "--total-steps") {
            Some(at) => words[at + 1] = "1".to_owned(),
            None => words.extend(["--total-steps".to_owned(), "1".to_owned()]),
        }
        // Not what a debug build on a busy machine is about; the limit itself is tested elsewhere.
        words.retain(|word| word != "--limit-rtt" && word != "250ms");
        words.extend(["--limit-rtt".to_owned(), "30s".to_owned()]);
        let outcome = run(throng([]).args(&words), RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{line}\n{outcome}");
        let first = outcome.stdout.lines().next().unwrap_or_default();
        let names: Vec<&str> = first.split_whitespace().filter(|word| word.ends_with(':')).collect();
        assert_eq!(
            names,
            ["clients:", "95per-rtt:", "min-rtt:", "median-rtt:", "max-rtt:"],
            "{line}\n{outcome}"
        );
        assert!(!outcome.stdout.contains("missing"), "{line}\n{outcome}");
    }
}
