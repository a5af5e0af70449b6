//! `throng record URL`: a session that is recorded on its way through a proxy, and the app's file that is
//! made of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use har::{BadHar, Recording, Summary};
use net::files;
use net::tls::{ClientTls, TlsOptions};
use proxy::{Session, Trouble, Upstream};
use results::format::{counted, printable};

use crate::exit::{Exit, Failure};
use crate::flags::{access, security};
use crate::verbs::init::new_file;
use crate::verbs::init::recorded::{self, Kept};
use crate::{browser, interrupts, locale, output, secrets, stderr, target};

/// Address of the second user: cookies belong to a host, whatever the port.
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Interval at which the session is summed up, at least.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(1);
/// Multiple of the time that a summary takes until the next: a long session is copied for it, and connections
/// wait for that.
const SUMMARY_REST: u32 = 50;
/// Interval at which interrupts and changes are looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The reason for a session without a file.
const NO_SOCKET: &str =
    "no WebSocket and no stream passed through the proxy; one of another host would not: record that host";
/// Columns of a terminal, so that the line can be drawn again.
const LINE_COLUMNS_MAX: usize = 79;

/// Record a session of your app through a proxy, and write an app's file of it (throng docs recording)
///
/// Serves your app on this machine alone, at the address that it prints, until Ctrl-C. Open that address in a
/// private window, or in any client; log in, enter a room, and say a few different things, each at least
/// twice, while a second user answers at the address that --sessions 2 adds. What is said is passed on as it
/// is; links, cookies and redirects are changed so that the browser stays there.
///
/// Writes NAME.har, which holds passwords, cookies and tokens and which only you may read; NAME.toml, without
/// them; and users.csv.
#[derive(Args)]
pub(crate) struct Record {
    /// Your app's page or server: http, https, ws or wss
    #[arg(value_name = "URL")]
    url: String,
    /// Open the browser
    #[arg(long)]
    open: bool,
    /// Users to record, each at an address of its own; values that differ between them become columns of users.csv
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u8).range(1..=2))]
    sessions: u8,
    /// Folder for the files [default: this one]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Name of the files: NAME.toml, NAME.har
    #[arg(long, value_name = "NAME", default_value = "app")]
    name: String,
    /// Try the file at the end with two clients, and say step by step what matched
    #[arg(long)]
    check: bool,
    /// Write over files of these names
    #[arg(long)]
    force: bool,
    /// Address to listen on, on this machine alone; port 0 lets the system choose
    #[arg(short, long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Trust the authorities in this PEM file, not the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
}

/// Files of a recording.
struct Files {
    hars: Vec<PathBuf>,
    toml: PathBuf,
    users: PathBuf,
}

