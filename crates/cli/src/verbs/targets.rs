//! `throng targets`: the servers that throng can start itself.

pub(crate) mod rows;
pub(crate) mod trust;

use std::collections::HashSet;
use std::env;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use suite::{Mistake, Readers, Server, Target, TargetCatalog, Tools};

use crate::app_file;
use crate::exit::{Exit, Failure};
use crate::flags::dialect_args;
use crate::hidden;
use crate::installed;
use crate::interrupts;
use crate::output;
use crate::stderr;
use crate::verbs::targets::rows::Format;

/// How often a server that was started for the user is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Servers that throng installs, checks and starts: list them, check their answers, try one
///
/// A target is a folder with a target.toml; `throng docs target-manifest` describes it. Installed files stay
/// in that folder, or come from the distribution's packages if the target's README says so.
#[derive(Args)]
pub(crate) struct Targets {
    #[command(subcommand)]
    job: Job,
    /// The folder with the targets [default: targets, here or further up, else the installed one]
    #[arg(long, value_name = "DIR", global = true)]
    targets_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Job {
    /// List targets, whether they are installed, and what they lack
    List(Selection),
    /// Install and build targets
    Install(Selection),
    /// Start each target, check every answer, stop it, and check that nothing is left; installs it if needed
    Check(Selection),
    /// Start a target and leave it running until Ctrl-C
    Start {
        /// The target
        name: String,
    },
    /// From now on, use this folder of targets when it is found, although others can change it
    Trust {
        /// The folder [default: targets, here or further up, else the installed one]
        dir: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Selection {
    /// Targets; a folder's name stands for its server, or for all variants where it has none of its own
    names: Vec<String>,
    /// All targets
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Targets {
    /// Does it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let interrupts = interrupts::install()?;
        let is_interrupted = || interrupts.count() > 0;
        let tools = tools(&is_interrupted)?;
        // Before the catalog is read, which refuses a folder that is not trusted yet.
        if let Job::Trust { dir } = &self.job {
            let named = dir.clone().or(self.targets_dir);
            return trust::add(&named.map_or_else(|| found(&here()?), Ok)?);
        }
        let catalog = catalog(self.targets_dir.as_deref())?;
        let (selection, rows, is_wanted) = match &self.job {
            Job::List(selection) => (selection, rows::list(&selection.of(&catalog, true)?, &tools), false),
            Job::Install(selection) => {
                (selection, rows::install(&selection.of(&catalog, false)?, &tools), !selection.all)
            }
            Job::Check(selection) => {
                (selection, rows::check(&selection.of(&catalog, false)?, &tools), !selection.all)
            }
            Job::Start { name } => {
                let exit = start(&catalog, name, &tools)?;
                return Ok(if is_interrupted() { Exit::Interrupted } else { exit });
            }
            Job::Trust { .. } => unreachable!("it needs no catalog"),
        };
        let mistakes = selection.mistakes(&catalog);
        let exit = rows.with(mistakes).print(selection.format, is_wanted)?;
        for (_, mistake) in mistakes {
            stderr::text(crate::exit::rendered(mistake));
        }
        // An interrupt leaves targets undone, whatever has become of the others.
        Ok(if is_interrupted() { Exit::Interrupted } else { exit })
    }
}

impl Selection {
    /// The manifests with mistakes, where none was asked about by name: a name of one of these is refused.
    fn mistakes<'a>(&self, catalog: &'a TargetCatalog) -> &'a [(String, Mistake)] {
        if self.names.is_empty() { &catalog.mistakes } else { &[] }
    }

    /// The targets that were named, each once and in the order of the catalog; nothing named means all of
    /// them only where that costs nothing.
    fn of<'a>(&self, catalog: &'a TargetCatalog, nothing_is_all: bool) -> Result<Vec<&'a Target>, Failure> {
        if self.all || (self.names.is_empty() && nothing_is_all) {
            return Ok(catalog.targets.iter().collect());
        }
        if self.names.is_empty() {
            return Err(Failure::usage(
                "NAME",
                "name targets, or pass --all; throng targets list shows them",
            ));
        }
        let found: Result<Vec<_>, Failure> = self.names.iter().map(|name| find(catalog, name)).collect();
        let named: HashSet<&str> = found?.concat().iter().map(|target| target.name.as_str()).collect();
        Ok(catalog.targets.iter().filter(|target| named.contains(target.name.as_str())).collect())
    }
}

