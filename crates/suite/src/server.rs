//! A target that runs: started under guard, found ready, stopped with nothing left.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::guard::{Brief, End, Fault, Guarded};
use crate::manifest::{Probe, REFERENCE_NAME, Target};
use crate::place::Place;
use crate::said::last_line;
use crate::scratch::Scratch;
use crate::setup;
use crate::stage::{Stage, StageFailure};
use crate::tools::Tools;
use crate::visit;

/// How often a server that starts is probed.
const POLL: Duration = Duration::from_millis(20);
/// How long one probe may take.
const PROBE_MAX: Duration = Duration::from_secs(1);

/// A running server.
pub struct Server {
    guarded: Guarded,
    place: Place,
    log: PathBuf,
    /// Holds the unix socket, the certificate, and the reference server's log; gone with the server.
    _folder: Scratch,
}

impl Server {
    /// Starts the target on free ports and waits until it is ready. Its output goes to `log`, or if there is
    /// none to one in the target's folder; the reference server, which has no folder, takes its own with it.
    /// It may use `cpus`, all if there are none. The target must have been prepared.
    ///
    /// # Errors
    /// It cannot be started, ends, is not ready in time, or the user has had enough.
    pub fn start(
        target: &Target,
        log: Option<&Path>,
        cpus: &[usize],
        tools: &Tools<'_>,
    ) -> Result<Server, StageFailure> {
        // Before the program is executed, nothing is the server's to answer for.
        let could_not = |error: io::Error| StageFailure::new(Stage::Load, error.to_string());
        let folder = Scratch::new().map_err(could_not)?;
        let log = log.map_or_else(|| own_log(target, folder.path()), Path::to_owned);
        let place = Place::find(tools.host, folder.path(), &tools.throng, cpus).map_err(could_not)?;
        if target.is_over_tls() {
            place.certify().map_err(could_not)?;
        }
        let brief = Brief {
            sandbox: setup::walls(target, tools, &[folder.path()]).map_err(could_not)?,
            command: target.start.command.iter().map(|word| place.fill(word)).collect(),
            env: target.start.env.iter().map(|(name, value)| (name.clone(), place.fill(value))).collect(),
            folder: target.folder.clone(),
            cpus: cpus.to_vec(),
            log: log.clone(),
            signal: target.stop.signal.name().to_owned(),
            grace: target.stop.grace,
        };
        let guarded = Guarded::start(tools.guard(), &brief).map_err(|error| match error.fault {
            Fault::Program => StageFailure::new(Stage::Start, error.why),
            Fault::Machine | Fault::Hiding => could_not(error.into()),
        })?;
        let mut server = Server { guarded, place, log, _folder: folder };
        server.wait_until_ready(target, tools)?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
        let start = Instant::now();
        loop {
            if let Some(death) = self.poll_death() {
                return Err(StageFailure::new(Stage::Start, death));
            }
            let Err(why) = self.probe(target) else { return Ok(()) };
            if (tools.is_interrupted)() {
                return Err(StageFailure::new(Stage::Ready, "interrupted"));
            }
            if start.elapsed() > target.ready.timeout {
                return Err(StageFailure::new(Stage::Ready, self.not_ready(target, &why)));
            }
            thread::sleep(POLL);
        }
    }

    /// Probes a target, by the manifest's own probe.
    fn probe(&self, target: &Target) -> Result<(), String> {
        // Whatever the manifest probes, load comes in here: a server that is ready elsewhere is not ready.
        TcpStream::connect_timeout(&self.place.address, PROBE_MAX)
            .map_err(|error| format!("{}: {error}", self.place.address))?;
        match &target.ready.probe {
            Probe::Tcp(at) => {
                let at = self.place.fill(at);
                let mut addresses = at.to_socket_addrs().map_err(|error| format!("{at}: {error}"))?;
                let is_open =
                    addresses.any(|address| TcpStream::connect_timeout(&address, PROBE_MAX).is_ok());
                if is_open { Ok(()) } else { Err(format!("{at}: nothing listens there")) }
            }
            Probe::Http(url) => visit::get(&self.place.fill(url), None, PROBE_MAX),
            Probe::Handshake(url) => {
                visit::handshake(&self.place.fill(url), target.dialects[0], &target.speech, PROBE_MAX)
            }
        }
    }

    /// Why it is not ready: where it listens instead, if it does, and what it said last.
    fn not_ready(&self, target: &Target, why: &str) -> String {
        let elsewhere = net::proc::ports_of_tree(self.guarded.pid).unwrap_or_default();
        let elsewhere: Vec<String> = elsewhere
            .iter()
            .filter(|address| **address != self.place.address)
            .map(SocketAddr::to_string)
            .collect();
        let mut reason = format!("not ready after {:?}: {why}", target.ready.timeout);
        if !elsewhere.is_empty() {
            reason.push_str(&format!("; it listens on {}", elsewhere.join(", ")));
        }
        if let Some(line) = last_line(&self.log) {
            reason.push_str(&format!("; it said: {line}"));
        }
        reason
    }

    /// How it died and what it said last, if it has died.
    pub fn poll_death(&mut self) -> Option<String> {
        let end = self.guarded.poll_end()?;
        Some(death(end, &self.log))
    }

    /// Its address and its folders.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The file of its output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The id of its main process.
    pub fn pid(&self) -> u32 {
        self.guarded.pid
    }

    /// Asks it to stop, kills what does not, and says how that went.
    pub fn stop(self) -> End {
        self.guarded.stop()
    }

    /// The same after it was measured: how it died, if it had before it was asked to stop.
    pub fn finish(self) -> Option<String> {
        let end = self.guarded.stop();
        (!end.asked).then(|| death(&end, &self.log))
    }
}

/// How a server died, and what it said last.
fn death(end: &End, log: &Path) -> String {
    let said = last_line(log).map(|line| format!("; it said: {line}"));
    format!("the server {}{}", end.how(), said.unwrap_or_default())
}

/// The default path of a server's log.
fn own_log(target: &Target, socket_folder: &Path) -> PathBuf {
    let folder = if target.common_name() == REFERENCE_NAME { socket_folder } else { &target.folder };
    folder.join("server.log")
}
