//! Output of results: standard output, and a file that is brought up to date after every step.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use report::{Printer, Style};
use results::Run;
use results::finding::Caveat;

use super::next;
use crate::archive::RunArchive;
use crate::buffered_output::BufferedOutput;
use crate::exit::Failure;
use crate::exports;
use crate::flags::args::{Format, RunArgs};
use crate::pages::Pages;
use crate::results_file::ResultsFile;
use crate::{output, stand_in, stderr};

/// The variable with the file of a GitHub job's summary.
const GITHUB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// A reader that reads at all takes more of a pipe within this.
const READER_WITHIN: Duration = Duration::from_secs(1);

/// Prints and keeps a run.
pub(crate) struct Sink {
    format: Format,
    style: Style,
    printer: Printer,
    /// The file of `--out`.
    out: Option<ResultsFile>,
    archive: RunArchive,
    pages: Pages,
    is_quiet: bool,
    /// The summary of a GitHub job.
    github: Option<PathBuf>,
    stdout: BufferedOutput,
    /// Standard output is the stream's.
    streams_instead: bool,
    /// Standard output is no longer read (`| head`).
    closed: bool,
    /// The results are somewhere else, too.
    is_kept: bool,
    /// The reason why the results file is older than the run, until it is written again.
    behind: Option<Failure>,
    /// The first time that something else could not be written.
    unwritten: Option<Failure>,
}

impl Sink {
    /// A sink as the flags ask for it; the directory is there. `is_walk`: there may be several steps.
    pub(crate) fn new(args: &RunArgs, run: &Run, is_walk: bool, style: Style) -> Result<Self, Failure> {
        let out = args.out.as_ref().map(|dir| ResultsFile::new(dir.join(format!("{}.json", run.id))));
        let github = args.github.then(github_summary).transpose()?;
        let archive = RunArchive::new(args)?;
        let pages = Pages::new(args);
        let (format, is_quiet) = (args.format, args.quiet);
        let streams_instead = args.stream.as_deref().is_some_and(exports::is_stdout);
        let has_stream = args.stream.is_some() && !streams_instead;
        let is_kept = archive.has_place() || out.is_some() || github.is_some() || has_stream;
        let unwritten = match output::check_open() {
            // Standard output is closed, but the results are worth having elsewhere: the exit code tells of
            // it.
            Err(failure) if is_kept => Some(failure),
            Err(failure) => return Err(failure),
            Ok(()) => None,
        };
        Ok(Self {
            format,
            style,
            printer: Printer::new(is_walk, style),
            out,
            archive,
            pages,
            is_quiet,
            github,
            stdout: BufferedOutput::stdout().map_err(output::not_written)?,
            streams_instead,
            closed: false,
            is_kept,
            behind: None,
            unwritten,
        })
    }

    /// A step has ended. What is kept of it says that the run has not: whatever kills this process leaves
    /// that.
    pub(crate) fn step(&mut self, run: &mut Run) {
        self.print_step(run, run.steps.len() - 1);
        let resume = self.out.is_some().then(|| "--resume goes on".to_owned());
        // Whatever else speaks against it, this is what its reader has to know.
        run.verdict.caveats.insert(0, Caveat::Unended { resume }.into());
        // Told once, and not with every step while the disk is full.
        let was_behind = self.behind.is_some();
        self.keep(run);
        if let Some(failure) = self.behind.as_ref().filter(|_| !was_behind) {
            stderr::line(format_args!("throng: {failure}; the run goes on"));
        }
        self.archive.keep_so_far(run);
        run.verdict.caveats.remove(0);
    }

    /// Prints the header of the run, and the steps of an earlier part, where text is printed as it comes.
    pub(crate) fn begin(&mut self, run: &Run) {
        if self.format.is_text() {
            self.print(&self.printer.head(run));
            for at in 0..run.steps.len() {
                self.print_step(run, at);
            }
        }
    }

    fn print_step(&mut self, run: &Run, at: usize) {
        if self.format.is_text() {
            let text = self.printer.step(run, &run.steps[at]);
            self.print(&text);
        }
    }

    /// The run has ended. It goes to the store last: whatever that says, the rest is done.
    pub(crate) fn handle_end(&mut self, run: &Run) {
        let text = match self.format.is_text() {
            // The steps have been printed.
            true => self.printer.end(run, &next::lines(run)),
            false => report::render(run, self.format.into(), &self.style),
        };
        self.print(&text);
        self.keep(run);
        self.tell_github(run);
        let is_kept = self.archive.keep(run).unwrap_or_else(|failure| {
            self.unwritten.get_or_insert(failure);
            false
        });
        if is_kept && !self.is_quiet {
            let command = self.archive.command(["show", "last"]);
            stderr::line(format_args!("throng: kept as run {} ({command})", run.id));
        }
        if let Err(failure) = self.pages.write(run, is_kept) {
            self.unwritten.get_or_insert(failure);
        }
        let printed = self.stdout.offer(READER_WITHIN);
        self.handle_printed(printed);
    }

    /// Waits for the reader of a pipe, which may take any time to read it.
    ///
    /// # Errors
    /// A file could not be written. Everything else has been done.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let printed = self.stdout.finish();
        self.handle_printed(printed.map(drop));
        self.behind.or(self.unwritten).map_or(Ok(()), Err)
    }

    /// Returns whether standard output is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    fn print(&mut self, text: &str) {
        if self.closed || self.streams_instead {
            return;
        }
        stand_in::note_printed();
        let printed = self.stdout.write(text.as_bytes());
        self.handle_printed(printed);
    }

    fn handle_printed(&mut self, printed: io::Result<()>) {
        if let Err(error) = printed {
            self.closed = true;
            // A user who has seen enough finds the rest where the run is kept.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.unwritten.get_or_insert_with(|| output::not_written(error));
            } else {
                self.handle_reader_gone();
            }
        }
    }

    /// The stream has ended; `is_read`: with its last line.
    pub(crate) fn handle_streamed(&mut self, is_read: bool) {
        if self.streams_instead && !is_read {
            self.handle_reader_gone();
        }
    }

    fn handle_reader_gone(&mut self) {
        if !self.is_kept {
            let why = "its reader is gone, and the results are nowhere else (--no-store)";
            self.unwritten.get_or_insert_with(|| output::not_written(why));
        }
    }

    fn keep(&mut self, run: &Run) {
        let Some(out) = &mut self.out else { return };
        self.behind = out
            .keep(run)
            .err()
            .map(|error| Failure::could_not("write", format!("write {}", out.path().display()), error));
    }

    /// Adds to the job's summary, and reports on standard error, where the runner looks for commands as well:
    /// standard output belongs to --format.
    fn tell_github(&mut self, run: &Run) {
        let Some(path) = &self.github else { return };
        stderr::text(report::annotations(run));
        // Other steps of the job write to this file as well.
        let added = OpenOptions::new().append(true).create(true).open(path);
        if let Err(error) = added.and_then(|mut file| file.write_all(report::markdown(run).as_bytes())) {
            let failure = Failure::could_not("write", format!("write {}", path.display()), error);
            self.unwritten.get_or_insert(failure);
        }
    }
}

/// The file that the job's environment names.
fn github_summary() -> Result<PathBuf, Failure> {
    let path = env::var_os(GITHUB_SUMMARY).filter(|path| !path.is_empty());
    let problem = format!("{GITHUB_SUMMARY} is not set: this is not a GitHub Actions job");
    path.map(PathBuf::from).ok_or_else(|| Failure::usage("--github", problem))
}
