//! Certificates that a client must not accept, and those that it must; sessions that go on.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::support::endpoint::endpoint;
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};
use crate::support::{free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(60);

/// A certificate, its key, and the folder that holds both.
struct Identity {
    certificate: PathBuf,
    key: PathBuf,
    _folder: TempDir,
}

impl Identity {
    /// The certificate is for this name and expires in that year.
    fn of(name: &str, expires: i32) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(expires, 1, 1);
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        Identity { certificate, key: key_file, _folder: folder }
    }
}

/// Node.js's own HTTPS, which may want certificates of its clients.
fn node(identity: &Identity, version: &str, clients: Option<&Path>) -> (Process, String) {
    let (address, folder) =
        (free_address(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/tls"));
    let mut command = Command::new("node");
    command.arg("server.js").arg(address.port().to_string()).current_dir(&folder);
    command.args([&identity.certificate, &identity.key]).arg(version).args(clients).env("TOKEN", TOKEN);
    let server = Process::start(&mut command).listening_at(address);
    (server, format!("https://{address}/"))
}

fn has_node() -> bool {
    Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// `{"sub":"ann"}`, signed with `sesame`.
const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ.k-00hGKosIO205V_CKiksBElISLVwyMdSulBCDPMVIM";

/// A server with a self-signed certificate.
struct TlsServer {
    server: Server,
    identity: Identity,
}

impl TlsServer {
    /// The certificate is for this name and expires in that year.
    fn start(name: &str, expires: i32) -> TlsServer {
        let identity = Identity::of(name, expires);
        let (cert, key) = (identity.certificate.to_str().unwrap(), identity.key.to_str().unwrap());
        let server = Server::start(&["--cert", cert, "--key", key]);
        TlsServer { server, identity }
    }

    fn echo(&self, arguments: &[&str]) -> Outcome {
        let url = format!("wss://127.0.0.1:{}/", self.server.address.port());
        let mut command = throng(["echo", &url, "--clients", "2", "--interval", "100ms", "--duration", "1s"]);
        run(command.args(["--format", "json", "--no-preflight"]).args(arguments), RUN_MAX)
    }

    fn echo_with_ca(&self) -> Outcome {
        self.echo(&["--ca", self.identity.certificate.to_str().unwrap()])
    }
}

#[test]
fn a_trusted_certificate_is_accepted() {
    let outcome = TlsServer::start("127.0.0.1", 2099).echo_with_ca();
    outcome.assert_held();
    assert!(sum_of(&outcome.json(), "received") > 0, "{outcome}");
}

/// Answers over a WebSocket, each client's over several connections.
#[test]
fn streams_go_on_over_further_connections() {
    let server = TlsServer::start("127.0.0.1", 2099);
    let query = "events=5&gap=2ms&break=3:1%5&end=missing:2%5";
    let url = format!("wss://127.0.0.1:{}/stream?{query}", server.server.address.port());
    let mut command = throng(["stream", &url, "--body", "tea?", "--end", "[DONE]", "-c", "4", "-n", "40"]);
    command.args(["--format", "json", "--ca", server.identity.certificate.to_str().unwrap()]);
    let outcome = run(&mut command, RUN_MAX);
    let found = ["received", "broken_off", "unmarked"].map(|count| sum_of(&outcome.json(), count));
    assert_eq!(found, [32, 8, 8], "{outcome}");
}

#[test]
fn an_unknown_issuer_is_refused_unless_told() {
    let server = TlsServer::start("127.0.0.1", 2099);
    let refused = server.echo(&[]);
    refused.assert_no_server("tls_unknown_issuer", 2);
    let insecure = server.echo(&["--insecure"]);
    assert_eq!(insecure.code, Some(0), "{insecure}");
}

#[test]
fn an_expired_certificate_is_refused() {
    let outcome = TlsServer::start("127.0.0.1", 2021).echo_with_ca();
    outcome.assert_no_server("tls_expired", 2);
}

#[test]
fn a_certificate_of_another_host_is_refused() {
    let outcome = TlsServer::start("elsewhere.example", 2099).echo_with_ca();
    outcome.assert_no_server("tls_wrong_host", 2);
}

#[test]
fn missing_tls_is_told_from_bad_certificates() {
    let server = Server::start(&[]);
    let url = format!("wss://{}/", server.address);
    let outcome = run(
        throng(["echo", &url, "--clients", "2", "--duration", "1s"]).args([
            "--format",
            "json",
            "--no-preflight",
        ]),
        RUN_MAX,
    );
    outcome.assert_no_server("tls_not_tls", 2);
}

#[test]
fn idle_tls_clients_keep_little() {
    /// rustls itself keeps 3.9 KB, and a plain client takes 200 bytes; buffers for each would be 4 KiB more.
    const BYTES_MAX: f64 = 5_000.0;
    let server = TlsServer::start("127.0.0.1", 2099);
    let url = format!("wss://127.0.0.1:{}/", server.server.address.port());
    let resident = |clients: &str| -> f64 {
        let mut command =
            throng(["idle", &url, "--insecure", "--clients", clients, "--connect-timeout", "60s"]);
        let more = ["--duration", "500ms", "--threads", "1", "--format", "json", "--quiet", "--no-store"];
        let outcome = run(command.args(more), 6 * RUN_MAX);
        assert_eq!(sum_of(&outcome.json(), "connected").to_string(), clients, "{outcome}");
        outcome.json()["steps"][0]["generator"]["rss_bytes_peak"].as_f64().unwrap()
    };
    // The difference, so that what a process takes for itself is no part of it.
    let bytes = (resident("2000") - resident("400")) / 1_600.0;
    assert!((2_000.0..BYTES_MAX).contains(&bytes), "{bytes} bytes each");
}

/// Connections made, and those of them that went on with a session.
fn resumed(mut command: Command, arguments: &[&str]) -> (u64, u64) {
    let more = ["--insecure", "--no-preflight", "--format", "json", "--quiet", "--no-store"];
    let outcome = run(command.args(more).args(arguments), 4 * RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    (sum_of(&results, "connected"), sum_of(&results, "tls_resumed"))
}

#[test]
fn only_returning_clients_resume_sessions() {
    let server = TlsServer::start("127.0.0.1", 2099);
    let url = format!("wss://127.0.0.1:{}/", server.server.address.port());
    let renewing =
        ["--messages-per-connection", "2", "--clients", "4", "--concurrent", "4", "--sample-size", "80"];
    let (connected, of_these) = resumed(throng(["echo", &url]), &renewing);
    assert!(connected > 20, "{connected}");
    assert_eq!(of_these, connected - 4, "all but the first of each");
    let (connected, of_these) =
        resumed(throng(["echo", &url]), &[&renewing[..], &["--no-tls-resumption"]].concat());
    assert!(connected > 20 && of_these == 0, "{of_these} of {connected}");

    let storm =
        ["--clients", "20", "--share", "50%", "--lead", "500ms", "--window", "500ms", "--duration", "3s"];
    assert_eq!(resumed(throng(["storm", &url]), &storm), (30, 10));

    let churn = ["--clients", "10", "--churn", "50%/s", "--rate", "50", "--duration", "2s"];
    let (connected, of_these) = resumed(throng(["echo", &url, "--protocol", "json"]), &churn);
    assert!(connected > 14 && of_these == 0, "{of_these} of {connected}: others have come");
}

#[test]
fn foreign_servers_confirm_resumed_sessions() {
    if !has_node() {
        return skip("https of Node.js", "needs node; tried: node --version");
    }
    let identity = Identity::of("127.0.0.1", 2099);
    for version in ["TLSv1.2", "TLSv1.3"] {
        for (flags, resumes) in [(&[][..], true), (&["--no-tls-resumption"], false)] {
            let (server, url) = node(&identity, version, None);
            let load = ["--connections", "4", "--amount", "80", "--requests-per-connection", "2"];
            let (connected, of_these) = resumed(throng(["http", &url]), &[&load[..], flags].concat());
            let said = server.into_output().0;
            let said = |what: &str| said.lines().filter(|line| *line == what).count() as u64;
            assert_eq!((said("full") + said("resumed"), said("resumed")), (connected, of_these), "{version}");
            // Of TLS 1.3, Node.js gives two tickets with a full handshake, and none with a resumed one.
            let expected = match (resumes, version) {
                (false, _) => 0..=0,
                (true, "TLSv1.2") => connected - 4..=connected - 4,
                (true, _) => connected / 2..=connected * 2 / 3,
            };
            assert!(connected > 20 && expected.contains(&of_these), "{version}: {of_these} of {connected}");
        }
    }
}

/// `openssl req -x509` makes an authority's certificate, which serves all the same wherever it is trusted by itself.
#[test]
fn given_authorities_are_trusted() {
    if Command::new("openssl").arg("version").output().is_err() {
        return skip("a certificate of openssl's", "needs openssl");
    }
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let mut openssl = Command::new("openssl");
    openssl.args(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
            .split(' '),
    );
    let made = openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let identity = Identity { certificate, key, _folder: folder };
    let server = Server::start(&[
        "--cert",
        identity.certificate.to_str().unwrap(),
        "--key",
        identity.key.to_str().unwrap(),
    ]);
    let server = TlsServer { server, identity };
    let trusted = server.echo_with_ca();
    assert_eq!(trusted.code, Some(0), "{trusted}");
    server.echo(&[]).assert_no_server("tls_self_signed", 2);
    let elsewhere = format!("wss://localhost:{}/", server.server.address.port());
    let mut command = throng(["echo", &elsewhere, "--clients", "2", "--duration", "1s", "--format", "json"]);
    let refused = run(command.arg("--no-preflight").arg("--ca").arg(&server.identity.certificate), RUN_MAX);
    refused.assert_no_server("tls_wrong_host", 2);
}

#[test]
fn a_bad_key_is_told_as_key() {
    let (own, folder) = (Identity::of("client", 2099), tempfile::tempdir().unwrap());
    let key = folder.path().join("key.pem");
    // A text that is no PEM, and one that is, with something else in it.
    for text in ["no key", "-----BEGIN PRIVATE KEY-----\nbm8ga2V5\n-----END PRIVATE KEY-----\n"] {
        std::fs::write(&key, text).unwrap();
        let mut command = throng(["echo", "wss://127.0.0.1:1/", "--no-preflight", "--format", "json"]);
        command.arg("--cert").arg(&own.certificate).arg("--key").arg(&key);
        run(&mut command, RUN_MAX).assert_failed(2, "usage.key", &["key.pem"]);
    }
}

#[test]
fn children_get_the_path_as_it_is() {
    let (own, folder) = (Identity::of("127.0.0.1", 2099), tempfile::tempdir().unwrap());
    let certificate = folder.path().join(OsStr::from_bytes(b"caf\xe9.pem"));
    std::fs::copy(&own.certificate, &certificate).unwrap();
    let server = Server::start_as(&["--processes", "2", "--threads", "1"], |mut serve| {
        serve.arg("--cert").arg(&certificate).arg("--key").arg(&own.key);
        serve
    });
    let url = format!("wss://{}/", server.address);
    let mut command = throng(["echo", &url, "--clients", "8", "--interval", "100ms", "--duration", "500ms"]);
    command.args(["--format", "json", "--no-preflight", "--ca"]).arg(&own.certificate);
    run(&mut command, RUN_MAX).assert_held();
}

#[test]
fn client_certificates_are_sent_on_request() {
    if !has_node() {
        return skip("a server that wants certificates", "needs node; tried: node --version");
    }
    let (own, clients) = (Identity::of("127.0.0.1", 2099), Identity::of("client", 2099));
    for version in ["TLSv1.2", "TLSv1.3"] {
        let (_server, url) = node(&own, version, Some(&clients.certificate));
        let http = |cert: Option<(&Path, &Path)>| {
            let mut command =
                throng(["http", &url, "--connections", "2", "--amount", "20", "--format", "json"]);
            command.args(["--no-preflight", "--quiet", "--ca"]).arg(&own.certificate);
            if let Some((cert, key)) = cert {
                command.arg("--cert").arg(cert).arg("--key").arg(key);
            }
            run(&mut command, RUN_MAX)
        };
        let known = http(Some((&clients.certificate, &clients.key)));
        assert_eq!((known.code, sum_of(&known.json(), "received")), (Some(0), 20), "{version}: {known}");
        let unknown = http(Some((&own.certificate, &own.key)));
        assert!(unknown.code != Some(0), "{version}: {unknown}");
        let nobody = http(None);
        // By TLS 1.3, a server says so when its clients believe that they are in.
        let is_told = version == "TLSv1.3" || nobody.stderr.contains("--cert");
        assert!(nobody.code != Some(0) && is_told, "{version}: {nobody}");
        let swapped = http(Some((&clients.certificate, &own.key)));
        swapped.assert_failed(2, "usage.cert", &["--cert"]);
    }
    let mut alone = throng(["echo", "wss://127.0.0.1:1/", "--cert", "x.pem"]);
    let refused = run(&mut alone, RUN_MAX);
    assert!(refused.code == Some(2) && refused.stderr.contains("--key"), "{refused}");
}

/// Between requests to the clients' own server, one to another: over HTTPS to Node.js, or over HTTP to one
/// that closes each time.
#[test]
fn a_token_is_fetched_from_another_server() {
    if !has_node() {
        return skip("https of Node.js", "needs node; tried: node --version");
    }
    let identity = Identity::of("127.0.0.1", 2099);
    let (node, secured) = node(&identity, "TLSv1.3", None);
    let (plain, asked) = endpoint(|_| ("200 OK", format!("{{\"access_token\":\"{TOKEN}\"}}")));
    let server = Server::start(&["--jwt-secret", "sesame"]);
    let folder = tempfile::tempdir().unwrap();
    for place in [secured, format!("http://{plain}/")] {
        let app = format!(
            r#"
[[login]]
get = "/"

[[login]]
post = "{place}token?for={{person.id}}"
form = {{ grant_type = "password", username = "user-{{person.id}}" }}
keep = {{ key = "json:/access_token" }}

[connect]
path = "/ws?token={{key}}"

[echo]
send = '{{"type":"echo","payload":"{{id}}"}}'
"#
        );
        let file = folder.path().join("app.toml");
        std::fs::write(&file, app).unwrap();
        let url = format!("ws://name:secret@{}", server.address);
        let mut command =
            throng(["echo", &url, "--clients", "10", "--rate", "40", "--duration", "1s", "--app"]);
        command.arg(&file).args(["--format", "json", "--quiet", "--no-preflight", "--processes", "2"]);
        let outcome = run(command.arg("--ca").arg(&identity.certificate), RUN_MAX);
        assert_eq!((outcome.code, sum_of(&outcome.json(), "received")), (Some(0), 40), "{place}: {outcome}");
    }
    assert_eq!(node.into_output().0.lines().count(), 10, "one connection for each login");
    let asked: Vec<_> = asked.try_iter().collect();
    assert_eq!(asked.len(), 10);
    for request in &asked {
        assert!(request.line.starts_with("POST /token?for="), "{request:?}");
        assert_eq!(request.field("host"), Some(&*plain.to_string()), "{request:?}");
        assert_eq!(
            request.field("authorization"),
            None,
            "what lets them in here is not for there: {request:?}"
        );
    }
}
