//! Support of the tests of `throng http`: runs that went well, and nginx.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::process::Process;
use super::throng::{Outcome, Server, run, sum_of, throng};
use super::{free_address, skip};

/// A run of one second or a few thousand requests, on a busy machine.
pub const RUN_MAX: Duration = Duration::from_secs(30);

/// Runs `throng http` with these flags, in JSON, against a server that sees no other requests.
pub fn http(url: &str, flags: &str) -> Outcome {
    run(throng(["http", url, "--format", "json", "--no-preflight"]).args(flags.split_whitespace()), RUN_MAX)
}

/// The same, of which all must have gone well: the results.
pub fn fine(url: &str, flags: &str) -> Value {
    let results = complete(url, flags);
    assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{results:#}");
    results
}

/// The same, of which every answer must have come: the results.
pub fn complete(url: &str, flags: &str) -> Value {
    let outcome = http(url, flags);
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert!(of("sent") > 0 && of("sent") == of("received"), "{outcome}");
    assert_eq!(
        (of("missing"), of("reordered"), of("unexpected"), of("disconnects")),
        (0, 0, 0, 0),
        "{outcome}"
    );
    assert_eq!(results["steps"][0]["rtt"]["count"].as_u64(), Some(of("received")), "every latency is there");
    results
}

pub fn root_of(server: &Server) -> String {
    format!("http://{}/", server.address)
}

/// nginx, with a configuration of its own.
pub struct Nginx {
    pub address: SocketAddr,
    _process: Process,
    _folder: TempDir,
}

impl Nginx {
    /// Listens as these words say besides its address, for what these locations are; it ends each connection
    /// after 50 answers. `None`, which is told: there is none.
    pub fn start(listens: &str, locations: &str) -> Option<Nginx> {
        if Command::new("nginx").arg("-v").output().is_err() {
            skip("nginx", "there is none");
            return None;
        }
        let (folder, address) = (tempfile::tempdir().unwrap(), free_address());
        let place = folder.path().to_str().unwrap();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {place}/{name};"))
            .concat();
        let config = format!(
            "daemon off; master_process off; pid {place}/pid; error_log stderr; events {{}}
             http {{ access_log off; keepalive_requests 50; {temporary}
                 server {{ listen {address} {listens}; {locations} }} }}"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut nginx = Command::new("nginx");
        let process =
            Process::start(nginx.args(["-p", place, "-e", "stderr", "-c"]).arg(&file)).listening_at(address);
        Some(Nginx { address, _process: process, _folder: folder })
    }

    pub fn root(&self) -> String {
        format!("http://{}/", self.address)
    }
}
