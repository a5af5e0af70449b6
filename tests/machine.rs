//! Machines' faults in a run: signals, too few files and ports, a kernel without memory, processes that stand still or
//! are killed. What was measured is reported, and the machine's fault is not taken for the server's.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::client::TestClient;
use crate::support::fleet::connections_to;
use crate::support::hostile::HostileServer;
use crate::support::process::Process;
use crate::support::throng::{
    Server, caveat, echo, errors_of, finding, finish, run, start_measuring, sum_of, throng, under,
};
use crate::support::{REACTS_WITHIN, skip, wait_until};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

const GENERATOR_FAILED: Option<i32> = Some(6);
const LIMIT_BROKEN: Option<i32> = Some(3);
const BAD_USAGE: Option<i32> = Some(2);
const INTERRUPTED: Option<i32> = Some(130);

#[test]
fn one_interrupt_finishes_and_reports() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let server = Server::start(&[]);
        // Whoever runs the tests under nohup has SIGHUP ignored in all that they start.
        let mut command = under("env", &["--default-signal=HUP"], &echo(&server.url(), 10, "60s"));
        let process = start_measuring(command.env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR")));
        assert!(process.signal(signal));
        let outcome = finish(process, RUN_MAX);
        assert_eq!(outcome.code, INTERRUPTED, "{signal:?}: {outcome}");
        assert!(sum_of(&outcome.json(), "received") > 0, "what was measured is lost\n{outcome}");
    }
}

#[test]
fn a_terminal_that_goes_ends_nothing_under_nohup() {
    let server = Server::start(&[]);
    let mut command = under("nohup", &[], &echo(&server.url(), 10, "2s"));
    let process = start_measuring(command.env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR")));
    assert!(process.signal(Signal::HUP));
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
}

#[test]
fn interrupts_while_connecting_tell_the_connected() {
    // Nobody is ever answered.
    let server = HostileServer::start(|peer| peer.hold());
    let mut echo = throng(["echo", &server.url(), "--clients", "10", "--connect-timeout", "60s"]);
    echo.args(["--duration", "60s", "--no-preflight", "--format", "json"]);
    let process = Process::start(&mut echo);
    assert!(wait_until(RUN_MAX, || connections_to(server.address) == 10), "they do not connect");
    assert!(process.signal(Signal::INT));
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, INTERRUPTED, "{outcome}");
    let results = outcome.json();
    assert_eq!(sum_of(&results, "connecting"), 10, "{outcome}");
    let (step, verdict) = (&results["steps"][0], &results["verdict"]);
    assert_eq!(step["interrupted"], "connecting", "{outcome}");
    assert_eq!((step.get("usable"), &step["reached"]), (None, &0.into()), "no load began: {outcome}");
    // Nobody was turned away: the user had enough before they were let in.
    for claim in ["how_much", "breaks"] {
        let key = verdict["claims"][claim].as_str().unwrap();
        assert!(key.ends_with(".interrupted"), "{claim}: {key}\n{outcome}");
        assert!(verdict[claim].as_str().unwrap().contains(" 10 "), "{outcome}");
    }
    assert_eq!(verdict["outcome"], "nothing", "{outcome}");
}

#[test]
fn two_interrupts_stop_at_once() {
    let server = HostileServer::start(|peer| peer.upgrade().hold());
    let mut echo =
        throng(["echo", &server.url(), "--clients", "10", "--interval", "100ms", "--duration", "60s"]);
    let process = start_measuring(echo.args(["--drain-timeout", "60s"]));
    assert!(process.signal(Signal::INT));
    thread::sleep(Duration::from_millis(500));
    assert!(process.signal(Signal::INT), "ended although nothing has been answered");
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, INTERRUPTED, "{outcome}");
}

#[test]
fn serve_stops_on_a_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::start(&[]);
        let mut client = TestClient::upgrade(server.address);
        assert!(server.process.signal(signal));
        assert_eq!(client.close_code(), Some(1001), "clients are told that the server goes away");
        drop(client);
        let outcome = finish(server.process, RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{signal:?}: {outcome}");
    }
}

#[test]
fn more_clients_than_one_process_may_have_files() {
    let server = Server::start(&[]);
    let limited = |flags: &[&str]| {
        let echo = echo(&server.url(), 100, "1s");
        run(under("prlimit", &["--nofile=128:128", "--"], &echo).args(flags), RUN_MAX)
    };
    let split = limited(&[]);
    split.assert_held();
    let results = split.json();
    assert!(results["steps"][0]["agents"].as_u64() > Some(1), "{split}");
    assert_eq!(sum_of(&results, "connected"), 100, "{split}");
    assert_eq!(sum_of(&results, "received"), sum_of(&results, "expected"), "{split}");

    // Forty threads need files, too.
    let echo = echo(&server.url(), 190, "1s");
    let threads =
        run(under("prlimit", &["--nofile=256:256", "--"], &echo).args(["--threads", "40"]), RUN_MAX);
    let results = threads.json();
    let came = (sum_of(&results, "connected"), errors_of(&results, "too_many_files"));
    assert_eq!(came, (190, 0), "{threads}");
    assert!(results["steps"][0]["generator"]["rss_bytes_peak"].as_u64() > Some(0), "{threads}");

    let alone = limited(&["--processes", "1"]);
    assert_eq!(alone.code, BAD_USAGE, "{alone}");
    assert!(alone.stderr.contains("--processes") && alone.stderr.contains("ulimit -n"), "{alone}");
}

