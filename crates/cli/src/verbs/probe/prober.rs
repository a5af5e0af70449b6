//! The look of a probe: its few requests, at the URL itself and at the usual places.

use std::iter;
use std::time::{Duration, Instant};

use engine::ProbeResult;
use load::{Plan, Workload};
use net::signals::Interrupts;
use stats::error_kind;
use wire::{DialectId, HttpOptions};

use crate::answer::Answer;
use crate::app_file::BroadcastArgs;
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::plan::{self, PlanInputs};
use crate::preflight;
use crate::secrets;
use crate::target::Target;
use crate::verbs::probe::advice::Trial;
use crate::verbs::probe::places::{self, Place, RequestKind};
use crate::verbs::probe::reply::{self, Barrier, Found, Reply};

/// Connections that one look makes at most.
const REQUESTS_MAX: usize = 14;
/// Connections that are kept for the trial of what was found.
const FOR_TRIAL: u32 = 1;
/// Time for the first request, in which a server may have to wake up, and for each further one.
pub(super) const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(1);
/// Time for all of them.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Kinds of errors with which a server that is there may end a plain request.
const ENDS: [&str; 4] = [error_kind::EOF, "tls_eof", error_kind::RESET, "not_http"];
/// The types of the URL's own answer: a page, or else the event stream that nchan refuses to clients that do
/// not accept one.
const ACCEPT: (&str, &str) = ("Accept", "text/html, text/event-stream;q=0.9, */*;q=0.8");
/// A path that no server has. What is said there says nothing of a usual place.
const NOBODYS: &str = "/throng-looks-for-nothing-here";
/// Any status of an answer is worth knowing.
const ANY_STATUS: (u16, u16) = (200, 599);

/// Makes the requests, and counts them.
pub(super) struct Prober {
    pub(super) args: RunArgs,
    pub(super) target: Target,
    pub(super) interrupts: Interrupts,
    ends_at: Instant,
    pub(super) requests: usize,
    /// Statuses of refusals in which an origin changed nothing.
    unmoved: Vec<u16>,
    /// True if a place refused a client without an origin, and was not asked with one.
    pub(super) is_origin_left_out: bool,
    /// The reply of a path that nobody has, once it was asked.
    nobodys: Option<Reply>,
    /// True if that path refuses clients as usual places do.
    pub(super) is_closed: bool,
    /// Paths of places that were left out, for want of connections or time.
    pub(super) left_out: Vec<String>,
    /// Paths of places without an answer.
    pub(super) silent: Vec<String>,
}

impl Prober {
    /// A prober of a server, which has no more than its time from now on.
    pub(super) fn new(args: RunArgs, target: Target, interrupts: Interrupts) -> Prober {
        Prober {
            args,
            target,
            interrupts,
            ends_at: Instant::now() + TIME_MAX,
            requests: 0,
            unmoved: Vec::new(),
            is_origin_left_out: false,
            nobodys: None,
            is_closed: false,
            left_out: Vec::new(),
            silent: Vec::new(),
        }
    }

    /// The answer of the URL itself to a plain request. A server that cannot be reached ends the probe.
    pub(super) fn first(&mut self) -> Result<Reply, Failure> {
        let place = Place::get(&self.target.path);
        let reply = self.ask(&place, None, FIRST_TIMEOUT)?;
        let Some((kind, why)) = &reply.failure else { return Ok(reply) };
        let url = secrets::url(&self.target.url);
        let could_not = |why: String| Failure::could_not("reach", format!("reach {url}"), why).because(kind);
        if reply.is_tls {
            // At the start alone: a host may end with `ws:`.
            let secure = [("http:", "https:"), ("ws:", "wss:")]
                .into_iter()
                .find_map(|(plain, tls)| Some(format!("{tls}{}", url.strip_prefix(plain)?)))
                .unwrap_or_else(|| url.clone());
            return Err(could_not(format!("the server speaks TLS on this port; try throng {secure}")));
        }
        // A server of WebSockets alone may end a plain request as it likes.
        if reply.status.is_some() || ENDS.contains(&kind.as_str()) {
            return Ok(reply);
        }
        Err(could_not(format!("{kind}: {why}")))
    }

