//! A placeholder that is not there, in words for the user.

use app::template::{BadTemplate, Names, Purpose, Quoting, Template};

use crate::secrets::given;

/// Reads a template of an app's file. The keys of its functions may be somewhere else.
///
/// # Errors
/// The mistake in it, or in a key.
pub(crate) fn template(
    text: &str,
    purpose: Purpose,
    names: &Names,
    quoting: Quoting,
) -> Result<Template, String> {
    let template = Template::parse(text, purpose, names, quoting).map_err(|bad| explained(text, &bad))?;
    template.with_keys(&given::value)
}

/// Explains an error of a text and its remedy.
pub(crate) fn explained(text: &str, bad: &BadTemplate) -> String {
    match bad {
        BadTemplate::Unknown { at, .. } => format!("{}: {bad}{}", &text[at.clone()], hint(&text[at.clone()])),
        BadTemplate::TooDeep { .. } | BadTemplate::NoId => bad.to_string(),
    }
}

fn hint(name: &str) -> &'static str {
    match name {
        "{token}" => "; what signs tokens is --jwt-secret, or `token` in [people] of an app's file",
        _ if name.starts_with("{person.") || name.starts_with("{data.") => {
            "; columns are those of --users FILE.csv, or of `data` in an app's file"
        }
        _ => "",
    }
}
