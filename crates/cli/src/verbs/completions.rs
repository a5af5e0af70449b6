//! Shell completions and the manual page.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::exit::{Exit, Failure};

/// Print completions for a shell
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page (roff)
#[derive(Args)]
pub(crate) struct Man {}

impl Completions {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "throng", &mut script);
        print(&script)
    }
}

impl Man {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
        rendered.map_err(|error| Failure::could_not("make the manual", error))?;
        print(&page)
    }
}

fn print(text: &[u8]) -> Result<Exit, Failure> {
    io::stdout().write_all(text).map_err(|error| Failure::could_not("print it", error))?;
    Ok(Exit::Fine)
}
