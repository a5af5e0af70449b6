//! One measurement after the other, each kept before the next begins.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use net::affinity;
use results::Run;
use suite::schedule::{self, Cell};
use suite::{Figure, Record, Scenario, Suite, Target, Tools, Trouble, measure};

use super::host::{Host, Running};
use super::kept::could_not_keep;
use super::{flags, forecast};
use crate::exit::Failure;
use crate::{secrets, stderr};

/// How often the spinner turns, and a pause looks for an interruption.
const TICK: Duration = Duration::from_millis(100);

/// Makes every measurement that has not been made, until the user has had enough.
pub(super) fn run_all(
    suite: &Suite,
    record: &mut Record,
    targets: &[Target],
    host: &mut Host,
    tools: &Tools<'_>,
) -> Result<(), Failure> {
    let targets: Vec<&Target> = targets.iter().collect();
    let cells = schedule::cells(suite, &targets, record.head.repeats, record.head.seed);
    let left: Vec<&Cell> = cells.iter().filter(|cell| !record.has(cell)).collect();
    let (start, bar) = (Instant::now(), progress_bar());
    for (done, cell) in left.iter().enumerate() {
        let scenario =
            suite.scenarios.iter().find(|scenario| scenario.name == cell.scenario).expect("of this suite");
        let target = targets.iter().find(|target| target.name == cell.target).expect("of these targets");
        let number = cells.len() - left.len() + done + 1;
        let what =
            format!("[{number}/{}] {}, {}, round {}", cells.len(), cell.scenario, cell.target, cell.repeat);
        bar.set_message(format!("{what}{}", time_left(start.elapsed(), done, left.len())));
        let log = record.log(cell).map_err(could_not_keep)?;
        let mut command = Vec::new();
        let subject = Subject { cell, scenario, target, record };
        let outcome = subject.measure(&log, host, tools, &mut command);
        if (tools.is_interrupted)() {
            break; // half a measurement is none
        }
        let line = format!("{what}: {}", told(&scenario.figures[0], &outcome));
        bar.suspend(|| stderr::line(line));
        record.add(cell, command, outcome).map_err(could_not_keep)?;
        pause(suite.cooldown, tools);
    }
    bar.finish_and_clear();
    Ok(())
}

/// What is measured.
struct Subject<'a> {
    cell: &'a Cell,
    scenario: &'a Scenario,
    target: &'a Target,
    record: &'a Record,
}

impl Subject<'_> {
    /// A fresh server, a fresh generator, and both gone afterwards. `command` is what was run.
    fn measure(
        &self,
        log: &Path,
        host: &mut Host,
        tools: &Tools<'_>,
        command: &mut Vec<String>,
    ) -> Result<Run, Trouble> {
        let (head, target) = (&self.record.head, self.target);
        let cpus = head
            .server_pin
            .as_deref()
            .map(|cpus| affinity::parse_cpus(cpus).expect("checked with the flags"))
            .unwrap_or_default();
        let mut server = host.start(target, log, &cpus, tools)?;
        let words = self.arguments(&server);
        *command = secrets::command(words.iter().cloned());
        let outcome = measure::measure(&words, command, || server.poll_death(), tools);
        server.stop()?;
        outcome.map(|mut run| {
            run.target.name = Some(target.name.clone());
            let receipt = head.receipts.iter().find(|receipt| receipt.target == target.name);
            run.target.version = receipt.and_then(|receipt| receipt.version.clone());
            run.environment.server_cpus = head.server_pin.clone();
            run.command = ["throng".to_owned()].into_iter().chain(command.iter().cloned()).collect();
            run
        })
    }

    /// The command line of a measurement, without the program.
    fn arguments(&self, server: &Running<'_>) -> Vec<String> {
        let Subject { cell, scenario, target, record } = self;
        let place = server.place();
        let url = match cell.dialect {
            Some(dialect) => place.url(target, dialect),
            None => format!("http://{}/", place.address),
        };
        let mut words = vec![scenario.verb.to_string(), url];
        words.extend(
            cell.dialect.iter().flat_map(|dialect| ["--dialect".to_owned(), dialect.name().to_owned()]),
        );
        if scenario.unix {
            words.extend(["--socket".to_owned(), place.socket.display().to_string()]);
        }
        words.extend(flags::words(&scenario.flags));
        words.extend(cell.dialect.iter().flat_map(|dialect| flags::words_for(*dialect, &target.flags)));
        words.extend(record.head.pin.iter().flat_map(|cpus| ["--pin".to_owned(), cpus.clone()]));
        words.extend(place.metrics_url(target).into_iter().flat_map(|url| ["--scrape".to_owned(), url]));
        words.extend(server.words());
        // The same choices for every target of a round.
        let seed = record.head.seed.wrapping_add(u64::from(cell.repeat)).to_string();
        for word in ["--seed", &seed, "--format", "json", "--no-store", "--quiet"] {
            words.push(word.to_owned());
        }
        words
    }
}

/// The main figure, or what went wrong.
fn told(figure: &Figure, outcome: &Result<Run, Trouble>) -> String {
    match outcome {
        Ok(run) => match figure.read(run) {
            Some(value) => format!("{} {} {}", figure.name, figure.show(value), figure.unit().name())
                .trim_end()
                .to_owned(),
            None => format!("{} was not measured", figure.name),
        },
        Err(trouble) => trouble.to_string(),
    }
}

/// Lets the machine settle: connections in TIME_WAIT, caches being written, a CPU's heat.
fn pause(time: Duration, tools: &Tools<'_>) {
    let start = Instant::now();
    while start.elapsed() < time && !(tools.is_interrupted)() {
        thread::sleep(TICK.min(time.saturating_sub(start.elapsed())));
    }
}

/// A live line on a terminal; nothing elsewhere.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template("{spinner} {wide_msg}").expect("a constant"));
    bar.enable_steady_tick(TICK);
    bar
}

/// What is left, going by what was.
fn time_left(elapsed: Duration, done: usize, all: usize) -> String {
    if done == 0 {
        return String::new();
    }
    format!(" · {} left", forecast::about(elapsed.mul_f64((all - done) as f64 / done as f64)))
}
