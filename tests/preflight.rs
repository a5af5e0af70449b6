//! One client tries first: what would stop all of them is one line, exit code 1, and nothing is kept.

use std::path::Path;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustix::process::Signal;

use crate::support::cases::check_all;
use crate::support::fleet::connections_to;
use crate::support::free_address;
use crate::support::hostile::{HostileServer, Peer};
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, errors_of, finish, run, sum_of, throng};
use crate::support::{REACTS_WITHIN, wait_until};

const RUN_MAX: Duration = Duration::from_secs(30);

/// A server's behaviour, the flags of the run, the error's key behind `could_not.reach.`, and what its text names.
type Case = (fn(&mut Peer), &'static str, &'static str, &'static [&'static str]);

/// Runs a load of 500 clients, all of whose output goes into this directory.
fn load(verb: &str, url: &str, flags: &str, folder: &Path) -> Outcome {
    let mut command = throng([verb, url, "--clients", "500", "--duration", "1s", "--format", "json"]);
    command.arg("--out").arg(folder).arg("--store").arg(folder.join("runs.db"));
    command.arg("--events").arg(folder.join("events.parquet")).args(flags.split_whitespace());
    run(&mut command, RUN_MAX)
}

/// The same, which must come to nothing but this error, and a line about it.
fn assert_stopped(verb: &str, url: &str, flags: &str, key: &str, names: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let outcome = load(verb, url, flags, folder.path());
    outcome.assert_failed(1, &format!("could_not.reach.{key}"), names);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    let kept: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(kept.is_empty(), "{kept:?} of a run that was none");
}

