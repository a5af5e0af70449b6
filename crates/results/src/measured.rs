//! Figures as they are read from a step, and limits as they are held against one.

use std::borrow::Cow;

use stats::{Count, Counts, Figures, Histogram, Timed, Whole};

use crate::limit::{
    Counted, Figure, Gauge, Limit, LimitOutcome, LimitStatus, Part, Requirement, Statistic, StepFigure,
};
use crate::rates::Rate;
use crate::step::{RoleFigures, SayFigures, Step};

impl Limit {
    /// Holds the limit against one step. `None`: the user ended it before that could be told, because
    /// something had not come yet.
    pub fn check_decided(&self, step: &Step) -> Option<LimitOutcome> {
        let outcome = self.check(step);
        let is_decided = || {
            let is_bound_broken = || outcome.actual.is_some_and(|actual| !self.is_kept_by(actual));
            step.tells(self.of.figure) && (outcome.passed() || is_bound_broken())
        };
        // More time could have brought what was missing, but not have undone what was broken.
        (!step.was_interrupted() || is_decided()).then_some(outcome)
    }

    /// Holds the limit against one step. A figure that was not measured breaks it, and so does one that is decided by
    /// what never came, a client or an answer: silence is no proof.
    pub fn check(&self, step: &Step) -> LimitOutcome {
        let of = step.part(&self.of.part);
        let actual = of.as_deref().and_then(|of| of.value(self.of.figure, self.as_share));
        // The figure would be more if throng had waited longer, and nobody knows by how much.
        let is_bound = of.as_deref().is_some_and(|of| of.is_lower_bound(self.of.figure));
        let is_kept = || actual.is_some_and(|actual| self.is_kept_by(actual));
        LimitOutcome {
            status: if is_bound { LimitStatus::AtLeast } else { LimitStatus::of(is_kept()) },
            actual,
            ..LimitOutcome::unmeasured(Requirement::Limit(self.clone()))
        }
    }
}

impl StepFigure {
    /// Its value in the step, in its unit; `None` when it was not measured.
    pub fn read(&self, step: &Step) -> Option<f64> {
        step.part(&self.part)?.value(self.figure, false)
    }
}

impl Step {
    /// The value in its unit; `None` when the step did not measure it.
    pub(crate) fn value(&self, figure: Figure, as_share: bool) -> Option<f64> {
        match figure {
            Figure::Timed(timed, statistic) => {
                let histogram = self.figures.get(timed);
                (!histogram.is_empty()).then(|| statistic.of_ms(histogram))
            }
            Figure::Counted(Counted::Count(Count::JoinFailures)) if self.joins() == 0 => None,
            Figure::Counted(Counted::Count(Count::Unseen)) if self.counts.seen_due == 0 => None,
            Figure::Counted(Counted::Count(Count::PushSkipped)) if self.counts.pushed == 0 => None,
            Figure::Counted(Counted::Count(Count::PushDiffering)) if self.counts.push_compared == 0 => None,
            Figure::Counted(counted) => {
                let (count, whole) = self.counted(counted);
                match (as_share, whole) {
                    (false, _) => Some(count as f64),
                    (true, 0) => None,
                    (true, whole) => Some(100.0 * count as f64 / whole as f64),
                }
            }
            Figure::Rate(Rate::Achieved) if as_share => self.kept_percent(),
            Figure::Rate(rate) => self.rates.get(rate),
            Figure::Gauge(gauge) => self.gauge(gauge),
        }
    }

    /// Returns whether what never came decides the value, a client that was not back or an answer: it is then
    /// that or more.
    pub(crate) fn is_lower_bound(&self, figure: Figure) -> bool {
        let Figure::Timed(timed, statistic) = figure else { return false };
        match statistic {
            Statistic::Min => {
                let open = self.open_samples(timed);
                open > 0 && open == self.figures.get(timed).count()
            }
            Statistic::Quantile(q) => self.is_open(timed, q),
            Statistic::Mean | Statistic::Sd | Statistic::Max => self.has_open(timed),
        }
    }

    /// Returns whether it says something of a step: of one that the user ended, what had not come by then is not
    /// lost, and no rate had its time.
    pub(crate) fn tells(&self, figure: Figure) -> bool {
        use Count::{JoinFailures, LostOffline, NotBack, Unseen};
        let is_of_what_comes_late = match figure {
            Figure::Counted(Counted::Count(count)) => {
                [JoinFailures, LostOffline, NotBack, Unseen].contains(&count)
            }
            Figure::Gauge(gauge) => gauge == Gauge::Delivered,
            Figure::Rate(rate) => rate != Rate::Connects,
            Figure::Timed(..) | Figure::Counted(_) => false,
        };
        !(self.was_interrupted() && is_of_what_comes_late)
    }

