//! Makes a plan from flags: defaults, checks, and what fits on this machine.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use load::{ClientSpec, Connecting, Draining, LoadRule, LoginServer, Plan, Rooms, Workload};
use net::clock;
use wire::app_file::OpenStep;
use wire::people::Division;
use wire::{BadOption, Carrier, DialectId};

use crate::app_file::{self, BroadcastArgs, Publish};
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::flags::flap::FlapArgs;
use crate::flags::payload;
use crate::flags::security::Security;
use crate::people;
use crate::publishing;
use crate::target::{self, Target};

/// A step has drained when nothing has arrived for this long at least, or after that long, where no time is
/// given.
const QUIET_NS: u64 = 2_000_000_000;
const DRAIN_TIMEOUT_NS: u64 = 30_000_000_000;
/// Clients for one source address on loopback: well below the 28,000 ports that the kernel gives out, some of
/// which may be waiting to be free again.
pub(crate) const CLIENTS_PER_ADDR: u64 = 10_000;
/// Source addresses on loopback when it is not known how many clients there will be.
const ADDRS_MAX: u64 = 100;

/// Inputs of a plan.
pub(crate) struct PlanInputs<'a> {
    /// The flags that all verbs with a load share.
    pub(crate) args: &'a RunArgs,
    /// The messages that flags describe.
    pub(crate) says: BroadcastArgs,
    /// The server.
    pub(crate) target: &'a Target,
    /// The workload.
    pub(crate) workload: Workload,
    /// The protocol's name, or the path of an app's file.
    pub(crate) dialect: &'a str,
    /// The most clients that any step will have, if that is known.
    pub(crate) clients_max: Option<u64>,
}

/// How clients lose their connections by these flags, and where they say nothing by the app's file.
pub(crate) fn flapping(args: &RunArgs, flap: &FlapArgs) -> Result<FlapArgs, Failure> {
    let Some(file) = app_of(args) else { return Ok(flap.clone()) };
    Ok(flap.or(app_file::read_flap(file)?))
}

/// The app's file, if these flags name one.
fn app_of(args: &RunArgs) -> Option<&Path> {
    let dialect = args.dialect.as_deref().filter(|dialect| app_file::is_file(dialect));
    args.app.as_deref().or(dialect.map(Path::new))
}

impl<'a> PlanInputs<'a> {
    /// The inputs for echoes of the benchmark, or of an app's file.
    pub(crate) fn of_echoes(
        args: &'a RunArgs,
        target: &'a Target,
        dialect: &'a str,
        clients_max: Option<u64>,
    ) -> Self {
        let (says, workload) = (BroadcastArgs::default(), Workload::Echo);
        Self { args, says, target, workload, dialect, clients_max }
    }
}

