//! The flags that every run takes, whatever its load.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, FromArgMatches, ValueEnum};
use crew::http::Source;
use fleet::{AgentSelection, WORKERS_MAX};
use report::Words;
use results::units;

use crate::exit::Failure;
use crate::flags::access::AccessArgs;
use crate::flags::compression::Compression;
use crate::flags::dialect_args::{self, DialectArgs};
use crate::flags::fleet_args::FleetArgs;
use crate::flags::payload::{self, Sizes};
use crate::flags::scrape;
use crate::people::PeopleArgs;
use crate::secrets::given;
use crate::stderr;
use crate::terminal;

/// The most processes of a run.
pub(crate) const PROCESSES_MAX: u16 = 4_096;
/// Most streams of one connection: as many as requests that may be under way on one of HTTP/1.1.
const STREAMS_MAX: i64 = 1024;

/// The target, the dialect, the messages and the output. The names that websocket-bench, autocannon and wrk made common
/// keep their meaning.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The server, e.g. ws://127.0.0.1:9000/ws [default: throng's own]
    #[arg(value_parser = given::websocket_url, help_heading = None)]
    pub(crate) url: Option<String>,
    /// Further servers that share the URL's broadcasts; clients are spread over all of them
    #[arg(
        long,
        value_name = "HOST:PORT,…",
        value_delimiter = ',',
        requires = "url",
        conflicts_with = "socket",
        help_heading = "Connections"
    )]
    pub(crate) also: Vec<String>,

    #[arg(long = "protocol", visible_aliases = ["dialect", "server-type"], value_name = "NAME", value_parser = dialect_args::dialect_name, help = dialect_args::dialect_help(), help_heading = "Messages")]
    pub(crate) dialect: Option<String>,
    /// Your own application's messages, over the protocol that FILE.toml or --protocol names (throng docs app)
    #[arg(long, value_name = "FILE.toml", help_heading = "Messages")]
    pub(crate) app: Option<PathBuf>,
    /// Bytes of padding in each message (raw: of the message); 100..4KiB: between
    /// [default: 0; raw: 33]
    #[arg(long, visible_alias = "payload", value_name = "SIZE", value_parser = payload::sizes, help_heading = "Messages")]
    pub(crate) payload_padding: Option<Sizes>,
    /// A CSV file; each message carries a row as JSON (raw, json)
    #[arg(
        long = "payload-rows",
        value_name = "FILE",
        conflicts_with = "payload_padding",
        help_heading = "Messages"
    )]
    pub(crate) data: Option<PathBuf>,
    /// Send raw messages as text, not binary
    #[arg(long, help_heading = "Messages")]
    pub(crate) text: bool,
    #[command(flatten, next_help_heading = "Messages")]
    pub(crate) compression: Compression,
    /// Largest message from the server [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, help_heading = "Messages")]
    pub(crate) max_message: Option<u64>,

    #[command(flatten)]
    pub(crate) dialect_args: DialectArgs,
    #[command(flatten)]
    pub(crate) people_args: PeopleArgs,

    /// New connections per second [default: at once]
    #[arg(long, value_name = "RATE", value_parser = units::rate_per_s, help_heading = "Connections")]
    pub(crate) connect_rate: Option<f64>,
    /// Time for a client to connect, and for a connection of --publish-url [default: 2s; 30s with a login]
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Connections")]
    pub(crate) connect_timeout: Option<u64>,
    /// Wait this long for a server that starts, e.g. 30s
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, requires = "url", conflicts_with = "fleet", help_heading = "Connections")]
    pub(crate) wait_for: Option<u64>,
    /// Begin without letting one client try the server
    #[arg(long, help_heading = "Connections")]
    pub(crate) no_preflight: bool,
    /// Handshakes under way at once
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Connections")]
    pub(crate) connect_parallel: u32,
    /// Wait this long for messages under way at the end of a step [default: at most 30s, until nothing has
    /// come for 2s and for three times the longest answer]
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Connections")]
    pub(crate) drain_timeout: Option<u64>,
    /// Source addresses; each has about 28,000 connections
    #[arg(short, long, value_name = "IP", value_delimiter = ',', help_heading = "Connections")]
    pub(crate) local_addr: Vec<IpAddr>,
    /// Connect to this unix socket; the URL gives host and path
    #[arg(
        short = 'S',
        long = "socket",
        visible_alias = "socketPath",
        value_name = "PATH",
        help_heading = "Connections"
    )]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// A WebSocket subprotocol to offer
    #[arg(long = "subprotocol", value_name = "NAME", help_heading = "Connections")]
    pub(crate) subprotocols: Vec<String>,
    /// WebSockets (RFC 8441) and event streams over HTTP/2, by prior knowledge where there is no TLS
    #[arg(long = "http2", help_heading = "Connections")]
    pub(crate) over_http2: bool,
    /// Clients on each connection of HTTP/2, as its streams, in each worker thread
    #[arg(long, value_name = "N", default_value_t = 1, requires = "over_http2", value_parser = clap::value_parser!(u32).range(1..=STREAMS_MAX), help_heading = "Connections")]
    pub(crate) streams: u32,
    /// Reconnect with a full TLS handshake
    #[arg(long, help_heading = "Connections")]
    pub(crate) no_tls_resumption: bool,

    /// Worker threads in each process [default: its share of --pin, or of the CPUs, half of them beside a
    /// local server]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Generator")]
    pub(crate) threads: Option<u16>,
    /// Processes [default: as the limit on open files needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=PROCESSES_MAX.into()), help_heading = "Generator")]
    pub(crate) processes: Option<u16>,
    /// Pin worker threads to these CPUs, e.g. 1-3
    #[arg(long, value_name = "CPUS", help_heading = "Generator")]
    pub(crate) pin: Option<String>,
    /// The server's process, if its port does not tell
    #[arg(long, value_name = "PID", help_heading = "Generator")]
    pub(crate) server_pid: Option<u32>,
    /// Add the target's own metrics (Prometheus text or JSON) each second
    #[arg(long, value_name = "URL", value_parser = scrape::source, help_heading = "Generator")]
    pub(crate) scrape: Option<Source>,
    /// Only metrics whose names start with one of these [default: all except histogram buckets]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        requires = "scrape",
        help_heading = "Generator"
    )]
    pub(crate) scrape_only: Vec<String>,
    /// Pause after the run, for scripts with several servers
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Generator")]
    pub(crate) cooldown: Option<u64>,
    /// Make random choices repeatable
    #[arg(long, value_name = "N", help_heading = "Generator")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) fleet: FleetArgs,

    /// Fail with exit code 3 unless this holds, e.g. 'p95<250ms', 'rate>=500/s'; throng always checks that
    /// nothing is lost, wrong or refused, and that the rate is kept
    #[arg(long = "limit", value_name = "LIMIT", help_heading = "Output")]
    pub(crate) limits: Vec<String>,
    /// Allow this share of the answers to be missing or wrong, and of the clients to be lost, e.g. 1% [default: none; a
    /// --limit such as 'missing<1%' replaces the one on its metric]
    #[arg(long = "allow-loss", value_name = "SHARE", value_parser = units::percent, help_heading = "Output")]
    pub(crate) allowed_percent: Option<f64>,
    /// Fail with exit code 4 if the generator, or a machine without idle CPU, may have limited the result
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// In a GitHub Actions job: add a summary, and each broken limit as an error
    #[arg(long, help_heading = "Output")]
    pub(crate) github: bool,
    /// Write the results file into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Continue this command's unfinished run in --out after its last complete step; if there is none, start one
    #[arg(long, requires = "out", conflicts_with = "events", help_heading = "Output")]
    pub(crate) resume: bool,
    /// Write every event into this Parquet file (throng docs events; throng events prints it)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) events: Option<PathBuf>,
    /// Write a line of JSON for each second and each step into this file; - means standard output, instead of --format
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) stream: Option<PathBuf>,
    /// Serve the metrics for Prometheus at http://ADDRESS/metrics during the run
    #[arg(long, value_name = "ADDRESS", help_heading = "Output")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Push each second's metrics to this OpenTelemetry collector (OTLP/HTTP, JSON), e.g. http://127.0.0.1:4318
    #[arg(long, value_name = "URL", value_parser = given::url, help_heading = "Output")]
    pub(crate) otlp: Option<String>,
    /// Keep the run in this store [default: $XDG_DATA_HOME/throng/runs.db]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) store: Option<PathBuf>,
    /// A name for the run: throng runs trend NAME
    #[arg(long, value_name = "NAME", value_parser = one_line, help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// A remark to keep with the run
    #[arg(long, value_name = "TEXT", value_parser = one_line, help_heading = "Output")]
    pub(crate) note: Option<String>,
    /// Do not keep the run
    #[arg(long, conflicts_with = "store", help_heading = "Output")]
    pub(crate) no_store: bool,
    /// Write no HTML report [default: it goes into --out, or into $XDG_DATA_HOME/throng/reports if the run is kept]
    #[arg(long, help_heading = "Output")]
    pub(crate) no_report: bool,
    /// Show the run on the whole terminal while it is under way
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub(crate) tui: bool,
    /// Print only the result; write no HTML report
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print every line of every step
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// Words on one line, and at least one: a name, a tag.
pub(crate) fn one_line(text: &str) -> Result<String, &'static str> {
    let is_one = !text.trim().is_empty() && !text.contains(char::is_control);
    is_one.then(|| text.to_owned()).ok_or("expected one or a few words on one line")
}