#[test]
fn refused_upgrades_are_told_in_a_line() {
    let cases: &[Case] = &[
        (
            |p| p.answer("401 Unauthorized\r\nContent-Length: 8\r\n\r\nno token").hold(),
            "",
            "status_401",
            &["401 Unauthorized", "no token", "-H 'Cookie", "--token", "[[login]]"],
        ),
        (
            |p| p.answer("301 Moved Permanently\r\nLocation: wss://other/ws").fin(),
            "",
            "status_301",
            &["301 Moved Permanently", "wss://other/ws"],
        ),
        (
            |p| p.answer("404 Not Found").fin(),
            "--protocol actioncable",
            "status_404",
            &["404 Not Found", "/cable", "--origin http://"],
        ),
        (|p| p.answer("503 Service Unavailable").fin(), "", "status_503", &["503 Service Unavailable"]),
        (
            |p| p.answer("400 Bad Request\r\n\r\nThe plain HTTP request was sent to HTTPS port").fin(),
            "",
            "speaks_tls",
            &["wss://"],
        ),
        (|p| p.request().fin(), "", "eof", &["wss://"]),
        (
            |p| p.request().fin(),
            "--protocol socketio",
            "eof",
            &["is the path right?", "/socket.io", "wss://"],
        ),
        (|p| p.request().send(b"SSH-2.0-OpenSSH_9.2\r\n").hold(), "", "not_http", &["SSH-2.0-OpenSSH_9.2"]),
        (
            |p| p.upgrade().frame(0x81, br#"{"type":"welcome"}"#).hold(),
            "",
            "speaks_actioncable",
            &["raw", "--protocol actioncable"],
        ),
        (|p| p.upgrade().frame(0x88, b"\x0f\xa1go away").hold(), "", "closed", &["4001", "go away"]),
        (
            |p| p.upgrade().frame(0x81, br#"{"type":"disconnect","reason":"unauthorized"}"#).hold(),
            "--protocol actioncable",
            "disconnect_unauthorized",
            &["-H 'Cookie", "--token", "[[login]]"],
        ),
        (|p| p.upgrade().hold(), "--protocol actioncable --connect-timeout 500ms", "connect_timeout", &[]),
    ];
    check_all(
        cases,
        |case| case.2.to_owned(),
        |(treat, flags, key, names)| {
            let server = HostileServer::start(*treat);
            assert_stopped("echo", &server.url(), flags, key, names);
        },
    );
}

/// Balancers without a server behind them accept, and close at once.
#[test]
fn ends_in_the_tls_handshake_are_told() {
    let server = HostileServer::start(|p| {
        p.fin();
        p.hold();
    });
    for (verb, scheme) in [("echo", "wss"), ("http", "https")] {
        assert_stopped(verb, &format!("{scheme}://{}/", server.address), "", "tls_eof", &[]);
    }
}

#[test]
fn endless_openings_are_told_with_their_step() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    let app = |open: &str| {
        let text = format!(
            "open = [{open}]\n[broadcast]\nsend = '{{\"type\":\"broadcast\",\"payload\":\"{{id}}\"}}'\n"
        );
        std::fs::write(&file, text).unwrap();
        format!("--connect-timeout 500ms --app {}", file.display())
    };
    let of_type = |name: &str| format!("{{ expect = {{ json = {{ \"/type\" = \"{name}\" }} }} }}");
    let join = r#"{ send = '{"type":"join","room":"a"}' }"#;
    let flags = app(&format!("{join}, {}, {}", of_type("joined"), of_type("ready")));
    let names = ["step 3", "`open`", r#"{"type":"joined""#];
    assert_stopped("broadcast", &server.url(), &flags, "connect_timeout", &names);

    let outcome =
        load("broadcast", &server.url(), &app(r#"{ wait = "400ms" }, { wait = "100ms" }"#), folder.path());
    outcome.assert_failed(2, "usage.connect_timeout", &["500ms", "`open`", "app"]);
}

#[test]
fn unreachable_servers_are_told_in_a_line() {
    let nobody = free_address();
    assert_stopped("echo", &format!("ws://{nobody}/"), "", "refused", &[&format!("ws://{nobody}/")]);
    let server = Server::start(&[]);
    assert_stopped("idle", &format!("wss://{}/", server.address), "", "tls_not_tls", &["ws://"]);
}

#[test]
fn plain_text_on_tls_ports_is_known() {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [cert, key_file] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&cert, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    let server = Server::start(&["--cert", cert.to_str().unwrap(), "--key", key_file.to_str().unwrap()]);
    assert_stopped("echo", &server.url(), "", "speaks_tls", &["wss://"]);
    let url = format!("http://{}/", server.address);
    assert_stopped("http", &url, "", "speaks_tls", &["https://"]);
    let url = format!("wss://{}/", server.address);
    assert_stopped("echo", &url, "", "tls_unknown_issuer", &["--ca", "--insecure"]);
}

#[test]
fn wrong_requests_are_not_repeated() {
    let cases: &[Case] = &[
        (
            |p| p.answer("404 Not Found\r\nContent-Length: 0").hold(),
            "",
            "status_404",
            &["GET /", "404 Not Found"],
        ),
        (
            |p| p.answer("302 Found\r\nLocation: /login\r\nContent-Length: 0").hold(),
            "",
            "status_302",
            &["302 Found", "/login", "--expect-status 302"],
        ),
        (
            |p| p.answer("401 Unauthorized\r\nContent-Length: 3\r\n\r\nwho").hold(),
            "-H X:y",
            "status_401",
            &["401 Unauthorized", "who", "--token"],
        ),
    ];
    check_all(
        cases,
        |case| case.2.to_owned(),
        |(treat, flags, key, names)| {
            let server = HostileServer::start(*treat);
            assert_stopped("http", &format!("http://{}/", server.address), flags, key, names);
        },
    );
}

/// A server's behaviour, the flags of the run, and the status that is counted.
type Measured = (fn(&mut Peer), &'static str, &'static str);

#[test]
fn doubtful_obstacles_are_measured() {
    let cases: &[Measured] = &[
        (|p| p.answer("503 Busy\r\nContent-Length: 0").fin(), "", "503"),
        (|p| p.answer("404 Not Found\r\nContent-Length: 0").fin(), "--expect-status 404", "404"),
        (|p| p.answer("404 Not Found\r\nContent-Length: 0").fin(), "--no-preflight", "404"),
        (|p| p.answer("404 Not Found\r\nContent-Length: 0").fin(), "--method POST", "404"),
    ];
    check_all(
        cases,
        |case| case.1.to_owned(),
        |(treat, flags, status)| {
            let server = HostileServer::start(*treat);
            let folder = tempfile::tempdir().unwrap();
            let flags = format!("{flags} --connections 2 --amount 20 --format json");
            let mut command = throng(["http", &format!("http://{}/", server.address), "--no-store", "--out"]);
            let outcome = run(command.arg(folder.path()).args(flags.split_whitespace()), RUN_MAX);
            let results = outcome.json();
            // A POST that its connection ends with is not asked again.
            let answered = 20 - errors_of(&results, "not_resent");
            assert_eq!(
                results["steps"][0]["statuses"],
                serde_json::json!({ *status: answered }),
                "the client that tried counts\n{outcome}"
            );
        },
    );
}

#[test]
fn the_client_that_tries_is_in_no_figure() {
    let server = Server::start(&[]);
    for verb in ["echo", "broadcast", "idle"] {
        let mut command = throng([verb, &server.url(), "--clients", "3", "--format", "json", "--no-store"]);
        let outcome = run(command.args(["--duration", "1s", "--protocol", "json"]), RUN_MAX);
        assert_eq!(sum_of(&outcome.json(), "connects"), 3, "{outcome}");
    }
}

#[test]
fn interrupts_end_it_at_once() {
    let server = HostileServer::start(|peer| peer.request().hold());
    let folder = tempfile::tempdir().unwrap();
    let mut echo = throng(["echo", &server.url(), "--connect-timeout", "60s", "--clients", "5"]);
    echo.args(["--format", "json", "--out"])
        .arg(folder.path())
        .arg("--store")
        .arg(folder.path().join("runs.db"));
    let run = Process::start(&mut echo);
    assert!(wait_until(RUN_MAX, || connections_to(server.address) > 0), "nobody tries");
    run.signal(Signal::INT);
    let outcome = finish(run, REACTS_WITHIN);
    outcome.assert_failed(130, "interrupted", &[]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is kept");
}
