//! Commands that NEXT proposes run as they are printed, and mend what they are proposed for.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, throng};
use crate::support::wait_until;

const RUN_MAX: Duration = Duration::from_secs(60);

/// The first command below NEXT: the program has an absolute path.
fn proposed(outcome: &Outcome) -> &str {
    let below = outcome.stdout.split_once("\nNEXT").unwrap_or_else(|| panic!("no NEXT\n{outcome}")).1;
    let command = below.lines().map(str::trim).find(|line| line.starts_with('/'));
    command.unwrap_or_else(|| panic!("no command\n{outcome}"))
}

/// The command that loads `server`, and keeps nothing.
fn load(server: &Server, line: &str) -> Command {
    let [ws, http] = [server.url(), format!("http://{}", server.address)];
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
fn follow(server: &Server, rows: &[(&str, &str, &str, i32)]) {
    for (line, bound, adds, code) in rows {
        let first = run(&mut load(server, line), RUN_MAX);
        let command = proposed(&first).to_owned();
        let second = run(&mut typed(&format!("{command} {bound}")), RUN_MAX);
        // On a busy machine the next step is another, and a rate may be missed; what is refused has code 2.
        let is_busy = [&first, &second].iter().any(|outcome| outcome.stdout.contains("CPU contention"));
        assert!(command.contains(adds) || is_busy, "{line}: {command}\n{first}");
        assert!(second.code == Some(*code) || is_busy && second.code == Some(3), "{command}\n{second}");
        assert!(second.stdout.contains("\nRESULT"), "{command}\n{second}");
    }
}

#[test]
fn loads_that_passed_go_further() {
    follow(
        &Server::start(&[]),
        &[
            ("echo WS --clients 20 --rate 400 -d 1s", "--max-clients 40", "--search", 0),
            ("broadcast WS --clients 10 --rate 100 -d 1s", "", "--duration 3s", 0),
            ("http HTTP/ -c 2 -d 1s", "", "--rate", 0),
            ("http HTTP/ -c 2 -R 200 -d 1s", "", "--duration 6s", 0),
            ("idle WS --clients 10 -d 1s", "", "--clients 100", 0),
            (
                "echo WS --search --initial-clients 5 --step-size 5 --max-clients 10 -R 400 -d 600ms",
                "",
                "--max-clients 100",
                0,
            ),
        ],
    );
}

#[test]
fn loads_that_failed_are_made_smaller() {
    let lossy = Server::start(&["--fault", "drop=1/10"]);
    follow(
        &lossy,
        &[
            ("echo WS --clients 10 --rate 100 -d 1s", "", "--search", 3),
            ("broadcast WS --clients 10 --rate 100 -d 1s", "", "--search", 3),
        ],
    );
    let queue = Server::start(&["--fault", "service=2ms"]);
    follow(&queue, &[("echo WS --clients 10 --rate 1000 -d 2s", "", "--rate 400", 0)]);
}

#[test]
fn short_waits_become_longer() {
    let late = Server::start(&["--fault", "delay=500ms"]);
    let line = "broadcast WS --clients 5 --rate 20 -d 2s --drain-timeout 100ms";
    follow(&late, &[(line, "", "--drain-timeout 60s", 0)]);
    let slow = Server::start(&["--fault", "accept=3s"]);
    let line = "echo WS --clients 10 --rate 20 -d 1s --no-preflight";
    follow(&slow, &[(line, "", "--connect-timeout 10s", 0)]);
    let stream = "stream HTTP/stream?events=10&gap=100ms --end [DONE]";
    let few = format!("{stream} -c 2 -R 6 -d 3s");
    let brief = "stream HTTP/stream?events=2&gap=10ms --end [DONE] -c 1 -n 2";
    follow(&Server::start(&[]), &[(&few, "", "--connections 6", 0), (brief, "", "--duration 10s", 0)]);
}

#[test]
fn refused_clients_get_a_file_to_log_in() {
    let server = Server::start(&["--jwt-secret", "thirty-two-characters-of-a-secret"]);
    let refused = run(&mut load(&server, "echo WS --clients 10 --rate 20 -d 1s --no-preflight"), RUN_MAX);
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
    let mut echo = load(&server, "echo WS --clients 10 --rate 20 -d 4s");
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
