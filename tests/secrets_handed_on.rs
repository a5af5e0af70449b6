//! Messages between processes of throng, over a pipe, a bus or a page, give no secret away either.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc;
use std::time::Duration;

use crate::support::arena::{Arena, SERVE, tiny_suite};
use crate::support::fleet::Bus;
use crate::support::peer::{Heard, Peer};
use crate::support::process::Process;
use crate::support::spy::{Spy, assert_no_marker, contains, search, secrets_of};
use crate::support::throng::{Server, finish, run, throng};
use crate::support::{START_MAX, free_address, wait_until};

const RUN_MAX: Duration = Duration::from_secs(60);

#[test]
fn shootouts_hand_secrets_over_a_pipe() {
    let marker = "marker-shootout-6a90";
    let flags = r#"clients = 2, duration = "1s", token = "env:THE_TOKEN", token-in = "query:ticket""#;
    let suite = tiny_suite(1, flags, &["rtt.p50"]);
    let arena = Arena::new(&suite, SERVE);
    let mut command = throng(["shootout", "tiny", "--targets", "sh-copy", "--out", "kept"]);
    // What the target runs has an environment of its own: that of the shootout has the token.
    command.env("THE_TOKEN", marker).env("XDG_DATA_HOME", arena.path("data")).current_dir(arena.folder());
    let process = Process::start(&mut command);
    let spy = Spy::on(marker, process.pid());
    spy.await_children(1, "from-stdin");
    let outcome = finish(process, RUN_MAX);
    assert_eq!(spy.seen(), [""; 0], "argument lists");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_no_marker(&outcome, arena.folder(), marker);
    assert_eq!(fs::metadata(arena.path("kept")).unwrap().mode() & 0o777, 0o700);
    let mut folders = vec![arena.path("kept")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let metadata = entry.metadata().unwrap();
            assert_eq!(metadata.mode() & 0o077, 0, "{:?}", entry.path());
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }

    let literal = arena.path("suites/literal.toml");
    fs::write(&literal, suite.replace("env:THE_TOKEN", marker)).unwrap();
    let refused = run(throng(["shootout", "suites/literal.toml"]).current_dir(arena.folder()), RUN_MAX);
    assert_eq!(refused.code, Some(2), "a suite is kept with its results: {refused}");
    assert!(refused.stderr.contains("env:NAME"), "{refused}");
}

#[test]
fn listeners_at_the_bus_hear_no_secret() {
    let marker = "marker-bus-3be8";
    let Some(bus) = Bus::start() else { return };
    let server = Server::start(&["--threads", "1"]);
    let agent = bus.agent(&["--name", "a", "--threads", "1"]);
    bus.await_agents(1);
    let (sender, heard) = mpsc::channel();
    let _listener = Peer::join(bus.address(), &[">"], sender, |heard| heard);
    let folder = tempfile::tempdir().unwrap();
    let [url, secrets @ ..] = secrets_of(server.address, marker);
    let mut command = throng(["echo", &format!("ws{url}"), "--fleet", &bus.url, "--clients", "2"]);
    command.args(secrets).args(["--interval", "50ms", "--duration", "500ms", "--out"]).arg(folder.path());
    let process = Process::start(command.env("XDG_DATA_HOME", folder.path()));
    let spy = Spy::on(marker, process.pid());
    let outcome = finish(process, RUN_MAX);
    assert_eq!(spy.seen(), [""; 0], "argument lists");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_no_marker(&outcome, folder.path(), marker);
    let (_, said) = agent.into_output();
    assert!(!said.contains(marker), "{said}");
    drop(bus); // which is the end of what is heard
    let heard: Vec<Heard> = heard.iter().collect();
    let with_it = heard.iter().filter(|heard| contains(&heard.bytes, marker));
    let subjects: Vec<&str> = with_it.map(|heard| heard.subject.as_str()).collect();
    assert_eq!(subjects, [""; 0], "of {} messages", heard.len());
    let is_order = |subject: &str| subject.starts_with("throng.agent.") && subject.ends_with(".down");
    assert!(heard.iter().any(|heard| is_order(&heard.subject)), "the plan was among them");
}

#[test]
fn child_processes_show_no_signing_secret() {
    let marker = "marker-signing-d41f";
    let address = free_address();
    let mut serve = throng(["serve", "--processes", "2", "--threads", "1", "--jwt-secret", marker]);
    let process = Process::start(serve.args(["--listen", &address.to_string()]));
    let spy = Spy::on(marker, process.pid());
    spy.await_children(2, "serve");
    let process = process.listening_at(address);
    assert_eq!(spy.seen(), [""; 0], "argument lists");
    let (_, said) = process.into_output();
    assert!(!said.contains(marker), "{said}");
}

#[test]
fn a_page_starts_runs_without_showing_their_secrets() {
    let marker = "marker-page-b07c";
    let server = Server::start(&["--threads", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("runs.db");
    let mut ui = throng(["ui", "--store"]);
    let ui = Process::start(ui.arg(&store).env("XDG_DATA_HOME", folder.path()));
    assert!(wait_until(START_MAX, || ui.said().contains('\n')), "it does not say where it is");
    let said = ui.said();
    let page = said.trim().strip_prefix("throng ui: http://").expect("its address");
    let (host, path) = page.split_once('/').unwrap();
    let ask = |request: &str, cookie: &str, body: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(RUN_MAX)).unwrap(); // the store is flushed to a disk that others use
        let fields = format!(
            "Host: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\nCookie: {cookie}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{request} HTTP/1.1\r\n{fields}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .unwrap_or_else(|error| panic!("{request}: {error}, after {answer:?}"));
        answer
    };
    let welcome = ask(&format!("GET /{path}"), "", "");
    let cookie = welcome
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("set-cookie: ").map(str::to_owned));
    let cookie = cookie.unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
    let url = format!("ws%3A%2F%2Fme%3A{marker}%40{}%2F%3Ftoken%3D{marker}", server.address);
    let form = format!("verb=echo&url={url}&clients=2&duration=1s");
    let spy = Spy::on(marker, ui.pid());
    let started = ask("POST /new", &cookie, &form);
    assert!(started.starts_with("HTTP/1.1 303"), "{started}");
    spy.await_children(1, "from-stdin");
    let events = ask("GET /live/1/events", &cookie, "");
    let pages = ["GET /live/1", "GET /", "GET /runs/last"].map(|request| ask(request, &cookie, ""));
    assert_eq!(spy.seen(), [""; 0], "argument lists");
    let preview = ask(&format!("GET /new/command?{form}"), &cookie, "");
    for answer in pages.iter().chain([&started, &events, &preview]) {
        assert!(!answer.contains(marker), "{answer}");
    }
    assert!(events.contains("\"step\""), "{events}");
    drop(ui);
    assert!(search(folder.path(), marker).0.is_empty());
}
