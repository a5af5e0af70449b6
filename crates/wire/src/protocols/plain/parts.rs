//! The app's frames, for a client.

use app::app_file::Frames;
use memchr::memmem::Finder;

/// The frames of an app.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) reading: Reading,
}

/// Kinds of incoming frames.
#[derive(Debug)]
pub(super) enum Reading {
    /// One message.
    Whole,
    /// Records, each ended by this.
    Records(Finder<'static>),
    /// Values of MessagePack, if it is binary.
    MessagePack {
        /// Before each stands how long it is.
        delimited: bool,
        /// The end of each as JSON.
        line_end: Finder<'static>,
    },
}

impl Parts {
    pub(super) fn new(frames: Option<&Frames>) -> Parts {
        let finder = |separator: &str| Finder::new(separator).into_owned();
        let reading = match frames {
            None | Some(Frames::Text | Frames::Binary) => Reading::Whole,
            Some(Frames::Records(separator)) => Reading::Records(finder(separator)),
            Some(&Frames::MessagePack { delimited }) => {
                Reading::MessagePack { delimited, line_end: finder("\n") }
            }
        };
        Parts { reading }
    }
}
