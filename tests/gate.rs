//! Access to `throng serve`: over each protocol those who have logged in by its form, or have a token that is
//! signed with its secret; and nobody else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::throng::{Outcome, Server, errors_of, run, sum_of, throng};

const CLIENTS: u64 = 20;
const MESSAGES: u64 = 20;
const WITHIN: Duration = Duration::from_secs(60);

const LOGIN: &str = r#"
[[login]]
get = "/login"
expect = 200
keep = { csrf = "html:csrf" }

[[login]]
post = "/login"
form = { csrf = "{csrf}", name = "user-{person.id}", password = "user-{person.id}" }
expect = 302
"#;

fn broadcast(server: &Server, place: &str, more: &[&str]) -> Outcome {
    let url = format!("ws://{}{place}", server.address);
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet", "--no-preflight"]);
    command.args(["--clients", &CLIENTS.to_string(), "--concurrent", "4"]);
    command.args(["--sample-size", &MESSAGES.to_string(), "--connect-timeout", "10s"]);
    run(command.args(more), WITHIN)
}

fn assert_heard(outcome: &Outcome) {
    outcome.assert_held();
    let counts = ["connected", "received"].map(|name| sum_of(&outcome.json(), name));
    assert_eq!(counts, [CLIENTS, MESSAGES * CLIENTS], "{outcome}");
}

/// All were refused with 401.
fn assert_refused(outcome: &Outcome) {
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let refused = ["http_status", "upgrade_refused"].map(|kind| errors_of(&outcome.json(), kind));
    assert_eq!(refused.iter().sum::<u64>(), CLIENTS, "{outcome}");
    assert!(outcome.stdout.contains("401"), "{outcome}");
}

#[test]
fn a_token_lets_in_over_each_protocol() {
    let threads = Server::start(&["--jwt-secret", "sesame", "--threads", "2"]);
    // Each child has to know the secret, of which their command lines show nothing.
    let processes = Server::start(&["--jwt-secret=sesame", "--processes", "2"]);
    for (place, more) in [
        ("/ws?token={token}", &["--protocol", "json"][..]),
        ("/ws", &["--protocol", "binary", "-H", "Authorization: Bearer {token}"]),
        ("/cable", &["--protocol", "actioncable"]),
        ("/socket/websocket", &["--protocol", "phoenix"]),
        ("/sockjs?token={token}", &["--protocol", "sockjs", "--info"]),
        ("/sockjs?token={token}", &["--protocol", "sockjs", "--transport", "xhr-polling"]),
        ("/socket.io/", &["--protocol", "socketio", "--token-in", "query:token"]),
        ("/socket.io/?token={token}", &["--protocol", "socketio", "--transport", "upgrade"]),
        ("/graphql", &["--protocol", "graphql", "-H", "Authorization: bearer {token}"]),
    ] {
        let with =
            |server, secret: &str| broadcast(server, place, &[more, &["--jwt-secret", secret]].concat());
        assert_heard(&with(&threads, "sesame"));
        assert_refused(&with(&threads, "another"));
        // A session over requests is of one process.
        if !more.contains(&"--transport") {
            assert_heard(&with(&processes, "sesame"));
            assert_refused(&with(&processes, "another"));
        }
    }
    assert_refused(&broadcast(&threads, "/ws", &["--protocol", "json"]));
    let outcome = run(&mut throng(["http", &format!("http://{}/", threads.address), "-d", "100ms"]), WITHIN);
    assert_eq!(outcome.code, Some(0), "the front page is everybody's: {outcome}");
}

/// An app's file beside the test, with its login.
fn app(folder: &Path, protocol: &str, login: &str) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/apps/{protocol}.toml"));
    let path = folder.join("app.toml");
    fs::write(&path, fs::read_to_string(example).unwrap() + login).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_login_lets_in_over_each_protocol() {
    let folder = tempfile::tempdir().unwrap();
    // A cookie is as good at another process.
    let server = Server::start(&["--login", "--processes", "2"]);
    for (protocol, place, more) in [
        ("actioncable", "/cable", &[][..]),
        ("phoenix", "/socket/websocket", &[]),
        ("sockjs", "/sockjs", &[]),
        ("socketio", "/socket.io/", &[]),
        ("graphql", "/graphql", &[]),
    ] {
        let path = app(folder.path(), protocol, LOGIN);
        let outcome = broadcast(&server, place, &[&["--app", &path], more].concat());
        assert_heard(&outcome);
        let login = &outcome.json()["steps"][0]["handshake_parts"]["login"]["count"];
        assert_eq!(login, CLIENTS, "{outcome}");
        let path = app(folder.path(), protocol, "");
        assert_refused(&broadcast(&server, place, &["--app", &path]));
    }
}

#[test]
fn a_wrong_form_is_refused_with_its_reason() {
    let (server, folder) = (Server::start(&["--login"]), tempfile::tempdir().unwrap());
    for (from, to, status) in [
        ("password = \"user", "password = \"nobody", 401),
        ("name = \"user-", "name = \"no body-", 401),
        ("\"{csrf}\"", "\"forged\"", 403),
        ("get = \"/login\"\nexpect = 200\nkeep = { csrf = \"html:csrf\" }", "get = \"/\"", 403),
    ] {
        assert!(LOGIN.contains(from), "{from}");
        let login = LOGIN.replace(from, to);
        let login = if to == "get = \"/\"" { login.replace("{csrf}", "none") } else { login };
        let path = app(folder.path(), "sockjs", &login);
        let outcome = broadcast(&server, "/sockjs", &["--app", &path]);
        assert_eq!(errors_of(&outcome.json(), "login_refused"), CLIENTS, "{outcome}");
        let said = format!("answered with HTTP {status}: POST /login, where 302 was expected");
        assert!(outcome.stdout.contains(&said), "{said}: {outcome}");
    }
}
