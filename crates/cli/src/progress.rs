//! Progress of a run, and its interruption.

use std::thread;
use std::time::{Duration, Instant};

use crew::{Observer, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use net::signals::Interrupts;
use results::finding::Caveat;
use results::format::{count, counted, duration};
use results::{Run, Step};

use crate::exit::Failure;
use crate::exports::Exports;
use crate::interrupts;
use crate::locale;
use crate::restarts::Restarts;
use crate::screen::Screen;
use crate::stderr;
use crate::terminal;

/// How often a resting run looks whether it is interrupted.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A live line on a terminal; nothing elsewhere.
pub(crate) struct Live {
    line: ProgressBar,
    interrupts: Interrupts,
    stop: bool,
    restarts: Restarts,
    exports: Exports,
    /// Instead of the line.
    screen: Option<Screen>,
}

impl Live {
    /// Takes over SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, the second at once. Other
    /// programs are told through `exports`.
    pub(crate) fn new(quiet: bool, exports: Exports, screen: Option<Screen>) -> Result<Self, Failure> {
        let interrupts = interrupts::install()?;
        let line = if quiet || screen.is_some() { ProgressBar::hidden() } else { live_line() };
        Ok(Self { line, interrupts, stop: false, restarts: Restarts::default(), exports, screen })
    }

    /// The run begins.
    pub(crate) fn begin(&mut self, run: &Run) {
        self.exports.begin(run);
    }

    /// A step was measured.
    pub(crate) fn handle_measured(&mut self, step: &Step, is_warmup: bool) {
        self.exports.handle_measured(step, is_warmup);
    }

    /// A step has ended: the last of the run's steps so far.
    pub(crate) fn handle_step(&mut self, run: &Run) {
        self.exports.handle_step(run);
        if let Some(screen) = &mut self.screen {
            screen.handle_step(run);
        }
    }

    /// Ends the exports after the run. Waits for slow receivers until the user interrupts that, or has
    /// already asked twice for the end. Returns whether every line of the stream, if there is one, has been
    /// read.
    pub(crate) fn finish_exports(&mut self, run: &Run) -> bool {
        // A user who has interrupted the run once wants its results all the same, also where they are sent.
        let before = self.interrupts.count();
        let is_over = || self.interrupts.count() > before.min(1);
        std::mem::take(&mut self.exports).finish(run, &is_over)
    }

    /// Takes the line away, so that something else can be printed.
    pub(crate) fn clear(&mut self) {
        self.line.finish_and_clear();
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
    }

    /// Notes that servers are to be restarted in the next step.
    pub(crate) fn expect(&mut self, restarts: Restarts) {
        self.restarts = restarts;
    }

    /// Collects errors of restarting servers in the step that has ended.
    pub(crate) fn finish_restarts(&mut self) -> Vec<Caveat> {
        self.restarts.finish()
    }

    /// Does nothing for this long, or until the user interrupts.
    pub(crate) fn rest(&self, cooldown: Duration) {
        let began = Instant::now();
        while began.elapsed() < cooldown && !self.was_interrupted() {
            // In short naps, as a signal that comes does not end a sleep.
            thread::sleep(LOOK_INTERVAL.min(cooldown));
        }
    }

    /// Ends the run after what is under way.
    pub(crate) fn stop(&mut self) {
        self.stop = true;
    }

    /// Returns whether the run ends after what is under way: the user asked for that, or its output is no
    /// longer read.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop || self.was_interrupted()
    }

    /// Returns whether the user asked to end.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.interrupts.count() > 0
    }
}

impl Observer for Live {
    fn handle_start(&mut self, go_ns: u64) {
        self.restarts.begin(go_ns);
    }

    fn handle_progress(&mut self, progress: &Progress) {
        self.exports.handle_progress(progress);
        if let Some(screen) = &mut self.screen {
            return screen.handle_progress(progress);
        }
        // It was taken away for the lines of a step.
        if self.line.is_finished() {
            self.line.reset();
        }
        let text = describe(progress, stderr::columns().unwrap_or(usize::MAX));
        self.line.set_message(terminal::in_letters(text));
        self.line.tick();
    }

    fn is_interrupted(&self) -> bool {
        self.is_stopping()
    }

    fn is_hurried(&self) -> bool {
        self.interrupts.count() > 1
    }
}

/// A line with a spinner on a terminal; nothing elsewhere.
pub(crate) fn live_line() -> ProgressBar {
    if !stderr::is_live() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("a constant");
    // The last is shown at the end.
    let style = if locale::is_ascii() { style.tick_chars("|/-\\ ") } else { style };
    ProgressBar::no_length().with_style(style)
}

/// The columns of the spinner.
const SPINNER_COLUMNS: usize = 2;

/// The parts of the line that fit: of a latency that was cut off, the unit would be another.
fn describe(progress: &Progress, columns: usize) -> String {
    // What matters most comes first: a terminal of 80 columns shows no more than the latencies.
    let (usable, clients) = (count(progress.usable), counted(progress.clients.into(), "client"));
    let warmup = if progress.is_warmup { "warm-up: " } else { "" };
    let mut parts = vec![format!("{warmup}{} {usable}/{clients}", progress.phase)];
    parts.extend((progress.errors > 0).then(|| counted(progress.errors, "error")));
    if let Some(second) = &progress.second {
        parts.push(format!("{}/s sent, {}/s received", count(second.sent), count(second.received)));
        if let (Some(p50), Some(p99)) = (second.p50_ns, second.p99_ns) {
            parts.push(format!("p50 {} p99 {}", duration(p50), duration(p99)));
        }
        let cpu = [("server", second.server_cpu_percent), ("generator", second.generator_cpu_percent)];
        parts.extend(cpu.into_iter().filter_map(|(whose, cpu)| Some(format!("{whose} {:.0}% CPU", cpu?))));
    }
    let mut line = String::new();
    for part in parts {
        let joint = if line.is_empty() { "" } else { " · " };
        let width =
            [line.as_str(), joint, part.as_str()].map(|text| text.chars().count()).iter().sum::<usize>();
        if !line.is_empty() && width + SPINNER_COLUMNS > columns {
            break;
        }
        line = line + joint + &part;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known() {
        let second = results::Second {
            sent: 1_000,
            received: 20,
            p50_ns: Some(1_500_000),
            p95_ns: Some(2_000_000),
            p99_ns: Some(3_000_000),
            generator_cpu_percent: Some(7.4),
            ..Default::default()
        };
        let progress = Progress {
            phase: crew::StepPhase::Loading,
            clients: 5,
            usable: 4,
            sent: 10,
            received: 20,
            errors: 1,
            second: Some(second),
            ..Progress::default()
        };
        let whole = describe(&progress, usize::MAX);
        assert_eq!(
            whole,
            "loading 4/5 clients · 1 error · 1,000/s sent, 20/s received · p50 1.50ms p99 3.00ms · generator 7% CPU"
        );
        let columns = whole.chars().count() + SPINNER_COLUMNS;
        assert_eq!(describe(&progress, columns), whole);
        assert!(describe(&progress, columns - 1).ends_with("p99 3.00ms"));
    }
}
