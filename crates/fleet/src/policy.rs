//! The policy of an agent: it loads what its own flags name, and nothing else.
//!
//! Anyone who may publish to an agent's subjects at NATS can be its coordinator. Rules. A plan is carried out
//! when every endpoint of it is named; what is not named is refused, with the flag that would name it. Names
//! of hosts are looked up when a plan comes, by the agent itself, and the plan's addresses are held against
//! what was found. No path of a plan is opened: unix sockets must be named one by one, and what a file of the
//! coordinator's holds travels in the plan.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use load::{ClientSpec, Endpoint, Plan};

/// Timeout of looking up names: well within the lease, because nothing is heard meanwhile.
const LOOKUP_TIME_MAX: Duration = Duration::from_secs(2);
/// Ports without a name.
const ANY_PORT: RangeInclusive<u16> = 1..=u16::MAX;

/// Schemes of a plan's URL, with their ports.
const SCHEMES: [(&str, u16); 4] = [("ws", 80), ("wss", 443), ("http", 80), ("https", 443)];

/// Servers that an agent may load: `ws://10.0.0.0/8:*`, `wss://chat.example.com`, `*:9000`,
/// `unix:/run/chat.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// One of [`SCHEMES`]; `None` for any.
    scheme: Option<&'static str>,
    place: Place,
    ports: RangeInclusive<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Any host.
    Any,
    /// Addresses that share this many leading bits.
    Network(IpAddr, u32),
    /// The addresses of that host.
    Named(String),
    /// A unix socket.
    Socket(PathBuf),
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "{text:?}: expected something like ws://10.0.0.0/8:*, wss://chat.example.com, *:9000 or unix:/run/chat.sock"
            )
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            let place = Some(path).filter(|path| path.is_absolute()).map(Place::Socket);
            return Ok(Rule { scheme: None, place: place.ok_or_else(expected)?, ports: ANY_PORT });
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => {
                (Some(SCHEMES.into_iter().find(|(name, _)| *name == scheme).ok_or_else(expected)?), rest)
            }
            None => (None, text),
        };
        let (host, bits, port) = parts(rest).ok_or_else(expected)?;
        let place = place(host, bits).ok_or_else(expected)?;
        let ports = match (port, scheme) {
            (Some("*"), _) => ANY_PORT,
            (Some(port), _) => ports(port).ok_or_else(expected)?,
            (None, Some((_, port))) => port..=port,
            (None, None) => return Err(format!("{text:?}: name a port, or :* for all")),
        };
        Ok(Rule { scheme: scheme.map(|(name, _)| name), place, ports })
    }
}

/// Host, bits and port of `HOST[/BITS][:PORT]`; `None` if there is more.
fn parts(text: &str) -> Option<(&str, Option<&str>, Option<&str>)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(['/', ':']).unwrap_or(text.len())),
    };
    let (bits, rest) = match rest.strip_prefix('/') {
        Some(rest) => {
            let (bits, rest) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
            (Some(bits), rest)
        }
        None => (None, rest),
    };
    let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
    Some((host, bits, port))
}

fn place(host: &str, bits: Option<&str>) -> Option<Place> {
    if let Ok(address) = host.parse::<IpAddr>() {
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(width), |bits| bits.parse().ok()).filter(|&bits| bits <= width)?;
        return Some(Place::Network(address, bits));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match (host, bits) {
        ("*", None) => Some(Place::Any),
        (name, None) if !name.is_empty() && name.chars().all(is_name) => Some(Place::Named(name.to_owned())),
        _ => None,
    }
}

fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = first.parse().ok()?..=last.parse().ok()?;
    (*ports.start() > 0 && !ports.is_empty()).then_some(ports)
}

