//! Apps: the messages that are measured, and how incoming ones are judged.
//!
//! [`bench`] is the seeds' own; a file describes any other ([`file`]). An app knows nothing of how its
//! messages are carried: it is given what a protocol has taken the envelope off, and what the protocol knows
//! of it.

pub(crate) mod bench;
pub(crate) mod file;

use app::people::Mix;
use app::template::{ClientContext, Kept};
use app::{Acks, Kind};
use bench::Bench;
use codec::Stamp;
use file::CompiledApp;

use crate::carried::{AppMessage, Arrival};
use crate::event::Event;
use crate::pending::Pending;
use crate::resumption::Resumption;

/// Whichever app a run's clients speak.
#[derive(Debug)]
pub(crate) enum App {
    /// The seeds' benchmark.
    Bench(Bench),
    /// A user's own.
    File(Box<CompiledApp>),
}

/// How far a client has come in a user's own app, what it waits for, and what it has to say once.
#[derive(Debug, Default)]
pub(crate) struct AppProgress {
    pub(crate) script: file::Script,
    pub(crate) pending: Pending,
    /// The values the client was given before, as long as it may have to be said.
    pub(crate) given: Option<Box<ClientValues>>,
}

impl AppProgress {
    /// The progress of a client whose app has no script, but a login whose values are kept.
    pub(crate) fn through() -> Box<AppProgress> {
        Box::new(AppProgress { script: file::Script::through(), ..AppProgress::default() })
    }
}

/// Values a client was given.
#[derive(Debug, Default)]
pub(crate) struct ClientValues {
    /// At its login, and in messages.
    pub(crate) kept: Kept,
    /// By the session that it is to go on with.
    pub(crate) resumption: Option<Box<Resumption>>,
}

impl ClientValues {
    /// Frees what need not be said again, but for the cookies of a client that does not get others at its
    /// next login.
    pub(crate) fn free(given: &mut Option<Box<ClientValues>>, logs_in: bool) {
        let cookies =
            given.take().map(|given| given.kept.cookies).filter(|cookies| !cookies.is_empty() && !logs_in);
        let kept = cookies.map(|cookies| Kept { cookies, ..Kept::default() });
        *given = kept.map(|kept| ClientValues { kept, resumption: None }.into());
    }
}

impl App {
    /// The measured messages up to what varies: the echo, or each kind of broadcasts.
    pub(crate) fn utterances(&self, kind: Kind) -> Vec<AppMessage<'_>> {
        match self {
            App::Bench(bench) => bench.app_message(kind).into_iter().collect(),
            App::File(app) => app.utterances(kind),
        }
    }

    /// The share that each kind of broadcasts has of all.
    pub(crate) fn mix(&self) -> Mix {
        match self {
            App::Bench(_) => Mix::default(),
            App::File(app) => app.written().mix(),
        }
    }

    /// The wall clock that the message with this stamp shows, if that is known.
    #[inline]
    pub(crate) fn unix_ns_of(&self, stamp: Stamp) -> Option<u64> {
        match self {
            App::Bench(bench) => bench.expected().unix_ns_of(stamp),
            App::File(_) => None,
        }
    }

    /// The ending of the message with this stamp, where they end with something in turn.
    #[inline]
    pub(crate) fn tail_of(&self, stamp: &Stamp) -> &[u8] {
        match self {
            App::Bench(bench) => bench.expected().tail_of(stamp),
            App::File(_) => b"",
        }
    }

    /// Broadcasts that are acknowledged apart from the sender's copy; `None`: as the protocol's own servers
    /// do.
    pub(crate) fn acks(&self) -> Option<Acks> {
        match self {
            App::Bench(_) => None,
            App::File(app) => Some(app.written().acks()),
        }
    }

    /// The place in it of a client that is new, where there is something to keep.
    pub(crate) fn place(&self) -> Option<Box<AppProgress>> {
        self.has_places().then(Box::default)
    }

    /// Returns whether there is something to keep of each client for as long as its session lasts.
    pub(crate) fn has_places(&self) -> bool {
        matches!(self, App::File(app) if app.has_script())
    }

    /// Prepares a client that is about to connect: puts what it goes on from at hand.
    pub(crate) fn go_on(&self, progress: &mut Option<Box<AppProgress>>) {
        let (App::File(app), Some(progress)) = (self, progress) else { return };
        if app.is_resumed() {
            let AppProgress { script, given, .. } = &mut **progress;
            let ClientValues { kept, resumption } = &mut **given.get_or_insert_default();
            let heard = resumption.as_mut().map(|before| std::mem::take(&mut before.heard));
            app.go_on(heard.filter(|heard| !heard.is_empty()), script, &mut kept.values);
        }
    }

    /// Tells what a message that came in to `client` is: nothing, if it does not matter. `script` is there
    /// where the app has one.
    #[inline(always)]
    pub(crate) fn judge(
        &self,
        arrival: &Arrival<'_>,
        client: ClientContext<'_>,
        script: Option<&mut file::Script>,
        on: &mut impl FnMut(Event),
    ) {
        match (self, script) {
            (App::Bench(bench), _) => {
                if let Some(event) = bench.judge(arrival) {
                    on(event);
                }
            }
            (App::File(app), Some(script)) => app.judge(arrival, &client, script, on),
            (App::File(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_without_login_keep_little() {
        assert!(size_of::<AppProgress>() <= 64, "{} bytes", size_of::<AppProgress>());
        assert!(size_of::<ClientValues>() <= 40, "{} bytes, besides what is kept", size_of::<ClientValues>());
    }
}
