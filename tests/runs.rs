//! `throng runs`: what is kept of runs, whatever happens to the process or the file.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use regex::Regex;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, echo, finish, run, start_measuring, throng};
use crate::support::wait_until;

const RUN_MAX: Duration = Duration::from_secs(60);

/// A directory with a store in it.
struct Kept {
    dir: tempfile::TempDir,
}

impl Kept {
    fn new() -> Kept {
        Kept { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = throng(["runs", "--store"]);
        command.arg(self.path("runs.db")).args(arguments);
        command
    }

    fn runs(&self, arguments: &[&str]) -> Outcome {
        run(&mut self.command(arguments), RUN_MAX)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let outcome = self.runs(arguments);
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome}");
        outcome.stdout
    }

    fn list(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.ok(&[&["list", "--format", "json", "-n", "0"], arguments].concat());
        serde_json::from_str(&text).unwrap()
    }

    /// Echoes for a moment, keeping the run; its results.
    fn echo(&self, server: &Server) -> Value {
        let mut command = echo(&server.url(), 2, "300ms");
        let outcome = run(command.arg("--store").arg(self.path("runs.db")), RUN_MAX);
        outcome.assert_held();
        outcome.json()
    }

    /// Results files of so many runs, copies of one.
    fn files(&self, results: &Value, prefix: &str, count: usize) -> Vec<String> {
        let write = |number: usize| {
            let mut copy = results.clone();
            copy["id"] = format!("20261120-{prefix}{number:04}-abcdef").into();
            let path = self.path(&format!("{prefix}{number}.json"));
            fs::write(&path, copy.to_string()).unwrap();
            path.to_str().unwrap().to_owned()
        };
        (0..count).map(write).collect()
    }
}

fn import(files: &[String]) -> Vec<&str> {
    ["import"].into_iter().chain(files.iter().map(String::as_str)).collect()
}

#[test]
fn runs_are_kept_tagged_moved_and_deleted() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let (first, second) = (kept.echo(&server), kept.echo(&server));
    let id = |results: &Value| results["id"].as_str().unwrap().to_owned();
    let listed = kept.list(&[]);
    let ids: Vec<&str> = listed.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&id(&first).as_str()) && ids.contains(&id(&second).as_str()));

    // The newest first; an id may be cut short.
    let newest: Value = serde_json::from_str(&kept.ok(&["show", "last", "--format", "json"])).unwrap();
    assert_eq!(newest["id"], ids[0]);
    let by_id: Value = serde_json::from_str(&kept.ok(&["export", &id(&first)])).unwrap();
    assert_eq!(by_id, first, "the results file is kept as it was printed");
    assert_eq!(kept.ok(&["show", "@2"]), kept.ok(&["show", ids[1]]));

    assert_eq!(kept.ok(&["tag", &id(&first), "before", "a b"]), "a b\nbefore\n");
    assert_eq!(kept.list(&["--tag", "before"]).len(), 1);
    assert_eq!(kept.list(&["no such text"]).len(), 0);
    assert_eq!(kept.ok(&["tag", &id(&first), "before", "--remove"]), "a b\n");

    let out = kept.path("out");
    kept.ok(&["export", "@1", "@2", "--out", out.to_str().unwrap()]);
    kept.ok(&["delete", "@1", "@2"]);
    assert_eq!(kept.list(&[]).len(), 0);
    let files: Vec<String> =
        fs::read_dir(&out).unwrap().map(|file| file.unwrap().path().to_str().unwrap().to_owned()).collect();
    kept.ok(&import(&files));
    kept.ok(&import(&files));
    assert_eq!(kept.list(&[]).len(), 2, "a run that is there already is replaced");
}

#[test]
fn removing_no_tags_is_refused() {
    let refused = Kept::new().runs(&["tag", "last", "--remove"]);
    assert_eq!(refused.code, Some(2), "{refused}");
}

