//! `throng http`: requests per second, and how long they take.

use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use crew::{Course, Warmup};
use load::{Load, LoadRule, Plan, Until, Workload};
use report::Words;
use results::{Scenario, units};
use wire::{DialectId, HttpOptions};

use crate::args::RunArgs;
use crate::dialect_args;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::plan;
use crate::processes;
use crate::rates::{self, Rates};
use crate::request::{self, Request};
use crate::run;
use crate::secrets::{self, given};
use crate::target::{self, Target};
use crate::verbs::steps;

/// Most streams of one connection: as many requests as may be under way on one of HTTP/1.1.
const STREAMS_MAX: i64 = 1024;

/// autocannon's.
const CONNECTIONS: u64 = 10;
const DURATION_NS: u64 = 10_000_000_000;
const PERCENTILE: f64 = 99.0;

/// Requests per second and latency of an HTTP server
///
/// Closed loop (as in wrk and autocannon): each connection sends its next request as soon as it has an answer. Open loop,
/// with --rate (as in wrk2): requests are due on a schedule, and latency counts from when a request was due, even if it had
/// to wait for a connection. The flags are those of autocannon.
#[derive(Args)]
#[command(mut_args(for_http))]
pub(crate) struct Http {
    /// Connections
    #[arg(short, long, visible_alias = "clients", value_name = "N", default_value_t = CONNECTIONS, value_parser = units::count, help_heading = "Load")]
    connections: u64,
    /// How long to send requests [default: 10s]
    #[arg(short, long, short_alias = 'z', value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    duration: Option<u64>,
    /// Stop after this many requests
    #[arg(short, long, short_alias = 'n', value_name = "N", value_parser = units::count, conflicts_with_all = ["duration", "rate"], help_heading = "Load")]
    amount: Option<u64>,
    /// Requests under way on each connection
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "over_http2",
        help_heading = "Load"
    )]
    pipelining: u32,
    /// Requests under way on each connection of HTTP/2, each on a stream of its own; a server that allows fewer gets fewer
    #[arg(long, value_name = "N", default_value_t = 1, requires = "over_http2", value_parser = clap::value_parser!(u32).range(1..=STREAMS_MAX), help_heading = "Load")]
    streams: u32,
    /// Each connection ends after this many answers, and another takes its place at once
    #[arg(
        long,
        visible_alias = "messages-per-connection",
        value_name = "N",
        conflicts_with = "no_keep_alive",
        help_heading = "Load"
    )]
    requests_per_connection: Option<NonZeroU32>,
    /// Requests per second over all connections, whatever the server does (open loop); 100..5k/60s is a ramp
    #[arg(short = 'R', long, visible_alias = "overallRate", value_name = "RATE", value_parser = rates::rates, help_heading = "Load")]
    rate: Option<Rates>,
    /// Run this long before measuring
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    warmup: Option<u64>,
    /// The method
    #[arg(short, long, value_name = "NAME", default_value = "GET", help_heading = "Requests")]
    method: String,
    /// The body
    #[arg(short, long, value_name = "TEXT", help_heading = "Requests")]
    body: Option<String>,
    /// A file with the body
    #[arg(short, long, value_name = "FILE", conflicts_with = "body", help_heading = "Requests")]
    input: Option<PathBuf>,
    /// Use a new connection for each request
    #[arg(long, conflicts_with = "over_http2", help_heading = "Requests")]
    no_keep_alive: bool,
    /// Good status codes, e.g. 200,204 or 2xx or 200-399; any other is an error. If the trial request gets a bad 3xx, 401,
    /// 403, 404, 405 or 407, there is no run (unless --no-preflight leaves it out)
    #[arg(long, value_name = "CODES", default_value = "2xx", value_delimiter = ',', value_parser = statuses, help_heading = "Requests")]
    expect_status: Vec<(u16, u16)>,
    /// The expected body; any other is an error
    #[arg(long, visible_alias = "expectBody", value_name = "TEXT", help_heading = "Requests")]
    expect_body: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

