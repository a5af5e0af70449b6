//! Rows of targets after they were looked at, installed or checked.

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::ValueEnum;
use net::machine::Machine;
use results::format::printable_lines;
use serde::Serialize;
use suite::table::Table;
use suite::{Mistake, StageFailure, Target, Tools, check, setup};
use textwrap::Options;

use crate::exit::{Exit, Failure};
use crate::{output, stderr, terminal};

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// The same in Markdown
    Md,
    /// An array of objects
    Json,
}

/// The space before what is remarked below a target.
const INDENT: &str = "    ";
/// Installations at once: they wait for networks as often as for a CPU.
const PARALLEL: usize = 2;

/// How it stands with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Every answer was right.
    Passes,
    /// The target can be started.
    Installed,
    /// The target can be installed, as far as is known.
    NotInstalled,
    /// A requirement of the target is not available here.
    Unavailable,
    /// The target has a mistake.
    Fails,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Passes => "passes",
            Verdict::Installed => "installed",
            Verdict::NotInstalled => "not installed",
            Verdict::Unavailable => "unavailable",
            Verdict::Fails => "fails",
        }
    }

    fn of(trouble: &StageFailure) -> Self {
        if trouble.is_unavailable() { Verdict::Unavailable } else { Verdict::Fails }
    }
}

/// A target, and how it stands with it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    name: String,
    language: String,
    library: String,
    dialects: Vec<String>,
    supports: Vec<&'static str>,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The reason why the target runs without walls, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_walls: Option<String>,
}

/// Rows, one for each target.
pub(crate) struct Rows(Vec<Row>);

impl Row {
    fn new(target: &Target, verdict: Verdict, version: Option<String>, reason: Option<String>) -> Self {
        Row {
            name: target.name.clone(),
            language: target.language.clone(),
            library: target.library.clone(),
            dialects: target.speaks(),
            supports: target.supports.iter().map(|ability| ability.name()).collect(),
            verdict,
            version,
            reason,
            no_walls: target.no_walls.clone(),
        }
    }

    /// The remarks of a table's row: why a target could not be used, or is not confined.
    fn remark(&self) -> String {
        let bare = self.no_walls.as_ref().map(|why| format!("without walls: {why}"));
        let remarks: Vec<String> = self.reason.clone().into_iter().chain(bare).collect();
        remarks.join("; ")
    }
}

/// The rows of a list of targets, which say whether each is installed, or why it cannot be.
pub(super) fn list(targets: &[&Target], tools: &Tools<'_>) -> Rows {
    let row = |target: &Target| {
        if let Err(trouble) = setup::look_for_requirements(target, tools) {
            return Row::new(target, Verdict::Unavailable, None, Some(trouble.reason));
        }
        match setup::version(target, tools) {
            Ok(version) => Row::new(target, Verdict::Installed, Some(version), None),
            // Why there is no version is of no interest in a list: the next command installs it.
            Err(_) => Row::new(target, Verdict::NotInstalled, None, None),
        }
    };
    Rows(each_folder(targets, tools, |variants| variants.iter().map(|target| row(target)).collect()))
}

/// Installs them, whatever is there already; variants share what is in their folder.
pub(super) fn install(targets: &[&Target], tools: &Tools<'_>) -> Rows {
    Rows(each_folder(targets, tools, |variants| {
        tell(variants[0], "installing");
        let start = Instant::now();
        let installed = setup::install(variants[0], tools);
        let row = |target: &&Target| {
            let version = installed.clone().and_then(|()| setup::version(target, tools));
            let row = match version {
                Ok(version) => Row::new(target, Verdict::Installed, Some(version), None),
                Err(trouble) => Row::new(target, Verdict::of(&trouble), None, Some(trouble.to_string())),
            };
            if !(tools.is_interrupted)() {
                tell(target, &format!("{} after {:.0?}", row.verdict.name(), start.elapsed()));
            }
            row
        };
        variants.iter().map(row).collect()
    }))
}

