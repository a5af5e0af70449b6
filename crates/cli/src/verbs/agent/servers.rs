//! The servers of a target agent: targets of its own folder, started by their names and by nothing else.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fleet::host::{Host, Running, StageFailure};
use suite::{Server, Stage, Target, TargetCatalog, Tools, check, setup};

use crate::hidden;

/// Runs one server at a time.
pub(super) struct Servers {
    catalog: Arc<TargetCatalog>,
    throng: PathBuf,
    address: Ipv4Addr,
    /// True if installing is allowed here, whatever a coordinator says.
    may_install: bool,
    /// The output for the agent's user.
    say: fn(&str),
    /// Set once the work is no longer waited for.
    is_over: Arc<AtomicBool>,
    running: Option<Server>,
}

impl Servers {
    pub(super) fn new(
        catalog: Arc<TargetCatalog>,
        throng: PathBuf,
        address: Ipv4Addr,
        may_install: bool,
        say: fn(&str),
        is_over: Arc<AtomicBool>,
    ) -> Self {
        Self { catalog, throng, address, may_install, say, is_over, running: None }
    }

    /// Does something with a target of the catalog.
    fn with<T>(
        &self,
        name: &str,
        act: impl FnOnce(&Target, &Tools<'_>) -> Result<T, suite::StageFailure>,
    ) -> Result<T, StageFailure> {
        let over = &self.is_over;
        let is_over = || over.load(Ordering::Relaxed);
        let tools = Tools {
            throng: self.throng.clone(),
            words_verb: hidden::WORDS,
            guard_verb: hidden::GUARD,
            host: self.address,
            is_interrupted: &is_over,
            say: &self.say,
        };
        let target = self.catalog.targets.iter().find(|target| target.name == name);
        let unknown = || suite::StageFailure::new(Stage::Requires, format!("the agent has no target {name}"));
        let outcome = target.ok_or_else(unknown).and_then(|target| act(target, &tools));
        outcome.map_err(|trouble| StageFailure {
            stage: trouble.stage.name().to_owned(),
            reason: trouble.reason,
        })
    }
}

impl Host for Servers {
    fn prepare(&mut self, target: &str, may_install: bool) -> Result<String, StageFailure> {
        self.stop();
        let is_allowed = self.may_install;
        self.with(target, |target, tools| {
            let version = match (may_install, is_allowed) {
                (true, true) => setup::prepare(target, tools)?,
                (true, false) => {
                    setup::installed(target, tools).map_err(|trouble| refused(target, trouble))?
                }
                (false, _) => setup::installed(target, tools)?,
            };
            check::check(target, tools).map(|()| version)
        })
    }

    fn start(&mut self, target: &str, cpus: &[usize]) -> Result<Running, StageFailure> {
        self.stop();
        let server = self.with(target, |target, tools| Server::start(target, None, cpus, tools))?;
        let place = server.place();
        let (port, admin_port) = (place.address.port(), place.admin_port);
        let running = Running { address: self.address, port, admin_port, pid: server.pid() };
        self.running = Some(server);
        Ok(running)
    }

    fn poll_death(&mut self) -> Option<String> {
        self.running.as_mut()?.poll_death()
    }

    fn stop(&mut self) -> Option<String> {
        self.running.take().and_then(Server::finish)
    }
}

/// Refuses to install a target for a request over the bus.
fn refused(target: &Target, trouble: suite::StageFailure) -> suite::StageFailure {
    let name = &target.name;
    let remedy = format!(
        "not installed, and the agent installs nothing: start it with --allow-install, or have throng targets install {name} there"
    );
    suite::StageFailure::new(trouble.stage, remedy)
}
