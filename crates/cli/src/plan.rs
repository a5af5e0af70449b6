//! Makes a plan from flags: defaults, checks, and what fits on this machine.

mod inputs;
mod spec;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use app::app_file::OpenStep;
use app::people::Division;
use load::{ClientSpec, Connecting, Draining, LoadRule, LoginServer, Plan, Rooms, Workload};
use net::clock;

use crate::app_file;
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::flags::flap::FlapArgs;
use crate::flags::security::Security;
use crate::people;
use crate::publishing;
use crate::target::{self, Target};
pub(crate) use inputs::PlanInputs;
use inputs::app_of;
use spec::AppSettings;
pub(crate) use spec::check;

/// A step has drained when nothing has arrived for this long at least, or after that long, where no time is
/// given.
const QUIET_NS: u64 = 2_000_000_000;
const DRAIN_TIMEOUT_NS: u64 = 30_000_000_000;
/// Clients for one source address on loopback: well below the 28,000 ports that the kernel gives out, some of
/// which may be waiting to be free again.
pub(crate) const CLIENTS_PER_ADDR: u64 = 10_000;
/// Source addresses on loopback when it is not known how many clients there will be.
const ADDRS_MAX: u64 = 100;

/// How clients lose their connections by these flags, and where they say nothing by the app's file.
pub(crate) fn flapping(args: &RunArgs, flap: &FlapArgs) -> Result<FlapArgs, Failure> {
    let Some(file) = app_of(args) else { return Ok(flap.clone()) };
    Ok(flap.or(app_file::read_flap(file)?))
}

/// Refuses flags and an app's file, with its users, that no client could connect by; looks at no server.
pub(crate) fn check_clients(inputs: &PlanInputs<'_>) -> Result<(), Failure> {
    spec::client_spec(inputs, &Division::ONE).map(drop)
}

/// The plan for a workload.
pub(crate) fn plan(inputs: &PlanInputs<'_>) -> Result<Plan, Failure> {
    let &PlanInputs { args, ref says, target, workload, clients_max, .. } = inputs;
    // What needs no look at files or the network comes first.
    check_connecting(args)?;
    check_local_addrs(args)?;
    let division = args.people_args.rooms(clients_max)?;
    let (mut client_spec, described) = spec::client_spec(inputs, &division)?;
    check_waits(args, &client_spec)?;
    let AppSettings { publish, rooms, to_others, tells_apart } = described;
    let is_divided = workload == Workload::Broadcast && division != Division::ONE;
    if is_divided && !tells_apart && !people::tells_apart(&client_spec) {
        if target.built_in_pid().is_none() || client_spec.of_dialect.app.is_some() {
            let problem = format!(
                "every client joins with the same text, which tells the server of no rooms; {}",
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
            streams: args.streams,
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
