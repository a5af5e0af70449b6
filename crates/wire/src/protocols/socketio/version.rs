//! The versions spoken.

use codec::http::query;

use super::facts::EIO;
use crate::options::Options;

/// A version of Engine.IO, and of Socket.IO with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Version {
    /// Engine.IO 3, Socket.IO 4.
    V3,
    /// Engine.IO 4, Socket.IO 5.
    #[default]
    V4,
}

impl Version {
    /// The version of the parameter `EIO` of a request.
    pub(crate) fn named(name: &str) -> Option<Version> {
        match name {
            "3" => Some(Version::V3),
            "4" => Some(Version::V4),
            _ => None,
        }
    }

    /// The beginning of every attachment in a WebSocket message: before version 4, the type of its packet.
    pub(crate) fn before_attachment(self) -> &'static [u8] {
        match self {
            Version::V3 => &[4],
            Version::V4 => &[],
        }
    }

    /// The one that the path or the option asks for.
    pub(crate) fn of(options: &Options) -> Option<Version> {
        match query::param(options.path.reveal(), "EIO") {
            Some(name) => Version::named(name),
            None => match options.of_dialect.settings.number(EIO.name) {
                Some(eio) => Version::named(&eio.to_string()),
                None => Some(Version::default()),
            },
        }
    }
}
