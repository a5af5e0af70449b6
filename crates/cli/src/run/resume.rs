//! `--resume`: a run that was cut short goes on after its last whole step.
//!
//! Rules. Until a run has ended, the file that `--out` keeps says how many of its steps are whole. The same
//! command line with `--resume` takes the newest such run of that directory, drops the step that was cut
//! short, and goes on under the same id, on the same clock; where there is none, a run begins. So a command
//! that is restarted as it is, whatever ended it, has every step once. Every run holds a lock on the
//! directory, and one with `--resume` holds it alone: a run that is still under way cannot be continued.
//! Whichever run begins while no other is under way there clears what a killed one was writing.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use net::clock;
use results::finding::Caveat;
use results::format::{bytes, counted};
use results::{Environment, Run};

use crate::archive;
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::inputs;
use crate::request::{self, Request};
use crate::secrets;
use crate::stderr;

/// The flag, which the command line of the first part need not have had.
const FLAG: &str = "--resume";
/// The divisor of a machine's memory that gives the largest difference between two boots.
const MEMORY_DIFFERENCE: u64 = 50;

/// Time for another run, which begins at the same moment, to clear the directory.
const CLEARED_WITHIN: Duration = Duration::from_millis(100);

/// Holds the directory of `--out`, which is made now if it is not there, for this run: shared, or alone for
/// one that may go on with another.
pub(crate) fn lock(args: &RunArgs) -> Result<Option<File>, Failure> {
    let Some(dir) = &args.out else { return Ok(None) };
    net::private::make_dir(dir).map_err(|error| {
        Failure::could_not("make_directory", format!("make the directory {}", dir.display()), error)
    })?;
    // One that cannot be opened says so when it is written to; a filesystem may have no locks.
    let Ok(directory) = File::open(dir) else { return Ok(None) };
    clear(dir, &directory);
    let (locked, flag, whose) = match args.resume {
        true => (directory.try_lock(), FLAG, "another run or a shootout is under way in this --out"),
        // It would be taken for one that was cut short, as soon as that other one has ended.
        false => (
            lock_shared(&directory),
            "--out",
            "a run with --resume, or a shootout, is under way in this directory",
        ),
    };
    match locked {
        Err(TryLockError::WouldBlock) => {
            let problem = format!("{whose}: wait for its end, or name another directory");
            Err(Failure::usage(flag, problem))
        }
        _ => Ok(Some(directory)),
    }
}

/// Deletes what killed runs were writing, unless another run is under way, which may be writing it now.
fn clear(dir: &Path, directory: &File) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let left: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_unfinished(path)).collect();
    // Where there is nothing to clear, a run that begins at the same moment never finds it locked.
    if !left.is_empty() && directory.try_lock().is_ok() {
        for path in left {
            let _ = fs::remove_file(path);
        }
    }
}

/// Holds the directory together with other runs.
fn lock_shared(directory: &File) -> Result<(), TryLockError> {
    match directory.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            thread::sleep(CLEARED_WITHIN);
            directory.try_lock_shared()
        }
        locked => locked,
    }
}

/// Returns whether it is half a results file or half a page, by its name.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut ids = [".json.part", ".html.part"].into_iter().filter_map(|ending| name.strip_suffix(ending));
    ids.any(results::file::is_run_id)
}

/// The run to go on with, with its whole steps; the request is brought to where that ended.
pub(crate) fn earlier(request: &mut Request<'_>) -> Result<Option<Run>, Failure> {
    let Some(dir) = request.args.out.as_ref().filter(|_| request.args.resume) else { return Ok(None) };
    let Some(mut run) = cut_short(dir) else { return Ok(None) };
    if run.throng != env!("CARGO_PKG_VERSION") {
        let problem = format!(
            "run {} was begun by throng {}, this is {}; another --out begins anew",
            run.id,
            run.throng,
            env!("CARGO_PKG_VERSION")
        );
        return Err(Failure::usage(FLAG, problem).because("other_version"));
    }
    if let Some(path) = changed(&run.inputs, &inputs::digests()) {
        let problem = format!(
            "{path} has changed since run {} began: restore it, or begin anew with another --out",
            run.id
        );
        return Err(Failure::usage(FLAG, problem).because("changed_file"));
    }
    // A fleet's coordinator sends nothing itself.
    let here = request::environment(request.args, false);
    if let (None, Some([was, is])) = (&request.args.fleet.fleet, other_machine(&run.environment, &here)) {
        let problem = format!(
            "run {} began on a machine with {was}, this one has {is}: go on there, or begin anew with another --out",
            run.id
        );
        return Err(Failure::usage(FLAG, problem).because("other_machine"));
    }
    run.steps.truncate(run.resume_after.unwrap_or(0) as usize);
    let had = run.steps.iter().map(|step| (step.clients, step.has_passed()));
    request.course.replay(had).map_err(|step| {
        let clients = run.steps[step].clients;
        Failure::usage(FLAG, format!("step {} of run {} had {clients} clients: not these", step + 1, run.id))
    })?;
    let end_ns = run.steps.last().map_or(0, |step| step.start_ns.saturating_add(step.duration_ns));
    // The run began before now by all that it has measured, which may be before this machine was started.
    clock::advance_to(end_ns);
    request.plan.epoch_ns = clock::monotonic_ns().saturating_sub(end_ns);
    request.plan.unix_epoch_ns = clock::realtime_ns().saturating_sub(end_ns);
    request.plan.seed = run.seed.unwrap_or(request.plan.seed);
    if !request.args.quiet {
        stderr::line(format_args!(
            "throng: goes on with run {} after {}",
            run.id,
            counted(run.steps.len() as u64, "whole step")
        ));
    }
    Ok(Some(run))
}

