//! docs/APP.md and docs/PUBLISHING.md: their files are files of apps, their commands run word for word (but
//! for port and duration), and their examples are there.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support;
use crate::support::page::{Page, WITHIN, elsewhere, root, run_in, words};
use crate::support::throng::{Server, run, sum_of, throng};

/// A load of a second, where the page leaves it to throng how long it takes.
const SHORT: [&str; 2] = ["--duration", "1s"];

fn page() -> Page {
    Page::open("docs/APP.md")
}

fn publishing() -> Page {
    Page::open("docs/PUBLISHING.md")
}

/// A folder in which the commands of the page find what they name.
fn folder() -> tempfile::TempDir {
    let folder = support::page::folder();
    let smallest = page().blocks("toml").remove(0);
    for name in ["smallest.toml", "app.toml"] {
        fs::write(folder.path().join(name), &smallest).unwrap();
    }
    folder
}

#[test]
fn its_files_are_files_of_apps() {
    let folder = folder();
    let key = folder.path().join("jwt.pem");
    let made = std::process::Command::new("openssl")
        .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out"])
        .arg(&key)
        .output();
    let has_key = made.is_ok_and(|output| output.status.success());
    if !has_key {
        support::skip("a snippet with a private key", "there is no openssl");
    }
    let is_left_out = |file: &str| file.contains("jwt.pem") && !has_key;
    let counts = [page(), publishing()].map(|page| page.assert_files_are_apps(folder.path(), is_left_out));
    assert!(counts[0] >= 15 && counts[1] >= 2, "{counts:?}");
}

/// Names of keys, at every depth of a schema.
fn keys_of(schema: &Value, keys: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        keys.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => {
            for member in members.values() {
                keys_of(member, keys);
            }
        }
        Value::Array(items) => {
            for item in items {
                keys_of(item, keys);
            }
        }
        _ => {}
    }
}

#[test]
fn it_has_each_key_of_the_schema() {
    let schema = fs::read_to_string(root().join("docs/app-file.schema.json")).unwrap();
    let mut keys = BTreeSet::new();
    keys_of(&serde_json::from_str(&schema).unwrap(), &mut keys);
    assert!(keys.len() > 60, "{keys:?}");
    // Those of [stream] have a page of their own.
    let text = page().text + &Page::open("docs/STREAMS.md").text;
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let named: BTreeSet<&str> =
        spans.flat_map(|span| span.split(|c: char| !c.is_ascii_lowercase() && c != '_')).collect();
    let missing: Vec<&String> = keys.iter().filter(|key| !named.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn its_commands_run_as_printed() {
    let (folder, server) = (folder(), Server::start(&[]));
    let (mut ran, mut read) = (0, 0);
    for page in [page(), publishing()] {
        for line in page.commands() {
            let is_ours = line.contains("127.0.0.1:9000");
            if let Some(file) = page.file_before(&line).filter(|_| line.contains(" app.toml")) {
                fs::write(folder.path().join("app.toml"), file).unwrap();
            }
            let line = line.replace("127.0.0.1:9000", &server.address.to_string());
            // Another server's commands are read to their end, and find nobody there.
            let line = if is_ours { line } else { elsewhere(&line) };
            let more = if line.contains(" --duration ") { &[][..] } else { &SHORT };
            let outcome = run_in(folder.path(), &line, more);
            if is_ours {
                ran += 1;
                outcome.assert_held();
                let results = outcome.json();
                assert!(sum_of(&results, "connected") > 0, "{line}: {outcome}");
                assert_eq!(sum_of(&results, "expected"), sum_of(&results, "received"), "{line}: {outcome}");
            } else {
                read += 1;
                assert_eq!(outcome.code, Some(1), "{line}: {outcome}");
            }
        }
    }
    assert!(ran >= 7 && read >= 5, "{ran} were run, and {read} read");
}

#[test]
fn limits_of_the_page_match_its_roles() {
    let (folder, server) = (folder(), Server::start(&[]));
    let roles = page().blocks("toml").into_iter().find(|file| file.contains("[[role]]")).unwrap();
    fs::write(folder.path().join("app.toml"), roles).unwrap();
    let block = page().blocks("sh").into_iter().find(|block| block.contains("--limit 'role.")).unwrap();
    let [run_line, compare_line] = block.lines().collect::<Vec<_>>()[..] else { panic!("{block}") };
    let [run_line, compare_line] = [run_line, compare_line].map(|line| line.strip_prefix("throng ").unwrap());
    let run_line = run_line.replace("127.0.0.1:9000", &server.address.to_string());
    for side in ["before.json", "after.json"] {
        let outcome = run_in(folder.path(), &run_line, &["--clients", "200", "--duration", "2s"]);
        // A busy machine may be slower than the page has it; but all was measured.
        assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
        let limits = outcome.json()["steps"][0]["limits"].clone();
        let limits = limits.as_array().expect("limits");
        assert!(limits.len() == 2 && limits.iter().all(|limit| limit["actual"].is_number()), "{outcome}");
        fs::write(folder.path().join(side), &outcome.stdout).unwrap();
    }
    let outcome = run(throng([]).args(words(compare_line)).current_dir(folder.path()), WITHIN);
    assert_eq!(outcome.code, Some(5), "one run each does not tell: {outcome}");
    assert!(outcome.stderr.contains("role.listener.delivery.p99 at 200 clients"), "{outcome}");
}

#[test]
fn its_several_kinds_are_published_as_printed() {
    let (folder, server) = (folder(), Server::start(&[]));
    let app = publishing().blocks("toml").into_iter().find(|file| file.contains("[say.news]"));
    fs::write(folder.path().join("app.toml"), app.unwrap()).unwrap();
    let page = publishing().text;
    let (_, line) = page.split_once("```sh\nthrong ").unwrap();
    let line = line.lines().next().unwrap().replace("127.0.0.1:9000", &server.address.to_string());
    let outcome = run_in(folder.path(), &line, &[]);
    let results = outcome.json();
    let says = results["steps"][0]["says"].as_array().unwrap_or_else(|| panic!("{outcome}"));
    let counts = says.iter().map(|say| {
        let count = |name: &str| say["counts"][name].as_u64().unwrap_or(0);
        (say["name"].as_str().unwrap(), count("sent"), count("received"))
    });
    let [(news, told, heard), (note, noted, read)] = counts.collect::<Vec<_>>()[..] else {
        panic!("{outcome}")
    };
    assert_eq!((news, heard, note, read), ("news", 10 * told, "note", noted), "{outcome}");
    assert!(told > 0 && told + noted == 100, "{outcome}");
}

#[test]
fn examples_of_the_page_exist_and_start() {
    for line in page().commands().iter().filter(|line| line.contains("examples/")) {
        let words = words(line);
        let file = words.iter().find(|word| word.starts_with("examples/")).unwrap();
        let (folder, app) = file.rsplit_once('/').unwrap();
        // What has no page of its own says at its start how it is run.
        let page = Some(root().join(folder).join("README.md")).filter(|page| page.exists());
        let readme = fs::read_to_string(page.unwrap_or_else(|| root().join(file))).unwrap();
        let url = words.iter().find(|word| word.starts_with("ws://")).unwrap();
        let ways = [format!("{url} --app {app}"), format!("run {app} {url}")];
        assert!(ways.iter().any(|way| readme.contains(way)), "{line}: {folder}/README.md has the same URL");
    }
}
