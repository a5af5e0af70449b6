//! The setup of a target before it can be started: its requirements, its installation, its receipt.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use net::signals::StopSignal;

use crate::guard::{Brief, Fault, Guarded, NotStarted};
use crate::manifest::{Step, Target};
use crate::place::Place;
use crate::said::{last_line, last_line_of, printable};
use crate::sandbox::{Needs, Sandbox};
use crate::scratch::Scratch;
use crate::stage::{Stage, StageFailure};
use crate::tools::Tools;

/// The longest that a step may take: compilers of functional languages are slow, and so are some networks.
const STEP_MAX: Duration = Duration::from_secs(30 * 60);
/// The longest that a program may take to say its version.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Bytes kept of its output.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// How often such a program is looked at.
const ANSWER_POLL: Duration = Duration::from_millis(2);
/// How often a running step is looked at.
const POLL: Duration = Duration::from_millis(20);

/// The file in a target's folder that keeps what its installation said.
const INSTALL_LOG: &str = "install.log";

/// One at a time may use the distribution's package manager, which locks its database.
static PACKAGES: Mutex<()> = Mutex::new(());

/// The warning, given once, where installers cannot be shut in.
const NO_WALLS: &str =
    "this kernel has no Landlock: what targets fetch, build and run sees your home directory";
static NO_WALLS_SAID: Once = Once::new();

/// The warning, given once, where installers cannot be kept from seeing other processes.
const NO_NAMESPACE: &str =
    "this kernel grants no PID namespace: what targets fetch and build sees which other programs run";
static NO_NAMESPACE_SAID: Once = Once::new();

/// Looks for the programs that the target requires.
///
/// # Errors
/// One is not there, or the user has had enough.
pub fn look_for_requirements(target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
    for requirement in &target.requires {
        tools.may_go_on(Stage::Requires)?;
        let found = output(&requirement.command, target, tools);
        if !found.as_ref().is_ok_and(|output| output.is_success) {
            tools.may_go_on(Stage::Requires)?; // what was cut short says nothing
            let tried = requirement.command.join(" ");
            // That a program is not there is what its absence looks like.
            let trouble = found.err().filter(|error| error.kind() != io::ErrorKind::NotFound);
            let why = trouble.map_or(String::new(), |error| format!("; {error}"));
            let reason = format!("needs {}; tried: {tried}{why}", requirement.missing);
            return Err(StageFailure::new(Stage::Requires, reason));
        }
    }
    Ok(())
}

/// Installs and builds the target, whatever is there already.
///
/// # Errors
/// A step fails, takes too long, or is interrupted.
pub fn install(target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
    look_for_requirements(target, tools)?;
    let _held = hold(target, tools)?;
    install_held(target, tools)
}