/// Installs targets that are not installed, then checks one after the other, until the user interrupts. A
/// target that was being checked then has not failed.
pub(super) fn check(targets: &[&Target], tools: &Tools<'_>) -> Rows {
    let mut rows = Vec::new();
    for (target, version) in prepare(targets, tools) {
        if (tools.is_interrupted)() {
            break;
        }
        let row = checked(target, version, tools);
        if !(tools.is_interrupted)() {
            rows.push(row);
        }
    }
    Rows(rows)
}

/// The version of each, once it is installed and built.
pub(crate) fn prepare<'a>(
    targets: &[&'a Target],
    tools: &Tools<'_>,
) -> Vec<(&'a Target, Result<String, StageFailure>)> {
    each_folder(targets, tools, |variants| {
        let prepare = |target: &&'a Target| {
            // Said only where it takes time; what is installed is ready at once.
            if setup::version(target, tools).is_err() && target.install.is_some() {
                tell(target, "installing");
            }
            (*target, setup::prepare(target, tools))
        };
        variants.iter().map(prepare).collect()
    })
}

fn checked(target: &Target, version: Result<String, StageFailure>, tools: &Tools<'_>) -> Row {
    let version = match version {
        Ok(version) => version,
        Err(trouble) => {
            tell(target, &trouble.to_string());
            return Row::new(target, Verdict::of(&trouble), None, Some(trouble.to_string()));
        }
    };
    let outcome = check::check(target, tools);
    tell(target, &outcome.as_ref().map_or_else(StageFailure::to_string, |()| "passes".to_owned()));
    match outcome {
        Ok(()) => Row::new(target, Verdict::Passes, Some(version), None),
        Err(trouble) => Row::new(target, Verdict::Fails, Some(version), Some(trouble.to_string())),
    }
}

/// Asks about the targets of each folder together, a few folders at once, until the user interrupts: what was
/// being asked then has no answer. Returns the answers in the order of the targets.
fn each_folder<'a, T: Send>(
    targets: &[&'a Target],
    tools: &Tools<'_>,
    ask: impl Fn(&[&'a Target]) -> Vec<T> + Sync,
) -> Vec<T> {
    let folders = by_folder(targets);
    let answers: Vec<Mutex<Vec<T>>> = folders.iter().map(|_| Mutex::new(Vec::new())).collect();
    // A thread that is done takes the next: folders differ in how long they take by a factor of a hundred.
    let next = AtomicUsize::new(0);
    let work = || {
        while !(tools.is_interrupted)() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, variants)) = folders.get(index) else { return };
            let answer = ask(variants);
            if !(tools.is_interrupted)() {
                *answers[index].lock().expect("nobody else takes it") = answer;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(work);
        }
    });
    let mut placed: Vec<(usize, T)> = Vec::new();
    for ((places, _), answers) in folders.iter().zip(answers) {
        let answers = answers.into_inner().expect("asking does not panic");
        placed.extend(places.iter().copied().zip(answers));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, answer)| answer).collect()
}

/// The targets of each folder, with their places in the order of names, in which other folders' targets may
/// stand between them. Two at work in one folder would disturb each other.
fn by_folder<'a>(targets: &[&'a Target]) -> Vec<(Vec<usize>, Vec<&'a Target>)> {
    let mut folders: Vec<(Vec<usize>, Vec<&Target>)> = Vec::new();
    for (place, target) in targets.iter().copied().enumerate() {
        match folders.iter_mut().find(|(_, variants)| variants[0].folder == target.folder) {
            Some((places, variants)) => {
                places.push(place);
                variants.push(target);
            }
            None => folders.push((vec![place], vec![target])),
        }
    }
    folders
}

/// A line of progress.
fn tell(target: &Target, what: &str) {
    stderr::line(format_args!("{}: {what}", target.name));
}

