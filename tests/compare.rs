//! `throng compare`: real runs of one server, and of one that is slower.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, throng};
use crate::support::wait_until;

const RUN_MAX: Duration = Duration::from_secs(30);

/// Echoes for a moment; the run's file, without the marks that a busy machine leaves.
fn echo(server: &Server, dir: &Path, name: &str) -> String {
    let mut command =
        throng(["echo", "--protocol", "json", "--clients", "5", "--rate", "200", "--duration", "500ms"]);
    command.args(["--format", "json", "--quiet", "--no-store"]).arg(server.url());
    let outcome = run(&mut command, RUN_MAX);
    // A busy machine may miss the rate.
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let path = dir.join(format!("{name}.json"));
    let mut found = outcome.json();
    found["verdict"]["trust"] = Value::Array(Vec::new());
    std::fs::write(&path, found.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The same with a change, in a file of that name beside it.
fn changed(file: &str, name: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut found: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    change(&mut found);
    let path = file.replace(".json", &format!("-{name}.json"));
    std::fs::write(&path, found.to_string()).unwrap();
    path
}

/// The same with a mark.
fn marked(file: &str) -> String {
    changed(file, "marked", |found| {
        found["verdict"]["trust"] = serde_json::json!(["limited by the generator"])
    })
}

/// The same figures, as of another run.
fn again(file: &str, id: &str) -> String {
    changed(file, id, |found| found["id"] = id.into())
}

fn compare(arguments: &[&str]) -> Outcome {
    run(throng(["compare"]).args(arguments), RUN_MAX)
}

#[test]
fn repeats_of_a_slower_server_are_slower() {
    let dir = tempfile::tempdir().unwrap();
    let (fair, slow) = (Server::start(&[]), Server::start(&["--fault", "delay=1500ms"]));
    let files = |server: &Server, name: &str| -> Vec<String> {
        (0..4).map(|k| echo(server, dir.path(), &format!("{name}{k}"))).collect()
    };
    let (a, b) = (files(&fair, "a"), files(&slow, "b"));
    let folder = |files: &[String], name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        for file in files {
            std::fs::copy(file, folder.join(Path::new(file).file_name().unwrap())).unwrap();
        }
        folder.to_str().unwrap().to_owned()
    };
    let (main, branch) = (folder(&a, "main"), folder(&b, "branch"));
    let (a, b) = (a.join(","), b.join(","));

    let outcome = compare(&[&a, &b, "--format", "json", "--fail-if", "p50 slower by 5%"]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(outcome.stderr.contains("rtt.p50 at 5 clients "), "{outcome}");
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let p50 = found["figures"].as_array().unwrap().iter().find(|row| row["figure"] == "rtt.p50").unwrap();
    assert_eq!(p50["change"], "slower");
    let (low, high) = (p50["interval_low"].as_f64().unwrap(), p50["interval_high"].as_f64().unwrap());
    assert!(low <= high && high > 1_000.0, "{p50}");

    let unmeasured = compare(&[&a, &b, "--fail-if", "capacity worse", "--fail-if", "p50 slower by 5%"]);
    assert_eq!(unmeasured.code, Some(3), "what was measured is told all the same: {unmeasured}");
    let kept = compare(&[&a, &b, "--fail-if", "p50 faster", "--fail-if", "missing worse"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    assert!(kept.stderr.contains("rtt.p50 at 5 clients "), "{kept}");
    let doubtful = [&a, &b].map(|side| side.split(',').map(marked).collect::<Vec<_>>().join(","));
    let doubtful = compare(&[&doubtful[0], &doubtful[1], "--fail-if", "p50 slower by 5%"]);
    assert_eq!(doubtful.code, Some(3), "a caveat without numbers does not explain 1.5 s\n{doubtful}");
    let single = |side: &str| side.split(',').next().unwrap().to_owned();
    let single = compare(&[&single(&a), &single(&b), "--fail-if", "p50 slower by 5%"]);
    assert_eq!(single.code, Some(5), "runs of half a second, one each\n{single}");
    assert!(
        ["rtt.p50 at 5 clients ", " 5%", " 3 runs "].iter().all(|named| single.stderr.contains(named)),
        "{single}"
    );
    let flags: Vec<&str> =
        ["--a"].into_iter().chain(a.split(',')).chain(["--b"]).chain(b.split(',')).collect();
    let text = compare(&[&a, &b]).stdout;
    assert_eq!(compare(&flags).stdout, text);
    // As `throng report main` takes a directory.
    let folders = compare(&[&main, &branch]);
    assert_eq!(folders.stdout, text, "{folders}");
}

#[test]
fn the_same_figures_are_no_different() {
    let dir = tempfile::tempdir().unwrap();
    let file = echo(&Server::start(&[]), dir.path(), "a");
    let side = |ids: [&str; 2]| ids.map(|id| again(&file, id)).join(",");
    let (a, b) = (side(["1", "2"]), side(["3", "4"]));
    let outcome = compare(&[&a, &b, "--format", "csv", "--fail-if", "rate worse"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let changes: Vec<&str> =
        outcome.stdout.lines().skip(1).map(|line| line.rsplit(',').nth(3).unwrap()).collect();
    assert!(!changes.is_empty(), "{outcome}");
    // A µs is much of a handshake, and so is one event of a few.
    let is_fair = |change: &&str| ["no difference", "cannot tell"].contains(change);
    assert!(changes.iter().all(is_fair) && changes.contains(&"no difference"), "{outcome}");
    let text = compare(&[&a, &b]).stdout;
    assert!(text.contains("no difference larger than 0.2%"), "{text}");
}

#[test]
fn incomparable_runs_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = echo(&Server::start(&[]), dir.path(), "a");
    let other = again(&file, "other");
    let untold = compare(&[&file, &other, "--fail-if", "p99 slower by 5%", "--format", "json"]);
    assert_eq!(untold.code, Some(5), "{untold}");
    let p99 =
        untold.json()["figures"].as_array().unwrap().iter().find(|row| row["figure"] == "rtt.p99").cloned();
    assert_eq!(p99.expect("its row")["change"], "cannot tell", "{untold}");
    assert_eq!(compare(&[&file, &other]).code, Some(0), "nothing was asked");
    let unmeasured = compare(&[&file, &other, "--fail-if", "capacity worse", "--fail-if", "missing worse"]);
    assert_eq!(unmeasured.code, Some(5), "{unmeasured}");
    assert!(unmeasured.stderr.contains("capacity"), "{unmeasured}");
    assert!(unmeasured.stderr.contains("missing at 5 clients "), "the next is told\n{unmeasured}");
    let repeated = compare(&[&format!("{file},{file},{file}"), &other, "--format", "json"]);
    assert_eq!(repeated.json()["a"].as_array().unwrap().len(), 1, "{repeated}");
    let notes = repeated.json()["notes"].as_array().unwrap().clone();
    let note = |key: &str| notes.iter().find(|note| note["key"] == key).unwrap_or(&Value::Null);
    assert_eq!((notes.len(), &note("note.named_again")["side"]), (2, &"A".into()), "{repeated}");
    assert_eq!(note("note.few_runs")["runs"], 1, "{repeated}");
    let idle = dir.path().join("idle.json");
    let text =
        std::fs::read_to_string(&file).unwrap().replace("\"scenario\":\"echo\"", "\"scenario\":\"idle\"");
    std::fs::write(&idle, text).unwrap();
    for (arguments, key, named) in [
        (&[file.as_str(), idle.to_str().unwrap()][..], "a", "idle"),
        (&[&file], "b.missing_required_argument", "B"),
        (&[&file, &other, "--fail-if", "p99"], "fail_if", "\"p99\""),
        (&[&file, &other, "--fail-if", "tea slower"], "fail_if", "\"tea\""),
        (&[&other, &format!("{file},{other}")], "a", "other"),
    ] {
        let outcome = compare(&[arguments, &["--format", "json"]].concat());
        outcome.assert_failed(2, &format!("usage.{key}"), &[named]);
    }
}

/// Both are run, one after the other, until the rule is decided.
#[test]
fn commands_take_turns_until_it_is_told() {
    let (fair, slow) = (Server::start(&[]), Server::start(&["--fault", "delay=1500ms"]));
    let store = tempfile::tempdir().unwrap();
    let path = store.path().join("runs.db");
    let echo = |server: &Server| {
        let flags = "--protocol json --clients 5 --rate 200 --duration 500ms --quiet --no-preflight";
        format!("throng echo {} {flags} --store '{}'", server.url(), path.display())
    };
    let commands = ["--run-a", &echo(&fair), "--run-b", &echo(&slow), "--rounds", "4"];
    let rule = ["--fail-if", "p50 slower by 5%", "--format", "json"];
    let outcome = run(throng(["compare"]).args(commands).args(rule), 3 * RUN_MAX);
    let rounds = outcome.stderr.lines().filter(|line| line.starts_with("round ")).count();
    // However busy the machine is, it does not make 1.5 s.
    assert_eq!((outcome.code, rounds), (Some(3), 3), "{outcome}");
    assert!(outcome.json()["figures"].as_array().is_some_and(|rows| !rows.is_empty()), "{outcome}");

    let list = run(throng(["runs", "list", "--format", "json", "--store"]).arg(&path), RUN_MAX).json();
    let targets: Vec<&str> =
        list.as_array().unwrap().iter().map(|run| run["target"].as_str().unwrap()).collect();
    let (a, b) = (fair.url(), slow.url());
    let in_turns = [&a, &b, &b, &a, &a, &b, &b, &a].map(String::as_str);
    let newest_first: Vec<&str> = in_turns[..2 * rounds].iter().rev().copied().collect();
    assert_eq!(targets, newest_first, "neither is always first");
}

/// A server that dies in the second round: the first is compared, and the command fails.
#[test]
fn rounds_before_a_failure_are_compared() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let [a, b] = servers.each_ref().map(|server| {
        let flags = "--clients 2 --rate 100 -d 300ms --quiet --no-store --no-preflight --out";
        format!("echo {} {flags} '{}'", server.url(), out.display())
    });
    let turns = ["compare", "--run-a", &a, "--run-b", &b, "--rounds", "20", "--format", "json"];
    let process = Process::start(&mut throng(turns));
    // The third file is of the second round.
    let is_run = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    let runs = || {
        std::fs::read_dir(&out).into_iter().flatten().filter(|file| is_run(&file.as_ref().unwrap().path()))
    };
    let has_begun = || runs().count() >= 3;
    assert!(wait_until(RUN_MAX, has_begun), "no second round");
    drop(servers);
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let figures = outcome.json()["figures"].as_array().cloned().unwrap_or_default();
    assert!(!figures.is_empty() && outcome.stderr.contains("--run-"), "{outcome}");
}

#[test]
fn turns_need_two_commands_that_load() {
    let failed = |arguments: &[&str], code: i32, key: &str, named: &str| {
        compare(&[arguments, &["--format", "json"]].concat()).assert_failed(code, key, &[named]);
    };
    let refused = |arguments: &[&str], key: &str, named: &str| failed(arguments, 2, key, named);
    refused(&["--run-a", "echo ws://127.0.0.1:9/"], "usage.run_b.missing_required_argument", "--run-b");
    refused(&["--run-a", "serve", "--run-b", "echo"], "usage.run_a.no_load", "throng");
    refused(&["--run-a", "echo 'x", "--run-b", "echo"], "usage.run_a.quotation_mark", "");
    refused(&["--run-a", "echo -f csv", "--run-b", "echo"], "usage.run_a.format", "-f");
    refused(&["--run-a", "echo", "--run-b", "echo", "--fail-if", "tea slower"], "usage.fail_if", "tea");
    refused(&["--run-a", "echo", "--run-b", "broadcast"], "usage.run_b.scenario", "broadcast");
    refused(&["one", "two", "--run-a", "echo", "--run-b", "echo"], "usage.a.argument_conflict", "--run-a");
    refused(&["127.0.0.1:9/ws", "ws://127.0.0.1:8/"], "usage.a.servers", "--run-a");
    let gone = ["--run-a", "echo ws://127.0.0.1:9/ --no-store", "--run-b", "echo --no-store"];
    failed(&gone, 1, "could_not.run", "--run-a");
}
