//! A server of `targets/`, installed, started and stopped as `throng shootout` does it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use suite::{Server, Tools};
use tempfile::TempDir;

use super::process::Process;

/// A running server under test.
pub struct Target {
    target: suite::Target,
    /// `None` once it has been stopped.
    server: Option<Server>,
    /// Holds its log.
    folder: TempDir,
}

/// The name of the log.
const LOG: &str = "server.log";

/// Why a target, or a client, cannot be had on this machine, in a sentence.
pub struct Unavailable(pub String);

/// The program under test, as the guard of what it starts.
pub fn tools() -> Tools<'static> {
    let throng = PathBuf::from(env!("CARGO_BIN_EXE_throng"));
    Tools {
        throng,
        guard_verb: "guard",
        words_verb: "from-stdin",
        host: Ipv4Addr::LOCALHOST,
        is_interrupted: &|| false,
        say: &|said| eprintln!("{said}"),
    }
}

impl Target {
    /// Installs, builds and starts a target on a free port, and waits until it is ready. Panics if it can be had but
    /// does not come up.
    pub fn start(name: &str) -> Result<Target, Unavailable> {
        Target::start_as(name, None)
    }

    /// Installs and builds a target, in one of its variants. Panics if it can be had but cannot be built.
    pub fn prepare(name: &str, variant: Option<&str>) -> Result<suite::Target, Unavailable> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets").join(name);
        let targets = suite::Target::of_folder(&folder, suite::Readers::INDIFFERENT);
        let wanted = variant.map_or(name.to_owned(), |variant| format!("{name}-{variant}"));
        let found = targets.expect("the manifest").into_iter().find(|target| target.name == wanted);
        let target = found.unwrap_or_else(|| panic!("there is no {wanted}"));
        match suite::setup::prepare(&target, &tools()) {
            Err(trouble) if trouble.is_unavailable() => Err(Unavailable(trouble.reason)),
            Err(trouble) => panic!("{wanted}: {trouble}"),
            Ok(_) => Ok(target),
        }
    }

    /// The same as [`start`](Target::start), in one of its variants.
    pub fn start_as(name: &str, variant: Option<&str>) -> Result<Target, Unavailable> {
        let target = Target::prepare(name, variant)?;
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&target, Some(&folder.path().join(LOG)), &[], &tools());
        let server = server.unwrap_or_else(|trouble| panic!("{}: {trouble}", target.name));
        Ok(Target { target, server: Some(server), folder })
    }

    /// The URL to load it at.
    pub fn url(&self) -> String {
        let server = self.server.as_ref().expect("it runs");
        server.place().url(&self.target, self.target.dialects[0])
    }

    /// Sends the manifest's signal. Panics if the server outlives its grace, or leaves a process behind.
    pub fn stop(mut self) {
        let end = self.server.take().expect("it runs").stop();
        assert!(!end.killed, "still running {:?} after the signal to stop", self.target.stop.grace);
        assert_eq!(end.left, 0, "it left processes behind");
    }
}

impl Drop for Target {
    /// Prints the server's log if the test failed, since it may say why.
    fn drop(&mut self) {
        if thread::panicking() {
            // Ended first, so that its last words are in it.
            drop(self.server.take());
            let log = fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default();
            eprintln!("--- log of {}\n{log}", self.target.name);
        }
    }
}

/// Runs a step of an installation to its end and returns its stdout. A registry out of reach is no fault of throng's.
pub fn complete(command: &mut Command) -> Result<String, Unavailable> {
    let mut process = Process::start(command);
    let status = process.wait(Duration::from_secs(300));
    let (stdout, stderr) = process.into_output();
    if status.is_some_and(|status| status.success()) {
        return Ok(stdout);
    }
    let last_line = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no word on stderr");
    Err(Unavailable(format!("{command:?}: {last_line}")))
}

/// Builds the Go program of a folder under this name, and says where it is.
pub fn built_by_go(folder: &Path, name: &str, package: &str) -> Result<PathBuf, Unavailable> {
    if !Command::new("go").arg("version").output().is_ok_and(|output| output.status.success()) {
        return Err(Unavailable("needs go; tried: go version".into()));
    }
    let program = folder.join("build").join(name);
    complete(Command::new("go").args(["build", "-o"]).arg(&program).arg(package).current_dir(folder))?;
    Ok(program)
}
