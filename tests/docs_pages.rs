//! Commands of docs/ as printed, but for ports and durations, against `throng serve`. Those of FLEET, MILLION,
//! RECORDING and SUITES need other machines, a browser or hours: crates/cli/src/documented.rs parses them.

use std::env;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::page::{Page, WITHIN, elsewhere, folder};
use crate::support::throng::{Outcome, Server, program, run};

/// Pages, and how many of their commands are run. The store's come last, because they are about the runs of the others.
const PAGES: [(&str, usize); 7] =
    [("AUDIT", 2), ("DOCTOR", 2), ("EVENTS", 3), ("EXPORTS", 1), ("PROBE", 2), ("STREAMS", 12), ("STORE", 7)];
/// The server of most examples.
const OWN: &str = "127.0.0.1:9000";
/// Verbs that load a server for as long as `--duration` says.
const LOADS: [&str; 6] = ["audit", "broadcast", "echo", "idle", "run", "stream"];

/// The page's commands, in blocks between fences or indented by four columns.
fn commands(page: &Page) -> Vec<String> {
    let indented = page.text.lines().filter_map(|line| line.strip_prefix("    throng "));
    let indented = indented.map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned());
    page.commands().into_iter().chain(indented).collect()
}

/// Returns whether the command needs another machine, or changes this one.
fn is_left_out(line: &str) -> bool {
    line.contains("--fix") || line.contains("://") && !line.contains("://127.0.0.1:")
}

/// The line with a load of 300 ms, and with a name by which the store finds its run.
fn shortened(line: &str) -> String {
    if !LOADS.iter().any(|verb| line.starts_with(&format!("{verb} "))) {
        return line.to_owned();
    }
    let asked = [" --duration ", " -d "].into_iter().find_map(|flag| line.split_once(flag));
    let (before, after) = asked.unwrap_or((line, ""));
    let after = after.split_once(' ').map_or("", |(_, after)| after);
    format!("{before} --duration 300ms --name nightly {after}")
}

/// Runs a line by a shell, which knows its quotes and names of files.
fn typed(folder: &Path, line: &str) -> Outcome {
    let path = format!("{}:{}", folder.join("bin").display(), env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("throng {line}")]).current_dir(folder);
    run(shell.env("PATH", path).env("XDG_DATA_HOME", folder.join("data")), WITHIN)
}

#[test]
fn commands_run_as_printed() {
    let folder = folder();
    let folder = folder.path();
    std::fs::create_dir(folder.join("bin")).unwrap();
    symlink(program(), folder.join("bin/throng")).unwrap();
    std::fs::write(folder.join("prompts.csv"), "prompt\nSay hello.\n").unwrap();
    for (name, count) in PAGES {
        let page = Page::open(&format!("docs/{name}.md"));
        let mut server = Server::start(&[]);
        let mut ran = 0;
        for line in commands(&page).into_iter().filter(|line| !is_left_out(line)) {
            if let Some(flags) = line.strip_prefix("serve ") {
                server = Server::start(&flags.split(' ').collect::<Vec<_>>());
                continue;
            }
            if line.starts_with("init ") {
                // The page's next file replaces its last.
                let _ = std::fs::remove_file(folder.join("app.toml"));
            }
            // What reads a pipe is no part of throng.
            let own = shortened(line.split(" | ").next().unwrap_or(&line));
            let (asked, codes) = if own.contains(OWN) {
                // A busy machine may break a limit on time, or limit the result.
                (own.replace(OWN, &server.address.to_string()), &[0, 3, 4][..])
            } else if own.contains("://") {
                (elsewhere(&own), &[1][..])
            } else if own.starts_with("doctor ") {
                // A machine may be too small.
                (own, &[0, 1][..])
            } else {
                (own, &[0][..])
            };
            let outcome = typed(folder, &asked);
            assert!(outcome.code.is_some_and(|code| codes.contains(&code)), "{name}: {line}: {outcome}");
            ran += 1;
        }
        assert_eq!(ran, count, "commands of {name}");
    }
}

/// Servers with the faults of docs/FAULTS.md start.
#[test]
fn faults_are_taken_as_printed() {
    let page = commands(&Page::open("docs/FAULTS.md"));
    let servers: Vec<&str> = page.iter().filter_map(|line| line.strip_prefix("serve ")).collect();
    assert_eq!(servers.len(), 2, "{page:?}");
    for flags in servers {
        Server::start(&flags.split(' ').collect::<Vec<_>>());
    }
}
