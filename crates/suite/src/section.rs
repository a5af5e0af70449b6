//! The outcome of one scenario: which target is ahead, by how much, and whether that can be believed.

use std::collections::BTreeMap;

use results::format::{clients, count};
use results::{Run, Unit};
use stats::Interval;

use crate::figure::Figure;
use crate::manifest::{CONTROL_NAME, REFERENCE_NAME};
use crate::msacc;
use crate::notes::{self, TargetNotes};
use crate::outcome::Outcome;
use crate::published;
use crate::record::{Record, RecordError};
use crate::standing::{Control, Entrant, Standing, standings};
use crate::suite::{Scenario, Shortened, Suite};
use crate::table::Table;

/// An interval whose sides differ by less than this share of its middle is shown as even.
const UNEVEN_MAX: f64 = 1e-6;
const PROTOCOL_FLAG: &str = "--protocol";

/// The outcome of one scenario: places, tables, and the answer to its question.
#[derive(Clone, Debug)]
pub struct Section {
    /// The scenario's name.
    pub name: String,
    /// A command line that measured it, with URL and process left out.
    pub command: String,
    /// Flags that are not as the suite asks for them.
    pub shortened: Vec<Shortened>,
    /// The figure that servers are ranked by.
    pub figure: Figure,
    /// Each target with its place, the best first.
    pub standings: Vec<Standing>,
    /// Notes on each of their figures, or why there is none, or no place.
    pub remarks: Vec<String>,
    /// The server that won, or the reason why none did.
    pub outcome: Outcome,
    /// Servers to choose from, without a flaw, that went on to the limit of open files, which is no figure of
    /// theirs: they may be ahead of all that have one.
    pub at_file_limit: usize,
    /// The reference server under its second name, if it ran under two.
    pub control: Option<Control>,
    /// The same, with everything else.
    pub table: Table,
    /// Its columns, with figures in words.
    pub columns: Vec<String>,
    /// The work of Erlang's threads in the last round, for each target that reports it.
    pub msacc: Vec<(String, Table)>,
    /// Published figures of each target, in the figure's unit; empty when nothing was.
    pub then: BTreeMap<String, f64>,
    /// The published figure's name where it was published.
    pub then_column: Option<String>,
    /// Why published figures are missing.
    pub remark: Option<String>,
}

/// The outcome of every scenario so far.
///
/// # Errors
/// A results file cannot be read.
pub fn sections(suite: &Suite, record: &Record) -> Result<Vec<Section>, RecordError> {
    suite.scenarios.iter().map(|scenario| section(scenario, record)).collect()
}

/// The rounds of each target, in the order of the targets' names.
type Runs<'a> = [(&'a str, Vec<Run>)];