impl RunArgs {
    /// The agents of a fleet that are to run this; `None`: it runs here.
    pub(crate) fn gathering(&self, clients: u64) -> Result<Option<AgentSelection>, Failure> {
        let note = (!self.quiet && !self.tui).then_some(stderr::note as fn(&str));
        let gathering = self.fleet.gathering(self.threads, Some(clients), note)?;
        let Some(gathering) = gathering else { return Ok(None) };
        let own = "name a server that the agents can reach; throng's own server would be on this machine";
        let are_too_many = self.threads.is_some_and(|threads| threads > WORKERS_MAX);
        let wrong = [
            (self.url.is_none(), "URL", own),
            (self.pin.is_some(), "--pin", "pin a fleet at its agents: throng agent --pin"),
            (self.processes.is_some(), "--processes", "agents start as many as they need"),
            (are_too_many, "--threads", "an agent has at most 1,024; more agents have more"),
        ];
        match wrong.into_iter().find(|(wrong, ..)| *wrong) {
            Some((_, flag, problem)) => Err(Failure::usage(flag, problem)),
            None => Ok(Some(gathering)),
        }
    }

    /// All flags at their defaults.
    pub(crate) fn of_url(url: &str) -> Self {
        let command = Self::augment_args(clap::Command::new("throng"));
        let matches = command.get_matches_from(["throng", url]);
        Self::from_arg_matches(&matches).expect("the defaults are valid")
    }
}

