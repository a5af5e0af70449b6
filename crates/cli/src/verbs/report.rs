//! `throng report`: finished runs as a page, a table or data.

use std::path::{Path, PathBuf};

use clap::Args;
use net::files::Readers;
use results::Run;

use crate::archive::StoreArg;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::pages;
use crate::stderr;
use crate::terminal;
use crate::verbs::shootout::Kept;
use crate::verbs::targets;

/// Show finished runs as a page with charts, as a table or as data
///
/// A RUN is a results file, a directory of results files (as --out DIR writes them), or a run in the store:
/// its id, the beginning of its id, @N for the N-th newest, or `last`. Without a format, prints what the run
/// printed at its end. Of the directory of a shootout, all of this shows its rankings.
#[derive(Args)]
#[command(after_help = "\
Examples:
  throng report last --html report.html   the newest run, for a browser
  throng report @2 @1 --html both.html    the two newest, side by side
  throng report out/ --md                 all runs in a directory
  throng report shootouts/quick-20261124-1500 --html ranking.html")]
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
    /// Write one self-contained HTML file with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print Markdown
    #[arg(long)]
    md: bool,
    /// Print one row per step
    #[arg(long)]
    csv: bool,
    /// Print the results file; for several runs, a list
    #[arg(long)]
    json: bool,
    /// Print JUnit XML, for one run
    #[arg(long)]
    junit: bool,
}

impl Report {
    /// Writes it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if let [one] = &self.runs[..]
            // A shootout's directory is more than its runs: it has the rankings.
            && let Some(kept) = Kept::open(Path::new(one))?
        {
            return self.format.of_shootout(&kept);
        }
        let mut runs = Vec::new();
        for reference in &self.runs {
            runs.extend(self.store.runs(reference)?);
        }
        if self.format.junit && runs.len() > 1 {
            return Err(Failure::usage("--junit", format!("is of one run, and these are {}", runs.len())));
        }
        match &self.format.html {
            Some(path) => {
                let written = pages::write(path, &runs, Readers::AsUsual);
                written.map_err(|error| {
                    Failure::could_not("write", format!("write {}", path.display()), error)
                })?;
                stderr::line(format_args!("throng: report {}", path.display()));
                Ok(Exit::Fine)
            }
            None => output::print(&self.format.text(&runs)),
        }
    }
}

impl ReportFormat {
    /// Prints the rankings of a shootout, or writes its page.
    fn of_shootout(&self, kept: &Kept) -> Result<Exit, Failure> {
        if let Some(path) = &self.html {
            kept.write_page(path)?;
            stderr::line(format_args!("throng: report {}", path.display()));
            return Ok(Exit::Fine);
        }
        let format = match self {
            Self { csv: true, .. } => {
                return Err(Failure::usage("--csv", "is of runs: name results files of the shootout"));
            }
            Self { junit: true, .. } => {
                return Err(Failure::usage("--junit", "is of one run, and this is a shootout"));
            }
            Self { md: true, .. } => targets::rows::Format::Md,
            Self { json: true, .. } => targets::rows::Format::Json,
            _ => targets::rows::Format::Text,
        };
        output::print(&kept.tables(format))
    }

    fn text(&self, runs: &[Run]) -> String {
        let render = |format| -> Vec<String> {
            runs.iter().map(|run| report::render(run, format, &terminal::style())).collect()
        };
        if self.md {
            render(report::Format::Markdown).join("\n")
        } else if self.csv {
            report::csv(runs)
        } else if self.json {
            as_list(&render(report::Format::Json))
        } else if self.junit {
            render(report::Format::Junit).join("\n")
        } else {
            render(report::Format::Text).join("\n")
        }
    }
}

fn as_list(files: &[String]) -> String {
    match files {
        [one] => one.clone(),
        _ => format!("[\n{}\n]\n", files.iter().map(|file| file.trim_end()).collect::<Vec<_>>().join(",\n")),
    }
}
