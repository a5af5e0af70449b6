//! `throng http` from end to end: against the reference server, against nginx, and against servers that misbehave.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::cases::check_all;
use crate::support::hostile::{HostileServer, Peer};
use crate::support::requests::{Nginx, RUN_MAX, complete, fine, http, root_of};
use crate::support::throng::{Server, errors_of, loss, run, sum_of, throng};

const CLIENTS: u64 = 2;

/// A server's behaviour, by name or by the kind of error that follows, and how it does it.
type Case = (&'static str, fn(&mut Peer));

#[test]
fn loops_and_rates_come_out_as_asked() {
    let server = Server::start(&[]);
    let url = root_of(&server);
    let timed = fine(&url, "-c 4 -d 1");
    assert_eq!(timed["scenario"], "http");
    let duration_s = timed["steps"][0]["duration_s"].as_f64().unwrap();
    assert!((0.9..1.5).contains(&duration_s), "a bare number is seconds: {duration_s}");
    let counted = fine(&url, "-c 3 -p 16 --amount 5k");
    assert_eq!(sum_of(&counted, "sent"), 5_000);
    let paced = fine(&url, "-c 5 -d 1s -R 400");
    assert_eq!(sum_of(&paced, "sent"), 400);
    fine(
        &url,
        "-c 2 --amount 100 -m PUT -b x=1 -H Content-Type:text/plain -H Host:other --expect-status 405",
    );
    fine(&url, "-c 2 --amount 100 -m HEAD -t 1");
}

#[test]
fn each_request_may_have_its_connection() {
    let mut server = Server::start(&[]);
    fine(&root_of(&server), "-c 3 --amount 300 --no-keep-alive");
    assert!(server.process.signal(Signal::TERM));
    assert!(server.process.wait(RUN_MAX).is_some());
    let (said, _) = server.process.into_output();
    let connections =
        said.lines().find_map(|line| line.strip_prefix("served ")?.split_once(' ')?.0.parse().ok());
    assert!(connections.is_some_and(|connections: u64| connections >= 300), "{said}");
}

#[test]
fn autocannons_own_command_line_prints_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("star.sock");
    let _server = Server::start(&["--socket", socket.to_str().unwrap()]);
    let mut command =
        throng(["http", "-c", "10", "-d", "1", "-S", socket.to_str().unwrap(), "http://test.com"]);
    let outcome = run(&mut command, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for word in ["latency", "p99.9", "round trip", "answered ", " requests/s", "RESULT    PASSED"] {
        assert!(outcome.stdout.contains(word), "no {word:?}\n{outcome}");
    }
}

#[test]
fn nginx_is_asked_like_any_other() {
    let locations = "location / { return 200 hello; } location /gone { return 410; }";
    let Some(nginx) = Nginx::start("", locations) else { return };
    // It ends each connection after 50 answers, pipelined or not: nothing may be lost by that.
    let url = nginx.root();
    fine(&url, "-c 4 --amount 2000 --expect-body hello");
    // Requests that it had not read when it closed turn its end into a reset (RFC 9112 §9.6), which is counted.
    let pipelined = complete(&url, "-c 4 --amount 2000 -p 8");
    let errors = pipelined["steps"][0]["counts"]["errors"].as_object().unwrap();
    assert!(errors.keys().all(|kind| ["reset", "broken_pipe"].contains(&kind.as_str())), "{errors:?}");
    fine(&url, "-c 4 --amount 200 --no-keep-alive");
    let gone = http(&format!("{url}gone"), "-c 4 --amount 100").json();
    assert_eq!((errors_of(&gone, "http_4xx"), sum_of(&gone, "received")), (100, 100));
    assert_eq!(gone["steps"][0]["statuses"], serde_json::json!({"410": 100}));
    let other = http(&url, "-c 4 --amount 100 --expect-body other").json();
    assert_eq!(errors_of(&other, "http_body"), 100);
    let wrong = loss(&other, "wrong");
    assert_eq!((wrong["wrong"].as_u64(), wrong["of"].as_u64()), (Some(100), Some(100)), "{wrong}");
}

#[test]
fn connections_that_end_between_answers_cost_nothing() {
    let cases: &[Case] = &[
        ("without a word", |p| p.answer("200 OK\r\nContent-Length: 0").fin()),
        ("said before", |p| p.answer("200 OK\r\nConnection: close\r\nContent-Length: 0").fin()),
        ("as the body's end", |p| p.answer("200 OK\r\n\r\nhello").fin()),
        ("HTTP/1.0", |p| p.request().send(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").hold()),
    ];
    check_all(
        cases,
        |case| case.0.to_owned(),
        |(_, treat)| {
            let server = HostileServer::start(*treat);
            let results = fine(&format!("http://{}/", server.address), "-c 2 --amount 40");
            assert_eq!(sum_of(&results, "sent"), 40);
        },
    );
}

#[test]
fn misdeeds_are_counted_by_kind() {
    let cases: &[Case] = &[
        ("not_http", |p| p.request().send(b"SSH-2.0-OpenSSH_9.2\r\n").hold()),
        ("not_http", |p| p.send(b"HTTP/1.1 408 Early\r\nContent-Length: 0\r\n\r\n").hold()),
        ("bad_http", |p| p.answer("200 OK\r\nContent-Length: 1, 2").hold()),
        ("bad_http", |p| p.answer("200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n").hold()),
        ("http_status", |p| p.answer("101 Switching Protocols").hold()),
        ("head_too_large", |p| p.request().send(b"HTTP/1.1 200 OK\r\n").flood(b"X-More: yes\r\n")),
        ("eof", |p| p.request().fin()),
        ("eof", |p| p.answer("200 OK\r\nContent-Length: 50").fin()),
        ("reset", |p| p.request().reset()),
    ];
    check_all(
        cases,
        |case| case.0.to_owned(),
        |(kind, treat)| {
            let server = HostileServer::start(*treat);
            let outcome = http(&format!("http://{}/", server.address), "-c 2 -d 1 --drain-timeout 1s");
            let results = outcome.json();
            assert_eq!(errors_of(&results, kind), CLIENTS, "{outcome}");
            assert_eq!(sum_of(&results, "disconnects"), CLIENTS, "{outcome}");
        },
    );
}

#[test]
fn plain_answers_have_no_close_handshake() {
    let cuts: [fn(&mut Peer); 2] =
        [|p| p.request().fin(), |p| p.answer("200 OK\r\nContent-Length: 50").fin()];
    for treat in cuts {
        let server = HostileServer::start(treat);
        let results = http(&format!("http://{}/", server.address), "-c 2 -d 1 --drain-timeout 1s").json();
        let example = results["steps"][0]["counts"]["errors"]["eof"]["example"].as_str().unwrap_or_default();
        assert!(example.contains("answer was whole") && !example.contains("handshake"), "{results:#}");
    }
    let server = HostileServer::start(|p| p.request().fin());
    let url = format!("http://{}/", server.address);
    for verb in ["http", "stream"] {
        let outcome = run(&mut throng([verb, &url, "--format", "json", "--no-store"]), RUN_MAX);
        outcome.assert_failed(1, "could_not.reach.eof", &["eof", "answer was whole"]);
        assert!(!outcome.stderr.contains("handshake"), "{outcome}");
    }
}

#[test]
fn silence_is_no_answer() {
    let server = HostileServer::start(|p| p.hold());
    let outcome = http(&format!("http://{}/", server.address), "-c 2 -d 1 --drain-timeout 1s");
    assert_eq!(sum_of(&outcome.json(), "missing"), CLIENTS, "{outcome}");
}

#[test]
fn answers_of_a_warmup_delay_no_request() {
    let server = HostileServer::start(|p| p.answer_after(Duration::from_secs(4)));
    let url = format!("http://{}/", server.address);
    // The warm-up gives its answers up after two seconds of silence.
    let outcome = http(&url, "-c 2 -d 3s --warmup 100ms");
    let results = outcome.json();
    assert_eq!([sum_of(&results, "sent"), sum_of(&results, "received")], [CLIENTS; 2], "{outcome}");
    let max_ms = results["steps"][0]["rtt"]["max_ms"].as_f64().unwrap();
    assert!(max_ms < 5_000.0, "{max_ms}: {outcome}");
}

#[test]
fn wrong_usage_is_named() {
    let cases: &[(&str, &str)] = &[
        ("ws://127.0.0.1:1/", "throng echo ws://127.0.0.1:1/"),
        ("http://127.0.0.1:1/ -c 0", "--connections"),
        ("http://127.0.0.1:1/ -p 0", "--pipelining"),
        ("http://127.0.0.1:1/ -p 2 --no-keep-alive", "--no-keep-alive"),
        ("http://127.0.0.1:1/ -d 0", "--duration"),
        ("http://127.0.0.1:1/ -d soon", "--duration"),
        ("http://127.0.0.1:1/ -R 0", "--rate"),
        ("http://127.0.0.1:1/ -m GE/T", "--method"),
        ("http://127.0.0.1:1/ -b a -i b", "--input"),
        ("http://127.0.0.1:1/ -i /no/such/file", "/no/such/file"),
        ("http://127.0.0.1:1/ --expect-status 99", "--expect-status"),
        ("http://127.0.0.1:1/ --compress", "--compress"),
        ("http://127.0.0.1:1/ --protocol json", "--protocol"),
        ("http://127.0.0.1:1/ -H Content-Length:5", "--header"),
    ];
    check_all(
        cases,
        |case| case.0.to_owned(),
        |(arguments, named)| {
            let outcome = run(throng(["http"]).args(arguments.split_whitespace()), RUN_MAX);
            assert_eq!(outcome.code, Some(2), "{outcome}");
            assert!(outcome.stderr.contains(named), "stderr does not name {named:?}\n{outcome}");
        },
    );
}

#[test]
fn standstills_stand_in_the_result() {
    let server = Server::start(&["--fault", "stall=2s/4s"]);
    let load = ["http", &root_of(&server), "-c", "4", "-d", "5s", "--no-store", "--no-report"];
    let outcome = run(&mut throng(load), RUN_MAX);
    let below = outcome.stdout.split_once("\nRESULT").unwrap_or_else(|| panic!("{outcome}")).1;
    let result = below.split("\nWHY").next().unwrap_or_default();
    // By name where the server is the cause, and by what clients saw where the machine was full.
    assert!(result.contains("stood still") || result.contains("stalled"), "{outcome}");
}

#[test]
fn closed_loops_wait_without_lag() {
    let server = Server::start(&[]);
    let results = fine(&root_of(&server), "-c 2 --amount 200 --no-keep-alive");
    assert_eq!(results["steps"][0]["send_lag"]["p50_ms"], 0.0, "{results:#}");
}

#[test]
fn an_endless_input_is_refused() {
    let flags = ["http", "http://127.0.0.1:1/", "--input", "/dev/zero", "--no-preflight", "--format", "json"];
    run(&mut throng(flags), RUN_MAX).assert_failed(2, "usage.input", &["/dev/zero"]);
}
