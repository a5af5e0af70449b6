//! A URL of the command line, resolved: addresses, Host, path, TLS.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use load::Endpoint;
use net::proc::Service;
use net::socket::{Addr, is_local};
use results::format::count;
use secret::Secret;
use url::{Host, Url};

use crate::app_file;
use crate::builtin::BuiltIn;
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::interrupts;
use crate::processes;
use crate::secrets;

/// Time for finding out which of several addresses of a name answers.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a server that is waited for is tried.
const WAIT_POLL: Duration = Duration::from_millis(100);
/// How long one attempt may take: a packet that was lost is sent again after a second.
const ATTEMPT_MAX: Duration = Duration::from_millis(1_500);

/// A server to be loaded.
pub(crate) struct Target {
    /// The URL, without a password: results are shared.
    pub(crate) url: String,
    /// The target's name, if it has one.
    pub(crate) name: Option<String>,
    /// Keeps the built-in server alive.
    built_in: Option<BuiltIn>,
    /// The addresses that it listens on, or its unix socket.
    pub(crate) endpoints: Vec<Endpoint>,
    /// The Host header: name, and port unless it is the scheme's own.
    pub(crate) host: String,
    /// Path and query.
    pub(crate) path: String,
    /// The name its certificate must carry, for `wss` and `https`.
    pub(crate) tls_name: Option<String>,
    /// User and password of the URL.
    pub(crate) userinfo: Option<(String, Secret)>,
}

/// The target of the flags: their URL, or the built-in server, in as many processes as this many connections
/// need.
pub(crate) fn of(args: &RunArgs, connections: u64) -> Result<Target, Failure> {
    if let Some(url) = &args.url {
        let find = || {
            let mut target = resolve(url, args.socket.clone())?;
            for other in &args.also {
                target.endpoints.extend(at_host_and_port(other)?);
            }
            Ok(target)
        };
        return match args.wait_for {
            None => find(),
            Some(ns) => wait(Duration::from_nanos(ns), find),
        };
    }
    if args.socket.is_some() {
        return Err(Failure::usage("--socket", "give a URL as well, for Host and path: ws://localhost/ws"));
    }
    let per_process = processes::clients_of_one_process()?;
    let processes = processes::server_processes(connections, per_process);
    let most = u64::from(processes::SERVER_PROCESSES_MAX);
    if processes > most {
        let problem = format!(
            "{} connections need {} processes of throng's own server, of which there may be {}: raise the limit \
             on open files (throng doctor)",
            count(connections),
            count(processes),
            count(most)
        );
        return Err(Failure::usage("--clients", problem));
    }
    let threads = processes::server_threads(processes)?;
    let (processes, threads) = (processes.to_string(), threads.to_string());
    let mut flags = vec!["--processes", &processes, "--threads", &threads];
    // The server agrees only to what its own flags allow.
    flags.extend(args.compression.flags());
    let built_in = BuiltIn::start(&flags)?;
    let mut target = resolve(&built_in.url, None)?;
    // Dialects with paths of their own are not spoken at the usual one.
    let dialect = args.dialect.as_deref().and_then(wire::DialectId::from_name);
    let dialect_path = dialect.and_then(|dialect| dialect.facts().paths.first().copied());
    if let Some(path) = args.app.as_deref().and_then(app_file::path_of_own_server).or(dialect_path) {
        target.url = target.url.replace(&target.path, path);
        target.path = path.to_owned();
    }
    Ok(Target { name: Some("throng".into()), built_in: Some(built_in), ..target })
}

/// The target that `find` finds, once something accepts connections at all of its places.
fn wait(within: Duration, find: impl Fn() -> Result<Target, Failure>) -> Result<Target, Failure> {
    let (start, interrupts) = (Instant::now(), interrupts::install()?);
    loop {
        let found = find();
        let closed = match &found {
            Ok(target) => target.endpoints.iter().find(|endpoint| !is_open(endpoint, ATTEMPT_MAX)),
            // Waiting does not mend a URL.
            Err(failure) if failure.is_usage() => return found,
            // A name that is not there yet may come with its server.
            Err(_) => None,
        };
        if found.is_ok() && closed.is_none() {
            return found;
        }
        if interrupts.count() > 0 {
            return Err(Failure::interrupted());
        }
        if start.elapsed() >= within {
            // An error of the last attempt says more than that the time is over.
            let target = found?;
            let what = format!("reach {}", secrets::url(&target.url));
            let waited = within.as_secs_f64();
            let why = format!("nothing there has accepted a connection for {waited} s (--wait-for)");
            return Err(Failure::could_not("reach", what, why).because("wait_for"));
        }
        thread::sleep(WAIT_POLL);
    }
}

