//! The client's side.

use super::compiled::Step;
use super::template::{Filling, Mark, Template};
use crate::dialects::contract::{ClientDialect, Link};
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::io::Io;
use crate::stamp::{self, Found, Stamp};
use crate::ws::receiver::Message;

/// The step of a client that has come through its opening.
const USABLE: u16 = u16::MAX;

/// One connection's side.
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
