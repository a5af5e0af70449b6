//! `--http2` from end to end, of requests and of WebSockets: against the reference server and servers that
//! are not ours, peers against the reference server, and servers that misbehave.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustix::process::Signal;

use crate::support::cases::check_all;
use crate::support::hostile::{HostileServer, Peer, frame_kinds};
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::requests::{Nginx, RUN_MAX, fine, http, root_of};
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, Server, errors_of, finish, run, start_measuring, sum_of, throng};
use crate::support::{free_address, in_time, skip, timed};

const CLIENTS: u64 = 2;

/// SETTINGS without any, and their acknowledgement.
pub(crate) const GREETING: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0";

/// SETTINGS with MAX_CONCURRENT_STREAMS 0, and with INITIAL_WINDOW_SIZE 0.
const NO_STREAMS: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\0";
const NO_WINDOW: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0";
/// The same with ENABLE_CONNECT_PROTOCOL before them (RFC 8441 §3).
const TUNNELS_NO_STREAMS: &[u8] = b"\0\0\x0c\x04\0\0\0\0\0\0\x08\0\0\0\x01\0\x03\0\0\0\0";
const TUNNELS_NO_WINDOW: &[u8] = b"\0\0\x0c\x04\0\0\0\0\0\0\x08\0\0\0\x01\0\x04\0\0\0\0";
/// The head of the answer to the first request: 200.
const FINE: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88";
/// Kinds of frames.
const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;

const NODE: &str = "
    const answer = (request, response) => {
        let bytes = 0;
        request.on('data', (data) => bytes += data.length);
        request.on('end', () => response.end('got-' + bytes));
    };
    require('http2').createServer(answer).listen(Number(process.argv[1]), '127.0.0.1');
";

/// A certificate for 127.0.0.1 and its key, as files in a folder.
pub(crate) fn certificate() -> (tempfile::TempDir, [String; 2]) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    std::fs::write(&files[0], params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&files[1], key.serialize_pem()).unwrap();
    (folder, files)
}

#[test]
fn loops_and_rates_come_out_as_asked() {
    let server = Server::start(&[]);
    let url = root_of(&server);
    let counted = fine(&url, "--http2 -c 3 --streams 100 --amount 5k");
    assert_eq!((sum_of(&counted, "sent"), &counted["dialect"]), (5_000, &"http2".into()));
    let paced = fine(&url, "--http2 -c 5 --streams 10 -d 1s -R 400");
    assert_eq!(sum_of(&paced, "sent"), 400);
    fine(&url, "--http2 -c 2 --amount 100 -m PUT -b x=1 -H Content-Type:text/plain --expect-status 405");
    fine(&url, "--http2 -c 2 --amount 100 -m HEAD -t 1");
    let renewed = fine(&url, "--http2 -c 2 --amount 200 --streams 4 --requests-per-connection 20");
    assert_eq!(sum_of(&renewed, "sent"), 200);
}

#[test]
fn tls_agrees_on_http2_or_says_why() {
    let (_folder, [cert, key]) = certificate();
    let server = Server::start(&["--cert", &cert, "--key", &key]);
    let url = format!("https://127.0.0.1:{}/", server.address.port());
    let flags = format!("--ca {cert} -c 2 --amount 200");
    assert_eq!(fine(&url, &flags)["dialect"], "http");
    assert_eq!(fine(&url, &format!("{flags} --http2 --streams 10"))["dialect"], "http2");
    // One that offers HTTP/1.1 alone.
    let listens = format!("ssl; ssl_certificate {cert}; ssl_certificate_key {key}");
    let Some(nginx) = Nginx::start(&listens, "location / { return 200; }") else { return };
    let url = format!("https://127.0.0.1:{}/", nginx.address.port());
    let outcome = run(&mut throng(["http", &url, "--ca", &cert, "--http2"]), RUN_MAX);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    for words in ["tls_no_protocol", "leave out --http2"] {
        assert!(outcome.stderr.contains(words), "no {words:?}\n{outcome}");
    }
}

#[test]
fn goaway_of_nginx_loses_nothing() {
    let locations = "location / { return 200 hello; } location /gone { return 410; }";
    let Some(nginx) = Nginx::start("http2", locations) else { return };
    let url = nginx.root();
    fine(&url, "--http2 -c 4 --streams 8 --amount 2000 --expect-body hello");
    fine(&url, "--http2 -c 4 --streams 8 --amount 400 -m POST -b x --expect-body hello");
    let gone = http(&format!("{url}gone"), "--http2 -c 4 --amount 100").json();
    assert_eq!((errors_of(&gone, "http_4xx"), sum_of(&gone, "received")), (100, 100));
    let (_folder, [cert, key]) = certificate();
    let listens = format!("ssl http2; ssl_certificate {cert}; ssl_certificate_key {key}");
    let Some(nginx) = Nginx::start(&listens, locations) else { return };
    let url = format!("https://127.0.0.1:{}/", nginx.address.port());
    fine(&url, &format!("--http2 --ca {cert} -c 4 --streams 8 --amount 1000 --expect-body hello"));
}

