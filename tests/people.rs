//! Each client is somebody: a server that verifies tokens with npm's own library counts as many users as
//! there are clients, wherever the token is put, and the rows of a file are theirs.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Failed, Outcome, errors_of, run, sum_of, throng};
use crate::support::{free_address, skip};

const CLIENTS: u64 = 60;
const WITHIN: Duration = Duration::from_secs(60);

/// The server of tests/servers/people, running.
struct Gate {
    _process: Process,
    address: SocketAddr,
    folder: TempDir,
}

/// People that it has let in, and why not others.
struct Users {
    users: Vec<Value>,
    refused: Vec<String>,
}

impl Users {
    /// Each, by what its token says of it.
    fn distinct(&self, claim: &str) -> BTreeSet<String> {
        self.users.iter().map(|user| user[claim].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Gate {
    /// Installs and starts it; `None`, with the reason printed, where that cannot be had.
    fn start(algorithm: &str) -> Option<Gate> {
        // Once for all tests of this file, which run side by side.
        static SCRIPTS: OnceLock<Result<Scripts, String>> = OnceLock::new();
        let install = || Scripts::install_in("tests/servers", "people").map_err(|Unavailable(why)| why);
        let scripts = match SCRIPTS.get_or_init(install) {
            Ok(scripts) => scripts,
            Err(why) => {
                skip("tokens that npm's jsonwebtoken verifies", why);
                return None;
            }
        };
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        let key = folder.path().join("key");
        let port = address.port().to_string();
        let process =
            scripts.start("server.js", &[&port, algorithm, key.to_str().unwrap()]).listening_at(address);
        Some(Gate { _process: process, address, folder })
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    /// A command that goes to this place, with the key at hand.
    fn command(&self, verb: &str, place: &str) -> Command {
        let scheme = if verb == "http" { "http" } else { "ws" };
        let mut command = throng([verb, &format!("{scheme}://{}{place}", self.address), "--format", "json"]);
        command.args(["--connect-timeout", "20s", "--no-preflight"]);
        command.env("THE_KEY", fs::read_to_string(self.key()).unwrap());
        command
    }

    /// Takes the people that it has seen since it was asked last.
    fn users(&self) -> Users {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let answer = Source { host, port, path: "/users".into() }
            .get(Timeouts { word: WITHIN, answer: WITHIN })
            .expect("the server is there");
        let seen: Value = serde_json::from_slice(&answer.body).expect("it says who was there");
        let array = |name: &str| seen[name].as_array().unwrap().clone();
        let refused = array("refused").iter().map(|why| why.as_str().unwrap().to_owned()).collect();
        Users { users: array("users"), refused }
    }

    /// Runs it, and sees that each client was somebody else, in that place, and all had their answers.
    fn assert_all_are_let_in(&self, command: &mut Command, place: &str) -> Outcome {
        let outcome = run(command, WITHIN);
        assert_eq!(outcome.code, Some(0), "{place}: {outcome}");
        let results = outcome.json();
        assert_eq!(sum_of(&results, "connected"), CLIENTS, "{place}: {outcome}");
        assert_eq!(sum_of(&results, "missing"), 0, "{place}: {outcome}");
        let seen = self.users();
        assert_eq!(seen.refused, [""; 0], "{place}");
        assert_eq!(seen.distinct("sub").len() as u64, CLIENTS, "{place}: {outcome}");
        let places: BTreeSet<String> = seen.distinct("place");
        assert_eq!(places, BTreeSet::from([place.to_owned()]), "{outcome}");
        outcome
    }
}

fn idle(gate: &Gate, place: &str) -> Command {
    let mut command = gate.command("idle", place);
    command.args(["--clients", &CLIENTS.to_string(), "--duration", "200ms"]);
    command
}

#[test]
fn clients_are_users_by_any_token_place() {
    let Some(gate) = Gate::start("HS256") else { return };
    for (place, path, more) in [
        ("query", "/?token={token}", &[][..]),
        ("path", "/as/{token}", &[]),
        ("header", "/", &["-H", "Authorization: Bearer {token}"]),
        ("cookie", "/", &["--token-in", "cookie:jid"]),
        ("cookie", "/", &["-H", "Cookie: theme=dark; jid={token}"]),
        ("query", "/", &["--token-in", "query:token"]),
        ("subprotocol", "/", &["--subprotocol", "access_token", "--subprotocol", "{token}"]),
        ("auth", "/socket.io/", &["--protocol", "socketio"]),
        ("auth", "/socket.io/", &["--protocol", "socketio", "--auth", r#"{"token":"{token}","v":1}"#]),
        ("auth", "/socket.io/", &["--protocol", "socketio", "--transport", "polling"]),
        ("auth", "/socket.io/", &["--protocol", "socketio", "--transport", "upgrade"]),
    ] {
        let mut command = idle(&gate, path);
        command.args(["--jwt-secret", "env:THE_KEY", "--processes", "2"]).args(more);
        gate.assert_all_are_let_in(&mut command, place);
    }
    let mut requests = gate.command("http", "/");
    requests.args(["--jwt-secret", "env:THE_KEY", "--token-in", "header:Authorization"]);
    requests.args(["--connections", &CLIENTS.to_string(), "--amount", "2000", "--pipelining", "2"]);
    gate.assert_all_are_let_in(&mut requests, "header");
}

/// An app whose people have names, and tokens of this kind; `more` is what else it says of these.
fn app(gate: &Gate, algorithm: &str, more: &str) -> PathBuf {
    let rows = (0..CLIENTS).map(|n| format!("user-{n},\"Ann \"\"{n}\"\", the {n}th\"\n"));
    fs::write(gate.folder.path().join("users.csv"), "login,name\n".to_owned() + &rows.collect::<String>())
        .unwrap();
    let key = if algorithm == "HS256" { "secret" } else { "key" };
    let text = format!(
        r#"
[people]
data = "users.csv"
columns = {{ mail = "{{person.login}}@example.com" }}
token = {{ jwt = "{algorithm}", {key} = "file:key"{more} }}

[connect]
path = "/?token={{token}}&name={{person.name}}"
headers = {{ X-Mail = "{{person.mail}}" }}
"#
    );
    let path = gate.folder.path().join("app.toml");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_algorithm_signs_what_the_rows_say() {
    for algorithm in ["HS256", "RS256", "ES256"] {
        let Some(gate) = Gate::start(algorithm) else { return };
        let claims = r#", kid = "k1", claims = { sub = "{person.login}", name = "{person.name}", mail = "{person.mail}", exp = "+5m" }"#;
        let mut command = idle(&gate, "");
        command.args(["--processes", "3", "--threads", "1", "--app"]).arg(app(&gate, algorithm, claims));
        let outcome = run(&mut command, WITHIN);
        assert_eq!(sum_of(&outcome.json(), "connected"), CLIENTS, "{outcome}");
        let seen = gate.users();
        assert_eq!(seen.refused, [""; 0], "{algorithm}");
        let expected = |of: &dyn Fn(u64) -> String| (0..CLIENTS).map(of).collect::<BTreeSet<String>>();
        assert_eq!(seen.distinct("sub"), expected(&|n| format!("user-{n}")), "{algorithm}");
        assert_eq!(seen.distinct("name"), expected(&|n| format!("Ann \"{n}\", the {n}th")), "{algorithm}");
        assert_eq!(seen.distinct("mail"), expected(&|n| format!("user-{n}@example.com")), "{algorithm}");
    }
}

#[test]
fn missing_tokens_are_told_apart() {
    let Some(gate) = Gate::start("HS256") else { return };
    let mut wrong = idle(&gate, "/?token={token}");
    wrong.args(["--jwt-secret", "env:ANOTHER"]).env("ANOTHER", "another key");
    let outcome = run(&mut wrong, WITHIN);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert_eq!(errors_of(&outcome.json(), "http_status"), CLIENTS, "{outcome}");
    assert_eq!(gate.users().refused.len() as u64, CLIENTS);
}

/// Checks the refusal of these flags, before anything connects.
/// A run of clients without a server, which is refused for this key and text.
fn assert_refused(flags: &[&str], key: &str, names: &[&str]) -> Failed {
    let outcome = run(throng(["idle", "ws://127.0.0.1:9/", "--format", "json"]).args(flags), WITHIN);
    outcome.assert_failed(2, &format!("usage.{key}"), names);
    outcome.error()
}

#[test]
fn mistakes_are_told_before_anybody_connects() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let good = file("good.csv", b"name,room\nann,1\n\"b\nob\",2\n");
    let people = |name: &str, bytes: &[u8]| vec!["--users".to_owned(), file(name, bytes)];
    for (flags, names) in [
        (people("empty.csv", b""), &["empty.csv: "][..]),
        (people("head.csv", b"name\n"), &["head.csv: "]),
        (people("ragged.csv", b"a,b\n1,2\n3\n"), &["ragged.csv: line 3: 1 ", " 2"]),
        (people("latin.csv", b"a\n\xe9\n"), &["latin.csv: line 2: ", "UTF-8"]),
    ] {
        assert_refused(&flags.iter().map(String::as_str).collect::<Vec<_>>(), "users", names);
    }
    for (flags, key, names) in [
        (&["--users", "/no/such.csv"][..], "users", &["/no/such.csv: "][..]),
        (
            &["--users", &good, "-H", "X: {person.nmae}"],
            "header",
            &["{person.nmae}: ", "{person.id}, {person.name}, {person.room}, {room}"],
        ),
        (&["--users", &good, "-H", "X: {person.name}"], "users", &["row 2 "]),
        (&["--users", &good, "--subprotocol", "{person.name}"], "users", &["row 2 "]),
        (&["-H", "X: {token}"], "header", &["{token}: ", "{person.id}, {room}", "--jwt-secret"]),
        (&["--jwt-secret", "env:NO_SUCH_VARIABLE"], "jwt_secret.value_validation", &["NO_SUCH_VARIABLE"]),
        (&["--jwt-secret", "abc"], "token_in", &[]),
        (&["--jwt-secret", "abc", "--token", "x"], "jwt_secret.argument_conflict", &["--token"]),
        (&["--token-in", "query:a"], "token_in", &[]),
    ] {
        assert_refused(flags, key, names);
    }
}

#[test]
fn mistakes_in_a_file_name_the_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("users.csv"), "name\nann\n").unwrap();
    fs::write(folder.path().join("no.key"), "open sesame").unwrap();
    let good = "[people]\ndata = 'users.csv'\ntoken = { jwt = 'RS256', key = 'file:no.key' }\n[connect]\npath = '/{person.name}'\n";
    for (from, to, place, named) in [
        ("", "", "3:", "openssl genpkey"),
        ("no.key", "other.key", "3:", "other.key"),
        ("'file:no.key'", "'open sesame'", "3:", "env:NAME"),
        ("RS256", "HS512", "3:", "HS256, RS256 or ES256"),
        ("RS256", "HS256", "3:", "`secret`"),
        ("key = ", "kye = ", "3:", "`kye`"),
        ("key = 'file:no.key'", "kid = '1'", "3:", "file:PATH"),
        ("key = 'file:no.key'", "key = 'file:no.key', claims = { exp = 'soon' }", "3:", "soon"),
        (
            "key = 'file:no.key'",
            "key = 'file:no.key', claims = { n = '{person.nmae}' }",
            "3:",
            "{person.nmae}: ",
        ),
        ("token = { jwt = 'RS256', key = 'file:no.key' }", "token = 5", "3:", "5"),
        ("[people]\n", "[people]\ncolumns = { a = '{person.b}' }\n", "2:", "{person.b}: "),
        ("[people]\n", "[people]\nrows = 5\n", "2:", "`rows`"),
        ("[people]\n", "data = 'users.csv'\n[people]\n", "1:", "`data`"),
        (
            "token = { jwt = 'RS256', key = 'file:no.key' }\n[connect]\npath = '/{person.name}'",
            "[connect]\npath = 'cable'",
            "4:",
            "/",
        ),
        (
            "token = { jwt = 'RS256', key = 'file:no.key' }\n[connect]\npath = '/{person.name}'",
            "[connect]\nheaders = { A = '{person.x}' }",
            "4:",
            "{person.x}: ",
        ),
    ] {
        let path = folder.path().join("app.toml");
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let flags = ["--app", path.to_str().unwrap()];
        let Failed { flag, text, .. } = assert_refused(&flags, "file", &[named]);
        assert!(flag.is_some_and(|at| at.contains(&format!("app.toml:{place}"))), "{to}\n{text}");
    }
}

/// Sent the URL as a browser has it, everybody would come without what says who they are.
#[test]
fn paths_in_urls_keep_names() {
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("app.toml");
    fs::write(&app, "[connect]\npath = '/socket?name={person.id}'\n[echo]\nsend = '{id}'\n").unwrap();
    let outcome = run(throng(["echo", "ws://127.0.0.1:9/socket", "--app"]).arg(&app), WITHIN);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("/socket?name={person.id}; leave out the URL's"), "{outcome}");
}

/// Runs the documentation's files as it shows them.
#[test]
fn the_files_of_the_documentation_work() {
    let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/APP.md");
    let documentation = fs::read_to_string(documentation).unwrap();
    let section =
        documentation.split("## Users and tokens").nth(1).and_then(|rest| rest.split("\n## ").next());
    let files: Vec<&str> = section.expect("the section").split("```toml").skip(1).collect();
    assert_eq!(files.len(), 2);
    for (algorithm, file, subject) in [("HS256", files[0], "user-7"), ("RS256", files[1], "user-7")] {
        let Some(gate) = Gate::start(algorithm) else { return };
        let text = file.split("```").next().unwrap();
        let path = gate.folder.path().join("app.toml");
        fs::write(&path, text.replace("file:jwt.pem", "file:key")).unwrap();
        let rows = (0..CLIENTS).map(|n| format!("user-{n},Ann {n},open sesame\n")).collect::<String>();
        fs::write(gate.folder.path().join("users.csv"), "login,name,password\n".to_owned() + &rows).unwrap();
        let mut command = idle(&gate, "");
        command.env("JWT_SECRET", fs::read_to_string(gate.key()).unwrap()).arg("--app").arg(&path);
        let outcome = run(&mut command, WITHIN);
        assert_eq!(sum_of(&outcome.json(), "connected"), CLIENTS, "{outcome}");
        let seen = gate.users().distinct("sub");
        assert!(seen.len() as u64 == CLIENTS && seen.contains(subject), "{seen:?}");
    }
}
