//! One client's login.

use app::Identities;
use app::template::{ClientContext, Filling, Kept};
use codec::http::cookies::Cookies;
use codec::http::fields::Fields;
use codec::{Error, Limits};

use super::answer::{Answer, Reader};
use super::steps::{Redirect, Step, Steps};
use crate::failure::{Coding, Failure};
use crate::io::Io;
use crate::location;

/// Most redirects of one request. Go's client follows ten, and no login that people use has as many.
const REDIRECTS_MAX: u8 = 5;

/// How far a client has come in its login.
#[derive(Debug)]
pub(crate) struct Visit {
    /// The number of the request that is under way.
    at: usize,
    /// How often it was redirected, and where to.
    redirects: u8,
    led: Option<Redirect>,
    is_connected: bool,
    reader: Reader,
    kept: Kept,
    /// The cookies of each server by its number, as far as any has set some.
    jars: Vec<Cookies>,
}

/// The progress of a login after input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoginProgress {
    /// There is more to come.
    On,
    /// The login is done, and its connection stands.
    Through,
    /// The login is done, and its connection is over: another is asked for.
    ThroughAndOut,
}

impl Visit {
    /// Before its first connection stands.
    pub(crate) fn new() -> Visit {
        Visit {
            at: 0,
            redirects: 0,
            led: None,
            is_connected: false,
            reader: Reader::default(),
            kept: Kept::default(),
            jars: Vec::new(),
        }
    }

    /// The server of the request that is under way.
    pub(crate) fn server(&self, steps: &Steps) -> u16 {
        steps.server(self.at)
    }

    /// Goes on once stream 0 is connected, the first time or again. Returns true if the login is done.
    pub(crate) fn handle_open(
        &mut self,
        steps: &Steps,
        identities: &Identities,
        now_ns: u64,
        io: &mut impl Io,
    ) -> bool {
        self.is_connected = true;
        self.reader = Reader::default();
        self.ask(steps, identities, now_ns, io)
    }

    /// Bytes came in, which are taken off as far as they are of the login.
    pub(crate) fn handle_input(
        &mut self,
        steps: &Steps,
        limits: &Limits,
        identities: &Identities,
        now_ns: u64,
        input: &mut &[u8],
        io: &mut impl Io,
    ) -> Result<LoginProgress, Failure> {
        loop {
            // Bytes behind an answer after which its server closes are ignored.
            let Some(step) = steps.get(self.at).filter(|_| self.is_connected) else {
                return Ok(LoginProgress::On);
            };
            let request = self.at as u8;
            let read = self.reader.read(limits, step.keeps_body(), input).map_err(|failure| match failure {
                Failure::Codec(Error::BodyTooLarge) | Failure::Codec(Error::HeadTooLarge) => {
                    Failure::LoginTooLarge { request }
                }
                other => other,
            });
            let Some(answer) = read? else { return Ok(LoginProgress::On) };
            self.is_connected = answer.keep_alive;
            match self.handle_answer(steps, step, &answer, identities, now_ns, io)? {
                LoginProgress::On if self.is_connected => {}
                went => return Ok(went),
            }
        }
    }

    /// The server has closed the connection.
    pub(crate) fn handle_eof(
        &mut self,
        steps: &Steps,
        identities: &Identities,
        now_ns: u64,
        io: &mut impl Io,
    ) -> Result<LoginProgress, Failure> {
        // Between an answer that announced it and the connection that was asked for since.
        if !self.is_connected {
            return Ok(LoginProgress::On);
        }
        let answer = self.reader.handle_eof()?;
        self.is_connected = false;
        let step = steps.get(self.at).ok_or(Failure::Codec(Error::EofBeforeAnswer))?;
        self.handle_answer(steps, step, &answer, identities, now_ns, io)
    }

    /// Takes the kept values, once the login is done.
    pub(crate) fn take(&mut self) -> Kept {
        let cookies = self.cookies_for(0);
        Kept { cookies, ..std::mem::take(&mut self.kept) }
    }

    /// Takes in the cookies that a server sets.
    fn handle_cookies(&mut self, server: u16, fields: &Fields<'_>) -> Result<(), Failure> {
        let at = usize::from(server);
        if self.jars.len() <= at {
            self.jars.resize(at + 1, Cookies::NONE);
        }
        // The newest of a site is in force at all of its servers.
        for name in fields.all("set-cookie").filter_map(Cookies::name_of_site) {
            for jar in &mut self.jars {
                jar.forget(name);
            }
        }
        Ok(self.jars[at].handle_all(fields)?)
    }

