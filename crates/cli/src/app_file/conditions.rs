//! How messages are recognised: conditions, which are the same for all clients.

use app::app_file::{Condition, JsonScalar, Key};
use app::template::{KeyForm, Names, Purpose, Quoting, Template};
use toml::{Spanned, Value};

use super::file::When;
use super::source::{Source, is_json};
use crate::exit::Failure;

/// Reads a condition. That of an answer may have the number of its message as one of its values.
pub(super) fn read(
    source: &Source<'_>,
    names: &Names,
    when: &Spanned<When>,
    is_of_answer: bool,
) -> Result<Condition, Failure> {
    let When { event, contains, regex, json } = when.get_ref();
    let mut condition = Condition {
        event: event.clone(),
        contains: contains.clone(),
        regex: regex.clone(),
        place: source.place(when.span()),
        ..Condition::default()
    };
    for text in event.iter().chain(contains) {
        check_text(source, names, text, when)?;
    }
    for (pointer, value) in json {
        match value.get_ref() {
            Value::String(text) => {
                let form = KeyForm::ALL.into_iter().find(|form| text == form.placeholder());
                match form.filter(|_| is_of_answer && condition.key.is_none()) {
                    Some(form) => condition.key = Some(Key { at: pointer.clone(), form }),
                    None => {
                        check_text(source, names, text, value)?;
                        condition.json.push((pointer.clone(), JsonScalar::Text(text.clone())));
                    }
                }
            }
            other => condition.json.push((pointer.clone(), bare(source, other, value)?)),
        }
    }
    app::conditions::check(&condition).map_err(|bad| source.error(when.span(), bad))?;
    Ok(condition)
}

fn bare(source: &Source<'_>, value: &Value, at: &Spanned<Value>) -> Result<JsonScalar, Failure> {
    // A server may write 10.50, and its messages are not parsed. TOML has numbers that JSON lacks, such as 1_000.
    let written = source.text.get(at.span()).filter(|text| is_json::<f64>(text.as_bytes()));
    let as_written = |number: String| written.map_or(number, str::to_owned);
    Ok(JsonScalar::Bare(match value {
        Value::Integer(number) => as_written(number.to_string()),
        Value::Float(number) if number.is_finite() => as_written(number.to_string()),
        Value::Boolean(word) => word.to_string(),
        _ => return Err(source.error(at.span(), "expected a string, a number, true or false")),
    }))
}

/// A placeholder would be taken at its word, and nothing would ever fit.
fn check_text<T>(source: &Source<'_>, names: &Names, text: &str, at: &Spanned<T>) -> Result<(), Failure> {
    let parsed = Template::parse(text, Purpose::Other, names, Quoting::Plain);
    let has_placeholder = parsed.is_ok_and(|template| template.sample() != text.as_bytes());
    if !has_placeholder && !text.contains("{id}") && !text.contains(KeyForm::Uuid.placeholder()) {
        return Ok(());
    }
    let problem = format!(
        "{text:?} has a placeholder, and a condition is the same for all clients: expected what they have in common, as by \
         `regex`; {} and {} stand in the `json` of `reply` and `ack` alone, and ids are found by themselves",
        KeyForm::Seq.placeholder(),
        KeyForm::Uuid.placeholder(),
    );
    Err(source.error(at.span(), problem))
}
