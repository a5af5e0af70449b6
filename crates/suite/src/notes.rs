//! Notes on a target beside its figure: what keeps it from having a rank, and what speaks against the figure.

use results::format::{clients, count, counted, rate};
use results::{Bottleneck, Run, Scenario as Verb, Step};
use stats::error_kind;

use crate::ending::{first_full, is_at_file_limit, is_limited_by};
use crate::figure::Figure;
use crate::manifest::REFERENCE_NAME;
use crate::noise;
use crate::record::{Entry, Record};
use crate::stage::StageFailure;
use crate::suite::Scenario;

/// Notes on one target in one scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetNotes {
    /// Why it has no rank: it lost messages, crashed, or answered with errors.
    pub(crate) flaw: Option<String>,
    /// Its figure is that of a limit of the system, and so none of the server's: this one, if there is any.
    pub(crate) at_file_limit: Option<String>,
    /// The generator ended its rounds at fewer clients than others had: with another it may be ahead.
    pub(crate) is_held_back: bool,
    /// In a round the figure was a bound ([`Figure::is_bound`]).
    pub(crate) is_bound: bool,
    /// Caveats of its figure.
    caveats: Vec<String>,
}

impl TargetNotes {
    /// Notes on all its rounds.
    pub(crate) fn of(scenario: &Scenario, target: &str, runs: &[Run], record: &Record) -> TargetNotes {
        let entries: Vec<&Entry> = record.of(&scenario.name, target).collect();
        let is_of_target = |step: &Step| !is_by_generator(step);
        TargetNotes {
            flaw: failed(&entries, StageFailure::is_of_target)
                .or_else(|| wrong(scenario.verb, runs, is_of_target)),
            at_file_limit: at_file_limit(&scenario.figures[0], runs),
            is_held_back: false,
            is_bound: runs.iter().any(|run| scenario.figures[0].is_bound(run)),
            caveats: caveats(scenario, &entries, runs),
        }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        let all: Vec<String> =
            self.flaw.iter().chain(&self.at_file_limit).chain(&self.caveats).cloned().collect();
        all.join("; ")
    }
}

/// A target that ended at fewer clients than others, by its limits or by the generator's, has a figure of these
/// fewer, which says nothing beside theirs. Whoever has a flaw of its own is nobody's measure.
pub(crate) fn hold_to_one_load(figure: &Figure, runs: &[(&str, Vec<Run>)], said: &mut [TargetNotes]) {
    // The yardstick is not among those that are compared.
    let is_compared = |((name, _), said): &(&(&str, Vec<Run>), &TargetNotes)| {
        *name != REFERENCE_NAME && said.flaw.is_none()
    };
    // A load at which the generator gave out is nobody's measure, but a figure of it is one of fewer clients.
    let is_own = |run: &&Run| !is_limited_by(run, Bottleneck::Generator);
    let compared = runs.iter().zip(&*said).filter(is_compared);
    let most = compared.filter_map(|((_, runs), _)| fewest(figure, runs.iter().filter(is_own))).max();
    let Some(most) = most else { return };
    for (said, (_, runs)) in said.iter_mut().zip(runs) {
        if let Some(own) = fewest(figure, runs.iter()).filter(|own| *own < most) {
            // Fewer clients are an easier load: a good figure of them would win by losing.
            let few = format!("a figure of {}, and others' of {}", clients(own), count(most));
            let reached = fewest(figure, runs.iter().filter(is_own));
            said.is_held_back = said.flaw.is_none() && reached.is_none_or(|own| own >= most);
            said.flaw = Some(said.flaw.take().map_or(few.clone(), |flaw| format!("{flaw}; {few}")));
        }
    }
}

/// The fewest clients that the figure is of in one of these runs.
pub(crate) fn fewest<'a>(figure: &Figure, runs: impl Iterator<Item = &'a Run>) -> Option<u64> {
    runs.filter_map(|run| figure.clients(run)).min()
}