/// The plan for a workload.
pub(crate) fn plan(inputs: &PlanInputs<'_>) -> Result<Plan, Failure> {
    let &PlanInputs { args, ref says, target, workload, clients_max, .. } = inputs;
    // What needs no look at files or the network comes first.
    check_connecting(args)?;
    check_local_addrs(args)?;
    let division = args.people_args.rooms(clients_max)?;
    let (mut client_spec, described) = client_spec(inputs, &division)?;
    check_waits(args, &client_spec)?;
    let AppSettings { publish, rooms, to_others, tells_apart } = described;
    let is_divided = workload == Workload::Broadcast && division != Division::ONE;
    if is_divided && !tells_apart && !people::tells_apart(&client_spec) {
        if target.built_in_pid().is_none() || client_spec.of_dialect.app.is_some() {
            let problem = format!(
                "every client joins with the same text, so the server cannot tell rooms apart; {}",
                people::room_places(&client_spec)
            );
            return Err(Failure::usage(args.people_args.rooms_flag(), problem));
        }
        // Our own server can keep rooms apart by the URL alone, so that the user need not say how.
        client_spec = people::in_own_rooms(client_spec);
    }
    let local_addrs = match args.local_addr.as_slice() {
        // One address has too few ports for many connections to one server; on the loopback, all of 127/8 is
        // ours.
        [] if target.is_ipv4_loopback() => loopback_addrs(clients_max),
        given => given.to_vec(),
    };
    let security = Security::of(args)?;
    let tls = target.tls_name.as_deref().map(|name| security.to(name));
    let published = says.publish();
    if published.is_some() && workload == Workload::Echo {
        return Err(Failure::usage("--publish-url", "is for broadcasts: an echo is for its sender alone"));
    }
    // The flag before the file, and neither for echoes: an app's file serves all verbs.
    let publish = published.or(publish).filter(|_| workload == Workload::Broadcast);
    let publishing = publish
        .map(|publish| publishing::publishing(publish, target, &security, &client_spec))
        .transpose()?;
    let timeout_ns = connect_timeout_ns(args, &client_spec);
    Ok(Plan {
        endpoints: target.endpoints.clone(),
        login_servers: login_servers(&client_spec, &security)?,
        tls,
        client_spec,
        workload,
        speakers: None,
        slow: None,
        rooms: match workload {
            Workload::Broadcast => {
                let rooms = rooms.unwrap_or_else(|| Rooms::of(division));
                if to_others { rooms.to_others() } else { rooms }.into()
            }
            Workload::Echo => Arc::default(),
        },
        churn: None,
        messages_per_connection: None,
        flap: None,
        publishing: publishing.map(Box::new),
        connecting: Connecting {
            timeout_ns,
            rate_per_s: args.connect_rate,
            parallel: args.connect_parallel,
            local_addrs,
        },
        draining: match args.drain_timeout {
            Some(timeout_ns) => Draining { quiet_ns: None, timeout_ns },
            // A run whose answers are all here need not wait out the timeout; one that the user gave is
            // waited out.
            None => Draining { quiet_ns: Some(QUIET_NS), timeout_ns: DRAIN_TIMEOUT_NS },
        },
        records_events: args.events.is_some(),
        clients_max: clients_max.and_then(|clients| u32::try_from(clients).ok()),
        epoch_ns: clock::monotonic_ns(),
        unix_epoch_ns: clock::realtime_ns(),
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
    })
}

/// Resolves the servers at which clients log in, beside their own.
fn login_servers(client_spec: &ClientSpec, security: &Security) -> Result<Vec<LoginServer>, Failure> {
    let urls = client_spec.of_dialect.app.iter().flat_map(|app| &app.login_servers);
    let server = |url: &String| {
        let Target { endpoints, tls_name, .. } = target::resolve(url, None)?;
        Ok(LoginServer { endpoints, tls: tls_name.as_deref().map(|name| security.to(name)) })
    };
    urls.map(server).collect()
}

/// How long a client may take to become usable. Servers make the hash of a password slow on purpose, so that
/// clients that log in have more time.
fn connect_timeout_ns(args: &RunArgs, client_spec: &ClientSpec) -> u64 {
    // A SYN that was lost is sent again after 1 s (RFC 6298 §2), so that one loss is no failure.
    const USUAL_NS: u64 = 2_000_000_000;
    const WITH_LOGIN_NS: u64 = 30_000_000_000;
    let logs_in = client_spec.of_dialect.app.as_ref().is_some_and(|app| !app.login.is_empty());
    args.connect_timeout.unwrap_or(if logs_in { WITH_LOGIN_NS } else { USUAL_NS })
}

fn check_connecting(args: &RunArgs) -> Result<(), Failure> {
    if args.connect_timeout == Some(0) {
        return Err(Failure::usage("--connect-timeout", "must be longer than 0"));
    }
    if args.connect_rate.is_some_and(|per_s| !(per_s > 0.0 && per_s <= 1e9)) {
        return Err(Failure::usage("--connect-rate", "must be above 0 and at most a billion a second"));
    }
    Ok(())
}

/// Refuses local addresses that this machine does not have: a connect from one would fail with the same error
/// as one without a free port. A fleet's addresses are its machines'.
fn check_local_addrs(args: &RunArgs) -> Result<(), Failure> {
    let foreign = args.local_addr.iter().find(|&&address| !net::socket::has_address(address));
    let Some(address) = foreign.filter(|_| args.fleet.fleet.is_none()) else { return Ok(()) };
    let problem = "this machine does not have that address; `ip addr` lists those it has";
    Err(Failure::usage(&format!("--local-addr {address}"), problem))
}

