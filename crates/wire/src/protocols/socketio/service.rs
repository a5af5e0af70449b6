//! Services of a server, and their paths.

/// Services of a server at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// Socket.IO.
    Socket,
    /// Engine.IO alone: every message comes back.
    Engine,
}

impl Service {
    pub(crate) fn at(path: &str) -> Service {
        if path.starts_with("/engine.io") { Service::Engine } else { Service::Socket }
    }

    /// Names a session among the sessions of all protocols.
    pub(crate) fn session_name(self, sid: &str) -> String {
        let path = match self {
            Service::Socket => "socket.io",
            Service::Engine => "engine.io",
        };
        format!("{path}/{sid}")
    }
}
