//! A user's own dialect, ready for use.

use super::matcher::{BadCondition, Matcher};
use super::spec::{CustomDialect, OpenStep, Reaction, Refusal};
use super::template::Template;
use crate::event::{Rejection, Role};

/// A [`CustomDialect`], compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(super) open: Vec<Step>,
    pub(super) echo: Option<Template>,
    pub(super) broadcast: Option<Template>,
    /// What a message with an id may be, in the order in which that is found out.
    pub(super) roles: Vec<(Matcher, Role)>,
    /// What it is when nothing else fits.
    pub(super) other_role: Option<Role>,
    pub(super) refusals: Vec<(Matcher, Rejection)>,
    pub(super) answers: Vec<(Matcher, Template)>,
    pub(super) ignore: Vec<Matcher>,
}

#[derive(Debug)]
pub(super) enum Step {
    Send(Template),
    Expect(Matcher),
    Wait(u64),
}

/// Compiles the description, for messages with so much padding.
pub(super) fn compile(dialect: &CustomDialect, padding: usize) -> Result<Compiled, BadCondition> {
    let step = |step: &OpenStep| {
        Ok(match step {
            OpenStep::Send(template) => Step::Send(template.padded(padding)),
            OpenStep::Expect(condition) => Step::Expect(Matcher::new(condition)?),
            OpenStep::Wait(ns) => Step::Wait(*ns),
        })
    };
    let (echo, broadcast) = (dialect.echo.as_ref(), dialect.broadcast.as_ref());
    let conditions = [
        (broadcast.and_then(|b| b.ack.as_ref()), Role::Ack),
        (echo.and_then(|e| e.reply.as_ref()), Role::Echo),
        (broadcast.and_then(|b| b.own.as_ref()), Role::Copy),
        (broadcast.and_then(|b| b.copy.as_ref()), Role::Copy),
    ];
    let roles = conditions.into_iter().filter_map(|(condition, role)| Some((condition?, role)));
    let any_reply = echo.is_some_and(|e| e.reply.is_none()).then_some(Role::Echo);
    let any_copy = broadcast.is_some_and(|b| b.copy.is_none()).then_some(Role::Copy);
    let refusal = |refusal: &Refusal| {
        Ok((Matcher::new(&refusal.when)?, Rejection::named(&format!("rejected_{}", refusal.kind))))
    };
    let answer = |answer: &Reaction| Ok((Matcher::new(&answer.when)?, answer.send.clone()));
    Ok(Compiled {
        open: dialect.open.iter().map(step).collect::<Result<_, _>>()?,
        echo: echo.map(|echo| echo.send.padded(padding)),
        broadcast: broadcast.map(|broadcast| broadcast.send.padded(padding)),
        roles: roles.map(|(c, role)| Ok((Matcher::new(c)?, role))).collect::<Result<_, _>>()?,
        other_role: any_reply.or(any_copy),
        refusals: dialect.errors.iter().map(refusal).collect::<Result<_, _>>()?,
        answers: dialect.answers.iter().map(answer).collect::<Result<_, _>>()?,
        ignore: dialect.ignore.iter().map(Matcher::new).collect::<Result<_, _>>()?,
    })
}
