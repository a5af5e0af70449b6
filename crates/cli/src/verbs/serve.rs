//! `throng serve`: the reference server.

use std::env;
use std::ffi::OsString;
use std::fmt::Arguments;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};
use net::affinity;
use net::socket::Addr;
use net::tls::ServerTls;
use refserver::faults::Faults;
use refserver::{Family, Options, Server, Sibling, SlowPolicy, Stats, StopFlag};
use results::units;
use secret::Secret;

use crate::exit::{Exit, Failure};
use crate::flags::compression::Compression;
use crate::flags::dialect_args::ServeDialectArgs;
use crate::flags::fault;
use crate::history;
use crate::processes::{self, SERVER_PROCESSES_MAX};
use crate::secrets::{self, given};
use crate::stderr;

/// The flag with the secret of tokens, and where a child finds that in its environment.
const JWT_SECRET: (&str, &str) = ("--jwt-secret", "THRONG_JWT_SECRET");

/// A server to measure against, which speaks every protocol
///
/// At /ws, and at any path that has no other use, every message comes back to its sender;
/// {"type":"broadcast",…} (or its binary form) goes to all clients, and its sender gets a broadcastResult.
/// /cable is Action Cable, /socket/websocket Phoenix, /sockjs SockJS, /socket.io/ Socket.IO. Each keeps rooms
/// apart: ?room=NAME in the URL, a topic, or parameters of the subscription; Socket.IO also has an event
/// join. POST /publish/NAME tells a room from outside what its body says, which is JSON. With --login, there
/// is a form at /login. GET / answers 200 with an empty body, POST / with the body that it gets, POST /upload
/// takes any body, /stream comes event by event, also over a WebSocket (throng docs streams), GET /metrics is
/// for Prometheus (with --processes, each answer is of one of them, which its label process names). The server
/// stops on Ctrl-C or SIGTERM.
#[derive(Args)]
#[command(after_help = fault::HELP)]
pub(crate) struct Serve {
    /// Address to listen on [default: 127.0.0.1:9000]; port 0 lets the system choose
    #[arg(short, long, value_name = "ADDR")]
    listen: Vec<SocketAddr>,
    /// The port at --host
    #[arg(short, long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// The address for --port [default: 127.0.0.1]
    #[arg(long, value_name = "IP", conflicts_with = "listen")]
    host: Option<IpAddr>,
    /// Also listen on a unix socket
    #[arg(short = 'S', long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// Threads in each process [default: the CPUs divided among the processes, at least one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Processes, which share ports and broadcasts: for more clients than one process may have open files
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=SERVER_PROCESSES_MAX.into()))]
    processes: u16,
    /// Pin the threads to these CPUs, e.g. 0-1
    #[arg(long, value_name = "CPUS")]
    pin: Option<String>,
    /// Speak TLS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Serve only these origins
    #[arg(long = "origin", value_name = "URL")]
    origins: Vec<String>,
    /// Let in only who has logged in at /login, by a form with a CSRF token; the password is the name
    #[arg(long)]
    login: bool,
    /// Let in only who has a JWT in Authorization or in the query, as token or as the protocol calls it,
    /// signed with this (HS256), better as env:NAME or file:PATH
    #[arg(long, value_name = "SECRET", value_parser = given::value)]
    jwt_secret: Option<Secret>,
    #[command(flatten)]
    compression: Compression,
    /// The largest message accepted
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = units::bytes)]
    max_message: u64,
    /// Bytes of broadcasts that may wait for a client that reads too slowly, beyond what is being sent to it
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = units::bytes)]
    max_backlog: u64,
    /// Bytes that may wait for all such clients together, in each process
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::bytes)]
    max_backlog_total: u64,
    /// What happens to a client that exceeds either limit
    #[arg(long, value_enum, default_value_t = Slow::Drop)]
    slow: Slow,
    /// Cut off a client that has not finished its handshake after this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::interval_ns)]
    handshake_timeout: u64,
    /// Close a connection that makes no further request for this long, unless it is a WebSocket
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = units::interval_ns)]
    idle_timeout: u64,
    /// Ping every client this often [default: never]
    #[arg(long, value_name = "TIME", value_parser = units::interval_ns)]
    ping_interval: Option<u64>,
    /// Keep each room's latest messages, by number or age, e.g. 100 or 30s, for clients that resume:
    /// Socket.IO, event streams, and Action Cable's extended protocol. With it, the server has one thread
    #[arg(long, value_name = "N|TIME", value_parser = history::keep)]
    history: Option<wire::Keep>,
    #[command(flatten)]
    dialects: ServeDialectArgs,
    /// Misbehave in these ways on purpose, e.g. drop=1/1000,delay=5ms,stall=1s/100s; see below
    #[arg(long, value_name = "FAULTS", value_parser = fault::parse)]
    fault: Option<Faults>,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

