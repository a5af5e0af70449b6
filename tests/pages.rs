//! The HTML report and the pages of `throng ui`, in a real browser and as an attacker would ask for them.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use report::Published;
use results::Unit;
use support::node::Scripts;
use support::process::Process;
use support::target::{Unavailable, complete};
use support::throng::{run, throng};
use support::{free_address, is_listening, skip, wait_until};
use tempfile::TempDir;

const RUN_MAX: Duration = Duration::from_secs(60);

/// The browser's path, and the scripts that drive it.
fn browser() -> Option<(Scripts, String)> {
    let Some(chromium) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(path_of)
    else {
        skip("the pages in a browser", "needs chromium (apt install chromium)");
        return None;
    };
    match Scripts::install("pages") {
        Ok(scripts) => Some((scripts, chromium)),
        Err(unavailable) => {
            skip("the pages in a browser", &unavailable.0);
            None
        }
    }
}

fn path_of(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(program));
    Some(places.find(|place| place.is_file())?.to_str()?.to_owned())
}

/// Measures with this command line; the results file in a directory of its own.
fn measure(arguments: &[&str]) -> (TempDir, PathBuf) {
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
    scripts.run("report.js", &[&[&chromium, page][..], &charts].concat());
}

/// What one run does not have: a sweep, the memory of connections, repeats, and figures that others published.
#[test]
fn the_other_charts_work_in_a_browser() {
    let Some((scripts, chromium)) = browser() else { return };
    let read = |(_directory, path): (TempDir, PathBuf)| {
        results::file::read(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    // So many that the server's memory grows.
    let idle = read(measure(&["idle", "--clients=4000", "--connect-rate=1000", "--duration=1s"]));
    let sweep = read(measure(&["saturate", "--levels=4,8", "--duration=400ms", "--limit=sent_rate<100"]));
    let published =
        [("rtt.p95", Unit::Ms, 47.5), ("server.rss", Unit::Bytes, 3e7)].map(|(figure, unit, then)| {
            let (scenario, target, figure) = ("echo".into(), "throng".into(), figure.into());
            Published { scenario, target, figure, unit, then, now: Some(then / 2.0) }
        });
    let page = report::html(&report::Page {
        runs: &[idle.clone(), sweep],
        repeats: &[vec![idle]],
        published: &published,
        home: None,
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    std::fs::write(&path, page).unwrap();
    let charts =
        ["percentiles", "saturation", "saturation-received", "boxes", "then-and-now", "handshakes", "memory"];
    scripts.run("report.js", &[&[&chromium, path.to_str().unwrap()][..], &charts].concat());
}

#[test]
fn the_committed_script_is_what_its_sources_give() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/page");
    let npm = |arguments: &[&str]| complete(Command::new("npm").args(arguments).current_dir(&page));
    if let Err(unavailable) = npm(&["ci", "--no-audit", "--no-fund"]) {
        return skip("the report's script", &unavailable.0);
    }
    let built = tempfile::tempdir().unwrap();
    let out = built.path().to_str().unwrap();
    if let Err(Unavailable(why)) = npm(&["run", "build", "--", "--outDir", out, "--emptyOutDir"]) {
        panic!("{why}");
    }
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
    assert!(std::fs::read_to_string(path).unwrap().contains("How much does it hold?"));

    let mut quiet =
        throng(["echo", "--clients", "2", "--interval", "100ms", "--duration", "300ms", "--no-report"]);
    let outcome = run(quiet.env("XDG_DATA_HOME", directory.path()), RUN_MAX);
    assert!(!outcome.stderr.contains("throng: report"), "{outcome}");
}

/// A running `throng ui` on a store of its own.
struct Ui {
    _process: Process,
    address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Ui {
    fn start() -> Ui {
        let directory = tempfile::tempdir().unwrap();
        let address = free_address();
        let mut command = throng(["ui", "--listen", &address.to_string(), "--store"]);
        let process = Process::start(command.arg(directory.path().join("runs.db")));
        assert!(wait_until(Duration::from_secs(10), || is_listening(address)), "throng ui does not listen");
        Ui { _process: process, address, _directory: directory }
    }

    /// The status and the rest of the answer to a request with these lines after the first.
    fn ask(&self, request: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        (status, answer)
    }
}

#[test]
fn a_live_run_is_watched_from_start_to_end() {
    let Some((scripts, chromium)) = browser() else { return };
    let ui = Ui::start();
    scripts.run("ui.js", &[&chromium, &format!("http://{}/", ui.address)]);
}

#[test]
fn only_pages_of_its_own_reach_the_ui() {
    let ui = Ui::start();
    let host = format!("host: {}\r\n", ui.address);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let (status, page) = ui.ask("GET /", &host, "");
    assert_eq!(status, 200);
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");

    // A name of the attacker's that resolves to this machine.
    let rebound = format!("host: evil.example:{}\r\n", ui.address.port());
    assert_eq!(ui.ask("GET /", &rebound, "").0, 403);

    // A form on a page of the attacker's, which a browser would send.
    let foreign = format!("{host}{form}origin: http://evil.example\r\n");
    assert_eq!(ui.ask("POST /new", &foreign, "verb=echo").0, 403);
    assert_eq!(ui.ask("POST /new", &format!("{host}{form}"), "verb=echo").0, 403, "no origin at all");

    // What a page may not start even if it is ours.
    let own = format!("{host}{form}origin: http://{}\r\n", ui.address);
    for body in [
        "verb=serve",
        "verb=echo&url=--out%3D%2Ftmp",
        "verb=echo&clients=1%20--out%3D%2F",
        "verb=echo&dialect=x.toml",
    ] {
        assert_eq!(ui.ask("POST /new", &own, body).0, 400, "{body}");
    }
    let (status, page) = ui.ask("GET /runs/nothing%3Cscript%3E", &host, "");
    assert_eq!(status, 404);
    assert!(!page.contains("<script>"), "{page}");
}

#[test]
fn beyond_this_machine_a_token_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let said = directory.path().join("said");
    let port = free_address().port();
    let mut command = throng(["ui", "--listen", &format!("0.0.0.0:{port}"), "--store"]);
    command.arg(directory.path().join("runs.db"));
    let process = Process::start_onto(&mut command, std::fs::File::create(&said).unwrap());
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    assert!(wait_until(Duration::from_secs(10), || is_listening(address)));
    let ui = Ui { _process: process, address, _directory: directory };
    let host = format!("host: {address}\r\n");
    assert_eq!(ui.ask("GET /", &host, "").0, 403);
    assert_eq!(ui.ask("GET /?token=00000000000000000000000000000000", &host, "").0, 403);

    let said = std::fs::read_to_string(said).unwrap();
    let token = said.trim().rsplit_once("token=").expect("the address has a token").1;
    assert_eq!(token.len(), 32, "{said}");
    let (status, answer) = ui.ask(&format!("GET /?token={token}"), &host, "");
    assert_eq!(status, 303);
    assert!(answer.contains("HttpOnly; SameSite=Strict"), "{answer}");
    let cookie = format!("{host}cookie: throng_token={token}\r\n");
    assert_eq!(ui.ask("GET /", &cookie, "").0, 200);
}
