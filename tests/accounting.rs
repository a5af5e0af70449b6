//! Rates, waits and losses of a step, where arithmetic or a hand-written server says what is true.

use std::time::Duration;

use serde_json::Value;

use crate::support::hostile::{HostileServer, Peer};
use crate::support::throng::{Outcome, Server, errors_of, run, sum_of, throng};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

/// A run against the server with these words.
fn outcome(server: &Server, words: &str) -> Outcome {
    let (verb, flags) = words.split_once(' ').unwrap();
    run(throng([verb, &server.url(), "--format", "json", "--quiet"]).args(flags.split_whitespace()), RUN_MAX)
}

/// Plain requests to a server that treats its clients in this way.
fn requests(treat: fn(&mut Peer), flags: &str) -> Outcome {
    let server = HostileServer::start(treat);
    let url = format!("http://{}/", server.address);
    run(throng(["http", &url, "--format", "json", "--quiet"]).args(flags.split_whitespace()), RUN_MAX)
}

/// Its only step.
fn step(outcome: &Outcome) -> Value {
    outcome.json()["steps"][0].clone()
}

fn rate(step: &Value, name: &str) -> f64 {
    step["rates"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {step:#}"))
}

#[test]
fn timed_loops_have_their_duration_as_window() {
    // Every client is left in silence after 50 answers.
    let server = Server::start(&["--fault", "mute=all@50"]);
    let silent = outcome(&server, "echo --clients 4 -c 4 -d 3s");
    let step_of_silent = step(&silent);
    assert_eq!(sum_of(&silent.json(), "received"), 200, "{silent}");
    assert_eq!(step_of_silent["duration_s"], 3.0, "no shorter\n{silent}");
    assert!((rate(&step_of_silent, "achieved_per_s") - 200.0 / 3.0).abs() < 0.01, "{silent}");

    let server = Server::start(&["--fault", "delay=2s@each:10"]);
    let straggler = outcome(&server, "echo --clients 2 -c 2 -d 1s --threads 1");
    let (step, received) = (step(&straggler), sum_of(&straggler.json(), "received"));
    assert_eq!((step["duration_s"].as_f64(), received), (Some(1.0), 22), "no longer\n{straggler}");
    assert_eq!(rate(&step, "achieved_per_s"), 20.0, "{straggler}");
    assert_eq!(sum_of(&straggler.json(), "late"), 0, "a loop has no schedule\n{straggler}");
}

#[test]
fn rates_answered_while_draining_were_missed() {
    let server = Server::start(&["--threads", "1", "--fault", "service=10ms"]);
    let outcome =
        outcome(&server, "echo --clients 10 --rate 400 -d 2s --limit rate>=350/s --limit missing==0");
    let step = step(&outcome);
    assert_eq!(
        (sum_of(&outcome.json(), "sent"), sum_of(&outcome.json(), "received")),
        (800, 800),
        "{outcome}"
    );
    for name in ["achieved_per_s", "received_per_s"] {
        assert!(rate(&step, name) <= 100.0, "{name}: {outcome}");
    }
    assert_eq!(step["duration_s"], 2.0, "{outcome}");
    assert_eq!(outcome.code, Some(3), "the limit breaks\n{outcome}");
}

#[test]
fn kept_rates_are_achieved_at_any_latency() {
    let server = Server::start(&["--fault", "delay=1s"]);
    let outcome =
        outcome(&server, "echo --clients 20 --rate 200 -d 3s --limit rate>=198/s --limit rate>=99%");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let step = step(&outcome);
    assert_eq!(rate(&step, "achieved_per_s"), 200.0, "{outcome}");
    let each = |way: &str| rate(&step, &format!("{way}_bytes_per_s")) / rate(&step, &format!("{way}_per_s"));
    // The head of a masked frame (RFC 6455 §5.2): what is received counts without.
    assert_eq!((each("sent") - each("received")).round(), 6.0, "{outcome}");
}

/// More than any generator sends: the server hears of it late, and answers at once.
#[test]
fn messages_after_the_window_miss_the_rate() {
    // Also where turns come to a client that has lost its connection.
    for (fault, sent) in [("seed=0", 100_000), ("kill=1@0", 95_000)] {
        let server = Server::start(&["--fault", fault]);
        let outcome = outcome(&server, "echo --clients 20 --rate 4M -d 25ms --threads 1");
        let step = step(&outcome);
        let of = |name| sum_of(&outcome.json(), name);
        assert!((sent..=100_000).contains(&of("sent")), "{outcome}");
        assert!(rate(&step, "sent_per_s") < 0.9 * rate(&step, "asked_per_s"), "{outcome}");
        let median =
            |name: &str| step[name]["p50_ms"].as_f64().unwrap_or_else(|| panic!("no {name}: {outcome}"));
        // What is sent late waits here, and is not slow there.
        assert!(median("send_lag") > 2.0 * median("service"), "{fault}: {outcome}");
    }
}

#[test]
fn requested_drains_are_waited_out() {
    let server = Server::start(&["--fault", "delay=5s"]);
    let echo = outcome(&server, "echo --clients 5 --rate 20 -d 1s --drain-timeout 30s");
    let http = requests(|p| p.answer_after(Duration::from_secs(5)), "-c 20 -R 20 -d 1s --drain-timeout 30s");
    for outcome in [echo, http] {
        let (step, of) = (step(&outcome), |name| sum_of(&outcome.json(), name));
        assert_eq!((of("sent"), of("received"), of("missing")), (20, 20, 0), "{outcome}");
        assert!(step["rtt"]["min_ms"].as_f64() >= Some(5_000.0), "{outcome}");
        assert!(outcome.elapsed < Duration::from_secs(25), "over when all is in\n{outcome}");
    }
}

#[test]
fn stragglers_are_no_error_of_the_next_step() {
    let server = Server::start(&["--fault", "delay=600ms"]);
    let outcome = outcome(&server, "echo --clients 5 --rate 20 -d 1s --warmup 1s --drain-timeout 100ms");
    let of = |name| sum_of(&outcome.json(), name);
    assert_eq!((of("sent"), of("unexpected"), of("duplicate")), (20, 0, 0), "{outcome}");
    assert_eq!(of("received") + of("missing") + of("in_flight"), 20, "{outcome}");
    assert!(of("received") < 20, "what came late in the step before is not counted in its place: {outcome}");
}

#[test]
fn requests_waiting_for_connections_are_late() {
    // Five connections can do 25 requests per second of 200 ms: of each client's, all but the first have to wait.
    let outcome = requests(|p| p.answer_after(Duration::from_millis(200)), "-c 5 -R 50 -d 2s --threads 1");
    let (step, of) = (step(&outcome), |name| sum_of(&outcome.json(), name));
    assert_eq!((of("sent"), of("received"), of("missing")), (100, 100, 0), "{outcome}");
    assert_eq!(of("waited"), 95, "{outcome}");
    for name in ["sent_per_s", "achieved_per_s", "received_per_s"] {
        assert!(rate(&step, name) < 28.0, "{name}: {outcome}");
    }
    // The last of a client's 20, due every 100 ms, goes out after 19 answers of 200 ms.
    let ms = |figure: &str, name: &str| step[figure][name].as_f64().unwrap();
    assert_eq!(step["send_lag"]["count"], 100, "{outcome}");
    assert!(ms("send_lag", "max_ms") >= 19.0 * 200.0 - 1_900.0, "{outcome}");
    assert!(ms("send_lag", "p50_ms") >= 9.0 * 200.0 - 1_000.0, "{outcome}");
    // However late it was, service is what the server took.
    assert!(ms("service", "min_ms") >= 200.0, "{outcome}");
    let (rtt, parts) = (ms("rtt", "mean_ms"), ms("service", "mean_ms") + ms("send_lag", "mean_ms"));
    assert!((rtt - parts).abs() < 0.1, "rtt {rtt} of {parts}: {outcome}");
    // Nothing waits where there is room, nor in a closed loop.
    let room = requests(|p| p.answer_after(Duration::ZERO), "-c 5 --amount 50");
    assert_eq!((sum_of(&room.json(), "waited"), sum_of(&room.json(), "sent")), (0, 50), "{room}");
}

#[test]
fn unsent_requests_are_missing() {
    let outcome = requests(|p| p.hold(), "-c 2 -R 20 -d 1s --drain-timeout 300ms");
    let of = |name| sum_of(&outcome.json(), name);
    assert_eq!((of("sent"), of("waited")), (2, 18), "{outcome}");
    assert_eq!((of("expected"), of("missing")), (20, 20), "{outcome}");
    assert_eq!(step(&outcome)["rtt"]["count"], 20, "{outcome}");
}

#[test]
fn a_post_is_asked_once() {
    // Each connection answers one request, and breaks with the next.
    let treat = |p: &mut Peer| p.answer("200 OK\r\nContent-Length: 0").request().reset();
    let post = requests(treat, "-c 2 --amount 20 -m POST -b x=1");
    let of = |name| sum_of(&post.json(), name);
    let lost = errors_of(&post.json(), "not_resent");
    assert!(lost > 0, "{post}");
    assert_eq!((of("sent"), of("received"), of("missing")), (20, 20 - lost, lost), "{post}");
    assert_eq!(step(&post)["rtt"]["count"], 20, "{post}");
    assert!(post.elapsed < Duration::from_secs(20), "nobody waits for these\n{post}");
    let get = requests(treat, "-c 2 --amount 20");
    assert_eq!((sum_of(&get.json(), "received"), errors_of(&get.json(), "not_resent")), (20, 0), "{get}");
}

#[test]
fn messages_of_any_size_come_back_whole() {
    let server = Server::start(&["--max-message", "32MiB", "--max-backlog", "64MiB"]);
    for words in [
        "echo --payload 8MiB --clients 2 -c 2 -s 6",
        "echo --payload 8MiB --clients 2 --rate 4 -d 1s",
        "echo --payload 8MiB --clients 1 -c 1 -s 2 --protocol json",
        "broadcast --payload 8MiB --clients 2 -c 1 -s 2",
        "echo --payload 20MiB --max-message 24MiB --clients 1 -c 1 -s 2",
    ] {
        let outcome = outcome(&server, words);
        let of = |name| sum_of(&outcome.json(), name);
        assert!(of("sent") > 0 && of("received") == of("expected"), "{words}: {outcome}");
        assert_eq!((of("disconnects"), of("corrupt"), of("missing")), (0, 0, 0), "{words}: {outcome}");
    }
    let refused = outcome(&server, "echo --payload 17MiB --clients 1 -c 1 -s 2");
    assert_eq!(refused.code, Some(2), "{refused}");
    for flag in ["--payload-padding", "--max-message"] {
        assert!(refused.stderr.contains(flag), "no {flag}: {refused}");
    }
}

#[test]
fn nobody_waits_for_connections_that_have_ended() {
    let server = Server::start(&["--fault", "kill=all@5"]);
    for words in ["echo --clients 4 --rate 100 -d 1s", "broadcast --clients 4 --rate 20 -d 1s"] {
        let outcome = outcome(&server, &format!("{words} --drain-timeout 40s"));
        assert_eq!(sum_of(&outcome.json(), "disconnects"), 4, "{words}: {outcome}");
        assert!(outcome.elapsed < Duration::from_secs(30), "{words}: {outcome}");
    }
}