/// The caveat of the first step after it.
pub(crate) fn caveat(earlier: &Run) -> Option<Caveat> {
    let steps = earlier.steps.len() as u64;
    (steps > 0).then_some(Caveat::Resumed { steps })
}

/// The first file that was read as something else then than now.
fn changed(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let is_other = |(path, digest): &(&String, &String)| now.get(*path).is_some_and(|now| now != *digest);
    then.iter().find(is_other).map(|(path, _)| path.clone())
}

/// Descriptions of two machines, if they are not one. Kernels are updated, and memory differs by what they
/// keep for themselves.
fn other_machine(then: &Environment, now: &Environment) -> Option<[String; 2]> {
    let differs = |then: Option<u64>, now: Option<u64>| {
        then.zip(now).is_some_and(|(then, now)| then.abs_diff(now) > then / MEMORY_DIFFERENCE)
    };
    let is_other =
        then.cpu != now.cpu || then.cores != now.cores || differs(then.memory_bytes, now.memory_bytes);
    let told = |machine: &Environment| {
        let cpu = machine.cpu.as_deref().unwrap_or("an unknown CPU");
        let memory = bytes(machine.memory_bytes.unwrap_or_default() as f64);
        format!("{cpu}, {} cores and {memory}", machine.cores.unwrap_or_default())
    };
    is_other.then(|| [told(then), told(now)])
}

/// The newest run of this command line in `dir` that has not come to its end.
fn cut_short(dir: &Path) -> Option<Run> {
    // A directory that is not there has no runs.
    let entries = fs::read_dir(dir).ok()?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let results = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    // A file that is no results file was put there by another program, or is damaged.
    let open = results.filter_map(read).filter(|run| run.resume_after.is_some());
    let own = secrets::own_command();
    let (ours, others): (Vec<Run>, Vec<Run>) = open.partition(|run| is_same(&run.command, &own));
    let newest = |runs: Vec<Run>| runs.into_iter().max_by(|a, b| a.id.cmp(&b.id));
    if let (true, Some(other)) = (ours.is_empty(), newest(others)) {
        let command = results::command_line(&other.command);
        stderr::line(format_args!(
            "throng: begins anew: run {} was cut short, but its command line was {command}",
            other.id
        ));
    }
    newest(ours)
}

/// Reads a results file; what is damaged is told, and done again.
fn read(path: PathBuf) -> Option<Run> {
    match archive::salvage_file(&path) {
        Ok(run) => Some(run),
        Err(failure) => {
            stderr::line(format_args!(
                "throng: does not go on with a damaged file, if it is a run's: {failure}"
            ));
            None
        }
    }
}

/// Returns whether two command lines ask for the same, whichever program's path they begin with.
fn is_same(one: &[String], other: &[String]) -> bool {
    let asked = |command: &[String]| -> Vec<String> {
        let asked = command.iter().skip(1).filter(|argument| *argument != FLAG);
        // A token may have run out between the two.
        asked.map(|argument| secret::without_tags(argument)).collect()
    };
    asked(one) == asked(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_both_read_must_agree() {
        let read = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
            files.iter().map(|&(path, digest)| (path.to_owned(), digest.to_owned())).collect()
        };
        let then = read(&[("app.toml", "a"), ("users.csv", "b")]);
        assert_eq!(changed(&then, &then), None);
        assert_eq!(
            changed(&then, &read(&[("app.toml", "a"), ("users.csv", "c")])).as_deref(),
            Some("users.csv")
        );
    }

    #[test]
    fn machines_are_told_apart_across_reboots() {
        let machine = |cores, memory_bytes| Environment {
            cpu: Some("i7".into()),
            cores: Some(cores),
            memory_bytes: Some(memory_bytes),
            ..Environment::default()
        };
        let then = machine(4, 16 << 30);
        let updated = Environment { kernel: Some("6.2".into()), ..machine(4, (16 << 30) - 4_096) };
        assert_eq!(other_machine(&then, &updated), None);
        assert!(other_machine(&then, &machine(8, 16 << 30)).is_some());
        assert!(other_machine(&then, &machine(4, 8 << 30)).is_some());
    }

    #[test]
    fn only_runs_own_parts_are_removed() {
        let is_own = |name: &str| is_unfinished(&Path::new("d").join(name));
        for ending in ["json", "html"] {
            assert!(is_own(&format!("20261129-121944-0a1b2c.{ending}.part")), "{ending}");
        }
        for other in [
            "begun.json.part",
            "20261129-121944-0a1b2c.json",
            "20261129-121944-0A1B2C.json.part",
            ".json.part",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn parts_stay_while_another_run_writes() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("20261129-121944-0a1b2c.html.part");
        fs::write(&part, "<").unwrap();
        let [other, own] = [(); 2].map(|()| File::open(folder.path()).unwrap());
        other.lock_shared().unwrap();
        clear(folder.path(), &own);
        assert!(part.exists());
        other.unlock().unwrap();
        clear(folder.path(), &own);
        assert!(!part.exists());
        // It held the directory alone; from here on, not any more.
        lock_shared(&own).unwrap();
        other.try_lock_shared().unwrap();
    }

    #[test]
    fn resuming_keeps_the_command_line() {
        let line = |text: &str| -> Vec<String> { text.split(' ').map(Into::into).collect() };
        assert!(is_same(&line("throng echo --out d"), &line("/usr/bin/throng echo --out d --resume")));
        assert!(!is_same(&line("throng echo --out d"), &line("throng echo --out e")));
        assert!(!is_same(&line("throng echo --out d"), &line("throng echo --out d --quiet")));
        assert!(is_same(&line("throng echo --token ***12ab"), &line("throng echo --token ***cd34")));
    }
}
