//! `throng runs`: what the store keeps.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use net::files::{self, Readers};
use report::{Cell, Column, Style, Table};
use results::Scenario;
use results::conclusion::Status;
use store::{Entry, Query, Store};

use crate::archive::{self, StoreArg};
use crate::exit::{Exit, Failure};
use crate::flags::args::{Format, TableFormat, one_line};
use crate::output;
use crate::pages;
use crate::stderr;
use crate::terminal;
use crate::verbs::steps::LIMIT_PERCENTILE;

mod trend;

use trend::Trend;

/// The runs in the store: list, trend, show, tag, delete, export, import
///
/// Name a run by its id, by the beginning of its id, by its name if no other has it, by @N for the N-th newest,
/// or by `last`.
#[derive(Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    store: StoreArg,
}

#[derive(Subcommand)]
enum Action {
    /// List runs, one per line, the newest first, in the columns that fit; --format csv has all
    List(List),
    /// Show how the runs of one name went: p95, its interval and the result of each
    Trend(Trend),
    /// Print a run as it was printed when it ended
    Show(Show),
    /// Tag a run, or show its tags
    Tag(Tag),
    /// Delete runs and their reports
    Delete(Delete),
    /// Write results files
    Export(Export),
    /// Read results files into the store
    Import(Import),
}

#[derive(Args)]
struct List {
    /// Only runs with this text in the id, name, note, target, command or dialect
    text: Option<String>,
    /// Only runs of this name
    #[arg(long)]
    name: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only runs of this scenario: echo, broadcast, …
    #[arg(long)]
    scenario: Option<Scenario>,
    /// The most runs to list; 0 lists all
    #[arg(short = 'n', long, default_value_t = 20)]
    limit: u64,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,
}

#[derive(Args)]
struct Show {
    /// The run
    #[arg(default_value = "last")]
    run: String,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Args)]
struct Tag {
    /// The run
    run: String,
    /// Tags to add; without any, print the run's tags
    tags: Vec<String>,
    /// Remove these tags instead
    #[arg(long, requires = "tags")]
    remove: bool,
}

#[derive(Args)]
struct Delete {
    /// The runs
    #[arg(required = true)]
    runs: Vec<String>,
}

#[derive(Args)]
struct Export {
    /// The runs
    #[arg(required = true)]
    runs: Vec<String>,
    /// Write ID.json into this directory [default: one run, to standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct Import {
    /// Results files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Runs {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let store = self.store;
        match self.action {
            Action::List(list) => list.run(&store.open()?),
            Action::Trend(trend) => trend.run(&store.open()?),
            Action::Show(show) => show.run(&store),
            Action::Tag(tag) => tag.run(&store.open()?),
            Action::Delete(delete) => delete.run(&store.open()?),
            Action::Export(export) => export.run(&store.open()?),
            Action::Import(import) => import.run(store.open_or_make()?),
        }
    }
}

impl List {
    fn run(self, store: &Store) -> Result<Exit, Failure> {
        let limit = (self.limit > 0).then_some(self.limit);
        let query = Query { name: self.name, tag: self.tag, scenario: self.scenario, text: self.text, limit };
        let entries = store.list(&query).map_err(archive::failure)?;
        let is_unknown = |entry: &&Entry| entry.scenario.parse::<Scenario>().is_err();
        let unknown: Vec<&str> = entries.iter().filter(is_unknown).map(|entry| entry.id.as_str()).collect();
        if !unknown.is_empty() {
            let runs = unknown.join(", ");
            stderr::note(&format!(
                "{runs}: of a scenario that this throng cannot read; use the one that kept it"
            ));
        }
        let mut table = Table::new(COLUMNS);
        for entry in entries {
            table.add(row(entry));
        }
        let text = match self.format {
            TableFormat::Text => table.text_within(terminal::columns(), &OPTIONAL),
            format => table.render(format.into()),
        };
        output::print(&self.format.in_letters(text))
    }
}

impl Show {
    fn run(self, store: &StoreArg) -> Result<Exit, Failure> {
        let run = store.run(&self.run)?;
        let style = terminal::style();
        let words = self.format.words(LIMIT_PERCENTILE).unwrap_or(style.words);
        output::print(&report::render(&run, self.format.into(), &Style { words, ..style }))
    }
}

