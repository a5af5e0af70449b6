//! The step flags, which echo and broadcast share: one level, a walk, or a search.

use clap::Args;
use crew::{Course, Warmup};
use load::{Churn, Load, LoadRule, Until};
use report::Words;
use results::units;
use stats::capacity::SearchConfig;

use crate::exit::Failure;
use crate::flags::crowd;
use crate::flags::fleet_args::FleetArgs;
use crate::flags::rates::{self, Rates};
use crate::plan;
use crate::processes;

/// websocket-bench's step.
const STEP_SIZE: u64 = 5_000;
/// wsdemo's warm-up: a tenth of the clients.
const WARMUP_SHARE: u64 = 10;
/// How close a search comes, and how often it measures near the limit.
const SEARCH_TOLERANCE: f64 = 0.05;
const SEARCH_REPEATS: u32 = 3;
/// websocket-bench's limit: the percentile, and its time.
pub(crate) const LIMIT_PERCENTILE: f64 = 95.0;
const LIMIT_RTT_NS: u64 = 500_000_000;

/// How much, and how it goes on.
#[derive(Args, Clone, Debug)]
pub(crate) struct StepArgs {
    /// Clients, all connected before the load begins [default: echo 1,000, or as many as -c; broadcast, and echo
    /// with -s, or with -c and --limit-rtt or --limit-percentile, go up in steps]
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Load")]
    pub(crate) clients: Option<u64>,
    /// How long to send [default: 10s, or as long as --rate takes; closed model: until --sample-size messages
    /// are answered, and with --pipelining alone 10s]
    #[arg(short, long, short_alias = 'z', value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    pub(crate) duration: Option<u64>,
    /// Messages per second over all clients, whatever the server does (open model); 100..5k/60s is a ramp, and
    /// 500/10s,2k/5s are two
    #[arg(short = 'R', long, value_name = "RATE", value_parser = rates::rates, conflicts_with_all = ["concurrent", "sample_size"], help_heading = "Load")]
    pub(crate) rate: Option<Rates>,
    /// Messages under way at once; each answer makes room for the next message (closed model) [default in a
    /// closed model: echo 50, broadcast 4; with --pipelining as many as the clients have room for]
    #[arg(short, long = "concurrent", visible_alias = "concurrency", value_name = "N", value_parser = units::count, help_heading = "Load")]
    pub(crate) concurrent: Option<u64>,
    /// Messages in each step of a closed model [default: echo 10,000, broadcast 200]
    #[arg(short, long, short_alias = 'n', value_name = "N", value_parser = units::count, conflicts_with = "duration", help_heading = "Load")]
    pub(crate) sample_size: Option<u64>,
    /// Run this long before measuring
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    pub(crate) warmup: Option<u64>,

    /// A share of the clients leaves, and as many come: 1%/s
    #[arg(long, value_name = "SHARE/s", value_parser = crowd::churn, help_heading = "Load")]
    pub(crate) churn: Option<Churn>,

    /// Clients added in a step [default: 5,000; --search 1,000]
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Steps")]
    pub(crate) step_size: Option<u64>,
    /// Clients of the first step [default: the step size]
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Steps")]
    pub(crate) initial_clients: Option<u64>,
    /// End after N steps [default: when a limit breaks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "search", help_heading = "Steps")]
    pub(crate) total_steps: Option<u32>,
    /// The percentile that ends the steps [default: 95]
    #[arg(long, value_name = "P", value_parser = percentile, help_heading = "Steps")]
    limit_percentile: Option<f64>,
    /// End the steps when that exceeds this [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Steps")]
    limit_rtt: Option<u64>,
    /// Find the number of clients at which the limits break
    #[arg(long, help_heading = "Steps")]
    pub(crate) search: bool,
    /// Search no further than this [default: what the limit on open files allows one process; a fleet has to
    /// be told]
    #[arg(long, value_name = "N", value_parser = units::count, requires = "search", help_heading = "Steps")]
    pub(crate) max_clients: Option<u64>,
}

impl StepArgs {
    /// Returns whether the number of clients goes on from step to step.
    pub(crate) fn go_on(&self) -> bool {
        self.stepping().is_some()
    }

