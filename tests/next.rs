//! Commands that NEXT proposes run as they are printed, and mend what they are proposed for.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::hostile::HostileServer;
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, throng};
use crate::support::{free_address, retry, skip, wait_until};

const RUN_MAX: Duration = Duration::from_secs(60);
/// Runs until a command is proposed that a busy machine does not stand before.
const TRIES_MAX: usize = 4;

/// The first command below NEXT: the program has an absolute path, in quotes where that has a space.
fn command(outcome: &Outcome) -> Option<&str> {
    let below = outcome.stdout.split_once("\nNEXT")?.1;
    below.lines().map(str::trim).find(|line| line.starts_with(['/', '\'']))
}

fn proposed(outcome: &Outcome) -> &str {
    command(outcome).unwrap_or_else(|| panic!("no command\n{outcome}"))
}

/// Returns whether the first command below NEXT holds this.
fn proposes(outcome: &Outcome, adds: &str) -> bool {
    command(outcome).is_some_and(|line| line.contains(adds))
}

/// The command that loads the server at `address`, and keeps nothing.
fn load(address: SocketAddr, line: &str) -> Command {
    let [ws, http] = ["ws", "http"].map(|scheme| format!("{scheme}://{address}"));
    let line = line.replace("WS", &ws).replace("HTTP", &http);
    let mut command = throng([]);
    command.args(line.split(' ')).args(["--no-store", "--no-report"]);
    command
}

/// Runs a command line as a shell takes it.
fn typed(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {command}")]);
    shell
}

/// Runs each line against the server, and then what it proposes, which must hold `adds`; `bound` keeps a
/// search short. A mend ends with exit code 0, a search of a server that keeps on losing with 3.
pub(crate) fn follow(address: SocketAddr, rows: &[(&str, &str, &str, i32)]) {
    for (line, bound, adds, code) in rows {
        // On a busy machine the next step may be to free it.
        let mut first = run(&mut load(address, line), RUN_MAX);
        for _ in 1..TRIES_MAX {
            if proposes(&first, adds) {
                break;
            }
            let step = first.stdout.lines().find(|line| line.starts_with("NEXT"));
            retry(line, step.unwrap_or("no NEXT"));
            first = run(&mut load(address, line), RUN_MAX);
        }
        if first.stdout.contains("NEXT      stop what else runs here") {
            skip(line, "other programs kept the machine busy, which is the next step then");
            continue;
        }
        let command = proposed(&first).to_owned();
        let second = run(&mut typed(&format!("{command} {bound}")), RUN_MAX);
        // A rate may be missed there; what is refused has code 2.
        let is_busy = [&first, &second].iter().any(|outcome| outcome.stdout.contains("CPU contention"));
        assert!(command.contains(adds), "{line}: {command}\n{first}");
        assert!(second.code == Some(*code) || is_busy && second.code == Some(3), "{command}\n{second}");
        assert!(second.stdout.contains("\nRESULT"), "{command}\n{second}");
    }
}

#[test]
fn loads_that_passed_go_further() {
    follow(
        Server::start(&[]).address,
        &[
            ("echo WS --clients 20 --rate 400 -d 1s", "--max-clients 40", "--search", 0),
            ("broadcast WS --clients 10 --rate 100 -d 1s", "", "--duration 3s", 0),
            ("http HTTP/ -c 2 -R 200 -d 1s", "", "--duration 6s", 0),
            ("idle WS --clients 10 -d 1s", "", "--clients 100", 0),
            (
                "echo WS --search --initial-clients 5 --step-size 5 --max-clients 10 -R 400 -d 600ms",
                "",
                "--max-clients 100",
                0,
            ),
            ("echo WS --clients 5 -c 5 -n 50", "", "--duration 10s", 0),
        ],
    );
}

#[test]
fn servers_without_history_are_held_to_one() {
    let audit = "audit WS --clients 10 --rate 10 -d 3s --flap 1s..2s:300ms";
    follow(Server::start(&[]).address, &[(audit, "", "--require at-least-once", 3)]);
}

#[test]
fn refused_clients_are_made_fewer() {
    // The one that is refused is among twenty, and not among the first ten.
    let server = Server::start(&["--fault", "refuse=15"]);
    follow(server.address, &[("idle WS --clients 20 -d 1s --no-preflight", "", "--clients 10", 0)]);
}

