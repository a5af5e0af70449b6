//! Shell completions and the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::output;
use crate::verbs::docs;

/// Print completions for a shell
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or that of a verb (roff)
#[derive(Args)]
#[command(after_help = "\
Examples:
  throng man echo | man -l -
  throng man runs list > throng-runs-list.1
  throng man --all /usr/local/share/man")]
pub(crate) struct Man {
    /// The verb, and what is below it
    #[arg(value_name = "VERB")]
    verbs: Vec<String>,
    /// Write the pages of all verbs, and those of throng docs, into man1 and man7 of this folder
    #[arg(long, value_name = "DIR", conflicts_with = "verbs")]
    all: Option<PathBuf>,
}

impl Completions {
    pub(crate) fn run(self, command: &Command) -> Result<Exit, Failure> {
        // Verbs by which throng starts itself are not for users to type.
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
        let mut offered = Command::new("throng").args(command.get_arguments()).subcommands(verbs);
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut offered, "throng", &mut script);
        print(&script)
    }
}

impl Man {
    pub(crate) fn run(self, mut command: Command) -> Result<Exit, Failure> {
        if let Some(folder) = self.all {
            let failed = |error| Failure::could_not("write_manual", "write the manual", error);
            let [verbs, pages] = ["man1", "man7"].map(|section| folder.join(section));
            for section in [&verbs, &pages] {
                fs::create_dir_all(section).map_err(failed)?;
            }
            clap_mangen::generate_to(command, verbs).map_err(failed)?;
            for (name, text) in docs::manual() {
                fs::write(pages.join(name), text).map_err(failed)?;
            }
            return Ok(Exit::Fine);
        }
        // Names of verbs below others are whole only then.
        command.build();
        for verb in &self.verbs {
            command = of_verb(&command, verb)?;
        }
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        rendered.map_err(|error| Failure::could_not("write_manual", "make the manual", error))?;
        print(&page)
    }
}

fn of_verb(command: &Command, verb: &str) -> Result<Command, Failure> {
    let verbs = || command.get_subcommands().filter(|verb| !verb.is_hide_set());
    verbs().find(|known| known.get_name() == verb).cloned().ok_or_else(|| {
        let names: Vec<&str> = verbs().map(Command::get_name).collect();
        let name = command.get_bin_name().unwrap_or("throng");
        let problem = match names.as_slice() {
            [] => format!("{name} has no verbs below it, and none is {verb:?}"),
            names => format!("{name} has no verb {verb:?}; there are {}", names.join(", ")),
        };
        Failure::usage("VERB", problem)
    })
}

fn print(text: &[u8]) -> Result<Exit, Failure> {
    output::print(&String::from_utf8_lossy(text))
}
