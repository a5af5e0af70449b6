//! A client's WebSocket with what is spoken on it, and its place in its app.

use app::template::{Kept, Mark};
use codec::Stamp;
use codec::ws::receiver::{Incoming, Receiver};
use codec::ws::sender::Sender;

use super::series::SeriesOutcome;
use crate::apps::file::Script;
use crate::apps::{App, AppProgress, ClientValues};
use crate::carried::{MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::config::{Config, SeriesOf};
use crate::event::Event;
use crate::failure::Failure;
use crate::io::Io;
use crate::opening::Socket;
use crate::pending::Pending;
use crate::registry::clients::{ClientState, LinkContext};

/// A WebSocket, and what is spoken on it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) receiver: Receiver,
    pub(super) sender: Sender,
    pub(super) protocol: ClientState,
}

/// The client and the moment, for a session.
pub(super) struct SessionContext<'a> {
    pub(super) cfg: &'a Config,
    pub(super) now_ns: u64,
    pub(super) place: &'a mut Option<Box<AppProgress>>,
}

impl<'a> SessionContext<'a> {
    /// The next message of the app's script, which message on its connection that is, and what announces the
    /// client in it. Once the client is usable, what it was given is freed, unless it has to be said again.
    pub(super) fn poll(
        &mut self,
        on: &mut impl FnMut(Event),
    ) -> Option<(&'a MessageTemplate, u32, Option<Stamp>)> {
        let (Some(place), App::File(app)) = (&mut *self.place, &self.cfg.app) else { return None };
        let AppProgress { script, given, .. } = &mut **place;
        // Before the next message is made, which may have the values in it.
        for (number, value) in script.take_kept() {
            given.get_or_insert_default().kept.values.set(number, &value);
        }
        let (frees, logs_in) = (!self.cfg.keeps_login, self.cfg.login.is_some());
        let message_template = app.poll(script, self.now_ns, &mut |event| {
            // For a hundred thousand clients that were logged in, this is memory that the run has no use for.
            if frees && event == Event::Usable {
                ClientValues::free(given, logs_in);
            }
            on(event);
        })?;
        Some((message_template, script.next(), script.announced()))
    }
}

/// A client's script, its pending messages, and the values of its login. A client that has only cookies has
/// no script and no pending messages.
#[inline]
pub(super) fn split<'a>(
    app: &App,
    place: &'a mut Option<Box<AppProgress>>,
) -> (Option<&'a mut Script>, Option<&'a mut Pending>, &'a Kept) {
    match place {
        None => (None, None, Kept::NOTHING),
        Some(place) => {
            let kept = place.given.as_ref().map_or(Kept::NOTHING, |given| &given.kept);
            let of_app = app.has_places().then_some((&mut place.script, &mut place.pending));
            let (script, pending) = of_app.unzip();
            (script, pending, kept)
        }
    }
}

/// Understands what the protocol tells as the app does.
pub(super) struct AppHandler<'a, F> {
    pub(super) cfg: &'a Config,
    /// The client's number in the run.
    pub(super) client: u32,
    pub(super) kept: &'a Kept,
    pub(super) script: Option<&'a mut Script>,
    pub(super) on: &'a mut F,
}

impl<F: FnMut(Event)> ProtocolHandler for AppHandler<'_, F> {
    #[inline(always)]
    fn handle(&mut self, event: ProtocolEvent<'_>) {
        match event {
            ProtocolEvent::Arrival(arrival) => {
                // At no time: what messages are compared with does not depend on it.
                let client = self.cfg.common.identities.context(self.client, 0, self.kept);
                self.cfg.app.judge(&arrival, client, self.script.as_deref_mut(), self.on);
            }
            ProtocolEvent::Event(event) => (self.on)(event),
            ProtocolEvent::Ready => match &mut self.script {
                None => (self.on)(Event::Usable),
                Some(script) => script.handle_ready(),
            },
        }
    }
}

/// The handler of a protocol over requests, where one message of the protocol's stands for a frame.
pub(super) struct UnitHandler<'a, F> {
    handler: AppHandler<'a, F>,
    /// Messages of the frame so far.
    meant: SeriesOutcome,
    /// True if the protocol has said that its next message goes on with the frame.
    goes_on: bool,
}

