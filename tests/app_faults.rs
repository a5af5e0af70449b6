//! App files that mistake what the server says: the file is named, and no server, as far as what is missing came.

use std::fs;
use std::time::Duration;

use crate::support::app::App;
use crate::support::throng::{Server, errors_of, run, sum_of, throng};

/// A server in this mode, if it can be had, with this file.
fn start(mode: &str, file: &str) -> Option<App> {
    App::on_node("frames", mode, file)
}

#[test]
fn unmatched_messages_are_the_files_fault() {
    let file = "[broadcast]\nsend = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/type\" = \"update\" } }\n";
    let Some(app) = start("batch", file) else { return };
    let outcome = app.run("broadcast", "/", "--clients 10 --rate 50 --duration 1s --drain-timeout 1s");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    assert_eq!((errors_of(&results, "unmatched"), sum_of(&results, "missing")), (500, 500), "{outcome}");
    assert_ne!(results["verdict"]["bottleneck"], "server", "{outcome}");
    assert_eq!(results["verdict"]["claims"]["breaks"], "breaks.undecided", "{outcome}");
    let example = results["steps"][0]["counts"]["errors"]["unmatched"]["example"].as_str().unwrap();
    assert!(example.contains("app.toml:3") && example.contains(r#""/type" = "update""#), "{outcome}");
}

/// One of two hundred is really lost, and no other is looked for.
#[test]
fn lost_copies_hide_no_mistake_of_the_file() {
    let file = "[broadcast]\nsend = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/type\" = \"update\" } }\n";
    let Some(app) = start("leaky", file) else { return };
    let outcome = app.run("broadcast", "/", "--clients 20 --rate 40 -d 1s --drain-timeout 1s --no-preflight");
    let results = outcome.json();
    let cause = &results["steps"][0]["cause"];
    assert_eq!((outcome.code, &cause["key"]), (Some(3), &"unknown.unmatched".into()), "{outcome}");
    assert_eq!((&cause["messages"], &cause["lost"]), (&796.into(), &4.into()), "{outcome}");
}

#[test]
fn rules_that_take_copies_are_named() {
    let copy = "[broadcast]\nsend = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/type\" = \"update\" } }\n";
    for (rule, key) in [
        ("[[ignore]]\nwhen = { contains = '\"type\"' }\n", "taken_by_ignore"),
        ("[push.all]\nwhen = { contains = '\"type\"' }\n", "taken_by_push"),
        ("[[answer]]\nwhen = { contains = '\"type\"' }\nsend = '{\"text\":\"\"}'\n", "taken_by_answer"),
    ] {
        let Some(app) = start("batch", &format!("{copy}{rule}")) else { return };
        let flags = "--clients 10 --rate 20 -d 1s --drain-timeout 1s --no-preflight";
        let outcome = app.run("broadcast", "/", flags);
        let results = outcome.json();
        let cause = &results["steps"][0]["cause"];
        assert_eq!((outcome.code, &cause["key"]), (Some(3), &"unknown.taken".into()), "{outcome}");
        assert_eq!((&cause["messages"], &cause["lost"]), (&200.into(), &0.into()), "{outcome}");
        assert_eq!((errors_of(&results, key), sum_of(&results, "missing")), (200, 200), "{outcome}");
    }
}

/// The server makes its own message of `text`, and hands on nothing else.
#[test]
fn copies_without_ids_are_the_files() {
    let file = "[broadcast]\nsend = '{\"text\":\"hello\",\"ref\":\"{id}\"}'\n\
                copy = { json = { \"/type\" = \"said\" } }\n";
    let Some(app) = start("leaky", file) else { return };
    let flags = "--clients 10 --rate 10 -d 1s --drain-timeout 1s --no-preflight";
    let outcome = app.run("broadcast", "/", flags);
    let results = outcome.json();
    let cause = &results["steps"][0]["cause"];
    assert_eq!((outcome.code, &cause["key"]), (Some(3), &"unknown.without_id".into()), "{outcome}");
    assert_eq!((&cause["messages"], &cause["lost"]), (&100.into(), &0.into()), "{outcome}");
    assert_eq!(results["verdict"]["claims"]["breaks"], "breaks.undecided", "{outcome}");
}

#[test]
fn rules_that_take_other_messages_are_silent() {
    let file = "[broadcast]\nsend = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/type\" = \"updates\" } }\n\
                [[ignore]]\nwhen = { json = { \"/type\" = \"taken\" } }\n";
    let Some(app) = start("confirmed", file) else { return };
    let outcome = app.run("broadcast", "/", "--clients 10 --rate 20 -d 1s --no-preflight");
    let results = outcome.json();
    assert_eq!((errors_of(&results, "taken_by_ignore"), sum_of(&results, "missing")), (0, 0), "{outcome}");
    assert!(app.counted("signed") >= 20, "the server confirms each: {outcome}");
}

/// The rule takes confirmations, and as many copies are lost, which it has no part in.
#[test]
fn confirmations_hide_no_lost_copies() {
    let file = "[broadcast]\nsend = '{\"text\":\"{id}\"}'\ncopy = { json = { \"/type\" = \"updates\" } }\n\
                [[ignore]]\nwhen = { json = { \"/type\" = \"taken\" } }\n";
    let Some(app) = start("confirmed-lossy", file) else { return };
    let flags = "--clients 10 --rate 20 -d 1s --drain-timeout 1s --no-preflight";
    let outcome = app.run("broadcast", "/", flags);
    let results = outcome.json();
    assert_eq!((app.counted("signed"), sum_of(&results, "missing")), (20, 20), "{outcome}");
    let cause = &results["steps"][0]["cause"]["key"];
    assert_eq!((outcome.code, errors_of(&results, "taken_by_ignore")), (Some(3), 0), "{outcome}");
    assert_ne!(cause, "unknown.taken", "{outcome}");
    assert_eq!(results["steps"][0]["losses"][0]["key"], "loss.missing", "the senders have theirs: {outcome}");
}

/// The file's rooms are of five by number, and the rooms that clients join are those of a column.
#[test]
fn column_rooms_are_the_files_fault() {
    const FILE: &str = r#"
data = "teams.csv"
[room.team]
size = 5
join = { send = '{"type":"join","room":"{person.room}"}', expect = { json = { "/type" = "joined" } } }
[say.line]
body = '{"type":"broadcast","room":"{person.room}","payload":"{id}"}'
copy = { json = { "/type" = "broadcast" } }
ack = { json = { "/type" = "broadcastResult" } }
"#;
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("teams.csv"), "room\n1\n2\n3\n4\n").unwrap();
    let run_file = |file: &str| {
        fs::write(folder.path().join("app.toml"), file).unwrap();
        let url = format!("ws://{}/ws", server.address);
        let mut command =
            throng(["run", "app.toml", &url, "--format", "json", "--no-store", "--no-preflight"]);
        command.args(["--clients", "20", "--rate", "20", "-d", "1s", "--drain-timeout", "1s"]);
        run(command.current_dir(folder.path()), Duration::from_secs(60))
    };
    let outcome = run_file(FILE);
    let results = outcome.json();
    let cause = &results["steps"][0]["cause"];
    assert_eq!((outcome.code, &cause["key"]), (Some(3), &"unknown.rooms".into()), "{outcome}");
    assert_eq!(cause["leaked"], sum_of(&results, "leaked"), "{outcome}");
    let proposed = r#"of = "{person.room}""#;
    assert!(cause["example"].as_str().unwrap().contains(proposed), "{outcome}");
    let outcome = run_file(&FILE.replace("size = 5", proposed));
    assert_eq!((sum_of(&outcome.json(), "leaked"), sum_of(&outcome.json(), "missing")), (0, 0), "{outcome}");
}
