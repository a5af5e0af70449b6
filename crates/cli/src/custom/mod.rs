//! `--dialect FILE.toml`: reads and checks the description of a user's own dialect (docs/CUSTOM-DIALECT.md).

mod data;
mod file;
mod source;

use std::fmt::Display;
use std::fs;
use std::path::Path;

use load::{Plan, Workload};
use results::units;
use toml::Spanned;
use wire::dialects::custom::{
    BadTemplate, Broadcast, Condition, CustomDialect, Exchange, Heartbeat, JsonScalar, OpenStep, Purpose,
    Reaction, Refusal, Template,
};

use crate::exit::Failure;
use file::{File, Frames, Step, When};
use source::Source;

/// A name may be as long as this.
const NAME_BYTES_MAX: usize = 40;

/// What a file says.
pub(crate) struct Described {
    /// The dialect.
    pub(crate) dialect: CustomDialect,
    /// The subprotocols that its clients offer.
    pub(crate) subprotocols: Vec<String>,
}

/// Whether the value of `--dialect` names a file.
pub(crate) fn is_file(dialect: &str) -> bool {
    dialect.ends_with(".toml")
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Described, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage("--dialect", format!("{} cannot be read: {error}", path.display()))
    })?;
    parse(path, &text)
}

/// Whether a run's dialect, if it is the user's own, has the messages that the run sends.
pub(crate) fn check_messages(plan: &Plan, scenario: &str) -> Result<(), Failure> {
    let Some(dialect) = &plan.speech.of_dialect.custom else { return Ok(()) };
    let (key, is_there) = match plan.workload {
        Workload::Echo => ("[echo]", dialect.echo.is_some()),
        Workload::Broadcast => ("[broadcast]", dialect.broadcast.is_some()),
    };
    // Connections that do nothing need no message.
    if is_there || scenario == "idle" {
        return Ok(());
    }
    Err(Failure::usage("--dialect", format!("{} has no {key}, which throng {scenario} sends", dialect.name)))
}

fn parse(path: &Path, text: &str) -> Result<Described, Failure> {
    let source = Source { path, text };
    let file: File = toml::from_str(text).map_err(|error| {
        let message =
            error.message().replace("unknown field", "unknown key").replace("missing field", "missing key");
        source.error(error.span().unwrap_or(0..0), message)
    })?;
    let data = match &file.data {
        None => data::Data::default(),
        Some(name) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            data::read(&folder.join(name.get_ref()), file.escape)?
        }
    };
    let checked = Checked { source: &source, columns: &data.columns };
    let mut dialect = checked.dialect(&file)?;
    dialect.data = data.rows;
    Ok(Described { dialect, subprotocols: file.subprotocols })
}

/// Turns the file's parts into the dialect's, or says what is wrong with them.
struct Checked<'a> {
    source: &'a Source<'a>,
    columns: &'a [String],
}

