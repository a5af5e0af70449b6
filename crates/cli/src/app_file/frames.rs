//! How messages stand in the frames of a plain WebSocket: `frames`.

use app::app_file::Frames;
use wire::Facts;

use super::file::{self, File};
use super::source::Source;
use crate::exit::Failure;

/// Reads how the file has them; without a word, each message is a frame of text.
pub(super) fn frames(source: &Source<'_>, file: &File, facts: &Facts) -> Result<Frames, Failure> {
    let Some(written) = &file.frames else { return Ok(Frames::Text) };
    if !facts.is_bare {
        let problem = "is for protocol = \"plain\"; others decide for themselves";
        return Err(source.error(written.span(), problem));
    }
    Ok(match written.get_ref() {
        file::Frames::Text => Frames::Text,
        file::Frames::Binary => Frames::Binary,
        file::Frames::MessagePack => Frames::MessagePack { delimited: false },
        file::Frames::DelimitedMessagePack => Frames::MessagePack { delimited: true },
        file::Frames::Lines => Frames::Records("\n".into()),
        // An id consists of these: it would be cut in two.
        file::Frames::Separator(text) if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
            let problem = "expected a separator that no id can contain: with something other than letters, digits \
                           and -, such as \"\\u001e\"";
            return Err(source.error(written.span(), problem));
        }
        file::Frames::Separator(text) => Frames::Records(text.clone()),
    })
}
