//! The pages of `throng ui`, in a real browser and as an attacker would ask for them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::pages::{RUN_MAX, browser};
use crate::support::browser::opened_by;
use crate::support::process::Process;
use crate::support::throng::{run, throng};
use crate::support::{START_MAX, free_address, wait_until};

/// A running `throng ui` on a store of its own.
struct Ui {
    _process: Process,
    address: SocketAddr,
    /// The token in the address that it printed.
    token: String,
    directory: tempfile::TempDir,
}

impl Ui {
    fn start() -> Ui {
        Ui::start_on([127, 0, 0, 1])
    }

    fn start_on(ip: [u8; 4]) -> Ui {
        let directory = tempfile::tempdir().unwrap();
        let said = directory.path().join("said");
        let port = free_address().port();
        let mut command = throng(["ui", "--listen", &SocketAddr::from((ip, port)).to_string(), "--store"]);
        command.arg(directory.path().join("runs.db"));
        let process = Process::start_onto(&mut command, std::fs::File::create(&said).unwrap());
        let read = || std::fs::read_to_string(&said).unwrap();
        assert!(wait_until(START_MAX, || read().ends_with('\n')), "throng ui does not say where");
        let token = read().trim().rsplit_once("/?token=").expect("the address has a token").1.to_owned();
        Ui { _process: process, address: SocketAddr::from(([127, 0, 0, 1], port)), token, directory }
    }

    /// The lines of somebody who has opened the address that it printed.
    fn visitor(&self) -> String {
        let (address, port, token) = (self.address, self.address.port(), &self.token);
        format!("host: {address}\r\ncookie: throng_token_{port}={token}\r\n")
    }

    /// The lines of a form that a page of its own sends.
    fn own_form(&self) -> String {
        let form = "content-type: application/x-www-form-urlencoded";
        format!("{}{form}\r\norigin: http://{}\r\n", self.visitor(), self.address)
    }

