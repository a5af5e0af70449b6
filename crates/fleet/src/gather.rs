//! Gathers the agents of a run: finds them, refuses agents of another version, and claims as many as are
//! asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nkeys::XKey;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Error;
use crate::access::Nats;
use crate::bus::{Bus, runtime};
use crate::envelope::Envelope;
use crate::intro::{self, CALL, Call, Claim, ClaimAnswer, Hello, Labels, VERSION};
use crate::link::Link;
use crate::seal::{FleetKey, Seal};
use crate::unfit::{self, Unfit};

/// The time within which agents that are there answer a call.
const CALL_TIME: Duration = Duration::from_millis(700);
/// Time between two calls for agents that are waited for: without any agent, NATS says so at once.
const CALL_INTERVAL: Duration = Duration::from_millis(100);
/// The time within which agents answer a claim, or do not work for us.
const CLAIM_TIME: Duration = Duration::from_secs(2);
/// The time within which agents leave their runs: until their clients are gone, they answer nothing.
const LEAVE_TIME: Duration = Duration::from_secs(10);

/// The agents that are wanted.
#[derive(Clone, Debug, Default)]
pub struct AgentSelection {
    /// NATS's address.
    pub nats: Nats,
    /// How many agents; `None` for all that there are.
    pub agents: Option<usize>,
    /// Labels they must have.
    pub labels: Labels,
    /// How long to wait for the agents.
    pub wait: Duration,
    /// Worker threads of each agent, in place of its own choice.
    pub threads: Option<u16>,
    /// The most clients that a step will have, or the first step's, where there is no most; `None` if that is
    /// not known.
    pub clients_max: Option<u64>,
    /// The key that signs orders, for agents that require it.
    pub key: Option<FleetKey>,
    /// Prints which agents a run of all of them goes without.
    pub note: Option<fn(&str)>,
}

/// A claim on an agent: its session, what seals the orders that follow, and what signs them if it wants that.
pub(crate) struct Claimed {
    session: u64,
    envelope: Envelope,
    seal: Option<Seal>,
}

impl Claimed {
    /// The link to the agent that is claimed.
    pub(crate) fn link(self, bus: &Bus, agent: &Hello, now_ns: u64) -> Link {
        let link = Link::new(bus, intro::down_subject(&agent.id), self.session, now_ns);
        link.sealing(self.envelope).signing(self.seal)
    }
}

/// All agents that are there, by name.
///
/// # Errors
/// NATS cannot be reached.
pub fn agents(nats: &Nats) -> Result<Vec<Hello>, Error> {
    runtime()?.block_on(async { call(&Bus::connect(nats).await?).await })
}

/// Makes all agents leave the runs that they work for, which are then over; agents that obey one key only, if
/// it is this one. Returns all agents that are there. One that does not answer again is as it was before.
///
/// # Errors
/// NATS cannot be reached.
pub fn stop(nats: &Nats, key: Option<&FleetKey>) -> Result<Vec<Hello>, Error> {
    runtime()?.block_on(async {
        let bus = Bus::connect(nats).await?;
        let mut agents = call(&bus).await?;
        bus.publish(CALL, intro::write(&Call::Stop)).await;
        if let Some(key) = key {
            let runs: BTreeSet<&String> = agents.iter().filter_map(|hello| hello.run.as_ref()).collect();
            for run in runs {
                let end = Call::End { run: run.clone(), signature: key.sign_end(run) };
                bus.publish(CALL, intro::write(&end)).await;
            }
        }
        let until = Instant::now() + LEAVE_TIME;
        let mut silent: BTreeSet<String> = agents.iter().map(|hello| hello.id.clone()).collect();
        loop {
            // Calls are answered in order: an answer to this one is of an agent that has left, or will not.
            for answer in call(&bus).await? {
                silent.remove(&answer.id);
                match agents.iter_mut().find(|hello| hello.id == answer.id) {
                    Some(hello) => *hello = answer,
                    None => agents.push(answer),
                }
            }
            if silent.is_empty() || Instant::now() >= until {
                return Ok(agents);
            }
            sleep(CALL_INTERVAL).await;
        }
    })
}

/// Asks which agents are there.
async fn call(bus: &Bus) -> Result<Vec<Hello>, Error> {
    let mut found = BTreeMap::new();
    let add = |answer: &[u8]| {
        if let Some(hello) = intro::read_hello(answer) {
            // By id: an agent that answers twice counts once.
            found.insert(hello.id.clone(), hello);
        }
        false
    };
    bus.ask(CALL, intro::write(&Call::Who), CALL_TIME, add).await?;
    let mut found: Vec<Hello> = found.into_values().collect();
    found.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(found)
}

