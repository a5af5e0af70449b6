//! Discovery and claiming of an agent, whatever it then does.

use std::sync::Arc;

use async_nats::{Message, Subscriber};
use net::clock;
use nkeys::XKey;

use crate::Error;
use crate::access::Nats;
use crate::bus::Bus;
use crate::envelope::Envelope;
use crate::intro::{self, CALL, Call, Claim, ClaimAnswer, ClaimChallenge, Hello, VERSION};
use crate::link::Link;
use crate::seal::{AgentKey, Seal};

/// An agent's presence at NATS.
pub(crate) struct AgentPresence {
    pub(crate) bus: Bus,
    hello: Hello,
    /// The key that messages to it are sealed to.
    sealed_to: Arc<XKey>,
    /// The only key that the agent obeys.
    key: Option<AgentKey>,
}

/// Subscriptions of an agent.
pub(crate) struct Subscriptions {
    pub(crate) calls: Subscriber,
    pub(crate) claims: Subscriber,
    pub(crate) downs: Subscriber,
    pub(crate) looks: Subscriber,
}

impl AgentPresence {
    /// Connects to NATS, and subscribes.
    pub(crate) async fn open(
        nats: &Nats,
        hello: Hello,
        key: Option<AgentKey>,
    ) -> Result<(Self, Subscriptions), Error> {
        let bus = Bus::connect(nats).await?;
        let subscriptions = Subscriptions {
            calls: bus.subscribe(CALL.to_owned()).await?,
            claims: bus.subscribe(intro::claim_subject(&hello.id)).await?,
            downs: bus.subscribe(intro::down_subject(&hello.id)).await?,
            looks: bus.subscribe(intro::look_subject(&hello.id)).await?,
        };
        let sealed_to = Arc::new(XKey::new());
        let hello = Hello { sealed_to: sealed_to.public_key(), ..hello };
        let mut presence = Self { bus, hello, sealed_to, key };
        presence.lock();
        Ok((presence, subscriptions))
    }

    /// Requires the next claim to sign a word that cannot be known before it is announced.
    fn lock(&mut self) {
        let word = || format!("{:032x}", u128::from_le_bytes(net::private::random_bytes()));
        self.hello.lock = self.key.as_ref().map(|key| ClaimChallenge { key: key.to_string(), word: word() });
    }

    /// Reads a call; `None` if it is not understood.
    pub(crate) fn read_call(message: &Message) -> Option<Call> {
        intro::read(&message.payload)
    }

    /// Returns whether the call ends the run that the agent works for.
    pub(crate) fn is_ended(&self, run: &str, call: &Call) -> bool {
        match (&self.key, call) {
            (None, Call::Stop) => true,
            (Some(key), Call::End { run: named, signature }) => named == run && key.is_end(run, signature),
            _ => false,
        }
    }

    /// Introduces this agent, and the run that it works for.
    pub(crate) async fn answer_call(&self, message: &Message, run: Option<&str>) {
        let hello = Hello { run: run.map(str::to_owned), ..self.hello.clone() };
        self.bus.answer(message, intro::write(&hello)).await;
    }

    /// Takes a claim, unless the agent works for another run. Returns the run, and the link to its
    /// coordinator.
    pub(crate) async fn handle_claim(
        &mut self,
        message: &Message,
        run: Option<&str>,
    ) -> Option<(String, Link)> {
        let claim: Claim = intro::read(&message.payload)?;
        let judged = self.judge(&claim, run);
        let refused = judged.as_ref().err().cloned();
        let taken = judged.ok().map(|(envelope, seal)| {
            let up = intro::up_subject(&claim.run, claim.index);
            let link = Link::new(&self.bus, up, claim.session, clock::own_monotonic_ns());
            // A word is good for one claim: the next has to sign another, or a recorded claim could be played
            // back.
            self.lock();
            (claim.run, link.opening(envelope).obeying(seal))
        });
        self.bus.answer(message, intro::write(&ClaimAnswer { refused })).await;
        taken
    }

    /// The envelope and, if the agent obeys only one key, the seal of a claim; or why it is refused.
    fn judge(&self, claim: &Claim, run: Option<&str>) -> Result<(Envelope, Option<Seal>), String> {
        if claim.version != VERSION {
            return Err(format!("it is throng {VERSION}"));
        }
        // Before the key: a claim that comes second has signed a word that was for the first.
        if let Some(run) = run {
            return Err(format!("it works for run {run}"));
        }
        // The name becomes part of the subject that this agent publishes to.
        if intro::name(&claim.run).is_err() || claim.run.contains('.') {
            return Err("bad name of a run".into());
        }
        let envelope =
            Envelope::new(&self.sealed_to, &claim.sealed_by).ok_or("it wants orders that are sealed")?;
        let lock = self.key.as_ref().zip(self.hello.lock.as_ref());
        let opened = lock.map(|(key, lock)| {
            let seal = key.check_claim(claim, &self.hello.id, &lock.word);
            seal.ok_or_else(|| format!("it {}", intro::wants_key(&lock.key)))
        });
        Ok((envelope, opened.transpose()?))
    }
}