    /// All that is found at the URL and at the usual places; after an interrupt, what was found until then.
    pub(super) fn look(&mut self, first: &Reply) -> Result<Vec<Found>, Failure> {
        let page = Place::get(&self.target.path);
        let mut found = Vec::from_iter(reply::found(&page, first, None));
        let itself = Place::itself(&self.target.path);
        // Plain requests to places without anything end with these; that a place does, too, says nothing of it.
        let mut statuses = vec![first.status];
        // A URL that is an event stream is what the user means.
        let is_stream = found.iter().any(Found::is_stream);
        if itself.base() != "/" && is_stream {
            return Ok(found);
        }
        let usual = places::usual().into_iter().filter(|place| place.bare() != itself.bare());
        for place in iter::once(itself.clone()).chain(usual) {
            // A server that takes one path unseen may take any.
            let is_known = match place.is_page() {
                true => is_stream,
                false => place.is_plain() && found.iter().any(Found::is_plain),
            };
            if is_known {
                continue;
            }
            if self.is_over(FOR_TRIAL) {
                self.left_out.push(place.base());
                continue;
            }
            let asked = self.ask_patiently(&place).and_then(|reply| self.with_origin(&place, reply));
            let (reply, origin) = match asked {
                Err(_) if self.interrupts.count() > 0 => break,
                asked => asked?,
            };
            let mut one = match place.is_page() {
                true => reply::stream(&place, &reply, &statuses),
                false => reply::found(&place, &reply, first.status),
            };
            // What the user names is there, whatever other paths say.
            if one.is_some() && place != itself && reply::is_refused_upgrade(&place, &reply) {
                let is_said = match self.is_said_anywhere(&reply) {
                    Err(_) if self.interrupts.count() > 0 => break,
                    is_said => is_said?,
                };
                if is_said {
                    let barrier = one.take().and_then(|one| one.barrier);
                    self.is_closed |= matches!(barrier, Some(Barrier::Login(_)));
                }
            }
            if one.is_none() && place.is_get() {
                statuses.push(reply.status);
            }
            found.extend(one.map(|one| Found { origin, ..one }));
            // A URL with the path of a WebSocket leaves nothing to be looked for.
            if itself.base() != "/" && found.iter().any(|found| found.service.example().is_some()) {
                break;
            }
        }
        Ok(found)
    }

    /// Returns whether a path that nobody has is refused with the same status: then, so is everything that
    /// needs a login, and the refusal shows no protocol.
    fn is_said_anywhere(&mut self, reply: &Reply) -> Result<bool, Failure> {
        let status = match &self.nobodys {
            Some(nobodys) => nobodys.status,
            None if self.is_over(FOR_TRIAL) => return Ok(false),
            None => {
                let place = Place::at(NOBODYS, RequestKind::Upgrade(DialectId::Raw));
                let reply = self.ask(&place, None, TIMEOUT)?;
                self.nobodys.insert(reply).status
            }
        };
        Ok(status == reply.status)
    }

    /// The reply of a place; the first that is silent is asked once more, and longer: a server that has just
    /// started may load a part of itself when it is first asked for it.
    fn ask_patiently(&mut self, place: &Place) -> Result<Reply, Failure> {
        let reply = self.ask(place, None, TIMEOUT)?;
        if !reply.is_silence() {
            return Ok(reply);
        }
        let is_first = self.silent.is_empty();
        self.silent.push(place.base());
        if !is_first || self.is_over(FOR_TRIAL) {
            return Ok(reply);
        }
        let again = self.ask(place, None, FIRST_TIMEOUT)?;
        if !again.is_silence() {
            self.silent.pop();
        }
        Ok(again)
    }

    /// The reply with the server's own origin, where a browser's page has one and that changes the answer.
    fn with_origin(&mut self, place: &Place, reply: Reply) -> Result<(Reply, Option<String>), Failure> {
        let refuses = reply.status.is_some_and(|status| status == place.origin_refusal());
        let given = self.args.access.origin.clone();
        if !refuses || given.is_some() || place.is_get() || self.is_over(FOR_TRIAL) {
            return Ok((reply, given.filter(|_| !place.is_get())));
        }
        // A server that answers so to all that it does not know would use up the connections.
        if reply.status.is_some_and(|status| self.unmoved.contains(&status)) {
            self.is_origin_left_out = true;
            return Ok((reply, None));
        }
        let scheme = if self.target.tls_name.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{}", self.target.host);
        let again = self.ask(place, Some(&origin), TIMEOUT)?;
        // An origin that changes nothing is not worth a flag in the command that is suggested.
        if again.status != reply.status {
            return Ok((again, Some(origin)));
        }
        self.unmoved.extend(reply.status);
        Ok((reply, None))
    }