fn section(scenario: &Scenario, record: &Record) -> Result<Section, RecordError> {
    let of_scenario = record.entries.iter().filter(|entry| entry.scenario == scenario.name);
    let mut names: Vec<&str> = of_scenario.clone().map(|entry| entry.target.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let has_control = names.contains(&CONTROL_NAME);
    names.retain(|name| *name != CONTROL_NAME);
    let runs: Vec<(&str, Vec<Run>)> =
        names.iter().map(|name| Ok((*name, record.runs(&scenario.name, name)?))).collect::<Result<_, _>>()?;
    let figure = scenario.figures[0].clone();
    let mut said: Vec<TargetNotes> =
        runs.iter().map(|(name, runs)| TargetNotes::of(scenario, name, runs, record)).collect();
    notes::hold_to_one_load(&figure, &runs, &mut said);
    let of_target = |((name, runs), said): (&(&str, Vec<Run>), &TargetNotes)| {
        // A limit of the system is nobody's figure, and must not be ranked as one.
        let runs: &[Run] = if said.at_file_limit.is_some() { &[] } else { runs };
        Entrant { is_bound: said.is_bound, ..entrant(&figure, name, runs, said.flaw.is_none()) }
    };
    let entrants: Vec<Entrant> = runs.iter().zip(&said).map(of_target).collect();
    let standings = standings(&figure, &entrants, REFERENCE_NAME);
    let control = has_control.then(|| control(scenario, record, &runs, &said, &standings)).transpose()?;
    let then = scenario.published.as_ref().map(|published| published::read(published, &names));
    let (then, remark) = match then {
        Some(Ok(then)) => (Some(then), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let said_of = |standing: &Standing| {
        let at = names.iter().position(|name| *name == standing.target).expect("it was measured");
        let no_place = standing.unplaced.map(|unplaced| unplaced.to_string());
        [Some(said[at].text()).filter(|text| !text.is_empty()), no_place]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    };
    let remarks: Vec<String> = standings.iter().map(said_of).collect();
    let last_round =
        |(name, runs): &(&str, Vec<Run>)| Some(((*name).to_owned(), msacc::table(runs.last()?)?));
    // The yardstick is no choice, and a server with a flaw of its own has no place however many clients it has.
    let may_lead = |((name, _), said): &(&(&str, Vec<Run>), &TargetNotes)| {
        *name != REFERENCE_NAME && (said.flaw.is_none() || said.is_held_back)
    };
    let choices: Vec<_> = runs.iter().zip(&said).filter(may_lead).collect();
    let at_file_limit = choices.iter().filter(|(_, said)| said.at_file_limit.is_some()).count();
    let is_beyond = |(_, runs): &(&str, Vec<Run>), said: &TargetNotes| {
        said.is_held_back || said.at_file_limit.is_some() || is_unknown(&figure, runs)
    };
    let beyond = choices.iter().filter(|(of, said)| is_beyond(of, said)).count();
    Ok(Section {
        name: scenario.name.clone(),
        command: of_all(&of_scenario.map(|entry| entry.command.as_slice()).collect::<Vec<_>>()),
        shortened: scenario.shortened.clone(),
        table: table(scenario, record, &runs, &standings, then.as_ref(), &remarks),
        columns: head(scenario, record, then.is_some(), Figure::words),
        outcome: Outcome::of(&figure, &standings, beyond),
        figure,
        standings,
        remarks,
        at_file_limit,
        control: control.flatten(),
        msacc: runs.iter().filter_map(last_round).collect(),
        then_column: then.as_ref().and(scenario.published.as_ref()).map(|published| published.column.clone()),
        then: then.unwrap_or_default(),
        remark,
    })
}

/// The control beside the reference, judged as any other target; `None`: one round tells nothing from anything.
fn control(
    scenario: &Scenario,
    record: &Record,
    of_all: &Runs<'_>,
    said: &[TargetNotes],
    standings: &[Standing],
) -> Result<Option<Control>, RecordError> {
    let figure = &scenario.figures[0];
    let runs = record.runs(&scenario.name, CONTROL_NAME)?;
    let TargetNotes { flaw, at_file_limit, is_bound, .. } =
        TargetNotes::of(scenario, CONTROL_NAME, &runs, record);
    let first = of_all.iter().zip(said).find(|((name, _), _)| *name == REFERENCE_NAME);
    let flaw_of_first = first.and_then(|(_, said)| said.flaw.as_ref().or(said.at_file_limit.as_ref()));
    let flaw_of_first = flaw_of_first.map(|flaw| format!("the first: {flaw}"));
    let loads = first.and_then(|((_, others), _)| {
        notes::fewest(figure, runs.iter()).zip(notes::fewest(figure, others.iter()))
    });
    let unlike = loads
        .filter(|(own, first)| own != first)
        .map(|(own, first)| format!("a figure of {}, and the first's of {}", clients(own), count(first)));
    if let Some(why) = flaw.or(at_file_limit).or(flaw_of_first).or(unlike) {
        return Ok(Some(Control::Incomparable(why)));
    }
    let again = Entrant { is_bound, ..entrant(figure, CONTROL_NAME, &runs, true) };
    let reference = standings.iter().find(|standing| standing.target == REFERENCE_NAME);
    let control = reference.and_then(|reference| Control::of(figure, reference, &again));
    let has_rounds = record.of(&scenario.name, CONTROL_NAME).count() > 1;
    let untold = || Control::Incomparable("one of the two has no interval".to_owned());
    Ok(control.or_else(|| has_rounds.then(untold)))
}

/// Every figure of every target, the best first.
fn table(
    scenario: &Scenario,
    record: &Record,
    runs: &Runs<'_>,
    standings: &[Standing],
    then: Option<&BTreeMap<String, f64>>,
    remarks: &[String],
) -> Table {
    let (first, others) = scenario.figures.split_first().expect("a scenario has a figure");
    let has_rounds = record.repeats_max() > 1;
    let head = head(scenario, record, then.is_some(), with_unit);
    let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>(), 3..head.len() - 1);
    for (standing, remarks) in standings.iter().zip(remarks) {
        let runs = of(standing, runs);
        let receipt = record.head.receipts.iter().find(|receipt| receipt.target == standing.target);
        let mut row = vec![
            standing.place.map_or(String::new(), |place| place.to_string()),
            standing.target.clone(),
            receipt.and_then(|receipt| receipt.version.clone()).unwrap_or_default(),
            main_figure(first, standing),
        ];
        let round = |run: &Run| Some(first.show_bound(first.read(run)?, first.is_bound(run)));
        let rounds = || runs.iter().filter_map(round).collect::<Vec<_>>();
        row.extend(has_rounds.then(|| rounds().join(" ")));
        row.push(share(first, standing));
        row.extend(others.iter().map(|figure| mean_of(figure, runs, first)));
        row.extend(
            then.map(|then| then.get(&standing.target).map_or(String::new(), |value| first.show(*value))),
        );
        row.push(remarks.clone());
        table.row(row);
    }
    table
}

/// The columns of that table, its figures by their `label`.
fn head(
    scenario: &Scenario,
    record: &Record,
    has_then: bool,
    label: impl Fn(&Figure) -> String,
) -> Vec<String> {
    let (first, others) = scenario.figures.split_first().expect("a scenario has a figure");
    let mut head = vec!["place".to_owned(), "target".to_owned(), "version".to_owned(), label(first)];
    head.extend((record.repeats_max() > 1).then(|| "each round".to_owned()));
    head.push(format!("× {REFERENCE_NAME}"));
    head.extend(others.iter().map(label));
    head.extend(has_then.then(|| "then".to_owned()));
    head.push("remarks".to_owned());
    head
}

/// Returns whether nothing is known of a target without a flaw: each round was lost to the generator, or no
/// search for its capacity was decided.
fn is_unknown(figure: &Figure, runs: &[Run]) -> bool {
    runs.is_empty() || (figure.is_capacity() && each_round(figure, runs).is_empty())
}

fn of<'a>(standing: &Standing, runs: &'a Runs<'_>) -> &'a [Run] {
    runs.iter().find(|(name, _)| *name == standing.target).map_or(&[], |(_, runs)| runs)
}

/// A target's values of a figure over its rounds.
fn entrant(figure: &Figure, target: &str, runs: &[Run], is_ranked: bool) -> Entrant {
    Entrant {
        target: target.to_owned(),
        values: each_round(figure, runs),
        reaches: runs.iter().filter_map(|run| figure.reach(run)).collect(),
        is_ranked,
        is_bound: false,
    }
}

/// The figure's value in each round that has one.
pub(crate) fn each_round(figure: &Figure, runs: &[Run]) -> Vec<f64> {
    runs.iter().filter_map(|run| figure.read(run)).collect()
}

pub(crate) fn with_unit(figure: &Figure) -> String {
    match figure.unit().name() {
        "" => figure.name.clone(),
        unit => format!("{} {unit}", figure.name),
    }
}

/// The mean, and its interval.
pub fn main_figure(figure: &Figure, standing: &Standing) -> String {
    let Some(mean) = standing.mean else { return String::new() };
    let shown =
        standing.interval.map_or_else(|| figure.show(mean), |interval| with_interval(figure, mean, interval));
    figure.sign(standing.is_bound).to_owned() + &shown
}

/// The mean and its unit, without its interval.
pub fn mean_with_unit(figure: &Figure, standing: &Standing) -> String {
    let Some(mean) = standing.mean else { return String::new() };
    let mean = figure.show_bound(mean, standing.is_bound);
    match figure.unit().name() {
        "" => mean,
        unit => format!("{mean} {unit}"),
    }
}

/// `90.1 ±2.5`; where the interval reaches further to one side, because the figure was searched, or would
/// reach below nothing, `90.1 (87.6 to 109)`.
pub(crate) fn with_interval(figure: &Figure, mean: f64, Interval { low, high }: Interval) -> String {
    let (below, above) = (mean - low, high - mean);
    match low >= 0.0 && (above - below).abs() <= UNEVEN_MAX * mean.abs() {
        true => format!("{} ±{}", figure.show(mean), figure.show_beside(above, mean)),
        false => {
            let [low, high] = [low.max(0.0), high].map(|end| figure.show_beside(end, mean));
            format!("{} ({low} to {high})", figure.show(mean))
        }
    }
}

/// The multiple of the reference's figure, as precisely as it can matter.
pub fn share(figure: &Figure, standing: &Standing) -> String {
    let Some(share) = standing.share else { return String::new() };
    let sign = match (standing.is_share_bound, standing.is_bound == figure.more_is_better()) {
        (false, _) => "",
        (true, true) => "≥ ",
        (true, false) => "≤ ",
    };
    let share = match share {
        ..0.1 => format!("{share:.4}"),
        ..100.0 => format!("{share:.2}"),
        _ => count(share.round() as u64),
    };
    sign.to_owned() + &share
}

/// The mean of a figure that servers are not ranked by; `first` is the one that they are.
fn mean_of(figure: &Figure, runs: &[Run], first: &Figure) -> String {
    let values = each_round(figure, runs);
    if values.is_empty() {
        return String::new();
    }
    // Beside what a search found, a latency is that of the load that was kept, whatever ended the search.
    let may_be_better = figure.more_is_better() || figure.unit() == Unit::Ms && first.is_of_step();
    let is_bound = may_be_better && runs.iter().any(|run| figure.is_bound(run));
    figure.show_bound(values.iter().sum::<f64>() / values.len() as f64, is_bound)
}

/// [`PROTOCOL_FLAG`] as the repository's records have it.
const FORMER_PROTOCOL_FLAG: &str = "--dialect";

/// A command line of those that measured the targets, with a word in place of the protocol where others speak another.
fn of_all(commands: &[&[String]]) -> String {
    let dialect = |command: &[String]| {
        let is_flag = |word: &String| [PROTOCOL_FLAG, FORMER_PROTOCOL_FLAG].contains(&word.as_str());
        let at = command.iter().position(is_flag).map(|at| at + 1);
        // A record may come from anywhere: the flag may be its last word.
        at.filter(|at| *at < command.len())
    };
    let first = commands.iter().find(|command| dialect(command).is_some()).or(commands.first());
    let mut command = first.map(|command| command.to_vec()).unwrap_or_default();
    if let Some(at) = dialect(&command) {
        command[at - 1] = PROTOCOL_FLAG.to_owned();
        let is_it = |other: &&[String]| dialect(other).is_some_and(|place| other[place] == command[at]);
        if !commands.iter().all(is_it) {
            command[at] = "PROTOCOL".to_owned();
        }
    }
    general(&command)
}

/// The command line without what differs from target to target.
pub fn general(command: &[String]) -> String {
    let mut words = vec!["throng".to_owned()];
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            // They differ from run to run, or say where its results went.
            "--server-pid" | "--seed" | "--format" | "--socket" | "--scrape" => drop(rest.next()),
            "--quiet" | "--no-store" => {}
            word => words.push(match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") && value.contains("://") => {
                    format!("{flag}=URL")
                }
                _ if !word.starts_with("--") && word.contains("://") => "URL".to_owned(),
                _ => word.to_owned(),
            }),
        }
    }
    results::command_line(&words)
}

#[cfg(test)]
mod tests;
