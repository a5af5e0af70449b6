//! One measurement: a load verb of this program, as a process of its own, against a server under guard.
//!
//! A fresh generator for each: none inherits another's memory or ports, and a crash costs one measurement.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use net::signals;
use results::Run;

use crate::said::last_line_of;
use crate::stage::{Stage, StageFailure};
use crate::tools::Tools;

/// How often server, generator and user are looked at: a death is to be noticed within a second.
const POLL: Duration = Duration::from_millis(50);
/// How long a generator may take to end in order.
const GRACE: Duration = Duration::from_secs(3);
/// A generator whose first thread has not run for this long is stuck: one that lives looks around many times a second.
const STILL_MAX: Duration = Duration::from_secs(60);
/// How soon after its end its output is here, unless it has left somebody who holds the pipe.
const LAST_WORDS_MAX: Duration = Duration::from_secs(5);
/// Exit codes with which there is a result: fine, a limit broken, not trustworthy.
const MEASURED: [i32; 3] = [0, 3, 4];
/// The one with which a generator ends in order that has nothing to show, as where nobody lets it in.
const COULD_NOT: i32 = 1;
/// The one with which it refuses its command line.
const BAD_USAGE: i32 = 2;
/// The one with which it says that it is at fault itself: an agent of its fleet was lost, or there was no memory.
const GENERATOR_FAILED: i32 = 6;

/// Runs throng with these arguments, which make it print its results file, until it ends or the server does:
/// `poll_end` says how it did, or how the machine was lost on which it ran. They go to it over a pipe; what
/// stands in the list of processes is `shown`.
///
/// # Errors
/// The server dies, the generator fails, or the user has had enough. A generator that cannot go on is at
/// [`Stage::Load`]; one that ends in order and has nothing, as where nobody lets it in, leaves it to the
/// server.
pub fn measure(
    arguments: &[String],
    shown: &[String],
    mut poll_end: impl FnMut() -> Option<StageFailure>,
    tools: &Tools<'_>,
) -> Result<Run, StageFailure> {
    let trouble = |reason: String| StageFailure::new(Stage::Load, reason);
    let mut command = Command::new(&tools.throng);
    command.arg(tools.words_verb).args(shown);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C is for the shootout, which ends the generator in order.
    command.process_group(0);
    let mut child =
        signals::end_with_parent(&mut command).spawn().map_err(|error| trouble(error.to_string()))?;
    let line = serde_json::to_string(arguments).expect("words are plain data");
    // One that is gone already has said why, and that is told.
    let _ = child.stdin.take().expect("piped").write_all(format!("{line}\n").as_bytes());
    // Each in a thread: a child that fills one pipe while the other is read would wait forever.
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    let outcome = attend(&mut child, &mut poll_end, tools);
    let (stdout, stderr) = (finish(&stdout), finish(&stderr));
    let status = outcome?;
    if status.code().is_some_and(|code| MEASURED.contains(&code)) {
        return results::file::read(&stdout)
            .map_err(|error| trouble(format!("the generator's results: {error}")));
    }
    let said = last_words(status, &stderr);
    Err(match status.code() {
        Some(COULD_NOT) => StageFailure::new(Stage::Measure, said.unwrap_or_else(|| status.to_string())),
        Some(GENERATOR_FAILED) => trouble(said.unwrap_or_else(|| status.to_string())),
        _ => trouble(format!(
            "the generator ended with {status}{}",
            said.map_or_else(String::new, |said| format!("; it said: {said}"))
        )),
    })
}

/// Waits for the generator, with an eye on the server.
fn attend(
    child: &mut Child,
    poll_end: &mut dyn FnMut() -> Option<StageFailure>,
    tools: &Tools<'_>,
) -> Result<ExitStatus, StageFailure> {
    let (mut turns, mut ran) = (None, Instant::now());
    loop {
        let taken = net::proc::turns(child.id());
        if taken != turns {
            // The kernel counts how often it had a CPU: whoever is stopped or hangs has none.
            (turns, ran) = (taken, Instant::now());
        }
        let trouble = match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Err(error) => Some(StageFailure::new(Stage::Load, error.to_string())),
            Ok(None) if (tools.is_interrupted)() => Some(StageFailure::new(Stage::Measure, "interrupted")),
            Ok(None) if ran.elapsed() > STILL_MAX => {
                let still = format!("the generator has stood still for {} s", STILL_MAX.as_secs());
                Some(StageFailure::new(Stage::Load, still))
            }
            // Last, so that a generator that has ended beside its server is heard first.
            Ok(None) => poll_end(),
        };
        if let Some(trouble) = trouble {
            end(child);
            return Err(trouble);
        }
        thread::sleep(POLL);
    }
}

/// Asks the generator to end, and kills it with its agents if it does not.
fn end(child: &mut Child) {
    let _ = signals::terminate(child);
    let _ = signals::reap(child, GRACE);
}

/// Reads a pipe in a thread, which gives what there was when it has ended.
fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (whole, collected) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A broken pipe ends the output; what came before it counts.
        let _ = pipe.read_to_end(&mut bytes);
        let _ = whole.send(bytes);
    });
    collected
}

fn finish(collected: &Receiver<Vec<u8>>) -> String {
    String::from_utf8_lossy(&collected.recv_timeout(LAST_WORDS_MAX).unwrap_or_default()).into_owned()
}

/// A generator's last words, or the error of its command line, which comes before the usage.
fn last_words(status: ExitStatus, stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().filter(|_| status.code() == Some(BAD_USAGE));
    let wrong = lines.find(|line| line.starts_with("error:"));
    last_line_of(wrong.unwrap_or(stderr).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// The trouble of a generator that is this script.
    fn trouble_of(script: &str, death: Option<&str>) -> StageFailure {
        let tools = Tools {
            throng: "/bin/sh".into(),
            guard_verb: "",
            words_verb: "-c",
            host: Ipv4Addr::LOCALHOST,
            is_interrupted: &|| false,
            say: &|_| {},
        };
        let poll_end = || death.map(|death| StageFailure::new(Stage::Measure, death));
        measure(&[], &[script.to_owned()], poll_end, &tools).unwrap_err()
    }

    #[test]
    fn failed_generators_are_not_the_servers_fault() {
        for (script, said) in [
            ("echo no more memory >&2; kill -9 $$", "(SIGKILL); it said: no more memory"),
            ("exit 101", "exit status: 101"),
            ("printf 'error: no --x\\n\\nUsage: throng\\n' >&2; exit 2", "; it said: error: no --x"),
            ("echo error: no file >&2; echo throng: --app: no >&2; exit 101", "; it said: throng: --app: no"),
            ("echo throng: agent a was lost >&2; exit 6", "agent a was lost"),
            ("echo no results", "the generator's results: "),
        ] {
            let StageFailure { stage, reason } = trouble_of(script, None);
            assert_eq!(stage, Stage::Load, "{reason}");
            assert!(reason.contains(said), "{reason}");
        }
        let refused = trouble_of("echo could not reach it >&2; exit 1", None);
        assert_eq!(refused, StageFailure::new(Stage::Measure, "could not reach it"));
        let died = trouble_of("exec sleep 9", Some("the server exited with 7"));
        assert_eq!(died, StageFailure::new(Stage::Measure, "the server exited with 7"));
    }
}
