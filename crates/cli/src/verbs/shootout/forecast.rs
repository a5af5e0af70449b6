//! The measurements ahead of a shootout, and how long that will take.

use std::ops::RangeInclusive;
use std::time::Duration;

use suite::record::LeftOut;
use suite::rounds::PRECISION;
use suite::suite::Shortened;
use suite::{Scenario, Suite, Target};

use super::flags;
use crate::exit::Failure;
use crate::stderr;

/// The time of a measurement besides its load: starting and stopping the server and the generator.
const BESIDES: Duration = Duration::from_secs(2);

/// Prints the forecast, before anything is installed or started. Every target has at least the first of these
/// numbers of rounds, and at most the last.
pub(super) fn tell(
    suite: &Suite,
    targets: &[&Target],
    left_out: &[LeftOut],
    repeats: RangeInclusive<u32>,
    budget: Option<Duration>,
) -> Result<(), Failure> {
    for LeftOut { target, scenario, why } in left_out {
        stderr::line(format_args!("{target} is left out of {scenario}: it {why}"));
    }
    let (least, most) = (*repeats.start(), *repeats.end());
    let rounds = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let mut in_round = 0;
    let mut round = Duration::ZERO;
    for scenario in &suite.scenarios {
        let able = targets.iter().filter(|target| scenario.dialect_for(target).is_some()).count() as u32;
        let each = of_scenario(suite, scenario)?;
        in_round += able;
        round += each * able;
        let (name, shortened) = (&scenario.name, shortened(&scenario.shortened));
        stderr::line(format_args!("{name}: {able} × {rounds} measurements, {} each{shortened}", about(each)));
    }
    let at_most = |rounds: u32| {
        let all = u64::from(in_round) * u64::from(rounds);
        format!("{all} measurements: {}", about(round.saturating_mul(rounds)))
    };
    stderr::line(format_args!("{}, after installing and checking", at_most(least)));
    if most > least {
        stderr::line(format_args!(
            "at most {}, if no metric is known to ±{:.0}% before",
            at_most(most),
            100.0 * PRECISION
        ));
    }
    match budget {
        Some(budget) if round > budget => {
            let problem = format!(
                "one round takes {}: give it more time, shorten it with --scale, or name fewer --targets",
                about(round)
            );
            Err(Failure::usage("--budget", problem))
        }
        Some(budget) => {
            let fitting = (budget.as_secs_f64() / round.as_secs_f64().max(1.0)).floor() as u32;
            stderr::line(format_args!(
                "--budget: no round begins that would end after {}; about {} fit",
                about(budget),
                fitting.min(most)
            ));
            Ok(())
        }
        None => Ok(()),
    }
}

/// How long one measurement of a scenario takes, with everything around it.
pub(super) fn of_scenario(suite: &Suite, scenario: &Scenario) -> Result<Duration, Failure> {
    Ok(flags::estimate(scenario)?.forecast() + BESIDES + suite.cooldown)
}

fn shortened(flags: &[Shortened]) -> String {
    match flags {
        [] => String::new(),
        flags => format!(" ({})", flags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A time that is not known better than to a tenth.
pub(super) fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("about {seconds} s"),
        seconds @ ..5400 => format!("about {} min", (seconds + 30) / 60),
        seconds => format!("about {:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Beside installing and checking, which is done once.
    const QUICK_MAX: Duration = Duration::from_secs(120);

    #[test]
    fn quick_takes_two_minutes() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/quick.toml");
        let suite =
            Suite::read(&path, 1.0, &flags::check).unwrap_or_else(|mistake| panic!("{}", mistake.line()));
        let each = suite.scenarios.iter().map(|scenario| of_scenario(&suite, scenario).expect("flags"));
        let targets = suite.targets.as_ref().map_or(0, Vec::len) as u32;
        let all = each.sum::<Duration>() * targets * suite.repeats;
        assert!(targets == 3 && all <= QUICK_MAX && all > QUICK_MAX / 4, "{targets} targets: {all:?}");
    }
}