#[test]
fn bodies_follow_nodes_flow_control() {
    let address = free_address();
    let mut node = Command::new("node");
    if Command::new("node").arg("--version").output().is_err() {
        return skip("node", "there is none");
    }
    let _node = Process::start(node.args(["-e", NODE, &address.port().to_string()])).listening_at(address);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 200_000]).unwrap();
    let flags = format!("--http2 -c 2 --streams 5 --amount 50 -m POST -i {}", file.path().display());
    fine(&format!("http://{address}/"), &format!("{flags} --expect-body got-200000"));
}

#[test]
fn peers_get_every_answer_of_the_reference_server() {
    let server = Server::start(&[]);
    let url = root_of(&server);
    let mut h2load = Command::new("h2load");
    if Command::new("h2load").arg("--version").output().is_err() {
        return skip("h2load", "there is none");
    }
    let outcome = run(h2load.args(["-n", "2000", "-c", "4", "-m", "50", &url]), RUN_MAX);
    assert!(outcome.stdout.contains("2000 succeeded, 0 failed, 0 errored"), "{outcome}");
}

#[test]
fn stopped_servers_delay_each_request() {
    let server = Server::start(&[]);
    let url = root_of(&server);
    let flags = "--http2 -c 2 --streams 500 -R 500 -d 3 --format json --no-preflight --no-store";
    timed(|| {
        let running = start_measuring(throng(["http", &url]).args(flags.split_whitespace()));
        assert!(server.process.signal(Signal::STOP));
        thread::sleep(Duration::from_millis(800));
        assert!(server.process.signal(Signal::CONT));
        let outcome = finish(running, RUN_MAX);
        let results = outcome.json();
        let (sent, received) = (sum_of(&results, "sent"), sum_of(&results, "received"));
        assert_eq!((sent, received), (1500, 1500), "{outcome}");
        // 400 of 1,500 were due in the stop, each 2 ms after the one before: so a tenth of all waited for at
        // least half of it.
        let rtt = &results["steps"][0]["rtt"];
        let (p90_ms, max_ms) = (rtt["p90_ms"].as_f64().unwrap(), rtt["max_ms"].as_f64().unwrap());
        in_time((390.0..1200.0).contains(&p90_ms) && max_ms > 750.0, || format!("{rtt:#}"))
    });
}

