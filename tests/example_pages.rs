//! The READMEs of `examples/`: their commands are run word for word, one after the other, but for the port and
//! the duration, and with more patience.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, complete};
use crate::support::throng::{caveat, errors_of, program, run, sum_of};
use crate::support::{free_address, retry, skip};

const WITHIN: Duration = Duration::from_secs(120);
/// Loads of a server that gives up on its clients where others have the CPU.
const TRIES_MAX: usize = 3;
/// Flags of each load.
const MORE: &str = "--duration 2s --connect-timeout 60s --no-store --quiet --format json";
/// Commands that start a server: it goes on while the lines below it are run.
const SERVERS: [&str; 4] = ["node server.js", "puma", ".venv/bin/python serve.py", "mix phx.server"];

/// An example's page, and what its lines are run with.
struct Page {
    folder: PathBuf,
    text: String,
    /// The port that it names.
    port: String,
    address: SocketAddr,
    exported: Vec<(String, String)>,
    /// `throng`, and `sudo` for whoever needs none.
    programs: TempDir,
}

impl Page {
    fn open(example: &str) -> Page {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        let (_, url) = text.split_once("ws://127.0.0.1:").expect("it names a URL");
        let port = url.split(|c: char| !c.is_ascii_digit()).next().unwrap().to_owned();
        let programs = tempfile::tempdir().unwrap();
        symlink(program(), programs.path().join("throng")).unwrap();
        symlink("/usr/bin/env", programs.path().join("sudo")).unwrap();
        Page { folder, text, port, address: free_address(), exported: Vec::new(), programs }
    }

    /// The lines of its block of commands.
    fn lines(&self) -> Vec<String> {
        let (_, block) = self.text.split_once("\n```\n").expect("it has commands");
        block.split_once("```").unwrap().0.lines().map(str::to_owned).collect()
    }

    /// The commands at this server's URLs beside the block, in backquotes.
    fn curls(&self) -> Vec<String> {
        let quoted = self.text.split('`').filter_map(|quoted| quoted.strip_prefix("curl http://127.0.0.1:"));
        quoted.map(|rest| rest.strip_prefix(&self.port).expect("it is the same port").to_owned()).collect()
    }

    /// A line, ready to be run.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        let path = format!("{}:{}", self.programs.path().display(), std::env::var("PATH").unwrap());
        let line = line.replace(&format!(":{}", self.port), &format!(":{}", self.address.port()));
        command.args(["-c", &format!("exec {line}")]).current_dir(&self.folder).env("PATH", path);
        command.env("PORT", self.address.port().to_string()).envs(self.exported.iter().cloned());
        command
    }

    /// Does what the page says. Where something cannot be installed, says so and does nothing more.
    fn follow(mut self, example: &str) {
        let (mut server, mut runs) = (None, 0);
        for printed in self.lines() {
            let line = printed.trim_end_matches(" &").to_owned();
            if let Some(named) = line.strip_prefix("export ") {
                let (name, value) = named.split_once('=').unwrap();
                self.exported.push((name.to_owned(), value.to_owned()));
            } else if SERVERS.contains(&line.as_str()) {
                assert!(printed.ends_with(" &"), "{example}: {line}: no line below it runs");
                server = Some(Process::start(&mut self.command(&line)).listening_at(self.address));
            } else if line.starts_with("throng ") {
                assert!(server.is_some(), "{example}: {line}: no server was started");
                assert!(runs > 0 || line.contains(" --wait-for "), "{example}: {line}: it comes too early");
                self.load(&line);
                runs += 1;
            } else {
                for step in line.split(" && ") {
                    let done = match step {
                        // It empties the folder first, which another test may be using.
                        "npm ci" => Scripts::install_in("examples", example).map(drop),
                        // Two that install into one environment at a time break it.
                        _ if step.contains("pip install") => {
                            python_of(&self.folder).and_then(|_| complete(&mut self.command(step))).map(drop)
                        }
                        _ => complete(&mut self.command(step)).map(drop),
                    };
                    if let Err(Unavailable(why)) = done {
                        return skip(&format!("examples/{example}"), &why);
                    }
                }
            }
        }
        assert!(runs > 0, "{example}: nothing was run");
        for path in self.curls() {
            let (host, port) = (self.address.ip().to_string(), self.address.port());
            let answer = Source { host, port, path }.get(Timeouts { word: WITHIN, answer: WITHIN }).unwrap();
            let seen: Value = serde_json::from_slice(&answer.body).expect("it is JSON");
            assert!(seen.as_object().is_some_and(|seen| !seen.is_empty()), "{example}: {seen}");
        }
    }

    fn load(&self, line: &str) {
        let line = format!("{} {MORE}", line.replace(" --duration 10s", ""));
        let mut outcome = run(&mut self.command(&line), WITHIN);
        // Daphne resets whom its application has not accepted within five seconds.
        for _ in 1..TRIES_MAX {
            let results = outcome.json();
            if errors_of(&results, "reset") == 0 || caveat(&results, "contention").is_none() {
                break;
            }
            retry(&line, "others had the CPU, and the server gave up");
            outcome = run(&mut self.command(&line), WITHIN);
        }
        let results = outcome.json();
        let standing = results["steps"][0]["standing"].as_array().unwrap();
        let is_broken = |limit: &&Value| limit["passed"] == false;
        // A busy machine may miss the rate, and loses nothing for that.
        let is_slow = standing.iter().filter(is_broken).all(|limit| limit["limit"] == "rate>=99%");
        assert!(outcome.code == Some(0) || outcome.code == Some(3) && is_slow, "{line}: {outcome}");
        let [connected, expected, received] =
            ["connected", "expected", "received"].map(|count| sum_of(&results, count));
        assert_eq!(connected, 200, "{line}: {outcome}");
        assert!(received > 0 && received == expected, "{line}: {outcome}");
    }
}

#[test]
fn examples_run_as_their_pages_say() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut names: Vec<String> = fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("README.md").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    let ports: std::collections::BTreeSet<String> = names.iter().map(|name| Page::open(name).port).collect();
    assert_eq!(ports.len(), names.len(), "each has a port of its own: {ports:?}");
    for name in names {
        Page::open(&name).follow(&name);
    }
}
