//! Channels and events that are signed, as Pusher wants them.

use crate::frames::start;
use crate::support::app::example;
use crate::support::throng::{errors_of, sum_of};

#[test]
fn channels_are_signed_with_earlier_values() {
    let Some(app) = start("pusher", &example("pusher")) else { return };
    let path = "/app/app-key?protocol=7";
    let outcome = app.run("broadcast", path, "--clients 30 --room-size 10 --rate 100 --duration 2s");
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert!(app.counted("signed") >= 30, "{outcome}");
    assert_eq!((of("sent"), of("received")), (app.counted("said"), app.counted("sent")), "{outcome}");
    assert_eq!((of("received"), of("missing")), (9 * of("sent"), 0), "{outcome}");
}

/// The application's own requests are signed, with the digest of their bodies.
#[test]
fn triggered_events_are_signed() {
    let example = example("pusher");
    let (before, rest) = example.split_once("[broadcast]\n").unwrap();
    let (_, offered) = rest.split_once("# [publish]\n").expect("it is offered");
    let keys = ["post", "body", "copy"];
    let offered = keys
        .iter()
        .fold(offered.to_owned(), |all, key| all.replace(&format!("# {key} ="), &format!("{key} =")));
    let file = format!("{before}[publish]\n{offered}");
    let flags = "--clients 20 --room-size 10 --rate 50 -d 2s --no-preflight";
    let Some(app) = start("pusher", &file) else { return };
    let outcome = app.run("broadcast", "/app/app-key", flags);
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("unacknowledged"), app.counted("said")), (100, 0, 100), "{outcome}");
    assert_eq!((of("received"), of("missing")), (app.counted("sent"), 0), "{outcome}");
    app.write(&file.replace("env:PUSHER_SECRET:POST", "other:POST"));
    let outcome = app.run("broadcast", "/app/app-key", "--clients 2 --rate 5 -d 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "publish_http_4xx"), 5, "{outcome}");
}

#[test]
fn wrong_signatures_and_missing_values_are_named() {
    let (good, flags) = (example("pusher"), "--clients 5 --rate 10 --duration 1s --no-preflight");
    for (file, kind, cause, names_line) in [
        (good.replace("env:PUSHER_SECRET", "another"), "rejected_pusher", "server.took_none", false),
        (good.replace("socket_id\\\\", "socket_no\\\\"), "not_kept_socket_id", "unknown.not_kept", true),
    ] {
        assert_ne!(file, good);
        let Some(app) = start("pusher", &file) else { return };
        let outcome = app.run("broadcast", "/app/app-key", flags);
        let results = outcome.json();
        assert_eq!((errors_of(&results, kind), sum_of(&results, "connected")), (5, 0), "{kind}: {outcome}");
        let step = &results["steps"][0];
        assert_eq!(step["cause"]["key"], cause, "{outcome}");
        let example = step["counts"]["errors"][kind]["example"].as_str().unwrap();
        assert_eq!(example.contains("app.toml:5"), names_line, "{outcome}");
    }
}
