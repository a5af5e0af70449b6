//! The resume horizon: how long a client may be away, and how many messages it may miss, before a server has
//! lost some of them.
//!
//! Clients leave at the same moment and return one after another, so that a search takes no longer than its
//! longest absence. A client has resumed if the first message that it missed comes, as the witness received
//! it, which never left.

use std::mem;
use std::time::{Duration, Instant};

use codec::ws::frame::Opcode;
use results::format;
use serde_json::{Value, json};
use wire::{Config, Resumption};

use super::absences::{Bounds, LADDER, REFINED, Return, ladder};
use super::bisection::Bisection;
use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic, seconds};
use super::site::{Site, Tester};
use super::subscriber::Subscriber;
use super::websocket::{ANSWER_MAX, framed};
use crate::verbs::probe::service::Service;

pub(super) static HORIZON: Probe = Probe::new(
    &[
        Topic { key: "resume_time", name: "resumable for", how: "left at once, returned one after another" },
        Topic {
            key: "resume_messages",
            name: "messages kept",
            how: "bisected: messages sent while a client was away",
        },
    ],
    Needs::Session,
    horizon,
)
.risking(
    "resumption: up to 24 clients at once leave and return; up to 5,000 small messages are broadcast to \
     subscribers",
);

/// Length of one look at one of several connections.
const SLICE: Duration = Duration::from_millis(20);
/// Silence after a return in which a missed message would have come.
const QUIET: Duration = Duration::from_millis(1500);
/// Time for a message where the server alone decides when there is one.
const OWN_MESSAGE_MAX: Duration = Duration::from_secs(10);
/// Messages missed at most.
const MESSAGES_MAX: u64 = 1000;

/// The source of messages.
enum Source<'a> {
    /// The server's own: they come when they come.
    Server,
    /// A client that sends the protocol's broadcast, or the user's message.
    Client(Subscriber<'a>, Option<&'a str>),
    /// Requests to the app.
    Requests(&'a Tester<'a>, &'a Config, Option<Subscriber<'a>>),
}

/// Clients, and the messages that they hear.
struct Stage<'a> {
    tester: &'a Tester<'a>,
    config: &'a Config,
    witness: Subscriber<'a>,
    source: Source<'a>,
}

/// A client that has left.
struct Departed {
    resumption: Resumption,
    left: Instant,
}

fn horizon(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let site = tester.site;
    let service = site.service.expect("Needs::Session asks for a service");
    let bad = |bad: load::BadClientSpec| NotTried(bad.to_string());
    let mut client_spec = site.plan.client_spec.clone();
    let settings = &mut client_spec.of_dialect.settings;
    *settings = service.resuming(mem::take(settings));
    let config = client_spec.wire_config().map_err(bad)?;
    let publishers = site.plan.of_publishers();
    let requests = match &publishers {
        Some(plan) => Some((
            Site::new(plan.clone(), None, false, site.bounds.clone(), site.interrupts),
            plan.client_spec.wire_config().map_err(bad)?,
        )),
        None => None,
    };
    let publisher = requests.as_ref().map(|(site, config)| (Tester::new(site), config));
    let source = match &publisher {
        Some((tester, config)) => Source::Requests(tester, config, None),
        None if service == Service::EventStream => Source::Server,
        None => Source::Client(Subscriber::open(tester, &config, None)?, site.bounds.message.as_deref()),
    };
    let witness = Subscriber::open(tester, &config, None)?;
    let mut stage = Stage { tester, config: &config, witness, source };
    stage.begin()?;
    let bounds = stage.search(site.bounds.absence)?;
    let messages = stage.messages(&bounds);
    Ok(vec![time_outcome(&bounds), messages])
}

impl<'a> Stage<'a> {
    /// Finds out whether messages come, and have a place.
    fn begin(&mut self) -> Result<(), NotTried> {
        let mut is_told = !matches!(self.source, Source::Server) && self.tell(1)?;
        if let Source::Client(_, text @ Some(_)) = &mut self.source
            && !is_told
        {
            // The user's message goes to nobody else; the protocol's broadcast may.
            *text = None;
            is_told = self.tell(1)?;
        }
        if !is_told && matches!(self.source, Source::Requests(..)) {
            return Err(NotTried("--publish-url: what was published came to no subscriber".to_owned()));
        }
        if !is_told {
            // The server does nothing on our message; its own may come nevertheless.
            self.source = Source::Server;
            if !self.witness.listen(OWN_MESSAGE_MAX, |witness| !witness.received.is_empty())? {
                return Err(NotTried(format!(
                    "no message with an id came within {} s; servers without ids resume nobody, others need \
                     messages: --publish-url, or --message TEXT",
                    OWN_MESSAGE_MAX.as_secs()
                )));
            }
        }
        Ok(())
    }

