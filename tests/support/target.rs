//! A server of `targets/`, installed, built, started and stopped as its manifest says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use regex::Regex;
use rustix::process::Signal;

use super::client::Client;
use super::manifest::{self, Manifest, Step};
use super::process::Process;
use super::{free_address, is_listening, wait_until};

/// A running server under test.
pub struct Target {
    pub process: Process,
    pub address: SocketAddr,
    pub manifest: Manifest,
}

/// Why a target, or a client, cannot be had on this machine, in a sentence.
pub struct Unavailable(pub String);

impl Target {
    /// Installs, builds and starts a target on a free port, and waits until it is ready. Panics if it can be had but
    /// does not come up.
    pub fn start(name: &str) -> Result<Target, Unavailable> {
        Target::start_as(name, None)
    }

    /// The same, in one of its variants.
    pub fn start_as(name: &str, variant: Option<&str>) -> Result<Target, Unavailable> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets").join(name);
        let manifest = manifest::read(&folder).unwrap();
        for requirement in &manifest.requires {
            let found =
                command(&requirement.command, &folder).output().is_ok_and(|output| output.status.success());
            if !found {
                let asked = requirement.command.join(" ");
                return Err(Unavailable(format!("needs {}; tried: {asked}", requirement.missing)));
            }
        }
        for step in manifest.install.iter().chain(&manifest.build) {
            complete(command(&step.command, &folder).envs(&step.env))?;
        }
        let version = complete(&mut command(&manifest.version.command, &folder))?;
        let regex = Regex::new(&manifest.version.regex).expect("the manifest's regex");
        assert!(regex.is_match(version.trim()), "no version, no number: {version}");

        let address = free_address();
        let start = variant.map_or(&manifest.start, |variant| &manifest.variants[variant].start);
        let process = Process::start(&mut start_command(start, &folder, address));
        let target = Target { process, address, manifest };
        let is_ready = wait_until(target.manifest.ready.timeout, || target.is_ready());
        assert!(is_ready, "{name} is not ready after {:?}", target.manifest.ready.timeout);
        Ok(target)
    }

    /// Where to load it.
    pub fn url(&self) -> String {
        fill(&self.manifest.endpoint, self.address)
    }

    /// Sends the manifest's signal. Panics if the server outlives its grace.
    pub fn stop(mut self) {
        assert_eq!(self.manifest.stop.signal, "TERM");
        self.process.signal(Signal::TERM);
        let status = self.process.wait(self.manifest.stop.grace);
        assert!(status.is_some(), "still running {:?} after SIGTERM", self.manifest.stop.grace);
    }

    fn is_ready(&self) -> bool {
        if !is_listening(self.address) {
            return false;
        }
        let url = fill(&self.manifest.ready.http, self.address);
        let path = url.strip_prefix(&format!("http://{}", self.address)).expect("a URL of this server");
        let mut client = Client::connect(self.address);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes());
        client.status() == Some(200)
    }
}

fn start_command(start: &Step, folder: &Path, address: SocketAddr) -> Command {
    let argv: Vec<String> = start.command.iter().map(|word| fill(word, address)).collect();
    let mut command = command(&argv, folder);
    command.envs(start.env.iter().map(|(name, value)| (name, fill(value, address))));
    command
}

fn command(argv: &[String], folder: &Path) -> Command {
    // A program that was built here is named relative to the folder, which spawning would not look at.
    let built = folder.join(&argv[0]);
    let program = if built.is_file() { built } else { PathBuf::from(&argv[0]) };
    let mut command = Command::new(program);
    command.args(&argv[1..]).current_dir(folder);
    command
}

/// Runs a step of the installation to its end and returns its stdout. A registry out of reach is no fault of throng's.
pub fn complete(command: &mut Command) -> Result<String, Unavailable> {
    let mut process = Process::start(command);
    let status = process.wait(Duration::from_secs(300));
    let (stdout, stderr) = process.into_output();
    if status.is_some_and(|status| status.success()) {
        return Ok(stdout);
    }
    let last_line = stderr.lines().last().unwrap_or("no word on stderr");
    Err(Unavailable(format!("{command:?}: {last_line}")))
}

fn fill(text: &str, address: SocketAddr) -> String {
    let cores = std::thread::available_parallelism().unwrap();
    text.replace("{host}", &address.ip().to_string())
        .replace("{port}", &address.port().to_string())
        .replace("{cores}", &cores.to_string())
}
