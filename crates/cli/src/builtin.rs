//! The built-in target: throng's own reference server, started for one run when no URL is given.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use net::signals;

use crate::exit::Failure;

/// A reference server that lives as long as this value.
pub(crate) struct BuiltIn {
    process: Child,
    /// Where it serves.
    pub(crate) url: String,
}

impl BuiltIn {
    /// Starts it on a free port of the loopback address, with further flags of `throng serve`.
    pub(crate) fn start(flags: &[&str]) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| Failure::could_not("start the built-in server", why);
        let program = env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).args(flags).stdin(Stdio::null()).stdout(Stdio::piped());
        // Ctrl-C is for the run, which still needs its server to finish in good order.
        command.process_group(0);
        // Whoever it serves is gone with us.
        let process = signals::kill_with_parent(&mut command).spawn().map_err(|error| failed(&error))?;
        let mut built_in = Self { process, url: String::new() };
        let stdout = built_in.process.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(|error| failed(&error))?;
        let url = line.split_whitespace().find(|word| word.starts_with("ws://"));
        built_in.url = url.ok_or_else(|| failed(&"it did not say where it serves"))?.to_owned();
        Ok(built_in)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for BuiltIn {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nobody to tell.
        let _ = signals::terminate(&self.process);
        let _ = self.process.wait();
    }
}
