//! Where an agent is found and claimed, whatever it then does.

use async_nats::{Message, Subscriber};
use net::clock;

use super::Error;
use super::access::Nats;
use super::bus::Bus;
use super::intro::{self, CALL, Call, Claim, ClaimAnswer, Hello, VERSION};
use super::link::Link;

/// An agent's presence at NATS.
pub(super) struct Reception {
    pub(super) bus: Bus,
    hello: Hello,
}

/// What an agent hears.
pub(super) struct Doors {
    pub(super) calls: Subscriber,
    pub(super) claims: Subscriber,
    pub(super) downs: Subscriber,
    pub(super) looks: Subscriber,
}

impl Reception {
    /// Connects, and listens from then on.
    pub(super) async fn open(nats: &Nats, hello: Hello) -> Result<(Self, Doors), Error> {
        let bus = Bus::connect(nats).await?;
        let doors = Doors {
            calls: bus.subscribe(CALL.to_owned()).await?,
            claims: bus.subscribe(intro::claim_subject(&hello.id)).await?,
            downs: bus.subscribe(intro::down_subject(&hello.id)).await?,
            looks: bus.subscribe(intro::look_subject(&hello.id)).await?,
        };
        Ok((Self { bus, hello }, doors))
    }

    /// What is called for; `None`: nothing that is understood.
    pub(super) fn read_call(message: &Message) -> Option<Call> {
        intro::read(&message.payload)
    }

    /// Says who is there, and for which run.
    pub(super) async fn answer_call(&self, message: &Message, run: Option<&str>) {
        let hello = Hello { run: run.map(str::to_owned), ..self.hello.clone() };
        self.bus.answer(message, intro::write(&hello)).await;
    }

    /// Takes a claim, unless the agent works for another run: the run, and the link to its coordinator.
    pub(super) async fn handle_claim(&self, message: &Message, run: Option<&str>) -> Option<(String, Link)> {
        let claim: Claim = intro::read(&message.payload)?;
        let refused = match run {
            _ if claim.version != VERSION => Some(format!("it is throng {VERSION}")),
            _ if intro::name(&claim.run).is_err() || claim.run.contains('.') => {
                Some("bad name of a run".into())
            }
            Some(run) => Some(format!("it works for run {run}")),
            None => None,
        };
        let taken = refused.is_none().then(|| {
            let up = intro::up_subject(&claim.run, claim.index);
            let link = Link::new(&self.bus, up, claim.session, clock::own_monotonic_ns());
            (claim.run, link)
        });
        self.bus.answer(message, intro::write(&ClaimAnswer { refused })).await;
        taken
    }
}