/// The target of that name, or all variants of a folder where no target has its name.
pub(crate) fn find<'a>(catalog: &'a TargetCatalog, name: &str) -> Result<Vec<&'a Target>, Failure> {
    if let Some((_, mistake)) = catalog.mistakes.iter().find(|(folder, _)| folder == name) {
        return Err(Failure::mistake(mistake));
    }
    match catalog.find(name) {
        found if found.is_empty() => {
            let names: Vec<&str> = catalog.targets.iter().map(|target| target.name.as_str()).collect();
            Err(Failure::usage(
                "NAME",
                format!("there is no target {name:?}; there are {}", names.join(", ")),
            ))
        }
        found => Ok(found),
    }
}

/// The path of this program.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| Failure::could_not("find_program", "find this program", error))
}

/// The tools of targets: this program, and the check whether the user has interrupted it.
pub(crate) fn tools<'a>(is_interrupted: &'a (dyn Fn() -> bool + Sync)) -> Result<Tools<'a>, Failure> {
    let (guard_verb, words_verb) = (hidden::GUARD, hidden::WORDS);
    let (throng, host) = (this_program()?, Ipv4Addr::LOCALHOST);
    Ok(Tools { throng, guard_verb, words_verb, host, is_interrupted, say: &stderr::note })
}

/// All targets of the folder that was named, or of the nearest `targets`, which has to be the user's own.
pub(crate) fn catalog(named: Option<&Path>) -> Result<TargetCatalog, Failure> {
    let folder = match named {
        Some(folder) => folder.to_owned(),
        None => trust::check("--targets-dir", &found(&here()?)?, |folder| {
            format!("throng targets trust {folder}, or name it for this once: --targets-dir {folder}")
        })?,
    };
    let readers = Readers { flags: &dialect_args::read_flags, app: &app_file::of_target };
    TargetCatalog::read(&folder, readers)
        .map_err(|error| Failure::could_not("list", format!("list {}", folder.display()), error))
}

fn here() -> Result<PathBuf, Failure> {
    env::current_dir()
        .map_err(|error| Failure::could_not("find_directory", "find the working directory", error))
}

/// The nearest `targets`, or those that were installed.
fn found(here: &Path) -> Result<PathBuf, Failure> {
    installed::find_targets(here)?.ok_or_else(|| {
        let problem = "there is no folder \"targets\" here or further up, nor beside the program: name one, or run throng in \
                       a clone of its repository; every package of a release brings one, too";
        Failure::usage("--targets-dir", problem)
    })
}

/// Starts one and says where it is.
fn start(catalog: &TargetCatalog, name: &str, tools: &Tools<'_>) -> Result<Exit, Failure> {
    // Of a folder with variants, the first; each can be named by itself.
    let target = find(catalog, name)?[0];
    let failed = |trouble| match (tools.is_interrupted)() {
        true => Failure::interrupted(),
        false => Failure::could_not("start", format!("start {}", target.name), trouble),
    };
    let version = suite::setup::prepare(target, tools).map_err(failed)?;
    let mut server = Server::start(target, None, &[], tools).map_err(failed)?;
    let mut text = format!("{} ({version}), process {}\n", target.name, server.pid());
    let app = target.app.as_ref().map(|app| output::quoted(&app.display().to_string()));
    let app = app.map_or(String::new(), |app| format!(" --app {app}"));
    for &dialect in &target.dialects {
        let url = server.place().url(target, dialect);
        text.push_str(&format!("  {}: {url}{app}\n", target.name_of(dialect)));
    }
    text.push_str(&format!("  log: {}\nCtrl-C stops it.\n", server.log().display()));
    output::print(&text)?;
    // A server that dies is told of now, rather than by clients that cannot connect.
    while !(tools.is_interrupted)() {
        if let Some(death) = server.poll_death() {
            return Err(Failure::could_not("keep_running", format!("keep {} running", target.name), death));
        }
        thread::sleep(POLL);
    }
    server.stop();
    Ok(Exit::Interrupted)
}
