//! A server that others wrote, and the file of an app on it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use serde_json::Value;

use super::node::Scripts;
use super::process::Process;
use super::target::Unavailable;
use super::throng::{Outcome, run, throng};
use super::{START_MAX, free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(90);
/// The secrets that files name, as the servers know them.
const SECRETS: [(&str, &str); 2] = [("PUSHER_SECRET", "app-secret"), ("SUPABASE_KEY", "anon")];

/// A file of examples/apps.
pub fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps");
    fs::read_to_string(examples.join(name).with_extension("toml")).unwrap()
}

/// The example of SignalR with its lines about a negotiation, which are comments there.
pub fn negotiated_hub() -> String {
    let offered = ["[[login]]", "post", "keep", "[connect]", "path"];
    let uncommented = |file: String, line: &&str| file.replace(&format!("\n# {line}"), &format!("\n{line}"));
    let file = offered.iter().fold(example("signalr"), uncommented);
    assert!(offered.iter().all(|line| file.contains(&format!("\n{line}"))), "{file}");
    file
}

/// A server that says at `/` what it has counted, and the file of its app.
pub struct App {
    _server: Process,
    pub address: SocketAddr,
    folder: tempfile::TempDir,
}

impl App {
    /// Starts a mode of `tests/servers/NAME/server.js`, if its packages can be had.
    pub fn on_node(name: &str, mode: &str, file: &str) -> Option<App> {
        App::start(file, |address| {
            let scripts = Scripts::install_in("tests/servers", name)?;
            Ok(scripts.start("server.js", &[mode, &address.port().to_string()]))
        })
    }

    /// Starts a server at the address, if it can be had; prints the reason otherwise.
    pub fn start(file: &str, server: impl FnOnce(SocketAddr) -> Result<Process, Unavailable>) -> Option<App> {
        let address = free_address();
        let server = match server(address) {
            Ok(server) => server,
            Err(Unavailable(why)) => {
                skip("a server of tests/servers", &why);
                return None;
            }
        };
        let app =
            App { _server: server.listening_at(address), address, folder: tempfile::tempdir().unwrap() };
        app.write(file);
        Some(app)
    }

    /// Replaces the app's file.
    pub fn write(&self, file: &str) {
        fs::write(self.folder.path().join("app.toml"), file).unwrap();
    }

    /// Runs the file with these flags.
    pub fn run(&self, verb: &str, path: &str, flags: &str) -> Outcome {
        let (file, url) = (self.folder.path().join("app.toml"), format!("ws://{}{path}", self.address));
        let mut command = throng([verb]);
        if verb == "run" {
            command.arg(file).arg(url);
        } else {
            command.arg(url).arg("--app").arg(file);
        }
        command.args(["--format", "json", "--quiet"]);
        run(command.args(flags.split_whitespace()).envs(SECRETS), RUN_MAX)
    }

    /// Returns a number that the server has counted.
    pub fn counted(&self, name: &str) -> u64 {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let source = Source { host, port, path: "/".into() };
        let answer =
            source.get(Timeouts { word: START_MAX, answer: START_MAX }).expect("the server is there");
        let counts: Value = serde_json::from_slice(&answer.body).expect("it is JSON");
        counts[name].as_u64().unwrap_or_else(|| panic!("{name} in {counts}"))
    }
}