    /// Measures a run with these flags into its store.
    pub(crate) fn measure(&self, flags: &[&str]) {
        let mut measured = throng(["echo", "--clients=1", "--concurrent=1", "--duration=100ms", "--quiet"]);
        measured.args(flags).args(["--no-report", "--store"]).arg(self.store());
        let outcome = run(&mut measured, RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("runs.db")
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
fn live_runs_are_watched_to_the_end() {
    let Some((scripts, chromium)) = browser() else { return };
    let ui = Ui::start();
    scripts.run("ui.js", &[&chromium, &format!("http://{}/", ui.address), &ui.token]);
}

#[test]
fn only_pages_of_its_own_reach_the_ui() {
    let ui = Ui::start();
    let host = ui.visitor();
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let (status, page) = ui.ask("GET /", &host, "");
    assert_eq!(status, 200);
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");

    // A name of the attacker's that resolves to this machine.
    let rebound = host.replace("host: 127.0.0.1", "host: evil.example");
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
        "verb=echo&protocol=x.toml",
    ] {
        assert_eq!(ui.ask("POST /new", &own, body).0, 400, "{body}");
    }
    let (status, page) = ui.ask("GET /runs/nothing%3Cscript%3E", &host, "");
    assert_eq!(status, 404);
    assert!(!page.contains("<script>"), "{page}");
}

#[test]
fn a_form_with_a_mistake_is_kept() {
    let ui = Ui::start();
    let own = format!(
        "{}content-type: application/x-www-form-urlencoded\r\norigin: http://{}\r\n",
        ui.visitor(),
        ui.address
    );
    let form = "verb=storm&url=ws://h/%22&protocol=json&clients=7&header=X-A:+1%0D%0AX-B:+%3C2&duration=soon";
    let (status, page) = ui.ask("POST /new", &own, form);
    assert_eq!(status, 400);
    for kept in [
        r#"value="storm" checked"#,
        r#"name="url" value="ws:&#x2f;&#x2f;h&#x2f;&quot;""#,
        "<option selected>json</option>",
        r#"name="clients" value="7""#,
        "X-A: 1\r\nX-B: &lt;2</textarea>",
        r#"name="duration" value="soon""#,
    ] {
        assert!(page.contains(kept), "{kept}\n{page}");
    }
    let problem = page.split_once(r#"role="status">"#).expect("a problem").1;
    assert!(problem.split('<').next().is_some_and(|text| text.contains("--duration")), "{problem}");
    assert!(!page.contains(r#"value="echo" checked"#), "{page}");
}

#[test]
fn tokens_are_needed_everywhere() {
    for ip in [[127, 0, 0, 1], [0, 0, 0, 0]] {
        let ui = Ui::start_on(ip);
        let host = format!("host: {}\r\n", ui.address);
        assert_eq!(ui.token.len(), 32, "{}", ui.token);
        for line in ["GET /", "GET /page.js", "GET /?token=00000000000000000000000000000000", "GET /?token="]
        {
            assert_eq!(ui.ask(line, &host, "").0, 403, "{line}");
        }
        let other = format!("{host}cookie: throng_token={}\r\n", ui.token);
        assert_eq!(ui.ask("GET /", &other, "").0, 403, "the cookie of another port");
        let (status, answer) = ui.ask(&format!("GET /?token={}", ui.token), &host, "");
        assert_eq!(status, 200);
        assert!(answer.contains("HttpOnly; SameSite=Strict"), "{answer}");
        assert!(answer.contains(r#"<meta http-equiv="refresh" content="0; url=/">"#), "{answer}");
        assert_eq!(ui.ask("GET /", &ui.visitor(), "").0, 200);
    }
}

/// A stand-in for the desktop's program that notes what it was given, and what is there.
const OPENER: &str =
    "#!/bin/sh\nstat -c %a \"$1\" >>\"$0.said\"\ncat \"$1\" >>\"$0.said\"\necho \"$@\" >\"$0.given\"\n";

#[test]
fn browsers_open_without_tokens_in_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let path = opened_by(folder.path(), OPENER);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let mut command = throng(["ui", "--open", "--store"]);
    command.arg(folder.path().join("runs.db")).env("XDG_RUNTIME_DIR", folder.path());
    let mut ui = Process::start(command.env("PATH", path));
    let is_opened = || read("xdg-open.given").ends_with('\n');
    assert!(wait_until(RUN_MAX, is_opened), "no browser is opened");
    let page = read("xdg-open.given").trim().to_owned();
    assert!(Path::new(&page).starts_with(folder.path()) && Path::new(&page).exists(), "{page}");
    ui.signal(Signal::TERM);
    assert!(ui.wait(RUN_MAX).is_some(), "it goes on");
    let (stdout, stderr) = ui.into_output();
    let address = stdout.trim().strip_prefix("throng ui: ").unwrap_or_else(|| panic!("{stdout}{stderr}"));
    let token = address.rsplit_once("/?token=").expect("the address has a token").1;
    let said = read("xdg-open.said");
    assert!(said.starts_with("600\n") && said.contains(&format!("url={address}\"")), "{said}");
    assert!(!page.contains(token) && !Path::new(&page).exists(), "{page}");
}

#[test]
fn forms_are_bounded_and_hide_secrets() {
    let ui = Ui::start();
    let own = ui.own_form();
    let large = format!("verb=echo&url={}", "x".repeat(100_000));
    assert_eq!(ui.ask("POST /new", &own, &large).0, 413);

    ui.measure(&[]);
    let (_, page) = ui.ask("GET /", &own, "");
    let id = page.split("/runs/").nth(1).and_then(|rest| rest.split(['"', '/']).next()).expect("a run");
    let tags = |add: &str| ui.ask(&format!("POST /runs/{id}/tags"), &own, &format!("add={add}")).0;
    assert_eq!(tags(&"x".repeat(65)), 400);
    assert_eq!(tags(&"x".repeat(64)), 303);
    let many: Vec<String> = (0..31).map(|number| format!("t{number}")).collect();
    assert_eq!(tags(&many.join("+")), 303);
    assert_eq!(tags("t3+one-more"), 400, "32 are there");
    assert_eq!(tags("t3"), 303, "it has it");

    let query = "verb=echo&url=ws%3A%2F%2Fme%3Ahush%40127.0.0.1%3A1%2F%3Ftoken%3Dhush&clients=1";
    let (status, preview) = ui.ask(&format!("GET /new/command?{query}"), &own, "");
    assert!(status == 200 && preview.contains("127.0.0.1") && !preview.contains("hush"), "{preview}");
    assert_eq!(ui.ask("POST /new", &own, query).0, 303);
    let (status, live) = ui.ask("GET /live/1", &own, "");
    assert!(status == 200 && live.contains("127.0.0.1") && !live.contains("hush"), "{live}");

    // One that is refused comes back without them.
    let refused = format!("{query}0x&token=hush&header=Authorization%3A+Bearer+hush%0D%0AX-Room%3A+7");
    let (status, again) = ui.ask("POST /new", &own, &refused);
    assert!(status == 400 && again.contains("127.0.0.1") && again.contains("X-Room: 7"), "{again}");
    assert!(again.contains("secrets again: url, token") && !again.contains("hush"), "{again}");
}

#[test]
fn tagging_keeps_the_search() {
    let ui = Ui::start();
    let own = ui.own_form();
    ui.measure(&["--name", "all & sundry"]);
    let (_, page) = ui.ask("GET /?name=all+%26+sundry", &own, "");
    assert!(page.contains(r#"type="hidden" name="name" value="all &amp; sundry""#), "{page}");
    let asked = "POST /runs/20/tags";
    let (status, answer) = ui.ask(asked, &own, "add=x&name=all+%26+sundry&tag=&text=%0D%0Ahost");
    assert_eq!(status, 303, "{answer}");
    assert!(answer.contains("location: /?text=host&name=all+%26+sundry\r\n"), "{answer}");
    assert!(ui.ask(asked, &own, "remove=x").1.contains("location: /\r\n"));
}

#[test]
fn ids_are_encoded_in_links() {
    let ui = Ui::start();
    ui.measure(&[]);
    let exported = run(throng(["runs", "export", "last", "--store"]).arg(ui.store()), RUN_MAX);
    let mut file: serde_json::Value = serde_json::from_str(&exported.stdout).unwrap();
    file["id"] = "../live/1/stop? +".into();
    let path = ui.directory.path().join("foreign.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let imported = run(throng(["runs", "import"]).arg(path).arg("--store").arg(ui.store()), RUN_MAX);
    assert_eq!(imported.code, Some(0), "{imported}");
    let (_, page) = ui.ask("GET /", &ui.visitor(), "");
    let link = "/runs/..%2Flive%2F1%2Fstop%3F%20%2B";
    assert!(page.contains(&format!("href=\"{link}\"")), "{page}");
    assert!(page.contains(&format!("action=\"{link}/tags\"")) && !page.contains("runs/../"), "{page}");
    assert_eq!(ui.ask(&format!("GET {link}"), &ui.visitor(), "").0, 200);
    assert_eq!(ui.ask(&format!("POST {link}/tags"), &ui.own_form(), "add=x").0, 303);
}

#[test]
fn slow_senders_are_let_go() {
    let ui = Ui::start();
    let start = std::time::Instant::now();
    let begun = format!("POST /new HTTP/1.1\r\n{}origin: http://{}\r\n", ui.visitor(), ui.address);
    let slow: Vec<TcpStream> = ["", "GET / HTTP/1.1\r\nhost:", &format!("{begun}content-length: 9\r\n\r\nv")]
        .map(|sent| {
            let mut stream = TcpStream::connect(ui.address).unwrap();
            stream.write_all(sent.as_bytes()).unwrap();
            stream
        })
        .into();
    for mut stream in slow {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = String::new();
        // Its end may be a reset, for what was sent is not read to its end.
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    assert!(start.elapsed() >= Duration::from_secs(5), "nobody was given time");
    assert!(start.elapsed() < Duration::from_secs(50), "somebody was given for ever");
    assert_eq!(ui.ask("GET /", &ui.visitor(), "").0, 200);
}
