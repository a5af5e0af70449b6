//! A process between throng and a program that it starts, so that nothing of the program outlives its use.
//!
//! ```text
//! throng --brief, one line--> guard --starts, in a session of its own--> program and its descendants
//! throng <--started, ended--- guard
//! ```
//!
//! The guard's standard input is a pipe from throng. When it ends, because throng is done with the program, was
//! interrupted or was killed, the guard asks the program to stop, kills what does not within the grace, and kills
//! whatever descends from it, daemons included: those are handed to the guard when their parents end
//! (PR_SET_CHILD_SUBREAPER, prctl(2)). It needs no privilege, unlike a control group.
//!
//! A guard whose program is to see no other processes goes on in a child that is the first of a PID namespace
//! ([`net::namespaces`]), and waits for it: however that child ends, the kernel kills all that is left in there.
//!
//! A guard that says nothing, for somebody has stopped it, is waited for no longer than it may take, and
//! killed with all that it guards.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::errors::ErrorKind;
use net::namespaces::OwnMounts;
use net::proc;
use net::signals::{self, StopSignal};
use serde::{Deserialize, Serialize};

use crate::sandbox::Sandbox;
use crate::surroundings;

/// Bytes a program may write before the rest is dropped: a server that logs every message would fill the disk.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// How long processes left behind may take to end by themselves.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// How long a guard may take to start, on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);

/// How long a guard may take to say its last word beyond what it gives the program: the processes are killed meanwhile.
const LAST_WORD_MAX: Duration = Duration::from_secs(10);

/// A program to run, and how to end it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Brief {
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Its sandbox, if it has one.
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) folder: PathBuf,
    /// The CPUs it may use; empty: all.
    pub(crate) cpus: Vec<usize>,
    /// The file of its output.
    pub(crate) log: PathBuf,
    /// The name of the signal that asks it to stop.
    pub(crate) signal: String,
    pub(crate) grace: Duration,
}

/// The guard's messages, a line each.
#[derive(Serialize, Deserialize)]
enum Word {
    Started { pid: u32 },
    NotStarted(NotStarted),
    Ended(End),
}

/// Why a program was not started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NotStarted {
    pub(crate) why: String,
    pub(crate) fault: Fault,
}

/// Causes of a program that was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fault {
    /// The program: it is not there, or cannot be executed.
    Program,
    /// The kernel, which hides no processes from this one: it can be started without that.
    Hiding,
    /// The machine: a full disk, a process too many, a guard that has no CPU.
    Machine,
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self { why: error.to_string(), fault: Fault::Machine }
    }
}

impl From<NotStarted> for io::Error {
    fn from(error: NotStarted) -> Self {
        let kind = match error.fault {
            Fault::Program => io::ErrorKind::NotFound,
            Fault::Hiding | Fault::Machine => io::ErrorKind::Other,
        };
        io::Error::new(kind, error.why)
    }
}

/// How a program has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// True if it had been asked to stop.
    pub asked: bool,
    /// True if it had to be killed, because it did not stop within its grace.
    pub killed: bool,
    /// Processes that it left behind, which were killed.
    pub left: usize,
}

impl End {
    /// How it ended, in words: `exited with 1`, `was ended by signal 9`.
    pub fn how(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended together with its guard".to_owned(),
        }
    }
}

/// A program under guard. Dropping it ends the program.
pub(crate) struct Guarded {
    guard: Child,
    /// The guard stops the program when this is closed.
    stdin: Option<ChildStdin>,
    words: mpsc::Receiver<Word>,
    end: Option<End>,
    /// How long ending the program may take.
    grace: Duration,
    /// The program's main process, by its number in the namespace that it is in.
    pub(crate) pid: u32,
}

impl Guarded {
    /// Starts `guard`, a command that ends up in [`run`], and has it start the program.
    ///
    /// # Errors
    /// The guard or the program cannot be started.
    pub(crate) fn start(mut guard: Command, brief: &Brief) -> Result<Guarded, NotStarted> {
        // Before the guard starts, which would wait for it: a path may have a name that is not UTF-8.
        let line = serde_json::to_string(brief).map_err(io::Error::from)?;
        // Ctrl-C is for throng, which then ends the program in order.
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut guard = guard.spawn()?;
        let mut stdin = guard.stdin.take().expect("piped");
        // Before the brief is written: a guard that fails says so, and nobody must wait for the other.
        let words = listen(guard.stdout.take().expect("piped"));
        let grace = brief.grace + LEFT_BEHIND + LAST_WORD_MAX;
        let mut guarded = Guarded { guard, stdin: None, words, end: None, grace, pid: 0 };
        stdin.write_all(format!("{line}\n").as_bytes())?;
        guarded.stdin = Some(stdin);
        match guarded.hear(START_MAX) {
            Some(Word::Started { pid }) => {
                guarded.pid = pid;
                Ok(guarded)
            }
            Some(Word::NotStarted(error)) => Err(error),
            Some(Word::Ended(_)) | None => Err(io::Error::other("its guard did not start").into()),
        }
    }