#[test]
fn servers_with_other_messages_get_a_file() {
    let server = HostileServer::start(|peer| {
        peer.upgrade().frame(0x81, br#"{"type":"welcome","player":7}"#).hold();
    });
    let mut echo = throng(["echo", &server.url(), "--clients", "10", "--rate", "20", "-d", "1s"]);
    echo.args(["--drain-timeout", "1s", "--no-preflight", "--no-store", "--no-report"]);
    let unanswered = run(&mut echo, RUN_MAX);
    let folder = tempfile::tempdir().unwrap();
    let command = proposed(&unanswered);
    let written = run(typed(command).current_dir(folder.path()), RUN_MAX);
    assert_eq!((unanswered.code, written.code), (Some(3), Some(0)), "{command}\n{unanswered}{written}");
    assert!(fs::read_to_string(folder.path().join("app.toml")).unwrap().contains("open"), "{command}");
}

#[test]
fn servers_that_serve_none_are_looked_at() {
    let server = Server::start(&[]);
    let moved = HostileServer::start(|peer| {
        peer.answer("302 Found\r\nLocation: /home\r\nContent-Length: 0").fin();
    });
    for (address, line) in [
        (server.address, "http HTTP/nowhere -c 4 -d 1s --no-preflight"),
        (moved.address, "echo WS/ --clients 10 -d 1s --no-preflight"),
    ] {
        let failed = run(&mut load(address, line), RUN_MAX);
        let command = proposed(&failed);
        let looked = run(&mut typed(command), RUN_MAX);
        assert_eq!(looked.code, Some(0), "{command}\n{failed}{looked}");
        assert!(looked.stdout.contains("HTTP, "), "{looked}");
    }
}

#[test]
fn servers_that_are_not_there_are_waited_for() {
    let address = free_address();
    let refused = run(&mut load(address, "echo WS --clients 10 --rate 20 -d 1s --no-preflight"), RUN_MAX);
    let command = proposed(&refused).to_owned();
    let waiting = Process::start(&mut typed(&command));
    let _server =
        Process::start(&mut throng(["serve", "--listen", &address.to_string()])).listening_at(address);
    let waited = finish(waiting, RUN_MAX);
    assert_eq!(waited.code, Some(0), "{command}\n{refused}{waited}");
}

#[test]
fn loads_that_failed_are_made_smaller() {
    let queue = Server::start(&["--fault", "service=2ms"]);
    follow(queue.address, &[("echo WS --clients 10 --rate 1000 -d 2s", "", "--rate ", 0)]);
}

#[test]
fn losses_of_idle_servers_are_not_searched() {
    let lossy = Server::start(&["--fault", "drop=1/10"]);
    for line in ["echo WS --clients 10 --rate 100 -d 1s", "broadcast WS --clients 10 --rate 100 -d 1s"] {
        let outcome = run(&mut load(lossy.address, line), RUN_MAX);
        assert_eq!(outcome.code, Some(3), "{outcome}");
        assert!(!proposes(&outcome, "--search"), "{outcome}");
    }
}

#[test]
fn short_waits_become_longer() {
    let late = Server::start(&["--fault", "delay=500ms"]);
    let line = "broadcast WS --clients 5 --rate 20 -d 2s --drain-timeout 100ms";
    follow(late.address, &[(line, "", "--drain-timeout 60s", 0)]);
    let slow = Server::start(&["--fault", "accept=3s"]);
    let line = "echo WS --clients 10 --rate 20 -d 1s --no-preflight";
    follow(slow.address, &[(line, "", "--connect-timeout 10s", 0)]);
    let stream = "stream HTTP/stream?events=10&gap=100ms --end [DONE]";
    let few = format!("{stream} -c 2 -R 6 -d 3s");
    let brief = "stream HTTP/stream?events=2&gap=10ms --end [DONE] -c 1 -n 2";
    follow(Server::start(&[]).address, &[(&few, "", "--connections 6", 0), (brief, "", "--duration 10s", 0)]);
}

#[test]
fn refused_clients_get_a_file_to_log_in() {
    let server = Server::start(&["--jwt-secret", "thirty-two-characters-of-a-secret"]);
    let refused =
        run(&mut load(server.address, "echo WS --clients 10 --rate 20 -d 1s --no-preflight"), RUN_MAX);
    let folder = tempfile::tempdir().unwrap();
    let command = proposed(&refused);
    let written = run(typed(command).current_dir(folder.path()), RUN_MAX);
    assert_eq!(written.code, Some(0), "{command}\n{written}");
    assert!(fs::read_to_string(folder.path().join("app.toml")).unwrap().contains("login"), "{command}");
}

#[test]
fn servers_that_ended_are_loaded_again() {
    let server = Server::start(&[]);
    let address = server.address;
    let folder = tempfile::tempdir().unwrap();
    let stream = folder.path().join("lines.json");
    let mut echo = load(server.address, "echo WS --clients 10 --rate 20 -d 4s");
    let measuring = Process::start(echo.arg("--stream").arg(&stream));
    let is_measuring =
        || fs::read_to_string(&stream).is_ok_and(|lines| lines.contains(r#""event":"second""#));
    assert!(wait_until(RUN_MAX, is_measuring), "it measures");
    server.process.signal(Signal::KILL);
    drop(server);
    let ended = finish(measuring, RUN_MAX);
    let _again =
        Process::start(&mut throng(["serve", "--listen", &address.to_string()])).listening_at(address);
    let repeated = run(&mut typed(proposed(&ended)), RUN_MAX);
    assert_eq!((ended.code, repeated.code), (Some(3), Some(0)), "{ended}\n{repeated}");
}