#[test]
fn a_walk_has_files_for_its_first_step() {
    let server = Server::start(&[]);
    let mut walk = throng(["echo", "--format", "json", "--step-size", "100", "--interval", "100ms"]);
    walk.args(["--duration", "1s", "--limit-rtt", "20s", "--threads", "1"]).arg(server.url());
    let outcome = run(&mut under("prlimit", &["--nofile=128:128", "--"], &walk), RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    assert_eq!(results["steps"].as_array().map(Vec::len), Some(1), "{outcome}");
    assert_eq!(sum_of(&results, "connected"), 100, "{outcome}");
    let ended = caveat(&results, "ended_by_files").expect("a caveat");
    assert_eq!(ended["remedy"], "--processes", "{outcome}");
    assert!(ended["clients"].as_u64().is_some_and(|most| (100..128).contains(&most)), "{outcome}");
}

#[test]
fn too_few_ports() {
    let script = r#"
        ip link set lo up; echo 40000 40009 >/proc/sys/net/ipv4/ip_local_port_range || exit 99
        "$0" serve --quiet --listen 127.0.0.1:9000 &
        until ss -Htln | grep -q 127.0.0.1:9000; do sleep 0.1; done; exec "$@""#;
    let echo = echo("ws://127.0.0.1:9000/", 50, "1s");
    let throng = echo.get_program().to_str().unwrap();
    let flags = ["--map-root-user", "--net", "sh", "-c", script, throng];
    let outcome = run(&mut under("unshare", &flags, &echo), RUN_MAX);
    if outcome.code == Some(99) || outcome.stderr.starts_with("unshare:") {
        return skip("a network with ten ports", &outcome.stderr);
    }
    let results = outcome.json();
    assert_eq!(errors_of(&results, "address_not_available"), 40, "{outcome}");
    assert!(is_local(&results, "address_not_available"), "{outcome}");
    assert_eq!(sum_of(&results, "connected"), 10, "{outcome}");
    assert_eq!(sum_of(&results, "missing"), 0, "those that did connect are served\n{outcome}");
}

/// A client waits for room in a unix socket's queue for as long as a client has to connect.
#[test]
fn a_unix_socket_on_which_nobody_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.sock");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 4).unwrap();
    let mut command = throng(["idle", "ws://localhost/ws", "--no-preflight", "--format", "json", "--socket"]);
    command.arg(&path).args(["--clients", "50", "--connect-timeout", "1s"]);
    let outcome = run(&mut command, RUN_MAX);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert_eq!(sum_of(&outcome.json(), "connect_timeouts"), 50, "{outcome}");
}

#[test]
fn a_kernel_that_refuses() {
    let cases = [("socket", "EMFILE", "too_many_files"), ("connect", "ENOBUFS", "no_buffers")];
    for (call, errno, kind) in cases {
        let server = Server::start(&[]);
        let inject = format!("inject={call}:error={errno}:when=4..5");
        let flags = ["-f", "-qq", "-o", "/dev/null", "-e", &inject];
        let traced = Command::new("strace").args(flags).arg("true").output();
        if !traced.is_ok_and(|traced| traced.status.success()) {
            return skip("errors from the kernel", "strace is missing or not allowed");
        }
        let outcome = run(&mut under("strace", &flags, &echo(&server.url(), 10, "1s")), RUN_MAX);
        assert_eq!(outcome.code, LIMIT_BROKEN, "two of its clients were not there\n{outcome}");
        let results = outcome.json();
        assert_eq!(results["steps"][0]["bottleneck"], "generator", "{outcome}");
        assert_eq!(errors_of(&results, kind), 2, "{outcome}");
        assert!(is_local(&results, kind), "{outcome}");
        assert_eq!(sum_of(&results, "connected"), 8, "{outcome}");
        assert_eq!(sum_of(&results, "missing"), 0, "{outcome}");
    }
}

#[test]
fn a_kernel_that_gives_no_more_memory() {
    let server = Server::start(&[]);
    let limited = |mib: u64| {
        let mut broadcast = throng(["broadcast", &server.url(), "--format", "json", "--quiet", "--no-store"]);
        // More clients at each step, and each holds what it has got of a message.
        broadcast.args("--protocol json --payload 1MiB --threads 1 --step-size 8 -c 1 -s 5".split(' '));
        broadcast.args(["--total-steps", "20", "--limit-rtt", "1m"]);
        run(&mut under("prlimit", &[&format!("--data={}", mib << 20), "--"], &broadcast), RUN_MAX)
    };
    // Room for the first step, also where nobody reads for a while.
    let short = limited(64);
    assert_eq!(short.code, GENERATOR_FAILED, "{short}");
    assert!(short.stderr.contains("ulimit"), "{short}");
    let results = short.json();
    assert!(sum_of(&results, "received") > 0, "what was measured is lost\n{short}");
    assert!(caveat(&results, "cut_short").is_some(), "{short}");

    // Not even what is kept for the end.
    let none = limited(8);
    none.assert_failed(6, "generator.keep_memory", &["memory"]);
}

