//! Credentials stand in clear nowhere but on the wire: not in results, pages, stores, logs, streams, messages of
//! the fleet, errors, nor in the argument list of any process that throng starts.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use crate::support::free_address;
use crate::support::process::Process;
use crate::support::spy::{Quoting, Spy, assert_no_marker, search, secrets_of};
use crate::support::throng::{ANY_PACE, Outcome, Server, finish, run, throng};

const RUN_MAX: Duration = Duration::from_secs(60);

/// Runs a load verb with all of them, and with everything that it can write; what it said and wrote has no
/// marker in it, nor has a process that it started.
fn measure(verb: &str, flags: &str, server: &Server, marker: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [url, secrets @ ..] = secrets_of(server.address, marker);
    let scheme = if verb == "http" { "http" } else { "ws" };
    let mut command = throng([verb, &format!("{scheme}{url}")]);
    command.args(secrets).args(flags.split_ascii_whitespace());
    command.args(["--threads", "1", "--processes", "2", "--drain-timeout", "1s"]);
    command.args(["--out", &at("out"), "--store", &at("runs.db"), "--events", &at("events.parquet")]);
    command.args(["--stream", &at("stream.jsonl")]).env("XDG_DATA_HOME", folder.path());
    let process = Process::start(&mut command);
    let spy = Spy::on(marker, process.pid());
    spy.await_children(2, "child-agent");
    let outcome = finish(process, RUN_MAX);
    assert_eq!(spy.seen(), [""; 0], "argument lists");
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    assert_no_marker(&outcome, folder.path(), marker);
    let results = fs::read_dir(folder.path().join("out")).unwrap().flatten().map(|entry| entry.path());
    let results = results.filter(|path| path.extension().is_some_and(|extension| extension == "json")).last();
    let text = fs::read_to_string(results.expect("a results file")).unwrap();
    assert!(text.contains("***") && text.contains("room=1"), "what is hidden leaves a mark: {text}");
    outcome
}

#[test]
fn no_verb_lets_a_secret_out() {
    let server = Server::start(&["--threads", "1"]);
    for (verb, flags) in [
        ("echo", "--clients 4 --interval 50ms --duration 1s"),
        ("broadcast", "--protocol json --clients 4 --rate 20 --duration 1s"),
        ("saturate", "--protocol json --levels 2 --duration 500ms --max-rate 20"),
        ("idle", "--clients 4 --duration 1s"),
        ("storm", "--clients 4 --lead 200ms --duration 500ms --interval 50ms --window 50ms"),
        ("http", "--connections 2 --duration 1s"),
    ] {
        measure(verb, flags, &server, &format!("marker-{verb}-5f3b"));
    }
}

#[test]
fn urls_without_scheme_hide_their_secrets() {
    let (marker, server) = ("marker-bare-3b90", Server::start(&["--threads", "1"]));
    let folder = tempfile::tempdir().unwrap();
    let url = format!("me:{marker}-pass@{}/ws?token={marker}-query&room=1", server.address);
    for given in [url.as_str(), "env:THE_URL"] {
        let mut command =
            throng(["echo", given, "--clients", "2", "--interval", "50ms", "--duration", "200ms"]);
        command.args(ANY_PACE).arg("--out").arg(folder.path().join("out")).args(["--format", "json"]);
        command.env("THE_URL", &url).env("XDG_DATA_HOME", folder.path());
        let outcome = run(&mut command, RUN_MAX);
        outcome.assert_held();
        assert_no_marker(&outcome, folder.path(), marker);
        assert!(outcome.stdout.contains("room=1"), "what is no secret is recorded: {outcome}");
        let probed = run(throng([given]).env("THE_URL", &url), RUN_MAX);
        assert!(!probed.stdout.contains(marker) && !probed.stderr.contains(marker), "{probed}");
    }
}

#[test]
fn joining_messages_are_secret_too() {
    let server = Server::start(&["--threads", "1"]);
    for (dialect, path, flag) in [
        ("phoenix", "/socket/websocket", "--join-params"),
        ("socketio", "/socket.io/", "--auth"),
        ("graphql", "/graphql", "--init-payload"),
    ] {
        let marker = format!("marker-{dialect}-8c1d");
        let folder = tempfile::tempdir().unwrap();
        let url = format!("ws://{}{path}", server.address);
        let mut command =
            throng(["echo", &url, "--protocol", dialect, "--clients", "2", "--interval", "50ms"]);
        command.args([
            "--duration",
            "200ms",
            flag,
            &format!("{{\"user\":\"{marker}\"}}"),
            "--format",
            "json",
        ]);
        let outcome =
            run(command.arg("--out").arg(folder.path()).env("XDG_DATA_HOME", folder.path()), RUN_MAX);
        outcome.assert_held();
        assert_no_marker(&outcome, folder.path(), &marker);
    }
}

