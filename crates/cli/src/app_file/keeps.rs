//! Values that clients keep of answers and messages, by the names they say them with later.

use app::app_file::{KEEPS_MAX, Keep, VALUES_MAX};
use app::template::{Names, Template};
use toml::Spanned;

use super::file::{AnswerRule, File, IgnoreRule, When, Written};
use super::source::Source;
use crate::exit::Failure;

/// The placeholder of the one value that `[resume]` keeps without naming it.
pub(super) const KEPT: &str = "kept";
/// The names of placeholders that mean something else already.
const TAKEN: [&str; 10] =
    ["id", "intended_ns", "unix_ns", "padding", "client", "seq", "room", "token", "now", "uuid"];
/// The places in a message that a value may come from.
const IN_MESSAGES: [&str; 2] = ["json:", "regex:"];

/// The names of everything that is kept, in the order of their numbers.
#[derive(Default)]
pub(super) struct KeptNames {
    names: Vec<String>,
}

impl KeptNames {
    /// The values kept of an answer. A name that comes again means the newer value.
    pub(super) fn of_answer(&mut self, source: &Source<'_>, keep: &Written) -> Result<Vec<Keep>, Failure> {
        if let Some((_, more)) = keep.iter().nth(KEEPS_MAX) {
            return Err(source.error(more.span(), format!("at most {KEEPS_MAX} values of one message")));
        }
        let one = |(name, from): (&String, &Spanned<String>)| {
            let value = self.number(source, name, from)?;
            if name == KEPT {
                return Err(source.error(from.span(), "{kept} is what [resume] keeps"));
            }
            app::places::check(from.get_ref()).map_err(|bad| source.error(from.span(), bad))?;
            let place = source.place(from.span());
            Ok(Keep { name: name.clone(), value, from: from.get_ref().clone(), place })
        };
        keep.iter().map(one).collect()
    }

    /// The same of a message, which has no head.
    pub(super) fn of_message(&mut self, source: &Source<'_>, keep: &Written) -> Result<Vec<Keep>, Failure> {
        keep.values().try_for_each(|from| check_in_message(source, from))?;
        self.of_answer(source, keep)
    }

    /// The number of a name, which is kept from now on.
    pub(super) fn number<T>(
        &mut self,
        source: &Source<'_>,
        name: &str,
        at: &Spanned<T>,
    ) -> Result<u16, Failure> {
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_name {
            let problem = format!("{name:?} cannot be a placeholder: lower-case letters, digits and _");
            return Err(source.error(at.span(), problem));
        }
        if TAKEN.contains(&name) {
            return Err(source.error(at.span(), format!("{{{name}}} means something else already")));
        }
        let number = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        let number = u16::try_from(number).ok().filter(|&number| number < VALUES_MAX);
        number.ok_or_else(|| source.error(at.span(), format!("at most {VALUES_MAX} values in all")))
    }
}

/// Checks that it is a place in a message.
pub(super) fn check_in_message(source: &Source<'_>, from: &Spanned<String>) -> Result<(), Failure> {
    if !IN_MESSAGES.iter().any(|place| from.get_ref().starts_with(place)) {
        let problem = "expected where in the message it is: \"json:/POINTER\" or \"regex:EXPRESSION\"";
        return Err(source.error(from.span(), problem));
    }
    app::places::check(from.get_ref()).map_err(|bad| source.error(from.span(), bad))
}

/// Checks that there is a message to keep something of.
pub(super) fn check_waits(source: &Source<'_>, keep: &Written, waits: bool) -> Result<(), Failure> {
    let Some(from) = keep.values().next().filter(|_| !waits) else { return Ok(()) };
    let problem = "is kept of what comes in: expected `expect`, or `replied = true`, beside it";
    Err(source.error(from.span(), problem))
}

/// Checks that there is an answer to keep something of, which a condition recognises.
pub(super) fn check_answered(
    source: &Source<'_>,
    keep: &Written,
    answers: [&Option<Spanned<When>>; 2],
) -> Result<(), Failure> {
    let is_answered = answers.into_iter().any(Option::is_some);
    let Some(from) = keep.values().next().filter(|_| !is_answered) else { return Ok(()) };
    let problem = "is kept of the answer: expected `reply` beside it in [echo], elsewhere `ack` or `own`";
    Err(source.error(from.span(), problem))
}

/// Makes placeholders of what is kept.
pub(super) fn name(names: &mut Names, keeps: &[Keep]) {
    for keep in keeps {
        names.set(keep.name.as_str(), Template::of_kept(keep.value));
    }
}

/// Makes placeholders of everything that is kept of messages behind the opening: joins, what is answered,
/// ignored or pushed, and the answers to measured messages.
pub(super) fn name_later(
    source: &Source<'_>,
    file: &File,
    keeper: &mut KeptNames,
    names: &mut Names,
) -> Result<(), Failure> {
    let joins = file.room.values().filter_map(|room| room.get_ref().join.as_ref());
    let joins = joins.map(|join| &join.get_ref().keep);
    let answers = file.answer.iter().map(|AnswerRule { keep, .. }| keep);
    let ignored = file.ignore.iter().map(|IgnoreRule { keep, .. }| keep);
    let pushed = file.push.values().map(|push| &push.get_ref().keep);
    let measured = file.echo.iter().map(|echo| &echo.get_ref().keep);
    let measured = measured.chain(file.broadcast.iter().map(|broadcast| &broadcast.get_ref().keep));
    let measured = measured.chain(file.say.values().map(|say| &say.get_ref().keep));
    for keep in joins.chain(answers).chain(ignored).chain(pushed).chain(measured) {
        name(names, &keeper.of_message(source, keep)?);
    }
    Ok(())
}