#[test]
fn a_server_that_stands_still_is_measured() {
    let server = Server::start(&[]);
    let process = start_measuring(&mut echo(&server.url(), 10, "4s"));
    stand_still(server.process.pid());
    let outcome = finish(process, RUN_MAX);
    let step = &outcome.json()["steps"][0];
    assert_eq!(step["counts"]["missing"], 0, "{outcome}");
    // What was due while it stood still waited up to a second, and is in the figures: a tenth or more is.
    assert!(figure(step, "rtt", "max_ms") > 900.0, "{outcome}");
    assert!(figure(step, "rtt", "p90_ms") > 100.0, "{outcome}");
    assert!(figure(step, "send_lag", "max_ms") < 900.0, "the generator did not stand still\n{outcome}");
}

#[test]
fn a_generator_that_stands_still_blames_itself() {
    let server = Server::start(&[]);
    let process = start_measuring(&mut echo(&server.url(), 10, "4s"));
    stand_still(process.pid());
    let outcome = finish(process, RUN_MAX);
    let step = &outcome.json()["steps"][0];
    assert!(figure(step, "send_lag", "max_ms") > 900.0, "{outcome}");
    // Beside programs that wait for the CPU as long, it may be theirs; it is never the server's.
    let blamed = step["bottleneck"].as_str().unwrap();
    assert!(["generator", "machine"].contains(&blamed), "{outcome}");
    let behind = finding(&step["caveats"], "caveat.generator_behind").expect("a caveat");
    assert!(behind["by_ms"].as_f64() > Some(900.0), "{outcome}");
}

#[test]
fn a_killed_process_of_ours_is_named() {
    let server = Server::start(&[]);
    let process = start_measuring(echo(&server.url(), 10, "60s").args(["--processes", "2"]));
    let children = format!("/proc/{0}/task/{0}/children", process.pid().as_raw_nonzero());
    let children = std::fs::read_to_string(children).expect("the run goes on");
    let child = children.split_whitespace().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    kill_process(child.expect("a child process"), Signal::KILL).unwrap();
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, GENERATOR_FAILED, "{outcome}");
    assert!(outcome.stderr.contains(" its process ("), "{outcome}");
    let results = outcome.json();
    assert!(sum_of(&results, "received") > 0, "what was measured is lost\n{outcome}");
    let error = caveat(&results, "cut_short").expect("a caveat")["error"].as_str().unwrap();
    assert!(error.starts_with("worker "), "{error}");
}

#[test]
fn messages_above_the_servers_limit_are_counted() {
    let server = Server::start(&["--max-message", "1k"]);
    let outcome = run(echo(&server.url(), 2, "1s").args(["--payload-padding", "4k"]), RUN_MAX);
    assert_eq!(errors_of(&outcome.json(), "closed"), 2, "{outcome}");
    assert!(!is_local(&outcome.json(), "closed"), "{outcome}");
}

/// Stops the process for a second.
fn stand_still(process: Pid) {
    kill_process(process, Signal::STOP).unwrap();
    thread::sleep(Duration::from_secs(1));
    kill_process(process, Signal::CONT).unwrap();
}

/// Returns whether an error is said to be the generator's own.
fn is_local(results: &Value, kind: &str) -> bool {
    results["steps"][0]["counts"]["errors"][kind]["local"] == true
}

fn figure(step: &Value, name: &str, value: &str) -> f64 {
    step[name][value].as_f64().unwrap_or_else(|| panic!("no {name}.{value}: {step:#}"))
}

/// `throng serve` without descriptors for its clients goes on with those it has, and says what it lacks.
#[test]
fn servers_out_of_files_say_so() {
    let limited = |serve: Command| under("prlimit", &["--nofile=48:48", "--"], &serve);
    let server = Server::start_as(&["--threads", "1"], limited);
    let mut scraper = TcpStream::connect(server.address).unwrap();
    scraper.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
    let mut metrics = || {
        scraper.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        let is_whole = |answer: &str| {
            let (head, body) = answer.split_once("\r\n\r\n")?;
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
            (body.len() == length.parse::<usize>().unwrap()).then_some(())
        };
        while is_whole(&answer).is_none() {
            let mut part = [0; 4096];
            let count = scraper.read(&mut part).unwrap();
            assert!(count > 0, "closed after {answer}");
            answer.push_str(std::str::from_utf8(&part[..count]).unwrap());
        }
        answer
    };
    assert!(!metrics().contains("too_many_files"));
    let clients: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let is_shown = || metrics().contains("throng_serve_errors_total{kind=\"too_many_files\"}");
    assert!(wait_until(REACTS_WITHIN, is_shown), "the metrics do not show it");
    drop(clients);
    drop(TestClient::upgrade(server.address));
    let (_, stderr) = server.process.into_output();
    assert!(stderr.starts_with("throng serve: ") && stderr.contains("ulimit -n"), "{stderr}");
}
