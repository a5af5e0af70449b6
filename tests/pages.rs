//! The HTML report in a real browser, and its script.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use report::Published;
use results::Unit;
use tempfile::TempDir;

use crate::support::arena::{Arena, SERVE, tiny_suite};
use crate::support::browser::chromium;
use crate::support::node::Scripts;
use crate::support::page::root;
use crate::support::target::{Unavailable, complete};
use crate::support::throng::{Server, run, throng};
use crate::support::{retry, skip};

pub(crate) const RUN_MAX: Duration = Duration::from_secs(60);
/// A debug build computes for 15 s over the largest record, and shares two cores with seven other tests.
const RECORD_MAX: Duration = Duration::from_secs(240);

/// The browser's path, and the scripts that drive it.
pub(crate) fn browser() -> Option<(Scripts, String)> {
    let chromium = chromium("the pages in a browser")?;
    match Scripts::install("pages") {
        Ok(scripts) => Some((scripts, chromium)),
        Err(unavailable) => {
            skip("the pages in a browser", &unavailable.0);
            None
        }
    }
}

/// Measures with this command line; the results file in a directory of its own.
pub(crate) fn measure(arguments: &[&str]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = throng([]);
    command.args(arguments).args(["--quiet", "--no-store", "--out"]).arg(directory.path());
    let outcome = run(&mut command, RUN_MAX);
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    let mut entries = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let results = entries
        .find(|path| path.extension().is_some_and(|extension| extension == "json"))
        .expect("a results file");
    (directory, results)
}