impl Record {
    /// Records until it is asked to stop.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let is_whole = self.url.contains("://");
        let url = target::parse(&if is_whole { self.url.clone() } else { format!("http://{}", self.url) })?;
        let no_host = || Failure::usage("URL", "expected a server's name or address in it");
        let upstream = Upstream::of(&url).ok_or_else(no_host)?;
        if !self.listen.ip().is_loopback() {
            let problem = format!("{} is not on this machine alone: type 127.0.0.1 or [::1]", self.listen);
            return Err(Failure::usage("--listen", problem));
        }
        if self.sessions == 2 && self.listen.ip() == SECOND {
            let problem = format!("{SECOND} is the second user's: type 127.0.0.1:{}", self.listen.port());
            return Err(Failure::usage("--listen", problem));
        }
        let files = self.files()?;
        let interrupts = interrupts::install()?;
        let sessions: Vec<Session> = files.hars.iter().map(|_| Session::default()).collect();
        // The path of a WebSocket is no page.
        let path = if url.scheme().starts_with("ws") { "/" } else { &url[url::Position::BeforePath..] };
        let ready = |addresses: &[SocketAddr]| self.welcome(addresses, path, &upstream);
        let options = self.options(&upstream)?;
        let (mut screen, is_over) = (Screen::new(), AtomicBool::new(false));
        let served = thread::scope(|scope| {
            let proxy =
                scope.spawn(|| proxy::serve(options, &sessions, ready, || is_over.load(Ordering::Relaxed)));
            // Beside the proxy: to sum a long session up, or to wait for a terminal, would hold up the app.
            while interrupts.count() == 0 && !proxy.is_finished() {
                screen.update(&sessions);
                thread::sleep(LOOK_INTERVAL);
            }
            is_over.store(true, Ordering::Relaxed);
            proxy.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        });
        screen.finish(&sessions);
        served.map_err(|error| Failure::could_not("listen", "serve", error))?;
        self.write(&sessions, &files)
    }

    fn options(&self, upstream: &Upstream) -> Result<proxy::Options, Failure> {
        let authorities = self.ca.as_deref().map(security::authorities).transpose()?;
        let tls = TlsOptions {
            authorities,
            insecure: self.insecure,
            alpn: Some("http/1.1"),
            ..TlsOptions::default()
        };
        let failed = |error| Failure::could_not("prepare_tls", "prepare TLS", error);
        let second = SocketAddr::from((SECOND, self.listen.port()));
        Ok(proxy::Options {
            listen: [self.listen, second].into_iter().take(self.sessions.into()).collect(),
            upstream: upstream.clone(),
            tls: ClientTls::new(&tls).map_err(failed)?,
        })
    }

    /// Prints the addresses to open.
    fn welcome(&self, addresses: &[SocketAddr], path: &str, upstream: &Upstream) {
        let arrow = if locale::is_ascii() { "->" } else { "→" };
        let mut text = String::new();
        for (number, address) in (1..).zip(addresses) {
            let user = if addresses.len() > 1 { format!(", user {number}") } else { String::new() };
            text += &format!("throng record{user}: http://{address}{path} {arrow} {}\n", upstream.origin());
        }
        let each = match addresses.len() {
            1 => "Open it as one user (two: --sessions 2)",
            _ => "Open them, one for each user",
        };
        // Even without a reader, the proxy goes on: the address may be known.
        let _ = output::print(&format!("{text}{each}, use your app, then press Ctrl-C.\n\n"));
        for address in addresses.iter().filter(|_| self.open) {
            browser::open(format!("http://{address}{path}"));
        }
    }

    /// The files' names. Refuses names that are taken, so that no session is recorded in vain.
    fn files(&self) -> Result<Files, Failure> {
        if self.name.contains('/') || self.name.is_empty() {
            return Err(Failure::usage(
                "--name",
                "expected a file's name without its folder: --out has that",
            ));
        }
        let folder = self.out.as_deref().unwrap_or(Path::new(""));
        if self.out.as_deref().is_some_and(|folder| !folder.is_dir()) {
            return Err(Failure::usage("--out", format!("{} is no folder", folder.display())));
        }
        let files = Files {
            hars: ["", "-2"][..self.sessions.into()]
                .iter()
                .map(|suffix| folder.join(format!("{}{suffix}.har", self.name)))
                .collect(),
            toml: folder.join(format!("{}.toml", self.name)),
            users: folder.join(recorded::USERS),
        };
        let taken = files.all().find(|path| path.exists()).filter(|_| !self.force);
        if let Some(path) = taken {
            // The users' file has the same name whatever the app's is.
            let (flag, others) =
                if *path == files.users { ("--out", "--out") } else { ("--name", "--name or --out") };
            let holds = if files.hars.contains(path) { shortcoming(path) } else { "" };
            let problem =
                format!("{} exists already{holds}; type another {others}, or --force", path.display());
            return Err(Failure::usage(flag, problem));
        }
        Ok(files)
    }

    /// Writes what was recorded, and what was understood of it.
    fn write(&self, sessions: &[Session], files: &Files) -> Result<Exit, Failure> {
        if sessions.iter().all(|session| session.is_empty()) {
            return Err(Failure::interrupted());
        }
        let mut recordings = Vec::new();
        let used = sessions.iter().zip(&files.hars).filter(|(session, _)| !session.is_empty());
        for (session, path) in used {
            // The file of a user who did nothing this time stays.
            self.make_way([path]);
            recordings.push((write_har(session, path)?, path));
        }
        let them = if recordings.len() > 1 { "them" } else { "it" };
        output::print(&format!("Passwords, cookies and tokens stand there; only you may read {them}.\n\n"))?;
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        for (bytes, path) in recordings {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match Recording::read(&name, bytes) {
                Ok(recording) => read.push(recording),
                Err(error) => unread.push(no_draft(path, error)),
            }
        }
        // One user's session makes a file, too.
        let failure = if read.is_empty() { unread.pop() } else { None };
        for failure in &unread {
            stderr::note(&failure.to_string());
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let draft = har::draft(&read, recorded::USERS);
        // Not before: a session that makes no file leaves the one of before as it is.
        self.make_way([&files.toml].into_iter().chain(draft.users.is_some().then_some(&files.users)));
        let Kept { text, can_run } = recorded::keep(&files.toml, &draft)?;
        if !can_run {
            return output::print(&text).map(|_| Exit::LimitBroken);
        }
        let command = recorded::command(&files.toml, &draft.server, recorded::CLIENTS);
        let trust = access::trust_flags(self.ca.as_deref(), self.insecure);
        let run = format!("{command}{trust}");
        if self.check {
            output::print(&text)?;
            return recorded::try_out(&files.toml, &draft.server, &draft, &self.trusting(), &run);
        }
        let trial = recorded::command(&files.toml, &draft.server, recorded::TRIAL_CLIENTS);
        output::print(&format!(
            "{text}\nTry it with two clients, then run it:\n\n  {trial}{trust}\n  {run}\n"
        ))
    }

    /// Flags with which a run trusts the server as the proxy did.
    fn trusting(&self) -> Vec<OsString> {
        let authorities = self.ca.iter().flat_map(|path| ["--ca".into(), path.into()]);
        authorities.chain(self.insecure.then(|| "--insecure".into())).collect()
    }

    /// Removes files that are written next, if they may be written over. A file keeps the permissions that it
    /// was created with, and a HAR's are its owner's alone: it is written anew.
    fn make_way<'a>(&self, files: impl IntoIterator<Item = &'a PathBuf>) {
        for path in files.into_iter().filter(|_| self.force) {
            // One that cannot be removed is reported when it is written.
            let _ = fs::remove_file(path);
        }
    }
}

