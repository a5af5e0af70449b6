//! The figures that a shootout compares: those that limits know, of one step, and those of a whole run.

use results::format::count;
use results::levels::best;
use results::limit::StepFigure;
use results::{Bottleneck, Run, Scenario, Step, Unit};

use crate::ending::{is_at_file_limit, is_limited_by};

/// A figure, by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name: `rtt.p95`, `capacity`.
    pub name: String,
    of: Of,
}

#[derive(Clone, Debug, PartialEq)]
enum Of {
    /// A figure of the last step that passed, or the last one if none did.
    Step(StepFigure),
    /// Clients of the last step that passed, or what a search found.
    Capacity,
    /// Bytes of the server's memory for each connection.
    Memory,
    /// Connections for each GiB of it.
    ClientsPerGib,
    /// Deliveries per second at the highest safe rate of any number of clients.
    SafeRate,
    /// The same for each core that the server used for it.
    SafeRatePerCore,
}

impl Of {
    /// Returns whether runs of the verb can have it.
    fn is_of(&self, verb: Scenario) -> bool {
        match self {
            Of::Step(_) | Of::Capacity => true,
            Of::Memory | Of::ClientsPerGib => verb == Scenario::Idle,
            Of::SafeRate | Of::SafeRatePerCore => verb.facts().sweeps,
        }
    }
}

const OF_RUNS: [(&str, Of); 5] = [
    ("capacity", Of::Capacity),
    ("memory_per_client", Of::Memory),
    ("clients_per_gib", Of::ClientsPerGib),
    ("safe_rate", Of::SafeRate),
    ("safe_rate_per_core", Of::SafeRatePerCore),
];

const GIB: f64 = (1u64 << 30) as f64;

impl Figure {
    /// The figure of that name, in a verb's results; what there is otherwise.
    pub(crate) fn parse(name: &str, verb: Scenario) -> Result<Figure, String> {
        let of_runs = OF_RUNS.into_iter().filter(|(_, of)| of.is_of(verb));
        let of = match of_runs.clone().find(|(known, _)| *known == name) {
            Some((_, of)) => of,
            None => Of::Step(StepFigure::parse(name, verb).map_err(|error| {
                let of_runs: Vec<&str> = of_runs.map(|(name, _)| name).collect();
                format!("{error}; and, of whole runs, {}", of_runs.join(", "))
            })?),
        };
        Ok(Figure { name: name.to_owned(), of })
    }

    /// Label for people: `round trip p99`, `clients per GiB of server memory`.
    pub fn words(&self) -> String {
        match &self.of {
            Of::Step(figure) => figure.words(),
            Of::Capacity => "capacity in clients".to_owned(),
            Of::Memory => "server memory per client".to_owned(),
            Of::ClientsPerGib => "clients per GiB of server memory".to_owned(),
            Of::SafeRate => "highest rate within the limits".to_owned(),
            Of::SafeRatePerCore => "highest rate within the limits per core".to_owned(),
        }
    }

    /// The number of clients that its value in a run is of, where that is one of many steps'.
    pub(crate) fn clients(&self, run: &Run) -> Option<u64> {
        match self.of {
            Of::Step(_) => Some(told(run)?.clients),
            _ => None,
        }
    }

    /// Returns whether it is a figure of one step.
    pub(crate) fn is_of_step(&self) -> bool {
        matches!(self.of, Of::Step(_))
    }

    /// Its value in a run, in its unit; `None` when it was not measured.
    pub fn read(&self, run: &Run) -> Option<f64> {
        match &self.of {
            Of::Step(figure) => figure.read(told(run)?),
            Of::Capacity => match &run.verdict.capacity {
                // A search of mere noise does not rank a server.
                Some(capacity) => capacity.is_decided().then_some(capacity.clients as f64),
                // A server that held nothing has a figure, too, and is last by it.
                None => Some(last_kept(run).map_or(0.0, |step| step.clients as f64)),
            },
            Of::Memory => memory_per_client(run),
            Of::ClientsPerGib => memory_per_client(run).map(|bytes| GIB / bytes),
            Of::SafeRate => best(&run.verdict.levels)?.received_per_s,
            Of::SafeRatePerCore => {
                let level = best(&run.verdict.levels)?;
                let is_it = |step: &&Step| {
                    let is_of_level = step.clients == level.clients;
                    is_of_level && step.rates.asked_per_s == level.safe_per_s && step.has_passed()
                };
                let server = run.steps.iter().find(is_it)?.server.as_ref()?;
                let cores = server.cpu_percent_mean.filter(|percent| *percent > 0.0)? / 100.0;
                Some(level.received_per_s? / cores)
            }
        }
    }

