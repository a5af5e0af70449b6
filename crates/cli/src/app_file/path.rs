//! Paths of requests, as files have them.

use app::template::{Names, Purpose, Quoting, Template};
use toml::Spanned;

use super::source::Source;
use crate::exit::Failure;
use crate::people;

/// A path, with its query, in which these names may stand. It stands in the file at `at`, by itself or in a URL.
pub(super) fn path(
    source: &Source<'_>,
    at: &Spanned<String>,
    text: &str,
    names: &Names,
) -> Result<Template, Failure> {
    let target = people::template(text, Purpose::Opening, names, Quoting::Percent)
        .map_err(|problem| source.error(at.span(), problem))?;
    let sample = target.sample();
    if sample.starts_with(b"/") && sample.iter().all(|b| b.is_ascii_graphic() && *b != b'#') {
        return Ok(target);
    }
    let problem = "expected a path of the same server, which starts with / and has no blanks in it";
    Err(source.error(at.span(), problem))
}
