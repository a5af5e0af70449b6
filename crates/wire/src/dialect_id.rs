//! Which dialects there are: their names, where a server speaks them, and what they can do.

/// Makes of one list the ids and all that is known of a dialect by its name alone.
macro_rules! dialect_ids {
    ($(
        #[doc = $doc:literal] $id:ident, $name:literal $(| $alias:literal)* $(, at $($path:literal)|+)?;
    )*) => {
        /// A dialect.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum DialectId {
            $( #[doc = $doc] $id, )*
        }

        impl DialectId {
            /// Every dialect.
            pub const ALL: &'static [DialectId] = &[$(DialectId::$id),*];

            /// The name on the command line and in results.
            pub fn name(self) -> &'static str {
                match self { $(DialectId::$id => $name,)* }
            }

            /// The dialect of that name or alias.
            pub fn from_name(name: &str) -> Option<DialectId> {
                match name {
                    $($name $(| $alias)* => Some(DialectId::$id),)*
                    _ => None,
                }
            }

            /// The paths at which a server speaks it, and below which; the first is the usual one. Those without
            /// share all the others.
            pub fn paths(self) -> &'static [&'static str] {
                match self { $(DialectId::$id => &[$($($path),+)?],)* }
            }
        }
    };
}

dialect_ids! {
    /// wsdemo's: any message comes back.
    Raw, "raw" | "wsdemo";
    /// websocket-bench's, as JSON: echo and broadcast.
    Json, "json" | "standard" | "websocket-bench";
    /// websocket-bench's, as binary: echo and broadcast.
    Binary, "binary";
    /// SockJS, over any of its transports: the json dialect's messages in its frames.
    Sockjs, "sockjs", at
        "/sockjs" | "/echo" | "/close" | "/disabled_websocket_echo" | "/cookie_needed_echo";
    /// Action Cable, of Rails and of AnyCable.
    Actioncable, "actioncable", at "/cable";
    /// The user's own, which the options describe. Servers do not speak it.
    Custom, "custom";
    /// Phoenix channels, with either serializer.
    Phoenix, "phoenix", at "/socket/websocket";
    /// Plain requests: a message is a request, and the answer to it is its echo.
    Http, "http";
    /// Socket.IO over Engine.IO; and Engine.IO alone, whose messages come back.
    Socketio, "socketio" | "socket.io", at "/socket.io" | "/engine.io";
}

/// The dialect that stands for raw, json and binary, which share all paths that no other has and a broadcast group.
pub(crate) const GROUP: DialectId = DialectId::Raw;

impl DialectId {
    /// The dialect that a server speaks at a path: raw stands for raw, json and binary, which share all paths
    /// that no other has.
    pub fn at(path: &str) -> DialectId {
        let is_below =
            |of: &&str| path.strip_prefix(*of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let serves = |dialect: &&DialectId| dialect.paths().iter().any(is_below);
        DialectId::ALL.iter().find(serves).copied().unwrap_or(GROUP)
    }

    /// The dialect that stands for all that share a broadcast group with this one: [`Raw`](DialectId::Raw) for
    /// raw, json and binary.
    pub fn group(self) -> DialectId {
        match self {
            DialectId::Raw | DialectId::Json | DialectId::Binary | DialectId::Custom => GROUP,
            _ => self,
        }
    }

    /// The dialect whose servers open a connection with this text, for those that open it with something of their own.
    pub fn opening_with(text: &str) -> Option<DialectId> {
        // Rails' and AnyCable's welcomes; Engine.IO's open packet; SockJS's open frame.
        let is = |start: &&str| text.starts_with(*start);
        if [r#"{"type":"welcome"}"#, r#"{"type":"welcome","sid":"#].iter().any(is) {
            Some(DialectId::Actioncable)
        } else if is(&r#"0{"sid":"#) {
            Some(DialectId::Socketio)
        } else {
            (text == "o").then_some(DialectId::Sockjs)
        }
    }

    /// Whether [`Kind::Broadcast`](crate::Kind::Broadcast) may be sent.
    pub fn can_broadcast(self) -> bool {
        !matches!(self, DialectId::Raw | DialectId::Http)
    }

    /// Whether the server acknowledges a broadcast with a result of its own, apart from the sender's copy. What a
    /// custom dialect does is known to [`Config::has_ack`](crate::Config::has_ack).
    pub(crate) fn has_ack(self) -> bool {
        !matches!(self, DialectId::Raw | DialectId::Http | DialectId::Custom)
    }

    /// The HTTP status with which a server refuses an origin that it does not serve.
    pub(crate) fn origin_refusal(self) -> u16 {
        if self == DialectId::Actioncable { 404 } else { 403 }
    }
}