/// Settings of an app's file beside its clients' messages.
#[derive(Default)]
struct AppSettings {
    publish: Option<Publish>,
    rooms: Option<Rooms>,
    to_others: bool,
    /// True if clients say something that differs between them.
    tells_apart: bool,
}

/// Reads the rooms of broadcasts, as the app's file says it, or these flags.
pub(crate) fn rooms(args: &RunArgs, clients_max: Option<u64>) -> Result<Rooms, Failure> {
    let division = args.people_args.rooms(clients_max)?;
    let written = match app_of(args) {
        Some(file) => {
            let people = people::of_flags(&args.people_args, division.clone())?;
            app_file::read(file, people, clients_max.into())?.rooms
        }
        None => None,
    };
    Ok(written.unwrap_or_else(|| Rooms::of(division)))
}

fn client_spec(inputs: &PlanInputs<'_>, division: &Division) -> Result<(ClientSpec, AppSettings), Failure> {
    let &PlanInputs { args, ref says, target, workload, dialect, clients_max } = inputs;
    let file = args.app.as_deref().or_else(|| app_file::is_file(dialect).then(|| Path::new(dialect)));
    let known = DialectId::from_name(dialect);
    let has_app = file.is_some() || says.is_given();
    let spoken = known.or(has_app.then_some(DialectId::Custom));
    let spoken = spoken.ok_or_else(|| Failure::usage("--protocol", no_dialect(dialect)))?;
    let mut client_spec = of_flags(args, target, spoken)?;
    check_text(args, known, dialect)?;
    let people = people::of_flags(&args.people_args, division.clone())?;
    if !has_app {
        args.dialect_args.check(client_spec.dialect)?;
        client_spec.people = people.into();
        return Ok((introduced(client_spec, false)?, AppSettings::default()));
    }
    // `--protocol` may name the app's file itself, and then asks for no protocol.
    let asked = args.dialect.as_deref().filter(|dialect| !app_file::is_file(dialect));
    let of_protocol = |name| {
        DialectId::of_protocol(name).ok_or_else(|| {
            let problem = format!("an app goes over {}", app_file::carriers());
            Failure::usage(&format!("--protocol {name}"), problem)
        })
    };
    let asked = asked.map(of_protocol).transpose()?;
    let described = match file {
        Some(file) => app_file::read(file, people, clients_max.into())?,
        None => {
            let protocol = asked.unwrap_or(DialectId::Custom);
            app_file::of_flags(says, protocol, workload, args.dialect_args.asks_reply(), people)?
        }
    };
    let protocol = asked.unwrap_or(described.protocol);
    if protocol != described.protocol {
        let (asked, written) = (protocol.facts().protocol, described.protocol.facts().protocol);
        let problem = format!(
            "the app's file is written for {written}: leave out --protocol, or change `protocol` there"
        );
        return Err(Failure::usage(&format!("--protocol {asked}"), problem));
    }
    // Requests go over either version of HTTP, as the flags say; whoever asks for neither has other messages to send.
    let protocol = match (protocol.facts().asks, spoken.facts().asks) {
        (true, true) => spoken,
        (true, false) => {
            let problem = "the app's file has [stream]: throng run FILE URL, or throng stream URL --app FILE";
            return Err(Failure::usage("--app", problem));
        }
        (false, _) => protocol,
    };
    let flags = args.dialect_args.clone().or(described.flags);
    flags.check(protocol)?;
    client_spec.dialect = protocol;
    client_spec.of_dialect = wire::DialectOptions { app: Some(Arc::new(described.app)), ..flags.options() };
    // The command line's subprotocols take the place of the file's, rather than be offered beside them.
    if client_spec.subprotocols.is_empty() {
        client_spec.subprotocols = described.subprotocols;
    }
    if let Some(path) = described.connect.path.as_deref() {
        client_spec.path = opened(path, &target.path)?.into();
    }
    client_spec.origin = client_spec.origin.or(described.connect.origin);
    // A header of the command line replaces the file's: the file is shared, and the flag is for this run.
    let is_given = |name: &str| args.access.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    client_spec.headers.extend(described.connect.headers.into_iter().filter(|(name, _)| !is_given(name)));
    client_spec.people = described.people.into();
    let spoken = AppSettings {
        publish: described.publish,
        rooms: described.rooms,
        to_others: described.to_others,
        tells_apart: described.tells_apart,
    };
    Ok((introduced(client_spec, described.says_token)?, spoken))
}