    /// How far the value in a run may reach in truth: a search knows a load that kept the limits and the next
    /// that broke them, and nothing of those between. What was not searched is what it is.
    pub(crate) fn reach(&self, run: &Run) -> Option<f64> {
        let value = self.read(run)?;
        let broke = match &self.of {
            Of::Step(_) | Of::Memory | Of::ClientsPerGib => None,
            Of::Capacity => match &run.verdict.capacity {
                Some(capacity) => Some(capacity.high as f64),
                None => run.steps.iter().find(|step| !step.has_passed()).map(|step| step.clients as f64),
            },
            Of::SafeRate | Of::SafeRatePerCore => {
                let level = best(&run.verdict.levels)?;
                // In proportion: the next rate was this much higher, and so may the figure be.
                level.overload_per_s.zip(level.safe_per_s).map(|(broke, kept)| value * broke / kept)
            }
        };
        Some(broke.unwrap_or(value).max(value))
    }

    /// Returns whether the server may do better than the value in a run: the search or the walk ended at a
    /// load that kept the limits, as `--max-clients` has it.
    pub(crate) fn is_at_least(&self, run: &Run) -> bool {
        match &self.of {
            Of::Step(_) | Of::Memory | Of::ClientsPerGib => false,
            Of::Capacity => match &run.verdict.capacity {
                Some(capacity) => capacity.at_least,
                None => !run.steps.is_empty() && run.steps.iter().all(Step::has_passed),
            },
            Of::SafeRate | Of::SafeRatePerCore => {
                best(&run.verdict.levels).is_some_and(|level| level.overload_per_s.is_none())
            }
        }
    }

    /// Returns whether the server may do better than the value in a run: what ended it was the generator, the
    /// machine, the highest load tried, or, of a number of clients, the limit of open files.
    pub fn is_bound(&self, run: &Run) -> bool {
        is_limited_by(run, Bottleneck::Generator)
            || is_limited_by(run, Bottleneck::Machine)
            || self.is_at_least(run)
            || (self.is_capacity() && is_at_file_limit(run))
    }

    /// Returns whether it is a number of clients, which more files would make larger.
    pub(crate) fn is_capacity(&self) -> bool {
        self.of == Of::Capacity
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        match &self.of {
            Of::Step(figure) => figure.unit(),
            Of::Capacity | Of::ClientsPerGib => Unit::Count,
            Of::Memory => Unit::Bytes,
            Of::SafeRate | Of::SafeRatePerCore => Unit::PerSecond,
        }
    }

    /// Returns whether more of it is better.
    pub fn more_is_better(&self) -> bool {
        match &self.of {
            Of::Step(figure) => figure.more_is_better(),
            Of::Capacity | Of::ClientsPerGib | Of::SafeRate | Of::SafeRatePerCore => true,
            Of::Memory => false,
        }
    }

    /// A value as people read it, without its unit.
    pub(crate) fn show(&self, value: f64) -> String {
        self.show_beside(value, value)
    }

    /// The sign before a value that the server may do better than.
    pub fn sign(&self, is_bound: bool) -> &'static str {
        match (is_bound, self.more_is_better()) {
            (false, _) => "",
            (true, true) => "≥ ",
            (true, false) => "≤ ",
        }
    }

    /// A value as people read it, with its sign if it is a bound.
    pub fn show_bound(&self, value: f64, is_bound: bool) -> String {
        format!("{}{}", self.sign(is_bound), self.show(value))
    }

    /// An end of an interval or its width, as precisely as the `value` that it is of; latencies, as precisely
    /// as their size asks for.
    pub(crate) fn show_beside(&self, end: f64, value: f64) -> String {
        match self.unit() {
            Unit::Ms if value < 0.1 => format!("{end:.4}"),
            Unit::Ms if value < 1.0 => format!("{end:.3}"),
            Unit::Ms if end < 10.0 => format!("{end:.2}"),
            Unit::Ms if end < 100.0 => format!("{end:.1}"),
            // What has not all come is not rounded to all.
            Unit::Percent if self.more_is_better() => match end {
                100.0.. => count(end.round() as u64),
                _ => format!("{:.2}", (end * 100.0).floor() / 100.0),
            },
            Unit::PerSecond | Unit::Percent if value < 10.0 => format!("{end:.2}"),
            _ => count(end.round() as u64),
        }
    }
}

