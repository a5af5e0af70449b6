//! Lost messages and clients, against the reference server: each is counted, and once.

use std::time::Duration;

use serde_json::Value;

use crate::support::haproxy::Haproxy;
use crate::support::throng::{Server, finish, run, start_measuring, sum_of, throng};
use crate::support::{in_time, timed};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

/// The results of a run whose words are these, with the server's address behind the verb.
fn results(server: &Server, words: &str) -> Value {
    results_of(0, server, words)
}

/// The same of a run that ends with this code.
fn results_of(code: i32, server: &Server, words: &str) -> Value {
    let (verb, flags) = words.split_once(' ').unwrap();
    let mut command = throng([verb, &server.url(), "--format", "json", "--quiet", "--no-preflight"]);
    let outcome = run(command.args(flags.split_whitespace()), RUN_MAX);
    match code {
        0 => outcome.assert_held(),
        code => assert_eq!(outcome.code, Some(code), "{words}: {outcome}"),
    }
    outcome.json()
}

#[test]
fn every_message_sent_is_in_the_distribution_once() {
    for (fault, words) in [
        // Connections break with messages under way.
        ("kill=all@50", "echo -c 5 -d 1s --clients 10 --threads 1"),
        ("kill=all@50", "echo --rate 1000 --churn 10%/s -d 1s --clients 10 --threads 1"),
        // Messages are given up, and their answers come all the same, or never.
        ("delay=900ms@1/20", "echo -c 5 -d 1s --clients 10 --drain-timeout 300ms"),
        ("drop=1/100", "echo -c 5 -d 1s --clients 10 --drain-timeout 300ms"),
        ("mute=3@20", "broadcast -c 5 -d 1s --clients 10 --drain-timeout 300ms --protocol json"),
    ] {
        let server = Server::start(&["--fault", fault]);
        let results = results_of(3, &server, words);
        let sent = sum_of(&results, "sent");
        assert!(sent > 0 && sum_of(&results, "received") > 0, "{fault} {words}: {results:#}");
        assert_eq!(results["steps"][0]["rtt"]["count"], sent, "{fault} {words}: {results:#}");
    }
}

#[test]
fn a_closed_loop_without_clients_ends() {
    let server = Server::start(&[]);
    let mut command = throng(["echo", &server.url(), "--format", "json", "--quiet"]);
    command.args(["--clients", "20", "-c", "10", "-s", "1000000000", "--drain-timeout", "1s"]);
    let run = start_measuring(&mut command);
    drop(server);
    let outcome = finish(run, RUN_MAX);
    let results = outcome.json();
    assert_eq!((sum_of(&results, "connected"), sum_of(&results, "disconnects")), (20, 20), "{outcome}");
    assert_eq!(results["steps"][0]["rtt"]["count"], sum_of(&results, "sent"), "{outcome}");
}

#[test]
fn churn_leaves_clients_outside_the_step_alone() {
    let server = Server::start(&[]);
    let results = results_of(
        3,
        &server,
        "echo --search --initial-clients 1000 --max-clients 1000 --limit-rtt 1us --churn 5%/s -c 4 -d 1s --threads 1",
    );
    let steps = results["steps"].as_array().unwrap();
    assert!(steps.len() > 2, "{results:#}");
    for step in &steps[1..] {
        let of = |name: &str| step["counts"][name].as_u64().unwrap_or(0);
        assert!(of("connects") <= of("left"), "only who left has another in its place: {step:#}");
    }
}

#[test]
fn storms_take_their_share() {
    let server = Server::start(&[]);
    for threads in ["1", "3", "4"] {
        let words = format!("storm --clients 16 --share 25% --duration 2s --lead 300ms --threads {threads}");
        let results = results(&server, &words);
        assert_eq!(results["steps"][0]["recovery"]["count"], 4, "{threads} threads: {results:#}");
        assert_eq!(sum_of(&results, "connected"), 20, "{threads} threads: {results:#}");
    }
}

/// A file whose clients have nothing that they alone are answered.
#[test]
fn a_storm_needs_no_messages() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("app.toml");
    std::fs::write(&app, "[broadcast]\nsend = '{\"type\":\"broadcast\",\"payload\":\"{id}\"}'\n").unwrap();
    for (share, back) in [("25%", 4), ("100%", 16)] {
        let words = format!(
            "storm --clients 16 --share {share} --duration 2s --lead 300ms --window 100ms --app {}",
            app.display()
        );
        let results = results(&server, &words);
        assert_eq!(results["steps"][0]["recovery"]["count"], back, "{share}: {results:#}");
        assert_eq!(sum_of(&results, "sent"), 0, "{share}: {results:#}");
        assert!(results["steps"][0]["rates"].get("asked_per_s").is_none(), "{share}: {results:#}");
    }
}