#[test]
fn environment_and_files_hide_arguments() {
    let marker = "marker-elsewhere-77ab";
    let server = Quoting::start();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), format!("{marker}-file\n")).unwrap();
    let mut command =
        throng(["http", "env:THE_URL", "--no-preflight", "--connections", "1", "--amount", "3"]);
    command.env("THE_URL", format!("http://me:{marker}-pass@{}/?token={marker}-query", server.address));
    command.env("THE_TOKEN", format!("{marker}-token"));
    command.args(["--token", "env:THE_TOKEN", "--token-in", "header:X-Token", "--format", "json"]);
    command.args(["-H", &format!("X-Api-Key: Key file:{}", file.path().display())]);
    let process = Process::start(&mut command);
    let spy = Spy::on(marker, process.pid());
    let outcome = finish(process, RUN_MAX);
    assert_eq!(spy.seen(), [""; 0], "argument lists");
    for said in ["-token", "-query", "-file"].map(|kind| format!("{marker}{kind}")) {
        assert!(server.has_heard(&said), "the server has not been told {said}\n{outcome}");
    }
    assert!(server.has_heard(&format!("Key {marker}-file")), "{outcome}");
    assert!(!outcome.stdout.contains(marker) && !outcome.stderr.contains(marker), "{outcome}");
    assert!(outcome.stdout.contains("env:THE_TOKEN"), "where it was is no secret: {outcome}");
    let missing = run(&mut throng(["echo", "ws://127.0.0.1:1/", "--token", "env:NO_SUCH_VARIABLE"]), RUN_MAX);
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(missing.stderr.contains("the environment has no NO_SUCH_VARIABLE"), "{missing}");
}