/// The last step within its limits.
fn last_kept(run: &Run) -> Option<&Step> {
    run.steps.iter().rev().find(|step| step.has_passed())
}

/// The step that figures of steps are told of: the last within its limits, or, where there is none, the last.
fn told(run: &Run) -> Option<&Step> {
    last_kept(run).or(run.steps.last())
}

/// Too few clients to tell a slope from none are no reason to say that they cost nothing.
fn memory_per_client(run: &Run) -> Option<f64> {
    // The interval has to leave nothing out of the question.
    let line = run.verdict.memory_per_client.filter(|line| line.slope_interval().low > 0.0)?;
    Some(line.slope)
}

#[cfg(test)]
mod tests {
    use results::{LimitOutcome, LimitStatus, Requirement};

    use super::*;

    #[test]
    fn safe_rates_are_shared_among_their_cores() {
        let step = |asked_per_s, cpu| Step {
            clients: 100,
            rates: results::Rates { asked_per_s: Some(asked_per_s), ..Default::default() },
            server: Some(results::ServerUse { cpu_percent_mean: cpu, ..Default::default() }),
            ..Step::default()
        };
        let per_core = |cpu| {
            let mut run = Run { steps: vec![step(500.0, None), step(1_000.0, cpu)], ..Run::default() };
            run.verdict.levels = vec![results::Level {
                clients: 100,
                safe_per_s: Some(1_000.0),
                received_per_s: Some(990.0),
                ..Default::default()
            }];
            Figure::parse("safe_rate_per_core", Scenario::Saturate).unwrap().read(&run)
        };
        assert_eq!((per_core(Some(50.0)), per_core(Some(180.0))), (Some(1_980.0), Some(550.0)));
        assert_eq!(per_core(None), None, "the server could not be seen");
    }

    #[test]
    fn figures_are_shown_as_precisely_as_known() {
        let rtt = Figure::parse("rtt.p95", Scenario::Echo).unwrap();
        let shown = [0.02134, 0.1234, 12.34, 1234.4].map(|ms| rtt.show(ms));
        assert_eq!(shown, ["0.0213", "0.123", "12.3", "1,234"]);
        assert_eq!(rtt.show_beside(0.00412, 0.02134), "0.0041");
        assert!(!rtt.more_is_better() && Figure::parse("rate", Scenario::Http).unwrap().more_is_better());
        assert_eq!(Figure::parse("capacity", Scenario::Broadcast).unwrap().show(12_000.0), "12,000");
        let rate = Figure::parse("rate", Scenario::Http).unwrap();
        assert_eq!([0.4, 12.34, 1_234.5].map(|per_s| rate.show(per_s)), ["0.40", "12", "1,235"]);
        assert_eq!(rate.show_beside(8.2, 1_234.0), "8");
        assert_eq!(Figure::parse("server.cpu", Scenario::Http).unwrap().show(0.4), "0.40");
        let delivered = Figure::parse("delivered", Scenario::Broadcast).unwrap();
        assert_eq!([88.049, 99.999, 100.0].map(|percent| delivered.show(percent)), ["88.04", "99.99", "100"]);
    }

    #[test]
    fn figures_of_runs_belong_to_their_verbs() {
        let told = |name| Scenario::ALL.into_iter().filter(move |verb| Figure::parse(name, *verb).is_ok());
        for name in ["memory_per_client", "clients_per_gib"] {
            assert!(told(name).eq([Scenario::Idle]), "{name}");
        }
        for name in ["safe_rate", "safe_rate_per_core"] {
            assert!(told(name).eq([Scenario::Saturate]), "{name}");
        }
        assert!(told("capacity").eq(Scenario::ALL));
        let others = Figure::parse("safe_rate", Scenario::Idle).unwrap_err();
        assert!(others.ends_with("of whole runs, capacity, memory_per_client, clients_per_gib"), "{others}");
    }

