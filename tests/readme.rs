//! The README's commands of the dialects, word for word but for the port, against `throng serve`.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use support::throng::{Server, run, sum_of, throng};

/// What makes them short: a step of few clients.
const SHORT: [&str; 6] = ["--initial-clients", "10", "--total-steps", "1", "--format", "json"];

#[test]
fn one_command_per_dialect_runs_as_printed() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let server = Server::start(&[]);
    let mut dialects = Vec::new();
    for line in readme.lines().filter(|line| line.contains("//127.0.0.1:9000/") && !line.contains(".toml")) {
        let line = line.replace("127.0.0.1:9000", &server.address.to_string());
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["$", "throng", flags @ ..] = &words[..] else { panic!("no command: {line}") };
        let outcome = run(throng([]).args(flags).args(SHORT), Duration::from_secs(30));
        assert_eq!(outcome.code, Some(0), "{line}: {outcome}");
        let results = outcome.json();
        let (sent, received) = (sum_of(&results, "sent"), sum_of(&results, "received"));
        assert!(sent > 0 && received == sent * 10, "{line}: {outcome}");
        dialects.push(results["dialect"].as_str().expect("a name").to_owned());
    }
    let expected = [
        "json",
        "binary",
        "actioncable",
        "phoenix",
        "sockjs",
        "sockjs/xhr-polling",
        "socketio",
        "socketio/upgrade",
    ];
    assert_eq!(dialects, expected);
}