#[test]
fn an_ascii_locale_sees_only_ascii() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    kept.echo(&server);
    kept.echo(&server);
    let store = kept.path("runs.db").display().to_string();
    for words in [&["runs", "show"][..], &["runs", "list"], &["report", "last"], &["compare", "@2", "@1"]] {
        let shown = |locale| {
            run(
                throng([]).args(words).args(["--store", &store]).env("LC_ALL", locale).env("TERM", "xterm"),
                RUN_MAX,
            )
        };
        let (ascii, unicode) = (shown("C"), shown("C.UTF-8"));
        assert!(ascii.code == Some(0) && ascii.stdout.is_ascii(), "{words:?}: {ascii}");
        assert!(words[1] == "list" || !unicode.stdout.is_ascii(), "{words:?}: {unicode}");
    }
}

#[test]
fn deleted_runs_take_their_report_along() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let pages = kept.path("throng/reports");
    let count = || fs::read_dir(&pages).unwrap().count();
    let echo = || run(echo(&server.url(), 2, "300ms").env("XDG_DATA_HOME", kept.path("")), RUN_MAX);
    let (first, second) = (echo(), echo());
    // On a busy machine a rate may not have been kept, which is no matter here.
    assert_eq!(count(), 2, "{first}\n{second}");

    let delete = |run_id: &str| {
        let outcome = run(throng(["runs", "delete", run_id]).env("XDG_DATA_HOME", kept.path("")), RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
    };
    delete(first.json()["id"].as_str().unwrap());
    assert_eq!(count(), 1, "that of the other run stays");
    // A page that is gone already is no trouble.
    fs::remove_dir_all(&pages).unwrap();
    delete("last");
}

#[test]
fn runs_that_are_not_there() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let absent = kept.runs(&["list", "--format", "json"]);
    absent.assert_failed(1, "could_not.use_store.absent", &["runs.db"]);

    let results = kept.echo(&server);
    let id = results["id"].as_str().unwrap();
    let (day, digits) = (&id[..8], &id[id.len() - 6..]);
    for reference in [&format!("{}zz", &id[..id.len() - 2]), digits] {
        let unknown = kept.runs(&["show", reference, "--format", "json"]);
        unknown.assert_failed(2, "usage.run.no_run", &[id]);
    }
    for reference in ["@0", "@7", "@x", "nonsense", ""] {
        let unknown = kept.runs(&["show", reference, "--format", "json"]);
        unknown.assert_failed(2, "usage.run.no_run", &[&format!("{reference:?}")]);
    }
    kept.ok(&import(&kept.files(&results, "11", 2)));
    let several = kept.runs(&["show", "20261120-11", "--format", "json"]);
    several.assert_failed(2, "usage.run.ambiguous", &["20261120-11"]);
    let list = kept.ok(&["list", day]);
    assert!(list.contains(id) && list.lines().all(|line| line.chars().count() <= 80), "{list}");
}

#[test]
fn runs_of_one_name_are_a_trend() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let named = |name: &str, note: &str| {
        let mut command = echo(&server.url(), 2, "300ms");
        command.args(["--name", name, "--note", note, "--store"]).arg(kept.path("runs.db"));
        run(&mut command, RUN_MAX)
    };
    for note in ["first", "second"] {
        let outcome = named("nightly", note);
        assert_eq!((outcome.code, &outcome.json()["name"]), (Some(0), &"nightly".into()), "{outcome}");
    }
    assert_eq!(named("other", "none of them").code, Some(0));
    assert_eq!(named("two\nlines", "none").code, Some(2));
    let listed = kept.list(&["--name", "nightly"]);
    let of = |key: &str| listed.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!((of("note"), of("result")), (vec!["second".into(), "first".into()], vec!["PASSED".into(); 2]));
    let trend: Value = serde_json::from_str(&kept.ok(&["trend", "nightly", "--format", "json"])).unwrap();
    assert_eq!((&trend[0]["note"], &trend[1]["note"]), (&"first".into(), &"second".into()));
    assert!(trend[0]["p95_ms"].as_f64() > Some(0.0) && trend.as_array().unwrap().len() == 2, "{trend}");
    // Whatever the values, the highest reaches the right edge of a terminal with 80 columns.
    let text = kept.ok(&["trend", "nightly"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.matches('●').count() == 2, "{text}");
    kept.runs(&["trend", "weekly", "--format", "json"]).assert_failed(2, "usage.name", &["weekly"]);
}

