//! Streamed answers that an app's file asks for: its logins, its users' prompts, and its errors.

use super::{counts, journal, node};
use crate::support::requests::RUN_MAX;
use crate::support::throng::{Outcome, run, throng};

/// An app's file, and the rows of its two users.
const APP: &str = r#"
[people]
data = "users.csv"

[[login]]
post = "/login"
json = { name = "{person.name}" }
keep = { key = "json:/key" }

[connect]
path = "/sse"
headers = { Authorization = "Bearer {key}" }

[stream]
body = '{"prompt":"{person.prompt}","key":"{key}"}'
end = "[DONE]"
order = "/n"

[load]
people = 2
"#;

/// Writes the file into a folder of its own.
fn app_file(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.toml"), text).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,prompt\nada,\"say \"\"hi\"\"\"\nbob,wait\n")
        .unwrap();
    folder
}

/// Runs a verb with the file.
fn with_app(folder: &tempfile::TempDir, words: &str) -> Outcome {
    let mut command = throng([]);
    command.args(words.split_whitespace()).args(["--format", "json", "--no-store"]);
    run(command.current_dir(folder.path()), RUN_MAX)
}

#[test]
fn an_app_file_logs_in_before_it_asks() {
    let Some((_node, [first, second])) = node() else { return };
    let folder = app_file(APP);
    for (verb, people) in [("run app.toml", ""), ("stream --app app.toml", "-c 2")] {
        let before = journal(first);
        let (verb, url) = verb.split_once(' ').unwrap();
        let outcome = with_app(&folder, &format!("{verb} {url} http://{first} {people} -n 8"));
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(counts(&results, ["events", "received", "unmarked"]), [8 * 20, 8, 0], "{outcome}");
        assert_eq!(results["steps"][0]["handshake_parts"]["login"]["count"], 2, "{outcome}");
        let journal = journal(first);
        for (user, body) in [
            ("Bearer key-ada user=ada", r#"{"prompt":"say \"hi\"","key":"key-ada"}"#),
            ("Bearer key-bob user=bob", r#"{"prompt":"wait","key":"key-bob"}"#),
        ] {
            let added = |part: &str, key: &str| {
                journal[part][key].as_u64().unwrap_or(0) - before[part][key].as_u64().unwrap_or(0)
            };
            assert_eq!([added("users", user), added("bodies", body)], [4, 4], "{verb}: {journal:#}");
        }
    }
    let outcome = with_app(&folder, &format!("stream http://{second} --app app.toml --http2"));
    outcome.assert_failed(2, "usage.http2", &["[[login]]"]);
}

#[test]
fn an_app_file_of_streams_has_no_messages() {
    for (from, to, key, name) in [
        ("[load]", "[echo]\nsend = \"{id}\"\n[load]", "usage.file", "app.toml:19:2"),
        ("order", "tokens = \"text\"\norder", "usage.file", "app.toml:17:10"),
        ("order", "model = \"m\"\norder", "usage.file", "api"),
        ("[DONE]", "", "usage.file", "app.toml:16:7"),
        ("{person.prompt}", "{person.none}", "usage.file", "app.toml:15:8"),
        ("[people]", "protocol = \"sse\"\n[people]", "usage.file", "app.toml:2:1"),
    ] {
        assert!(APP.contains(from), "{from}");
        let folder = app_file(&APP.replacen(from, to, 1));
        with_app(&folder, "run app.toml http://127.0.0.1:9").assert_failed(2, key, &[name]);
    }
    let folder = app_file(APP);
    for (words, key) in [
        ("run app.toml http://127.0.0.1:9 --search", "usage.search"),
        ("echo ws://127.0.0.1:9 --app app.toml", "usage.app"),
        ("http http://127.0.0.1:9 --app app.toml", "usage.app"),
        ("stream http://127.0.0.1:9 --prompt hi", "usage.prompt"),
        ("stream http://127.0.0.1:9 --end=", "usage.end.value_validation"),
        ("stream http://127.0.0.1:9 --end event:", "usage.end.value_validation"),
    ] {
        with_app(&folder, words).assert_failed(2, key, &[]);
    }
}