/// Returns whether a server listens there, which is found out within this time.
pub(crate) fn is_open(endpoint: &Endpoint, within: Duration) -> bool {
    match endpoint {
        Endpoint::Inet(address) => TcpStream::connect_timeout(address, within).is_ok(),
        // A unix socket answers at once; where its queue is full, a server is there that does not accept now.
        Endpoint::Unix(path) => net::socket::connect(&Addr::Unix(path.clone()), None)
            .map_or_else(|error| error.kind() == io::ErrorKind::WouldBlock, |_| true),
    }
}

/// Reads a URL, and finds out where it leads. With `unix`, connections go to that socket instead.
pub(crate) fn resolve(text: &str, unix: Option<PathBuf>) -> Result<Target, Failure> {
    let url = parse(text)?;
    let secure = matches!(url.scheme(), "wss" | "https");
    let host =
        url.host().ok_or_else(|| Failure::usage("URL", format!("{:?} names no host", secrets::url(text))))?;
    let name = match &host {
        Host::Ipv6(address) => address.to_string(),
        other => other.to_string(),
    };
    let port = url.port_or_known_default().expect("the schemes have ports");
    if port == 0 {
        return Err(Failure::usage("URL", "port 0 cannot be connected to"));
    }
    let endpoints = match unix {
        // The host is only for the header then, and need not be known to this machine.
        Some(path) => vec![Endpoint::Unix(path)],
        None => addresses(&name, port)?.into_iter().map(Endpoint::Inet).collect(),
    };
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(Target {
        url: without_userinfo(url.clone()),
        name: None,
        built_in: None,
        endpoints,
        host: url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}")),
        path: format!("{}{query}", url.path()),
        tls_name: secure.then_some(name),
        userinfo: userinfo(&url),
    })
}

/// Resolves the address of a further server.
fn at_host_and_port(text: &str) -> Result<impl Iterator<Item = Endpoint>, Failure> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let expected =
        || Failure::usage("--also", format!("{text:?}: expected HOST:PORT, such as 10.0.0.2:9000"));
    let (host, port) = parts.filter(|(host, port)| !host.is_empty() && *port > 0).ok_or_else(expected)?;
    Ok(addresses(host, port)?.into_iter().map(Endpoint::Inet))
}

/// Reads a URL of a server.
pub(crate) fn parse(text: &str) -> Result<Url, Failure> {
    let expected = "expected something like ws://127.0.0.1:9000/ws";
    let url = Url::parse(text)
        .map_err(|error| Failure::usage("URL", format!("{:?}: {error}; {expected}", secrets::url(text))))?;
    match url.scheme() {
        "ws" | "wss" | "http" | "https" => Ok(url),
        scheme => Err(Failure::usage(
            "URL",
            format!("the scheme {scheme:?} is not ws, wss, http or https; {expected}"),
        )),
    }
}

fn without_userinfo(mut url: Url) -> String {
    // Neither can fail: the URL has a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

fn userinfo(url: &Url) -> Option<(String, Secret)> {
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let password = url.password().unwrap_or_default();
    (!url.username().is_empty() || !password.is_empty())
        .then(|| (decode(url.username()), decode(password).into()))
}

/// The addresses of a name. A name with several (`localhost` is often `::1` and 127.0.0.1, of which the
/// server has one) is narrowed down to those that answer, if any does.
fn addresses(name: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let found = net::socket::resolve(name, port)
        .map_err(|error| Failure::could_not("find_host", format!("find the host {name:?}"), error))?;
    // Nothing to choose: whether it answers, the clients will tell.
    if found.len() < 2 {
        return Ok(found);
    }
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, PROBE_TIMEOUT).is_ok();
    let answering: Vec<SocketAddr> = found.iter().filter(answers).copied().collect();
    Ok(if answering.is_empty() { found } else { answering })
}

