//! `throng compare`: is B really slower than A?

mod rules;
mod shootouts;
mod sides;
mod turns;

use std::path::Path;

use clap::Args;
use results::Run;
use results::compare;

use crate::archive::StoreArg;
use crate::exit::{Exit, Failure};
use crate::flags::args::TableFormat;
use crate::output;
use crate::verbs::shootout::Kept;
use turns::{Taken, TurnArgs};

/// Is B really slower than A? Every metric of both, the difference, its interval, and what that means
///
/// A and B are runs: results files, directories of results files (as --out DIR writes them), or runs in the
/// store, by id, the beginning of the id, name, @N or last. Several runs of a side, separated by commas, are
/// repeats: take three or more, in turns. One run of each, with 20 seconds or more per step, can only tell
/// differences of about a factor of two. "Unclear" is a valid answer: the interval then includes both no
/// difference and one that matters: see "Comparison" in `throng docs methodology`. Of the directories of two
/// shootouts, it says how far their orders agree (Kendall's τ).
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The run to compare with; several runs: A1,A2,A3
    #[arg(value_name = "A", required_unless_present_any = ["a", "run_a"])]
    first: Option<String>,
    /// The run to compare with A
    #[arg(value_name = "B", required_unless_present_any = ["b", "run_b"])]
    second: Option<String>,
    /// The runs of A
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "first", requires = "b")]
    a: Vec<String>,
    /// The runs of B
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "second", requires = "a")]
    b: Vec<String>,
    #[command(flatten)]
    turns: TurnArgs,
    /// Exit with 3 if this is true and with 5 if it is unclear, e.g. 'p99 slower by 5%', 'capacity worse by 10%'
    #[arg(long, value_name = "RULE")]
    fail_if: Vec<String>,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,
    #[command(flatten)]
    store: StoreArg,
}

const EXAMPLES: &str = "\
Examples:
  throng compare @2 @1                              the two newest
  throng compare main.json branch.json --fail-if 'p99 slower by 5%'
  throng compare main/ branch/                      repeats, in directories
  throng compare --a before*.json --b after*.json   repeats
  throng compare monday/ tuesday/                   two shootouts, their order
  throng compare --fail-if 'p99 slower by 10%' \\
      --run-a 'echo ws://127.0.0.1:3000/ws --clients 500' \\
      --run-b 'echo ws://127.0.0.1:4000/ws --clients 500'
                                                    runs both in turns

Exit codes: 0 no rule is broken, 3 one is, 5 it is unclear.";

impl Compare {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if let (Some(first), Some(second)) = (&self.first, &self.second) {
            sides::refuse_servers(first, second)?;
        }
        if let (Some(first), Some(second)) = (&self.first, &self.second)
            // Two directories of shootouts are compared by their orders, and not run by run.
            && let (Some(a), Some(b)) = (Kept::open(Path::new(first))?, Kept::open(Path::new(second))?)
        {
            // Refused rather than ignored: a build would pass whatever the orders are.
            if !self.fail_if.is_empty() {
                let problem = "is a rule on runs, and these are shootouts: name results files of both";
                return Err(Failure::usage("--fail-if", problem));
            }
            return output::print(&self.format.in_letters(shootouts::table(&a, &b, self.format.into())?));
        }
        let read = |joined: &Option<String>, given: &[String]| -> Result<Vec<Run>, Failure> {
            let references = joined.iter().flat_map(|joined| joined.split(','));
            let references = references.chain(given.iter().map(String::as_str));
            let runs: Vec<Vec<Run>> = references.map(|run| self.store.runs(run)).collect::<Result<_, _>>()?;
            Ok(runs.concat())
        };
        let taken = match self.turns.take(&self.fail_if)? {
            Some(taken) => taken,
            None => Taken {
                a: read(&self.first, &self.a)?,
                b: read(&self.second, &self.b)?,
                is_interrupted: false,
                failure: None,
            },
        };
        let Taken { mut a, mut b, is_interrupted, failure } = taken;
        let scenario = a[0].scenario;
        if let Some(other) = a.iter().chain(&b).find(|run| run.scenario != scenario) {
            let problem = format!(
                "{} is of {scenario}, {} of {}: only runs of one scenario can be compared",
                a[0].id, other.id, other.scenario
            );
            return Err(Failure::usage("A B", problem));
        }
        // A run that stands on both sides, or twice on one, would be taken for independent.
        let repeated = sides::tell_apart(&mut a, &mut b)?;
        // What a rule may name depends on the scenario, which only the runs tell.
        let rules = rules::read(&self.fail_if, scenario)?;
        let mut found = compare::compare(&a, &b);
        found.notes.extend(repeated);
        let text = report::comparison(&found, &a, &b, self.format.into());
        let text = self.format.in_letters(text);
        if let Some(failure) = failure {
            output::print(&text)?;
            return Err(failure);
        }
        // The rules speak first: what was asked for is answered before anything else that differs.
        let exit = rules::check(&rules, &found);
        output::print(&text)?;
        Ok(if is_interrupted { Exit::Interrupted } else { exit })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;
    use results::compare::OWN_FLAGS;

    use crate::Cli;

    /// All spellings of the flags below a heading; of all verbs' flags, without one.
    fn flags(heading: Option<&str>) -> BTreeSet<String> {
        let cli = Cli::command();
        let args = cli.get_subcommands().flat_map(|verb| verb.get_arguments());
        let args = args.filter(|arg| heading.is_none_or(|heading| arg.get_help_heading() == Some(heading)));
        let spellings = args.flat_map(|arg| {
            let long = arg.get_long().map(|long| format!("--{long}"));
            long.into_iter().chain(arg.get_short().map(|short| format!("-{short}")))
        });
        spellings.collect()
    }

    #[test]
    fn output_flags_are_no_settings() {
        let own: BTreeSet<String> = OWN_FLAGS.map(str::to_owned).into();
        assert_eq!(flags(Some("Output")).difference(&own).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(own.difference(&flags(None)).collect::<Vec<_>>(), [""; 0], "no verb has them");
    }
}