    /// Has one client speak the protocol that was found, and send one message if its clients say anything.
    pub(super) fn try_echo(&mut self, found: &Found) -> Result<Option<Trial>, Failure> {
        let Some(dialect) = found.service.dialect().filter(|_| !self.is_over(0)) else { return Ok(None) };
        let asked = match dialect.facts().only_receives {
            true => RequestKind::Join(dialect),
            false => RequestKind::Echo(dialect),
        };
        let place = Place::at(&found.path, asked);
        let reply = match self.ask(&place, found.origin.as_deref(), TIMEOUT) {
            Err(_) if self.interrupts.count() > 0 => return Ok(None),
            asked => asked?,
        };
        Ok(Some(match &reply.failure {
            None if reply.is_answered => Trial::Echoes,
            None => Trial::Connects,
            Some((kind, why)) => Trial::Fails(format!("{kind}: {why}")),
        }))
    }

    /// Makes one request.
    fn ask(&mut self, place: &Place, origin: Option<&str>, timeout: Duration) -> Result<Reply, Failure> {
        self.requests += 1;
        let mut plan = self.plan(place, origin, timeout, None)?;
        if place.is_get() {
            let http = HttpOptions { expect_status: vec![ANY_STATUS], ..HttpOptions::default() };
            plan.client_spec.of_dialect.settings = http.into();
        }
        let headers = &mut plan.client_spec.headers;
        if place.is_page() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(ACCEPT.0)) {
            headers.push((ACCEPT.0.to_owned(), ACCEPT.1.into()));
        }
        let met = engine::probe(&plan, place.sends(), &|| self.interrupts.count() > 0)
            .map_err(|error| {
                Failure::of_generator("start_client", "start a client", net::errors::told(&error))
            })?
            .ok_or_else(Failure::interrupted)?;
        Ok(self.reply(place, met, plan.tls.is_none()))
    }

    /// The plan of one client at a place. With `says`, it is one of a room's members.
    pub(super) fn plan(
        &self,
        place: &Place,
        origin: Option<&str>,
        timeout: Duration,
        says: Option<BroadcastArgs>,
    ) -> Result<Plan, Failure> {
        let mut args = self.args.clone();
        args.connect_timeout = Some(timeout.as_nanos() as u64);
        // The user's own origin comes first.
        args.access.origin = args.access.origin.or(origin.map(str::to_owned));
        args.subprotocols = place.subprotocols();
        let target = self.target.at_path(&place.asked_path());
        plan::plan(&PlanInputs {
            args: &args,
            workload: if says.is_some() { Workload::Broadcast } else { Workload::Echo },
            says: says.unwrap_or_default(),
            target: &target,
            dialect: place.dialect().name(),
            clients_max: Some(1),
        })
    }

    fn reply(&self, place: &Place, met: ProbeResult, is_plain: bool) -> Reply {
        let mut answer = Answer::read(&met.said);
        // A redirect may repeat the query of the request.
        answer.location = answer.location.map(|location| secrets::url(&location));
        let text = if place.is_get() { answer.body.clone().unwrap_or_default() } else { met.excerpt() };
        let url = self.place_url(place);
        Reply {
            status: met.status.or(answer.status),
            is_tls: is_plain && preflight::is_tls(&met),
            is_answered: met.is_answered,
            failure: met.failure,
            url,
            answer,
            text,
        }
    }

    /// The place as a command line names it.
    fn place_url(&self, place: &Place) -> String {
        let is_secure = self.target.tls_name.is_some();
        // A run takes the URL of the WebSocket, also where the probe asked for the session by a plain request.
        let scheme = match (place.is_page(), is_secure) {
            (true, false) => "http",
            (true, true) => "https",
            (false, false) => "ws",
            (false, true) => "wss",
        };
        secrets::url(&format!("{scheme}://{}{}", self.target.host, place.base()))
    }

    /// Returns whether no connection is left beside those to `keep`, or no time.
    fn is_over(&self, keep: u32) -> bool {
        let is_late = Instant::now() + TIMEOUT * keep >= self.ends_at;
        self.requests + keep as usize >= REQUESTS_MAX || is_late || self.interrupts.count() > 0
    }
}