impl Tag {
    fn run(self, store: &Store) -> Result<Exit, Failure> {
        let id = store.find(&self.run).map_err(archive::failure)?;
        for tag in &self.tags {
            one_line(tag).map_err(|problem| Failure::usage("TAGS", format!("{tag:?}: {problem}")))?;
            let changed = if self.remove { store.untag(&id, tag).map(drop) } else { store.tag(&id, tag) };
            changed.map_err(archive::failure)?;
        }
        let tags = store.tags(&id).map_err(archive::failure)?;
        output::print(&tags.iter().map(|tag| format!("{tag}\n")).collect::<String>())
    }
}

impl Delete {
    fn run(self, store: &Store) -> Result<Exit, Failure> {
        // All are found before any is deleted: @2 is another run once @1 is gone.
        for id in find_all(store, &self.runs)? {
            store.delete(&id).map_err(archive::failure)?;
            // The report has the same figures in it: a run that is deleted is to be gone.
            pages::forget(&id).map_err(|error| {
                Failure::could_not("delete_report", format!("delete the report of {id}"), error)
            })?;
        }
        Ok(Exit::Fine)
    }
}

impl Export {
    fn run(self, store: &Store) -> Result<Exit, Failure> {
        let ids = find_all(store, &self.runs)?;
        let Some(dir) = self.out else {
            let [id] = ids.as_slice() else {
                return Err(Failure::usage("--out", "to export several runs, name a directory"));
            };
            // As it was kept, and not written anew from what was read.
            return output::print(&store.results(id).map_err(archive::failure)?);
        };
        fs::create_dir_all(&dir).map_err(|error| {
            Failure::could_not("make_directory", format!("make the directory {}", dir.display()), error)
        })?;
        for id in ids {
            // Ids of imported runs are what their files say, be it a path to somewhere else.
            if !archive::is_file_name(&id) {
                let problem =
                    format!("the id {id:?} is no name of a file: export that run alone, without --out");
                return Err(Failure::usage("RUN", problem));
            }
            let path = dir.join(format!("{id}.json"));
            let text = store.results(&id).map_err(archive::failure)?;
            files::replace(&path, &text, Readers::AsUsual)
                .map_err(|error| Failure::could_not("write", format!("write {}", path.display()), error))?;
            output::print(&format!("{}\n", path.display()))?;
        }
        Ok(Exit::Fine)
    }
}

impl Import {
    fn run(self, mut store: Store) -> Result<Exit, Failure> {
        for path in &self.files {
            let run = archive::read_file(path)?;
            store.save(&run).map_err(archive::failure)?;
            output::print(&format!("{}\n", run.id))?;
        }
        Ok(Exit::Fine)
    }
}

fn find_all(store: &Store, references: &[String]) -> Result<Vec<String>, Failure> {
    references.iter().map(|reference| store.find(reference).map_err(archive::failure)).collect()
}

const COLUMNS: &[Column] = &[
    Column::left("id", "id"),
    Column::left("started (UTC)", "started"),
    Column::left("name", "name"),
    Column::left("result", "result"),
    Column::left("scenario", "scenario"),
    Column::left("protocol", "dialect"),
    Column::left("target", "target"),
    Column::right("steps", "steps"),
    Column::right("clients", "clients"),
    Column::left("metric", "figure"),
    Column::right("p50", "p50_ms"),
    Column::right("p95", "p95_ms"),
    Column::right("p99", "p99_ms"),
    Column::unseen("at_least"),
    Column::right("missing", "missing"),
    Column::right("errors", "errors"),
    Column::left("bottleneck", "bottleneck"),
    Column::left("caveats", "trusted"),
    Column::left("ended", "ended"),
    Column::left("tags", "tags"),
    Column::left("note", "note"),
];

/// The columns beside id, result and p95, the most important first: lines have as many as fit.
const OPTIONAL: [&str; 17] = [
    "ended",
    "name",
    "target",
    "clients",
    "scenario",
    "metric",
    "missing",
    "caveats",
    "p99",
    "p50",
    "bottleneck",
    "errors",
    "tags",
    "protocol",
    "steps",
    "note",
    // An id begins with it.
    "started (UTC)",
];

