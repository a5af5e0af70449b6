//! An app file from what a browser recorded, and a short run that tries it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use app::people::People;
use clap::Args;
use har::{Draft, Recording};
use net::files;
use results::Step;

use super::new_file::{create, create_private};
use crate::app_file::{self, ClientsMax};
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::output::{self, quoted};
use crate::plan::{self, PlanInputs};
use crate::verbs::targets::this_program;
use crate::{locale, target};

/// A session of one user, or of two.
pub(super) const SESSIONS_MAX: usize = 2;
/// The largest recording: with the bodies of a long session, browsers write some hundreds of MiB.
pub(in crate::verbs) const RECORDING_BYTES_MAX: u64 = 1 << 30;
/// The file of the users' data, beside the app's.
pub(in crate::verbs) const USERS: &str = "users.csv";
/// Clients of a proposed run.
pub(in crate::verbs) const CLIENTS: &str = "20";
/// Clients of a trial: one hears the other.
pub(in crate::verbs) const TRIAL_CLIENTS: &str = "2";
/// A server for checks without a connection.
const NO_SERVER: &str = "ws://127.0.0.1:1/";
/// Rate of a trial, where anything is sent: `throng run` refuses it elsewhere.
const TRIAL_RATE: [&str; 2] = ["--rate", "4"];
/// Load of a trial.
const TRIAL: [&str; 11] = [
    "--clients",
    TRIAL_CLIENTS,
    "--duration",
    "2s",
    "--connect-timeout",
    "10s",
    "--format",
    "json",
    "--no-store",
    "--no-preflight",
    "--quiet",
];

/// Flags of a trial.
#[derive(Args)]
pub(super) struct CheckArgs {
    /// Try the file with two clients against this server, and say step by step what matched
    #[arg(long, value_name = "URL", requires = "from")]
    check: Option<String>,
}

impl CheckArgs {
    /// Refuses it where nothing was recorded.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        match self.check {
            Some(_) => Err(Failure::usage("--check", "is for a recorded session: --from session.har")),
            None => Ok(()),
        }
    }
}

/// Writes the file, and tries it if that was asked for.
pub(super) fn write(file: &Path, paths: &[PathBuf], check: &CheckArgs) -> Result<Exit, Failure> {
    let recordings = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let draft = har::draft(&recordings, USERS);
    let Kept { mut text, can_run } = keep(file, &draft)?;
    if !can_run {
        return output::print(&text).map(|_| Exit::LimitBroken);
    }
    let url = check.check.as_deref().unwrap_or(&draft.server);
    let run = command(file, url, CLIENTS);
    let Some(url) = &check.check else {
        // Not `init --check`: the file is there now, and is not written over.
        let trial = command(file, url, TRIAL_CLIENTS);
        let probe = format!("throng probe {}", quoted(url));
        text += &format!("\nTry it with two clients, then run it:\n\n  {trial}\n  {run}\n");
        text += &format!("\nThe server's limits and timeouts: {probe}\n");
        return output::print(&text);
    };
    output::print(&text)?;
    try_out(file, url, &draft, &[], &run)
}

/// Tries the file with two clients, and says what matched; `flags`: those that the server needs, `run`: the command
/// for more clients.
pub(in crate::verbs) fn try_out(
    file: &Path,
    url: &str,
    draft: &Draft,
    flags: &[OsString],
    run: &str,
) -> Result<Exit, Failure> {
    let step = trial(file, url, draft.is_measured, flags)?;
    let (lines, is_ready) = matched(&step, draft);
    let next = match is_ready {
        true => format!("{} is ready:\n\n  {run}\n", file.display()),
        false => format!("{} is not ready: change what did not match, then\n\n  {run}\n", file.display()),
    };
    output::print(&format!("\n{lines}\n{next}"))?;
    Ok(if is_ready { Exit::Fine } else { Exit::LimitBroken })
}

/// The command that runs a file.
pub(in crate::verbs) fn command(file: &Path, url: &str, clients: &str) -> String {
    let [file, url] = [&file.display().to_string(), url].map(quoted);
    format!("throng run {file} {url} --clients {clients}")
}

/// A file that was written.
pub(in crate::verbs) struct Kept {
    /// Findings of the recording.
    pub(in crate::verbs) text: String,
    /// True if `throng run` takes the file as it is.
    pub(in crate::verbs) can_run: bool,
}

