//! Sessions and cookies that a client takes along from one connection to the next.

use app::template::Kept;
use codec::http::cookies::Cookies;

use super::{Client, State};
use crate::apps::{App, AppProgress, ClientValues};
use crate::backoff::Reconnection;
use crate::config::Config;
use crate::resumption::Resumption;

impl Client {
    /// A client that resumes the session of another whose connection is lost, if the server lets it.
    pub fn resuming(resumption: Resumption) -> Client {
        let kept = Kept { cookies: resumption.cookies.clone(), ..Kept::default() };
        let given = ClientValues { kept, resumption: Some(resumption.into()) };
        let place = AppProgress { given: Some(Box::new(given)), ..AppProgress::default() };
        Client { place: Some(Box::new(place)), ..Client::default() }
    }

    /// Returns whether a resumed session would have nothing to go on from: it has heard nothing yet, or what it
    /// has heard last, such as a history, does not tell how far it has come.
    pub fn lacks_place(&self, cfg: &Config) -> bool {
        let Client { state, place } = self.speaker();
        if let State::Requesting(protocol) = state
            && protocol.lacks_place()
        {
            return true;
        }
        let App::File(app) = &cfg.app else { return false };
        // Also where the file has a `first`: that is where the client began, and by now it has missed more.
        app.written().resume.is_some() && place.as_ref().is_none_or(|place| place.script.is_unplaced())
    }

    /// The resumption of this client's session over another connection, if its protocol has a way. Without
    /// `goes_on`, it has the cookies alone: a browser keeps them for a new session, too.
    pub fn resumption(&self, goes_on: bool) -> Option<Resumption> {
        let session = goes_on.then(|| self.session_resumption()).flatten();
        let cookies = self.cookies();
        match cookies.is_empty() {
            true => session,
            false => Some(Resumption { cookies, ..session.unwrap_or_default() }),
        }
    }

    fn session_resumption(&self) -> Option<Resumption> {
        let Client { state, place } = self.speaker();
        let place = place.as_ref();
        let known = match state {
            State::Open(session) => session.protocol.resumption().cloned(),
            State::Requesting(protocol) => protocol.resumption(),
            // Lost before it could resume: what it was given is still good for the next try.
            _ => place.and_then(|place| place.given.as_ref()?.resumption.as_deref()).cloned(),
        };
        match place.and_then(|place| place.script.heard()) {
            None => known,
            Some(heard) => Some(Resumption { heard: heard.clone(), ..known.unwrap_or_default() }),
        }
    }

    /// The server's word on when this client may come back after its connection.
    pub fn reconnection(&self) -> Reconnection {
        match &self.speaker().state {
            State::Requesting(protocol) => protocol.reconnection(),
            State::Failed(reconnection) => *reconnection,
            _ => Reconnection::Usual,
        }
    }

    /// The cookies that the server has set so far.
    pub(super) fn cookies(&self) -> Cookies {
        let Client { state, place } = self.speaker();
        match state {
            State::Requesting(protocol) => protocol.cookies().clone(),
            _ => match place.as_ref().and_then(|place| place.given.as_ref()) {
                Some(given) => given.kept.cookies.clone(),
                None => Cookies::NONE,
            },
        }
    }

    /// Shrinks the client's state once its connection is open: where the app keeps nothing of a client, only
    /// its cookies are left, or nothing.
    pub(super) fn shrink_place(&mut self, cfg: &Config) {
        if cfg.app.has_places() {
            return;
        }
        if let Some(place) = self.place.take() {
            self.keep_cookies(place.given.map(|given| given.kept.cookies).unwrap_or_default());
        }
    }

    /// Ends the session, whose connections are of no further use. Keeps what is known of it: the driver may
    /// connect again, and go on from here.
    #[cold]
    pub(super) fn fail(&mut self) {
        let (known, cookies) = (self.session_resumption(), self.cookies());
        self.state = State::Failed(self.reconnection());
        self.keep_cookies(cookies);
        if let Some(known) = known {
            self.place.get_or_insert_default().given.get_or_insert_default().resumption = Some(known.into());
        }
    }

    /// Keeps them, if there are any, for all requests from now on, and for the next connection.
    pub(super) fn keep_cookies(&mut self, cookies: Cookies) {
        if !cookies.is_empty() {
            self.place.get_or_insert_default().given.get_or_insert_default().kept.cookies = cookies;
        }
    }
}