impl Rule {
    /// Returns whether the rule names this server; `found` has the addresses of names.
    fn names(&self, scheme: &str, address: SocketAddr, found: &HashMap<String, Vec<IpAddr>>) -> bool {
        // `::ffff:10.0.0.1` is 10.0.0.1 (RFC 4291 §2.5.5.2): a rule on either form must not be passed by the
        // other.
        let ip = address.ip().to_canonical();
        let is_there = match &self.place {
            Place::Any => true,
            Place::Network(network, bits) => is_within(ip, network.to_canonical(), *bits),
            Place::Named(name) => found.get(name).is_some_and(|addresses| addresses.contains(&ip)),
            Place::Socket(_) => false,
        };
        is_there && self.ports.contains(&address.port()) && self.scheme.is_none_or(|own| own == scheme)
    }
}

/// Returns whether an address has the first `bits` of another.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (differing, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits() ^ b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
        _ => return false,
    };
    // `/0` shifts an IPv6 address by all of its 128 bits, which a plain shift does not do.
    differing.checked_shr(width - bits.min(width)).unwrap_or(0) == 0
}

/// The servers an agent may load; by default none.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Rules, each of which names some servers.
    pub allowed: Vec<Rule>,
}

/// A server of a plan, as the flag names it that allows it.
struct PlannedServer<'a>(&'a str, &'a Endpoint);

impl fmt::Display for PlannedServer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Endpoint::Inet(address) => write!(f, "{}://{address}", self.0),
            // What came over the bus is shown on two terminals.
            Endpoint::Unix(path) => {
                f.write_str("unix:")?;
                path.to_string_lossy()
                    .chars()
                    .filter(|c| stats::is_shown(*c))
                    .try_for_each(|c| write!(f, "{c}"))
            }
        }
    }
}

impl Policy {
    /// Why the plan is not carried out, with the flag that would allow it; `None` if it is.
    pub(crate) fn refusal(&self, plan: &Plan) -> Option<String> {
        let found = self.look_up();
        let is_allowed = |asked: &PlannedServer<'_>| match asked.1 {
            Endpoint::Inet(address) => self.allowed.iter().any(|rule| rule.names(asked.0, *address, &found)),
            Endpoint::Unix(path) => self.allowed.iter().any(|rule| rule.place == Place::Socket(path.clone())),
        };
        let client_servers = asked_for(&plan.endpoints, scheme_of(&plan.client_spec, plan.tls.is_some()));
        let login_servers = plan.login_servers.iter().flat_map(|server| {
            asked_for(&server.endpoints, if server.tls.is_some() { "https" } else { "http" })
        });
        let publisher_servers = plan.publishing.iter().flat_map(|publishing| {
            asked_for(&publishing.endpoints, scheme_of(&publishing.client_spec, publishing.tls.is_some()))
        });
        let asked =
            client_servers.chain(login_servers).chain(publisher_servers).find(|asked| !is_allowed(asked))?;
        Some(format!("it may not load {asked}: start it with --allow {asked}"))
    }

    /// The addresses of all names, as far as they can be found in time.
    fn look_up(&self) -> HashMap<String, Vec<IpAddr>> {
        let name_of = |rule: &Rule| match &rule.place {
            Place::Named(name) => Some(name.clone()),
            _ => None,
        };
        let names: Vec<String> = self.allowed.iter().filter_map(name_of).collect();
        if names.is_empty() {
            return HashMap::new();
        }
        let (sender, found) = mpsc::channel();
        let look_up = move || {
            for name in names {
                let addresses = net::socket::resolve(&name, 1).unwrap_or_default();
                let ips = addresses.iter().map(|address| address.ip().to_canonical()).collect();
                let _ = sender.send((name, ips));
            }
        };
        // A thread, because the system's resolver cannot be given a time; it is left behind if it takes
        // longer.
        if thread::Builder::new().name("lookup".into()).spawn(look_up).is_err() {
            return HashMap::new();
        }
        let until = Instant::now() + LOOKUP_TIME_MAX;
        let next = || found.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        std::iter::from_fn(next).collect()
    }
}

fn asked_for<'a>(endpoints: &'a [Endpoint], scheme: &'static str) -> impl Iterator<Item = PlannedServer<'a>> {
    endpoints.iter().map(move |endpoint| PlannedServer(scheme, endpoint))
}