    #[test]
    fn memory_that_does_not_show_is_not_nothing() {
        let of = |slope| {
            let line = stats::fit::Line { slope, intercept: 25e6, slope_se: 100.0, points: 80 };
            let mut run = Run::default();
            run.verdict.memory_per_client = Some(line);
            Figure::parse("memory_per_client", Scenario::Idle).unwrap().read(&run)
        };
        assert_eq!((of(0.0), of(150.0), of(3_000.0)), (None, None, Some(3_000.0)));
        let mut run = Run::default();
        run.verdict.memory_per_client =
            Some(stats::fit::Line { slope: 4_096.0, intercept: 25e6, slope_se: 1.0, points: 80 });
        let held = Figure::parse("clients_per_gib", Scenario::Idle).unwrap();
        assert!(held.more_is_better() && held.read(&run) == Some(262_144.0));
    }

    #[test]
    fn walks_have_the_last_good_step_as_capacity() {
        let limit = results::Limit::parse("connect_failures==0", Scenario::Broadcast).unwrap();
        let step = |clients, failures| {
            let mut step = results::Step { clients, ..Default::default() };
            step.counts.connect_failures = failures;
            step.stop = Some(limit.check(&step));
            step
        };
        let run = Run { steps: vec![step(1_000, 0), step(2_000, 0), step(3_000, 1)], ..Run::default() };
        assert_eq!(Figure::parse("capacity", Scenario::Broadcast).unwrap().read(&run), Some(2_000.0));
        let none = Run { steps: vec![step(1_000, 1)], ..Run::default() };
        assert_eq!(Figure::parse("capacity", Scenario::Broadcast).unwrap().read(&none), Some(0.0));
        let mut partly = results::Step { usable: Some(2_999), ..step(3_000, 0) };
        let standing = results::standing::limits(Scenario::Broadcast, &[], 0.0);
        partly.standing = results::standing::check(&standing, &partly);
        let run = Run { steps: vec![step(2_000, 0), partly], ..Run::default() };
        assert_eq!(
            Figure::parse("capacity", Scenario::Broadcast).unwrap().read(&run),
            Some(2_000.0),
            "not all were there"
        );
    }

    fn searched(low: u64, high: u64, at_least: bool) -> Run {
        let mut run = Run { is_search: true, ..Run::default() };
        let (clients, confidence, contradicted_by) = (637, 0.95, None);
        let capacity = stats::Capacity { clients, low, high, confidence, at_least, contradicted_by };
        run.verdict.capacity = Some(capacity);
        run
    }

    #[test]
    fn undecided_searches_are_no_figure() {
        let capacity = Figure::parse("capacity", Scenario::Broadcast).unwrap();
        let of = |low, high| capacity.read(&searched(low, high, false));
        assert_eq!((of(600, 700), of(35, 1_189)), (Some(637.0), None));
    }

    #[test]
    fn searches_without_a_broken_load_are_bounds() {
        let capacity = Figure::parse("capacity", Scenario::Broadcast).unwrap();
        let of = |at_least| capacity.is_at_least(&searched(637, 637, at_least));
        assert_eq!((of(true), of(false)), (true, false));
        let walked = |passed| {
            let stop = Some(LimitOutcome {
                status: LimitStatus::of(passed),
                ..LimitOutcome::unmeasured(Requirement::Finished)
            });
            let steps = vec![Step { clients: 1_000, stop, ..Step::default() }];
            capacity.is_at_least(&Run { steps, ..Run::default() })
        };
        assert_eq!((walked(true), walked(false)), (true, false));
        let rtt = Figure::parse("rtt.p95", Scenario::Broadcast).unwrap();
        assert!(!rtt.is_at_least(&searched(637, 637, true)), "a latency is what it is");
        let shown = |at_least| {
            let run = searched(637, 637, at_least);
            capacity.show_bound(capacity.read(&run).unwrap(), capacity.is_bound(&run))
        };
        assert_eq!([true, false].map(shown), ["≥ 637", "637"]);
        assert_eq!(rtt.show_bound(12.0, true), "≤ 12.0");
        let swept = |overload_per_s| {
            let (safe_per_s, fatal_per_s) = (Some(1_000.0), Some(1_000.0));
            let level = results::Level { safe_per_s, fatal_per_s, overload_per_s, ..Default::default() };
            let mut run = Run::default();
            run.verdict.levels = vec![level];
            Figure::parse("safe_rate", Scenario::Saturate).unwrap().is_at_least(&run)
        };
        assert_eq!((swept(None), swept(Some(2_000.0))), (true, false), "a jam breaks no limit");
    }
}