/// Installs and builds the target, whose folder is held.
fn install_held(target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
    if let Some(step) = &target.install {
        let _turn =
            // A thread that panicked has left nothing in it: the lock is only for taking turns.
            uses_packages(target).then(|| PACKAGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        run(target, step, Stage::Install, tools)?;
    }
    build(target, tools)
}

/// Makes sure that the target can be started, and is what its source says: installs it unless it can tell its version,
/// and builds it. The version.
///
/// # Errors
/// A requirement is missing, a step fails, or there is no version.
pub fn prepare(target: &Target, tools: &Tools<'_>) -> Result<String, StageFailure> {
    look_for_requirements(target, tools)?;
    // Before it is looked at: what another throng is about to install is half there.
    let _held = hold(target, tools)?;
    if version(target, tools).is_err() {
        install_held(target, tools)?;
    } else {
        build(target, tools)?;
    }
    version(target, tools)
}

/// Holds a target's folder against other throngs that would write the same files, and waits for one that does;
/// nothing, where no step writes there or its filesystem has no locks.
fn hold(target: &Target, tools: &Tools<'_>) -> Result<Option<File>, StageFailure> {
    if target.install.is_none() && target.build.is_none() {
        return Ok(None);
    }
    let Ok(folder) = File::open(&target.folder) else { return Ok(None) };
    let (start, mut is_said) = (Instant::now(), false);
    while let Err(TryLockError::WouldBlock) = folder.try_lock() {
        if !is_said {
            (tools.say)(&format!("waiting for another throng, which prepares {}", target.name));
            is_said = true;
        }
        // It installs and builds, and each may take this long.
        if start.elapsed() > 2 * STEP_MAX {
            let folder = target.folder.display();
            let reason = format!(
                "another throng has held {folder} for {} min: end that one",
                start.elapsed().as_secs() / 60
            );
            return Err(StageFailure::new(Stage::Install, reason));
        }
        tools.may_go_on(Stage::Install)?;
        std::thread::sleep(POLL);
    }
    Ok(Some(folder))
}

/// The version of what is installed already.
///
/// # Errors
/// It does not tell its version, as where it is not installed.
pub fn installed(target: &Target, tools: &Tools<'_>) -> Result<String, StageFailure> {
    version(target, tools).map_err(|trouble| {
        let remedy = format!("throng targets install {}", target.common_name());
        let reason = format!("no version: {}; if it is not installed: {remedy}", trouble.reason);
        StageFailure::new(Stage::Install, reason)
    })
}

/// The receipt: the version that the target's own command prints.
///
/// # Errors
/// The command fails, or says something else. No version, no number.
pub fn version(target: &Target, tools: &Tools<'_>) -> Result<String, StageFailure> {
    tools.may_go_on(Stage::Version)?;
    let trouble = |reason: String| StageFailure::new(Stage::Version, reason);
    let throng = tools.throng.to_string_lossy();
    let command: Vec<String> =
        target.version.command.iter().map(|word| word.replace("{throng}", &throng)).collect();
    let output =
        output(&command, target, tools).map_err(|error| trouble(format!("{}: {error}", command[0])))?;
    let found = target.version.regex.captures(output.text.trim());
    match found {
        Some(found) if output.is_success => Ok(printable(found.get(1).unwrap_or(found.get_match()).as_str())),
        _ => {
            tools.may_go_on(Stage::Version)?; // what was cut short says nothing
            let said = last_line_of(output.text.as_bytes()).unwrap_or_else(|| "nothing".to_owned());
            Err(trouble(format!("{} does not tell it; it said: {said}", command.join(" "))))
        }
    }
}

/// Returns whether it installs packages of the distribution.
fn uses_packages(target: &Target) -> bool {
    target.requires.iter().any(|requirement| requirement.command[0].starts_with("apt"))
}

fn build(target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
    target.build.as_ref().map_or(Ok(()), |step| run(target, step, Stage::Build, tools))
}

/// Runs a step to its end.
fn run(target: &Target, step: &Step, stage: Stage, tools: &Tools<'_>) -> Result<(), StageFailure> {
    tools.may_go_on(stage)?;
    let log = target.folder.join(if stage == Stage::Build { "build.log" } else { INSTALL_LOG });
    let trouble = |error: io::Error| StageFailure::new(stage, error.to_string());
    let place = Place::find(tools.host, &target.folder, &tools.throng, &[]).map_err(trouble)?;
    // Only installing needs what the package manager writes to.
    let is_of_packages = stage == Stage::Install && uses_packages(target);
    let needs = Needs { packages: is_of_packages, options: true, ..Needs::default() };
    let brief = Brief {
        sandbox: Some(sandbox(target, tools, needs).map_err(trouble)?),
        command: step.command.iter().map(|word| place.fill(word)).collect(),
        env: step.env.iter().map(|(name, value)| (name.clone(), place.fill(value))).collect(),
        folder: target.folder.clone(),
        cpus: Vec::new(),
        log: log.clone(),
        signal: StopSignal::Term.name().to_owned(),
        grace: Duration::from_secs(2),
    };
    let mut program = start(brief, tools).map_err(|error| trouble(error.into()))?;
    let start = Instant::now();
    loop {
        if let Some(end) = program.poll_end() {
            return match end.code {
                Some(0) => Ok(()),
                _ => {
                    let said = last_line(&log).unwrap_or_else(|| end.how());
                    Err(StageFailure::new(stage, format!("{}: {said}", step.command.join(" "))))
                }
            };
        }
        if (tools.is_interrupted)() {
            return Err(StageFailure::new(stage, "interrupted"));
        }
        if start.elapsed() > STEP_MAX {
            let minutes = STEP_MAX.as_secs() / 60;
            return Err(StageFailure::new(
                stage,
                format!("{} takes over {minutes} minutes", step.command.join(" ")),
            ));
        }
        std::thread::sleep(POLL);
    }
}

/// Starts a program; one that is shut in sees no other processes, where that has not been refused.
fn start(mut brief: Brief, tools: &Tools<'_>) -> Result<Guarded, NotStarted> {
    if let Some(sandbox) = &mut brief.sandbox {
        // Not asked for again: a kernel that refuses it does so each time.
        sandbox.hides_processes = !NO_NAMESPACE_SAID.is_completed();
    }
    match Guarded::start(tools.guard(), &brief) {
        Err(error) if error.fault == Fault::Hiding => {
            NO_NAMESPACE_SAID.call_once(|| (tools.say)(NO_NAMESPACE));
            start(brief, tools)
        }
        started => started,
    }
}

struct Output {
    is_success: bool,
    /// Standard output and standard error, as they came.
    text: String,
}

/// Walls around the target's server and what tells its version, which may write in these folders, too; `None`
/// if its manifest says why it has none.
pub(crate) fn walls(target: &Target, tools: &Tools<'_>, writable: &[&Path]) -> io::Result<Option<Sandbox>> {
    let needs = Needs { writable, ..Needs::default() };
    target.no_walls.is_none().then(|| sandbox(target, tools, needs)).transpose()
}

fn sandbox(target: &Target, tools: &Tools<'_>, needs: Needs<'_>) -> io::Result<Sandbox> {
    if !net::walls::are_available() {
        NO_WALLS_SAID.call_once(|| (tools.say)(NO_WALLS));
    }
    Sandbox::around(&target.folder, Needs { readable: &[&tools.throng], ..needs })
}

/// Runs a short command to its end, and no further once the user has had enough; a program in the folder
/// comes before one on the PATH. What it leaves in the background is killed.
fn output(words: &[String], target: &Target, tools: &Tools<'_>) -> io::Result<Output> {
    let answer = Scratch::new()?;
    let log = answer.path().join("answer");
    let brief = Brief {
        sandbox: walls(target, tools, &[])?,
        command: words.to_vec(),
        env: Vec::new(),
        folder: target.folder.clone(),
        cpus: Vec::new(),
        log: log.clone(),
        signal: StopSignal::Kill.name().to_owned(),
        grace: Duration::ZERO,
    };
    let mut program = start(brief, tools)?;
    // A command that waits for something must not hold up all other targets.
    let limit = Instant::now() + ANSWER_MAX;
    let is_success = loop {
        match program.poll_end() {
            Some(end) => break end.code == Some(0),
            None if (tools.is_interrupted)() => break false,
            None if Instant::now() > limit => {
                let why = format!("no answer in {} s", ANSWER_MAX.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            None => std::thread::sleep(ANSWER_POLL),
        }
    };
    // What it left in the background is killed as well: the answer is whole.
    drop(program); // and with it the writer of the log
    let mut bytes = Vec::new();
    File::open(log)?.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Output { is_success, text: without_notes(&String::from_utf8_lossy(&bytes)) })
}

/// The lines of an answer that are the program's: a JVM notes which options it has been given by the environment.
fn without_notes(text: &str) -> String {
    let is_note = |line: &&str| line.starts_with("Picked up JAVA_TOOL_OPTIONS: ");
    text.lines().filter(|line| !is_note(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::path::PathBuf;

    use super::*;
    use crate::manifest::{FILE_NAME, Readers};

    #[test]
    fn installations_wait_for_others_of_the_folder() {
        let targets = tempfile::tempdir().unwrap();
        let folder = targets.path().join("node-ws");
        std::fs::create_dir(&folder).unwrap();
        let manifest = include_str!("../../../targets/node-ws/target.toml");
        std::fs::write(folder.join(FILE_NAME), manifest).unwrap();
        let target = Target::of_folder(&folder, Readers::INDIFFERENT).unwrap().remove(0);
        let other = File::open(&folder).unwrap();
        other.lock().unwrap();
        let said = Mutex::new(Vec::new());
        let say = |line: &str| {
            said.lock().unwrap().push(line.to_owned());
            other.unlock().unwrap();
        };
        let tools = Tools {
            throng: PathBuf::new(),
            guard_verb: "",
            words_verb: "",
            host: Ipv4Addr::LOCALHOST,
            is_interrupted: &|| false,
            say: &say,
        };
        let held = hold(&target, &tools).unwrap();
        assert!(held.is_some() && matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        assert!(hold(&target, &tools).unwrap().is_some());
        let said = said.lock().unwrap();
        assert!(said.len() == 1 && said[0].contains(&target.name), "{said:?}");
    }

    #[test]
    fn notes_of_a_virtual_machine_are_no_version() {
        let said = "Picked up JAVA_TOOL_OPTIONS: -Duser.home=\"/x\"\njruby 9.4.8\n";
        assert_eq!(without_notes(said), "jruby 9.4.8");
    }
}