/// How clients speak by the flags alone.
fn of_flags(args: &RunArgs, target: &Target, spoken: DialectId) -> Result<ClientSpec, Failure> {
    let bytes = |flag, n: u64| u32::try_from(n).map_err(|_| Failure::usage(flag, "at most 4 GiB"));
    Ok(ClientSpec {
        dialect: spoken,
        carrier: carrier(args, target, spoken)?,
        is_secure: target.tls_name.is_some(),
        host: target.host.clone(),
        path: target.path.as_str().into(),
        origin: args.access.origin.clone(),
        subprotocols: args.subprotocols.clone(),
        headers: args.access.headers.clone(),
        userinfo: target.userinfo.clone(),
        deflate: args.compression.options(),
        payload_bytes: args.payload_padding.map(|sizes| sizes.min),
        payload_bytes_max: args.payload_padding.and_then(|sizes| sizes.max),
        rows: Arc::new(args.data.as_deref().map(payload::rows).transpose()?.unwrap_or_default()),
        text: args.text,
        message_bytes_max: bytes(
            "--max-message",
            args.max_message.unwrap_or(codec::Limits::default().message_bytes_max as u64),
        )?,
        of_dialect: args.dialect_args.options(),
        people: Arc::default(),
    })
}

/// The carrier of WebSockets. Of plain requests the dialect itself says it.
fn carrier(args: &RunArgs, target: &Target, spoken: DialectId) -> Result<Carrier, Failure> {
    if !args.over_http2 || spoken.facts().asks {
        return Ok(Carrier::Http1);
    }
    if target.built_in_pid().is_some() && !spoken.facts().only_receives {
        let why = "throng's own server has no WebSockets over HTTP/2: give the URL of one that has";
        return Err(Failure::usage("--http2", why));
    }
    Ok(Carrier::Http2)
}

/// The path that is opened: the URL's if it has one, and otherwise the app's file's. Refuses a URL's path
/// without placeholders where the file's has some: a URL copied from a socket would send all clients there
/// without a token.
fn opened<'a>(of_app: &'a str, of_url: &'a str) -> Result<&'a str, Failure> {
    if of_url == "/" {
        return Ok(of_app);
    }
    if of_app.contains('{') && !of_url.contains('{') {
        let problem = format!(
            "its path takes the place of the app's, which is different for each client: {of_app}; leave out the URL's, or write {{…}} there, too"
        );
        return Err(Failure::usage("URL", problem));
    }
    Ok(of_url)
}

/// Refuses `--text` for a protocol that decides on the frames of its messages itself.
fn check_text(args: &RunArgs, known: Option<DialectId>, dialect: &str) -> Result<(), Failure> {
    if args.text && !known.is_some_and(|dialect| dialect.facts().takes_anything) {
        let problem =
            format!("is for the protocol raw, whose messages can be either; {dialect} decides for itself");
        return Err(Failure::usage("--text", problem));
    }
    Ok(())
}

/// Puts the token in its place, and checks a client spec in which each client identifies itself.
/// `says_token`: the app itself sends its token.
fn introduced(mut client_spec: ClientSpec, says_token: bool) -> Result<ClientSpec, Failure> {
    people::place_token(&mut client_spec, says_token);
    people::check(&client_spec)?;
    if client_spec.of_dialect.token_in.is_some() && client_spec.of_dialect.token.is_none() {
        let problem = "there is no token to put there; --token and --jwt-secret give one";
        return Err(Failure::usage("--token-in", problem));
    }
    check(&client_spec)?;
    Ok(client_spec)
}

