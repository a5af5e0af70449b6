//! `throng targets` with servers that do everything wrong that a server can do wrong, and what is left of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::process::Process;
use crate::support::skip;
use crate::support::throng::{Outcome, run, throng};
use crate::support::wait_until;

const RUN_MAX: Duration = Duration::from_secs(60);
/// Package managers and the network may be slow.
const INSTALL_MAX: Duration = Duration::from_secs(600);

/// A manifest around a start command. The reference server stands in for servers of others.
pub(crate) fn manifest(command: &str) -> String {
    format!(
        r#"
language = "sh"
library = "none"
dialects = ["raw", "json"]
supports = ["echo", "broadcast", "http"]
endpoint = "ws://{{host}}:{{port}}/"
version = {{ command = ["sh", "-c", "echo 1.2.3"], regex = '(\d\S+)' }}
start = {{ command = {command}, env = {{ AT = "{{host}}:{{port}}", THRONG = "{{throng}}" }} }}
ready = {{ http = "http://{{host}}:{{port}}/", timeout = "5s" }}
stop = {{ signal = "TERM", grace = "3s" }}
"#
    )
}

/// A folder with one target, `sh-none`, whose script this is.
pub(crate) fn target(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("sh-none");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("serve.sh"), script).unwrap();
    fs::write(own.join("target.toml"), manifest(r#"["sh", "serve.sh"]"#)).unwrap();
    folder
}

fn targets(folder: &TempDir, arguments: &[&str]) -> Outcome {
    let mut command = throng(["targets", "--targets-dir"]);
    run(command.arg(folder.path()).args(arguments), RUN_MAX)
}

/// Checks the target with this script, and gives the reason for its failing.
fn failing(script: &str) -> String {
    let folder = target(script);
    let outcome = targets(&folder, &["check", "sh-none", "--format", "json"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let rows = outcome.json();
    assert_eq!(rows[0]["verdict"], "fails", "{outcome}");
    assert!(!is_running(folder.path()), "something of it still runs");
    rows[0]["reason"].as_str().unwrap().to_owned()
}

/// Returns whether a process runs in the target's folder.
fn is_running(folder: &Path) -> bool {
    let own = folder.join("sh-none").canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let runs_there = |path: std::path::PathBuf| {
        fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == own)
            // A zombie has no command line.
            && fs::read(path.join("cmdline")).is_ok_and(|line| !line.is_empty())
    };
    processes.map(|entry| entry.path()).any(runs_there)
}

#[test]
fn a_server_that_does_it_right_passes() {
    let folder = target("exec \"$THRONG\" serve --listen \"$AT\"");
    let outcome = targets(&folder, &["check", "sh-none", "--format", "json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let rows = outcome.json();
    assert_eq!((&rows[0]["verdict"], &rows[0]["version"]), (&"passes".into(), &"1.2.3".into()));
    assert!(!is_running(folder.path()));
}

#[test]
fn one_that_never_gets_ready_is_given_up() {
    let reason = failing("echo thinking; exec sleep 60");
    assert!(reason.starts_with("ready: ") && reason.contains(" 5s"), "{reason}");
    assert!(reason.ends_with(": thinking"), "{reason}");
}

#[test]
fn one_that_dies_at_once_is_quoted() {
    let reason = failing("echo no config >&2; exit 3");
    assert!(reason.starts_with("start: ") && reason.contains(" exited with 3"), "{reason}");
    assert!(reason.ends_with(": no config"), "{reason}");
}

#[test]
fn one_that_listens_elsewhere_is_told_where() {
    let reason = failing("exec \"$THRONG\" serve --port 0");
    assert!(reason.starts_with("ready: ") && reason.contains("; it listens on 127.0.0.1:"), "{reason}");
}

#[test]
fn one_that_answers_wrongly_gets_no_number() {
    let reason = failing("exec \"$THRONG\" serve --listen \"$AT\" --fault dup=1/1");
    assert!(reason.starts_with("check: "), "{reason}");
}

#[test]
fn tls_targets_are_checked_over_tls() {
    let folder = target("exec \"$THRONG\" serve --listen \"$AT\" \"$@\"");
    let can_tls = manifest(r#"["sh", "serve.sh"]"#).replace("\"http\"]", "\"http\", \"tls\"]")
        + r#"tls = { arguments = ["--cert", "{certificate}", "--key", "{key}"] }"#;
    fs::write(folder.path().join("sh-none/target.toml"), can_tls).unwrap();
    let check = ["check", "sh-none", "--format", "json"];
    let outcome = targets(&folder, &check);
    assert_eq!((outcome.code, &outcome.json()[0]["verdict"]), (Some(0), &"passes".into()), "{outcome}");

    // It ignores the certificate, and goes on in the clear.
    fs::write(folder.path().join("sh-none/serve.sh"), "exec \"$THRONG\" serve --listen \"$AT\"").unwrap();
    let outcome = targets(&folder, &check);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let reason = outcome.json()[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("check: over TLS: raw: "), "{reason}");
    assert!(!is_running(folder.path()));
}

#[test]
fn one_that_ignores_the_signal_is_killed() {
    let reason = failing("trap '' TERM; \"$THRONG\" serve --listen \"$AT\" & while :; do sleep 1; done");
    assert_eq!(reason, "stop: still running 3s after SIGTERM");
}

#[test]
fn leftover_daemons_are_found() {
    let reason = failing("setsid sleep 300 & exec \"$THRONG\" serve --listen \"$AT\"");
    assert!(reason.starts_with("stop: ") && reason.contains("a process"), "{reason}");
}

#[test]
fn a_log_does_not_fill_the_disk() {
    // More than the log takes before it serves, so that how fast it writes does not matter.
    let folder = target("yes 'a line' | head -c 20000000; exec \"$THRONG\" serve --listen \"$AT\"");
    targets(&folder, &["check", "sh-none"]);
    let log = folder.path().join("sh-none/server.log");
    let bytes = fs::metadata(&log).unwrap().len();
    assert!((16 << 20..17 << 20).contains(&bytes), "{bytes} bytes");
    let last = fs::read_to_string(&log).unwrap().lines().last().unwrap().to_owned();
    assert!(last.starts_with('[') && last.ends_with(']'), "{last}");
    assert!(!is_running(folder.path()));
}

#[test]
fn nothing_outlives_throng_however_it_ends() {
    let (told, never) = ("echo 1.2.3", "exec sleep 300");
    let cases = [(told, "true"), (never, "true"), (told, "sleep 300")];
    for (signal, (version, required)) in
        [Signal::INT, Signal::KILL].into_iter().flat_map(|signal| cases.map(|case| (signal, case)))
    {
        let folder = target("sleep 300 & exec \"$THRONG\" serve --listen \"$AT\"");
        let path = folder.path().join("sh-none/target.toml");
        let requires =
            format!("[[requires]]\ncommand = [\"sh\", \"-c\", \"{required}\"]\nmissing = \"sh\"\n");
        let text = fs::read_to_string(&path).unwrap().replace(told, version) + &requires;
        fs::write(&path, text).unwrap();
        let mut command = throng(["targets", "start", "sh-none", "--targets-dir"]);
        let mut process = Process::start(command.arg(folder.path()));
        assert!(wait_until(RUN_MAX, || is_running(folder.path())), "it does not start");
        let is_asked = (version, required) != cases[0];
        assert!(wait_until(RUN_MAX, || is_asked || folder.path().join("sh-none/server.log").exists()));
        process.signal(signal);
        let status = process.wait(RUN_MAX / 2).expect("throng ends, and waits for no version");
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130));
        }
        assert!(
            wait_until(RUN_MAX, || !is_running(folder.path())),
            "something outlives throng after {signal:?}: {version}, {required}"
        );
    }
}

/// A process that this one has started.
fn child(pid: Pid) -> Option<Pid> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let listed: Vec<String> =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok()).collect();
    Pid::from_raw(listed.concat().split_whitespace().next()?.parse().ok()?)
}