/// Flags of every run that mean nothing here. They are refused with a word on why, where they are given.
const FOREIGN: [&str; 9] = [
    "dialect",
    "app",
    "payload_padding",
    "data",
    "text",
    "compress",
    "no_context_takeover",
    "max_message",
    "subprotocols",
];

/// Adapts the help of common flags to requests.
fn for_http(arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str();
    let is_of_dialects = dialect_args::dialects_of(id).is_some();
    match id {
        "url" => arg
            .value_parser(given::http_url)
            .help("The server, e.g. http://127.0.0.1:8080/ [default: throng's own, started for this run]"),
        "over_http2" => arg
            .help("Use HTTP/2: agreed on with TLS (ALPN) for https://, by prior knowledge for http://")
            .help_heading("Load"),
        "token" => arg.help_heading("Requests"),
        "token_in" => {
            arg.help_heading("Requests").help("Where it goes: query:NAME, header:NAME or cookie:NAME")
        }
        // Hidden, but still parsed: who gives one is told why it means nothing here.
        _ if is_of_dialects || FOREIGN.contains(&id) => arg.hide(true),
        _ => arg,
    }
}

impl Http {
    /// Runs it.
    pub(crate) fn run(mut self) -> Result<Exit, Failure> {
        self.refuse_what_http_lacks()?;
        let course = self.course()?;
        let host = self.take_headers_of_our_own();
        let target = self.target()?;
        let args = &self.run;
        let server_pid = request::server_pid(args, &target)?;
        run::run(Request {
            args,
            scenario: Scenario::Http,
            plan: self.plan(&target, host)?,
            shape: processes::shape(args, self.connections, server_pid.is_some())?,
            course,
            stop: Vec::new(),
            percentile: PERCENTILE,
            words: Words::Own,
            server_pid,
            target,
        })
    }

    fn plan(&self, target: &Target, host: Option<String>) -> Result<Plan, Failure> {
        let dialect = self.dialect().name();
        let mut plan = plan::plan(&self.run, target, Workload::Echo, dialect, Some(self.connections))?;
        plan.messages_per_connection = self.requests_per_connection;
        // A virtual host may have another name than the address that is connected to.
        plan.client_spec.host = host.unwrap_or(plan.client_spec.host);
        let http = HttpOptions {
            method: self.method.clone(),
            body: self.body()?,
            keep_alive: !self.no_keep_alive,
            pipelining: self.per_connection(),
            is_secure: plan.tls.is_some(),
            expect_status: self.expect_status.clone(),
            expect_body: self.expect_body.as_ref().map(|body| body.clone().into_bytes()),
        };
        plan.client_spec.of_dialect.settings = http.into();
        plan::check(&plan.client_spec)?;
        Ok(plan)
    }

    /// The dialect of its clients.
    fn dialect(&self) -> DialectId {
        if self.run.over_http2 { DialectId::Http2 } else { DialectId::Http }
    }

    /// Requests under way on each connection.
    fn per_connection(&self) -> u32 {
        if self.run.over_http2 { self.streams } else { self.pipelining }
    }

    fn body(&self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(path) = &self.input else {
            return Ok(self.body.as_ref().map(|text| text.clone().into_bytes()));
        };
        let unreadable =
            |error| Failure::usage("--input", format!("could not read {}: {error}", path.display()));
        fs::read(path).map(Some).map_err(unreadable)
    }

    /// The one step that it takes.
    fn course(&self) -> Result<Course, Failure> {
        let connections = plan::clients("--connections", self.connections)?;
        let rule = self.rule(connections)?;
        Ok(Course::single(connections, rule).with_warmup(self.warmup(connections, rule)))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        Ok(Estimate::new(self.course()?, Workload::Echo).connecting(self.run.connect_rate))
    }

    fn rule(&self, connections: u32) -> Result<LoadRule, Failure> {
        if let Some(rates) = self.rate {
            return steps::rate(rates, self.duration, DURATION_NS);
        }
        let duration_ns = self.duration.unwrap_or(DURATION_NS);
        steps::positive("--duration", duration_ns)?;
        let until = match self.amount {
            Some(0) => return Err(Failure::usage("--amount", "at least 1")),
            Some(requests) => Until::Samples(requests),
            None => Until::Elapsed { duration_ns },
        };
        let per_client = self.per_connection();
        // As in autocannon and wrk, all connections are busy all the time: the loop has as many slots as
        // they have together.
        let concurrency = connections.saturating_mul(per_client);
        Ok(LoadRule::Same(Load::Closed { concurrency, per_client, until }))
    }