fn row(entry: Entry) -> Vec<Cell> {
    let count = |n: u64| Cell::Number(n as f64, report::count(n));
    let latency = |ns: Option<u64>, is_bound: bool| {
        Cell::number(ns, |ns| ns as f64 / 1e6, |ns| report::latency(ns, is_bound))
    };
    let [p50, p95, p99] = entry.at_least;
    let bounds = [("p50_ms", p50), ("p95_ms", p95), ("p99_ms", p99)];
    let bounds = bounds.into_iter().filter(|(_, is_bound)| *is_bound).map(|(key, _)| key.to_owned());
    vec![
        Cell::Text(entry.id),
        Cell::Text(results::file::started(entry.started_unix_ns)),
        Cell::text(entry.name),
        Cell::text(entry.outcome.map(Status::word)),
        Cell::Text(entry.scenario),
        Cell::Text(entry.dialect),
        Cell::Text(entry.target),
        count(entry.steps),
        count(entry.clients),
        entry.figure.map_or(Cell::Absent, |figure| Cell::Said(figure.name(), figure.words().into())),
        latency(entry.p50_ns, p50),
        latency(entry.p95_ns, p95),
        latency(entry.p99_ns, p99),
        Cell::Words(bounds.collect()),
        count(entry.missing),
        count(entry.errors),
        Cell::text(entry.bottleneck),
        Cell::Flag(entry.trusted, if entry.trusted { "none" } else { "some" }),
        // By a kill or an interrupt; or it is still under way.
        Cell::Flag(!entry.unfinished, if entry.unfinished { "unfinished" } else { "" }),
        Cell::Words(entry.tags),
        Cell::text(entry.note),
    ]
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use report::TableFormat;
    use stats::Timed;

    use super::*;

    #[test]
    fn a_list_has_a_row_for_each_run() {
        let entry = Entry {
            id: "20261120-183000-abcdef".into(),
            started_unix_ns: 1_795_199_400_000_000_000,
            scenario: Scenario::Broadcast.to_string(),
            dialect: "json".into(),
            target: "node-ws".into(),
            steps: 2,
            clients: 2_000,
            name: Some("nightly".into()),
            note: Some("a new kernel".into()),
            outcome: Some(Status::Passed),
            figure: Some(Timed::Rtt),
            p50_ns: Some(20_100_000),
            p95_ns: Some(40_200_000),
            p99_ns: Some(47_300_000),
            at_least: [false, true, true],
            missing: 12,
            errors: 0,
            bottleneck: Some("server".into()),
            trusted: true,
            tags: vec!["before".into(), "v2".into()],
            ..Entry::default()
        };
        let bare = Entry { scenario: Scenario::Idle.to_string(), unfinished: true, ..Entry::default() };
        let mut table = Table::new(COLUMNS);
        for entry in [entry, bare] {
            table.add(row(entry));
        }
        assert_snapshot!(table.render(TableFormat::Text), @r#"
        id                      started (UTC)        name     result  scenario   protocol  target   steps  clients  metric         p50       p95       p99  missing  errors  bottleneck  caveats  ended       tags       note
        20261120-183000-abcdef  2026-11-20 18:30:00  nightly  PASSED  broadcast  json      node-ws      2    2,000  round trip  20.1ms  ≥ 40.2ms  ≥ 47.3ms       12       0  server      none                 before v2  a new kernel
                                1970-01-01 00:00:00  –        –       idle                              0        0  –                –         –         –        0       0  –           some     unfinished             –
        "#);
        assert_snapshot!(table.render(TableFormat::Csv), @r#"
        id,started,name,result,scenario,dialect,target,steps,clients,figure,p50_ms,p95_ms,p99_ms,at_least,missing,errors,bottleneck,trusted,ended,tags,note
        20261120-183000-abcdef,2026-11-20 18:30:00,nightly,PASSED,broadcast,json,node-ws,2,2000,rtt,20.1,40.2,47.3,p95_ms p99_ms,12,0,server,true,true,before v2,a new kernel
        ,1970-01-01 00:00:00,,,idle,,,0,0,,,,,,0,0,,false,false,,
        "#);
    }
}