/// The scheme of a plan's URL: plain requests and upgrades are allowed separately.
fn scheme_of(client_spec: &ClientSpec, has_tls: bool) -> &'static str {
    let is_plain = client_spec.dialect.is_over_requests(&client_spec.of_dialect.settings);
    match (is_plain, has_tls) {
        (false, false) => "ws",
        (false, true) => "wss",
        (true, false) => "http",
        (true, true) => "https",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(rules: &[&str], endpoint: &str) -> Option<String> {
        let allowed = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let endpoint = match endpoint.strip_prefix("unix:") {
            Some(path) => Endpoint::Unix(path.into()),
            None => Endpoint::Inet(endpoint.parse().unwrap()),
        };
        Policy { allowed }.refusal(&Plan { endpoints: vec![endpoint], ..crate::support::plan() })
    }

    #[test]
    fn nothing_is_loaded_that_is_not_named() {
        for (rules, allowed, refused) in [
            (
                vec!["ws://10.0.0.0/8:*"],
                vec!["10.1.2.3:9", "10.255.255.255:65535"],
                vec!["11.0.0.1:80", "0.0.0.0:80", "[::1]:80"],
            ),
            (vec!["ws://10.0.0.1"], vec!["10.0.0.1:80"], vec!["10.0.0.1:81", "10.0.0.2:80"]),
            (
                vec!["10.0.0.1:9000-9002", "10.0.0.2:*"],
                vec!["10.0.0.1:9001", "10.0.0.2:1"],
                vec!["10.0.0.1:9003"],
            ),
            (vec!["wss://10.0.0.1:*", "http://10.0.0.1:*"], vec![], vec!["10.0.0.1:80"]),
            (
                vec!["ws://[2001:db8::]/32:*"],
                vec!["[2001:db8:7::1]:80"],
                vec!["[2001:db9::1]:80", "10.0.0.1:80"],
            ),
            (
                vec!["ws://*:9000"],
                vec!["127.0.0.1:9000", "[::1]:9000"],
                vec!["127.0.0.1:9001", "unix:/run/x.sock"],
            ),
            (vec!["ws://127.0.0.0/8:*"], vec!["[::ffff:127.0.0.1]:80"], vec!["[::ffff:10.0.0.1]:80"]),
            (vec!["ws://localhost:*"], vec!["127.0.0.1:80"], vec!["127.0.0.2:80"]),
            (vec!["0.0.0.0/0:*"], vec!["8.8.8.8:53"], vec!["[::1]:53", "unix:/run/x.sock"]),
            (
                vec!["unix:/run/x.sock"],
                vec!["unix:/run/x.sock"],
                vec!["unix:/run/docker.sock", "127.0.0.1:80"],
            ),
            (vec![], vec![], vec!["127.0.0.1:80", "unix:/run/docker.sock"]),
        ] {
            for endpoint in allowed {
                assert_eq!(refusal(&rules, endpoint), None, "{rules:?}");
            }
            for endpoint in refused {
                assert!(refusal(&rules, endpoint).is_some(), "{rules:?} {endpoint}");
            }
        }
    }

    #[test]
    fn a_refusal_names_the_flag() {
        let of = |endpoint| refusal(&[], endpoint).unwrap();
        assert_eq!(
            of("10.0.0.1:90"),
            "it may not load ws://10.0.0.1:90: start it with --allow ws://10.0.0.1:90"
        );
        let socket = of("unix:/run/\u{1b}[2Jx.sock");
        assert_eq!(socket, "it may not load unix:/run/[2Jx.sock: start it with --allow unix:/run/[2Jx.sock");
    }

    #[test]
    fn invalid_addresses_are_said() {
        for bad in [
            "",
            "10.0.0.1",
            "ws://",
            "ftp://10.0.0.1",
            "ws://10.0.0.1:0",
            "ws://10.0.0.1:9-8",
            "ws://10.0.0.0/33",
            "ws://10.0.0.1:80/ws",
            "ws://a b",
            "unix:x.sock",
            "ws://name/8:*",
            "ws://[::1",
            "ws://10.0.0.1:70000",
            "*/8:*",
            "ws://me@host",
        ] {
            assert!(bad.parse::<Rule>().is_err(), "{bad}");
        }
    }
}
