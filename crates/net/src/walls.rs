//! Walls around a process and all that it starts: the files that they see, and that their signals stay inside
//! (landlock(7)).
//!
//! No privilege is needed, and nothing takes them down again.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::sys;

/// The version of Landlock asked for: an older kernel gives as much of it as it has.
const ASKED: ABI = ABI::V7;

/// Returns whether the kernel has walls.
pub fn are_available() -> bool {
    let least = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    least.handle_access(AccessFs::from_all(ABI::V1)).is_ok_and(|ruleset| ruleset.create().is_ok())
}

/// Shuts the calling thread in, and all that it starts from now on. What is `readable` can be read and run,
/// what is `writable` changed as well, each with all that is below it; nothing else can be opened. What is
/// not there is left out. Returns whether there are walls now: a kernel without any builds none, which is no
/// error.
pub fn enclose(readable: &[PathBuf], writable: &[PathBuf]) -> io::Result<bool> {
    build(readable, writable).map_err(io::Error::other)
}

fn build(readable: &[PathBuf], writable: &[PathBuf]) -> Result<bool, RulesetError> {
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ASKED))?
        .scope(Scope::from_all(ASKED))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(ASKED)))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(ASKED)))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// Builds walls around the process that `command` will start, with all that it starts, which keep signals
/// from everybody else, the calling process included, whose walls they are within. A kernel without such
/// walls builds none.
pub fn contain_signals(command: &mut Command) -> io::Result<&mut Command> {
    let inner = signal_walls().map_err(io::Error::other)?;
    // The child only makes system calls: it can take no lock that another thread held at the fork.
    Ok(sys::before_exec(command, move || {
        inner.try_clone()?.restrict_self().map(drop).map_err(io::Error::other)
    }))
}

fn signal_walls() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().scope(Scope::Signal)?.create()
}
