//! Files, links and variables that a command cannot use: each is named, and none is waited for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::support::throng::{Server, echo, run, throng};
use crate::support::{REACTS_WITHIN, free_address};

const COULD_NOT_RUN: Option<i32> = Some(1);
const BAD_USAGE: Option<i32> = Some(2);
/// A name in Latin-1, which is no UTF-8.
const LATIN: &[u8] = b"caf\xe9";
/// A URL that is never asked.
const NATS: &str = "nats://127.0.0.1:1";
/// The most columns that a file of users may have.
const COLUMNS_MAX: usize = 65_535;

#[test]
fn pipes_and_devices_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (pipe, dangling, text) = (at("pipe.toml"), at("dangling.toml"), at("text"));
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    symlink("nowhere", &dangling).unwrap();
    fs::write(&text, "text").unwrap();
    for file in [pipe.as_str(), "/dev/zero", &dangling] {
        let credentials = format!("file:{file}");
        for (arguments, key) in [
            (&["run", file][..], "file"),
            (&["echo", "ws://127.0.0.1:1/", "--app", file], "file"),
            (&["echo", "ws://127.0.0.1:1/", "--users", file], "users"),
            (&["echo", "ws://127.0.0.1:1/", "--payload-rows", file], "payload_rows"),
            (&["echo", "wss://127.0.0.1:1/", "--ca", file], "ca"),
            (&["echo", "wss://127.0.0.1:1/", "--cert", file, "--key", &text], "cert"),
            (&["echo", "wss://127.0.0.1:1/", "--cert", &text, "--key", file], "key"),
            (&["echo", "ws://127.0.0.1:1/", "--token", &credentials], "token.value_validation"),
            (&["shootout", file], "suite"),
            (&["shootout", "--resume", file], "resume"),
        ] {
            let outcome = run(throng([]).args(arguments).args(["--format", "json"]), REACTS_WITHIN);
            outcome.assert_failed(2, &format!("usage.{key}"), &[file]);
        }
        for (arguments, code) in [
            (&["serve", "--cert", file, "--key", file][..], COULD_NOT_RUN),
            (&["events", file], COULD_NOT_RUN),
            (&["runs", "import", file], COULD_NOT_RUN),
            (&["record", "https://127.0.0.1:1/", "--ca", file], BAD_USAGE),
            (&["fleet", "list", "--nats", NATS, "--creds", file], BAD_USAGE),
            (&["fleet", "list", "--nats", NATS, "--nkey", file], BAD_USAGE),
            (&["fleet", "list", "--nats", NATS, "--nats-ca", file], BAD_USAGE),
            (&["fleet", "list", "--nats", NATS, "--nats-cert", file, "--nats-key", &text], BAD_USAGE),
            (&["fleet", "list", "--nats", NATS, "--nats-cert", &text, "--nats-key", file], BAD_USAGE),
        ] {
            let outcome = run(throng([]).args(arguments), REACTS_WITHIN);
            assert!(outcome.code == code && outcome.stderr.contains(file), "{arguments:?}: {outcome}");
        }
    }
    // Bodies may come from pipes, which are waited for.
    for file in ["/dev/zero", &dangling] {
        let arguments = ["http", "http://127.0.0.1:1/", "-m", "POST", "--input", file, "--format", "json"];
        run(&mut throng(arguments), REACTS_WITHIN).assert_failed(2, "usage.input", &[file]);
    }
    // A name without a file may be a run's in the store.
    for file in [pipe.as_str(), "/dev/zero"] {
        let outcome = run(&mut throng(["compare", file, file, "--format", "json"]), REACTS_WITHIN);
        outcome.assert_failed(2, "usage.run.irregular_file", &[file]);
    }
}

#[test]
fn folders_of_results_may_have_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let report = |named: &str| {
        let outcome = run(throng(["report"]).arg(folder.path()), REACTS_WITHIN);
        assert!(outcome.code == COULD_NOT_RUN && outcome.stderr.contains(named), "{outcome}");
    };
    mkfifoat(CWD, folder.path().join("pipe.json"), Mode::RUSR | Mode::WUSR).unwrap();
    symlink("/dev/zero", folder.path().join("device.json")).unwrap();
    report(folder.path().to_str().unwrap());
    symlink("nowhere", folder.path().join("dangling.json")).unwrap();
    report("dangling.json");
}

#[test]
fn manifests_that_are_no_files_are_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let [pipe, dangling] = ["sh-pipe", "sh-dangling"].map(|name| {
        fs::create_dir(folder.path().join(name)).unwrap();
        folder.path().join(name).join("target.toml")
    });
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    symlink("nowhere", &dangling).unwrap();
    let list = ["targets", "list", "--format", "json", "--targets-dir"];
    let outcome = run(throng(list).arg(folder.path()), REACTS_WITHIN);
    for named in ["sh-pipe/target.toml", "sh-dangling/target.toml"] {
        assert!(outcome.stdout.contains(named), "{outcome}");
    }
}

/// Each name was once compared with all before it, which took a minute for these.
#[test]
fn users_may_have_many_columns() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let columns: Vec<String> = (1..COLUMNS_MAX).map(|column| format!("c{column}")).collect();
    let line = columns.join(",");
    fs::write(file.path(), format!("name,{line}\nann,{line}\n")).unwrap();
    let mut command = echo(&format!("ws://{}/", free_address()), 1, "1s");
    command.args(["-H", "X-Name: {person.name}", "--users"]).arg(file.path());
    run(&mut command, REACTS_WITHIN).assert_no_server("refused", 1);
}

#[test]
fn names_without_utf8_take_one_line() {
    let latin = OsStr::from_bytes(LATIN);
    let tell = |command: &mut Command, code: Option<i32>, named: &str| {
        let outcome = run(command, REACTS_WITHIN);
        assert!(outcome.code == code && outcome.stderr.contains(named), "{outcome}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    };
    let url = "ws://127.0.0.1:1/";
    let token = ["echo", url, "--token", "env:THE_TOKEN"];
    tell(throng(token).env("THE_TOKEN", latin), BAD_USAGE, "THE_TOKEN");
    tell(throng(["serve"]).env("THRONG_SIBLING", latin), COULD_NOT_RUN, "THRONG_SIBLING");
    tell(throng(["runs", "list"]).env("HOME", latin).env_remove("XDG_DATA_HOME"), BAD_USAGE, "--store");
    tell(throng(["run"]).arg(latin), BAD_USAGE, "caf");
    tell(throng(["echo", url, "--name"]).arg(latin), BAD_USAGE, "UTF-8");
}

#[test]
fn homes_without_utf8_keep_runs() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let latin = OsStr::from_bytes(LATIN);
    let home = folder.path().join(latin);
    fs::create_dir(&home).unwrap();
    let mut command = echo(&server.url(), 2, "1s");
    command.env("HOME", &home).env_remove("XDG_DATA_HOME");
    let outcome =
        run(command.envs(["LANG", "LC_ALL", "NO_COLOR", "TERM"].map(|name| (name, latin))), REACTS_WITHIN);
    outcome.assert_held();
    let mut show = throng(["runs", "show", "--format", "json"]);
    let shown = run(show.env("HOME", &home).env_remove("XDG_DATA_HOME"), REACTS_WITHIN);
    assert_eq!(shown.json()["id"], outcome.json()["id"], "{shown}");
    assert!(home.join(".local/share/throng/runs.db").is_file());
}