impl Files {
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.hars.iter().chain([&self.toml, &self.users])
    }
}

/// The remark on a recording in the way that is of a failed try, and may be written over.
fn shortcoming(har: &Path) -> &'static str {
    let read = files::read(har, recorded::RECORDING_BYTES_MAX).map(|bytes| Recording::read("", bytes));
    match read {
        Ok(Err(BadHar::NoSocket)) => " (a session without WebSocket or stream)",
        Ok(Err(BadHar::NoMessages | BadHar::NoEvents)) => " (a session without messages)",
        _ => "",
    }
}

/// The reason why a session makes no app's file.
fn no_draft(har: &Path, error: BadHar) -> Failure {
    let why = match error {
        BadHar::NoSocket => NO_SOCKET.to_owned(),
        BadHar::NoMessages => "its WebSocket has no messages: use the app for longer".to_owned(),
        BadHar::NoEvents => "its streams have no events: use the app for longer".to_owned(),
        error => error.to_string(),
    };
    Failure::could_not("draft", format!("make an app's file of {}", har.display()), why)
}

/// Writes a session, and returns what was written.
fn write_har(session: &Session, path: &Path) -> Result<Vec<u8>, Failure> {
    let entries = session.take();
    let count = counted(entries.len() as u64, "request");
    let mut bytes = Vec::new();
    har::write(entries.into_iter(), env!("CARGO_PKG_VERSION"), &mut bytes)
        .map_err(|error| Failure::could_not("write", format!("write {}", path.display()), error))?;
    new_file::create_private(path)?.write(&bytes)?;
    output::print(&format!("{} is written: {count}, WebSockets included.\n", path.display()))?;
    Ok(bytes)
}

