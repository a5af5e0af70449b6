//! Requests and what a run of them has in common, whether their answers come whole or in pieces.

use std::path::PathBuf;

use clap::Args;
use crew::{Course, Warmup};
use load::{Load, LoadRule, Plan, Until, Workload};
use report::Words;
use results::{Scenario, units};
use wire::{DialectId, HttpOptions};

use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::dialect_args;
use crate::flags::rates::{self, Rates};
use crate::inputs;
use crate::people;
use crate::plan::{self, PlanInputs};
use crate::processes;
use crate::request::{self, Request};
use crate::run;
use crate::secrets::{self, given};
use crate::target::{self, Target};
use crate::verbs::steps::{self, StepArgs};

/// autocannon's.
pub(crate) const CONNECTIONS: u64 = 10;
const DURATION_NS: u64 = 10_000_000_000;
const PERCENTILE: f64 = 99.0;

/// The load, and the requests that it is made of.
#[derive(Args)]
pub(crate) struct RequestArgs {
    /// Connections [default: 10]
    #[arg(short, long, visible_alias = "clients", value_name = "N", value_parser = units::count, help_heading = "Load")]
    connections: Option<u64>,
    /// How long to send requests [default: 10s]
    #[arg(short, long, short_alias = 'z', value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    duration: Option<u64>,
    /// Stop after this many requests
    #[arg(short, long, short_alias = 'n', value_name = "N", value_parser = units::count, conflicts_with_all = ["duration", "rate"], help_heading = "Load")]
    amount: Option<u64>,
    /// Requests per second over all connections, whatever the server does (open model); 100..5k/60s is a ramp
    #[arg(short = 'R', long, visible_alias = "overallRate", value_name = "RATE", value_parser = rates::rates, help_heading = "Load")]
    rate: Option<Rates>,
    /// Run this long before measuring
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    warmup: Option<u64>,
    /// The method [default: GET; of throng stream with a body, POST]
    #[arg(short, long, value_name = "NAME", help_heading = "Requests")]
    pub(crate) method: Option<String>,
    /// The body; with --users, {person.COLUMN} in it is each client's own
    #[arg(short, long, value_name = "TEXT", help_heading = "Requests")]
    pub(crate) body: Option<String>,
    /// A file with the body
    #[arg(short, long, value_name = "FILE", conflicts_with = "body", help_heading = "Requests")]
    input: Option<PathBuf>,
    /// Use a new connection for each request
    #[arg(long, conflicts_with = "over_http2", help_heading = "Requests")]
    no_keep_alive: bool,
    /// Good status codes, e.g. 200,204 or 2xx or 200-399; any other is an error. If the trial request gets a
    /// bad 3xx, 401, 403, 404, 405 or 407, there is no run (unless --no-preflight leaves it out)
    #[arg(long, value_name = "CODES", default_value = "2xx", value_delimiter = ',', value_parser = statuses, help_heading = "Requests")]
    expect_status: Vec<(u16, u16)>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Flags of every run that mean nothing here. Where they are given, they are refused with the reason.
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
pub(crate) fn for_requests(arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str();
    let is_of_dialects = dialect_args::dialects_of(id).is_some();
    match id {
        "url" => arg
            .value_parser(given::http_url)
            .help("The server, e.g. http://127.0.0.1:8080/ [default: throng's own]"),
        "over_http2" => arg
            .help("Use HTTP/2: agreed on with TLS (ALPN) for https://, by prior knowledge for http://")
            .help_heading("Load"),
        "streams" => arg
            .help(
                "Requests under way on each connection of HTTP/2, each on a stream of its own; a server that \
                 allows fewer gets fewer",
            )
            .help_heading("Load"),
        "token" => arg.help_heading("Requests"),
        "token_in" => arg
            .help_heading("Requests")
            .help("Where it goes: query:NAME, header:NAME or cookie:NAME [default: Authorization: Bearer]"),
        // Hidden, but still parsed: a user who gives one is told why it means nothing here.
        _ if is_of_dialects || FOREIGN.contains(&id) => arg.hide(true),
        _ => arg,
    }
}

impl RequestArgs {
    /// Takes these flags, and leaves all others at their defaults.
    pub(crate) fn of(run: RunArgs, steps: StepArgs) -> Self {
        Self {
            connections: steps.clients,
            duration: steps.duration,
            amount: steps.sample_size,
            rate: steps.rate,
            warmup: steps.warmup,
            method: None,
            body: None,
            input: None,
            no_keep_alive: false,
            expect_status: HttpOptions::default().expect_status,
            run,
        }
    }