#[test]
fn quoted_secrets_are_told_to_nobody() {
    let marker = "marker-quoted-19e4";
    let server = Quoting::start();
    let [url, secrets @ ..] = secrets_of(server.address, marker);
    for (verb, scheme, preflight) in
        [("echo", "ws", true), ("echo", "ws", false), ("http", "http", true), ("http", "http", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut command = throng([verb, &format!("{scheme}{url}")]);
        command.args(&secrets).args(["--clients", "2", "--duration", "200ms", "--drain-timeout", "200ms"]);
        command.args((!preflight).then_some("--no-preflight")).arg("--out").arg(folder.path());
        let outcome = run(command.env("XDG_DATA_HOME", folder.path()), RUN_MAX);
        assert_ne!(outcome.code, Some(2), "{outcome}");
        assert!(server.has_heard(marker), "{outcome}");
        assert!(!outcome.stdout.contains(marker) && !outcome.stderr.contains(marker), "{outcome}");
        assert!(search(folder.path(), marker).0.is_empty(), "{outcome}");
    }
}

/// Rows, the key that signs, and the tokens themselves; also where a server quotes all that it is told.
#[test]
fn identities_are_told_to_the_server_alone() {
    let marker = "marker-people-c41a";
    let (good, quoting) = (Server::start(&["--threads", "1"]), Quoting::start());
    for (address, verb, flags, is_there) in [
        (good.address, "echo", "--clients 4 --interval 50ms --duration 1s --processes 2", true),
        (good.address, "idle", "--protocol phoenix --clients 4 --duration 300ms", true),
        (quoting.address, "echo", "--clients 4 --no-preflight", false),
        (quoting.address, "echo", "--clients 4", false),
        (quoting.address, "http", "--no-preflight --connections 4 --amount 8", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let elsewhere = tempfile::tempdir().unwrap();
        let there = |name: &str| elsewhere.path().join(name).display().to_string();
        let rows: String = (0..4).map(|n| format!("\"{marker} & {n}\",{marker}-pass-{n}\n")).collect();
        fs::write(there("users.csv"), format!("name,password\n{rows}")).unwrap();
        let scheme = if verb == "http" { "http" } else { "ws" };
        let path = if flags.contains("phoenix") { "/socket/websocket" } else { "/ws" };
        let mut command =
            throng([verb, &format!("{scheme}://{address}{path}?n={{person.name}}&t={{token}}")]);
        command.args(flags.split_ascii_whitespace()).args(["-H", "X-Name: {person.name}"]);
        command.args(["--users", &there("users.csv"), "--jwt-secret", "env:THE_KEY", "--threads", "1"]);
        command.args(["--out", &at("out"), "--store", &at("runs.db"), "--stream", &at("stream.jsonl")]);
        command.env("THE_KEY", format!("{marker}-key")).env("XDG_DATA_HOME", folder.path());
        let process = Process::start(&mut command);
        let spy = Spy::on(marker, process.pid());
        if flags.contains("--processes 2") {
            spy.await_children(2, "child-agent");
        }
        let outcome = finish(process, RUN_MAX);
        assert_eq!(spy.seen(), [""; 0], "argument lists");
        assert!(is_there == (outcome.code == Some(0)), "{flags}: {outcome}");
        for secret in [marker, "eyJhbGciOi"] {
            assert!(
                !outcome.stdout.contains(secret) && !outcome.stderr.contains(secret),
                "{flags}: {outcome}"
            );
            assert_eq!(search(folder.path(), secret).0, [""; 0], "{secret}: {flags}: {outcome}");
        }
        assert!(is_there || quoting.has_heard(marker) && quoting.has_heard("t=eyJhbGciOi"), "{outcome}");
    }
}

#[test]
fn mistakes_are_told_without_the_secrets_in_them() {
    let marker = "marker-mistaken-02d6";
    let json = format!("{marker} is no JSON");
    let with = |before: &str, after: &str| format!("{before}{marker}{after}");
    let closed = free_address();
    for arguments in [
        vec!["echo".to_owned(), with("ws://me:", "@/")],
        vec!["echo".to_owned(), with("ws://h:99999/?token=", "")],
        vec!["echo".to_owned(), with("ftp://me:", "@127.0.0.1/")],
        vec!["echo".to_owned(), with("ws://me:", &format!("@{closed}/?token={marker}"))],
        vec!["http".to_owned(), with("ws://me:", "@127.0.0.1:1/")],
        vec!["echo".into(), "ws://127.0.0.1:1/".into(), "-H".into(), with("Authorization Bearer ", "")],
        vec!["echo".into(), "ws://127.0.0.1:1/".into(), "-H".into(), with("Authorization: a\u{1}", "")],
        vec![
            "echo".into(),
            "ws://127.0.0.1:1/".into(),
            "--protocol=socketio".into(),
            "--auth".into(),
            json.clone(),
        ],
        vec![
            "echo".into(),
            "ws://127.0.0.1:1/".into(),
            "--protocol=phoenix".into(),
            "--join-params".into(),
            json,
        ],
        vec![
            "echo".into(),
            "ws://127.0.0.1:1/".into(),
            "--no-preflight".into(),
            "--otlp".into(),
            with("ftp://me:", "@h/"),
        ],
        vec!["echo".into(), "--scrape".into(), with("https://me:", "@h/")],
        vec![
            "echo".into(),
            "ws://127.0.0.1:1/".into(),
            "--fleet".into(),
            with("nats://me:", &format!("@{closed}")),
        ],
        vec!["fleet".into(), "list".into(), "--nats".into(), with("nats://me:", &format!("@{closed}"))],
        vec!["agent".into(), "--nats".into(), with("nats://me:", &format!("@{closed}"))],
    ] {
        let outcome = run(throng([]).args(&arguments), RUN_MAX);
        assert!(matches!(outcome.code, Some(1 | 2 | 6)), "{arguments:?}: {outcome}");
        assert!(
            !outcome.stdout.contains(marker) && !outcome.stderr.contains(marker),
            "{arguments:?}: {outcome}"
        );
    }
}

#[test]
fn files_of_a_run_are_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mode = |name: &str| fs::metadata(at(name)).unwrap().mode() & 0o777;
    let measured = || {
        let mut command = throng(["echo", "--clients", "1", "--interval", "50ms", "--duration", "200ms"]);
        command.args(ANY_PACE).arg("--out").arg(at("out")).arg("--events").arg(at("events.parquet"));
        command.arg("--stream").arg(at("stream.jsonl")).env("XDG_DATA_HOME", at("data"));
        let outcome = run(&mut command, RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
    };
    measured();
    assert_eq!((mode("out"), mode("data"), mode("data/throng")), (0o700, 0o700, 0o700));
    for file in ["data/throng/runs.db", "events.parquet", "stream.jsonl"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    for file in fs::read_dir(at("out")).unwrap().flatten() {
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600, "{:?}", file.file_name());
    }
    // As a copy may leave them.
    fs::set_permissions(at("data/throng"), Permissions::from_mode(0o755)).unwrap();
    for file in ["data/throng/runs.db", "events.parquet", "stream.jsonl"] {
        fs::set_permissions(at(file), Permissions::from_mode(0o644)).unwrap();
    }
    measured();
    for (name, expected) in
        [("data/throng", 0o700), ("data/throng/runs.db", 0o600), ("events.parquet", 0o600)]
    {
        assert_eq!(mode(name), expected, "{name}");
    }
    // Those that were made by somebody else are as he wants them.
    fs::set_permissions(at("out"), Permissions::from_mode(0o755)).unwrap();
    measured();
    assert_eq!(mode("out"), 0o755);
}