impl Checked<'_> {
    fn dialect(&self, file: &File) -> Result<CustomDialect, Failure> {
        let echo = file.echo.as_ref().map(|echo| self.echo(echo.get_ref())).transpose()?;
        let broadcast = file.broadcast.as_ref().map(|b| self.broadcast(b.get_ref())).transpose()?;
        if let (Some(Exchange { reply: None, .. }), Some(Broadcast { copy: None, .. }), Some(at)) =
            (&echo, &broadcast, &file.broadcast)
        {
            let problem = "with both [echo] and [broadcast], `reply` of the one or `copy` of the other is needed \
                           to tell their messages apart";
            return Err(self.source.error(at.span(), problem));
        }
        Ok(CustomDialect {
            name: self.name(file)?,
            binary: file.frames == Frames::Binary,
            open: file.open.iter().map(|step| self.step(step)).collect::<Result<_, _>>()?,
            echo,
            broadcast,
            errors: file.error.iter().map(|rule| self.refusal(rule)).collect::<Result<_, _>>()?,
            answers: file.answer.iter().map(|rule| self.reaction(rule)).collect::<Result<_, _>>()?,
            ignore: file.ignore.iter().map(|rule| self.condition(&rule.when)).collect::<Result<_, _>>()?,
            heartbeat: file.heartbeat.as_ref().map(|heartbeat| self.heartbeat(heartbeat)).transpose()?,
            ..CustomDialect::default()
        })
    }

    fn name(&self, file: &File) -> Result<String, Failure> {
        let Some(name) = &file.name else {
            let stem = self.source.path.file_stem().unwrap_or_default();
            return Ok(stem.to_string_lossy().into_owned());
        };
        let is_sound = (1..=NAME_BYTES_MAX).contains(&name.get_ref().len())
            && name.get_ref().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if is_sound {
            return Ok(name.get_ref().clone());
        }
        Err(self.wrong(name, format!("expected letters, digits, -, _ and ., at most {NAME_BYTES_MAX}")))
    }

    fn step(&self, step: &Spanned<Step>) -> Result<OpenStep, Failure> {
        match step.get_ref() {
            Step { send: Some(text), expect: None, wait: None } => {
                Ok(OpenStep::Send(self.template(text, Purpose::Other)?))
            }
            Step { send: None, expect: Some(when), wait: None } => {
                Ok(OpenStep::Expect(self.condition(when)?))
            }
            Step { send: None, expect: None, wait: Some(time) } => Ok(OpenStep::Wait(self.duration(time)?)),
            _ => Err(self.wrong(step, "expected exactly one of `send`, `expect` and `wait` in a step")),
        }
    }

    fn echo(&self, echo: &file::Echo) -> Result<Exchange, Failure> {
        Ok(Exchange {
            send: self.template(&echo.send, Purpose::Measured)?,
            reply: self.optional(&echo.reply)?,
        })
    }

    fn broadcast(&self, broadcast: &file::Broadcast) -> Result<Broadcast, Failure> {
        Ok(Broadcast {
            send: self.template(&broadcast.send, Purpose::Measured)?,
            copy: self.optional(&broadcast.copy)?,
            own: self.optional(&broadcast.own)?,
            ack: self.optional(&broadcast.ack)?,
        })
    }

    fn refusal(&self, rule: &file::ErrorRule) -> Result<Refusal, Failure> {
        let kind = rule.kind.get_ref();
        let is_sound = (1..=NAME_BYTES_MAX).contains(&kind.len())
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_sound {
            let problem = format!("expected lower-case letters, digits and _, at most {NAME_BYTES_MAX}");
            return Err(self.wrong(&rule.kind, problem));
        }
        Ok(Refusal { kind: kind.clone(), when: self.condition(&rule.when)? })
    }

    fn reaction(&self, rule: &file::AnswerRule) -> Result<Reaction, Failure> {
        Ok(Reaction { when: self.condition(&rule.when)?, send: self.template(&rule.send, Purpose::Other)? })
    }

    fn heartbeat(&self, heartbeat: &file::Heartbeat) -> Result<Heartbeat, Failure> {
        Ok(Heartbeat {
            every_ns: self.duration(&heartbeat.every)?,
            send: self.template(&heartbeat.send, Purpose::Other)?,
        })
    }

    fn optional(&self, when: &Option<Spanned<When>>) -> Result<Option<Condition>, Failure> {
        when.as_ref().map(|when| self.condition(when)).transpose()
    }

    fn condition(&self, when: &Spanned<When>) -> Result<Condition, Failure> {
        let When { contains, regex, json } = when.get_ref();
        let scalar =
            |(pointer, value): (&String, &Spanned<toml::Value>)| Ok((pointer.clone(), self.scalar(value)?));
        let condition = Condition {
            contains: contains.clone(),
            regex: regex.clone(),
            json: json.iter().map(scalar).collect::<Result<_, _>>()?,
        };
        condition.check().map_err(|bad| self.wrong(when, bad))?;
        Ok(condition)
    }

    fn scalar(&self, value: &Spanned<toml::Value>) -> Result<JsonScalar, Failure> {
        Ok(match value.get_ref() {
            toml::Value::String(text) => JsonScalar::Text(text.clone()),
            toml::Value::Integer(number) => JsonScalar::Bare(number.to_string()),
            toml::Value::Float(number) if number.is_finite() => JsonScalar::Bare(number.to_string()),
            toml::Value::Boolean(word) => JsonScalar::Bare(word.to_string()),
            _ => return Err(self.wrong(value, "expected a string, a number, true or false")),
        })
    }

    fn template(&self, text: &Spanned<String>, purpose: Purpose) -> Result<Template, Failure> {
        Template::parse(text.get_ref(), purpose, self.columns).map_err(|bad| match &bad {
            BadTemplate::Unknown { at, .. } => {
                let name = &text.get_ref()[at.clone()];
                let hint = if name.starts_with("{data.") && self.columns.is_empty() {
                    "; `data` names no CSV file"
                } else {
                    ""
                };
                self.wrong(text, format!("{name}: {bad}{hint}"))
            }
            BadTemplate::NoId => self.wrong(text, bad),
        })
    }

    /// A time that is not nothing.
    fn duration(&self, text: &Spanned<String>) -> Result<u64, Failure> {
        match units::duration_ns(text.get_ref()) {
            Ok(0) => Err(self.wrong(text, "must be longer than 0")),
            Ok(ns) => Ok(ns),
            Err(error) => Err(self.wrong(text, error)),
        }
    }

    fn wrong<T>(&self, at: &Spanned<T>, problem: impl Display) -> Failure {
        self.source.error(at.span(), problem)
    }
}

#[cfg(test)]
mod tests;
