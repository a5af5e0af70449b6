//! The GitHub action, its steps run as a runner would run them: against a release in a folder, a pull request
//! at a GitHub of our own, and servers that are slower than the main branch's or not. And docs/CI.md, whose
//! jobs and commands are run as printed.

mod comments;
mod job;
mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::process::Process;
use crate::support::throng::Outcome;
use comments::Comments;
use job::{pairs, yaml};
use repository::{Repository, release};

fn said(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(ToString::to_string).collect()
}

#[test]
fn action_installs_starts_measures_and_stops() {
    let (repository, comments) = (Repository::new(""), Comments::default());
    let releases = tempfile::tempdir().unwrap();
    release(releases.path());
    let releases = format!("file://{}", releases.path().display());
    let job = repository.job(&comments);
    let outcomes = job.action(&repository.inputs(&[("releases", &releases)]));
    assert!(outcomes.iter().all(|outcome| outcome.code == Some(0)), "{}", said(&outcomes));
    assert!(outcomes[0].stdout.contains("installed: throng "), "{}", said(&outcomes));
    assert_eq!(job.file("output"), "outcome=passed\n");
    let title = format!("## ws://127.0.0.1:{}/ws: echo, raw\n", repository.port);
    assert!(job.file("summary").starts_with(&title), "{}", job.file("summary"));
    let kept = fs::read_dir(repository.folder().join("load")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().path()).collect();
    for extension in ["json", "html", "log"] {
        let is_there = kept.iter().any(|path| path.extension().is_some_and(|found| found == extension));
        assert!(is_there, "{extension}: {kept:?}");
    }
    let all = comments.all();
    assert!(all.len() == 1 && all[0].starts_with(&format!("<!-- throng: load -->\n{title}")), "{all:?}");
    repository.assert_stopped();
}

#[test]
fn releases_with_wrong_checksums_do_not_run() {
    let (repository, comments) = (Repository::new(""), Comments::default());
    let folder = tempfile::tempdir().unwrap();
    release(folder.path());
    let sums = folder.path().join(format!("v{}/SHA256SUMS", env!("CARGO_PKG_VERSION")));
    let text = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, format!("{:064}{}", 0, &text[64..])).unwrap();
    let releases = format!("file://{}", folder.path().display());
    for (more, why) in [
        (&[("releases", releases.as_str())][..], " SHA256SUMS "),
        (&[("releases", &releases), ("version", "9.9.9")], "/v9.9.9/SHA256SUMS"),
        (&[("releases", &releases), ("version", "main")], "'main'"),
    ] {
        let outcomes = repository.job(&comments).action(&repository.inputs(more));
        assert!(outcomes[0].code == Some(1) && outcomes[0].stderr.contains(why), "{}", said(&outcomes));
        assert_eq!(outcomes.len(), 3, "installing, and what is always done: {}", said(&outcomes));
        assert!(outcomes[1..].iter().all(|outcome| outcome.code == Some(0)), "{}", said(&outcomes));
    }
    let all = comments.all();
    assert!(all.len() == 1 && all[0].contains("throng has no result"), "{all:?}");
}

#[test]
fn broken_limits_fail_the_job() {
    let (repository, comments) = (Repository::new("").installed(), Comments::default());
    let run = |limit: &str| {
        let command = format!(
            "throng echo ws://127.0.0.1:$PORT/ws --origin http://127.0.0.1:$PORT --clients 3 --duration 300ms --limit '{limit}'"
        );
        let job = repository.job(&comments);
        let outcomes = job.action(&repository.inputs(&[("run", &command)]));
        repository.assert_stopped();
        (job.file("output"), outcomes)
    };
    let (output, outcomes) = run("p50<20s");
    assert_eq!(output, "outcome=passed\n", "{}", said(&outcomes));
    let (output, outcomes) = run("p50<1ns");
    assert_eq!((output.as_str(), outcomes[2].code), ("outcome=failed\n", Some(3)), "{}", said(&outcomes));
    assert!(outcomes[2].stderr.contains("::error title=throng echo::"), "{}", said(&outcomes));
    let all = comments.all();
    assert!(all.len() == 1 && all[0].contains("- **Limit** `p50<1ns`: **broken**"), "{all:?}");
}

#[test]
fn slower_branches_fail_the_job() {
    let (repository, comments) = (Repository::new("--fault delay=1500ms").installed(), Comments::default());
    let job = repository.job(&comments);
    let inputs = [("baseline", "main"), ("prepare", "bin/setup"), ("fail-if", "p50 slower by 10%")];
    let outcomes = job.action(&repository.inputs(&inputs));
    let comment = comments.all().pop().expect("a comment");
    // On a busy machine contention may be the cause, and then nothing is said against the branch.
    let (outcome, code, ruling) = match comment.contains("and that may be the cause") {
        true => ("outcome=unclear\n", Some(0), "- unclear whether rtt.p50 at 5 clients is slower by 10%"),
        false => ("outcome=failed\n", Some(3), "- rtt.p50 at 5 clients is slower by"),
    };
    assert_eq!((job.file("output").as_str(), outcomes[2].code), (outcome, code), "{}", said(&outcomes));
    assert!(comment.contains("## throng: this branch (B) beside main (A)"), "{comment}");
    assert!(comment.contains(ruling), "{comment}");
    assert_eq!(job.file("summary").lines().collect::<Vec<_>>(), comment.lines().skip(1).collect::<Vec<_>>());
    repository.assert_stopped();
}

