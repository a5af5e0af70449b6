//! How messages are recognised: conditions, which are the same for all clients.

use toml::{Spanned, Value};
use wire::app_file::{Condition, JsonScalar};
use wire::template::{Names, Purpose, Quoting, Template};

use super::file::When;
use super::source::Source;
use crate::exit::Failure;

/// The placeholder for the number of the message that an answer answers.
const SEQ: &str = "{seq}";

/// Reads a condition. That of an answer may have `{seq}` as one of its values.
pub(super) fn read(
    (source, names): (&Source<'_>, &Names),
    when: &Spanned<When>,
    is_of_answer: bool,
) -> Result<Condition, Failure> {
    let When { event, contains, regex, json } = when.get_ref();
    let mut condition = Condition {
        event: event.clone(),
        contains: contains.clone(),
        regex: regex.clone(),
        ..Condition::default()
    };
    for text in event.iter().chain(contains) {
        check_text((source, names), text, when)?;
    }
    for (pointer, value) in json {
        match value.get_ref() {
            Value::String(text) if text == SEQ && is_of_answer && condition.key.is_none() => {
                condition.key = Some(pointer.clone());
            }
            Value::String(text) => {
                check_text((source, names), text, value)?;
                condition.json.push((pointer.clone(), JsonScalar::Text(text.clone())));
            }
            other => condition.json.push((pointer.clone(), bare(source, other, value)?)),
        }
    }
    wire::check_condition(&condition).map_err(|bad| source.error(when.span(), bad))?;
    Ok(condition)
}

fn bare(source: &Source<'_>, value: &Value, at: &Spanned<Value>) -> Result<JsonScalar, Failure> {
    Ok(JsonScalar::Bare(match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) if number.is_finite() => number.to_string(),
        Value::Boolean(word) => word.to_string(),
        _ => return Err(source.error(at.span(), "expected a string, a number, true or false")),
    }))
}

/// A placeholder would be taken at its word, and nothing would ever fit.
fn check_text<T>((source, names): (&Source<'_>, &Names), text: &str, at: &Spanned<T>) -> Result<(), Failure> {
    let parsed = Template::parse(text, Purpose::Other, names, Quoting::Plain);
    let has_placeholder = parsed.is_ok_and(|template| template.sample() != text.as_bytes());
    if !has_placeholder && !text.contains("{id}") {
        return Ok(());
    }
    let problem = format!(
        "{text:?} has a placeholder, and a condition is the same for all clients: expected what they have in common, as by \
         `regex`; {SEQ} stands in the `json` of `reply` and `ack` alone, and ids are found by themselves"
    );
    Err(source.error(at.span(), problem))
}