    /// The count, and what a share of it is a share of: all that could have been counted, so that no share is
    /// above 100%.
    pub(crate) fn counted(&self, counted: Counted) -> (u64, u64) {
        let (count, whole) = match counted {
            Counted::Errors => (self.errors.total() - self.of_file(), occasions(self)),
            Counted::Count(count) => {
                (*self.counts.get(count), count.facts().share_of.map_or(0, |whole| all_of(whole, self)))
            }
            Counted::Wrong => (self.wrong(), self.came()),
            Counted::Unusable => (self.unusable(), self.clients),
        };
        // A server may send unrequested messages more often than there were requests.
        (count, whole.max(count))
    }

    /// Connections that ended under the load, of how many, and the word for these: clients, unless one had several.
    pub(crate) fn disconnects(&self) -> (u64, u64, String) {
        let (lost, of) = self.counted(Counted::Count(Count::Disconnects));
        let what = if of > self.clients { "connections" } else { "clients" };
        (lost, of, what.to_owned())
    }

    fn gauge(&self, gauge: Gauge) -> Option<f64> {
        let (server, generator) = (self.server.as_ref(), self.generator.as_ref());
        match gauge {
            Gauge::ServerCpu => server?.cpu_percent_mean,
            Gauge::ServerRss => server?.rss_bytes_peak.map(|bytes| bytes as f64),
            Gauge::GeneratorCpu => generator?.cpu_percent_mean,
            Gauge::GeneratorRss => generator?.rss_bytes_peak.map(|bytes| bytes as f64),
            Gauge::MessagesPerFrame => {
                let Counts { received, batched, .. } = self.counts;
                // `batched` are those behind the first of their frame: each of the others is a frame.
                let frames = received.saturating_sub(batched);
                (frames > 0).then(|| received as f64 / frames as f64)
            }
            Gauge::Delivered => {
                let Counts { expected, received, in_flight, offline_due, recovered, .. } = self.counts;
                // What was on its way to clients that left on purpose was due to nobody any more.
                let due = expected - in_flight + offline_due;
                (due > 0).then(|| 100.0 * (received + recovered) as f64 / due as f64)
            }
        }
    }

    /// The parts of a step, the whole first.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        let says = self.says.iter().map(|say| Part::Say(say.name.clone()));
        let roles = self.roles.iter().map(|role| Part::Role(role.name.clone()));
        [Part::Whole].into_iter().chain(says).chain(roles)
    }

    /// This part as if the step had nothing else; `None` if the step has no such part.
    pub(crate) fn part(&self, part: &Part) -> Option<Cow<'_, Step>> {
        match part {
            Part::Whole => Some(Cow::Borrowed(self)),
            Part::Say(name) => {
                let SayFigures { counts, rtt, delivery, .. } =
                    self.says.iter().find(|say| say.name == *name)?;
                Some(Cow::Owned(apart(self, *counts, rtt, delivery)))
            }
            Part::Role(name) => {
                let role = self.roles.iter().find(|role| role.name == *name)?;
                Some(Cow::Owned(of_role(self, role)))
            }
        }
    }
}

fn all_of(whole: Whole, step: &Step) -> u64 {
    match whole {
        Whole::Sent => step.counts.sent,
        Whole::Due => step.counts.due(),
        Whole::Received => step.counts.received,
        Whole::Came => step.came(),
        Whole::Connects => step.counts.connects,
        Whole::Connections => step.connections(),
        Whole::ThrownOut => step.figures.recovery.count(),
        Whole::OfflineDue => step.counts.offline_due,
        Whole::Joins => step.joins(),
        Whole::SeenDue => step.counts.seen_due,
        Whole::Pushes => step.counts.pushed + step.counts.push_skipped,
        Whole::PushesCompared => step.counts.push_compared,
        Whole::Events => step.counts.events,
    }
}

/// Occasions to fail: connections that were begun or kept, and messages.
fn occasions(step: &Step) -> u64 {
    let Counts { sent, connects, connected, .. } = step.counts;
    step.connections() + connects.saturating_sub(connected) + sent
}

fn of_role(step: &Step, role: &RoleFigures) -> Step {
    let RoleFigures { people, counts, handshake, rtt, delivery, .. } = role;
    // Connections that are neither usable nor failed are not counted by role.
    let failed = counts.connect_timeouts + counts.connect_failures;
    let connects = counts.connected + failed;
    let mut of_role = apart(step, Counts { connects, ..*counts }, rtt, delivery);
    of_role.clients = *people;
    // Nor are clients that stay from step to step: at most all that are there have the role, but for those of
    // it that failed. More attempts than clients were absent are of clients that were there, and came back.
    of_role.usable = step.usable.map(|usable| {
        let absent = failed.min(step.clients.saturating_sub(usable));
        usable.min(people.saturating_sub(absent))
    });
    of_role.figures.handshake = handshake.clone();
    of_role
}

fn apart(step: &Step, counts: Counts, rtt: &Histogram, delivery: &Histogram) -> Step {
    // Whose the messages without an answer are is not known: they may all be of this part.
    let answered = rtt.count().saturating_sub(step.open_samples(Timed::Rtt));
    let mut service = Histogram::new();
    service.record_n_ns(0, answered);
    let figures = Figures { rtt: rtt.clone(), service, delivery: delivery.clone(), ..Figures::default() };
    Step { counts, figures, ..Step::default() }
}