#[test]
fn foreign_stores_are_left_alone() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    kept.echo(&server);
    let whole = fs::read(kept.path("runs.db")).unwrap();
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99u32.to_be_bytes()); // user_version, "Database File Format" §1.3
    let mut foreign = whole.clone();
    foreign[68..72].copy_from_slice(&7u32.to_be_bytes()); // application_id
    let mut unreleased = whole.clone();
    unreleased[68..72].copy_from_slice(b"thrg");
    let damaged = [&whole[..4096], &vec![0xa5; whole.len() - 4096]].concat();
    let cases: [(&[u8], &str, &str); 5] = [
        (&[b'.'; 101], "damaged", ""),
        (&newer, "newer", " 99"),
        (&foreign, "damaged", ""),
        (&unreleased, "unreleased", ""),
        (&damaged, "damaged", ""),
    ];
    for (bytes, reason, number) in cases {
        let path = kept.path("other.db");
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let list = run(throng(["runs", "list", "--format", "json", "--store"]).arg(&path), RUN_MAX);
        list.assert_failed(1, &format!("could_not.use_store.{reason}"), &["other.db", number]);
        // Known before the load, not after it.
        if bytes != damaged {
            let named = run(echo(&server.url(), 2, "60s").arg("--store").arg(&path), RUN_MAX);
            assert_eq!(named.code, Some(1), "{named}");
            assert_eq!(
                fs::metadata(&path).unwrap().mode() & 0o777,
                0o644,
                "{reason}: others may read it no more"
            );
        }
        assert!(fs::read(&path).unwrap() == bytes, "{reason}: the file was changed");
    }
}

#[test]
fn a_store_that_fails_costs_no_result() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let file = kept.path("a file");
    fs::write(&file, "").unwrap();
    let mut command = echo(&server.url(), 2, "300ms");
    let outcome = run(command.env("XDG_DATA_HOME", &file), RUN_MAX);
    outcome.assert_held();
    assert!(outcome.stderr.contains("a file"), "{outcome}");
    assert!(outcome.json()["steps"][0]["counts"]["received"].as_u64() > Some(0));

    let unkept = run(echo(&server.url(), 2, "300ms").arg("--no-store").env("XDG_DATA_HOME", &file), RUN_MAX);
    assert_eq!((unkept.code, unkept.stderr.as_str()), (Some(0), ""));
}

#[test]
fn locked_stores_cost_no_result() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    kept.echo(&server);
    let hold = "import sqlite3, sys, time; store = sqlite3.connect(sys.argv[1], isolation_level=None); \
                store.execute('BEGIN EXCLUSIVE'); open(sys.argv[1] + '.held', 'w'); time.sleep(120)";
    let holder = Process::start(Command::new("python3").args(["-c", hold]).arg(kept.path("runs.db")));
    assert!(wait_until(RUN_MAX, || kept.path("runs.db.held").exists()), "python3 does not hold it");
    let mut command = echo(&server.url(), 2, "300ms");
    let outcome = run(command.arg("--store").arg(kept.path("runs.db")), Duration::from_secs(60));
    assert_eq!(outcome.code, Some(1), "the store was asked for by name\n{outcome}");
    let beside = kept.path(&format!("{}.unkept", outcome.json()["id"].as_str().unwrap()));
    let imports =
        format!("throng runs import {} --store {}", beside.display(), kept.path("runs.db").display());
    assert!(outcome.stderr.contains(&imports), "{outcome}");
    drop(holder);
    kept.ok(&["import", beside.to_str().unwrap()]);
    assert_eq!(kept.list(&[]).len(), 2);
}