#[test]
fn misdeeds_are_counted_by_kind() {
    /// A server's behaviour behind its greeting, if it has one, by the kind of error that follows.
    type Case = (&'static str, fn(&mut Peer));
    let cases: &[Case] = &[
        ("not_http2", |p| p.send(b"HTTP/1.1 400 Bad Request\r\n\r\n").hold()),
        ("not_http2", |p| p.send(b"SSH-2.0-OpenSSH_9.2\r\n").hold()),
        ("eof", |p| p.fin()),
        ("bad_http2", |p| p.send(GREETING).send(b"\0\0\x01\0\x01\0\0\0\x09x").hold()),
        ("bad_http2", |p| p.send(GREETING).send(b"\xff\xff\xff\0\x01\0\0\0\x01").hold()),
        ("bad_http2", |p| p.send(GREETING).flood(b"\0\0\x08\x06\0\0\0\0\x00opaque 8")),
        ("http2_goaway", |p| p.send(GREETING).send(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b").hold()),
    ];
    check_all(
        cases,
        |case| case.0.to_owned(),
        |(kind, treat)| {
            let server = HostileServer::start(*treat);
            let url = format!("http://{}/", server.address);
            let outcome = http(&url, "--http2 -c 2 -d 1 --connect-timeout 2s --drain-timeout 1s");
            assert_eq!(errors_of(&outcome.json(), kind), CLIENTS, "{outcome}");
        },
    );
}

#[test]
fn withheld_streams_and_windows_are_named() {
    /// A command, the kind of error, and the server's behaviour.
    type Case = (&'static str, &'static str, fn(&mut Peer));
    let (posts, echoes) =
        ("http http://AT/ -c 2 -d 1 -m POST -b x", "echo ws://AT/ --clients 2 --duration 1s");
    let cases: &[Case] = &[
        (posts, "http2_no_streams", |p| p.send(NO_STREAMS).hold()),
        (posts, "http2_no_window", |p| p.send(NO_WINDOW).hold()),
        (echoes, "http2_no_streams", |p| p.send(TUNNELS_NO_STREAMS).hold()),
        (echoes, "http2_no_window", |p| {
            // Before the request is there, its stream would be idle.
            p.send(TUNNELS_NO_WINDOW).until_frame(HEADERS);
            p.send(FINE).hold();
        }),
    ];
    check_all(
        cases,
        |case| format!("{} {}", case.0, case.1),
        |(command, kind, treat)| {
            let server = HostileServer::start(*treat);
            let command = command.replace("AT", &server.address.to_string());
            let flags = ["--http2", "--connect-timeout", "1s", "--drain-timeout", "1s", "--no-store"];
            let asked = || {
                let mut asked = throng([]);
                asked.args(command.split(' ')).args(flags);
                asked
            };
            let results = run(asked().args(["--format", "json", "--no-preflight"]), RUN_MAX).json();
            assert_eq!(
                (errors_of(&results, kind), sum_of(&results, "received")),
                (CLIENTS, 0),
                "{results:#}"
            );
            if *kind == "http2_no_streams" {
                assert_eq!(sum_of(&results, "sent"), 0);
            }
            let example = &results["steps"][0]["counts"]["errors"][*kind]["example"];
            assert!(example.as_str().is_some_and(|example| example.contains("nothing")), "{results:#}");
            let tried = run(&mut asked(), RUN_MAX);
            // The client that tries may have asked before it hears of the settings; then the run itself tells.
            let told = format!("{}{}", tried.stdout, tried.stderr);
            assert!(matches!(tried.code, Some(1 | 3)) && told.contains(kind), "{tried}");
        },
    );
}

#[test]
fn full_windows_get_heads_alone() {
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&kinds);
    let server = HostileServer::start(move |p| {
        let kinds = frame_kinds(&p.send(NO_WINDOW).receive_all());
        heard.lock().unwrap().extend(kinds);
    });
    let url = format!("http://{}/", server.address);
    http(&url, "--http2 -c 2 -d 1 -m POST -b x --connect-timeout 1s --drain-timeout 1s");
    drop(server);
    let kinds = kinds.lock().unwrap();
    let count = |kind| kinds.iter().filter(|one| **one == kind).count() as u64;
    assert_eq!((count(HEADERS), count(DATA)), (CLIENTS, 0), "{kinds:?}");
}

#[test]
fn frames_behind_answers_are_errors() {
    // An answer with END_STREAM, and once more, when the request is there: before it, the stream would be idle.
    let server = HostileServer::start(|p| {
        p.send(GREETING).until_frame(HEADERS);
        p.send(&b"\0\0\x01\x01\x05\0\0\0\x01\x88".repeat(2)).hold();
    });
    let url = format!("http://{}/", server.address);
    let results = http(&url, "--http2 -c 1 --amount 1 --drain-timeout 1s").json();
    assert_eq!((sum_of(&results, "received"), errors_of(&results, "bad_http2")), (1, 1), "{results:#}");
}

/// A run of WebSockets over HTTP/2 with this command.
fn websockets(command: &str) -> Outcome {
    run(throng([]).args(command.split_whitespace()).args(["--http2", "--format", "json", "--quiet"]), RUN_MAX)
}

#[test]
fn websockets_go_over_streams_of_nodes_http2() {
    let scripts = match Scripts::install_in("tests/servers", "http2") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("node's http2", &why),
    };
    let (_folder, [cert, key]) = certificate();
    for (scheme, files) in [("ws", vec![]), ("wss", vec![cert.as_str(), &key])] {
        let address = free_address();
        let port = address.port().to_string();
        let _node =
            scripts.start("server.js", &[&[port.as_str()], &files[..]].concat()).listening_at(address);
        let trust = if files.is_empty() { String::new() } else { format!("--ca {cert}") };
        let fine = |command: &str, path: &str, flags: &str| {
            let url = format!("{scheme}://{address}{path}");
            let outcome = websockets(&format!("{command} {url} {trust} {flags}"));
            outcome.assert_held();
            outcome.json()
        };
        let echoed = fine("echo", "/", "--clients 20 -c 20 -s 3000");
        assert_eq!((sum_of(&echoed, "received"), &echoed["dialect"]), (3000, &"json/http2".into()));
        // More than a frame of HTTP/2 holds, and than the first window of a stream.
        let large = fine("echo", "/", "--clients 4 -c 4 -s 40 --payload-padding 70k..300k");
        assert_eq!((sum_of(&large, "received"), sum_of(&large, "corrupt")), (40, 0));
        let heard = fine("broadcast", "/all", "--clients 10 -s 100");
        assert_eq!((sum_of(&heard, "received"), sum_of(&heard, "missing")), (1000, 0));
        let renewed = fine("echo", "/", "--clients 5 -c 5 -s 200 --messages-per-connection 10");
        assert_eq!((sum_of(&renewed, "received"), sum_of(&renewed, "disconnects")), (200, 0));
        let url = format!("{scheme}://{address}");
        let cut = websockets(&format!("echo {url}/cut {trust} --clients 3 -c 3 -s 30 --no-preflight")).json();
        // Node ends a stream that it cuts off, where it gets to it.
        assert_eq!(errors_of(&cut, "eof") + errors_of(&cut, "http2_reset"), 3, "{cut:#}");
        let expired = format!("echo {url}/expired {trust} --clients 3 --duration 1s --no-preflight");
        let expired = websockets(&expired).json();
        let closed = &expired["steps"][0]["counts"]["errors"]["closed"];
        let example = closed["example"].as_str().unwrap_or_default();
        assert!(closed["count"] == 3 && example.ends_with(" 4403: token expired"), "{expired:#}");
        let load = "--rate 400 --payload-padding 20k --duration 2s --drain-timeout 1s";
        let deaf = websockets(&format!("echo {url}/deaf {trust} --clients 2 {load} --no-preflight")).json();
        assert_eq!(errors_of(&deaf, "unread"), 2, "more is kept for a server that does not read: {deaf:#}");
        let nowhere = websockets(&format!("echo {url}/nowhere {trust} --clients 3"));
        assert_eq!(nowhere.code, Some(1), "{nowhere}");
        assert!(nowhere.stderr.contains("404"), "{nowhere}");
    }
}

#[test]
fn missing_websockets_over_http2_are_said() {
    let server = Server::start(&[]);
    let outcome = websockets(&format!("echo {} --clients 3", server.url()));
    outcome.assert_failed(1, "could_not.reach.no_http2_websocket", &["--http2"]);
    for flags in ["--protocol sockjs --info", "--protocol socketio --transport polling"] {
        let outcome = websockets(&format!("echo {} --clients 3 {flags}", server.url()));
        outcome.assert_failed(2, "usage.http2", &["WebSocket"]);
    }
    let of_its_own = websockets("echo --clients 3");
    of_its_own.assert_failed(2, "usage.http2", &["throng"]);
}

#[test]
fn reset_streams_leave_the_connection_alone() {
    let server = Server::start(&[]);
    let url = format!("{}metrics", root_of(&server));
    // However many: each is an answer of a kind, and no flood.
    let outcome = http(&url, "--http2 -c 2 --streams 4 --amount 3000 --drain-timeout 1s");
    let results = outcome.json();
    assert_eq!((errors_of(&results, "http2_reset"), sum_of(&results, "missing")), (3000, 3000), "{outcome}");
    assert_eq!(sum_of(&results, "disconnects"), 0, "{outcome}");
    assert!(
        outcome.stderr.contains("HTTP_1_1_REQUIRED") || outcome.stdout.contains("HTTP_1_1_REQUIRED"),
        "{outcome}"
    );
}

#[test]
fn wrong_usage_is_named() {
    let cases: &[(&str, &str)] = &[
        ("--streams 5", "--http2"),
        ("--http2 --streams 0", "--streams"),
        ("--http2 --streams 1025", "--streams"),
        ("--http2 -p 4", "--pipelining"),
        ("--http2 --no-keep-alive", "--no-keep-alive"),
        ("--http2 -H Keep-Alive:1", "--header"),
        ("--http2 -H Connection:close", "--header"),
    ];
    check_all(
        cases,
        |case| case.0.to_owned(),
        |(flags, named)| {
            let outcome =
                run(throng(["http", "http://127.0.0.1:1/"]).args(flags.split_whitespace()), RUN_MAX);
            assert_eq!(outcome.code, Some(2), "{outcome}");
            assert!(outcome.stderr.contains(named), "stderr does not name {named:?}\n{outcome}");
        },
    );
    let server = Server::start(&[]);
    let outcome = run(&mut throng(["http", &format!("{}nowhere", root_of(&server)), "--http2"]), RUN_MAX);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("GET /nowhere was answered with 404; is the path right?"), "{outcome}");
    let server = HostileServer::start(|p| p.send(b"HTTP/1.1 400 Bad Request\r\n\r\n").hold());
    let url = format!("http://{}/", server.address);
    let outcome = run(&mut throng(["http", &url, "--http2"]), RUN_MAX);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(
        outcome.stderr.contains("not_http2") && outcome.stderr.contains("leave out --http2"),
        "{outcome}"
    );
}