#[test]
fn undecided_comparisons_pass_by_default() {
    let (repository, comments) = (Repository::new("").installed(), Comments::default());
    for (wanted, code) in [("pass", Some(0)), ("fail", Some(5))] {
        let job = repository.job(&comments);
        // One round tells nothing.
        let inputs = [("baseline", "main"), ("budget", "1ns"), ("unclear", wanted), ("comment", "false")];
        let outcomes = job.action(&repository.inputs(&inputs));
        let found = (job.file("output"), outcomes[2].code);
        assert_eq!(found, ("outcome=unclear\n".to_owned(), code), "{}", said(&outcomes));
        assert!(job.file("summary").contains("- unclear whether "), "{}", job.file("summary"));
        repository.assert_stopped();
    }
    assert!(comments.all().is_empty(), "nobody asked for them");
}

#[test]
fn failed_starts_show_the_servers_output() {
    let (repository, comments) = (Repository::new("").installed(), Comments::default());
    let job = repository.job(&comments);
    let inputs = [("serve", "echo no database; exit 1"), ("wait-for", "1s")];
    let outcomes = job.action(&repository.inputs(&inputs));
    assert_eq!(outcomes[2].code, Some(1), "{}", said(&outcomes));
    assert!(outcomes[2].stdout.contains("no database"), "{}", said(&outcomes));
    assert_eq!(job.file("output"), "outcome=failed\n");
}

#[test]
fn comments_tell_of_one_use_alone() {
    let (repository, comments) = (Repository::new("").installed(), Comments::default());
    let job = repository.job(&comments);
    for (more, text) in
        [(&[][..], "## ws://"), (&[("baseline", "nowhere"), ("header", "second")], "throng has no result")]
    {
        let outcomes = job.action(&repository.inputs(more));
        let comment = comments.all().pop().expect("a comment");
        assert!(comment.contains(text), "{comment}{}", said(&outcomes));
        repository.assert_stopped();
    }
}

/// The page's names of servers and runs, and their values here: other ports, and less of everything.
fn page(repository: &Repository) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CI.md");
    let (first, second) = (repository.port.to_string(), (repository.port + 1).to_string());
    let changes = [
        ("3000", first.as_str()),
        ("4000", &second),
        ("--clients 500", "--clients 5"),
        ("--duration 20s", "--duration 500ms"),
        ("--budget 20m", "--budget 1ns"),
        ("p99<200ms", "p99<20s"),
    ];
    changes.iter().fold(fs::read_to_string(page).unwrap(), |text, (from, to)| text.replace(from, to))
}

/// The blocks of a kind.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let opening = format!("\n```{kind}\n");
    page.split(&opening).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

#[test]
fn the_page_s_jobs_run_as_printed() {
    let (repository, comments) = (Repository::new("").installed(), Comments::default());
    let page = page(&repository);
    let workflows = blocks(&page, "yaml");
    assert_eq!(workflows.len(), 2, "with the action, and without");
    for workflow in workflows {
        let job = repository.job(&comments);
        let workflow = yaml(workflow);
        let mut servers: Vec<Process> = Vec::new();
        for step in workflow["jobs"]["load"]["steps"].as_array().expect("steps") {
            let with = pairs(&step["with"]);
            let outcomes = match (step["uses"].as_str(), step["run"].as_str()) {
                (Some("actions/checkout@v4"), None) => continue, // the repository is there
                (Some("actions/upload-artifact@v4"), None) => {
                    let folder = repository.folder().join(&with["path"]);
                    assert!(fs::read_dir(&folder).unwrap().count() > 0, "nothing to keep in {folder:?}");
                    fs::remove_dir_all(folder).unwrap();
                    continue;
                }
                (Some(uses), None) if uses.starts_with("OWNER/throng@v") => {
                    let here = [("port", repository.port.to_string()), ("budget", "1ns".to_owned())];
                    let here = here.into_iter().map(|(name, value)| (name.to_owned(), value));
                    job.action(&with.into_iter().chain(here).collect())
                }
                (None, Some(script)) if script.ends_with('&') => {
                    servers.push(Process::start(&mut job.command(script, &BTreeMap::new())));
                    continue;
                }
                (None, Some(script)) => vec![job.script(script, &BTreeMap::new())],
                other => panic!("what is {other:?}?"),
            };
            assert!(outcomes.iter().all(|outcome| outcome.code == Some(0)), "{}", said(&outcomes));
        }
        assert!(
            job.file("summary").contains("/cable: broadcast, app/actioncable\n"),
            "{}",
            job.file("summary")
        );
    }
    assert!(comments.all()[0].contains("this branch (B) beside main (A)"), "{:?}", comments.all());
}

#[test]
fn the_page_s_commands_run_as_printed() {
    let (repository, comments) = (Repository::new("").installed(), Comments::default());
    let page = page(&repository);
    let _servers: Vec<Process> = [repository.port, repository.port + 1]
        .map(|port| {
            let mut rails = Command::new(repository.folder().join("bin/rails"));
            let server = Process::start(rails.arg("server").env("PORT", port.to_string()));
            server.listening_at(([127, 0, 0, 1], port).into())
        })
        .into();
    let job = repository.job(&comments);
    let commands = blocks(&page, "console");
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let command = command.strip_prefix("$ ").expect("a prompt");
        let outcome = job.script(command, &BTreeMap::new());
        assert_eq!(outcome.code, Some(0), "{command}\n{outcome}");
    }
    let xml = fs::read_to_string(repository.folder().join("load.xml")).unwrap();
    assert!(xml.contains("failures=\"0\""), "{xml}");
}
