//! Certificates that a client must not accept, and those that it must.

mod support;

use std::path::PathBuf;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

use support::throng::{Outcome, Server, run, sum_of, throng};

const RUN_MAX: Duration = Duration::from_secs(15);

/// A server with a self-signed certificate.
struct TlsServer {
    server: Server,
    certificate: PathBuf,
    _folder: TempDir,
}

impl TlsServer {
    /// The certificate is for this name and expires in that year.
    fn start(name: &str, expires: i32) -> TlsServer {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(expires, 1, 1);
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        let (cert, key) = (certificate.to_str().unwrap(), key_file.to_str().unwrap());
        let server = Server::start(&["--cert", cert, "--key", key]);
        TlsServer { server, certificate, _folder: folder }
    }

    fn echo(&self, arguments: &[&str]) -> Outcome {
        let url = format!("wss://127.0.0.1:{}/", self.server.address.port());
        let mut command = throng(["echo", &url, "--clients", "2", "--interval", "100ms", "--duration", "1s"]);
        run(command.args(["--format", "json", "--no-preflight"]).args(arguments), RUN_MAX)
    }

    fn echo_with_ca(&self) -> Outcome {
        self.echo(&["--ca", self.certificate.to_str().unwrap()])
    }
}

#[test]
fn a_trusted_certificate_is_accepted() {
    let outcome = TlsServer::start("127.0.0.1", 2099).echo_with_ca();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(sum_of(&outcome.json(), "received") > 0, "{outcome}");
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
fn a_server_without_tls_is_told_from_a_bad_certificate() {
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
fn an_idle_client_keeps_its_keys_and_little_else() {
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
    let bytes = (resident("3000") - resident("500")) / 2_500.0;
    assert!((2_000.0..BYTES_MAX).contains(&bytes), "{bytes} bytes each");
}
