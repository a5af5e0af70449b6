//! Will this machine hold so many clients? What is found is held against what is needed; each check that fails names
//! the command that mends it.
//!
//! [`Facts`] are read in one place and judged by pure functions, one file for each family of checks.

mod cost;
mod facts;
mod files;
mod memory;
mod network;
mod pace;
mod print;

pub(crate) use cost::Cost;
pub(crate) use facts::Facts;
pub(crate) use print::{json, text};

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Serialize;

use crate::plan;
use crate::processes;

/// What is asked of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Clients at once.
    pub(crate) clients: u64,
    /// Where their server is.
    pub(crate) server: Place,
    /// Addresses that clients can connect from.
    pub(crate) sources: Sources,
    /// Handshakes under way at once.
    pub(crate) parallel: u64,
}

/// Where the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// throng's own, started for the run.
    BuiltIn,
    /// On this machine.
    Here,
    /// On this machine as soon as somebody starts it.
    HereNotYet,
    /// On another one.
    Elsewhere,
}

/// What a client's end of the connection can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Any address of 127.0.0.0/8: throng takes as many as it needs.
    Loopback,
    /// So many addresses, given or the one that the system chooses; `endpoints`: addresses that the server has.
    Fixed { addresses: u64, endpoints: u64 },
}

impl Ask {
    /// Ends of each connection that are on this machine.
    fn ends(&self) -> u64 {
        if self.server == Place::Elsewhere { 1 } else { 2 }
    }

    /// Addresses that the clients will connect from.
    pub(crate) fn addresses(&self) -> u64 {
        match self.sources {
            Sources::Loopback => self.clients.div_ceil(plan::CLIENTS_PER_ADDR).max(1),
            Sources::Fixed { addresses, .. } => addresses,
        }
    }
}

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Enough.
    Ok,
    /// Not enough: the clients asked for do not fit.
    TooLow,
    /// Enough to run, but the figures would be better.
    Advised,
    /// Could not be found out.
    Unknown,
}

impl Verdict {
    /// As people read it.
    fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::TooLow => "too low",
            Verdict::Advised => "advised",
            Verdict::Unknown => "unknown",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// What was looked at.
    pub(crate) check: &'static str,
    /// What there is.
    pub(crate) found: String,
    /// What there should be.
    pub(crate) needed: String,
    /// How the two compare.
    pub(crate) verdict: Verdict,
    /// What to do about it.
    pub(crate) mend: Option<Mend>,
}

/// What mends a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// A file of the kernel, which `--fix` may write.
    Write { file: PathBuf, value: String, command: String },
    /// A command for the user alone.
    Tell(String),
}

impl Mend {
    /// A sysctl by its dotted name.
    fn sysctl(name: &str, value: impl ToString) -> Self {
        let value = value.to_string();
        let quoted = if value.contains(' ') { format!("\"{value}\"") } else { value.clone() };
        let file = PathBuf::from("/proc/sys").join(name.replace('.', "/"));
        Mend::Write { file, value, command: format!("sysctl -w {name}={quoted}") }
    }

    /// What to type.
    pub(crate) fn command(&self) -> &str {
        match self {
            Mend::Write { command, .. } | Mend::Tell(command) => command,
        }
    }

    /// Does it; `None` where that is the user's business. Returns what was there before.
    pub(crate) fn apply(&self) -> Option<io::Result<String>> {
        let Mend::Write { file, value, .. } = self else { return None };
        Some(fs::read_to_string(file).and_then(|before| {
            fs::write(file, value)?;
            Ok(before.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
        }))
    }
}

impl Row {
    /// A row for `needed` of something of which there is `found`.
    fn of(check: &'static str, found: Option<u64>, needed: u64, mend: impl FnOnce() -> Mend) -> Self {
        let verdict = match found {
            None => Verdict::Unknown,
            Some(found) if found >= needed => Verdict::Ok,
            Some(_) => Verdict::TooLow,
        };
        Row {
            check,
            found: found.map_or_else(|| "?".into(), limit),
            needed: report::count(needed),
            verdict,
            mend: (verdict == Verdict::TooLow).then(mend),
        }
    }
}

/// A limit, which may be none.
fn limit(value: u64) -> String {
    // The kernel's "no limit" is one of several huge numbers.
    if value >= 1 << 62 { "no limit".into() } else { report::count(value) }
}

/// All checks.
pub(crate) fn rows(facts: &Facts, ask: &Ask) -> Vec<Row> {
    [files::rows(facts, ask), network::rows(facts, ask), memory::rows(facts, ask), pace::rows(facts, ask)]
        .concat()
}

/// Processes that throng will use.
pub(crate) fn processes(facts: &Facts, ask: &Ask) -> u64 {
    ask.clients.div_ceil(processes::clients_with_files(facts.nofile_hard)).max(1)
}

/// Processes of throng's own server, if it is that one.
fn server_processes(facts: &Facts, ask: &Ask) -> u64 {
    match ask.server {
        Place::BuiltIn => {
            processes::server_processes(ask.clients, processes::clients_with_files(facts.nofile_hard))
        }
        Place::Here | Place::HereNotYet | Place::Elsewhere => 0,
    }
}

#[cfg(test)]
mod tests;