    /// The cookies that go to a server: its own, and other servers' with other names, since servers of one
    /// site share their sessions.
    fn cookies_for(&self, server: u16) -> Cookies {
        let own = self.jars.get(usize::from(server)).unwrap_or(&Cookies::NONE);
        self.jars.iter().fold(own.clone(), |all, others| all.and(others))
    }

    /// An answer is whole: takes out of it what is to be kept, and goes on.
    fn handle_answer(
        &mut self,
        steps: &Steps,
        step: &Step,
        answer: &Answer,
        identities: &Identities,
        now_ns: u64,
        io: &mut impl Io,
    ) -> Result<LoginProgress, Failure> {
        let request = self.at as u8;
        let response = answer.response()?;
        let set = self.handle_cookies(step.request.server, &response.fields);
        set.map_err(|_| Failure::LoginTooLarge { request })?;
        let status = response.status;
        // 300 and 304 to 306 lead nowhere by themselves (RFC 9110 §15.4).
        let leads = matches!(status, 301..=303 | 307 | 308);
        if leads && step.request.follows && step.request.expect != Some(status) {
            let location = response.fields.all("location").next().and_then(|l| std::str::from_utf8(l).ok());
            let target =
                location.and_then(|location| self.target(steps, step, location, identities, now_ns, io));
            self.redirects += 1;
            let target = target.filter(|_| self.redirects <= REDIRECTS_MAX);
            let target = target.ok_or(Failure::LoginRedirects { request })?;
            // Once a redirect of a chain has turned the request into a GET, a later 307 keeps that.
            let before = self.led.as_ref().is_none_or(|led| led.keeps_method);
            self.led = Some(Redirect { target, keeps_method: before && matches!(status, 307 | 308) });
        } else {
            let is_expected = match step.request.expect {
                Some(expect) => status == expect,
                None => matches!(status, 200..=299) || (matches!(status, 300..=399) && !step.request.follows),
            };
            if !is_expected {
                return Err(Failure::LoginRefused { request, status });
            }
            let cookies = self.cookies_for(step.request.server);
            for (n, (value, find)) in step.finds.iter().enumerate() {
                let found = find.find(&response, &answer.body, &cookies);
                let coding = response.fields.members("content-encoding").find_map(Coding::named);
                let found = found.ok_or(match coding.filter(|_| find.is_in_body()) {
                    Some(coding) => Failure::LoginEncoded { request, coding },
                    None => Failure::LoginNoMatch { request, keep: n as u8 },
                })?;
                self.kept.values.set(*value, &found);
            }
            (self.at, self.redirects, self.led) = (self.at + 1, 0, None);
        }
        // The step has advanced: the next request may be for a server to which this connection does not go.
        if self.server(steps) != step.request.server {
            self.is_connected = false;
        }
        if !self.is_connected {
            io.open_stream(0);
            return Ok(if steps.get(self.at).is_none() {
                LoginProgress::ThroughAndOut
            } else {
                LoginProgress::On
            });
        }
        Ok(if self.ask(steps, identities, now_ns, io) { LoginProgress::Through } else { LoginProgress::On })
    }

    /// Writes the next request. Returns true if there is none.
    fn ask(&self, steps: &Steps, identities: &Identities, now_ns: u64, io: &mut impl Io) -> bool {
        let Some(step) = steps.get(self.at) else { return true };
        let context = identities.context(io.client(), now_ns, &self.kept);
        let cookies = &self.cookies_for(step.request.server);
        let filling = &Filling::of(ClientContext { cookies, ..context });
        steps.write(io.out(0), step, self.led.as_ref(), filling);
        false
    }

    /// Path and query that a redirect leads to; `None`: it leads elsewhere, to where this client has no
    /// connection.
    fn target(
        &self,
        steps: &Steps,
        step: &Step,
        location: &str,
        identities: &Identities,
        now_ns: u64,
        io: &impl Io,
    ) -> Option<String> {
        let asked = || match &self.led {
            Some(led) => led.target.clone(),
            None => {
                let filling = &Filling::of(identities.context(io.client(), now_ns, &self.kept));
                step.request.target.filled_text(filling)
            }
        };
        let (scheme, host) = steps.origin(step.request.server);
        location::target(location, scheme, host, asked)
    }
}