#[test]
fn installations_do_not_outlive_throng() {
    // A daemon that has left, an orphan that ends at once, and one that hears no signal.
    let steps = "install = { command = [\"sh\", \"install.sh\"] }\n";
    let script =
        "setsid sleep 300 & (sh -c 'true' &); sh -c 'trap \"\" TERM INT; sleep 300' & touch begun; sleep 300";
    for depth in 0..3 {
        let folder = target("");
        let own = folder.path().join("sh-none");
        fs::write(own.join("install.sh"), script).unwrap();
        fs::write(own.join("target.toml"), manifest(r#"["true"]"#) + steps).unwrap();
        let mut command = throng(["targets", "install", "sh-none", "--targets-dir"]);
        let mut process = Process::start(command.arg(folder.path()));
        assert!(wait_until(RUN_MAX, || own.join("begun").exists()), "it is not installed");
        // Throng, its guard, and what the guard has started: the first of a namespace, where there is one.
        let victim = (0..depth).fold(process.pid(), |pid, _| child(pid).expect("a process below"));
        kill_process(victim, Signal::KILL).unwrap();
        process.wait(RUN_MAX).expect("throng ends");
        assert!(wait_until(RUN_MAX, || !is_running(folder.path())), "something outlives {depth} of it");
    }
}

#[test]
fn after_an_interrupt_nothing_is_begun() {
    const ALL: usize = 6;
    const AT_ONCE: usize = 2;
    for verb in ["install", "check"] {
        let folder = tempfile::tempdir().unwrap();
        let own = |number: usize| folder.path().join(format!("sh-{number}"));
        for number in 0..ALL {
            fs::create_dir(own(number)).unwrap();
            let text = manifest(r#"["sh", "serve.sh"]"#).replace("none", &number.to_string())
                + "[install]\ncommand = [\"sleep\", \"300\"]\n\
                   [[requires]]\ncommand = [\"touch\", \"asked\"]\nmissing = \"touch\"\n";
            fs::write(own(number).join("target.toml"), text.replace("echo 1.2.3", "exit 1")).unwrap();
        }
        let begun = |file: &str| (0..ALL).filter(|&number| own(number).join(file).exists()).count();
        let mut command = throng(["targets", verb, "--all", "--targets-dir"]);
        let mut process = Process::start(command.arg(folder.path()));
        assert!(wait_until(RUN_MAX, || begun("install.log") == AT_ONCE), "{verb}: nothing is installed");
        process.signal(Signal::INT);
        let status = process.wait(RUN_MAX).expect("throng ends");
        assert_eq!((status.code(), begun("asked")), (Some(130), AT_ONCE), "{verb}");
        let (stdout, stderr) = process.into_output();
        for verdict in ["fails", "passes", "unavailable"] {
            assert!(!stdout.contains(verdict) && !stderr.contains(verdict), "{verb}\n{stdout}\n{stderr}");
        }
    }
}

#[test]
fn unavailable_targets_are_no_failure() {
    let folder = target("exit 1");
    let path = folder.path().join("sh-none/target.toml");
    let lacking = fs::read_to_string(&path).unwrap()
        + "[[requires]]\ncommand = [\"no-such-program\", \"--version\"]\nmissing = \"a program nobody has\"\n";
    fs::write(&path, &lacking).unwrap();
    let outcome = targets(&folder, &["check", "--all", "--format", "json"]);
    let rows = outcome.json();
    let row = |name: &str| -> Value {
        rows.as_array().unwrap().iter().find(|row| row["name"] == name).expect("its row").clone()
    };
    assert_eq!((outcome.code, &row("throng")["verdict"]), (Some(0), &"passes".into()), "{outcome}");
    assert_eq!(row("sh-none")["verdict"], "unavailable");
    let reason = row("sh-none")["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("requires: ") && reason.contains("a program nobody has"), "{reason}");
    assert!(reason.ends_with("no-such-program --version"), "{reason}");
}

#[test]
fn failed_installations_are_rows() {
    let folder = target("exit 1");
    let path = folder.path().join("sh-none/target.toml");
    let text = fs::read_to_string(&path).unwrap().replace("echo 1.2.3", "cat version")
        + "[install]\ncommand = [\"sh\", \"-c\", \"echo fetching; echo 'down' >&2; exit 1\"]\n";
    fs::write(&path, &text).unwrap();
    let outcome = targets(&folder, &["install", "sh-none", "--format", "json"]);
    assert_eq!(outcome.json()[0]["verdict"], "unavailable", "{outcome}");
    assert!(outcome.json()[0]["reason"].as_str().unwrap().ends_with(": down"), "{outcome}");
    let log = fs::read_to_string(folder.path().join("sh-none/install.log")).unwrap();
    assert_eq!(log, "fetching\ndown\n");
    // The next time it works, once.
    let text = text.replace("echo 'down' >&2; exit 1", "echo 4.5 > version");
    fs::write(&path, text).unwrap();
    let outcome = targets(&folder, &["install", "sh-none", "--format", "json"]);
    assert_eq!(outcome.json()[0]["version"], "4.5", "{outcome}");
}

#[test]
fn a_mistake_in_a_manifest_is_underlined() {
    let folder = target("exit 1");
    let path = folder.path().join("sh-none/target.toml");
    let text = fs::read_to_string(&path).unwrap().replace("supports", "suports");
    fs::write(&path, text).unwrap();
    let outcome = targets(&folder, &["check", "sh-none"]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    for part in ["unknown field `suports`", "target.toml:5:1", "suports = [\"echo\"", "`supports`"] {
        assert!(outcome.stderr.contains(part), "no {part:?}\n{outcome}");
    }
    let listed = targets(&folder, &["list"]);
    assert!(listed.stdout.contains("line 5: unknown field `suports`"), "{listed}");
    assert!(listed.stdout.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let other = targets(&folder, &["list", "throng"]);
    assert!(other.code == Some(0) && !other.stdout.contains("sh-none"), "nobody asked about it: {other}");
    let all = targets(&folder, &["check", "--all"]);
    assert_eq!(all.code, Some(1), "one cannot be checked: {all}");
}

/// One of each family of servers, none of which takes long to install; `make targets` is all of them.
#[test]
fn servers_of_others_are_installed_and_pass() {
    let names = [
        "throng",
        "node-ws",
        "go-gorilla",
        "python-tornado",
        "sockjs-node",
        "socketio-node",
        "node-socketcluster",
        "erlang-cowboy",
    ];
    let mut command = throng(["targets", "check", "--format", "json"]);
    let outcome = run(command.args(names), INSTALL_MAX);
    let rows = outcome.json();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() >= names.len(), "{outcome}");
    for row in rows {
        let name = row["name"].as_str().unwrap();
        match row["verdict"].as_str().unwrap() {
            "unavailable" if name != "throng" => skip(name, row["reason"].as_str().unwrap()),
            verdict => assert_eq!(verdict, "passes", "{name}: {outcome}"),
        }
    }
}

#[test]
fn missing_target_folders_are_said() {
    let empty = tempfile::tempdir().unwrap();
    let outcome = run(throng(["targets", "list"]).current_dir(empty.path()), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(
        outcome.stderr.contains("--targets-dir: there is no folder \"targets\" here or further up"),
        "{outcome}"
    );
    let outcome = run(throng(["targets", "check"]).args(["--targets-dir"]).arg(empty.path()), RUN_MAX);
    assert!(outcome.code == Some(2) && outcome.stderr.contains("pass --all"), "{outcome}");
    let unknown = run(throng(["targets", "check", "nobody", "--targets-dir"]).arg(empty.path()), RUN_MAX);
    assert!(unknown.stderr.contains("there is no target \"nobody\"; there are throng"), "{unknown}");
}

/// A folder `targets`, with a target whose version command says in a file that it was run, and in which environment.
fn telltale() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("targets/sh-none");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("serve.sh"), "env > seen-by-server; exec \"$THRONG\" serve --listen \"$AT\"").unwrap();
    let manifest = manifest(r#"["sh", "serve.sh"]"#).replace("echo 1.2.3", "env > seen; echo 1.2.3");
    fs::write(own.join("target.toml"), manifest).unwrap();
    folder
}

#[test]
fn foreign_folders_run_nothing_unconfirmed() {
    let (folder, data) = (telltale(), tempfile::tempdir().unwrap());
    let seen = folder.path().join("targets/sh-none/seen");
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let targets = |arguments: &[&str]| {
        let mut command = throng(["targets"]);
        run(command.args(arguments).current_dir(&below).env("XDG_DATA_HOME", data.path()), RUN_MAX)
    };
    let own = targets(&["list"]);
    assert!(own.code == Some(0) && seen.exists(), "it is the user's own: {own}");
    fs::remove_file(&seen).unwrap();

    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    for arguments in [&["list"][..], &["check", "--all"], &["install", "sh-none"], &["start", "sh-none"]] {
        let refused = targets(arguments);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("--targets-dir: "), "{refused}");
        assert!(refused.stderr.contains("throng targets trust /"), "it says what to type: {refused}");
        assert!(!seen.exists(), "nothing of it was run");
    }
    let shootout = run(throng(["shootout"]).current_dir(&below).env("XDG_DATA_HOME", data.path()), RUN_MAX);
    assert!(shootout.code == Some(2) && !seen.exists(), "{shootout}");

    let named = targets(&["list", "--targets-dir", "../targets"]);
    assert!(named.code == Some(0) && seen.exists(), "{named}");
    fs::remove_file(&seen).unwrap();
    let confirmed = targets(&["trust"]);
    assert_eq!(confirmed.code, Some(0), "{confirmed}");
    let found = targets(&["list"]);
    assert!(found.code == Some(0) && seen.exists(), "{found}");
}

#[test]
fn targets_see_no_secrets_of_the_environment() {
    let folder = telltale();
    let own = folder.path().join("targets/sh-none");
    let manifest = fs::read_to_string(own.join("target.toml")).unwrap();
    let build = "build = { command = [\"sh\", \"-c\", \"env > seen-by-build\"] }\n";
    fs::write(own.join("target.toml"), manifest + build).unwrap();
    let mut command = throng(["targets", "check", "sh-none", "--targets-dir"]);
    command.arg(folder.path().join("targets")).env("THE_TOKEN", "open sesame").env("PIP_CERT", "/x");
    command.env("PIP_INDEX_URL", "https://me:pa55word@h/simple").env("https_proxy", "me:pa55word@h:1");
    let outcome = run(command.env("AWS_SECRET_ACCESS_KEY", "open sesame"), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    // What fetches nothing has no use for logins.
    for (file, logins) in [("seen", 0), ("seen-by-server", 0), ("seen-by-build", 2)] {
        let seen = fs::read_to_string(own.join(file)).unwrap();
        assert_eq!(seen.matches("pa55word").count(), logins, "{file}: {seen}");
        assert!(seen.contains("PIP_INDEX_URL=https://") && seen.contains("h/simple"), "{seen}");
        assert!(!seen.contains("sesame") && !seen.contains("THE_TOKEN"), "{seen}");
        assert!(seen.contains("PATH=") && seen.contains("HOME=") && seen.contains("PIP_CERT=/x"), "{seen}");
    }
}