/// Measurements that failed like this: the server died, or nothing could be measured.
fn failed(entries: &[&Entry], is_so: impl Fn(&StageFailure) -> bool) -> Option<String> {
    let mut troubles =
        entries.iter().filter_map(|entry| entry.trouble.as_ref()).filter(|trouble| is_so(trouble));
    let first = troubles.next()?;
    Some(format!("{} of {} failed: {first}", 1 + troubles.count(), entries.len()))
}

/// Returns whether the generator was at its limit: who reads too slowly is sent no more by many a server, and
/// loses what it was to be sent.
fn is_by_generator(step: &Step) -> bool {
    step.bottleneck.as_ref().is_some_and(|found| found.bottleneck == Bottleneck::Generator)
}

/// Messages that were lost or wrong, and errors, in steps like these. Those of a storm are what it measures,
/// except who never came back.
fn wrong(verb: Verb, runs: &[Run], is_so: impl Fn(&Step) -> bool) -> Option<String> {
    // Whether errors count: where a process may open no more files, clients that do not get in are nobody's fault.
    let told = |run| (answered_for(run), verb != Verb::Storm && !is_at_file_limit(run));
    let told = runs.iter().map(told).flat_map(|(steps, counts)| steps.map(move |step| (step, counts)));
    let steps: Vec<(&Step, bool)> = told.filter(|(step, _)| is_so(step)).collect();
    let sum = |of: &dyn Fn(&Step) -> u64| steps.iter().map(|(step, _)| of(step)).sum::<u64>();
    let errors = steps.iter().filter(|(_, counts)| *counts).flat_map(|(step, _)| step.errors.iter());
    // Errors of the generator's own never reached the server, and wrong answers are counted already.
    let of_server = errors.filter(|(kind, error)| !error.local && !error_kind::is_of_answers(kind));
    let excused = steps.iter().filter(|(_, counts)| verb != Verb::Storm && !*counts);
    let lost = excused.map(|(step, _)| step.counts.disconnects).sum::<u64>();
    let found = [
        (sum(&|step| step.counts.missing), "lost message"),
        (sum(&Step::wrong), "wrong answer"),
        (of_server.map(|(_, error)| error.count).sum(), "error"),
        (lost, "lost connection"),
        (sum(&|step| step.counts.not_back), "lost client"),
    ];
    let said: Vec<String> = found.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    let rounds = if runs.len() > 1 { format!(" in {} rounds", runs.len()) } else { String::new() };
    (!said.is_empty()).then(|| said.join(", ") + &rounds)
}

/// The steps that a server answers for: a search for its limit oversteps it, and what is lost there is what ends it.
fn answered_for(run: &Run) -> impl Iterator<Item = &Step> {
    let any_passed = run.steps.iter().any(Step::has_passed);
    // Where nothing passed, there is no limit that was overstepped: all of it counts.
    run.steps.iter().filter(move |step| !any_passed || step.has_passed())
}

/// The remark where a number of clients is the limit of open files: how many it had by then.
fn at_file_limit(figure: &Figure, runs: &[Run]) -> Option<String> {
    if !figure.is_capacity() || !runs.iter().any(is_at_file_limit) {
        return None;
    }
    let most = runs.iter().filter_map(|run| figure.read(run)).reduce(f64::max);
    let had = most.map_or(String::new(), |most| format!("{} or more: ", figure.show(most)));
    Some(format!("{had}limit of open files"))
}