impl<'a, F> UnitHandler<'a, F> {
    pub(super) fn new(handler: AppHandler<'a, F>) -> Self {
        Self { handler, meant: SeriesOutcome::default(), goes_on: false }
    }
}

impl<F: FnMut(Event)> ProtocolHandler for UnitHandler<'_, F> {
    fn handle(&mut self, event: ProtocolEvent<'_>) {
        // Not passed on: of messages that the app ignores, none is in the frame of another.
        if matches!(event, ProtocolEvent::Event(Event::SameFrame)) {
            self.goes_on = true;
            return;
        }
        if !std::mem::take(&mut self.goes_on) {
            self.meant = SeriesOutcome::default();
        }
        let meant = &mut self.meant;
        let AppHandler { cfg, client, kept, script, on } = &mut self.handler;
        let on = &mut |event| {
            if meant.handle(event) {
                on(Event::SameFrame);
            }
            on(event);
        };
        AppHandler { cfg, client: *client, kept, script: script.as_deref_mut(), on }.handle(event);
    }
}

impl Session {
    pub(super) fn on(Socket { receiver, sender }: Socket, protocol: ClientState) -> Session {
        Session { receiver, sender, protocol }
    }

    pub(super) fn handle_upgraded(
        &mut self,
        context: &mut SessionContext<'_>,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) {
        let SessionContext { cfg, now_ns, .. } = *context;
        let (script, pending, kept) = split(&cfg.app, context.place);
        let handler = &mut AppHandler { cfg, client: io.client(), kept, script, on };
        let link_context = LinkContext {
            pending,
            identities: &cfg.common.identities,
            kept,
            now_ns,
            sender: &mut self.sender,
            io,
        };
        self.protocol.handle_upgraded(&cfg.parts, link_context, handler);
        self.speak(context, io, on);
    }

    /// Sends the messages of the app's script that are due.
    pub(super) fn speak(
        &mut self,
        context: &mut SessionContext<'_>,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) {
        let SessionContext { cfg, now_ns, .. } = *context;
        while let Some((message_template, seq, announced)) = context.poll(on) {
            let (_, pending, kept) = split(&cfg.app, context.place);
            let filling =
                cfg.filling(Mark::of(announced.as_ref()), seq, cfg.common.context(io, now_ns, kept));
            let link_context = LinkContext {
                pending,
                identities: &cfg.common.identities,
                kept,
                now_ns,
                sender: &mut self.sender,
                io,
            };
            self.protocol.send(&cfg.parts, link_context, message_template, &filling);
        }
    }

    #[inline]
    pub(super) fn handle_input(
        &mut self,
        context: &mut SessionContext<'_>,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let SessionContext { cfg, now_ns, .. } = *context;
        let series = cfg.series();
        loop {
            let Session { receiver, sender, protocol } = self;
            // Known before the frame is read: a frame whose beginning came earlier cannot be compared with
            // what is behind it.
            let (before, is_whole, mut meant) = (input, receiver.begins_plain(), SeriesOutcome::default());
            let handled = match receiver.next(&cfg.options().limits, sender, io, &mut input) {
                Ok(None) => return Ok(()),
                Ok(Some(Incoming::Message(message))) => {
                    let (script, pending, kept) = split(&cfg.app, context.place);
                    let on = &mut |event| {
                        if meant.handle(event) {
                            on(Event::SameFrame);
                        }
                        on(event);
                    };
                    let handler = &mut AppHandler { cfg, client: io.client(), kept, script, on };
                    let link_context =
                        LinkContext { pending, identities: &cfg.common.identities, kept, now_ns, sender, io };
                    protocol.handle_message(&cfg.parts, link_context, &message, handler)
                }
                Ok(Some(Incoming::Control)) => Ok(()),
                Ok(Some(Incoming::Closed { code })) => {
                    on(Event::Closed { code });
                    Ok(())
                }
                Err(error) => Err(error.into()),
            };
            handled.inspect_err(|&failure| sender.fail(io, failure.close_code()))?;
            // Behind the first echo of a portion there often are more, which differ in their stamps alone.
            if let (Some(SeriesOf { spot, .. }), true, false) = (series, is_whole, input.is_empty()) {
                let frame = &before[..before.len() - input.len()];
                if let Some(series) = meant.take(frame, spot, &mut input) {
                    on(series);
                }
            }
            if context.place.is_some() {
                self.speak(context, io, on);
            }
        }
    }
}