/// Finds the agents for a run, waiting for them as long as allowed.
pub(crate) async fn find(bus: &Bus, wanted: &AgentSelection) -> Result<Vec<Hello>, Error> {
    let until = Instant::now() + wanted.wait;
    loop {
        let found = call(bus).await?;
        let mut free: Vec<Hello> =
            found.iter().filter(|hello| why_not(hello, wanted).is_none()).cloned().collect();
        if free.len() >= wanted.agents.unwrap_or(1) {
            if let (Some(note), Some(text)) = (wanted.note, left_out(&found, free.len(), wanted)) {
                note(&text);
            }
            // Sorted by name, so that the same agents work for the same run again.
            free.truncate(wanted.agents.unwrap_or(free.len()));
            // Results name agents, and what is said of one must not be of another.
            return match free.windows(2).find(|pair| pair[0].name == pair[1].name) {
                Some(pair) => Err(Error::Agents(format!(
                    "two agents are called {}: start one of them with another --name",
                    pair[0].name
                ))),
                None => Ok(free),
            };
        }
        if Instant::now() >= until {
            return Err(too_few(&found, free.len(), wanted));
        }
        sleep(CALL_INTERVAL).await;
    }
}

/// The target agent of that name, waiting for it as long as allowed: until it is there, and free if that is
/// waited for.
pub(crate) async fn find_host(bus: &Bus, agent: &str, wait: Duration) -> Result<Hello, Error> {
    let until = Instant::now() + wait;
    let why = loop {
        let found = call(bus).await?;
        // Names are their owners' choice, so that two may be the same.
        let mut named = found.iter().filter(|hello| hello.name == agent);
        let why = match (named.next(), named.next()) {
            (Some(_), Some(_)) => {
                format!("two agents are called {agent}: start one of them with another --name")
            }
            (Some(hello), None) if hello.host.is_none() => {
                format!("{agent} loads servers, and runs none: throng agent --role target does")
            }
            (Some(hello), None) if hello.version != VERSION => {
                format!("{agent} {}", Unfit::Version(hello.version.clone()))
            }
            (Some(hello), None) if hello.run.is_none() || wait.is_zero() => return Ok(hello.clone()),
            (Some(_), None) => {
                format!(
                    "{agent} works for another shootout: wait for its end, or end it with throng fleet stop"
                )
            }
            (None, _) => {
                let hosts: Vec<&str> = found
                    .iter()
                    .filter(|hello| hello.host.is_some())
                    .map(|hello| hello.name.as_str())
                    .collect();
                let others = if hosts.is_empty() {
                    "none is".to_owned()
                } else {
                    format!("there are {}", hosts.join(", "))
                };
                format!(
                    "no target agent {agent} is there, {others}: start it with throng agent --role target --name {agent}"
                )
            }
        };
        if Instant::now() >= until {
            break why;
        }
        sleep(CALL_INTERVAL).await;
    };
    Err(Error::Agents(why))
}

/// Why an agent cannot work for the run; `None` if it can.
fn why_not(hello: &Hello, wanted: &AgentSelection) -> Option<Unfit> {
    if hello.version != VERSION {
        return Some(Unfit::Version(hello.version.clone()));
    }
    if hello.host.is_some() {
        return Some(Unfit::Host);
    }
    if !hello.has(&wanted.labels) {
        return Some(Unfit::Labels);
    }
    why_locked(hello, wanted.key.as_ref()).or_else(|| hello.run.clone().map(Unfit::Busy))
}

/// Why an agent still works for a run after [`stop`]; `None` if it is free.
pub fn why_busy(hello: &Hello, key: Option<&FleetKey>) -> Option<Unfit> {
    let run = hello.run.clone()?;
    Some(why_locked(hello, key).unwrap_or(Unfit::Staying(run)))
}

/// Why an agent that obeys one key alone does not obey this one.
pub(crate) fn why_locked(hello: &Hello, key: Option<&FleetKey>) -> Option<Unfit> {
    let wanted = hello.lock.as_ref()?.key.clone();
    let own = key.map(FleetKey::public);
    (own.as_ref() != Some(&wanted)).then_some(Unfit::Locked { wanted, own })
}

fn too_few(found: &[Hello], free: usize, wanted: &AgentSelection) -> Error {
    Error::TooFew { free, needed: wanted.agents.unwrap_or(1), unfit: unfit_of(found.iter(), wanted) }
}

/// Agents that cannot work for the run, by name.
fn unfit_of<'a>(agents: impl Iterator<Item = &'a Hello>, wanted: &AgentSelection) -> Vec<(String, Unfit)> {
    agents.filter_map(|hello| Some((hello.name.clone(), why_not(hello, wanted)?))).collect()
}

