//! Two commands of throng that run in turns, until what was asked of them is decided.

use std::time::{Duration, Instant};

use clap::Args;
use results::compare::{self, Rule, Ruled};
use results::format::counted;
use results::{Run, units};
use stats::compare::{LOOKS, Ruling};
use suite::{Tools, measure};

use super::rules;
use crate::exit::Failure;
use crate::verbs::{loads, targets};
use crate::{interrupts, secrets, stand_in, stderr};

/// The commands that take turns, and for how long.
#[derive(Args)]
pub(crate) struct TurnArgs {
    /// Instead of runs that are there: a command of throng to run as A, e.g. 'echo ws://127.0.0.1:3000/ws
    /// --clients 500'; A and B take turns until every --fail-if is decided, or the budget is spent
    #[arg(long, value_name = "COMMAND", requires = "run_b", conflicts_with_all = ["first", "second", "a", "b"], help_heading = "In turns")]
    pub(super) run_a: Option<String>,
    /// The command to run as B
    #[arg(long, value_name = "COMMAND", requires = "run_a", help_heading = "In turns")]
    run_b: Option<String>,
    /// Begin no round that would end after this time
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, default_value = "30m", requires = "run_a", help_heading = "In turns")]
    budget: u64,
    /// Rounds of A and B at the most
    #[arg(long, value_name = "N", default_value_t = ROUNDS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)), requires = "run_a", help_heading = "In turns")]
    rounds: u32,
}

/// The most rounds: the last number of repeats at which a comparison is evaluated.
const ROUNDS_MAX: u32 = LOOKS[LOOKS.len() - 1];

/// The results of the turns.
pub(super) struct Taken {
    /// The runs of A.
    pub(super) a: Vec<Run>,
    /// The runs of B, as many as of A.
    pub(super) b: Vec<Run>,
    /// The user had enough before it was decided.
    pub(super) is_interrupted: bool,
    /// The reason why no further round could be run.
    pub(super) failure: Option<Failure>,
}

impl TurnArgs {
    /// Runs both, in turns; the runs are kept as the commands say. `None`: no commands were given.
    ///
    /// # Errors
    /// The commands are none to compare, or there is not even one round of both.
    pub(super) fn take(&self, rules: &[String]) -> Result<Option<Taken>, Failure> {
        let (Some(a), Some(b)) = (&self.run_a, &self.run_b) else { return Ok(None) };
        let [a, b] = [Turn::of("--run-a", a)?, Turn::of("--run-b", b)?];
        // Before either has run for half an hour; only the file says what `throng run` measures.
        let [of_a, of_b] = [&a, &b].map(|turn| match loads::scenarios(&turn.words[0])[..] {
            [scenario] => Some(scenario),
            _ => None,
        });
        if let (Some(of_a), Some(of_b)) = (of_a, of_b)
            && of_a != of_b
        {
            let problem =
                format!("is of {of_b}, and --run-a of {of_a}: only runs of one scenario can be compared");
            return Err(Failure::usage("--run-b", problem).because("scenario"));
        }
        // A rule on a figure that there is not is said before anything is measured, where the verb tells its
        // scenario.
        if let Some(scenario) = of_a {
            rules::read(rules, scenario)?;
        }
        let interrupts = interrupts::install()?;
        let is_interrupted = move || interrupts.count() > 0;
        let tools = targets::tools(&is_interrupted)?;
        let budget = Duration::from_nanos(self.budget);
        stderr::line(format_args!(
            "A and B take turns, {} at the most",
            counted(self.rounds.into(), "round")
        ));
        let mut taken = Taken { a: Vec::new(), b: Vec::new(), is_interrupted: false, failure: None };
        let (start, mut longest) = (Instant::now(), Duration::ZERO);
        for round in 1..=self.rounds {
            if round > 1 && start.elapsed() + longest > budget {
                stderr::line(format_args!("the next round would end after --budget"));
                break;
            }
            let began = Instant::now();
            // What warms up or wears out in the course of a round favours neither side.
            let in_order = if round % 2 == 1 { [&a, &b] } else { [&b, &a] };
            let [first, second] = match run_both(in_order, &tools) {
                Ok(Some(runs)) => runs,
                Ok(None) => {
                    taken.is_interrupted = true;
                    break;
                }
                Err(failure) if taken.a.is_empty() => return Err(failure),
                // What the rounds before it came to is told first.
                Err(failure) => {
                    taken.failure = Some(failure);
                    break;
                }
            };
            let (of_a, of_b) = if round % 2 == 1 { (first, second) } else { (second, first) };
            taken.a.push(of_a);
            taken.b.push(of_b);
            if round == 1 {
                // Only its results tell what an app measures: a mistake costs one round, and not all.
                rules::read(rules, taken.a[0].scenario)?;
            }
            longest = longest.max(began.elapsed());
            stderr::line(format_args!("round {round} of at most {}", self.rounds));
            if LOOKS.contains(&round) && is_decided(&taken, rules)? {
                break;
            }
        }
        if taken.a.is_empty() {
            return Err(Failure::interrupted());
        }
        Ok(Some(taken))
    }
}

