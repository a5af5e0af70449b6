//! Commands that NEXT proposes run as they are printed, and mend what they are proposed for.

use std::process::Command;
use std::time::Duration;

use crate::support::throng::{Outcome, Server, run, throng};

const RUN_MAX: Duration = Duration::from_secs(60);

/// The first command below NEXT: the program has an absolute path.
fn proposed(outcome: &Outcome) -> &str {
    let below = outcome.stdout.split_once("\nNEXT").unwrap_or_else(|| panic!("no NEXT\n{outcome}")).1;
    let command = below.lines().map(str::trim).find(|line| line.starts_with('/'));
    command.unwrap_or_else(|| panic!("no command\n{outcome}"))
}

/// Runs a line, and then what it proposes; `bound` keeps a search short. The first outcome, the command and
/// its outcome.
fn follow(server: &Server, line: &str, bound: &str) -> (Outcome, String, Outcome) {
    let [ws, http] = [server.url(), format!("http://{}/", server.address)];
    let line = line.replace("WS", &ws).replace("HTTP", &http);
    let first = run(throng([]).args(line.split(' ')).args(["--no-store", "--no-report"]), RUN_MAX);
    let command = proposed(&first).to_owned();
    let second = run(Command::new("sh").args(["-c", &format!("exec {command} {bound}")]), RUN_MAX);
    (first, command, second)
}

#[test]
fn proposed_commands_run_as_printed() {
    let [sound, faulty] = [&[][..], &["--fault", "drop=1/10"]].map(Server::start);
    for (server, line, bound, adds) in [
        (&sound, "echo WS --clients 20 --rate 400 -d 1s", "--max-clients 40", "--search"),
        (&sound, "broadcast WS --clients 10 --rate 100 -d 1s", "", "--duration 3s"),
        (&sound, "http HTTP -c 2 -d 1s", "", "--rate"),
        (&sound, "idle WS --clients 10 -d 1s", "", "--clients 100"),
        (&faulty, "echo WS --clients 10 --rate 100 -d 1s", "", "--search"),
    ] {
        let (first, command, outcome) = follow(server, line, bound);
        // On a busy machine the next step is another.
        assert!(
            command.contains(adds) || first.stdout.contains("CPU contention"),
            "{line}: {command}\n{first}"
        );
        // A rate may be missed on a busy machine; what is refused has another code.
        assert!([Some(0), Some(3)].contains(&outcome.code), "{command}\n{outcome}");
        assert!(outcome.stdout.contains("\nRESULT"), "{command}\n{outcome}");
    }
}
