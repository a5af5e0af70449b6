//! The means to run a target's programs: this program's own verbs, and the user's word.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use crate::stage::{Stage, StageFailure};
use crate::surroundings;

/// How this program is started again, and when it is to end.
pub struct Tools<'a> {
    /// The path of this program.
    pub throng: PathBuf,
    /// The hidden verb that ends up in [`crate::guard::run`].
    pub guard_verb: &'static str,
    /// The hidden verb that reads its command line from standard input, as a line of JSON: lists of processes
    /// are for all.
    pub words_verb: &'static str,
    /// The address servers listen on: an address of this machine.
    pub host: Ipv4Addr,
    /// True if the user has asked for the end.
    pub is_interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Tells the user what is good to know.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl Tools<'_> {
    pub(crate) fn guard(&self) -> Command {
        let mut command = Command::new(&self.throng);
        // What a guard starts may be able to read the guard's own environment.
        surroundings::clean(&mut command).arg(self.guard_verb);
        command
    }

    /// Nothing is begun or waited for once the user has had enough.
    pub(crate) fn may_go_on(&self, stage: Stage) -> Result<(), StageFailure> {
        match (self.is_interrupted)() {
            true => Err(StageFailure::new(stage, "interrupted")),
            false => Ok(()),
        }
    }
}
