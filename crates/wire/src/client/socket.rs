//! A client's WebSocket with what is spoken on it, and its place in its app.

use super::series::Meant;
use crate::apps::file::Script;
use crate::apps::{App, Place};
use crate::carried::{Carried, Hears, Letter};
use crate::config::{Config, SeriesOf};
use crate::event::Event;
use crate::failure::Failure;
use crate::io::Io;
use crate::opening::Socket;
use crate::pending::Pending;
use crate::registry::clients::{ClientState, Through};
use crate::stamp::Stamp;
use crate::template::{Kept, Mark};
use crate::ws::receiver::{Incoming, Receiver};
use crate::ws::sender::Sender;

/// A WebSocket, and what is spoken on it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) receiver: Receiver,
    pub(super) sender: Sender,
    pub(super) protocol: ClientState,
}

/// What a session needs to know of its client, and of the moment.
pub(super) struct Around<'a> {
    pub(super) cfg: &'a Config,
    pub(super) now_ns: u64,
    pub(super) place: &'a mut Option<Box<Place>>,
}

impl<'a> Around<'a> {
    /// What the app's script has to say next, which message on its connection that is, and what announces the client in it. Once
    /// the client is usable, what it was given is freed, unless it has to be said again.
    pub(super) fn poll(&mut self, on: &mut impl FnMut(Event)) -> Option<(&'a Letter, u32, Option<Stamp>)> {
        let (Some(place), App::File(app)) = (&mut *self.place, &self.cfg.app) else { return None };
        let Place { script, given, .. } = &mut **place;
        for (number, value) in script.take_kept() {
            given.get_or_insert_default().kept.values.set(number, &value);
        }
        let frees = !self.cfg.keeps_login;
        let letter = app.poll(script, self.now_ns, &mut |event| {
            if frees && event == Event::Usable {
                *given = None;
            }
            on(event);
        })?;
        Some((letter, script.next(), script.announced()))
    }
}

/// What the app keeps of a client, what the protocol keeps of the app's messages, and what the client was given at its login.
#[inline]
pub(super) fn split(place: &mut Option<Box<Place>>) -> (Option<&mut Script>, Option<&mut Pending>, &Kept) {
    match place {
        None => (None, None, Kept::NOTHING),
        Some(place) => {
            let kept = place.given.as_ref().map_or(Kept::NOTHING, |given| &given.kept);
            (Some(&mut place.script), Some(&mut place.pending), kept)
        }
    }
}

/// Understands what the protocol tells as the app does.
pub(super) struct Ear<'a, F> {
    pub(super) cfg: &'a Config,
    pub(super) script: Option<&'a mut Script>,
    pub(super) on: &'a mut F,
}

impl<F: FnMut(Event)> Hears for Ear<'_, F> {
    #[inline(always)]
    fn hear(&mut self, carried: Carried<'_>) {
        match carried {
            Carried::Arrival(arrival) => {
                self.cfg.app.judge(&arrival, self.script.as_deref_mut(), self.on);
            }
            Carried::Event(event) => (self.on)(event),
            Carried::Ready => match &mut self.script {
                None => (self.on)(Event::Usable),
                Some(script) => script.handle_ready(),
            },
        }
    }
}

impl Session {
    pub(super) fn on(Socket { receiver, sender }: Socket, protocol: ClientState) -> Session {
        Session { receiver, sender, protocol }
    }

    pub(super) fn handle_upgraded(
        &mut self,
        around: &mut Around<'_>,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) {
        let Around { cfg, now_ns, .. } = *around;
        let (script, pending, kept) = split(around.place);
        let hear = &mut Ear { cfg, script, on };
        let through = Through { pending, roll: &cfg.common.roll, kept, now_ns, sender: &mut self.sender, io };
        self.protocol.handle_upgraded(&cfg.parts, through, hear);
        self.speak(around, io, on);
    }

    /// Says what the app's script has to say.
    pub(super) fn speak(&mut self, around: &mut Around<'_>, io: &mut impl Io, on: &mut impl FnMut(Event)) {
        let Around { cfg, now_ns, .. } = *around;
        while let Some((letter, seq, announced)) = around.poll(on) {
            let (_, pending, kept) = split(around.place);
            let filling = cfg.filling(Mark::of(announced.as_ref()), seq, cfg.common.who(io, now_ns, kept));
            let through =
                Through { pending, roll: &cfg.common.roll, kept, now_ns, sender: &mut self.sender, io };
            self.protocol.send(&cfg.parts, through, letter, &filling);
        }
    }

    #[inline]
    pub(super) fn handle_input(
        &mut self,
        around: &mut Around<'_>,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let Around { cfg, now_ns, .. } = *around;
        let series = cfg.series();
        loop {
            let Session { receiver, sender, protocol } = self;
            let (before, is_whole, mut meant) = (input, receiver.begins_plain(), Meant::default());
            let handled = match receiver.next(&cfg.options().limits, sender, io, &mut input) {
                Ok(None) => return Ok(()),
                Ok(Some(Incoming::Message(message))) => {
                    let (script, pending, kept) = split(around.place);
                    let on = &mut |event| {
                        if meant.handle(event) {
                            on(Event::SameFrame);
                        }
                        on(event);
                    };
                    let hear = &mut Ear { cfg, script, on };
                    let through = Through { pending, roll: &cfg.common.roll, kept, now_ns, sender, io };
                    protocol.handle_message(&cfg.parts, through, &message, hear)
                }
                Ok(Some(Incoming::Control)) => Ok(()),
                Ok(Some(Incoming::Closed { code })) => {
                    on(Event::Closed { code });
                    Ok(())
                }
                Err(failure) => Err(failure),
            };
            handled.inspect_err(|&failure| sender.fail(io, failure))?;
            if let (Some(SeriesOf { spot, .. }), true, false) = (series, is_whole, input.is_empty()) {
                let frame = &before[..before.len() - input.len()];
                if let Some(series) = meant.take(frame, spot, &mut input) {
                    on(series);
                }
            }
            if around.place.is_some() {
                self.speak(around, io, on);
            }
        }
    }
}
