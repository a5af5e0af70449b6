//! A user's own dialect, as a [`CustomDialect`] describes it. There is a client's side only: the server is theirs.
//!
//! ```text
//! opening --a step's turn: said, come in, waited for--> its next step
//! opening --no step is left--> usable
//! usable --every so often--> a heartbeat
//! ```
//!
//! A message that carries an id is classified by the conditions given for answers and copies. Every other, and
//! those that none of them fits, is in this order: a refusal, something to be answered, what the opening waits for,
//! something to be ignored, and unrecognised.

mod matcher;
mod pointer;
mod spec;
mod template;

pub use matcher::BadCondition;
pub use pointer::POINTER_DEPTH_MAX;
pub use spec::{
    Broadcast, Condition, CustomDialect, Exchange, Heartbeat, JsonScalar, OPEN_STEPS_MAX, OpenStep, Reaction,
    Refusal, Table,
};
pub use template::{BadTemplate, Purpose, Template};

use matcher::Matcher;
use template::{Filling, Mark};

use super::{ClientDialect, Link, Parts};
use crate::config::{BadOption, Options};
use crate::event::{Event, Kind, Rejection, Role};
use crate::failure::Failure;
use crate::io::Io;
use crate::stamp::{self, Found, Stamp};
use crate::ws::receiver::Message;

pub(crate) use super::family::Server;

/// The step of a client that has come through its opening.
const USABLE: u16 = u16::MAX;

/// A [`CustomDialect`], compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    open: Vec<Step>,
    echo: Option<Template>,
    broadcast: Option<Template>,
    /// What a message with an id may be, in the order in which that is found out.
    roles: Vec<(Matcher, Role)>,
    /// What it is when nothing else fits.
    other_role: Option<Role>,
    refusals: Vec<(Matcher, Rejection)>,
    answers: Vec<(Matcher, Template)>,
    ignore: Vec<Matcher>,
}

#[derive(Debug)]
enum Step {
    Send(Template),
    Expect(Matcher),
    Wait(u64),
}

impl CustomDialect {
    /// Whether the sender of a broadcast gets an acknowledgement beside its own copy.
    pub(crate) fn has_ack(&self) -> bool {
        self.broadcast.as_ref().is_some_and(|broadcast| broadcast.ack.is_some())
    }
}

/// Compiles the description among the options.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let bad = |expected| BadOption::OfDialect { option: "custom", expected };
    let dialect = options.of_dialect.custom.as_deref();
    let dialect = dialect.ok_or(bad("the TOML file that describes the dialect"))?;
    if dialect.open.len() > OPEN_STEPS_MAX {
        return Err(bad("fewer steps to open with"));
    }
    let padding = options.payload.padding.unwrap_or(0) as usize;
    let max = options.limits.message_bytes_max;
    let echo = dialect.echo.as_ref().map(|echo| &echo.send);
    let broadcast = dialect.broadcast.as_ref().map(|broadcast| &broadcast.send);
    if echo.into_iter().chain(broadcast).any(|message| message.bytes_max(padding) > max) {
        return Err(BadOption::PayloadSize { min: 0, max: u32::try_from(max).unwrap_or(u32::MAX) });
    }
    let compiled = compile(dialect, padding).map_err(|_| bad("conditions that can be used"))?;
    Ok(Parts { custom: Some(Box::new(compiled)), ..Parts::default() })
}

fn compile(dialect: &CustomDialect, padding: usize) -> Result<Compiled, BadCondition> {
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

/// The client's side.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// The step of the opening that is under way; [`USABLE`] after the last.
    step: u16,
    /// Messages said so far.
    said: u32,
    /// When a wait is over, or the next heartbeat is due; 0: never.
    wake_ns: u64,
}

impl ClientDialect for Client {
    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, I>, on: &mut impl FnMut(Event)) {
        self.proceed(link, on);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let payload = message.bytes()?;
        let bytes = message.wire_bytes;
        let compiled = link.cfg.custom();
        match stamp::find(payload) {
            Found::Corrupt => on(Event::Corrupt { bytes }),
            Found::At { stamp, .. } => match compiled.roles.iter().find(|(m, _)| m.matches(payload)) {
                Some(&(_, role)) => on(Event::Message { role, stamp, bytes }),
                None => self.handle_other(link, payload, Some(stamp), bytes, on),
            },
            Found::None => self.handle_other(link, payload, None, bytes, on),
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        let compiled = link.cfg.custom();
        let template = match kind {
            Kind::Echo => &compiled.echo,
            Kind::Broadcast => &compiled.broadcast,
        };
        let template = template.as_ref().expect("the dialect has this kind of message");
        self.say(link, template, Mark { stamp, unix_ns });
    }

    fn is_usable(&self) -> bool {
        self.step == USABLE
    }

    fn poll_timeout(&self) -> Option<u64> {
        (self.wake_ns != 0).then_some(self.wake_ns)
    }

    fn handle_timeout<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if self.wake_ns == 0 || link.now_ns < self.wake_ns {
            return Ok(());
        }
        if self.step != USABLE {
            self.wake_ns = 0;
            self.step += 1;
            self.proceed(link, on);
        } else if let Some(heartbeat) = &link.cfg.custom_dialect().heartbeat {
            self.wake_ns = link.now_ns + heartbeat.every_ns;
            self.say(link, &heartbeat.send, Mark::NONE);
        }
        Ok(())
    }
}

impl Client {
    /// Goes through the opening as far as it goes without waiting.
    fn proceed<I: Io>(&mut self, link: &mut Link<'_, I>, on: &mut impl FnMut(Event)) {
        loop {
            match link.cfg.custom().open.get(usize::from(self.step)) {
                Some(Step::Send(template)) => self.say(link, template, Mark::NONE),
                Some(Step::Expect(_)) => return,
                Some(Step::Wait(ns)) => return self.wake_ns = link.now_ns + ns,
                None => break,
            }
            self.step += 1;
        }
        self.step = USABLE;
        let heartbeat = link.cfg.custom_dialect().heartbeat.as_ref();
        self.wake_ns = heartbeat.map_or(0, |heartbeat| link.now_ns + heartbeat.every_ns);
        on(Event::Usable);
    }

    /// A message that no condition on messages with an id fits.
    fn handle_other<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        payload: &[u8],
        stamp: Option<Stamp>,
        bytes: u32,
        on: &mut impl FnMut(Event),
    ) {
        let compiled = link.cfg.custom();
        if let Some(&(_, rejection)) = compiled.refusals.iter().find(|(m, _)| m.matches(payload)) {
            return on(Event::Rejected(rejection));
        }
        if let Some((_, answer)) = compiled.answers.iter().find(|(m, _)| m.matches(payload)) {
            return self.say(link, answer, Mark::NONE);
        }
        if let Some(Step::Expect(expected)) = compiled.open.get(usize::from(self.step))
            && expected.matches(payload)
        {
            self.step += 1;
            return self.proceed(link, on);
        }
        if compiled.ignore.iter().any(|m| m.matches(payload)) {
            return;
        }
        on(match (stamp, compiled.other_role) {
            (Some(stamp), Some(role)) => Event::Message { role, stamp, bytes },
            _ => Event::Foreign { bytes },
        });
    }

    fn say<I: Io>(&mut self, link: &mut Link<'_, I>, template: &Template, mark: Mark) {
        self.said = self.said.wrapping_add(1);
        let dialect = link.cfg.custom_dialect();
        let filling = Filling { client: link.client, seq: self.said, data: &dialect.data, mark };
        link.sender.message(link.io, !dialect.binary, |out| template.write(out, &filling));
    }
}
