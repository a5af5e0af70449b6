//! How messages are recognised: conditions, whose texts may differ between clients.

use app::app_file::{Condition, ConditionText, JsonScalar, Key};
use app::template::{KeyForm, Names, Purpose, Quoting, Template};
use toml::{Spanned, Value};

use super::file::When;
use super::source::{Source, is_json};
use crate::exit::Failure;
use crate::people;

/// Reads a condition. That of an answer may have the number of its message as one of its values.
pub(super) fn read(
    source: &Source<'_>,
    names: &Names,
    when: &Spanned<When>,
    is_of_answer: bool,
) -> Result<Condition, Failure> {
    let When { event, contains, regex, json } = when.get_ref();
    let text = |text: &String| of_client(source, names, text, when);
    let mut condition = Condition {
        event: event.as_ref().map(text).transpose()?,
        contains: contains.as_ref().map(text).transpose()?,
        regex: regex.clone(),
        place: source.place(when.span()),
        ..Condition::default()
    };
    if let Some(regex) = regex {
        check_regex(source, names, regex, when)?;
    }
    for (pointer, value) in json {
        match value.get_ref() {
            Value::String(text) => {
                let form = KeyForm::ALL.into_iter().find(|form| text == form.placeholder());
                match form.filter(|_| is_of_answer && condition.key.is_none()) {
                    Some(form) => condition.key = Some(Key { at: pointer.clone(), form }),
                    None => {
                        let text = of_client(source, names, text, value)?;
                        condition.json.push((pointer.clone(), JsonScalar::Text(text)));
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

/// A text that messages are compared with: each client's own, if it has placeholders.
fn of_client<T>(
    source: &Source<'_>,
    names: &Names,
    text: &str,
    at: &Spanned<T>,
) -> Result<ConditionText, Failure> {
    let template = people::template(text, Purpose::Condition, names, Quoting::Plain).map_err(|problem| {
        let problem = format!(
            "{problem}; a condition has what is known of the client before the message comes: {} and {} stand in the `json` of \
             `reply` and `ack` alone, ids are found by themselves, and braces that are text stand in `regex`",
            KeyForm::Seq.placeholder(),
            KeyForm::Uuid.placeholder(),
        );
        source.error(at.span(), problem)
    })?;
    // A text without placeholders is looked for as it is, which costs less than a template.
    let of_client = (template != Template::literal(text)).then_some(template);
    Ok(ConditionText { written: text.to_owned(), of_client })
}

/// Refuses placeholders in an expression, where they would be taken for its own braces.
fn check_regex(source: &Source<'_>, names: &Names, regex: &str, at: &Spanned<When>) -> Result<(), Failure> {
    let alone = Condition { regex: Some(regex.to_owned()), ..Condition::default() };
    // Its braces are escaped, or in a class.
    if app::conditions::check(&alone).is_ok() {
        return Ok(());
    }
    let parsed = Template::parse(regex, Purpose::Condition, names, Quoting::Plain);
    if parsed.is_ok_and(|template| template != Template::literal(regex)) {
        let problem = "an expression is compiled once for all clients: expected what differs between them in `contains` or `json`";
        return Err(source.error(at.span(), problem));
    }
    Ok(())
}
