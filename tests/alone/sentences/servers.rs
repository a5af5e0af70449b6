//! The servers that have the trouble, each a process that goes with the value.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use crate::alone::sentences::situation::Host;
use crate::support::arena::{Arena, tiny_suite};
use crate::support::process::Process;
use crate::support::quota::Quota;
use crate::support::throng::{program, throng, under};
use crate::support::wire::{SERVER, Wire};
use crate::support::{START_MAX, free_address, wait_until};

/// The port of a server in another network.
const PORT_ELSEWHERE: u16 = 9_000;
/// Flags that a target is measured with.
const FLAGS: &str = r#"clients = 4, duration = "1s", drain-timeout = "500ms""#;
const SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/alone/sentences/servers");

/// A server that listens, if there is to be one, and a folder for whatever is needed.
pub(crate) struct Running {
    pub(crate) process: Option<Process>,
    pub(crate) folder: TempDir,
    /// The folder of commands' suites and targets.
    pub(crate) arena: Option<Arena>,
    /// The link at whose other end it is.
    pub(crate) wire: Option<Wire>,
    address: String,
    start: Option<Command>,
    _quota: Option<Quota>,
}

impl Running {
    /// Starts it, and waits until it listens; or says what is not there for it.
    pub(crate) fn start(host: Host) -> Result<Running, String> {
        let folder = tempfile::tempdir().unwrap();
        let at = free_address();
        let (mut quota, mut wire) = (None, None);
        let mut address = at.to_string();
        let start = match host {
            Host::Own | Host::Nobody | Host::Arena(_) => None,
            Host::Reference(flags) => Some(reference(&address, folder.path(), flags)),
            Host::Tls => Some(with_certificate(reference(&address, folder.path(), ""), folder.path())),
            Host::Quota(percent) => {
                quota = Some(Quota::new(percent).ok_or("needs control groups that can be written")?);
                quota.as_ref().map(|quota| quota.over(&reference(&address, folder.path(), "--threads 1")))
            }
            Host::Files(n) => {
                let limit = format!("--nofile={n}:{n}");
                Some(under("prlimit", &[&limit], &reference(&address, folder.path(), "--threads 1")))
            }
            Host::Elsewhere { loss_percent, mbits_per_s } => {
                let made = Wire::new(f64::from(loss_percent), mbits_per_s);
                let made = wire.insert(made.ok_or("needs network namespaces and /dev/net/tun")?);
                address = format!("{SERVER}:{PORT_ELSEWHERE}");
                Some(made.far(&reference(&address, folder.path(), "--threads 1")))
            }
            Host::Node(mode) => Some(script("node", "server.js", &[&at.port().to_string(), mode])),
            Host::Python => Some(script("python3", "locked.py", &[&at.port().to_string()])),
            Host::Nginx(inside) => Some(nginx(at, folder.path(), inside)),
        };
        if let Some(command) = &start {
            let program = command.get_program().to_owned();
            if !is_there(&program.to_string_lossy()) {
                return Err(format!("needs {}", program.display()));
            }
        }
        let suite = tiny_suite(1, FLAGS, &["rtt.p50", "rate"]);
        let arena = if let Host::Arena(script) = host { Some(Arena::new(&suite, script)) } else { None };
        let mut running = Running { process: None, folder, arena, wire, address, start, _quota: quota };
        running.restart();
        Ok(running)
    }

    /// The process anew, at the same place.
    pub(crate) fn restart(&mut self) {
        self.process = None;
        let Some(command) = &mut self.start else { return };
        let process = Process::start(command);
        self.process = Some(match &self.wire {
            None => process.listening_at(self.address.parse().expect("an address")),
            Some(wire) => {
                assert!(wait_until(START_MAX, || is_up_behind(wire)), "{command:?} does not listen");
                process
            }
        });
    }

    /// The words of a command line with what is known of the host; a run has its URL behind the verb unless the line
    /// says where.
    pub(crate) fn fill(&self, line: &str) -> Vec<String> {
        let pid = self.process.as_ref().map(|process| process.pid().as_raw_nonzero().to_string());
        let folder = self.folder.path().display().to_string();
        let filled = line
            .replace("{ws}", &format!("ws://{}/", self.address))
            .replace("{wss}", &format!("wss://{}/", self.address))
            .replace("{http}", &format!("http://{}/", self.address))
            .replace("{https}", &format!("https://{}/", self.address))
            .replace("{socket}", &format!("{folder}/socket"))
            .replace("{folder}", &folder)
            .replace("{pid}", &pid.unwrap_or_default());
        // As a shell takes them: what stands between ' is one word.
        let parts = filled.split('\'').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }
}

/// Describes the preparations of a run.
impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Own => write!(f, "throng's own"),
            Host::Nobody => write!(f, "nobody"),
            Host::Reference("") => write!(f, "`throng serve`"),
            Host::Reference(flags) => write!(f, "`throng serve {flags}`"),
            Host::Tls => write!(f, "`throng serve --cert … --key …`"),
            Host::Quota(percent) => write!(f, "`throng serve` with {percent}% of a core"),
            Host::Files(n) => write!(f, "`throng serve` with {n} open files"),
            Host::Elsewhere { loss_percent: 0, mbits_per_s: 0 } => {
                write!(f, "`throng serve` in another network")
            }
            Host::Elsewhere { loss_percent, mbits_per_s: 0 } => {
                write!(f, "`throng serve` behind a network that loses {loss_percent}% of the packets")
            }
            Host::Elsewhere { mbits_per_s, .. } => {
                write!(f, "`throng serve` behind a link of {mbits_per_s} Mbit/s")
            }
            Host::Node(mode) => write!(f, "`node server.js {mode}`"),
            Host::Python => write!(f, "`python3 locked.py`"),
            Host::Arena(script) => write!(f, "a target: `{script}`"),
            Host::Nginx(inside) => write!(f, "nginx: `{inside}`"),
        }
    }
}

fn is_up_behind(wire: &Wire) -> bool {
    let mut look = Command::new("ss");
    look.args(["-Htln", "sport", "=", &format!(":{PORT_ELSEWHERE}")]);
    wire.far(&look).output().is_ok_and(|output| !output.stdout.is_empty())
}

fn reference(address: &str, folder: &Path, flags: &str) -> Command {
    let mut serve = throng(["serve", "--quiet", "--listen", address]);
    serve.arg("--socket").arg(folder.join("socket")).args(flags.split_whitespace());
    serve
}

fn with_certificate(mut serve: Command, folder: &Path) -> Command {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key_file) = (folder.join("cert.pem"), folder.join("key.pem"));
    fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(&key_file, key.serialize_pem()).unwrap();
    serve.arg("--cert").arg(certificate).arg("--key").arg(key_file);
    serve
}

fn script(interpreter: &str, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(PathBuf::from(SERVERS).join(name)).args(arguments);
    command
}

fn nginx(at: SocketAddr, folder: &Path, inside: &str) -> Command {
    let text = format!(
        "daemon off; pid {0}/pid; error_log {0}/log; worker_processes 1; events {{}}\n\
         http {{ access_log off; server {{ listen {at}; root {0}; {inside} }} }}\n",
        folder.display()
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, text).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-e").arg(folder.join("log")).arg("-c").arg(file);
    command
}

fn is_there(name: &str) -> bool {
    let ours = program();
    let places = std::env::var_os("PATH").unwrap_or_default();
    name == ours.to_string_lossy() || std::env::split_paths(&places).any(|place| place.join(name).is_file())
}