#[test]
fn a_report_works_in_a_browser() {
    let Some((scripts, chromium)) = browser() else { return };
    let (directory, path) = measure(&[
        "broadcast",
        "--step-size=20",
        "--total-steps=2",
        "--concurrent=2",
        "--duration=2s",
        "--limit-rtt=10s",
    ]);
    // The run of somebody who means harm.
    let mut results: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let evil = "</script><img src=x onerror='window.pwned=1'><script>window.pwned=1</script>";
    results["target"]["name"] = evil.into();
    results["steps"][1]["marks"] = serde_json::json!([evil]);
    results["steps"][1]["counts"]["errors"][evil] =
        serde_json::json!({"count": 3, "first_s": 0.1, "last_s": 0.2, "example": evil});
    std::fs::write(&path, results.to_string()).unwrap();
    let page = directory.path().join("report.html");
    let outcome = run(throng(["report"]).arg(&path).arg("--html").arg(&page), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(std::fs::metadata(&page).unwrap().len() < 1_000_000);
    let charts = [
        "percentiles",
        "distribution",
        "steps",
        "boxes",
        "errors",
        "latency-over-time",
        "rates",
        "resources",
        "threads",
        "density",
    ];
    let page = page.to_str().unwrap();
    scripts.run("report.js", &[&[&chromium, page, "all"][..], &charts].concat());
}

/// Charts that one run does not have: a sweep, the memory of connections, repeats, and figures that others published.
#[test]
fn the_other_charts_work_in_a_browser() {
    let Some((scripts, chromium)) = browser() else { return };
    let read = |(_directory, path): (TempDir, PathBuf)| {
        results::file::read(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    // So many that the server's memory grows.
    let idle = ["idle", "--clients=4000", "--connect-rate=1000", "--duration=1s"];
    let mut idle_run = read(measure(&idle));
    if idle_run.verdict.memory_per_client.is_none() {
        retry(&idle.join(" "), "memory has no slope beside other programs");
        idle_run = read(measure(&idle));
    }
    let flapping =
        read(measure(&["broadcast", "--clients=20", "--rate=50", "--duration=2s", "--flap=500ms..1s:300ms"]));
    let sweep = read(measure(&["saturate", "--levels=4,8", "--duration=400ms", "--limit=sent_rate<100"]));
    let published =
        [("rtt.p95", Unit::Ms, 47.5), ("server.rss", Unit::Bytes, 3e7)].map(|(figure, unit, then)| {
            let (scenario, target, figure) = ("echo".into(), "throng".into(), figure.into());
            Published { scenario, target, figure, unit, then, now: Some(then / 2.0), sign: "" }
        });
    let page = report::html(&report::Page {
        runs: &[idle_run.clone(), sweep],
        repeats: &[vec![idle_run]],
        published: &published,
        home: None,
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    std::fs::write(&path, page).unwrap();
    let charts =
        ["percentiles", "saturation", "saturation-received", "boxes", "then-and-now", "handshakes", "memory"];
    // What a page has of itself, the other test looks at in all themes and widths.
    let shown = |charts: &[&str]| {
        scripts.run("report.js", &[&[&chromium, path.to_str().unwrap(), "some"][..], charts].concat());
    };
    shown(&charts);
    let server = Server::start(&["--fault", "service=5ms"]);
    let slow = read(measure(&["echo", &server.url(), "--clients=10", "--rate=100", "--duration=1s"]));
    for (run, charts) in [(flapping, &["presence", "ages", "absences"][..]), (slow, &["account"])] {
        let page = report::Page { runs: &[run], repeats: &[], published: &[], home: None };
        std::fs::write(&path, report::html(&page)).unwrap();
        shown(charts);
    }
}

/// The newest record of fifty servers, with all that real ones do.
#[test]
fn fifty_servers_page_works_in_a_browser() {
    let Some((scripts, chromium)) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let record = root().join("records/2026-11-26/2026");
    let outcome = run(throng(["report"]).arg(record).arg("--html").arg(&page), RECORD_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    scripts.run("shootout.js", &[&chromium, page.to_str().unwrap(), "Rust"]);
}

/// Three servers of two languages, of which one has a name that means harm.
#[test]
fn a_shootouts_page_works_in_a_browser() {
    let Some((scripts, chromium)) = browser() else { return };
    let flags = r#"clients = 8, rate = 200, duration = "1s", drain-timeout = "1s""#;
    let suite = tiny_suite(2, flags, &["rtt.p95", "rate", "server.cpu"]).replace("interval = \"20ms\", ", "");
    let arena = Arena::new(&suite.replace("repeats = 2", "repeats = 2\ncontrol = true"), SERVE);
    let evil = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script>";
    std::fs::write(arena.path("targets/sh-copy/version"), format!("1.0{evil}")).unwrap();
    let manifest = std::fs::read_to_string(arena.path("targets/sh-copy/target.toml")).unwrap();
    std::fs::write(arena.path("targets/sh-copy/target.toml"), manifest.replace(r"(\d\S+)", "(.+)")).unwrap();
    let mut command = throng(["shootout", "tiny", "--out", "kept"]);
    let outcome = run(command.current_dir(arena.folder()), RECORD_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let written = arena.path("kept/report.html");
    scripts.run("shootout.js", &[&chromium, written.to_str().unwrap(), "sh"]);
    let again = arena.path("ranking.html");
    let outcome = run(throng(["report"]).arg(arena.path("kept")).arg("--html").arg(&again), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(written).unwrap(), "whoever writes it");
    let runs = std::fs::read_to_string(arena.path("kept/echo/report.html")).unwrap();
    assert!(runs.contains("2 runs compared") && runs.contains("..&#x2f;report.html"), "a way back");
}

/// Runs npm where the page's sources are, whose tools are installed once; `None`: they are unavailable.
fn page_npm() -> Option<impl Fn(&[&str])> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    let npm = |arguments: &[&str]| complete(Command::new("npm").args(arguments).current_dir(page_folder()));
    let install = || npm(&["ci", "--no-audit", "--no-fund"]).map(drop).map_err(|Unavailable(why)| why);
    match INSTALLED.get_or_init(install) {
        Ok(()) => Some(move |arguments: &[&str]| match npm(arguments) {
            Ok(_) => {}
            Err(Unavailable(why)) => panic!("{why}"),
        }),
        Err(why) => {
            skip("the report's script", why);
            None
        }
    }
}

fn page_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/page")
}

#[test]
fn the_page_writes_quantities_as_the_program_does() {
    let Some(npm) = page_npm() else { return };
    let built = tempfile::tempdir().unwrap();
    let out = built.path().to_str().unwrap();
    let options = ["--ignoreConfig", "--target", "es2022", "--module", "esnext", "--outDir", out];
    npm(&[&["exec", "--", "tsc", "src/format.ts"], &options[..]].concat());
    std::fs::write(built.path().join("package.json"), r#"{"type": "module"}"#).unwrap();
    let mut node = Command::new("node");
    node.arg(root().join("tests/clients/pages/format.js")).arg(built.path().join("format.js"));
    let said = complete(node.arg(root().join("crates/results/src/format.json")));
    assert!(said.is_ok(), "{}", said.unwrap_err().0);
}

#[test]
fn the_committed_script_is_what_its_sources_give() {
    let Some(npm) = page_npm() else { return };
    let built = tempfile::tempdir().unwrap();
    npm(&["run", "build", "--", "--outDir", built.path().to_str().unwrap(), "--emptyOutDir"]);
    let page = page_folder();
    for file in ["report.js", "report.sha256"] {
        let committed = std::fs::read(page.join("dist").join(file)).unwrap();
        let is_same = committed == std::fs::read(built.path().join(file)).unwrap();
        assert!(is_same, "dist/{file} is not what src/ gives: run make page, and commit it");
    }
}

#[test]
fn a_run_ends_by_naming_its_report() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = throng(["echo", "--clients", "2", "--interval", "100ms", "--duration", "300ms"]);
    let outcome = run(command.env("XDG_DATA_HOME", directory.path()), RUN_MAX);
    let last = outcome.stderr.lines().last().unwrap_or_default();
    let path = last.strip_prefix("throng: report ").unwrap_or_else(|| panic!("{outcome}"));
    assert!(Path::new(path).starts_with(directory.path()), "{path}");
    assert!(std::fs::read_to_string(path).unwrap().contains("PASSED at 2 clients"));

    let mut quiet =
        throng(["echo", "--clients", "2", "--interval", "100ms", "--duration", "300ms", "--no-report"]);
    let outcome = run(quiet.env("XDG_DATA_HOME", directory.path()), RUN_MAX);
    assert!(!outcome.stderr.contains("throng: report"), "{outcome}");
}