/// Formats of a run on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people, each step as it ends
    Text,
    /// The same, each step beginning with websocket-bench's line [default with --limit-percentile and --sample-size]
    WebsocketBench,
    /// The same, an echo run ending with wsdemo's table
    Wsdemo,
    /// The results file
    Json,
    /// One row per step
    Csv,
    /// A Markdown table
    Md,
    /// JUnit XML: a test suite per step, a test case per --limit
    Junit,
}

impl Format {
    /// The wording it asks for, if it does; websocket-bench's line has this percentile.
    pub(crate) fn words(self, percentile: f64) -> Option<Words> {
        match self {
            Format::WebsocketBench => Some(Words::WebsocketBench(percentile)),
            Format::Wsdemo => Some(Words::Wsdemo),
            Format::Text | Format::Json | Format::Csv | Format::Md | Format::Junit => None,
        }
    }

    /// Returns whether steps are printed as they end.
    pub(crate) fn is_text(self) -> bool {
        report::Format::from(self) == report::Format::Text
    }
}

impl From<Format> for report::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Text | Format::WebsocketBench | Format::Wsdemo => report::Format::Text,
            Format::Json => report::Format::Json,
            Format::Csv => report::Format::Csv,
            Format::Md => report::Format::Markdown,
            Format::Junit => report::Format::Junit,
        }
    }
}

/// Formats of a table on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Columns for people
    Text,
    /// An array of objects
    Json,
    /// Comma-separated values
    Csv,
    /// A Markdown table
    Md,
}

impl TableFormat {
    /// A table in letters that the terminal has, if it is for people.
    pub(crate) fn in_letters(self, text: String) -> String {
        if self == TableFormat::Text { terminal::in_letters(text) } else { text }
    }
}

impl From<TableFormat> for report::TableFormat {
    fn from(format: TableFormat) -> Self {
        match format {
            TableFormat::Text => report::TableFormat::Text,
            TableFormat::Json => report::TableFormat::Json,
            TableFormat::Csv => report::TableFormat::Csv,
            TableFormat::Md => report::TableFormat::Markdown,
        }
    }
}
