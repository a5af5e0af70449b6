//! `--tui` on a terminal: one that script(1) makes.

use std::process::Command;
use std::time::Duration;

use crate::support::skip;
use crate::support::throng::{Outcome, Server, run, throng};

const RUN_MAX: Duration = Duration::from_secs(30);
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// Runs an echo on a terminal of this size; what the terminal was sent.
fn on_terminal(server: &Server, columns: u32, rows: u32, settings: &str) -> Outcome {
    let echo = throng([]);
    let line = format!(
        "stty cols {columns} rows {rows}; {settings} '{}' echo {} --protocol json --clients 5 --interval 20ms \
         --duration 3s --limit 'rate>=1%' --no-store --no-report --tui",
        echo.get_program().to_str().unwrap(),
        server.url()
    );
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    run(&mut command, RUN_MAX)
}

#[test]
fn the_screen_is_taken_and_given_back() {
    if Command::new("script").arg("--version").output().is_err() {
        return skip("--tui", "script(1) is not here");
    }
    let server = Server::start(&[]);
    let outcome = on_terminal(&server, 80, 24, "");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let shown = &outcome.stdout;
    let (enter, leave) = (shown.find(ENTER).expect("taken"), shown.rfind(LEAVE).expect("given back"));
    let screen = &shown[enter..leave];
    assert!(
        screen.contains("received/s") && screen.contains("p99") && screen.contains("generator"),
        "{screen}"
    );
    assert!(shown[leave..].contains("RESULT"), "the end of the run is printed below: {shown}");
}

#[test]
fn a_small_terminal_without_colours_will_do() {
    if Command::new("script").arg("--version").output().is_err() {
        return skip("--tui", "script(1) is not here");
    }
    let server = Server::start(&[]);
    let outcome = on_terminal(&server, 20, 4, "NO_COLOR=1");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    // Colours are CSI 3x m and CSI 38;… m (ECMA-48 §8.3.117).
    let screen =
        &outcome.stdout[outcome.stdout.find(ENTER).expect("taken")..outcome.stdout.rfind(LEAVE).unwrap()];
    assert!(screen.contains("throng echo"), "{screen}");
    for colour in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[34m", "\u{1b}[36m", "\u{1b}[38;"] {
        assert!(!screen.contains(colour), "{screen:?}");
    }
}

#[test]
fn without_a_terminal_there_is_no_screen() {
    let outcome = run(throng(["echo", "ws://127.0.0.1:1/", "--tui"]).arg("--no-store"), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--tui"), "{outcome}");
}

/// Without a terminal of its own and without tput, the size of the one on standard error is not told.
#[test]
fn a_screen_that_fails_is_not_taken() {
    for program in ["script", "setsid"] {
        if Command::new(program).arg("--version").output().is_err() {
            return skip("--tui", &format!("{program}(1) is not here"));
        }
    }
    let server = Server::start(&[]);
    let outcome = on_terminal(&server, 80, 24, "exec >/dev/null; PATH=/none /usr/bin/setsid --wait");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let count = |sequence: &str| outcome.stdout.matches(sequence).count();
    // What is not taken need not be given back, whatever ends the run.
    assert_eq!((count(ENTER), count(LEAVE)), (0, 0), "{outcome}");
}
