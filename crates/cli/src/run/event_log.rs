//! The event log of a run: where `--events` says, and what is said of it.

use std::path::Path;

use crew::Crew;
use report::count;
use results::Run;
use results::finding::Caveat;
use results::format::counted;
use store::events::{self, EventsError, LogFile, Totals};

use crate::exit::Failure;
use crate::stderr;

/// The log while a run is on.
pub(crate) struct EventLog {
    log: events::EventLog,
    /// Lost in the steps so far.
    lost: u64,
    /// True if the user knows that it has failed.
    is_failure_told: bool,
}

/// Opens the file: a bad path is known before anything is measured, and an earlier log stays until the run
/// can start.
pub(crate) fn open(path: &Path) -> Result<LogFile, Failure> {
    LogFile::open(path).map_err(cannot_write)
}

fn cannot_write(error: EventsError) -> Failure {
    Failure::could_not("write_events", "write the event log", error)
}

impl EventLog {
    /// Begins the log, now that the run can start.
    pub(crate) fn begin(file: LogFile, run: &Run) -> Result<Self, Failure> {
        let header = events::Header {
            run: run.id.clone(),
            started_unix_ns: run.started_unix_ns,
            command: run.command.join(" "),
        };
        let log = events::EventLog::begin(file, &header).map_err(cannot_write)?;
        Ok(Self { log, lost: 0, is_failure_told: false })
    }

    /// Has the crew hand over its events.
    pub(crate) fn connect(&self, crew: &mut Crew) {
        crew.log_events(self.log.queue());
    }

    /// Ends a step. Returns what is wrong with its part of the log, as a caveat.
    pub(crate) fn end_step(&mut self) -> Option<Caveat> {
        let totals = self.log.flush();
        tell_failure(&mut self.is_failure_told, self.log.path(), &totals);
        // The log counts from its beginning: the step's are those since the last.
        let lost = totals.lost - std::mem::replace(&mut self.lost, totals.lost);
        (lost > 0).then(|| match &totals.failure {
            Some(why) => Caveat::EventsUnwritten { events: lost, why: why.to_string() },
            None => Caveat::EventsTooFast { events: lost },
        })
    }

    /// The run has ended, its crew is gone.
    pub(crate) fn finish(self, is_quiet: bool) {
        let path = self.log.path().to_path_buf();
        let mut is_told = self.is_failure_told;
        let totals = self.log.finish();
        tell_failure(&mut is_told, &path, &totals);
        if !is_quiet {
            let Totals { written, lost, bytes, .. } = totals;
            let lost = if lost > 0 { format!(", {} lost", count(lost)) } else { String::new() };
            let (path, size) = (path.display(), report::bytes(bytes as f64));
            stderr::line(format_args!("throng: {} in {path} ({size}){lost}", counted(written, "event")));
        }
    }
}

/// Reports once that nothing more is written.
fn tell_failure(is_told: &mut bool, path: &Path, totals: &Totals) {
    if let Some(why) = totals.failure.as_ref().filter(|_| !*is_told) {
        *is_told = true;
        stderr::line(format_args!(
            "throng: the event log ends here: {}: {why}; the run goes on",
            path.display()
        ));
    }
}
