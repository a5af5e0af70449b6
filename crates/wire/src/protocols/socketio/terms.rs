//! Settings of a server.

use super::facts::{CONNECT_TIMEOUT, MAX_PAYLOAD, PING_INTERVAL, PING_TIMEOUT};
use super::heartbeat::Pace;
use crate::settings::Settings;

/// Terms of a server's sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) pace: Pace,
    /// The time within which a client must have connected to a namespace.
    pub(crate) connect_timeout_ns: u64,
    /// Most bytes of one message, or of packets joined.
    pub(crate) payload_bytes_max: usize,
}

impl Terms {
    pub(crate) fn of(settings: &Settings) -> Terms {
        let payload_bytes_max = settings.amount(&MAX_PAYLOAD);
        Terms {
            pace: Pace::new(settings.amount(&PING_INTERVAL), settings.amount(&PING_TIMEOUT)),
            connect_timeout_ns: settings.amount(&CONNECT_TIMEOUT),
            payload_bytes_max: usize::try_from(payload_bytes_max).unwrap_or(usize::MAX),
        }
    }
}