    /// How the program has ended, if it has.
    pub(crate) fn poll_end(&mut self) -> Option<&End> {
        if self.end.is_none() && matches!(self.guard.try_wait(), Ok(Some(_))) {
            self.end = Some(self.last_word());
        }
        self.end.as_ref()
    }

    /// Ends the program, in order if it can be.
    pub(crate) fn stop(mut self) -> End {
        self.stdin = None;
        let end = self.end.take().unwrap_or_else(|| self.last_word());
        self.end.insert(end).clone()
    }

    /// Waits for the guard to say how it went.
    fn last_word(&mut self) -> End {
        match self.hear(self.grace) {
            Some(Word::Ended(end)) => end,
            _ => End { code: None, signal: None, asked: self.stdin.is_none(), killed: false, left: 0 },
        }
    }

    /// Waits for the guard's next message for this time; one that does not has come to its end with that.
    fn hear(&mut self, within: Duration) -> Option<Word> {
        let heard = self.words.recv_timeout(within);
        if let Err(RecvTimeoutError::Timeout) = heard {
            // With all that it guards: nobody is left who would end it.
            let _ = proc::kill_tree(self.guard.id());
        }
        heard.ok()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.stdin = None;
        if self.end.is_none() {
            self.end = Some(self.last_word());
        }
        let _ = signals::reap(&mut self.guard, LAST_WORD_MAX);
    }
}

/// Hears a guard in a thread, which ends with it. A line that is no word is its last.
fn listen(stdout: ChildStdout) -> mpsc::Receiver<Word> {
    let (words, heard) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let said = lines.map_while(|line| serde_json::from_str(&line).ok());
        for word in said {
            let _ = words.send(word);
        }
    });
    heard
}

/// The guard's side: starts the program of the brief, and ends when it has ended, or when the input does.
///
/// # Errors
/// The brief cannot be read, or the system refuses what the guard needs.
pub fn run() -> io::Result<()> {
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let brief: Brief = serde_json::from_str(&line)?;
    let started = isolate(&brief).and_then(|(file, mounts)| start(&brief, file, mounts));
    let (child, log) = match started {
        Ok(started) => started,
        Err(error) => return say(&Word::NotStarted(error)),
    };
    let pid = child.id();
    say(&Word::Started { pid })?;
    let events = watch(pid, stdin);
    let (status, asked, killed) = attend(&events, pid, &brief);
    let left = end_the_rest()?;
    // No process holds the other end any more.
    log.join().expect("copying does not panic");
    say(&Word::Ended(End { code: status.code(), signal: status.signal(), asked, killed, left }))
}

/// Events that the guard waits for.
enum Event {
    Ended(ExitStatus),
    Asked,
}

/// Opens the log and takes leave of the rest of the machine, in this order: a mount in which a file is open
/// to be written does not become read-only, but the copy of it in a new namespace does.
fn isolate(brief: &Brief) -> Result<(File, Option<OwnMounts>), NotStarted> {
    // In the program's folder, where an earlier step of it may have put a link to a file of the user's.
    let file = net::private::create_anew(&brief.log).map_err(naming(brief.log.display()))?;
    let mounts = brief.sandbox.as_ref().map(Sandbox::isolate).transpose().map_err(|error| {
        let is_hiding = brief.sandbox.as_ref().is_some_and(|sandbox| sandbox.hides_processes);
        let is_refused = is_hiding && error.kind() == io::ErrorKind::Unsupported;
        let why = naming("hiding the rest of the machine")(error).to_string();
        NotStarted { why, fault: if is_refused { Fault::Hiding } else { Fault::Machine } }
    })?;
    Ok((file, mounts.flatten()))
}