/// Refuses an app whose opening waits, by itself, for as long as clients have to become ready.
fn check_waits(args: &RunArgs, client_spec: &ClientSpec) -> Result<(), Failure> {
    let Some(app) = &client_spec.of_dialect.app else { return Ok(()) };
    let waits = app.open.iter().map(|step| if let OpenStep::Wait(ns) = step { *ns } else { 0 });
    let waits_ns = waits.fold(0, u64::saturating_add);
    let timeout_ns = connect_timeout_ns(args, client_spec);
    if waits_ns < timeout_ns {
        return Ok(());
    }
    let [waits, timeout] = [waits_ns, timeout_ns].map(results::format::duration);
    let problem = format!("clients have {timeout} to become ready, and `open` of {} waits {waits}", app.name);
    Err(Failure::usage("--connect-timeout", problem))
}

/// Refuses a client spec that cannot be put on the wire.
pub(crate) fn check(client_spec: &ClientSpec) -> Result<(), Failure> {
    client_spec.wire_config().map(drop).map_err(|bad| Failure::usage(&bad_flag(bad), bad))
}

fn no_dialect(name: &str) -> String {
    let known: Vec<&str> = DialectId::named().map(DialectId::name).collect();
    format!(
        "there is no protocol {name:?}; there are {}, and your own app in a FILE.toml (--app)",
        known.join(", ")
    )
}

fn bad_flag(load::BadClientSpec(bad): load::BadClientSpec) -> String {
    match bad {
        BadOption::Host | BadOption::Path => "URL".to_owned(),
        BadOption::Header => "--header or --origin".to_owned(),
        BadOption::Subprotocol => "--subprotocol".to_owned(),
        BadOption::Placeholder | BadOption::Row { .. } => "--users".to_owned(),
        BadOption::PayloadSize { .. } => "--payload-padding".to_owned(),
        BadOption::OfDialect { option, .. } => format!("--{option}"),
    }
}

/// Enough addresses of 127.0.0.0/8 for this many clients; none where the system's choice will do.
fn loopback_addrs(clients_max: Option<u64>) -> Vec<IpAddr> {
    let needed = clients_max.map_or(ADDRS_MAX, |clients| clients.div_ceil(CLIENTS_PER_ADDR));
    if needed <= 1 {
        return Vec::new();
    }
    // All of 127/8 is this machine's (RFC 1122 §3.2.1.3).
    let first = u32::from(Ipv4Addr::LOCALHOST);
    (0..needed as u32).map(|k| IpAddr::V4(Ipv4Addr::from(first + k))).collect()
}

/// The load of a closed loop, as the flags say.
pub(crate) fn closed(
    concurrent: u64,
    per_client: u32,
    samples: u64,
    duration: Option<u64>,
) -> Result<LoadRule, Failure> {
    let concurrency = under_way("--concurrent", concurrent)?;
    if samples == 0 {
        return Err(Failure::usage("--sample-size", "at least 1"));
    }
    let until = match duration {
        Some(duration_ns) => load::Until::Elapsed { duration_ns },
        None => load::Until::Samples(samples),
    };
    Ok(LoadRule::Same(load::Load::Closed { concurrency, per_client, until }))
}

/// A number of messages under way at once, checked.
pub(crate) fn under_way(flag: &'static str, messages: u64) -> Result<u32, Failure> {
    u32::try_from(messages).ok().filter(|&n| n > 0).ok_or_else(|| {
        let problem = format!("from 1 to {} messages under way at once, not {messages}", u32::MAX);
        Failure::usage(flag, problem)
    })
}

/// A number of clients, checked.
pub(crate) fn clients(flag: &'static str, clients: u64) -> Result<u32, Failure> {
    let max = u64::from(u16::MAX) * 10_000;
    u32::try_from(clients)
        .ok()
        .filter(|&n| n > 0 && clients <= max)
        .ok_or_else(|| Failure::usage(flag, format!("from 1 to {max} clients, not {clients}")))
}