/// Every other client reads slowly, or drops its connection: with two threads, all clients of one of them.
#[test]
fn silent_clients_leave_their_share_to_others() {
    let server = Server::start(&[]);
    for threads in ["1", "2", "3"] {
        let rated = format!("--clients 20 --rate 100 --duration 1s --threads {threads}");
        let slow = format!("broadcast {rated} --protocol json --slow 50%:1MiB/s");
        assert_eq!(sum_of(&results(&server, &slow), "sent"), 100, "{threads} threads");
        let listening = format!("broadcast {rated} --protocol json --senders 5%");
        let heard = results(&server, &listening);
        assert_eq!((sum_of(&heard, "sent"), sum_of(&heard, "received")), (100, 2_000), "{heard:#}");
        let closed = "--clients 20 --concurrent 3 --sample-size 60 --senders 10%";
        let closed = format!("broadcast {closed} --protocol json --threads {threads}");
        assert_eq!(sum_of(&results(&server, &closed), "received"), 60 * 20, "{threads} threads");
        let storm = format!(
            "storm --clients 20 --share 50% --interval 100ms --duration 1s --lead 1s --threads {threads}"
        );
        assert_eq!(sum_of(&results(&server, &storm), "sent"), 200, "{threads} threads");
    }
}

#[test]
fn a_server_of_another_dialect_is_quoted() {
    let server = Server::start(&[]);
    let cable = format!("ws://{}/cable", server.address);
    let mut command = throng(["echo", &cable, "--format", "json", "--quiet", "--drain-timeout", "300ms"]);
    let outcome = run(command.args(["--clients", "2", "--duration", "300ms", "--no-preflight"]), RUN_MAX);
    let error = &outcome.json()["steps"][0]["counts"]["errors"]["unrecognised"];
    assert!(error["example"].as_str().unwrap().contains(r#"{"type":"welcome"}"#), "{outcome}");
}

#[test]
fn waiting_in_vain_is_said_with_its_cause() {
    let server = Server::start(&[]);
    let cable = format!("ws://{}/cable", server.address);
    let mut command = throng(["echo", &cable, "--protocol", "actioncable", "--channel", "NoSuchChannel"]);
    let flags = ["--clients", "1", "--connect-timeout", "500ms", "--quiet", "--format", "json"];
    let outcome = run(command.args(flags), RUN_MAX);
    outcome.assert_failed(1, "could_not.reach.connect_timeout", &["{\"type\":\"welcome\"}"]);
}

#[test]
fn slow_readers_may_be_quick() {
    let server = Server::start(&[]);
    let results = results(
        &server,
        "broadcast --clients 10 --slow 50%:10MiB/s --rate 300 --duration 1s --payload 4000 --threads 1",
    );
    let of = |name| sum_of(&results, name);
    assert_eq!((of("slow"), of("received"), of("missing")), (5, 5 * 300, 0), "{results:#}");
    assert!(of("slow_received") > 300, "{results:#}");
}

/// HAProxy ends each connection on which nothing is said for so long; and who ends them in the middle has no
/// such timeout.
#[test]
fn idle_timeouts_before_servers_are_told() {
    let server = Server::start(&["--fault", "kill=all@2"]);
    let lost = |url: &str, flags: &str| {
        let mut command = throng([]);
        command.args(flags.split_whitespace()).args([url, "--format", "json", "--quiet", "--no-preflight"]);
        let outcome = run(&mut command, RUN_MAX);
        assert_eq!(outcome.code, Some(3), "{outcome}");
        let step = &outcome.json()["steps"][0];
        (step["cause"].clone(), step["silence"].clone(), outcome)
    };
    let (cause, _, outcome) = lost(&server.url(), "echo --clients 40 --rate 40 -d 3s");
    assert_eq!(cause["key"], "server.lost_clients", "{outcome}");

    let timeouts = ["timeout client 2s", "timeout server 2s", "timeout tunnel 2s"];
    let Some(proxy) = Haproxy::start("an idle timeout", &timeouts, &[], &[server.address]) else { return };
    for flags in ["idle --clients 40 --connect-rate 100 -d 5s", "echo --clients 30 --interval 4s -d 7s"] {
        timed(|| {
            let (cause, silence, outcome) = lost(&format!("ws://{}/", proxy.address), flags);
            // Silences that a busy machine draws out are not alike, and tell of no timeout.
            in_time(cause["key"] == "server.idle_timeout", || format!("{cause}: {outcome}"))?;
            assert_eq!(silence["count"], cause["of"], "{outcome}");
            let after_ms = cause["after_ms"].as_f64().unwrap();
            in_time((1_900.0..2_500.0).contains(&after_ms), || format!("{after_ms}: {outcome}"))
        });
    }
}
