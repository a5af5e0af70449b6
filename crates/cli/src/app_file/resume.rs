//! How a client that lost its connection goes on, where the app has a way of its own: `[resume]`.

use wire::app_file::{Condition, JsonScalar, LoginRequest};
use wire::template::{Names, Template};

use super::file::{self, File};
use super::source::Source;
use crate::exit::Failure;

/// What is kept of copies, as a placeholder.
pub(super) const KEPT: &str = "kept";

/// Makes the placeholder known, behind all that is kept of logins. Gives its number among all that is kept.
pub(super) fn name(file: &File, login: &[LoginRequest], names: &mut Names) -> u16 {
    let value = login.iter().flat_map(|request| &request.keep).map(|keep| keep.value + 1).max().unwrap_or(0);
    if file.resume.is_some() {
        names.set(KEPT, Template::of_kept(value));
    }
    value
}

/// Whether what is kept is said anywhere.
fn is_said(source: &Source<'_>) -> bool {
    source.text.contains(&format!("{{{KEPT}}}"))
}

/// Where it is found in a copy.
pub(super) fn keep(source: &Source<'_>, resume: &file::Resume, has_copies: bool) -> Result<String, Failure> {
    let keep = &resume.keep;
    if !has_copies {
        let problem =
            "is kept of the copies of broadcasts: there is none of [broadcast], [say.NAME] and [publish]";
        return Err(source.error(keep.span(), problem));
    }
    let is_there = (keep.get_ref().clone(), JsonScalar::Bare("0".into()));
    let condition = Condition { json: vec![is_there], ..Condition::default() };
    wire::check_condition(&condition).map_err(|bad| source.error(keep.span(), bad))?;
    if !is_said(source) {
        let problem = "is never said: {kept} stands for it in `send`, in a step of [[open]], or in [connect]";
        return Err(source.error(keep.span(), problem));
    }
    Ok(keep.get_ref().clone())
}