    /// The first flag given that makes the number of clients go on.
    pub(crate) fn stepping(&self) -> Option<&'static str> {
        let given = [
            ("--search", self.search),
            ("--step-size", self.step_size.is_some()),
            ("--initial-clients", self.initial_clients.is_some()),
            ("--total-steps", self.total_steps.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// The percentile that ends the steps.
    pub(crate) fn limit_percentile(&self) -> f64 {
        self.limit_percentile.unwrap_or(LIMIT_PERCENTILE)
    }

    /// The wording of the output: a user with these flags has a script for websocket-bench's lines.
    pub(crate) fn words(&self) -> Words {
        let is_asked = self.limit_percentile.is_some() || self.sample_size.is_some();
        if is_asked { Words::WebsocketBench(self.limit_percentile()) } else { Words::Own }
    }

    /// Returns whether a rate or a closed loop is asked for.
    pub(crate) fn says_how_often(&self) -> bool {
        self.rate.is_some() || self.concurrent.is_some() || self.sample_size.is_some()
    }

    /// Refuses a search by a fleet that has no end: this machine's limits say nothing of its agents.
    pub(crate) fn check_search(&self, fleet: &FleetArgs) -> Result<(), Failure> {
        if self.search && self.max_clients.is_none() && fleet.fleet.is_some() {
            let problem = "say how far a fleet is to search, e.g. --max-clients 100k";
            return Err(Failure::usage("--max-clients", problem));
        }
        Ok(())
    }

    /// The flag that ends steps by a limit, if one was given.
    pub(crate) fn step_limit(&self) -> Option<&'static str> {
        let given = [
            ("--limit-rtt", self.limit_rtt.is_some()),
            ("--limit-percentile", self.limit_percentile.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// The round-trip time that ends them.
    pub(crate) fn limit_rtt_ns(&self) -> u64 {
        self.limit_rtt.unwrap_or(LIMIT_RTT_NS)
    }
}

fn percentile(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number such as 95 or 99.9".to_owned())?;
    if 0.0 < value && value < 100.0 { Ok(value) } else { Err("a percentile lies between 0 and 100".into()) }
}

/// websocket-bench's defaults.
pub(crate) struct Defaults {
    /// Messages under way at once.
    pub(crate) concurrent: u64,
    /// Messages in a step.
    pub(crate) sample_size: u64,
}

/// How the number of clients goes on from step to step.
pub(crate) enum Steps {
    /// One level.
    Single,
    /// Up until a limit breaks.
    Walk,
    /// Goes on to the limit.
    Search,
}

impl Steps {
    /// The steps that the flags ask for; `unasked` if they name neither clients nor steps.
    pub(crate) fn of(args: &StepArgs, unasked: Self) -> Result<Self, Failure> {
        if args.clients.is_some() && args.go_on() {
            let problem = "is for a single step; with steps, use --initial-clients and --step-size";
            return Err(Failure::usage("--clients", problem));
        }
        // In websocket-bench, whose flags these are, the number of clients always goes up. A number of messages under
        // way alone is that of connections in wrk and oha: thousands of clients would be a surprise.
        let is_benchmark =
            args.sample_size.is_some() || args.concurrent.is_some() && args.step_limit().is_some();
        let goes_up = args.clients.is_none() && is_benchmark;
        let steps = match (args.search, args.go_on() || goes_up) {
            (true, _) => Self::Search,
            (false, true) => Self::Walk,
            (false, false) if args.clients.is_none() => unasked,
            (false, false) => Self::Single,
        };
        if matches!(steps, Self::Single) {
            refuse_step_limits(args)?;
        }
        Ok(steps)
    }

    /// Returns whether it goes up until a limit breaks.
    pub(crate) fn is_walk(&self) -> bool {
        matches!(self, Self::Walk)
    }

    /// The most clients of any step, if that is known beforehand.
    pub(crate) fn clients_max(&self, args: &StepArgs, default: u64) -> Result<Option<u64>, Failure> {
        let (first, by) = first_and_by(args);
        Ok(match self {
            Self::Single => Some(args.clients.unwrap_or(default)),
            Self::Walk => {
                args.total_steps.map(|steps| first.saturating_add(by.saturating_mul(u64::from(steps - 1))))
            }
            Self::Search => Some(search_max(args)?),
        })
    }

    /// The most clients that are known beforehand: of any step, or of the first where steps go on until a
    /// limit breaks.
    pub(crate) fn clients_known(&self, args: &StepArgs, default: u64) -> Result<u64, Failure> {
        Ok(self.clients_max(args, default)?.unwrap_or(first_and_by(args).0))
    }

    /// The clients of the first step, which has the fewest.
    pub(crate) fn clients_min(&self, args: &StepArgs, default: u64) -> Result<u64, Failure> {
        let (first, _) = first_and_by(args);
        Ok(match self {
            Self::Single => args.clients.unwrap_or(default),
            Self::Walk => first,
            Self::Search => first.min(search_max(args)?),
        })
    }

    /// The warm-up: the load with a tenth of the first step's clients, before it counts.
    pub(crate) fn warmup(
        &self,
        args: &StepArgs,
        default: u64,
        rule: LoadRule,
    ) -> Result<Option<Warmup>, Failure> {
        let Some(duration_ns) = args.warmup.filter(|&ns| ns > 0) else { return Ok(None) };
        let clients = (self.clients_min(args, default)? / WARMUP_SHARE).max(1);
        let rule = match rule {
            LoadRule::EachClient { interval_ns, .. } => LoadRule::EachClient { interval_ns, duration_ns },
            LoadRule::Same(Load::Open { schedule, .. }) => {
                // The rate is over all clients: with a tenth of them, a tenth of it keeps each client's own
                // rate.
                let schedule = schedule.times(1.0 / WARMUP_SHARE as f64);
                LoadRule::Same(Load::Open { schedule, duration_ns })
            }
            LoadRule::Same(Load::Closed { concurrency, per_client, .. }) => LoadRule::Same(Load::Closed {
                concurrency,
                per_client,
                until: Until::Elapsed { duration_ns },
            }),
            // Neither has a rate or a number of messages under way that a tenth could be taken of.
            LoadRule::Same(load @ (Load::Hold { .. } | Load::Storm(_))) => LoadRule::Same(load),
        };
        Ok(Some(Warmup { clients: plan::clients("--clients", clients)?, rule }))
    }

    /// The course of steps; a search halves its levels to multiples of `unit` clients.
    pub(crate) fn course(
        &self,
        args: &StepArgs,
        default: u64,
        rule: LoadRule,
        unit: u64,
    ) -> Result<Course, Failure> {
        let (first, by) = first_and_by(args);
        let first = plan::clients("--initial-clients or --step-size", first)?;
        let by = plan::clients("--step-size", by)?;
        Ok(match self {
            Self::Single => {
                Course::single(plan::clients("--clients", args.clients.unwrap_or(default))?, rule)
            }
            Self::Walk => Course::walk(first, by, args.total_steps, rule),
            Self::Search => {
                let max = search_max(args)?;
                plan::clients("--max-clients", max)?;
                if let Some(initial) = args.initial_clients.filter(|&initial| initial > max) {
                    let problem = match args.max_clients {
                        Some(max) => format!("{initial} is above the {max} that --max-clients allows"),
                        None => format!(
                            "{initial} is above {max}, the most clients of one process here: add --max-clients N"
                        ),
                    };
                    return Err(Failure::usage("--initial-clients", problem));
                }
                // The usual first step may be above what the user allows; one that was asked for has been
                // refused.
                let start = u64::from(first).min(max);
                let (step, tolerance, repeats) = (u64::from(by), SEARCH_TOLERANCE, SEARCH_REPEATS);
                Course::search(SearchConfig { start, step, max, unit, tolerance, repeats }, rule)
            }
        })
    }
}

/// Refuses limits that end a walk: they have no effect on a single step.
fn refuse_step_limits(args: &StepArgs) -> Result<(), Failure> {
    let Some(flag) = args.step_limit() else { return Ok(()) };
    let limit = stop(args);
    let problem =
        format!("ends steps, and this is a single one; use --limit 'rtt.{limit}', or --step-size for steps");
    Err(Failure::usage(flag, problem))
}

fn first_and_by(args: &StepArgs) -> (u64, u64) {
    let by = args.step_size.unwrap_or(if args.search { STEP_SIZE / 5 } else { STEP_SIZE });
    (args.initial_clients.unwrap_or(by), by)
}

/// The highest level of a search; by default, the most clients of one process.
fn search_max(args: &StepArgs) -> Result<u64, Failure> {
    args.max_clients.map_or_else(processes::clients_of_one_process, Ok)
}

/// The closed loop of the flags, with websocket-bench's defaults, in which a client may have `per_client`
/// messages under way.
pub(crate) fn closed(args: &StepArgs, defaults: &Defaults, per_client: u32) -> Result<LoadRule, Failure> {
    let concurrent = args.concurrent.unwrap_or(defaults.concurrent);
    if let Some(duration_ns) = args.duration {
        positive("--duration", duration_ns)?;
    }
    plan::closed(concurrent, per_client, args.sample_size.unwrap_or(defaults.sample_size), args.duration)
}

/// The open loop at the rates asked for over all clients: as long as asked, or as they take.
pub(crate) fn rate(rates: Rates, duration: Option<u64>, default_ns: u64) -> Result<LoadRule, Failure> {
    let Rates { schedule, duration_ns } = rates;
    // A ramp that is cut short would never reach the rate that was asked for.
    let needed_ns = schedule.duration_ns();
    let duration_ns = duration.or(duration_ns).unwrap_or(default_ns.max(needed_ns));
    positive("--duration", duration_ns)?;
    if duration_ns < needed_ns {
        let problem = format!("must be at least the {}s that --rate takes", needed_ns as f64 / 1e9);
        return Err(Failure::usage("--duration", problem));
    }
    Ok(LoadRule::Same(Load::Open { schedule, duration_ns }))
}

/// The open loop in which each client sends a message in this time.
pub(crate) fn of_each(interval_ns: u64, duration: Option<u64>, default_ns: u64) -> Result<LoadRule, Failure> {
    let duration_ns = duration.unwrap_or(default_ns);
    positive("--duration", duration_ns)?;
    positive("--interval", interval_ns)?;
    Ok(LoadRule::EachClient { interval_ns, duration_ns })
}

/// A time that must not be nothing.
pub(crate) fn positive(flag: &'static str, ns: u64) -> Result<(), Failure> {
    if ns == 0 { Err(Failure::usage(flag, "must be longer than 0")) } else { Ok(()) }
}

/// `--limit-percentile` and `--limit-rtt` as a limit.
pub(crate) fn stop(args: &StepArgs) -> String {
    let rtt = match args.limit_rtt_ns() {
        ns if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        // A limit that is no whole number of milliseconds must be read back as exactly what was asked.
        ns => format!("{ns}ns"),
    };
    format!("p{}<={rtt}", args.limit_percentile())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const RULE: LoadRule = LoadRule::EachClient { interval_ns: 1, duration_ns: 1 };

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        steps: StepArgs,
    }

    fn args(flags: &str) -> StepArgs {
        Line::parse_from(["echo"].into_iter().chain(flags.split_whitespace())).steps
    }

    #[test]
    fn warmups_have_a_tenth_of_the_first_step() {
        for (flags, clients) in [
            ("", 100),
            ("--clients 200", 20),
            ("--total-steps 3", 500),
            ("-c 50", 100),
            ("-c 50 --limit-rtt 1s", 500),
            ("-s 50", 500),
            ("--search --max-clients 500", 50),
        ] {
            let args = args(&format!("--warmup 5s {flags}"));
            let stepping = Steps::of(&args, Steps::Single).unwrap();
            let warmup = stepping.warmup(&args, 1_000, RULE).unwrap().unwrap();
            assert_eq!(warmup.clients, clients, "{flags}");
        }
    }

    #[test]
    fn first_steps_above_a_search_are_refused() {
        let above = processes::clients_of_one_process().unwrap() + 1;
        for (flags, is_flag_given) in [("", false), ("--max-clients 500", true)] {
            let args = args(&format!("--search --initial-clients {above} {flags}"));
            let Err(failure) = Steps::Search.course(&args, 0, RULE, 1) else { panic!("{flags}: too many") };
            assert_eq!(failure.flag(), Some("--initial-clients"), "{failure}");
            assert_eq!(!failure.to_string().contains("add --max-clients"), is_flag_given, "{failure}");
        }
    }
}