/// The policy for a client that does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Slow {
    /// Its connection is dropped
    Drop,
    /// It misses those messages
    Skip,
}

impl Serve {
    /// Runs it until it is told to stop.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        net::limits::raise_nofile()
            .map_err(|e| Failure::could_not("raise_open_files", "raise the limit on open files", e))?;
        let options = self.options()?;
        let stop = StopFlag::on_signals().map_err(|error| Failure::without_signals(&error))?;
        let going_on = |error| Failure::could_not("serve", "go on serving", error);
        // A child: the announcement and the report are its parent's.
        if let Some(sibling) =
            Sibling::from_env().map_err(|e| Failure::could_not("join_processes", "join the others", e))?
        {
            let server = Server::join(options, sibling).map_err(cannot_listen)?;
            server.run(&stop).map_err(going_on)?;
            return Ok(Exit::Fine);
        }
        let stats = if self.processes > 1 {
            let family = Family::start(&options, self.processes.into(), || self.again());
            let family = family.map_err(cannot_listen)?;
            self.announce(family.local_addrs());
            family.run(&stop).map_err(going_on)?
        } else {
            let server = Server::bind(options).map_err(cannot_listen)?;
            // Only now, so that a program that waits for this line can connect.
            self.announce(server.local_addrs());
            server.run(&stop).map_err(going_on)?
        };
        if !self.quiet {
            report(&stats);
        }
        Ok(Exit::Fine)
    }

    fn announce(&self, addrs: &[Addr]) {
        if !self.quiet {
            for addr in addrs {
                say(format_args!("throng serves on {}", self.describe(addr)));
            }
        }
    }

    fn options(&self) -> Result<Options, Failure> {
        let is_shared = self.threads.is_some_and(|n| n > 1) || self.processes > 1;
        if self.history.is_some() && is_shared {
            let problem =
                "is one thread's own, for its order to be everybody's: leave out --threads and --processes";
            return Err(Failure::usage("--history", problem));
        }
        if self.history.is_none() && self.fault.as_ref().is_some_and(Faults::are_of_replays) {
            let problem = "forget, again and swap are about what is sent again: --history keeps it";
            return Err(Failure::usage("--fault", problem));
        }
        let cpus = match &self.pin {
            Some(list) => processes::cpus_of_here("--pin", list)?,
            None => Vec::new(),
        };
        // The CPUs that this process may use: taskset and containers leave fewer than the machine has.
        let available = affinity::available_cpus().map_or(1, |cpus| cpus.len());
        let size = |flag, bytes: u64| usize::try_from(bytes).map_err(|error| Failure::usage(flag, error));
        let message_bytes_max = size("--max-message", self.max_message)?;
        let limits =
            // A message may come in a single frame.
            codec::Limits { message_bytes_max, frame_bytes_max: self.max_message, ..codec::Limits::default() };
        Ok(Options {
            // A room's messages have one order, which the history keeps, only on one thread.
            threads: match self.history {
                Some(_) => 1,
                None => self.threads.map_or((available / usize::from(self.processes)).max(1), usize::from),
            },
            cpus,
            tls: self.tls()?,
            protocol: wire::ServerConfig {
                limits,
                deflate: self.compression.options(),
                origins: self.origins.clone(),
                gate: wire::Gate { login: self.login, jwt: self.jwt_secret.clone() },
                history: history::of(self.history, self.fault.clone()),
                settings: self.dialects.settings(),
                ..wire::ServerConfig::default()
            }
            .with_room_for_bodies(),
            backlog_bytes_max: size("--max-backlog", self.max_backlog)?,
            backlog_total_bytes_max: size("--max-backlog-total", self.max_backlog_total)?,
            slow_policy: match self.slow {
                Slow::Drop => SlowPolicy::DropConnection,
                Slow::Skip => SlowPolicy::DropMessage,
            },
            handshake_timeout_ns: self.handshake_timeout,
            idle_timeout_ns: self.idle_timeout,
            ping_interval_ns: self.ping_interval,
            faults: self.fault.clone(),
            say: if self.quiet { |_| {} } else { |line| stderr::line(format_args!("throng serve: {line}")) },
            ..Options::new(self.listen_addrs())
        })
    }

    /// The command of this process again, for a child: the environment gives the child its part, and the
    /// secret, which a command line would show to all users.
    fn again(&self) -> Command {
        // The program's own path, as PATH may find another version by its name.
        let program = env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        let mut command = Command::new(program);
        let (name, place) = JWT_SECRET;
        let mut before: Option<OsString> = None;
        for word in secrets::own_command_to_run().into_iter().skip(1) {
            let is_value = before.is_some_and(|before| before == name);
            // Both spellings, `--flag value` and `--flag=value`, carry the secret.
            let value = word.to_str().and_then(|word| word.strip_prefix(name));
            let is_with_value = value.is_some_and(|rest| rest.starts_with('='));
            match (is_value, is_with_value) {
                (true, _) => command.arg(format!("env:{place}")),
                (false, true) => command.arg(format!("{name}=env:{place}")),
                (false, false) => command.arg(&word),
            };
            before = Some(word);
        }
        if let Some(secret) = &self.jwt_secret {
            command.env(place, secret.reveal());
        }
        command
    }

    fn listen_addrs(&self) -> Vec<Addr> {
        const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        const PORT: u16 = 9000;
        let mut addrs: Vec<Addr> = self.listen.iter().copied().map(Addr::Inet).collect();
        // A user who asks for a socket alone wants no port beside it.
        if addrs.is_empty() && (self.port.is_some() || self.host.is_some() || self.socket.is_empty()) {
            let (host, port) = (self.host.unwrap_or(HOST), self.port.unwrap_or(PORT));
            addrs.push(Addr::Inet(SocketAddr::new(host, port)));
        }
        addrs.extend(self.socket.iter().cloned().map(Addr::Unix));
        addrs
    }

    fn tls(&self) -> Result<Option<ServerTls>, Failure> {
        let (Some(cert), Some(key)) = (&self.cert, &self.key) else { return Ok(None) };
        ServerTls::new(cert, key)
            .map(Some)
            .map_err(|error| Failure::could_not("use_certificate", "use the certificate", error))
    }

    fn describe(&self, addr: &Addr) -> String {
        let secure = if self.cert.is_some() { "s" } else { "" };
        match addr {
            Addr::Inet(addr) => format!("ws{secure}://{addr}/ws and http{secure}://{addr}/"),
            Addr::Unix(path) => format!("the unix socket {}", path.display()),
        }
    }
}