#[test]
fn missing_store_folders_are_said() {
    let server = Server::start(&[]);
    let homeless = |flags: &[&str]| {
        let mut command = echo(&server.url(), 2, "300ms");
        run(command.args(flags).env_remove("XDG_DATA_HOME").env_remove("HOME"), RUN_MAX)
    };
    let outcome = homeless(&[]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stderr.contains("XDG_DATA_HOME"), "{outcome}");
    let asked = homeless(&["--no-store"]);
    assert_eq!((asked.code, asked.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupted_run_is_kept() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let mut command = echo(&server.url(), 2, "60s");
    let process = start_measuring(command.arg("--store").arg(kept.path("runs.db")));
    process.signal(Signal::INT);
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, Some(130), "{outcome}");
    let shows = format!("throng runs show last --store {}", kept.path("runs.db").display());
    assert!(outcome.stderr.contains(&shows), "{outcome}");
    assert_eq!(kept.list(&[]).len(), 1);
}

#[test]
fn two_processes_write_at_once() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let results = kept.echo(&server);
    let processes: Vec<Process> = ["11", "22"]
        .map(|prefix| Process::start(&mut kept.command(&import(&kept.files(&results, prefix, 40)))))
        .into();
    for process in processes {
        let outcome = finish(process, RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
    }
    assert_eq!(kept.list(&[]).len(), 81);
}

#[test]
fn kills_lose_no_ended_run() {
    let (server, kept) = (Server::start(&[]), Kept::new());
    let results = kept.echo(&server);
    let files = kept.files(&results, "11", 400);
    // It cannot say more than half of them before it is killed, however late that is: nobody takes it.
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setpipe_size(&writer, 4096).unwrap();
    let process = Process::start_onto(&mut kept.command(&import(&files)), writer);
    let mut said = vec![0; 5 * (results["id"].as_str().unwrap().len() + 1)];
    reader.read_exact(&mut said).expect("some are imported");
    process.signal(Signal::KILL);
    drop(process);
    reader.read_to_end(&mut said).unwrap();
    let (said, listed) = (String::from_utf8(said).unwrap(), kept.list(&[]));
    let ids: Vec<&str> = listed.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(said.lines().all(|id| ids.contains(&id)), "{} said, {} kept", said.lines().count(), ids.len());
    assert!(ids.len() < 400, "it imports without saying so");
    for id in ids {
        kept.ok(&["export", id]);
    }
}

#[test]
fn secrets_are_kept_nowhere() {
    const SECRET: &str = "hunter2";
    let (server, kept) = (Server::start(&[]), Kept::new());
    let url = server.url().replace("ws://", "ws://me:hunter2@") + "?token=hunter2&room=1";
    let mut command = echo(&url, 1, "300ms");
    command.args(["-H", "X-Api-Key: hunter2", "--token", SECRET, "--token-in", "header:X-Token"]);
    command.arg("--out").arg(kept.dir.path()).arg("--stream").arg(kept.path("stream.json"));
    let outcome = run(&mut command, RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    // Of which it can be told whether they were the same.
    let shown =
        Regex::new(r"^ws://(?:\*{3}[0-9a-f]{4}@)?[0-9.:]+/\?token=(\*{3}[0-9a-f]{4})&room=1$").unwrap();
    let (url, command) = (results["target"]["url"].as_str().unwrap(), results["command"].to_string());
    let given = command.split('"').find(|word| word.starts_with("ws://")).unwrap();
    let token = |url| shown.captures(url).unwrap_or_else(|| panic!("{url}: {outcome}"))[1].to_owned();
    assert_eq!(token(given), token(url), "{outcome}");
    assert!(command.contains(&format!("\"--token\",\"{}\"", token(given))), "{outcome}");
    assert!(results["command"].to_string().contains("X-Api-Key: ***"), "{outcome}");
    let files = fs::read_dir(kept.dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<(PathBuf, Vec<u8>)> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert!(
        files.len() >= 3,
        "results, report, stream: {:?}",
        files.iter().map(|file| &file.0).collect::<Vec<_>>()
    );
    let told = files
        .into_iter()
        .chain([("stdout".into(), outcome.stdout.into()), ("stderr".into(), outcome.stderr.into())]);
    for (path, bytes) in told {
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", path.display());
    }
}
