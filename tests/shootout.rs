//! `throng shootout` from end to end: tiny suites over the reference server and copies of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support;
use crate::support::arena::{Arena, SERVE, UNIX, tiny_suite};
use crate::support::process::Process;
use crate::support::throng::{Outcome, run, throng};
use crate::support::wait_until;

const RUN_MAX: Duration = Duration::from_secs(120);

/// The published figures of the suite's echoes, which may be shortened.
const PUBLISHED: &str = r#"shortened = ["duration"]

[scenario.published]
file = "then.csv"
column = "p50_ms"
names = { sh-copy = "the copy" }
"#;

/// Echoes that were published, and a scenario that needs a unix socket.
fn suite() -> String {
    let flags = r#"clients = 3, duration = "2s", drain-timeout = "1s""#;
    tiny_suite(2, flags, &["rtt.p50", "rtt.p95", "rate"]) + PUBLISHED + UNIX
}

/// The suite, and what was published of it.
fn arena_with(script: &str) -> Arena {
    let arena = Arena::new(&suite(), script);
    fs::write(arena.path("suites/then.csv"), "target,p50_ms\nthe copy,1234\n").unwrap();
    arena
}

fn shootout(arena: &Arena, arguments: &[&str]) -> Outcome {
    run(throng(["shootout"]).args(arguments).current_dir(arena.folder()), RUN_MAX)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A program that never rests has one of two CPUs, which is no server's, however idle the machine is otherwise.
#[test]
fn disturbed_measurements_are_repeated() {
    let flags = r#"clients = 1, duration = "300ms", drain-timeout = "1s""#;
    let twice = tiny_suite(2, flags, &["rate"]).replace("busy-retries = 0", "busy-retries = 1");
    let arena = Arena::new(&twice, SERVE);
    let _busy: Vec<Process> =
        (0..2).map(|_| Process::start(Command::new("sh").args(["-c", "while :; do :; done"]))).collect();
    let outcome = shootout(&arena, &["tiny", "--out", "kept"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let cells = lines(&arena.path("kept/cells.jsonl"));
    for (number, cell) in cells.iter().enumerate() {
        let percents = cell["noise_percent"].as_array().unwrap();
        // A machine that was never quiet is not waited for.
        let tries = if number < 2 { 2 } else { 1 };
        assert!(
            percents.len() == tries && percents.iter().all(|percent| percent.as_f64() > Some(10.0)),
            "{number}: {cell}"
        );
    }
    assert_eq!((cells.len(), outcome.stderr.matches("once a round").count()), (4, 1), "{outcome}");
}

#[test]
fn scenarios_without_only_are_left_out() {
    let arena = arena_with(SERVE);
    let options = ["tiny", "--scale", "0.05", "--repeats", "1", "--only", "echo", "--out", "kept"];
    let outcome = shootout(&arena, &options);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let cells = lines(&arena.path("kept/cells.jsonl"));
    assert!(!cells.is_empty() && cells.iter().all(|cell| cell["scenario"] == "echo"), "{cells:?}");
    assert!(!outcome.stdout.contains("unix"), "{outcome}");
}

#[test]
fn everything_is_measured_ranked_and_kept() {
    let arena = arena_with(SERVE);
    let options = ["tiny", "--scale", "0.1", "--seed", "7", "--out", "kept", "--format", "json"];
    let outcome = shootout(&arena, &options);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let json = outcome.json();
    let [echo, unix] = &json["scenarios"].as_array().unwrap()[..] else { panic!("{outcome}") };
    assert_eq!(echo["standings"].as_array().unwrap().len(), 2, "{outcome}");
    assert_eq!(unix["standings"].as_array().unwrap().len(), 1, "the copy has no unix socket: {outcome}");
    for standing in echo["standings"].as_array().unwrap() {
        // A busy machine makes bounds of both, whose quotient is none.
        let is_known = standing["share"].is_f64() && standing["low"].is_f64();
        assert!(standing["place"].is_u64() && (is_known || standing["is_bound"] == true), "{standing}");
    }
    let cells = lines(&arena.path("kept/cells.jsonl"));
    assert_eq!(cells.len(), 6);
    assert!(cells[3..].iter().all(|cell| cell["repeat"] == 2), "rounds are interleaved");
    let results: Value =
        serde_json::from_str(&fs::read_to_string(arena.path("kept/echo/sh-copy-2.json")).unwrap()).unwrap();
    assert_eq!(results["target"]["name"], "sh-copy");
    assert_eq!(results["target"]["version"], "1.0");
    assert_eq!(results["steps"][0]["duration_s"], 0.2, "a tenth of two seconds");
    let command: Vec<&str> =
        results["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command[..2], ["throng", "echo"]);
    assert!(command.contains(&"--duration=200ms"), "{command:?}");

    let report = fs::read_to_string(arena.path("kept/report.md")).unwrap();
    assert!(report.starts_with("# A tiny suite\n"), "{report}");
    assert!(
        ["Shortened to 0.1 ", "duration 200ms ", " 2s."].iter().all(|named| report.contains(named)),
        "{report}"
    );
    let row = report.lines().find(|line| line.contains("sh-copy")).expect("its row");
    assert!(row.contains("| 1,234 |"), "then stands beside now: {row}");

    fs::create_dir(arena.path("newer")).unwrap();
    let newer = fs::read_to_string(arena.path("kept/shootout.json")).unwrap();
    fs::write(arena.path("newer/shootout.json"), newer.replace("\"schema\": 1,", "\"schema\": 2,")).unwrap();
    let recap = shootout(&arena, &["--recap", ".", "--format", "md"]);
    assert!(recap.stderr.contains("./newer has schema 2"), "{recap}");
    assert_eq!(recap.code, Some(0), "{recap}");
    assert!(
        recap.stdout.contains("| place | target | rtt.p50 ms | × throng | then (p50_ms) | remarks |"),
        "{recap}"
    );
    let row = recap.stdout.lines().find(|line| line.contains("| sh-copy |")).expect("its row");
    // Rounds that differ by much have an interval of two bounds.
    let figure = row.split('|').nth(3).expect("its column");
    let has_interval = figure.contains(" ±") || figure.contains(" to ");
    assert!(has_interval && row.contains(" | 1,234 |"), "{row}");
    let nothing = shootout(&arena, &["--recap", "targets", "--format", "json"]);
    nothing.assert_failed(2, "usage.recap", &["targets"]);

    let packed = shootout(&arena, &["--pack", "kept"]);
    assert!(packed.code == Some(0) && packed.stderr.contains("packed: 6 results files"), "{packed}");
    assert!(!arena.path("kept/echo/sh-copy-2.json").exists());
    let from_pack = shootout(&arena, &["--recap", ".", "--format", "md"]);
    assert_eq!(from_pack.stdout, recap.stdout, "the same is read of it");
    let kept = run(throng(["report", "kept", "--md"]).current_dir(arena.folder()), RUN_MAX);
    assert_eq!((kept.code, &kept.stdout), (Some(0), &report), "{kept}");
    let ruled = ["compare", "kept", "kept", "--fail-if", "p99 slower by 5%", "-f", "json"];
    let ruled = run(throng(ruled).current_dir(arena.folder()), RUN_MAX);
    ruled.assert_failed(2, "usage.fail_if", &["results files"]);
    let itself = run(throng(["compare", "kept", "kept", "-f", "csv"]).current_dir(arena.folder()), RUN_MAX);
    let rows: Vec<&str> = itself.stdout.lines().collect();
    assert_eq!(rows[0], "question,servers,tau,apart,reversed", "{itself}");
    assert!(rows[1].starts_with("echo,2,1,") && rows[1].ends_with(','), "{itself}");
    // Of two rounds that differ much it has no place either.
    let has_no_order = rows[2].starts_with("unix,1,,0,") || rows[2].starts_with("unix,0,,0,");
    assert!(has_no_order, "one server has no order: {itself}");

    let again = shootout(&arena, &options);
    again.assert_failed(1, "could_not.keep_results", &["kept"]);
    assert!(!again.stderr.contains("\nchecking "), "it is known before the gate\n{again}");
}

#[test]
fn impossible_suites_are_said_before_the_gate() {
    let arena = arena_with(SERVE);
    fs::write(arena.path("file"), "").unwrap();
    let mistakes: [(&[&str], i32, &str); 4] = [
        (&["--out", "file"], 1, "file: "),
        (&["--out", "file/below"], 1, "file/below: "),
        (&["--server-pin", "1023"], 2, "--server-pin: there is no CPU 1023 here"),
        (&["--pin", "1023"], 2, "--pin: there is no CPU 1023 here"),
    ];
    for (flags, code, said) in mistakes {
        let outcome = shootout(&arena, &[&["tiny"], flags].concat());
        assert_eq!(outcome.code, Some(code), "{outcome}");
        assert!(
            outcome.stderr.contains(said) && !outcome.stderr.contains("\nchecking "),
            "{said}\n{outcome}"
        );
    }
    assert!(!arena.path("shootouts").exists(), "nothing has begun");
}

#[test]
fn shootouts_go_on_after_the_last_finished() {
    let arena = arena_with(SERVE);
    fs::rename(arena.path("targets"), arena.path("servers")).unwrap();
    let mut command =
        throng(["shootout", "tiny", "--scale", "0.2", "--out", "kept", "--targets-dir", "servers"]);
    let mut process = Process::start(command.current_dir(arena.folder()));
    let done =
        || fs::read_to_string(arena.path("kept/cells.jsonl")).is_ok_and(|text| text.lines().count() >= 2);
    assert!(wait_until(RUN_MAX, done), "no measurement is finished");
    process.signal(Signal::INT);
    let status = process.wait(RUN_MAX).expect("it ends");
    assert_eq!(status.code(), Some(130));
    let before = fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap();
    let made = before.lines().count();
    assert!(made < 6, "it was interrupted");
    let report = fs::read_to_string(arena.path("kept/report.md")).unwrap();
    assert!(report.contains(&format!("\n- Interrupted: {made} of 6 measurements\n")), "{report}");
    let page = fs::read_to_string(arena.path("kept/report.html")).unwrap();
    assert!(page.contains("--targets-dir servers"), "the page says where its targets are");
    for (flags, code, key, named) in [
        (["--fleet", "nats://127.0.0.1:1"].as_slice(), 2, "usage.resume", "fleet"),
        (&["--targets-dir", "targets"], 1, "could_not.list", "targets"),
    ] {
        let other = shootout(&arena, &[&["--resume", "kept", "--format", "json"], flags].concat());
        other.assert_failed(code, key, &[named]);
    }
    // What a crash in the middle of a line leaves.
    fs::write(arena.path("kept/cells.jsonl"), format!("{before}{{\"scenario\":\"ec")).unwrap();
    let (first, others) = before.split_once('\n').unwrap();
    let torn: Value = serde_json::from_str(first).unwrap();
    let word = |name: &str| torn[name].as_str().unwrap();
    let torn = format!("kept/{}/{}-{}.json", word("scenario"), word("target"), torn["repeat"]);
    let whole = fs::read_to_string(arena.path(&torn)).unwrap();
    fs::write(arena.path(&torn), &whole[..whole.len() / 2]).unwrap();

    let outcome = shootout(&arena, &["--resume", "kept"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for damaged in [torn.as_str(), "kept/cells.jsonl: 1 "] {
        assert!(outcome.stderr.contains(damaged), "{outcome}");
    }
    let after = fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap();
    assert!(after.starts_with(others), "what was measured is kept\n{before}\n{after}\n{outcome}");
    assert_eq!(lines(&arena.path("kept/cells.jsonl")).len(), 6);
    assert!(
        fs::read_to_string(arena.path("kept/report.md")).unwrap().contains("| 1,234 |"),
        "then is there still"
    );

    fs::write(arena.path("servers/sh-copy/version"), "2.0").unwrap();
    let other = shootout(&arena, &["--resume", "kept", "--format", "json"]);
    other.assert_failed(2, "usage.resume", &["sh-copy ", " 1.0 ", " 2.0 "]);
    let path = arena.path("servers/sh-copy/target.toml");
    let manifest = fs::read_to_string(&path).unwrap();
    fs::write(&path, manifest.replace("\"serve.sh\"", "\"./serve.sh\"")).unwrap();
    let other = shootout(&arena, &["--resume", "kept", "--format", "json"]);
    other.assert_failed(2, "usage.resume", &["THRONG={throng} sh ./serve.sh`"]);
}

#[test]
fn interrupted_checks_keep_the_record() {
    let arena = arena_with(SERVE);
    let whole = shootout(&arena, &["tiny", "--scale", "0.1", "--repeats", "1", "--out", "kept"]);
    assert_eq!(whole.code, Some(0), "{whole}");
    let cells = || fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap();
    let before = cells();
    fs::write(arena.path("targets/sh-copy/serve.sh"), "exec sleep 60").unwrap();
    let mut command = throng(["shootout", "--resume", "kept"]);
    let mut process = Process::start(command.current_dir(arena.folder()));
    assert!(wait_until(RUN_MAX, || running_in(&arena) > 1), "no server is checked");
    process.signal(Signal::INT);
    let status = process.wait(RUN_MAX).expect("it ends");
    let (stdout, stderr) = process.into_output();
    assert_eq!((status.code(), cells()), (Some(130), before), "{stderr}");
    assert!(stdout.contains("sh-copy") && stderr.contains(" --resume kept"), "{stdout}{stderr}");
}

/// The processes whose working directory is in the arena, without the dead that nobody has asked about.
fn running_in(arena: &Arena) -> usize {
    let within = arena.folder().canonicalize().unwrap();
    let runs_there = |process: &PathBuf| {
        fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&within))
            && fs::read(process.join("cmdline")).is_ok_and(|line| !line.is_empty())
    };
    fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(runs_there).count()
}

#[test]
fn nothing_outlives_a_shootout_that_is_killed() {
    let arena = arena_with(SERVE);
    fs::write(arena.path("suites/tiny.toml"), suite().replace("\"2s\", drain", "\"60s\", drain")).unwrap();
    let mut command = throng(["shootout", "tiny", "--out", "kept", "--targets", "sh-copy"]);
    let temporary = tempfile::tempdir().unwrap();
    let mut process = Process::start(command.current_dir(arena.folder()).env("TMPDIR", temporary.path()));
    let measures = || arena.path("kept/echo").is_dir() && running_in(&arena) >= 4;
    // The shootout, the guard, the server and the generator.
    assert!(wait_until(RUN_MAX, measures), "no measurement begins");
    process.signal(Signal::KILL);
    process.wait(RUN_MAX).expect("it ends");
    assert!(wait_until(RUN_MAX, || running_in(&arena) == 0), "{} processes outlive it", running_in(&arena));
    let left = || fs::read_dir(temporary.path()).unwrap().count();
    assert_eq!(left(), 1, "the folder of its server's socket");
    let mut next = throng(["targets", "check", "sh-copy"]);
    let next = run(next.current_dir(arena.folder()).env("TMPDIR", temporary.path()), RUN_MAX);
    assert_eq!((next.code, left()), (Some(0), 0), "the next clears it: {next}");
}

#[test]
fn a_server_that_dies_costs_its_own_measurement() {
    // The check is over before it dies; the measurement is not.
    let arena = arena_with(
        "\"$THRONG\" serve --listen \"$AT\" & server=$!\n\
         sleep 5 & nap=$!\n\
         trap 'kill $server $nap; exit' TERM\n\
         wait $nap\n\
         kill -9 $server; echo 'out of memory'; exit 7\n",
    );
    let suite = suite().replace("\"2s\", drain", "\"30s\", drain").replace("repeats = 2", "repeats = 1");
    fs::write(arena.path("suites/tiny.toml"), suite).unwrap();
    let outcome = shootout(&arena, &["tiny", "--scale", "0.2", "--out", "kept", "--format", "md"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("throng: 1 of 3 "), "{outcome}");
    let cells = lines(&arena.path("kept/cells.jsonl"));
    let cell = cells.iter().find(|cell| cell["target"] == "sh-copy").expect("its cell");
    assert_eq!(cell["trouble"]["stage"], "measure", "{outcome}");
    let reason = cell["trouble"]["reason"].as_str().unwrap();
    assert!(reason.contains("exited with 7") && reason.ends_with("out of memory"), "{reason}");
    let row = outcome.stdout.lines().find(|line| line.contains("sh-copy")).expect("its row");
    assert!(row.contains("1 of 1 ") && row.contains(reason), "{row}");
}

#[test]
fn targets_failing_the_gate_are_not_timed() {
    let arena = arena_with("exec \"$THRONG\" serve --listen \"$AT\" --fault drop=1/1");
    let outcome = shootout(&arena, &["tiny", "--scale", "0.05", "--repeats", "1", "--out", "kept"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stdout.contains("\nsh-copy: check: raw: "), "{outcome}");
    assert!(lines(&arena.path("kept/cells.jsonl")).iter().all(|cell| cell["target"] == "throng"));

    let options = ["tiny", "--scale", "0.05", "--repeats", "1", "--targets", "sh-copy", "--out", "named"];
    let named = shootout(&arena, &options);
    assert_eq!(named.code, Some(1), "it was asked for by name\n{named}");
    assert!(named.stderr.lines().last().is_some_and(|line| line.contains("sh-copy")), "{named}");
}

#[test]
fn named_targets_without_a_scenario_are_told() {
    let arena = arena_with(SERVE);
    let options = ["tiny", "--scale", "0.05", "--repeats", "1", "--targets", "sh-copy", "--out", "kept"];
    let outcome = shootout(&arena, &options);
    assert_eq!(outcome.code, Some(0), "it has a figure in the other scenario\n{outcome}");
    assert!(outcome.stderr.contains("sh-copy is left out of unix: "), "{outcome}");
    assert!(outcome.stdout.contains("\nsh-copy in unix: "), "{outcome}");

    // As Plezi, which has no Action Cable, in a suite of nothing else.
    let only = suite().replace("dialects = [\"raw\"]", "dialects = [\"actioncable\"]");
    fs::write(arena.path("suites/tiny.toml"), only).unwrap();
    let nothing = shootout(&arena, &["tiny", "--targets", "sh-copy", "--out", "none", "--format", "json"]);
    nothing.assert_failed(2, "usage.targets", &["tiny", "sh-copy", "raw", "actioncable", "(echo)"]);
    assert!(!arena.path("none").exists(), "nothing was begun");
}

#[test]
fn a_mistake_in_a_suite_is_underlined() {
    let arena = arena_with(SERVE);
    for (of, to, parts) in [
        ("interval = ", "intervall = ", ["--intervall", "tiny.toml:12", "interval"]),
        ("duration = \"2s\", drain", "duration = \"2 days\", drain", ["2 days", "tiny.toml:12", "duration"]),
        ("verb = \"echo\"", "verb = \"serve\"", ["serve", "tiny.toml:9", "broadcast"]),
    ] {
        assert!(suite().contains(of));
        fs::write(arena.path("suites/tiny.toml"), suite().replacen(of, to, 1)).unwrap();
        shootout(&arena, &["tiny", "--format", "json"]).assert_failed(2, "usage.file", &parts);
    }
    let missing = shootout(&arena, &["wsdemos"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("suites/wsdemos.toml"), "{missing}");
}

#[test]
fn shipped_suites_pass_the_command_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    let arena = arena_with(SERVE);
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        // The targets are looked for after the suite was read, and before anything is started.
        let suite = entry.path().display().to_string();
        let outcome = shootout(&arena, &[&suite, "--targets", "nobody"]);
        assert!(outcome.stderr.contains("there is no target \"nobody\""), "{suite}: {outcome}");
    }
}

#[test]
fn published_room_workloads_run_in_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (suite, scale, then, group) in [("supabase", "0.005", "213", 6), ("centrifugo", "0.001", "200", 10)] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("kept");
        let mut command =
            throng(["shootout", suite, "--targets", "throng", "--repeats", "1", "--scale", scale]);
        let outcome = run(command.arg("--out").arg(&out).current_dir(&root), RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let row = outcome.stdout.lines().find(|line| line.contains("one round: no place")).unwrap();
        assert!(row.contains(&format!(" {then}")), "{then}: {outcome}");
        let file = out.join("own-and-group").join("throng-1.json");
        let results: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let counts = |name| support::throng::sum_of(&results, name);
        let wrong = ["missing", "leaked", "duplicate", "unexpected"].map(counts);
        assert_eq!(wrong, [0; 4], "{suite}: {results:#}");
        // Centrifugo's people come and go: whoever left is owed no more.
        let all = counts("received") + counts("in_flight");
        assert!(counts("received") > 0 && all == counts("expected"), "{suite}: {results:#}");
        for (name, most) in [("own", 1), ("group", group)] {
            let says = results["steps"][0]["says"].as_array().unwrap();
            let say = &says.iter().find(|say| say["name"] == name).unwrap()["counts"];
            let [sent, expected] = ["sent", "expected"].map(|count| say[count].as_u64().unwrap());
            assert!(sent > 0 && expected <= sent * most && expected > sent * (most - 1), "{suite}: {say}");
        }
    }
}

#[test]
fn tls_scenarios_are_for_tls_targets() {
    let flags = r#"clients = 3, duration = "500ms", drain-timeout = "1s""#;
    let suite = tiny_suite(1, flags, &["rtt.p50"]).replace("[\"echo\"]", "[\"echo\", \"tls\"]");
    let arena = Arena::new(&suite, SERVE);
    let outcome = shootout(&arena, &["tiny", "--out", "kept"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let cells = lines(&arena.path("kept/cells.jsonl"));
    let of: Vec<&str> = cells.iter().map(|cell| cell["target"].as_str().unwrap()).collect();
    assert_eq!(of, ["throng"], "the other speaks in the clear");
    let command = cells[0]["command"].to_string();
    assert!(command.contains("\"wss://127.0.0.1:") && command.contains("\"--insecure\""), "{command}");
    let run = arena.kept("echo/throng-1.json");
    assert_eq!(run["target"]["url"].as_str().unwrap().split(':').next(), Some("wss"), "{run}");
}
