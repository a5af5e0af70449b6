//! The hidden verb by which throng starts itself with a command line that nobody else is to read: it comes over standard
//! input. What stands on the real one is for those who look at a list of processes, without its secrets.

use std::ffi::OsString;
use std::io;

use crate::exit::Failure;

/// The verb.
pub(crate) const NAME: &str = "from-stdin";

/// The words, the program's name first: a line of JSON, as [`suite::measure`] and the pages of `throng ui` write it.
pub(crate) fn read() -> Result<Vec<OsString>, Failure> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line).map_err(io::Error::other);
    let words = read.and_then(|_| serde_json::from_str::<Vec<String>>(&line).map_err(io::Error::other));
    let words = words.map_err(|error| Failure::could_not("read the command line", error))?;
    Ok(["throng".to_owned()].into_iter().chain(words).map(Into::into).collect())
}
