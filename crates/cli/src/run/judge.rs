//! Judges steps and runs: by the user's limits and those that always hold, what the generator can do here,
//! and what speaks against the figures.

use crew::Course;
use load::StepOrder;
use results::finding::{Cause, Caveat};
use results::limit::Limit;
use results::{Run, Scenario, Step, Warmup, standing, verdict};

use crate::calibration::{Calibration, Work};
use crate::request::{Limits, Request};

/// Judges the steps of a run.
pub(crate) struct Judge {
    limits: Limits,
    /// Limits that are judged without being asked for.
    standing: Vec<Limit>,
    is_storm: bool,
    quantile: f64,
    work: Work,
    calibration: Option<Calibration>,
    warmup: Option<Warmup>,
    /// Rows of users' data with which clients log in. Data of other uses may be meant to be shared.
    login_rows: Option<u64>,
}

impl Judge {
    /// A judge of what was requested, by its limits.
    pub(crate) fn new(request: &Request<'_>, limits: Limits) -> Self {
        let allowed_percent = request.args.allowed_percent.unwrap_or(0.0);
        let spec = &request.plan.client_spec;
        let logs_in = spec.of_dialect.app.as_ref().is_some_and(|app| app.logs_in_by_row());
        Self {
            standing: standing::limits(request.scenario, &limits.asked, allowed_percent),
            limits,
            is_storm: request.scenario == Scenario::Storm,
            quantile: request.percentile / 100.0,
            work: Work::of(&request.plan),
            calibration: Calibration::load(),
            warmup: None,
            login_rows: logs_in.then(|| spec.people.rows.rows() as u64),
        }
    }

    /// The warm-up was measured: the step that follows says what it was.
    pub(crate) fn handle_warmup(&mut self, step: &Step) {
        self.warmup = Some(Warmup {
            clients: step.clients,
            duration_ns: step.duration_ns,
            sent: step.counts.sent,
            received: step.counts.received,
        });
    }

    /// The step with limits, bottleneck and caveats. `previous` was measured before it.
    pub(crate) fn judge(&mut self, mut step: Step, order: &StepOrder, previous: Option<&Step>) -> Step {
        step.warmup = self.warmup.take();
        // Before the verdict, one of whose rules is that the ceiling was reached.
        if let Some(calibration) = &self.calibration {
            calibration.note(self.work.under(order.load), &mut step);
        }
        step.limits = self.limits.asked.iter().filter_map(|limit| limit.check_decided(&step)).collect();
        step.standing = standing::check(&self.standing, &step);
        step.standing.extend(standing::storm(&step).filter(|_| self.is_storm));
        let stops = self.limits.stop.iter().filter_map(|stop| stop.check_decided(&step));
        // The one that broke says most; otherwise any stands for the others.
        step.stop = stops.min_by_key(|outcome| outcome.passed());
        // Before the bottleneck: whether a limit is undecided is part of what it is judged by.
        verdict::weigh_broken(&mut step);
        // After the limits: what is sought is the cause of what broke.
        step.bottleneck = Some(verdict::bottleneck(&step, previous));
        step.caveats = verdict::caveats(&step, self.quantile);
        let clients = step.clients;
        let shared = self.login_rows.filter(|rows| clients > *rows);
        step.caveats.extend(shared.map(|rows| Caveat::SharedUsers { clients, rows }));
        step
    }
}

/// The step, judged, in whose midst the generator broke.
pub(crate) fn cut_short(mut step: Step, error: &crew::Error) -> Step {
    step.caveats.insert(0, Caveat::CutShort { error: error.to_string() });
    // What did not come was not lost by the server.
    step.standing = vec![standing::unfinished()];
    step.bottleneck = Some(Cause::GeneratorBroke { error: error.to_string() }.into());
    step
}

/// Concludes a run whose steps are all measured.
pub(crate) fn conclude(run: &mut Run, course: &Course) {
    run.verdict.capacity = course.capacity();
    run.verdict.limits = verdict::limits(&run.steps, &run.verdict);
    run.verdict.bottleneck = verdict::held_back(&run.steps, &run.verdict);
}
