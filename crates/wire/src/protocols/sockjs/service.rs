//! The server's services: what is served below which path.

/// An application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum App {
    /// The json dialect's: broadcasts go to everyone in the service and have a result; all else comes back.
    Benchmark,
    /// Everything comes back.
    Echo,
    /// Closes every session at once.
    Close,
}

/// What is served below a path.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) prefix: &'static str,
    pub(crate) app: App,
    pub(crate) websocket: bool,
    /// Sets the cookie by which balancers know a client again.
    pub(crate) cookie: bool,
    /// Bytes of a streaming answer; `None`: as configured.
    pub(crate) response_bytes_max: Option<usize>,
}

/// The benchmark's service, and those of the protocol document for testing servers.
pub(crate) static SERVICES: [Service; 5] = [
    Service::new("/sockjs", App::Benchmark, None),
    Service::new("/echo", App::Echo, Some(4096)),
    Service::new("/close", App::Close, None),
    Service { websocket: false, ..Service::new("/disabled_websocket_echo", App::Echo, None) },
    Service { cookie: true, ..Service::new("/cookie_needed_echo", App::Echo, None) },
];

impl Service {
    const fn new(prefix: &'static str, app: App, response_bytes_max: Option<usize>) -> Service {
        Service { prefix, app, websocket: true, cookie: false, response_bytes_max }
    }

    /// The service at a path, and the rest of the path.
    pub(crate) fn at(path: &str) -> Option<(&'static Service, &str)> {
        SERVICES.iter().find_map(|service| {
            let rest = path.strip_prefix(service.prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((service, rest))
        })
    }
}