    /// The same load, before it counts.
    fn warmup(&self, clients: u32, rule: LoadRule) -> Option<Warmup> {
        let duration_ns = self.warmup.filter(|&ns| ns > 0)?;
        let load = match rule.for_clients(clients) {
            // Only for as long: a ramp begins again with the measured step.
            Load::Open { schedule, .. } => Load::Open { schedule, duration_ns },
            Load::Closed { concurrency, per_client, .. } => {
                Load::Closed { concurrency, per_client, until: Until::Elapsed { duration_ns } }
            }
            other => other,
        };
        Some(Warmup { clients, rule: LoadRule::Same(load) })
    }

    fn target(&self) -> Result<Target, Failure> {
        if let Some(url) = &self.run.url
            && !["http://", "https://"].iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme))
        {
            let problem = format!("{:?}: expected something like http://127.0.0.1:8080/", secrets::url(url));
            return Err(Failure::usage("URL", problem));
        }
        let target = target::of(&self.run, self.connections)?;
        // At /ws, throng's own server would ask for an upgrade.
        Ok(if target.built_in_pid().is_some() { target.at_root() } else { target })
    }

    /// `Host` and `Connection` say what others flags and the URL say: the former is given back.
    fn take_headers_of_our_own(&mut self) -> Option<String> {
        let mut host = None;
        self.run.access.headers.retain(|(name, value)| match name.to_ascii_lowercase().as_str() {
            "host" => {
                host = Some(value.reveal().to_owned());
                false
            }
            // HTTP/2 has no such header (RFC 9113, section 8.2.2): there it is left in, to be refused.
            "connection" if !self.run.over_http2 => {
                self.no_keep_alive |= value.reveal().eq_ignore_ascii_case("close");
                false
            }
            _ => true,
        });
        host
    }

    fn refuse_what_http_lacks(&self) -> Result<(), Failure> {
        let RunArgs { dialect, app, payload_padding, data, text, compression, subprotocols, .. } = &self.run;
        let foreign = [
            (dialect.as_ref().is_some_and(|name| name != self.dialect().name()), "--protocol"),
            (app.is_some(), "--app"),
            (payload_padding.is_some(), "--payload-padding"),
            (data.is_some(), "--payload-rows"),
            (*text, "--text"),
            (compression.is_asked(), "--compress"),
            (!subprotocols.is_empty(), "--subprotocol"),
        ];
        let of_dialects = self.run.dialect_args.given().map(|flag| format!("--{flag}"));
        let foreign = foreign.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned());
        match foreign.chain(of_dialects).next() {
            Some(flag) => Err(Failure::usage(&flag, "is for WebSockets; see throng http --help")),
            None => Ok(()),
        }
    }
}

/// `404`, `2xx` or `200-399`.
fn statuses(text: &str) -> Result<(u16, u16), String> {
    let expected = || "expected a status such as 404, 2xx or 200-399".to_owned();
    // A 1xx is no final answer (RFC 9110, section 15.2).
    let one = |text: &str| text.parse::<u16>().ok().filter(|code| (200..=599).contains(code));
    let range = if let Some(hundreds) = text.strip_suffix("xx") {
        one(&format!("{hundreds}00")).map(|first| (first, first + 99))
    } else if let Some((first, last)) = text.split_once('-') {
        one(first).zip(one(last)).filter(|(first, last)| first <= last)
    } else {
        one(text).map(|code| (code, code))
    };
    range.ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_statuses() {
        assert_eq!(statuses("404"), Ok((404, 404)));
        assert_eq!(statuses("2xx"), Ok((200, 299)));
        assert_eq!(statuses("200-399"), Ok((200, 399)));
        for bad in ["", "xx", "1xx", "99", "600", "300-200", "20", "2xx-3xx"] {
            assert!(statuses(bad).is_err(), "{bad}");
        }
    }
}
