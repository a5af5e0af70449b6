//! `throng doctor`: will this machine hold this many clients?

use std::net::IpAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use net::proc::Service;
use results::units;

use crate::doctor::{self, Cost, Facts, Place, RequiredLoad, Row, Sources, Verdict};
use crate::exit::{Exit, Failure};
use crate::flags::compression::Compression;
use crate::output;
use crate::plan;
use crate::secrets::given;
use crate::stderr;
use crate::target::{self, Target};
use crate::terminal;

/// A listener on this machine answers at once, unless its queue is full.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// Will this machine hold this many clients, and if not, what must change?
///
/// Checks limits on open files, ports, queues, memory and threads, and the CPU and the clock. It measures on
/// some thousand connections what a connection costs in the kernel, in throng and in throng's own server.
/// Each check that fails names the command that fixes it; with --fix, throng changes what it may. Exit code 1
/// means that something must be changed.
#[derive(Args)]
pub(crate) struct Doctor {
    /// The server [default: throng's own]
    #[arg(value_parser = given::websocket_url)]
    url: Option<String>,
    /// Clients at once
    #[arg(long, value_name = "N", default_value = "10000", value_parser = units::count)]
    clients: u64,
    /// Source addresses, as for a run
    #[arg(short, long, value_name = "IP", value_delimiter = ',')]
    local_addr: Vec<IpAddr>,
    /// Handshakes under way at once, as for a run
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    connect_parallel: u32,
    #[command(flatten)]
    compression: Compression,
    /// Change what this user may change, until the next boot
    #[arg(long)]
    fix: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

/// Formats on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A table for people
    Text,
    /// An object
    Json,
}

impl Doctor {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        plan::clients("--clients", self.clients)?;
        let (required, server) = self.required()?;
        let files = net::limits::raise_nofile();
        let files = files.map_err(|error| {
            Failure::could_not("raise_open_files", "raise the limit on open files", error)
        })?;
        // Most rows do without it: with too few files to measure it, they name the remedy.
        let cost = Cost::measure(files, self.compression)
            .inspect_err(|failure| stderr::note(&failure.to_string()))
            .ok();
        let mut facts = Facts::read(server, cost);
        let mut rows = doctor::rows(&facts, &required);
        if self.fix && fix(&rows) {
            // What a connection costs is not changed by limits, and takes long to measure.
            facts = Facts::read(server, facts.cost);
            rows = doctor::rows(&facts, &required);
        }
        let text = match self.format {
            Form::Text => terminal::in_letters(doctor::text(&facts, &required, &rows, terminal::columns())),
            Form::Json => format!("{:#}\n", doctor::json(&facts, &required, &rows)),
        };
        output::print(&text)?;
        let fits = rows.iter().all(|row| row.verdict != Verdict::TooLow);
        Ok(if fits { Exit::Fine } else { Exit::CouldNotRun })
    }

    /// Reads the load to check, and the server's process if it runs here.
    fn required(&self) -> Result<(RequiredLoad, Option<u32>), Failure> {
        let required = |server, sources, is_secured| RequiredLoad {
            clients: self.clients,
            is_secured,
            server,
            sources,
            parallel: self.connect_parallel.into(),
            keeps_windows: self.compression.keeps_windows(),
        };
        let Some(url) = &self.url else {
            return Ok((required(Place::BuiltIn, self.sources(None), false), None));
        };
        let target = target::resolve(url, None)?;
        let server = Service::listening_on(target.addrs()).ok().flatten();
        let here = target.is_here(server.as_ref());
        let pid = server.map(|server| server.head());
        let is_open = |target: &Target| {
            target.endpoints.iter().any(|endpoint| target::is_open(endpoint, ANSWER_WITHIN))
        };
        let place = match here {
            // Its process may be hidden from this user.
            true if pid.is_some() || is_open(&target) => Place::Here,
            true => Place::HereNotYet,
            false => Place::Elsewhere,
        };
        Ok((required(place, self.sources(Some(&target)), target.tls_name.is_some()), pid))
    }

    /// The source addresses that a run would choose.
    fn sources(&self, target: Option<&Target>) -> Sources {
        let endpoints = target.map_or(1, |target| target.endpoints.len() as u64);
        match (self.local_addr.len() as u64, target) {
            (0, None) => Sources::Loopback,
            (0, Some(target)) if target.is_ipv4_loopback() => Sources::Loopback,
            (given, _) => Sources::Fixed { addresses: given.max(1), endpoints },
        }
    }
}

/// Applies the fixes that it may, and says so on standard error. Returns whether anything was changed.
fn fix(rows: &[Row]) -> bool {
    let mut changed = false;
    for row in rows {
        // Most rows are in order, or throng knows no fix for them.
        let Some(fix) = &row.fix else { continue };
        match fix.apply() {
            None => stderr::line(format_args!("throng: {}: left to you: {}", row.check, fix.command())),
            Some(Ok(before)) => {
                changed = true;
                stderr::line(format_args!("throng: {}: was {before}; did: {}", row.check, fix.command()));
            }
            Some(Err(error)) => {
                stderr::line(format_args!("throng: {}: {error}; as root: {}", row.check, fix.command()))
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    #[test]
    fn the_doctor_takes_urls_without_scheme() {
        let command = Doctor::augment_args(Command::new("throng"));
        let doctor =
            Doctor::from_arg_matches(&command.get_matches_from(["throng", "127.0.0.1:9/ws"])).unwrap();
        assert!(doctor.required().is_ok());
    }
}