/// Remarks while a session is recorded: a summary for each user, on a line that is drawn again, and each trouble
/// once.
struct Screen {
    told: BTreeSet<Trouble>,
    changes: u64,
    summed_up: Instant,
    /// Time until the next summary.
    interval: Duration,
    /// One for each user.
    lines: Vec<String>,
    is_live: bool,
}

impl Screen {
    fn new() -> Screen {
        let is_live = stderr::is_live();
        let (summed_up, interval) = (Instant::now(), SUMMARY_INTERVAL);
        Screen { told: BTreeSet::new(), changes: 0, summed_up, interval, lines: Vec::new(), is_live }
    }

    /// Draws what is new, once in a while.
    fn update(&mut self, sessions: &[Session]) {
        let changes = sessions.iter().map(Session::changes).sum();
        if changes != self.changes && self.summed_up.elapsed() >= self.interval {
            (self.changes, self.summed_up) = (changes, Instant::now());
            self.refresh(sessions);
            self.interval = SUMMARY_INTERVAL.max(self.summed_up.elapsed() * SUMMARY_REST);
        }
    }

    fn refresh(&mut self, sessions: &[Session]) {
        for trouble in sessions.iter().flat_map(|session| session.troubles().into_keys()) {
            if !self.told.contains(&trouble) {
                self.clear();
                // Parts of it are the server's own.
                stderr::note(&printable(&trouble.to_string()));
                self.told.insert(trouble);
                if self.is_live {
                    self.draw();
                }
            }
        }
        let used = (1..).zip(sessions).filter(|(_, session)| !session.is_empty());
        let lines: Vec<String> = used
            .map(|(number, session)| match sessions.len() {
                1 => summary(session),
                _ => format!("user {number}: {}", summary(session)),
            })
            .collect();
        if lines != self.lines {
            self.clear();
            let before = mem::replace(&mut self.lines, lines);
            match self.is_live {
                true => self.draw(),
                // What a file has already stays there.
                false => {
                    for line in self.lines.iter().filter(|line| !before.contains(line)) {
                        stderr::line(line);
                    }
                }
            }
        }
    }

    /// Prints the last status, and ends its lines.
    fn finish(&mut self, sessions: &[Session]) {
        self.refresh(sessions);
        if self.is_live && !self.lines.is_empty() {
            stderr::line("\n");
        }
    }

    /// Removes the lines from a terminal, and goes back to the first.
    fn clear(&self) {
        if self.is_live {
            stderr::text(format_args!(
                "\r\x1b[2K{}",
                "\x1b[1A\x1b[2K".repeat(self.lines.len().saturating_sub(1))
            ));
        }
    }

    /// Draws the lines on a terminal.
    fn draw(&self) {
        // One that is wider than the terminal would take two of its lines.
        let lines: Vec<String> =
            self.lines.iter().map(|line| line.chars().take(LINE_COLUMNS_MAX).collect()).collect();
        stderr::text(lines.join("\n"));
    }
}

/// A session in one line.
fn summary(session: &Session) -> String {
    let outline = session.outline();
    let mut parts = vec![counted(outline.len() as u64, "request")];
    if let Ok(recording) = Recording::of("", outline) {
        let summary = Summary::of(&recording);
        let Summary { protocol, is_logged_in, rooms, said, heard, published, answers, is_stream } = summary;
        parts.push(protocol.to_owned());
        parts.extend(is_logged_in.then(|| "logged in".to_owned()));
        parts.extend((!rooms.is_empty()).then(|| format!("joined {}", rooms.join(", "))));
        let said = said.iter().map(|(name, count)| format!("{count} {name}"));
        let said = said.collect::<Vec<_>>().join(", ");
        parts.extend((!said.is_empty()).then(|| format!("said {said}")));
        parts.extend((answers > 0).then(|| counted(answers as u64, "answer")));
        parts.push(match is_stream {
            true => counted(heard as u64, "event"),
            false => format!("heard {heard}"),
        });
        parts.extend((published > 0).then(|| format!("published {}", counted(published as u64, "time"))));
    }
    let line = parts.join(if locale::is_ascii() { " - " } else { " · " });
    printable(&secrets::scrub(&line))
}
