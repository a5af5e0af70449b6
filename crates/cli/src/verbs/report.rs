//! `throng report`: finished runs as a page, a table or data.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use report::Style;
use results::Run;

use crate::archive::{self, StoreArg};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::pages;
use crate::stderr;

/// Finished runs as a page with charts, a table or data
///
/// A RUN is a results file, a directory of them (--out DIR leaves such files), or a run that is kept: its id or the
/// beginning of it, @N for the N-th newest, or `last`. Without a format, prints what the run ended with.
#[derive(Args)]
#[command(after_help = "\
Examples:
  throng report last --html report.html   the newest run, for a browser
  throng report @2 @1 --html both.html    the two newest beside each other
  throng report out/ --md                 all runs in a directory")]
pub(crate) struct Report {
    /// The runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    format: ReportFormat,
    #[command(flatten)]
    store: StoreArg,
}

#[derive(Args)]
#[group(multiple = false)]
struct ReportFormat {
    /// Write one HTML file with charts, which needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print Markdown
    #[arg(long)]
    md: bool,
    /// Print a row for each step
    #[arg(long)]
    csv: bool,
    /// Print the results file; of several runs, a list
    #[arg(long)]
    json: bool,
}

impl Report {
    /// Writes it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut runs = Vec::new();
        for reference in &self.runs {
            if Path::new(reference).is_dir() {
                runs.extend(read_directory(Path::new(reference))?);
            } else {
                runs.push(self.store.run(reference)?);
            }
        }
        match &self.format.html {
            Some(path) => {
                let written = pages::write(path, &runs);
                written.map_err(|error| Failure::could_not(format!("write {}", path.display()), error))?;
                stderr::line(format_args!("throng: report {}", path.display()));
                Ok(Exit::Fine)
            }
            None => output::print(&self.format.text(&runs)),
        }
    }
}

impl ReportFormat {
    fn text(&self, runs: &[Run]) -> String {
        let render = |format| -> Vec<String> {
            runs.iter().map(|run| report::render(run, format, &Style::PLAIN)).collect()
        };
        if self.md {
            render(report::Format::Markdown).join("\n")
        } else if self.csv {
            one_table(&render(report::Format::Csv))
        } else if self.json {
            as_list(&render(report::Format::Json))
        } else {
            render(report::Format::Text).join("\n")
        }
    }
}

/// Without the headings of all tables but the first.
fn one_table(tables: &[String]) -> String {
    let rows = |(at, table): (usize, &String)| match table.split_once('\n') {
        Some((_, rows)) if at > 0 => rows.to_owned(),
        _ => table.clone(),
    };
    tables.iter().enumerate().map(rows).collect()
}

fn as_list(files: &[String]) -> String {
    match files {
        [one] => one.clone(),
        _ => format!("[\n{}\n]\n", files.iter().map(|file| file.trim_end()).collect::<Vec<_>>().join(",\n")),
    }
}

/// All results files in a directory, by the time the runs started: their names begin with it.
fn read_directory(directory: &Path) -> Result<Vec<Run>, Failure> {
    let what = || format!("read the directory {}", directory.display());
    let entries = fs::read_dir(directory).map_err(|error| Failure::could_not(what(), error))?;
    let is_results = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_results).collect();
    paths.sort();
    if paths.is_empty() {
        let none = "there is no results file (*.json) in it; a run leaves one with --out";
        return Err(Failure::could_not(what(), none));
    }
    paths.iter().map(|path| archive::read_file(path)).collect()
}
