//! The rounds of a shootout: one measurement after the other, each saved before the next begins.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use net::affinity;
use results::Run;
use suite::record::Outcome;
use suite::schedule::{self, Cell};
use suite::{Figure, Record, Scenario, Stage, StageFailure, Suite, Target, Tools, measure, noise, rounds};

use super::host::{Host, Running};
use super::kept::{could_not_keep, could_not_read, from_here};
use super::{flags, forecast};
use crate::exit::Failure;
use crate::progress::live_line;
use crate::{secrets, stderr};

/// The number of measurements that stayed disturbed after which no disturbed measurement is repeated: the
/// machine is never quiet.
const DISTURBED_MAX: u32 = 2;
/// How often the spinner turns, and a pause looks for an interruption.
const TICK: Duration = Duration::from_millis(100);

/// Makes every measurement that has not been made, round by round, until all figures are known well, the time
/// is up, or the user has had enough.
pub(super) fn run_all(
    suite: &Suite,
    record: &mut Record,
    targets: &[Target],
    host: &mut Host,
    tools: &Tools<'_>,
) -> Result<(), Failure> {
    let targets: Vec<&Target> = targets.iter().collect();
    let forecasts_s = forecasts_s(suite);
    let bar = live_line();
    bar.enable_steady_tick(TICK);
    let whole = schedule::round(suite, &targets, 1, record.head.seed);
    let (began, mut disturbed) = (Instant::now(), Disturbed(0));
    for repeat in 1..=record.repeats_max() {
        let due = rounds::due(suite, &targets, record, repeat).map_err(could_not_read)?;
        let Some(cells) = due.filter(|_| !(tools.is_interrupted)()) else { break };
        if repeat > 1 && is_too_late(&forecasts_s, record, &cells) {
            bar.suspend(|| stderr::line(format_args!("round {repeat} would end after --budget")));
            break;
        }
        for (index, cell) in cells.iter().enumerate() {
            let all = (whole.len() * record.head.repeats as usize).max(record.entries.len() + 1);
            let number = record.entries.len() + 1;
            let what = format!("[{number}/{all}] {}, {}, round {repeat}", cell.scenario, cell.target);
            let times = |record: &Record, index: usize| -> String {
                let left = left(&forecasts_s, record, &cells[index..], &whole, repeat);
                format!("{} elapsed, about {} left", minutes(began.elapsed()), minutes(left))
            };
            bar.set_message(format!("{what} ({})", times(record, index)));
            let scenario = suite.scenario(&cell.scenario).expect("of this suite");
            let target = targets.iter().find(|target| target.name == cell.target).expect("of these targets");
            let secure = scenario.tls.then(|| target.over_tls().expect("it supports it"));
            let target = secure.as_ref().unwrap_or(target);
            let log = record.log(cell).map_err(could_not_keep)?;
            let subject = Subject { cell, scenario, target, record };
            let retries = disturbed.retries(suite.busy_retries);
            let outcome = subject.measure_in_quiet(&log, host, tools, suite, retries, &bar);
            if (tools.is_interrupted)() {
                bar.finish_and_clear();
                return Ok(()); // half a measurement is none
            }
            let result = told(&scenario.figures[0], &outcome.result);
            let line = format!("{what}: {result} ({})", times(record, index + 1));
            bar.suspend(|| stderr::line(line));
            if retries > 0 && disturbed.add(&outcome.noise_percent) {
                bar.suspend(|| stderr::line(format_args!("{} {NEVER_QUIET}", noise::OTHERS)));
            }
            record.add(cell, outcome).map_err(could_not_keep)?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Measurements that stayed disturbed though they were repeated.
struct Disturbed(u32);

impl Disturbed {
    /// How often the next measurement may be repeated, of as many as the suite allows.
    fn retries(&self, allowed: u32) -> u32 {
        if self.0 < DISTURBED_MAX { allowed } else { 0 }
    }

    /// Adds the tries of a measurement, by the CPU that other programs had. Returns whether it is the one with which
    /// repeating ends.
    fn add(&mut self, noise_percent: &[f64]) -> bool {
        let is_disturbed = noise_percent.iter().all(|percent| *percent > noise::PERCENT_MAX);
        self.0 += u32::from(is_disturbed);
        is_disturbed && self.0 == DISTURBED_MAX
    }
}

const NEVER_QUIET: &str = "keep this machine busy: from here on, each server is measured once a round; close programs, \
                           or use a machine whose host is not shared";

/// How long a measurement of each scenario takes as its flags let expect, in seconds, by the scenario's name.
type Forecasts<'a> = BTreeMap<&'a str, f64>;

/// Reads the flags of all scenarios once: what is left is added up before and after each measurement.
fn forecasts_s(suite: &Suite) -> Forecasts<'_> {
    // What is wrong with a scenario's files is said where it is measured.
    let of = |scenario: &Scenario| forecast::of_scenario(suite, scenario).unwrap_or_default().as_secs_f64();
    suite.scenarios.iter().map(|scenario| (scenario.name.as_str(), of(scenario))).collect()
}

/// The time for the `rest` of a round, and for the `whole` rounds that every target has after it.
fn left(
    forecasts_s: &Forecasts<'_>,
    record: &Record,
    rest: &[Cell],
    whole: &[Cell],
    repeat: u32,
) -> Duration {
    let rest_s = expected_all_s(forecasts_s, record, rest);
    let round_s = expected_all_s(forecasts_s, record, whole);
    let rounds = record.head.repeats.saturating_sub(repeat);
    // The times of a record that goes on are what its file says, be it no time.
    Duration::try_from_secs_f64(rest_s + round_s * f64::from(rounds)).unwrap_or(Duration::MAX)
}

/// How long these measurements take.
fn expected_all_s(forecasts_s: &Forecasts<'_>, record: &Record, cells: &[Cell]) -> f64 {
    cells.iter().map(|cell| expected_s(forecasts_s, record, cell)).sum()
}

/// How long a measurement takes: as long as in earlier rounds, or as its flags let expect.
fn expected_s(forecasts_s: &Forecasts<'_>, record: &Record, cell: &Cell) -> f64 {
    let before = record.of(&cell.scenario, &cell.target).map(|entry| entry.took_s).reduce(f64::max);
    before.unwrap_or_else(|| forecasts_s[cell.scenario.as_str()])
}

/// `1:05`
fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

/// Returns whether these measurements would end after the time that there is, going by how long they took in
/// earlier rounds.
fn is_too_late(forecasts_s: &Forecasts<'_>, record: &Record, cells: &[Cell]) -> bool {
    let Some(budget_s) = record.head.budget_s else { return false };
    let spent_s: f64 = record.entries.iter().map(|entry| entry.took_s).sum();
    !cells.is_empty() && spent_s + expected_all_s(forecasts_s, record, cells) > budget_s
}

/// The target measured.
struct Subject<'a> {
    cell: &'a Cell,
    scenario: &'a Scenario,
    target: &'a Target,
    record: &'a Record,
}

impl Subject<'_> {
    /// Measures, and again where other programs had too much of the machine; what was least disturbed counts,
    /// and before any in which the generator could not go on. Each time the machine may settle for the
    /// suite's pause.
    fn measure_in_quiet(
        &self,
        log: &Path,
        host: &mut Host,
        tools: &Tools<'_>,
        suite: &Suite,
        retries: u32,
        bar: &ProgressBar,
    ) -> Outcome {
        let start = Instant::now();
        let mut tries: Vec<(f64, Vec<String>, Result<Run, StageFailure>)> = Vec::new();
        loop {
            let mut command = Vec::new();
            let result = self.measure(log, host, tools, &mut command);
            pause(suite.cooldown, tools);
            let percent = result.as_ref().ok().and_then(noise::percent).unwrap_or_default();
            tries.push((percent, command, result));
            let is_last = tries.len() > retries as usize || (tools.is_interrupted)();
            if percent <= noise::PERCENT_MAX || is_last {
                break;
            }
            let name = &self.target.name;
            bar.suspend(|| {
                stderr::line(format_args!("{name} again: {} had {percent:.0}% of the CPU", noise::OTHERS));
            });
        }
        let is_void = |result: &Result<Run, StageFailure>| {
            result.as_ref().is_err_and(|trouble| trouble.stage == Stage::Load)
        };
        tries.sort_by(|(a, _, one), (b, _, other)| is_void(other).cmp(&is_void(one)).then(b.total_cmp(a)));
        let noise_percent = tries.iter().map(|(percent, ..)| *percent).collect();
        let (_, command, result) = tries.pop().expect("it was measured at least once");
        Outcome { command, result, took_s: start.elapsed().as_secs_f64(), noise_percent }
    }

    /// A fresh server, a fresh generator, and both gone afterwards. `command` is what was run.
    fn measure(
        &self,
        log: &Path,
        host: &mut Host,
        tools: &Tools<'_>,
        command: &mut Vec<String>,
    ) -> Result<Run, StageFailure> {
        let (head, target) = (&self.record.head, self.target);
        let cpus = head
            .server_pin
            .as_deref()
            .map(|cpus| affinity::parse_cpus(cpus).expect("checked with the flags"))
            .unwrap_or_default();
        let mut server = host.start(target, log, &cpus, tools)?;
        let words = self.arguments(&server);
        *command = secrets::command(words.iter().cloned());
        let outcome = measure::measure(&words, command, || server.poll_end(), tools);
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
            None => {
                let scheme = if scenario.tls { "https" } else { "http" };
                format!("{scheme}://{}{}", place.address, scenario.path())
            }
        };
        let mut words = vec![scenario.verb.to_string(), url];
        words.extend(cell.dialect.iter().flat_map(|dialect| match &target.app {
            Some(app) => ["--app".to_owned(), from_here(app).display().to_string()],
            None => ["--protocol".to_owned(), dialect.name().to_owned()],
        }));
        if scenario.tls {
            words.push("--insecure".to_owned()); // each server has a certificate of its own making
        }
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
fn told(figure: &Figure, outcome: &Result<Run, StageFailure>) -> String {
    match outcome {
        Ok(run) => match figure.read(run) {
            Some(value) => {
                let value = figure.show_bound(value, figure.is_bound(run));
                format!("{} {value} {}", figure.name, figure.unit().name()).trim_end().to_owned()
            }
            None => format!("{} could not be told", figure.name),
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

#[cfg(test)]
mod tests {
    use suite::record::{Claim, Entry, Head};

    use super::*;

    #[test]
    fn hopeless_machines_end_the_repeating() {
        let mut disturbed = Disturbed(0);
        assert!(!disturbed.add(&[80.0, 90.0]) && !disturbed.add(&[80.0, 2.0]), "one of two was in vain");
        assert_eq!(disturbed.retries(3), 3);
        assert!(disturbed.add(&[80.0, 80.0]), "so were two");
        assert_eq!(disturbed.retries(3), 0);
        assert!(!disturbed.add(&[80.0]), "it is said once");
    }

    #[test]
    fn time_left_is_of_whole_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let head: Head = serde_json::from_value(serde_json::json!({
            "schema": 1, "suite": "tiny", "text": "", "suites_folder": "", "scale": 1.0, "repeats": 3,
            "repeats_max": 3, "budget_s": null, "has_control": false, "seed": 7, "pin": null, "server_pin": null,
            "target_agent": null, "throng": "", "started": "", "machine": [], "receipts": [], "named": [], "left_out": [],
        }))
        .unwrap();
        let mut record = Record::create(Claim::make(folder.path()).unwrap(), head).unwrap();
        let whole = ["a", "b"].map(|target| Cell {
            scenario: "echo".to_owned(),
            target: target.to_owned(),
            dialect: None,
            repeat: 1,
        });
        let entry = Entry { scenario: "echo".into(), target: "a".into(), repeat: 1, ..Entry::default() };
        record.entries.push(Entry { took_s: 60.0, ..entry });
        let left = left(&Forecasts::from([("echo", 60.0)]), &record, &whole[1..], &whole, 1);
        assert_eq!(left.as_secs(), 60 + 2 * 120);
    }
}
