//! Servers under test on another machine.
//!
//! A target agent ([`serve`]) has a [`Host`], which knows how servers are installed and started; this module carries what it
//! is asked and what it answers. A coordinator ([`Remote`]) claims the agent as one of load agents does, and asks one thing at
//! a time. What a server uses is asked by whoever measures ([`FarEyes`]), without a claim.
//!
//! What comes over the wire names a target and CPUs, and nothing else: no command, no path.

mod far;
mod remote;
mod tenancy;

pub use far::FarEyes;
pub use remote::Remote;
pub use tenancy::{Hosts, serve};

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// What runs servers on the agent's machine: called from a thread of its own, one call at a time. Dropped, it ends what runs.
pub trait Host: Send {
    /// Makes sure that the target can be started and does what it promises: installed if that is allowed, built, checked. Its
    /// version.
    ///
    /// # Errors
    /// What went wrong, at which stage.
    fn prepare(&mut self, target: &str, may_install: bool) -> Result<String, Trouble>;

    /// Starts the target on these CPUs (all, if there are none), and waits until it is ready.
    ///
    /// # Errors
    /// What went wrong, at which stage.
    fn start(&mut self, target: &str, cpus: &[usize]) -> Result<Running, Trouble>;

    /// How the server ended, if it has ended by itself.
    fn poll_death(&mut self) -> Option<String>;

    /// Ends the server that runs, if one does.
    fn stop(&mut self);
}

/// Why nothing came of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What was being done, by the name that tables use.
    pub stage: String,
    /// What went wrong, in one line.
    pub reason: String,
}

/// A server that runs on an agent's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Where it is reached.
    pub address: Ipv4Addr,
    /// Its port.
    pub port: u16,
    /// Its second port, for what it tells about itself.
    pub admin_port: u16,
    /// Its main process there.
    pub pid: u32,
}

/// What a coordinator tells a target agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Down {
    Prepare {
        target: String,
        may_install: bool,
    },
    Start {
        target: String,
        cpus: Vec<usize>,
    },
    Stop,
    /// The shootout is over.
    Release,
}

/// What a target agent tells its coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Up {
    Prepared(Result<String, Trouble>),
    Started(Result<Running, Trouble>),
    Stopped,
    /// The server ended by itself, and how.
    Died(String),
    /// The agent leaves, and why.
    Leaving(String),
}

/// The longest that is shown of what came over a wire.
const WORDS_BYTES_MAX: usize = 500;

/// What came over a wire, fit to be shown.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(WORDS_BYTES_MAX).collect()
}

impl Trouble {
    fn plain(self) -> Self {
        Self { stage: plain(&self.stage), reason: plain(&self.reason) }
    }
}