/// Starts the program; an error names what could not be done.
fn start(
    brief: &Brief,
    file: File,
    mounts: Option<OwnMounts>,
) -> Result<(Child, JoinHandle<()>), NotStarted> {
    // A server has as many clients as it may have open files.
    net::limits::raise_nofile().map_err(naming("its limit on open files"))?;
    proc::adopt_orphans()?;
    if !brief.cpus.is_empty() {
        net::affinity::pin_current_thread(&brief.cpus)
            .map_err(naming(format!("pinning it to the CPUs {:?}", brief.cpus)))?;
    }
    let (output, input) = io::pipe()?;
    // A program that was built here is named relative to the folder, which spawning would not look at.
    let built = brief.folder.join(&brief.command[0]);
    let program = if built.is_file() { built } else { PathBuf::from(&brief.command[0]) };
    let mut command = Command::new(program);
    surroundings::clean(&mut command);
    if let Some(sandbox) = &brief.sandbox {
        sandbox.furnish(&mut command);
        // This confines the guard as well, because its child must be within; the guard has all that it still needs.
        sandbox.enter(mounts).map_err(naming("shutting it in"))?;
    }
    command.envs(brief.env.iter().cloned()).args(&brief.command[1..]).current_dir(&brief.folder);
    command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    net::rights::disinherit().map_err(naming("closing what it must not inherit"))?;
    signals::lead_session(&mut command);
    if brief.sandbox.is_some() {
        // It would outlive a guard that it could kill.
        net::walls::contain_signals(&mut command).map_err(naming("keeping its signals from the guard"))?;
    }
    let child = signals::end_with_parent(&mut command).spawn().map_err(|error| {
        // No process, memory or file for one: EAGAIN and ENOMEM of fork(2), EMFILE and ENFILE of pipe(2).
        let kind = ErrorKind::of(&error);
        let is_full = matches!(kind, ErrorKind::WouldBlock | ErrorKind::NoBuffers | ErrorKind::TooManyFiles);
        let fault = if is_full { Fault::Machine } else { Fault::Program };
        NotStarted { why: naming(&brief.command[0])(error).to_string(), fault }
    })?;
    Ok((child, thread::spawn(move || keep(output, file))))
}

/// Adds what was being attempted to an I/O error.
fn naming(what: impl fmt::Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Copies the output to the log, up to its limit; what comes after is read, so that the program is not held up.
fn keep(mut output: PipeReader, mut file: File) {
    let mut within = Read::take(&mut output, LOG_BYTES_MAX);
    // A full disk must not stop the server: its output is dropped from there on.
    let kept = io::copy(&mut within, &mut file);
    let rest = io::copy(&mut output, &mut io::sink());
    if kept.is_ok() && rest.is_ok_and(|bytes| bytes > 0) {
        let _ = writeln!(file, "\n[the log is full: the rest was dropped]");
    }
}

/// Waits for the program's end and for the input's, each in a thread of its own.
fn watch(pid: u32, mut stdin: impl Read + Send + 'static) -> mpsc::Receiver<Event> {
    let (events, inbox) = mpsc::channel();
    let asked = events.clone();
    thread::spawn(move || {
        // Nothing is ever written to it: its end is the message, whichever way throng came to its own.
        let _ = io::copy(&mut stdin, &mut io::sink());
        let _ = asked.send(Event::Asked);
    });
    thread::spawn(move || {
        let status = proc::reap_until(pid).expect("nobody else waits for it");
        let _ = events.send(Event::Ended(status));
    });
    inbox
}

/// How the program ended, whether it was asked to, and whether it had to be killed.
fn attend(events: &mpsc::Receiver<Event>, pid: u32, brief: &Brief) -> (ExitStatus, bool, bool) {
    let mut asked = false;
    let mut killed = false;
    let mut deadline: Option<Instant> = None;
    loop {
        let event = match deadline {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => events.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        };
        match event {
            Ok(Event::Ended(status)) => return (status, asked, killed),
            Ok(Event::Asked) => {
                // Its end may be news that is still under way.
                // A server that had died by then was not asked: its death counts against it.
                asked = proc::is_running(pid);
                let signal = StopSignal::from_name(&brief.signal).unwrap_or(StopSignal::Term);
                let _ = signals::send(pid, signal); // it may be ending
                deadline = Some(Instant::now() + brief.grace);
            }
            Err(_) => {
                killed = true;
                // Killed processes end: there is nothing more that could be done to them.
                deadline = None;
                let _ = signals::kill_group(pid);
            }
        }
    }
}

/// Waits a moment for what is left of the program, and kills it. Returns how many processes that were.
fn end_the_rest() -> io::Result<usize> {
    let start = Instant::now();
    let mut left = proc::descendants()?.len();
    while left > 0 && start.elapsed() < LEFT_BEHIND {
        thread::sleep(Duration::from_millis(5));
        left = proc::descendants()?.len();
    }
    proc::kill_descendants()?;
    Ok(left)
}

fn say(word: &Word) -> io::Result<()> {
    let line = serde_json::to_string(word).expect("words are plain data");
    let mut stdout = io::stdout().lock();
    // Throng may be gone.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    Ok(())
}