/// Writes the file and its users' data.
pub(in crate::verbs) fn keep(file: &Path, draft: &Draft) -> Result<Kept, Failure> {
    let users = file.with_file_name(USERS);
    // Made before the file is: a file without its users could not be run.
    if let Some(text) = &draft.users {
        create_private(&users)?.write(text)?;
    }
    let written = create(file).and_then(|file| file.write(&draft.toml));
    if written.is_err() && draft.users.is_some() {
        // Its only reader is not there.
        let _ = fs::remove_file(&users);
    }
    written?;
    let mut text = format!("{} is written, for {}:\n\n", file.display(), draft.protocol);
    for finding in &draft.findings {
        text +=
            &format!("  {}\n", if locale::is_ascii() { finding.replace('→', "->") } else { finding.clone() });
    }
    if !draft.is_measured {
        text += "\nNo message that clients send is measured, as none came back: record two users\n\
                 who answer each other (throng docs recording).\n";
    }
    if draft.has_two_users {
        text += "\nTwo connections at once had different cookies or logins. If two users came through\n\
                 one address, the file mixes what they did: record again with --sessions 2, each\n\
                 user at an address of their own.\n";
    }
    if draft.users.is_some() {
        text += &format!("\nWhat was typed stands in {}: add a row for each user.\n", users.display());
    }
    let refused = check_run(file).err();
    if let Some(failure) = &refused {
        text += &format!("\nIt cannot be run yet: {failure}\n");
    }
    Ok(Kept { text, can_run: refused.is_none() })
}

/// Refuses a file that `throng run` would refuse before it connects: what was recorded may be more than a file or a
/// request can say.
fn check_run(file: &Path) -> Result<(), Failure> {
    let protocol = app_file::read(file, People::default(), ClientsMax::Unasked)?.protocol;
    let args = RunArgs { app: Some(file.to_owned()), ..RunArgs::of_url(NO_SERVER) };
    let target = target::resolve(NO_SERVER, None)?;
    plan::check_clients(&PlanInputs::of_echoes(&args, &target, protocol.name(), None))
}

fn read(path: &Path) -> Result<Recording, Failure> {
    let shown = path.display();
    let bytes = files::read_any(path, RECORDING_BYTES_MAX)
        .map_err(|error| Failure::could_not("read", format!("read {shown}"), error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Recording::read(&name, bytes).map_err(|error| Failure::usage(&shown.to_string(), error).in_file())
}

/// Runs the file with two clients, at a rate if it has messages to send.
fn trial(file: &Path, url: &str, is_measured: bool, flags: &[OsString]) -> Result<Step, Failure> {
    let could_not = |why: String| Failure::could_not("try", format!("try {}", file.display()), why);
    let mut command = Command::new(this_program()?);
    let rate: &[&str] = if is_measured { &TRIAL_RATE } else { &[] };
    command.arg("run").arg(file).arg(url).args(TRIAL).args(rate).args(flags);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(|error| could_not(error.to_string()))?;
    let run = results::file::read(&String::from_utf8_lossy(&output.stdout));
    let step = run.ok().and_then(|run| run.steps.into_iter().next());
    step.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        could_not(said.trim().trim_start_matches("throng: ").to_owned())
    })
}

