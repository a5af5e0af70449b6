//! The built-in target: throng's own reference server, started for one run when no URL is given.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use net::signals;

use crate::exit::Failure;

/// How long it may take to say where it serves.
const START_MAX: Duration = Duration::from_secs(30);
/// How long it may take to end, before it is killed: nothing of it is needed any more.
const STOP_MAX: Duration = Duration::from_secs(2);

/// A reference server that lives as long as this value.
pub(crate) struct BuiltIn {
    process: Child,
    /// The server's URL.
    pub(crate) url: String,
}

impl BuiltIn {
    /// Starts it on a free port of the loopback address, with further flags of `throng serve`.
    pub(crate) fn start(flags: &[&str]) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::could_not("start_server", "start the built-in server", why)
        };
        let program = env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).args(flags).stdin(Stdio::null()).stdout(Stdio::piped());
        // Ctrl-C is for the run, which still needs its server to finish in good order.
        command.process_group(0);
        // Its only client ends with us.
        let process = signals::kill_with_parent(&mut command).spawn().map_err(|error| failed(&error))?;
        let mut built_in = Self { process, url: String::new() };
        let stdout = built_in.process.stdout.take().expect("piped");
        let (said, heard) = mpsc::channel();
        // In a thread, because a stopped server says nothing. It ends with the server.
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            let _ = said.send(read.map(|_| line));
        });
        let line = heard.recv_timeout(START_MAX).map_err(|_| {
            failed(&format_args!("it has not said where it serves for {} s", START_MAX.as_secs()))
        })?;
        let line = line.map_err(|error| failed(&error))?;
        // Its line is for people, and may say more than the URL.
        let url = line.split_whitespace().find(|word| word.starts_with("ws://"));
        built_in.url = url.ok_or_else(|| failed(&"it did not say where it serves"))?.to_owned();
        Ok(built_in)
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for BuiltIn {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to tell.
        let _ = signals::terminate(&self.process);
        let _ = signals::reap(&mut self.process, STOP_MAX);
    }
}
