//! The server behind the proxy, and the names under which its own pages speak of it.

use std::net::IpAddr;

use url::{Host, Url};

/// The server that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// True for https and wss.
    pub is_tls: bool,
    /// Its name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The host as URLs have it, with the port unless that is the scheme's own.
    authority: String,
}

impl Upstream {
    /// The server of a URL; `None` for one that has no host, or another scheme than http, https, ws or wss.
    pub fn of(url: &Url) -> Option<Upstream> {
        let is_tls = match url.scheme() {
            "http" | "ws" => false,
            "https" | "wss" => true,
            _ => return None,
        };
        let (host, port) = (url.host()?, url.port_or_known_default()?);
        let port_shown = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let authority = format!("{host}{port_shown}");
        let host = match host {
            Host::Ipv6(address) => address.to_string(),
            host => host.to_string(),
        };
        Some(Upstream { is_tls, host, port, authority })
    }

    /// The host and, unless it is the scheme's own, the port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The origin of its pages.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.is_tls { "https" } else { "http" }, self.authority)
    }

    /// The origin of its WebSockets.
    pub(crate) fn socket_origin(&self) -> String {
        format!("{}://{}", if self.is_tls { "wss" } else { "ws" }, self.authority)
    }

    /// The authorities under which its pages name it: of a server on this machine, all names of this machine.
    pub(crate) fn authorities(&self) -> Vec<String> {
        let mut names = vec![format!("{}:{}", self.bracketed(), self.port), self.authority.clone()];
        if is_loopback(&self.host) {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{}", self.port)));
            if self.authority == self.bracketed() {
                names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

/// Returns whether a host is this machine by name or address: what a browser takes for it without asking a resolver.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let is_name = name == "localhost" || name.ends_with(".localhost");
    is_name || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
pub(crate) fn upstream(url: &str) -> Upstream {
    Upstream::of(&Url::parse(url).unwrap()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_origins() {
        for (url, origin, socket, host) in [
            ("ws://127.0.0.1:3000/cable", "http://127.0.0.1:3000", "ws://127.0.0.1:3000", "127.0.0.1"),
            ("https://app.test", "https://app.test", "wss://app.test", "app.test"),
            ("wss://app.test:443/x", "https://app.test", "wss://app.test", "app.test"),
            ("http://[::1]:8080", "http://[::1]:8080", "ws://[::1]:8080", "::1"),
        ] {
            let upstream = upstream(url);
            assert_eq!((upstream.origin(), upstream.socket_origin()), (origin.into(), socket.into()));
            assert_eq!(upstream.host, host, "{url}");
        }
        assert_eq!(Upstream::of(&Url::parse("ftp://app.test").unwrap()), None);
    }

    #[test]
    fn loopback_has_several_names() {
        assert!(upstream("http://localhost:3000").authorities().contains(&"[::1]:3000".to_owned()));
        assert_eq!(upstream("https://app.test").authorities(), ["app.test", "app.test:443"]);
        for (host, expected) in [
            ("LOCALHOST", true),
            ("a.localhost", true),
            ("[::1]", true),
            ("127.9.9.9", true),
            ("localhost.test", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host}");
        }
    }
}
