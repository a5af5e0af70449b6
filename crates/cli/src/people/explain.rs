//! A placeholder that is not there, in words for the user.

use wire::template::BadTemplate;

/// What is wrong with a text, and what to do about it.
pub(crate) fn explained(text: &str, bad: &BadTemplate) -> String {
    match bad {
        BadTemplate::Unknown { at, .. } => format!("{}: {bad}{}", &text[at.clone()], hint(&text[at.clone()])),
        BadTemplate::NoId => bad.to_string(),
    }
}

fn hint(name: &str) -> &'static str {
    match name {
        "{token}" => "; what signs tokens is --jwt-secret, or `token` in [people] of an app's file",
        _ if name.starts_with("{person.") || name.starts_with("{data.") => {
            "; columns are those of --people FILE.csv, or of `data` in an app's file"
        }
        _ => "",
    }
}