impl Target {
    /// The addresses by which the server's process is found on this machine.
    pub(crate) fn addrs(&self) -> impl Iterator<Item = Addr> + '_ {
        self.endpoints.iter().map(|endpoint| match endpoint {
            Endpoint::Inet(address) => Addr::Inet(*address),
            Endpoint::Unix(path) => Addr::Unix(path.clone()),
        })
    }

    /// The same server at another path and query.
    pub(crate) fn at_path(&self, path: &str) -> Self {
        Self {
            url: self.url.clone(),
            name: None,
            built_in: None,
            endpoints: self.endpoints.clone(),
            host: self.host.clone(),
            path: path.to_owned(),
            tls_name: self.tls_name.clone(),
            userinfo: self.userinfo.clone(),
        }
    }

    /// The same server at this path, for plain requests.
    pub(crate) fn at(self, path: &str) -> Self {
        let url = self.url.replacen("ws", "http", 1);
        let url = url.strip_suffix(&self.path).map_or(url.clone(), |origin| format!("{origin}{path}"));
        Self { url, path: path.to_owned(), ..self }
    }

    /// The process of the built-in server.
    pub(crate) fn built_in_pid(&self) -> Option<u32> {
        self.built_in.as_ref().map(BuiltIn::pid)
    }

    /// Returns whether it runs on this machine; `server`: its processes, as far as they can be seen.
    pub(crate) fn is_here(&self, server: Option<&Service>) -> bool {
        // Another user's server shows no process.
        let is_of_this_machine = |endpoint: &Endpoint| match endpoint {
            Endpoint::Inet(address) => is_local(address.ip()),
            Endpoint::Unix(_) => true,
        };
        server.is_some() || self.endpoints.iter().all(is_of_this_machine)
    }

    /// Returns whether it is reached by an address of the 127.0.0.0/8 network, where source addresses are
    /// free to choose.
    pub(crate) fn is_ipv4_loopback(&self) -> bool {
        let is_loopback = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Inet(SocketAddr::V4(address)) if address.ip().is_loopback());
        self.endpoints.iter().all(is_loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_url() {
        let target = resolve("wss://me:p%40ss@127.0.0.1/chat?room=1", None).unwrap();
        assert_eq!(target.endpoints, [Endpoint::Inet("127.0.0.1:443".parse().unwrap())]);
        assert_eq!((target.host.as_str(), target.path.as_str()), ("127.0.0.1", "/chat?room=1"));
        assert_eq!(target.tls_name.as_deref(), Some("127.0.0.1"));
        assert_eq!(target.userinfo, Some(("me".into(), "p@ss".into())));
        assert_eq!(target.url, "wss://127.0.0.1/chat?room=1");
    }

    #[test]
    fn servers_of_other_users_are_here() {
        // The second is of TEST-NET-1 (RFC 5737).
        for (url, is_here) in [("ws://127.0.0.1:9000/", true), ("ws://192.0.2.1:9000/", false)] {
            assert_eq!(resolve(url, None).unwrap().is_here(None), is_here, "{url}");
        }
    }

    #[test]
    fn ipv6_keeps_its_brackets_in_host_only() {
        let target = resolve("ws://[::1]:9000/", None).unwrap();
        assert_eq!(target.endpoints, [Endpoint::Inet("[::1]:9000".parse().unwrap())]);
        assert_eq!(target.host, "[::1]:9000");
    }

    #[test]
    fn further_servers_have_a_host_and_a_port() {
        let found: Vec<Endpoint> = at_host_and_port("[::1]:9001").unwrap().collect();
        assert_eq!(found, [Endpoint::Inet("[::1]:9001".parse().unwrap())]);
        for bad in ["127.0.0.1", ":9000", "127.0.0.1:0", "127.0.0.1:x", "ws://127.0.0.1:9000/"] {
            assert!(at_host_and_port(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn invalid_targets_are_refused() {
        for bad in ["ftp://127.0.0.1/", "ws://", "ws://127.0.0.1:99999/", "ws://127.0.0.1:0/"] {
            assert!(resolve(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_full_queue_is_open_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        assert!(!is_open(&Endpoint::Unix(path.clone()), ATTEMPT_MAX), "nobody is there");
        let addr = Addr::Unix(path.clone());
        let _listener = net::socket::listen(&addr, 1, false).unwrap();
        let waiting: Vec<_> = std::iter::from_fn(|| net::socket::connect(&addr, None).ok()).collect();
        assert!(is_open(&Endpoint::Unix(path), ATTEMPT_MAX), "{} wait", waiting.len());
    }
}