/// The steps that matched, a line each, and whether all did.
fn matched(step: &Step, draft: &Draft) -> (String, bool) {
    let (counts, figures) = (&step.counts, &step.figures);
    // A part of the opening is timed once it is over: a client that fails later has logged in.
    let connected = if draft.opens { figures.upgrade.count() } else { counts.connected };
    let rows = [
        (draft.logs_in, "logged in", figures.login.count(), step.clients),
        (true, "connected", connected, step.clients),
        (draft.opens, "opened", counts.connected, step.clients),
        (draft.is_measured, "delivered", counts.received, counts.expected),
    ];
    let (yes, no) = if locale::is_ascii() { ("ok", "--") } else { ("✓", "✗") };
    let mut is_ready = true;
    let mut lines = String::new();
    for (_, name, reached, wanted) in rows.into_iter().filter(|(is_asked, ..)| *is_asked) {
        // Where nobody got so far, nothing was tried.
        let is_met = wanted > 0 && reached >= wanted;
        is_ready &= is_met;
        lines += &format!("{} {name:<12} {reached} of {wanted}\n", if is_met { yes } else { no });
    }
    // A message without its id is taken for the app's own, by an [[ignore]] that was recorded as well.
    if draft.is_measured && counts.expected > 0 && counts.received == 0 {
        lines += &format!("{no} {:<12} none came back: put {{id}} where the server relays it\n", "ids");
    }
    if counts.pushed > 0 {
        lines += &format!("{yes} {:<12} {}\n", "pushed", counts.pushed);
    }
    for (kind, error) in step.errors.iter() {
        is_ready = false;
        lines += &format!("{no} {kind:<12} {} times: {}\n", error.count, error.example);
    }
    (lines, is_ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(toml: &str, is_measured: bool) -> Draft {
        Draft {
            toml: toml.to_owned(),
            users: None,
            server: String::new(),
            protocol: "plain",
            logs_in: true,
            opens: true,
            is_measured,
            has_two_users: false,
            findings: Vec::new(),
        }
    }

    #[test]
    fn files_that_run_refuses_are_told() {
        for (toml, can_run) in [("[echo]\nsend = '{id}'\n", true), ("[echo]\nsend = '{nobody}'\n", false)] {
            let folder = tempfile::tempdir().unwrap();
            let kept = keep(&folder.path().join("app.toml"), &draft(toml, true)).unwrap();
            assert_eq!(kept.can_run, can_run, "{}", kept.text);
            assert_eq!(kept.text.contains("app.toml:2:"), !can_run, "{}", kept.text);
        }
    }

    #[test]
    fn two_users_of_one_address_are_told() {
        for has_two_users in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let draft = Draft { has_two_users, ..draft("[echo]\nsend = '{id}'\n", true) };
            let kept = keep(&folder.path().join("app.toml"), &draft).unwrap();
            assert_eq!(kept.text.contains("--sessions 2"), has_two_users, "{}", kept.text);
        }
    }

    #[test]
    fn users_that_no_request_takes_are_told() {
        let cookie = "[people]\ndata = 'users.csv'\n[connect]\nheaders = { Cookie = '{person.cookie}' }\n";
        for (cell, can_run) in [("a=b", true), ("\"a=b\nX: y\"", false)] {
            let folder = tempfile::tempdir().unwrap();
            let users = Some(format!("cookie\n{cell}\n"));
            let draft = Draft { users, ..draft(&format!("{cookie}[echo]\nsend = '{{id}}'\n"), true) };
            let kept = keep(&folder.path().join("app.toml"), &draft).unwrap();
            assert_eq!((kept.can_run, kept.text.contains("row 1 ")), (can_run, !can_run), "{}", kept.text);
        }
    }

    #[test]
    fn steps_that_nobody_reached_are_not_met() {
        let step = Step { clients: 2, ..Step::default() };
        let met = |is_measured| {
            let (lines, is_ready) = matched(&step, &draft("", is_measured));
            let names =
                lines.lines().map(|line| line[..14].trim_start_matches(['✗', '-', ' ']).trim().to_owned());
            (names.collect::<Vec<_>>(), is_ready)
        };
        let all = ["logged in", "connected", "opened", "delivered"].map(str::to_owned);
        assert_eq!(met(true), (all.to_vec(), false));
        assert_eq!(met(false), (all[..3].to_vec(), false));
    }

    #[test]
    fn copies_without_their_id_are_told() {
        for (received, is_told) in [(0, true), (7, false)] {
            let mut step = Step { clients: 2, ..Step::default() };
            (step.counts.expected, step.counts.received) = (8, received);
            let (lines, is_ready) = matched(&step, &draft("", true));
            assert_eq!((lines.contains("{id}"), is_ready), (is_told, false), "{lines}");
        }
    }

    #[test]
    fn words_of_the_command_are_quoted() {
        let typed = command(Path::new("my app/app.toml"), "ws://h/?a=1&b=2", CLIENTS);
        assert_eq!(typed, "throng run 'my app/app.toml' 'ws://h/?a=1&b=2' --clients 20");
        assert_eq!(command(Path::new("app.toml"), "ws://h/", "2"), "throng run app.toml ws://h/ --clients 2");
    }
}