    fn connections(&self) -> u64 {
        self.connections.unwrap_or(CONNECTIONS)
    }

    /// Loads the server of a target with requests. `options` says of them what is no flag of every verb.
    pub(crate) fn load(
        mut self,
        scenario: Scenario,
        own_path: &str,
        options: HttpOptions,
        adjust: impl FnOnce(&mut Plan),
    ) -> Result<Exit, Failure> {
        let is_over_websocket = options.stream.is_some() && self.is_for_websockets();
        let dialect = self.dialect(is_over_websocket);
        match is_over_websocket {
            true => self.refuse_what_websockets_lack()?,
            false => self.refuse_what_http_lacks(scenario, dialect)?,
        }
        let course = self.course(options.pipelining)?;
        let host = self.take_headers_of_our_own();
        let target = self.target(own_path, is_over_websocket)?;
        let mut plan = self.plan(&target, dialect, host, options)?;
        adjust(&mut plan);
        let args = &self.run;
        let server_pid = request::server_pid(args, &target)?;
        run::run(Request {
            args,
            scenario,
            plan,
            shape: processes::shape(args, self.connections(), target.is_here(server_pid.as_ref()))?,
            course,
            stop: Vec::new(),
            percentile: PERCENTILE,
            words: Words::Own,
            server_pid,
            target,
        })
    }

    fn plan(
        &self,
        target: &Target,
        dialect: DialectId,
        host: Option<String>,
        options: HttpOptions,
    ) -> Result<Plan, Failure> {
        let mut plan =
            plan::plan(&PlanInputs::of_echoes(&self.run, target, dialect.name(), Some(self.connections())))?;
        // A virtual host may have another name than the address that is connected to.
        plan.client_spec.host = host.unwrap_or(plan.client_spec.host);
        let body = match options.body {
            None => self.body()?,
            given => given,
        };
        let names = &plan.client_spec.people.names;
        let text = body.as_ref().and_then(|body| std::str::from_utf8(body).ok());
        let http = HttpOptions {
            is_template: text.is_some_and(|text| people::names_one(text, names)),
            body,
            keep_alive: !self.no_keep_alive,
            expect_status: self.expect_status.clone(),
            ..options
        };
        plan.client_spec.of_dialect.settings = http.into();
        plan::check(&plan.client_spec)?;
        Ok(plan)
    }

    /// The dialect of its clients: answers that come in pieces may do so over a WebSocket.
    fn dialect(&self, is_over_websocket: bool) -> DialectId {
        match (is_over_websocket, self.run.over_http2) {
            (true, _) => DialectId::WsStream,
            (false, true) => DialectId::Http2,
            (false, false) => DialectId::Http,
        }
    }

    /// Returns whether the URL is one of a WebSocket.
    pub(crate) fn is_for_websockets(&self) -> bool {
        self.has_scheme(&["ws://", "wss://"])
    }

    fn has_scheme(&self, schemes: &[&str]) -> bool {
        let url = self.run.url.as_ref().map(|url| url.to_ascii_lowercase());
        url.is_some_and(|url| schemes.iter().any(|scheme| url.starts_with(scheme)))
    }

    /// The body of the requests.
    pub(crate) fn body(&self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(path) = &self.input else {
            return Ok(self.body.as_ref().map(|text| text.clone().into_bytes()));
        };
        let unreadable =
            |error| Failure::usage("--input", format!("could not read {}: {error}", path.display()));
        inputs::read_any(path, HttpOptions::BODY_BYTES_MAX as u64).map(Some).map_err(unreadable)
    }

    /// The course of one step, with `per_client` requests under way on each connection.
    fn course(&self, per_client: u32) -> Result<Course, Failure> {
        let connections = plan::clients("--connections", self.connections())?;
        let rule = self.rule(connections, per_client)?;
        Ok(Course::single(connections, rule).with_warmup(self.warmup(connections, rule)))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self, per_client: u32) -> Result<Estimate, Failure> {
        let course = self.course(per_client)?;
        Ok(Estimate::new(course, Workload::Echo).connecting(self.run.connect_rate))
    }

