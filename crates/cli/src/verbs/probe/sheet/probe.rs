//! A probe: the topics it answers, what it needs, and whether it could hurt.

use std::iter;

use super::row::{NotTried, Outcome, Row, Topic};
use super::site::{Site, Tester};
use crate::verbs::probe::service::Service;

/// Requirements of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// A server.
    Server,
    /// A server behind TLS.
    Tls,
    /// A WebSocket that lets clients in.
    WebSocket,
    /// One that sends messages back to their sender.
    Echo,
    /// A WebSocket or an event stream that lets clients in, and lets them resume.
    Session,
}

/// One probe.
pub(super) struct Probe {
    /// The rows it fills, in the order of its outcomes.
    topics: &'static [Topic],
    needs: Needs,
    /// A risk to the server or its users: the probe is made only if the user agrees.
    risk: Option<&'static str>,
    measure: Measure,
}

/// The work of a probe: an outcome for each topic, or the reason why there is none at all.
pub(super) type Measure = fn(&Tester<'_>) -> Result<Vec<Outcome>, NotTried>;

impl Probe {
    /// A probe of any server.
    pub(super) const fn new(topics: &'static [Topic], needs: Needs, measure: Measure) -> Probe {
        Probe { topics, needs, risk: None, measure }
    }

    /// A probe of a WebSocket.
    pub(super) const fn of_websockets(topics: &'static [Topic], measure: Measure) -> Probe {
        Probe::new(topics, Needs::WebSocket, measure)
    }

    /// The same with a risk.
    pub(super) const fn risking(self, risk: &'static str) -> Probe {
        Probe { risk: Some(risk), ..self }
    }

    /// The risk that the user has to agree to, if this probe can be made there at all.
    pub(super) fn risk(&self, site: &Site) -> Option<&'static str> {
        self.risk.filter(|_| self.obstacle(site).is_none())
    }

    /// The reason why it cannot be made there.
    fn obstacle(&self, site: &Site) -> Option<&'static str> {
        match self.needs {
            Needs::Server => None,
            Needs::Tls => site.plan.tls.is_none().then_some("the URL has no TLS"),
            Needs::Session => match site.service {
                None => Some("no session that lets clients in was found"),
                Some(service) => {
                    (!service.resumes()).then_some("clients of this protocol begin anew after a disconnect")
                }
            },
            Needs::WebSocket | Needs::Echo if !site.service.is_some_and(Service::is_websocket) => {
                Some("no WebSocket that lets clients in was found")
            }
            Needs::Echo => {
                (!site.echoes).then_some("messages do not come back to their sender; try an echo endpoint")
            }
            Needs::WebSocket => None,
        }
    }

    /// Makes it, if it can be made and the user agrees.
    pub(super) fn rows(&self, site: &Site, agrees: bool) -> Vec<Row> {
        let tester = Tester::new(site);
        // What cannot be done comes before what may not: nobody is asked to agree in vain.
        let not_tried = match (self.obstacle(site), self.risk) {
            (Some(obstacle), _) => Some(obstacle),
            (None, Some(_)) if !agrees => Some("it could hurt; agree with --yes"),
            _ if site.is_interrupted() => Some("interrupted"),
            _ => None,
        };
        let outcomes = match not_tried {
            Some(why) => Err(NotTried(why.to_owned())),
            None => (self.measure)(&tester),
        };
        let outcomes = outcomes.unwrap_or_else(|why| vec![Err(why); self.topics.len()]);
        debug_assert_eq!(outcomes.len(), self.topics.len(), "an outcome for each topic");
        let costs = iter::once(Some(tester.cost())).chain(iter::repeat(None));
        let rows = self.topics.iter().zip(outcomes).zip(costs);
        rows.map(|((topic, outcome), cost)| Row { topic, outcome, cost }).collect()
    }
}
