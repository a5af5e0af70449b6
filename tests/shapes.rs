//! The shapes that load can have, each against the reference server, with an outcome that is arithmetic.

mod support;

use std::time::Duration;

use serde_json::Value;

use support::throng::{Server, run, sum_of, throng};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

/// The results of a run with these words after the URL.
fn results(server: &Server, verb: &str, flags: &str) -> Value {
    let outcome = run(
        throng([verb, &server.url(), "--format", "json", "--quiet"]).args(flags.split_whitespace()),
        RUN_MAX,
    );
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome.json()
}

#[test]
fn a_ramp_sends_the_area_under_its_line() {
    let server = Server::start(&[]);
    for (rate, sent, asked_per_s) in [
        ("100..500/2s", 600, 300.0),
        ("0→400/1s,400..0/1s", 400, 200.0),
        ("200/1s,600 --duration 2s", 800, 400.0),
    ] {
        let results = results(&server, "echo", &format!("--clients 7 --threads 2 --rate {rate}"));
        assert_eq!((sum_of(&results, "sent"), sum_of(&results, "received")), (sent, sent), "{rate}");
        assert_eq!(results["steps"][0]["duration_s"], 2.0, "{rate}");
        assert_eq!(results["steps"][0]["rates"]["asked_per_s"], asked_per_s, "{rate}");
    }
}