fn caveats(scenario: &Scenario, entries: &[&Entry], runs: &[Run]) -> Vec<String> {
    let mut caveats = Vec::new();
    match runs.iter().filter(|run| scenario.figures[0].read(run).is_none()).count() {
        0 => {}
        all if all == runs.len() => caveats.push(untold(scenario, runs)),
        some => caveats.push(format!("{} in {some} of {} rounds", untold(scenario, runs), runs.len())),
    }
    caveats.extend(failed(entries, |trouble| !trouble.is_of_target()));
    let of_generator = wrong(scenario.verb, runs, is_by_generator);
    caveats.extend(of_generator.map(|lost| format!("{lost} while the generator was at its limit")));
    let rounds = |is_so: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| is_so(run)).count();
    let noisy =
        |entry: &&&Entry| entry.noise_percent.last().is_some_and(|percent| *percent > noise::PERCENT_MAX);
    let is_capacity = scenario.figures[0].is_capacity();
    let disturbed = format!("{} had more than {}% of the CPU", noise::OTHERS, noise::PERCENT_MAX);
    for (times, words) in [
        (rounds(&|run| !is_capacity && is_at_file_limit(run)), "limit of open files"),
        (rounds(&|run| first_full(run).is_some() && !is_at_file_limit(run)), "it took no more clients"),
        (rounds(&|run| scenario.figures[0].is_at_least(run)), "it kept the limits at the highest load tried"),
        (rounds(&|run| is_limited_by(run, Bottleneck::Generator)), "limited by the generator"),
        (rounds(&|run| is_limited_by(run, Bottleneck::Machine)), "limited by the machine"),
        (entries.iter().filter(noisy).count(), &disturbed),
    ] {
        match times {
            0 => {}
            times if times == runs.len() => caveats.push(words.to_owned()),
            times => caveats.push(format!("{words} in {times} of {} rounds", runs.len())),
        }
    }
    caveats
}

/// Why no run has the main figure: a search for a rate may have ended where it began.
fn untold(scenario: &Scenario, runs: &[Run]) -> String {
    let levels = runs.iter().flat_map(|run| &run.verdict.levels);
    let broken = levels.filter(|level| level.safe_per_s.is_none()).filter_map(|level| level.overload_per_s);
    match broken.reduce(f64::min) {
        Some(per_s) => format!("the first rate broke the limits already, {}", rate(per_s, "")),
        None => format!("{} could not be told", scenario.figures[0].name),
    }
}

#[cfg(test)]
mod tests {
    use results::finding::Cause;
    use results::finding::quantity::Percent;
    use results::{Environment, Found, Limit, ServerUse};

    use super::*;
    use crate::stage::Stage;

    fn run(steps: Vec<Step>) -> Run {
        let environment = Environment { fd_limit: Some(20_000), ..Environment::default() };
        Run { steps, environment, ..Run::default() }
    }

    #[test]
    fn losses_beyond_the_limit_are_excused() {
        let limit = Limit::parse("missing<10", Verb::Broadcast).unwrap();
        let step = |missing| {
            let mut step = Step::default();
            step.counts.missing = missing;
            step.stop = Some(limit.check(&step));
            step
        };
        assert_eq!(wrong(Verb::Broadcast, &[run(vec![step(0), step(900)])], |_| true), None);
        assert_eq!(
            wrong(Verb::Broadcast, &[run(vec![step(1)])], |_| true).as_deref(),
            Some("1 lost message")
        );
        assert_eq!(
            wrong(Verb::Broadcast, &[run(vec![step(900)])], |_| true).as_deref(),
            Some("900 lost messages")
        );
    }

    #[test]
    fn errors_of_connecting_are_what_a_storm_measures() {
        let mut step = Step::default();
        step.errors.add("refused", 0, "refused");
        step.errors.add("too_many_files", 0, "too many open files");
        step.errors.set_local("too_many_files");
        assert_eq!(wrong(Verb::Echo, &[run(vec![step.clone()])], |_| true).as_deref(), Some("1 error"));
        assert_eq!(wrong(Verb::Storm, &[run(vec![step.clone()])], |_| true), None);
        step.counts.not_back = 2;
        assert_eq!(wrong(Verb::Storm, &[run(vec![step])], |_| true).as_deref(), Some("2 lost clients"));
    }

