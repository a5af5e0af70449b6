//! docs/APP.md: its files are files of apps, its commands run word for word (but for the port), and its examples are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};

/// A run of ten seconds, on a busy machine.
const WITHIN: Duration = Duration::from_secs(90);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of the page that are in this language, in their order.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/APP.md")).unwrap();
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(named) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if named == language {
            blocks.push(block.join("\n") + "\n");
        }
    }
    blocks
}

/// The command lines of the page, without what stands before them.
fn commands() -> Vec<String> {
    let blocks = [blocks(""), blocks("console")].concat();
    let lines = blocks.iter().flat_map(|block| block.lines());
    let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line));
    lines.filter_map(|line| Some(line.strip_prefix("throng ")?.to_owned())).collect()
}

/// A folder in which the commands of the page find what they name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        root().join("examples").canonicalize().unwrap(),
        folder.path().join("examples"),
    )
    .unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "users.csv",
        "login,user,name,password,token,room\nada,ada,Ada,secret,t1,1\nbob,bob,Bob,secret,t2,2\n",
    );
    let smallest = blocks("toml").remove(0);
    write("smallest.toml", &smallest);
    write("app.toml", &smallest);
    folder
}

/// A command line of the page, run in such a folder.
fn run_in(folder: &Path, line: &str, more: &[&str]) -> Outcome {
    let words = shlex(line);
    let mut command = throng([]);
    command.args(&words).args(more).args(["--quiet", "--format", "json"]);
    run(command.current_dir(folder).envs([("JWT_SECRET", "open-sesame"), ("API_KEY", "open-too")]), WITHIN)
}

/// Words as a shell has them, as far as the page needs it.
fn shlex(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

#[test]
fn its_files_are_files_of_apps() {
    let folder = folder();
    let files = blocks("toml");
    assert!(files.len() >= 15, "{}", files.len());
    let key = folder.path().join("jwt.pem");
    let made = std::process::Command::new("openssl")
        .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out"])
        .arg(&key)
        .output();
    let has_key = made.is_ok_and(|output| output.status.success());
    for file in files {
        if file.contains("jwt.pem") && !has_key {
            support::skip("a snippet with a private key", "there is no openssl");
            continue;
        }
        // Parts of a file whose other parts say which data there are.
        let data =
            if file.contains("{data.") && !file.contains("data =") { "data = \"users.csv\"\n" } else { "" };
        fs::write(folder.path().join("part.toml"), data.to_owned() + &file).unwrap();
        let outcome = run_in(folder.path(), "idle ws://127.0.0.1:9/ --app part.toml --clients 1", &[]);
        assert_eq!(outcome.code, Some(1), "nobody is there, and nothing else is wrong: {file}\n{outcome}");
    }
}

#[test]
fn its_commands_run_as_printed() {
    let (folder, server) = (folder(), Server::start(&[]));
    let (mut ran, mut read) = (0, 0);
    for line in commands() {
        if line.starts_with("serve ") {
            continue;
        }
        let is_ours = line.contains("127.0.0.1:9000");
        let line = line.replace("127.0.0.1:9000", &server.address.to_string());
        // Another server's commands are read to their end, and find nobody there.
        let ports =
            ["3000", "3335", "3337", "3338", "3340", "3341", "4000"].map(|port| format!("127.0.0.1:{port}"));
        let line = ports.iter().fold(line, |line, port| line.replace(port.as_str(), "127.0.0.1:9"));
        let outcome = run_in(folder.path(), &line, &[]);
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
    assert!(ran >= 7 && read >= 5, "{ran} were run, and {read} read");
}

#[test]
fn its_limits_and_rules_are_on_what_its_roles_have() {
    let (folder, server) = (folder(), Server::start(&[]));
    let roles = blocks("toml").into_iter().find(|file| file.contains("[[role]]")).unwrap();
    fs::write(folder.path().join("app.toml"), roles).unwrap();
    let block = blocks("sh").into_iter().find(|block| block.contains("--limit 'role.")).unwrap();
    let [run_line, compare_line] = block.lines().collect::<Vec<_>>()[..] else { panic!("{block}") };
    let [run_line, compare_line] = [run_line, compare_line].map(|line| line.strip_prefix("throng ").unwrap());
    let run_line = run_line.replace("127.0.0.1:9000", &server.address.to_string());
    for side in ["before.json", "after.json"] {
        let outcome = run_in(folder.path(), &run_line, &["--people", "200", "--duration", "2s"]);
        // A busy machine may be slower than the page has it; but all was measured.
        assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
        let limits = outcome.json()["steps"][0]["limits"].clone();
        let limits = limits.as_array().expect("limits");
        assert!(limits.len() == 2 && limits.iter().all(|limit| limit["actual"].is_number()), "{outcome}");
        fs::write(folder.path().join(side), &outcome.stdout).unwrap();
    }
    let outcome = run(throng([]).args(shlex(compare_line)).current_dir(folder.path()), WITHIN);
    assert_eq!(outcome.code, Some(5), "one run each does not tell: {outcome}");
    assert!(outcome.stderr.contains("role.listener.delivery.p99 at 200 clients"), "{outcome}");
}

#[test]
fn its_several_kinds_are_published_as_printed() {
    let (folder, server) = (folder(), Server::start(&[]));
    let app =
        blocks("toml").into_iter().find(|file| file.contains("[publish]") && file.contains("[say.news]"));
    fs::write(folder.path().join("app.toml"), app.unwrap()).unwrap();
    let page = fs::read_to_string(root().join("docs/APP.md")).unwrap();
    let section = page.split_once("### Several kinds published").unwrap().1;
    let (_, line) = section.split_once("```sh\nthrong ").unwrap();
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
fn its_examples_are_there_and_started_as_their_pages_say() {
    let page = fs::read_to_string(root().join("docs/APP.md")).unwrap();
    for (at, _) in page.match_indices("](../examples/") {
        let path = &page[at + 5..][..page[at + 5..].find([')', '#']).unwrap()];
        assert!(root().join(path).exists(), "{path}");
    }
    for line in commands().iter().filter(|line| line.contains("examples/")) {
        let words = shlex(line);
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