/// Agents that a run of all of them goes without; `None` if there are none, or a number was asked for.
fn left_out(found: &[Hello], free: usize, wanted: &AgentSelection) -> Option<String> {
    // Agents that run servers, or have other labels, are not meant.
    let meant = found.iter().filter(|hello| hello.host.is_none() && hello.has(&wanted.labels));
    let unfit = unfit_of(meant, wanted);
    let all = free + unfit.len();
    (wanted.agents.is_none() && !unfit.is_empty())
        .then(|| format!("{free} of {all} agents take part{}", unfit::listed(&unfit)))
}

/// Claims all agents. A refusal is an error; the agents that accepted are returned with it, to be released.
pub(crate) async fn claim(
    bus: &Bus,
    run: &str,
    agents: &[Hello],
    key: Option<&FleetKey>,
) -> (Vec<Option<Claimed>>, Option<Error>) {
    let mut asked = JoinSet::new();
    let mut all: Vec<Option<Claimed>> = agents.iter().map(|_| None).collect();
    let mut failure = None;
    for (index, hello) in agents.iter().enumerate() {
        let own = Arc::new(XKey::new());
        let Some(envelope) = Envelope::new(&own, &hello.sealed_to) else {
            failure = Some(Error::Agent {
                agent: hello.name.clone(),
                why: "it has no key to seal orders to".into(),
            });
            continue;
        };
        let (bus, session, subject) = (bus.clone(), fastrand::u64(..), intro::claim_subject(&hello.id));
        let (version, index_there) = (VERSION.into(), index as u16);
        let (run, sealed_by) = (run.to_owned(), own.public_key());
        let mut claim = Claim { version, run, index: index_there, session, sealed_by, signature: None };
        let lock = hello.lock.as_ref().zip(key);
        let seal = lock.map(|(lock, key)| key.sign_claim(&mut claim, &hello.id, &lock.word));
        asked.spawn(async move {
            let mut answer = None;
            let heard = |bytes: &[u8]| {
                answer = intro::read::<ClaimAnswer>(bytes);
                answer.is_some()
            };
            let asked = bus.ask(&subject, intro::write(&claim), CLAIM_TIME, heard).await;
            (index, Claimed { session, envelope, seal }, asked.map(|()| answer))
        });
    }
    while let Some(answer) = asked.join_next().await {
        let (index, claimed, answer) = answer.expect("asking does not panic");
        let why = match answer {
            Ok(Some(ClaimAnswer { refused: None })) => {
                all[index] = Some(claimed);
                continue;
            }
            Ok(Some(ClaimAnswer { refused: Some(why) })) => format!("it refused: {why}"),
            Ok(None) => "it does not answer".into(),
            Err(error) => error.to_string(),
        };
        failure = Some(Error::Agent { agent: agents[index].name.clone(), why });
    }
    (all, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(name: &str) -> Hello {
        Hello {
            version: VERSION.into(),
            id: intro::unique(),
            name: name.into(),
            labels: Labels::new(),
            threads: 1,
            clients_per_process: 1,
            run: None,
            host: None,
            sealed_to: XKey::new().public_key(),
            lock: None,
        }
    }

    #[test]
    fn agents_that_cannot_work_are_named() {
        let busy = Hello { run: Some("r7".into()), ..hello("busy") };
        let old = Hello { version: "0.0.9/1".into(), ..hello("old") };
        let wanted = AgentSelection {
            agents: Some(3),
            labels: [("zone".into(), "a".into())].into(),
            ..AgentSelection::default()
        };
        let labelled = |hello: Hello| Hello { labels: wanted.labels.clone(), ..hello };
        let found = [labelled(busy), labelled(old), hello("elsewhere"), labelled(hello("free"))];
        let unfit = vec![
            ("busy".to_owned(), Unfit::Busy("r7".into())),
            ("old".to_owned(), Unfit::Version("0.0.9/1".into())),
            ("elsewhere".to_owned(), Unfit::Labels),
        ];
        assert_eq!(too_few(&found, 1, &wanted), Error::TooFew { free: 1, needed: 3, unfit });

        assert_eq!(left_out(&found, 1, &wanted), None, "three were asked for");
        let all = AgentSelection { agents: None, ..wanted };
        let text = left_out(&found, 1, &all).expect("two are left out");
        assert!(
            text.starts_with("1 of 3 ") && text.contains("\n  busy ") && text.contains("\n  old "),
            "{text}"
        );
        assert!(!text.contains("elsewhere"), "{text}");
        assert_eq!(left_out(&found[3..], 1, &all), None);
    }
}