impl Rows {
    /// Adds the folders whose manifests have these mistakes.
    pub(super) fn with(mut self, mistakes: &[(String, Mistake)]) -> Self {
        self.0.extend(mistakes.iter().map(|(name, mistake)| Row {
            name: name.clone(),
            language: String::new(),
            library: String::new(),
            dialects: Vec::new(),
            supports: Vec::new(),
            verdict: Verdict::Fails,
            version: None,
            reason: Some(mistake.line()),
            no_walls: None,
        }));
        self
    }

    /// Prints them. A target that fails is a failure, and so is one that cannot be had where each
    /// `is_wanted`.
    pub(super) fn print(self, format: Format, is_wanted: bool) -> Result<Exit, Failure> {
        let text = match format {
            Format::Text => terminal::in_letters(self.text()),
            Format::Md => printable_lines(&self.page()),
            Format::Json => serde_json::to_string_pretty(&self.0).expect("rows are plain data") + "\n",
        };
        output::print(&text)?;
        let fails = |row: &Row| match row.verdict {
            Verdict::Fails => true,
            Verdict::Unavailable => is_wanted,
            Verdict::Passes | Verdict::Installed | Verdict::NotInstalled => false,
        };
        Ok(if self.0.iter().any(fails) { Exit::CouldNotRun } else { Exit::Fine })
    }

    /// A line for each target, and below it its remarks. Protocols and features are in the other formats:
    /// with these no line would fit a terminal.
    fn text(&self) -> String {
        let mut table = Table::new(&["target", "verdict", "language", "version"], 0..0);
        for Row { name, verdict, language, version, .. } in &self.0 {
            let version = version.clone().unwrap_or_default();
            table.row(vec![name.clone(), verdict.name().to_owned(), language.clone(), version]);
        }
        let options = Options::new(terminal::columns()).initial_indent(INDENT).subsequent_indent(INDENT);
        let remarks = [String::new()].into_iter().chain(self.0.iter().map(Row::remark));
        let mut text = String::new();
        for (line, remark) in table.text().lines().zip(remarks) {
            text += &format!("{line}\n");
            if !remark.is_empty() {
                text += &format!("{}\n", textwrap::fill(&remark, &options));
            }
        }
        text
    }

    fn table(&self) -> Table {
        let head = ["target", "verdict", "version", "language", "speaks", "supports", "remarks"];
        let mut table = Table::new(&head, 0..0);
        for row in &self.0 {
            table.row(vec![
                row.name.clone(),
                row.verdict.name().to_owned(),
                row.version.clone().unwrap_or_default(),
                row.language.clone(),
                row.dialects.join(", "),
                row.supports.join(", "),
                row.remark(),
            ]);
        }
        table
    }

    /// docs/logs/TARGETS.md.
    fn page(&self) -> String {
        let count = |verdict| self.0.iter().filter(|row| row.verdict == verdict).count();
        let Machine { kernel, cores, .. } = Machine::read();
        format!(
            "# Targets\n\nWritten by `throng targets check --all --format md`, throng {}, on {kernel} with {cores} \
             CPUs. {} pass, {} fail, {} cannot be had there. What the check asks is in \
             [TARGET-MANIFEST.md](../TARGET-MANIFEST.md).\n\n{}",
            env!("CARGO_PKG_VERSION"),
            count(Verdict::Passes),
            count(Verdict::Fails),
            count(Verdict::Unavailable),
            self.table().markdown(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_stand_together_whatever_their_names() {
        let target = |name: &str, folder: &str| {
            let mut target = Target::reference();
            (target.name, target.folder) = (name.to_owned(), folder.into());
            target
        };
        let all = [target("go-a", "go"), target("go-b", "go-b"), target("go-c", "go")];
        let folders = by_folder(&all.iter().collect::<Vec<_>>());
        let places: Vec<&[usize]> = folders.iter().map(|(places, _)| &places[..]).collect();
        assert_eq!(places, [&[0, 2][..], &[1]]);
    }
}
