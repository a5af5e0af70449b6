//! The tables of a shootout: who is ahead in each scenario, by how much, and whether that can be believed.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::{Bottleneck, Run};

use crate::figure::Figure;
use crate::manifest::REFERENCE_NAME;
use crate::msacc;
use crate::published;
use crate::record::{Record, RecordError};
use crate::standing::{Standing, standings};
use crate::suite::{Scenario, Suite};
use crate::table::Table;

/// One scenario's outcome.
#[derive(Clone, Debug)]
pub struct Section {
    /// The scenario's name.
    pub name: String,
    /// A command line that measured it, with URL and process left out.
    pub command: String,
    /// The figure that servers are ranked by.
    pub figure: Figure,
    /// Who is ahead.
    pub standings: Vec<Standing>,
    /// The same, with everything else.
    pub table: Table,
    /// What the threads of Erlang's virtual machine did, for each target that tells: of its last round.
    pub msacc: Vec<(String, Table)>,
    /// What was published of each target, in the figure's unit; empty when nothing was.
    pub then: BTreeMap<String, f64>,
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

fn section(scenario: &Scenario, record: &Record) -> Result<Section, RecordError> {
    let mut names: Vec<&str> = record
        .entries
        .iter()
        .filter(|entry| entry.scenario == scenario.name)
        .map(|entry| entry.target.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let runs: Vec<(&str, Vec<Run>)> =
        names.iter().map(|name| Ok((*name, record.runs(&scenario.name, name)?))).collect::<Result<_, _>>()?;
    let figure = scenario.figures[0].clone();
    let read =
        |runs: &[Run], figure: &Figure| runs.iter().filter_map(|run| figure.read(run)).collect::<Vec<f64>>();
    let values: Vec<(String, Vec<f64>)> =
        runs.iter().map(|(name, runs)| ((*name).to_owned(), read(runs, &figure))).collect();
    let standings = standings(&figure, &values, REFERENCE_NAME);
    let (then, remark) = match scenario.published.as_ref().map(|published| published::read(published, &names))
    {
        Some(Ok(then)) => (Some(then), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let mut head = vec!["place".to_owned(), "target".to_owned(), "version".to_owned()];
    head.extend(scenario.figures.iter().map(with_unit));
    head.insert(4, format!("× {REFERENCE_NAME}"));
    if then.is_some() {
        head.push("then".to_owned());
    }
    head.push("remarks".to_owned());
    let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>(), 3..head.len() - 1);
    for standing in &standings {
        let (_, runs) = runs.iter().find(|(name, _)| *name == standing.target).expect("it has a standing");
        let version = record.head.receipts.iter().find(|receipt| receipt.target == standing.target);
        let mut row = vec![
            standing.place.map_or(String::new(), |place| place.to_string()),
            standing.target.clone(),
            version.and_then(|receipt| receipt.version.clone()).unwrap_or_default(),
            main_figure(&figure, standing),
            standing.share.map_or(String::new(), |share| format!("{share:.2}")),
        ];
        row.extend(scenario.figures[1..].iter().map(|figure| mean_of(figure, &read(runs, figure))));
        if let Some(then) = &then {
            row.push(then.get(&standing.target).map_or(String::new(), |value| figure.show(*value)));
        }
        row.push(remarks(scenario, standing, runs, record));
        table.row(row);
    }
    let command = record.entries.iter().find(|entry| entry.scenario == scenario.name);
    Ok(Section {
        name: scenario.name.clone(),
        command: command.map_or(String::new(), |entry| general(&entry.command)),
        figure,
        standings,
        table,
        msacc: runs
            .iter()
            .filter_map(|(name, runs)| Some(((*name).to_owned(), msacc::table(runs.last()?)?)))
            .collect(),
        then: then.unwrap_or_default(),
        remark,
    })
}

fn with_unit(figure: &Figure) -> String {
    match figure.unit().name() {
        "" => figure.name.clone(),
        unit => format!("{} {unit}", figure.name),
    }
}

/// The mean, and what the interval adds on both sides.
fn main_figure(figure: &Figure, standing: &Standing) -> String {
    let Some(mean) = standing.mean else { return String::new() };
    match standing.interval {
        Some(interval) => {
            format!("{} ±{}", figure.show(mean), figure.show((interval.high - interval.low) / 2.0))
        }
        None => figure.show(mean),
    }
}

fn mean_of(figure: &Figure, values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    figure.show(values.iter().sum::<f64>() / values.len() as f64)
}

/// What speaks against a row's figures, or why it has none.
fn remarks(scenario: &Scenario, standing: &Standing, runs: &[Run], record: &Record) -> String {
    let mut remarks = Vec::new();
    let entries = record
        .entries
        .iter()
        .filter(|entry| entry.scenario == scenario.name && entry.target == standing.target);
    let troubles: Vec<String> =
        entries.filter_map(|entry| entry.trouble.as_ref().map(ToString::to_string)).collect();
    if let Some(first) = troubles.first() {
        let all = troubles.len() + runs.len();
        remarks.push(format!("{} of {all} failed: {first}", troubles.len()));
    }
    let bound = |bottleneck: Bottleneck| {
        runs.iter()
            .filter(|run| run.verdict.bottleneck.as_ref().is_some_and(|found| found.bottleneck == bottleneck))
            .count()
    };
    for (bottleneck, words) in
        [(Bottleneck::Generator, "limited by the generator"), (Bottleneck::Machine, "the machine was full")]
    {
        match bound(bottleneck) {
            0 => {}
            times if times == runs.len() => remarks.push(words.to_owned()),
            times => remarks.push(format!("{words} in {times} of {} rounds", runs.len())),
        }
    }
    let steps = || runs.iter().flat_map(|run| &run.steps);
    let missing: u64 = steps().map(|step| step.counts.missing).sum();
    let errors: u64 = steps().map(|step| step.errors.total()).sum();
    if missing > 0 {
        remarks.push(format!("{missing} missing"));
    }
    if errors > 0 {
        remarks.push(format!("{errors} errors"));
    }
    remarks.join("; ")
}

/// The command line without what differs from target to target.
fn general(command: &[String]) -> String {
    let mut words = vec!["throng".to_owned()];
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--server-pid" | "--seed" | "--format" | "--socket" | "--scrape" => drop(rest.next()),
            "--quiet" | "--no-store" => {}
            word if word.contains("://") => words.push("URL".to_owned()),
            word if word.contains(' ') => words.push(format!("'{word}'")),
            word => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

/// Everything, for people: what was run where, a table for each scenario, and who was left out.
pub fn text(suite: &Suite, record: &Record, sections: &[Section]) -> String {
    let mut text = format!("{}: {}\n", suite.name, suite.title);
    facts(record).iter().for_each(|fact| text.push_str(&format!("{fact}\n")));
    for section in sections {
        let _ = write!(text, "\n{}: {}\n{}", section.name, section.command, section.table.text());
        for (target, table) in &section.msacc {
            let _ = write!(text, "\nmsacc of {target}\n{}", table.text());
        }
        section.remark.iter().for_each(|remark| text.push_str(&format!("no published figures: {remark}\n")));
    }
    let left_out = left_out(record);
    if !left_out.is_empty() {
        text.push_str("\nNot measured\n");
        left_out.iter().for_each(|(name, why)| text.push_str(&format!("{name}: {why}\n")));
    }
    text
}

/// The same in Markdown.
pub fn markdown(suite: &Suite, record: &Record, sections: &[Section]) -> String {
    let mut text = format!("# {}\n\n", suite.title);
    facts(record).iter().for_each(|fact| text.push_str(&format!("- {fact}\n")));
    for section in sections {
        let _ =
            write!(text, "\n## {}\n\n`{}`\n\n{}", section.name, section.command, section.table.markdown());
        for (target, table) in &section.msacc {
            let _ = write!(
                text,
                "\nWhat the virtual machine's threads did (`msacc`), {target}:\n\n{}",
                table.markdown()
            );
        }
        section
            .remark
            .iter()
            .for_each(|remark| text.push_str(&format!("\nNo published figures: {remark}\n")));
    }
    let left_out = left_out(record);
    if !left_out.is_empty() {
        text.push_str("\n## Not measured\n\n");
        left_out.iter().for_each(|(name, why)| text.push_str(&format!("- {name}: {why}\n")));
    }
    text
}

/// What has to be known to judge the figures.
fn facts(record: &Record) -> Vec<String> {
    let head = &record.head;
    let machine: Vec<String> = head.machine.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let mut facts = vec![
        format!("throng {}, suite {}, {}, seed {}", head.throng, head.suite, head.started, head.seed),
        machine.join(", "),
    ];
    if head.scale != 1.0 {
        facts.push(format!(
            "Shortened: times and counts that the suite names, and its pauses, are {} of what it asks for (--scale)",
            head.scale
        ));
    }
    let pinned = match (&head.pin, &head.server_pin) {
        (None, None) => "not pinned".to_owned(),
        (pin, server_pin) => {
            let cpus = |pin: &Option<String>| pin.clone().unwrap_or_else(|| "any".to_owned());
            format!("on CPUs {} and {}", cpus(pin), cpus(server_pin))
        }
    };
    facts.push(format!("Generator and server share this machine, {pinned}"));
    facts.push(match head.repeats {
        1 => "One round: nothing is known of what varies from run to run, so places are by value alone".to_owned(),
        repeats => format!(
            "{repeats} rounds in random order: means, ± 95% intervals; servers whose intervals overlap share a place"
        ),
    });
    facts
}

fn left_out(record: &Record) -> Vec<(String, String)> {
    let of = |receipt: &crate::record::Receipt| {
        Some((receipt.target.clone(), receipt.trouble.as_ref()?.to_string()))
    };
    record.head.receipts.iter().filter_map(of).collect()
}