    fn rule(&self, connections: u32, per_client: u32) -> Result<LoadRule, Failure> {
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
        // As in autocannon and wrk, all connections are busy all the time: the loop has as many slots as
        // they have together.
        let concurrency = connections.saturating_mul(per_client);
        Ok(LoadRule::Same(Load::Closed { concurrency, per_client, until }))
    }

    /// The warm-up: the load of the step, before it counts.
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

    fn target(&self, own_path: &str, is_over_websocket: bool) -> Result<Target, Failure> {
        if let Some(url) = &self.run.url
            && !is_over_websocket
            && !self.has_scheme(&["http://", "https://"])
        {
            let url = secrets::url(url);
            let problem = match self.is_for_websockets() {
                true => format!("{url:?}: a WebSocket; load it with throng echo {url}"),
                false => format!("{url:?}: expected something like http://127.0.0.1:8080/"),
            };
            return Err(Failure::usage("URL", problem));
        }
        let target = target::of(&self.run, self.connections())?;
        // At /ws, throng's own server would ask for an upgrade.
        Ok(if target.built_in_pid().is_some() { target.at(own_path) } else { target })
    }

    /// `Host` and `Connection` say what others flags and the URL say: the former is given back.
    fn take_headers_of_our_own(&mut self) -> Option<String> {
        let (mut host, is_for_websockets) = (None, self.is_for_websockets());
        self.run.access.headers.retain(|(name, value)| match name.to_ascii_lowercase().as_str() {
            "host" => {
                host = Some(value.reveal().to_owned());
                false
            }
            // HTTP/2 has no such header (RFC 9113, section 8.2.2), and an upgrade one of its own: there it is left in,
            // to be refused.
            "connection" if !self.run.over_http2 && !is_for_websockets => {
                self.no_keep_alive |= value.reveal().eq_ignore_ascii_case("close");
                false
            }
            _ => true,
        });
        host
    }

    fn refuse_what_websockets_lack(&self) -> Result<(), Failure> {
        let RunArgs { dialect, payload_padding, data, text, over_http2, .. } = &self.run;
        let foreign = [
            (dialect.is_some(), "--protocol"),
            (payload_padding.is_some(), "--payload-padding"),
            (data.is_some(), "--payload-rows"),
            (*text, "--text"),
            (*over_http2, "--http2"),
            (self.method.is_some(), "--method"),
            (self.no_keep_alive, "--no-keep-alive"),
            (self.expect_status != HttpOptions::default().expect_status, "--expect-status"),
        ];
        self.refuse(&foreign, "is not for streams over a WebSocket: leave it out, or give an http:// URL")
    }

    fn refuse_what_http_lacks(&self, scenario: Scenario, spoken: DialectId) -> Result<(), Failure> {
        let RunArgs {
            dialect, app, payload_padding, data, text, compression, max_message, subprotocols, ..
        } = &self.run;
        let foreign = [
            (dialect.as_ref().is_some_and(|name| name != spoken.name()), "--protocol"),
            (app.is_some() && scenario == Scenario::Http, "--app"),
            (payload_padding.is_some(), "--payload-padding"),
            (data.is_some(), "--payload-rows"),
            (*text, "--text"),
            (compression.is_asked(), "--compress"),
            // Answers are counted as they come; the events of a stream are held until they are whole.
            (max_message.is_some() && scenario == Scenario::Http, "--max-message"),
            (!subprotocols.is_empty(), "--subprotocol"),
        ];
        self.refuse(&foreign, &format!("is for WebSockets; see throng {scenario} --help"))
    }

    /// Refuses the first of these flags that is given, and all flags of single protocols.
    fn refuse(&self, foreign: &[(bool, &str)], problem: &str) -> Result<(), Failure> {
        let of_dialects = self.run.dialect_args.given().map(|flag| format!("--{flag}"));
        let foreign = foreign.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned());
        match foreign.chain(of_dialects).next() {
            Some(flag) => Err(Failure::usage(&flag, problem)),
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