    #[test]
    fn losses_at_the_generators_limit_are_its_own() {
        let lossy = |missing, bottleneck| {
            let cause = Cause::GeneratorCpu { cpu: Percent(99.0) };
            let mut step = Step { bottleneck: Some(Found { bottleneck, cause }), ..Step::default() };
            step.counts.missing = missing;
            run(vec![step])
        };
        let runs = [lossy(7, Bottleneck::Generator), lossy(0, Bottleneck::None)];
        assert_eq!(wrong(Verb::Broadcast, &runs, |step| !is_by_generator(step)), None);
        assert_eq!(
            wrong(Verb::Broadcast, &runs, is_by_generator).as_deref(),
            Some("7 lost messages in 2 rounds")
        );
        let runs = [lossy(7, Bottleneck::Generator), lossy(3, Bottleneck::Machine)];
        let own = wrong(Verb::Broadcast, &runs, |step| !is_by_generator(step));
        assert_eq!(own.as_deref(), Some("3 lost messages in 2 rounds"));
    }

    #[test]
    fn lost_measurements_are_not_the_servers_failure() {
        let entry = |trouble| Entry { trouble, ..Entry::default() };
        let entries = [entry(None), entry(Some(StageFailure::new(Stage::Load, "no second for 60 s")))];
        let entries: Vec<&Entry> = entries.iter().collect();
        assert_eq!(failed(&entries, StageFailure::is_of_target), None);
        let said = failed(&entries, |trouble| !trouble.is_of_target());
        assert_eq!(said.as_deref(), Some("1 of 2 failed: load: no second for 60 s"));
    }

    #[test]
    fn servers_that_broke_earlier_have_no_place() {
        let limit = Limit::parse("missing==0", Verb::Broadcast).unwrap();
        let step = |clients, missing| {
            let mut step = Step { clients, ..Step::default() };
            step.counts.missing = missing;
            step.stop = Some(limit.check(&step));
            step
        };
        let few = vec![run(vec![step(1_000, 0), step(2_000, 9)]), run(vec![step(1_000, 0), step(2_000, 0)])];
        let walked = |last| vec![run(vec![step(1_000, 0), step(last, 0)])];
        let held = |last| {
            let mut runs = walked(last);
            let cause = Cause::GeneratorCpu { cpu: Percent(99.0) };
            runs[0].verdict.bottleneck = Some(Found { bottleneck: Bottleneck::Generator, cause });
            runs
        };
        let runs = [
            ("few", few),
            ("many", walked(2_000)),
            ("dead", walked(4_000)),
            (REFERENCE_NAME, walked(3_000)),
            ("held", held(1_000)),
            ("lifted", held(5_000)),
        ];
        let died = || Some("1 of 2 failed".to_owned());
        let flawed = |flaw| TargetNotes { flaw, ..TargetNotes::default() };
        let mut said = [None, None, died(), None, None, None].map(flawed);
        hold_to_one_load(&Figure::parse("rtt.p95", Verb::Broadcast).unwrap(), &runs, &mut said);
        let held_back = said.each_ref().map(|said| said.is_held_back);
        assert_eq!(
            held_back,
            [false, false, false, false, true, false],
            "with another generator, maybe ahead"
        );
        let flaws = said.map(|said| said.flaw);
        let few = || Some("a figure of 1,000 clients, and others' of 2,000".to_owned());
        assert_eq!(flaws, [few(), None, died(), None, few(), None], "who died takes nobody's place");
    }

    #[test]
    fn file_limits_are_not_the_servers_own() {
        let full = |fds, processes, same_host| {
            let limit = Limit::parse("connect_timeouts==0", Verb::Broadcast).unwrap();
            let mut step = Step { clients: 20_000, usable: Some(19_000), ..Step::default() };
            step.counts.connect_timeouts = 1_000;
            step.stop = Some(limit.check(&step));
            step.server =
                Some(ServerUse { fds: Some(fds), processes: Some(processes), ..ServerUse::default() });
            let mut run = run(vec![step]);
            run.environment.same_host = Some(same_host);
            is_at_file_limit(&run)
        };
        assert!(full(19_990, 1, true) && full(39_990, 3, true));
        assert!(!full(19_000, 1, true), "it stopped by itself");
        assert!(!full(25_000, 3, true), "its processes had some left");
        assert!(!full(19_990, 1, false), "another machine has another limit");
    }
}