    /// Has messages sent, and waits until the witness has them; returns whether it has. The server's own are
    /// not waited for.
    fn tell(&mut self, messages: u32) -> Result<bool, NotTried> {
        let due = self.witness.received.len() + messages as usize;
        match &mut self.source {
            Source::Server => return Ok(true),
            Source::Client(client, None) => client.broadcast(messages)?,
            Source::Client(client, Some(text)) => {
                client.send(&framed(Opcode::Text, text.as_bytes()).repeat(messages as usize))?;
            }
            Source::Requests(..) => self.publish(messages)?,
        }
        // Of many messages, some may take longer, and others come meanwhile.
        let (mut heard, mut heard_at) = (self.witness.received.len(), Instant::now());
        while self.witness.received.len() < due && heard_at.elapsed() < ANSWER_MAX {
            self.hear(SLICE)?;
            if self.witness.received.len() > heard {
                (heard, heard_at) = (self.witness.received.len(), Instant::now());
            }
        }
        Ok(self.witness.received.len() >= due)
    }

    /// Publishes messages one by one. The clients that stay have heartbeats to answer meanwhile.
    fn publish(&mut self, messages: u32) -> Result<(), NotTried> {
        for _ in 0..messages {
            let Source::Requests(tester, config, connection) = &mut self.source else { return Ok(()) };
            publish(tester, config, connection)?;
            self.hear(Duration::ZERO)?;
        }
        Ok(())
    }

    /// Hears what comes to the clients that stay, and answers the server's heartbeats.
    fn hear(&mut self, time: Duration) -> Result<(), NotTried> {
        let site = self.tester.site;
        let closed = |NotTried(why)| match site.is_interrupted() {
            true => NotTried(why),
            false => NotTried(format!("a client that stays loses its connection: {why}")),
        };
        if let Source::Client(client, _) = &mut self.source {
            client.listen(Duration::ZERO, |_| false).map_err(closed)?;
        }
        self.witness.listen(time, |_| false).map_err(closed)?;
        Ok(())
    }

    /// Waits until then.
    fn wait(&mut self, until: Instant) -> Result<(), NotTried> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            self.hear(left.min(SLICE))?;
            if left <= SLICE {
                return Ok(());
            }
        }
    }

    /// Connects clients, waits until each has a place, and has them leave.
    fn depart(&mut self, clients: usize) -> Result<Vec<Departed>, NotTried> {
        let opened: Result<Vec<_>, _> =
            (0..clients).map(|_| Subscriber::open(self.tester, self.config, None)).collect();
        let mut opened = opened?;
        self.tell(1)?;
        for client in &mut opened {
            let until = Instant::now() + OWN_MESSAGE_MAX;
            // The clients that stay have heartbeats to answer meanwhile.
            while !client.listen(SLICE, |client| !client.received.is_empty())? && Instant::now() < until {
                self.hear(Duration::ZERO)?;
            }
        }
        let departed: Vec<Departed> = opened
            .into_iter()
            .filter_map(|client| Some(Departed { resumption: client.resumption()?, left: Instant::now() }))
            .collect();
        if departed.is_empty() {
            return Err(NotTried("messages have no id to resume from: clients begin anew".to_owned()));
        }
        Ok(departed)
    }

    /// Has a client return; `None`: it has missed nothing.
    fn come_back(&mut self, departed: Departed) -> Result<Option<Return>, NotTried> {
        self.wait(Instant::now())?;
        let place = departed.resumption.place();
        let heard = &self.witness.received;
        let known = heard.iter().rposition(|heard| Some(heard) == place.as_ref());
        let known = known.ok_or_else(|| NotTried("messages have another id for each client".to_owned()))?;
        let missed = heard[known + 1..].to_vec();
        let Some(first) = missed.first() else { return Ok(None) };
        let away = departed.left.elapsed();
        let mut client = Subscriber::open(self.tester, self.config, Some(departed.resumption))?;
        let until = Instant::now() + QUIET;
        let has_all = |client: &Subscriber<'_>| missed.iter().all(|missed| client.received.contains(missed));
        while !client.listen(SLICE, has_all)? && Instant::now() < until {
            self.hear(Duration::ZERO)?;
        }
        let came = missed.iter().filter(|missed| client.received.contains(missed)).count();
        Ok(Some(Return { away, missed: missed.len(), came, is_whole: client.received.contains(first) }))
    }

    /// Searches the longest absence that clients resume from, twice: among all, and between the bounds that this gives.
    fn search(&mut self, max: Duration) -> Result<Bounds, NotTried> {
        let mut bounds = Bounds::default();
        self.round(ladder(max, LADDER.min(self.free()?)), &mut bounds)?;
        let between = bounds.between(REFINED.min(self.free()?));
        if !between.is_empty() {
            self.round(between, &mut bounds)?;
        }
        Ok(bounds)
    }

    /// How many more clients `--max` allows.
    fn free(&self) -> Result<usize, NotTried> {
        let site = self.tester.site;
        match site.bounds.connections.saturating_sub(site.open()) {
            0 => Err(NotTried("--max leaves no connection for it".to_owned())),
            free => Ok(free),
        }
    }

    /// Has clients return after these absences, up to the first that has lost something.
    fn round(&mut self, absences: Vec<Duration>, bounds: &mut Bounds) -> Result<(), NotTried> {
        let departed = self.depart(absences.len())?;
        self.tell(1)?;
        for (absence, departed) in absences.into_iter().zip(departed) {
            self.wait(departed.left + absence)?;
            let Some(returned) = self.come_back(departed)? else { continue };
            bounds.note(&returned);
            if !returned.is_whole {
                break;
            }
        }
        Ok(())
    }

    /// Searches the most messages that a client may miss, within a time in which none is too old.
    fn messages(&mut self, bounds: &Bounds) -> Outcome {
        if matches!(self.source, Source::Server) {
            return Err(NotTried(
                "the server decides how many come; have them sent: --publish-url".to_owned(),
            ));
        }
        let Some(resumed) = bounds.resumed else {
            return Err(NotTried("nothing is resumed".to_owned()));
        };
        let mut search = Bisection::new(1, MESSAGES_MAX);
        while let Some(messages) = search.next() {
            let departed = self.depart(1)?.pop().ok_or_else(|| NotTried("no client left".to_owned()))?;
            if !self.tell(messages as u32)? {
                return Err(NotTried(format!("of {messages} messages at once, some came to nobody")));
            }
            let Some(returned) = self.come_back(departed)? else { break };
            if returned.away > resumed {
                return Err(NotTried(format!("{messages} messages take longer than clients may be away")));
            }
            if returned.came > 0 && !returned.is_whole && (returned.came as u64) < search.accepted {
                let (most, came) = (format::count(search.accepted), returned.came);
                return Err(NotTried(format!("the server kept {most} messages, and then {came}")));
            }
            if returned.came > 0 && !returned.is_whole {
                // The latest come, and no others: there is nothing left to search.
                search.note(returned.came as u64, true);
                search.note(returned.came as u64 + 1, false);
            } else {
                search.note(messages, returned.is_whole);
            }
        }
        Ok(messages_found(&search))
    }
}