/// The server says where, and what to do about it.
fn cannot_listen(error: io::Error) -> Failure {
    Failure::could_not("listen", "listen", error)
}

fn report(stats: &Stats) {
    say(format_args!(
        "served {} connections, {} echoes, {} broadcasts ({} copies), {} requests",
        stats.connections, stats.echoes, stats.broadcasts, stats.copies, stats.requests
    ));
    // Lines about what did not happen would hide those about what did.
    if stats.slow_dropped + stats.copies_skipped > 0 {
        say(format_args!(
            "slow clients: {} dropped, {} copies skipped",
            stats.slow_dropped, stats.copies_skipped
        ));
    }
    if stats.crowded_out > 0 {
        say(format_args!(
            "{} times of these because slow clients held as much as they may together (--max-backlog-total)",
            stats.crowded_out
        ));
    }
    if stats.handovers_dropped > 0 {
        say(format_args!(
            "broadcasts not handed over, the others being too far behind: {}",
            stats.handovers_dropped
        ));
    }
    for (kind, count) in &stats.errors {
        say(format_args!("{kind}: {count}"));
    }
    for (fault, count) in &stats.faults {
        say(format_args!("fault {fault}: {count}"));
    }
}

/// Prints a line; a reader that is gone does not end the server.
fn say(line: Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    #[test]
    fn a_host_asks_for_a_port() {
        let addrs = |flags: &str| {
            let words = ["serve"].into_iter().chain(flags.split_whitespace());
            let matches = Serve::augment_args(Command::new("serve")).get_matches_from(words);
            let addrs = Serve::from_arg_matches(&matches).unwrap().listen_addrs();
            addrs.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ")
        };
        assert_eq!(addrs(""), "127.0.0.1:9000");
        assert_eq!(addrs("-S /run/x"), "unix:/run/x");
        assert_eq!(addrs("-S /run/x --host 0.0.0.0"), "0.0.0.0:9000 unix:/run/x");
        assert_eq!(addrs("-S /run/x --port 80"), "127.0.0.1:80 unix:/run/x");
        assert_eq!(addrs("--listen [::1]:80 -S /run/x"), "[::1]:80 unix:/run/x");
    }
}
