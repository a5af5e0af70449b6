//! A shootout as pages: one with all rankings, and one for each scenario with every chart of its runs.

use std::io;
use std::path::{Path, PathBuf};

use net::files::{self, Readers};
use report::{Curve, Page, Published, Question, Row, Server, Shootout, Source};
use results::Run;
use suite::layout::PAGE;
use suite::manifest::{CONTROL_NAME, REFERENCE_NAME};
use suite::record::{Entry, Generator, Head, PreparedTarget, Record, RecordError};
use suite::section::{self, Section};
use suite::standing::{Standing, is_ahead};
use suite::suite::QUICK;
use suite::{SUITES_FOLDER, Scenario, Suite, summary};

/// The reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// A run cannot be read.
    #[error(transparent)]
    Read(#[from] RecordError),
    /// The page cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes them into the shootout's folder. `None`: nothing was measured.
pub(crate) fn write(
    suite: &Suite,
    record: &Record,
    sections: &[Section],
) -> Result<Option<PathBuf>, PageError> {
    if record.entries.is_empty() {
        return Ok(None);
    }
    for section in sections {
        write_runs(record, section)?;
    }
    let path = record.folder().join(PAGE);
    write_ranking(&path, suite, record, sections, Readers::Owner)?;
    Ok(Some(path))
}

/// Writes the page with all rankings.
pub(crate) fn write_ranking(
    path: &Path,
    suite: &Suite,
    record: &Record,
    sections: &[Section],
    readers: Readers,
) -> Result<(), PageError> {
    let head = &record.head;
    let questions = suite.scenarios.iter().zip(sections);
    let measured = head.receipts.iter().filter(|receipt| {
        receipt.trouble.is_none() && receipt.target != CONTROL_NAME && has_entry(record, &receipt.target)
    });
    let shootout = Shootout {
        title: suite.title.clone(),
        headline: summary::headline(sections),
        yardstick: REFERENCE_NAME.to_owned(),
        facts: summary::facts(record),
        questions: questions
            .map(|(scenario, section)| question(scenario, section, record))
            .collect::<Result<_, RecordError>>()?,
        servers: measured.map(|receipt| server(receipt, head)).collect(),
        left_out: summary::left_out(record),
        command: command(head, &head.named),
    };
    files::replace(path, &report::shootout(&shootout), readers)?;
    Ok(())
}

fn has_entry(record: &Record, target: &str) -> bool {
    record.entries.iter().any(|entry| entry.target == target)
}

fn question(scenario: &Scenario, section: &Section, record: &Record) -> Result<Question, RecordError> {
    let rows = section.standings.iter().zip(&section.remarks);
    let notes = summary::shortened(section).into_iter().chain(summary::footnotes(section));
    let published = scenario.published.as_ref().zip(section.then_column.as_ref());
    Ok(Question {
        name: section.name.clone(),
        asks: scenario.asks.clone(),
        figure: section.figure.words(),
        unit: section.figure.unit(),
        answer: section.outcome.answer(),
        detail: section.outcome.to_string(),
        leaders: section.outcome.leaders().to_vec(),
        more_is_better: section.figure.more_is_better(),
        command: section.command.clone(),
        notes: notes.chain(section.remark.clone()).collect(),
        published: published
            .map(|(published, column)| Source { column: column.clone(), differs: published.differs.clone() }),
        rows: rows
            .map(|(standing, remarks)| row(section, standing, remarks, record))
            .collect::<Result<_, RecordError>>()?,
        columns: section.columns.clone(),
        table: section.table.body().to_vec(),
    })
}

fn row(section: &Section, standing: &Standing, remarks: &str, record: &Record) -> Result<Row, RecordError> {
    let target = &standing.target;
    let runs = record.runs(&section.name, target)?;
    let command = |entry: &Entry| section::general(&entry.command);
    Ok(Row {
        server: target.clone(),
        place: standing.place.map_or(String::new(), |place| place.to_string()),
        ahead_of: ahead_of(section, standing),
        mean: standing.mean,
        sign: section.figure.sign(standing.is_bound),
        interval: standing.interval.map(|interval| (interval.low, interval.high)),
        reach: standing.reach.map(|reach| (reach.low, reach.high)),
        shown: section::mean_with_unit(&section.figure, standing),
        with_interval: with_interval(section, standing),
        then: section.then.get(target).copied(),
        remarks: remarks.to_owned(),
        command: record.of(&section.name, target).last().map(command).unwrap_or_default(),
        curve: report::middle_repeat(runs).and_then(|(run, _)| Curve::of(&run)),
    })
}

/// The positions of those that it is certainly ahead of.
fn ahead_of(section: &Section, standing: &Standing) -> Vec<usize> {
    let ranked = section.standings.iter().enumerate().filter(|(_, other)| other.place.is_some());
    let behind = ranked.filter(|(_, other)| is_ahead(&section.figure, standing, other));
    if standing.place.is_some() { behind.map(|(at, _)| at).collect() } else { Vec::new() }
}

/// The figure, its interval and its unit.
fn with_interval(section: &Section, standing: &Standing) -> String {
    let figure = section::main_figure(&section.figure, standing);
    match section.figure.unit().name() {
        _ if figure.is_empty() => figure,
        "" => figure,
        unit => format!("{figure} {unit}"),
    }
}

fn server(receipt: &PreparedTarget, head: &Head) -> Server {
    let about = receipt.about.clone();
    Server {
        name: receipt.target.clone(),
        language: about.language,
        library: about.library,
        protocols: about.dialects,
        version: receipt.version.clone().unwrap_or_default(),
        start: about.start,
        command: command(head, std::slice::from_ref(&receipt.target)),
    }
}

/// The command line that measures these targets again.
fn command(head: &Head, targets: &[String]) -> String {
    // A suite has its name from its file, which need not be among the others.
    let is_among_others = head.suites_folder.ends_with(SUITES_FOLDER) || head.text == QUICK;
    let suite = match is_among_others {
        true => head.suite.clone(),
        false => head.suites_folder.join(format!("{}.toml", head.suite)).display().to_string(),
    };
    let mut words = vec!["throng".to_owned(), "shootout".to_owned(), suite];
    let mut flag = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    flag("--targets", (!targets.is_empty()).then(|| targets.join(",")));
    flag("--only", (!head.only.is_empty()).then(|| head.only.join(",")));
    flag("--scale", (head.scale != 1.0).then(|| head.scale.to_string()));
    flag("--repeats", (head.repeats >= head.repeats_max).then(|| head.repeats.to_string()));
    flag("--budget", head.budget_s.map(|budget_s| format!("{budget_s}s")));
    flag("--targets-dir", head.targets_dir.as_ref().map(|folder| folder.display().to_string()));
    if let Some(Generator::Fleet { agents, labels }) = &head.generator {
        flag("--fleet", Some("URL".to_owned()));
        flag("--agents", agents.map(|agents| agents.to_string()));
        for (key, value) in labels {
            flag("--where", Some(format!("{key}={value}")));
        }
    }
    flag("--target-agent", head.target_agent.clone());
    flag("--nats", head.target_agent.as_ref().map(|_| "URL".to_owned()));
    flag("--pin", head.pin.clone());
    flag("--server-pin", head.server_pin.clone());
    flag("--seed", Some(head.seed.to_string()));
    results::command_line(&words)
}

/// Writes the page of a scenario's runs, each target's beside the others'.
fn write_runs(record: &Record, section: &Section) -> Result<(), PageError> {
    let (mut runs, mut repeats): (Vec<Run>, Vec<Vec<Run>>) = Default::default();
    for standing in &section.standings {
        if let Some((run, others)) = report::middle_repeat(record.runs(&section.name, &standing.target)?) {
            runs.push(run);
            repeats.push(others);
        }
    }
    if runs.is_empty() {
        return Ok(());
    }
    let published: Vec<Published> = published(section).collect();
    let page = Page { runs: &runs, repeats: &repeats, published: &published, home: Some("../report.html") };
    let path = record.folder().join(&section.name).join("report.html");
    files::replace(&path, &report::html(&page), Readers::Owner)?;
    Ok(())
}

fn published(section: &Section) -> impl Iterator<Item = Published> + '_ {
    section.standings.iter().filter_map(|standing| {
        Some(Published {
            scenario: section.name.clone(),
            target: standing.target.clone(),
            figure: section.figure.name.clone(),
            unit: section.figure.unit(),
            then: *section.then.get(&standing.target)?,
            now: standing.mean,
            sign: section.figure.sign(standing.is_bound),
        })
    })
}