/// Has a message published, on a connection that is kept while the app keeps it.
fn publish<'a>(
    tester: &'a Tester<'a>,
    config: &'a Config,
    kept: &mut Option<Subscriber<'a>>,
) -> Result<(), NotTried> {
    if let Some(connection) = kept
        && connection.publish().is_ok()
    {
        return Ok(());
    }
    // The app may have closed it behind an answer.
    let mut connection = Subscriber::open(tester, config, None)?;
    connection.publish()?;
    *kept = Some(connection);
    Ok(())
}

fn time_outcome(bounds: &Bounds) -> Outcome {
    let in_seconds = |time: Duration| time.as_millis() as f64 / 1e3;
    let data = |limit: Option<Duration>| {
        json!({
            "limit_s": limit.map(in_seconds),
            "resumed_after_s": bounds.resumed.map(in_seconds),
            "lost_after_s": bounds.lost.map(in_seconds),
            "missed": bounds.missed,
        })
    };
    match (bounds.resumed, bounds.lost) {
        (Some(resumed), Some(lost)) => {
            let limit = (resumed + lost) / 2;
            // Where the server alone sends, their number may be the limit.
            let missed = match bounds.missed {
                0 | 1 => String::new(),
                missed => format!(" and {} missed", format::counted(missed as u64, "message")),
            };
            let text = format!(
                "about {}: a client resumed after {}{missed}, not after {}",
                seconds(limit),
                seconds(resumed),
                seconds(lost)
            );
            let meaning = format!(
                "Clients away for more than {} lose messages: throng audit counts them.",
                seconds(limit)
            );
            Ok(Finding::new(text, data(Some(limit))).limits(meaning))
        }
        (Some(resumed), None) => {
            let text = format!("at least {}, the longest absence tried", seconds(resumed));
            let meaning = format!("Clients may be away for at least {} without loss.", seconds(resumed));
            Ok(Finding::new(text, data(None)).allows(meaning))
        }
        (None, Some(lost)) => {
            let text = format!("nothing: what was missed in {} did not come", seconds(lost));
            let meaning = "Clients lose what is sent while they are away: throng audit counts it.";
            Ok(Finding::new(text, data(Some(Duration::ZERO))).limits(meaning))
        }
        (None, None) => Err(NotTried("no message came while a client was away".to_owned())),
    }
}

fn messages_found(search: &Bisection) -> Finding {
    let kept = search.accepted;
    let data = |limit: Value| json!({ "resumed": kept, "limit": limit });
    if search.refused.is_none() {
        let text = format!("at least {}, the most that was tried", format::count(kept));
        return Finding::new(text, data(Value::Null));
    }
    let meaning = format!(
        "Clients that miss more than {} messages lose some: throng audit counts them.",
        format::count(kept)
    );
    Finding::new(format!("the latest {}", format::count(kept)), data(kept.into())).limits(meaning)
}