/// A command, as words.
struct Turn {
    flag: &'static str,
    words: Vec<String>,
    shown: Vec<String>,
}

impl Turn {
    fn of(flag: &'static str, command: &str) -> Result<Self, Failure> {
        let words = shlex::split(command).ok_or_else(|| {
            Failure::usage(flag, "a quotation mark has no partner").because("quotation_mark")
        })?;
        let mut words: Vec<String> = words.into_iter().skip_while(|word| word == "throng").collect();
        let verb = words.first().map(String::as_str).unwrap_or_default();
        if loads::scenarios(verb).is_empty() {
            let problem = format!(
                "expected a command of throng that loads a server, such as 'echo ws://127.0.0.1:3000/ws --clients \
                 500', not {verb:?}"
            );
            return Err(Failure::usage(flag, problem).because("no_load"));
        }
        if !stand_in::formats(words.iter().map(String::as_str)).is_empty() {
            let problem = "leave --format to the comparison, which has one of its own";
            return Err(Failure::usage(flag, problem).because("format"));
        }
        secrets::know(secrets::in_command(words.iter().cloned()));
        words.extend(["--format".to_owned(), "json".to_owned()]);
        let shown = secrets::command(words.clone());
        Ok(Self { flag, words, shown })
    }
}

/// The results of both; `None`: interrupted.
fn run_both(turns: [&Turn; 2], tools: &Tools<'_>) -> Result<Option<[Run; 2]>, Failure> {
    let run = |turn: &Turn| match measure::measure(&turn.words, &turn.shown, || None, tools) {
        Ok(run) => Ok(Some(run)),
        Err(_) if (tools.is_interrupted)() => Ok(None),
        Err(trouble) => Err(Failure::could_not("run", format!("run {}", turn.flag), trouble)),
    };
    let Some(first) = run(turns[0])? else { return Ok(None) };
    let Some(second) = run(turns[1])? else { return Ok(None) };
    Ok(Some([first, second]))
}

/// Returns whether more rounds would not change the ruling on any rule. A rule that only a caveat keeps from
/// being kept counts as decided, because more rounds do not remove a caveat. Without rules, nothing is ever
/// decided.
fn is_decided(taken: &Taken, rules: &[String]) -> Result<bool, Failure> {
    let found = compare::compare(&taken.a, &taken.b);
    let rules = rules::read(rules, taken.a[0].scenario)?;
    let is_told =
        |ruled: &Ruled<'_>| ruled.ruling != Ruling::CannotTell || ruled.without_caveat == Some(Ruling::Kept);
    let is_told = |rule: &Rule| rule.check(&found).iter().all(is_told);
    Ok(!rules.is_empty() && rules.iter().all(is_told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_verbs_that_load_take_turns() {
        for verb in ["echo", "broadcast", "audit", "run", "throng storm"] {
            assert!(Turn::of("--run-a", &format!("{verb} ws://127.0.0.1:9/")).is_ok(), "{verb}");
        }
        for command in ["serve --port 9", "", "throng"] {
            let Err(failure) = Turn::of("--run-a", command) else { panic!("{command}: no load") };
            assert_eq!(failure.key(), "usage.run_a.no_load", "{failure}");
        }
    }

    #[test]
    fn audits_are_refused_before_they_run() {
        for (other, rule, key) in [
            ("echo", "p95 slower by 5%", "usage.run_b.scenario"),
            ("broadcast", "first.p95 slower by 5%", "usage.fail_if"),
        ] {
            let [run_a, run_b] = ["audit", other].map(|verb| Some(format!("{verb} ws://127.0.0.1:9/")));
            let turns = TurnArgs { run_a, run_b, budget: 1, rounds: 1 };
            let Err(failure) = turns.take(&[rule.to_owned()]) else { panic!("{other}") };
            assert_eq!(failure.key(), key, "{failure}");
        }
    }
}
