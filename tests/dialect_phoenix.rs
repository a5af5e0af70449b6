//! Phoenix channels with programs that others wrote: throng's server against the official client. Phoenix itself is out
//! of reach here, for its packages are not in a registry that is; sessions recorded with it are vectors of `wire`.

use std::time::Duration;

use crate::support::node::Scripts;
use crate::support::skip;
use crate::support::target::Unavailable;
use crate::support::throng::{Server, run, sum_of, throng};

#[test]
fn the_server_against_the_official_client() {
    let scripts = match Scripts::install("phoenix") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("phoenix (npm)", &why),
    };
    // Two threads, so that broadcasts have a way to go.
    let server = Server::start(&["--threads", "2", "--phoenix-timeout", "600ms"]);
    scripts.run("client.js", &[&format!("ws://{}/socket", server.address)]);
}

#[test]
fn either_serializer_and_binary_pushes_against_our_server() {
    let server = Server::start(&["--threads", "2"]);
    let url = format!("ws://{}/socket/websocket", server.address);
    for options in [&["--vsn", "2.0.0"][..], &["--vsn", "1.0.0"], &["--binary"], &["--topic", "room:\"1\" é"]]
    {
        for (verb, copies) in [("echo", 1), ("broadcast", 100)] {
            let outcome = run(
                throng([verb, &url, "--protocol", "phoenix", "--format", "json", "--payload-padding", "50"])
                    .args(["--clients", "100", "--concurrent", "4", "--sample-size", "50"])
                    .args(options),
                Duration::from_secs(60),
            );
            outcome.assert_held();
            let results = outcome.json();
            let moved = (sum_of(&results, "sent"), sum_of(&results, "received"));
            assert_eq!(moved, (50, 50 * copies), "{verb} {options:?}: {results:#}");
            assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{results:#}");
        }
    }
}

#[test]
fn refusals_are_told_apart() {
    let server = Server::start(&["--origin", "http://good.example"]);
    let url = format!("ws://{}/socket/websocket", server.address);
    for (url, options, error, said) in [
        (url.clone(), &["--topic", "nope:1"][..], "rejected_subscription", "unmatched topic"),
        (url.clone(), &["--origin", "http://evil.example"], "http_status", "403"),
    ] {
        let outcome = run(
            throng(["echo", &url, "--clients", "3", "--protocol", "phoenix", "--format", "json"])
                .arg("--no-preflight")
                .args(options),
            Duration::from_secs(30),
        );
        outcome.assert_no_server(error, 3);
        assert!(outcome.stderr.contains(said), "{outcome}");
    }
    for (options, flag) in [
        (&["--vsn", "9.9.9"][..], "--vsn"),
        (&["--join-params", "[]"], "--join-params"),
        (&["--binary", "--vsn", "1.0.0"], "--binary"),
        (&["--token", "x", "--token-in", "nowhere"], "--token-in"),
    ] {
        let outcome =
            run(throng(["echo", &url, "--protocol", "phoenix"]).args(options), Duration::from_secs(30));
        assert_eq!(outcome.code, Some(2), "{outcome}");
        assert!(outcome.stderr.contains(flag), "{outcome}");
    }
}
