//! Places of targets: who is ahead, and who cannot be told apart (METHODOLOGY "Ranking").

use std::fmt;

use stats::Interval;
use stats::interval;

use crate::figure::Figure;

/// The places a target may have: those whose places have a number in common cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Behind all that are certainly ahead of it.
    pub best: usize,
    /// Ahead of all that are certainly behind it.
    pub worst: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Place { best, worst } if best == worst => write!(f, "{best}"),
            Place { best, worst } => write!(f, "{best}–{worst}"),
        }
    }
}

/// One target in a scenario's standing.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its place, from 1.
    pub place: Option<Place>,
    /// Reason why a sound figure has no place.
    pub unplaced: Option<Unplaced>,
    /// The target's name.
    pub target: String,
    /// The mean of the figure over the repeats.
    pub mean: Option<f64>,
    /// Its 95% interval, which reaches as far as the figure may; `None` with fewer than two repeats, and
    /// where the figure is of something else than what was asked.
    pub interval: Option<Interval>,
    /// The mean as a multiple of the reference server's; `None` there, too, and where both are bounds, whose
    /// quotient says nothing.
    pub share: Option<f64>,
    /// True if one of the two is a bound, which makes the share one.
    pub is_share_bound: bool,
    /// The server was not the limit: it may be better, and how much is not known.
    pub is_bound: bool,
    /// The reach of the figure: the interval, without an end where the server was not the limit.
    pub reach: Option<Interval>,
}

/// Reason why a server that did all that was asked has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// One round says nothing of how much a figure varies.
    OneRound,
    /// The interval of a floor or of a mean above 0 reaches 0 where more is better: it is behind everybody as
    /// well as ahead.
    ReachesNothing,
}

impl Unplaced {
    fn of(figure: &Figure, mean: f64, is_bound: bool, interval: Option<Interval>) -> Option<Self> {
        let Some(interval) = interval else { return Some(Unplaced::OneRound) };
        // A server that held nothing in any round by its own limits is behind everybody.
        let reaches_nothing = figure.more_is_better() && (mean > 0.0 || is_bound) && interval.low <= 0.0;
        reaches_nothing.then_some(Unplaced::ReachesNothing)
    }
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unplaced::OneRound => "one round: no place",
            Unplaced::ReachesNothing => "its interval reaches 0: no place",
        })
    }
}

/// A target that takes part.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Its name.
    pub target: String,
    /// The figure in each round.
    pub values: Vec<f64>,
    /// How far it may reach in each, where it was searched; otherwise the figure itself.
    pub reaches: Vec<f64>,
    /// True if it did what was asked: who loses messages, dies or answers with errors has no place, however fast it is.
    pub is_ranked: bool,
    /// True if in a round the server was not the limit, but the generator, the machine, or the most that was tried.
    pub is_bound: bool,
}

impl Entrant {
    /// The interval from the low end of its figure to the high end of its reach.
    fn interval(&self) -> Option<Interval> {
        let (own, reach) = (interval::of_repeats(&self.values)?, interval::of_repeats(&self.reaches)?);
        Some(Interval { low: own.low, high: own.high.max(reach.high) })
    }

    /// The interval, without an end where the server was not the limit.
    fn reach(&self, figure: &Figure) -> Option<Interval> {
        let Interval { low, high } = self.interval()?;
        Some(match (self.is_bound, figure.more_is_better()) {
            (false, _) => Interval { low, high },
            // Its true figure may be any better one.
            (true, true) => Interval { low, high: f64::INFINITY },
            (true, false) => Interval { low: f64::NEG_INFINITY, high },
        })
    }
}

/// Orders targets by their means, best first; those that are not ranked come after, and those without a
/// figure last. One is certainly ahead of another when its mean is better and their intervals have no value
/// in common; without intervals, none is. Who was not at its own limit may be ahead of anybody, and is behind
/// nobody. A figure that says nothing ([`Unplaced`]) has no place.
pub fn standings(figure: &Figure, entrants: &[Entrant], reference: &str) -> Vec<Standing> {
    let of_reference = entrants.iter().find(|entrant| entrant.target == reference).and_then(|entrant| {
        // Of nothing there are no multiples.
        Some((mean(&entrant.values).filter(|mean| *mean > 0.0)?, entrant.is_bound))
    });
    let mut standings: Vec<(bool, Standing)> = entrants
        .iter()
        .map(|entrant| {
            let Entrant { target, values, is_ranked, is_bound, .. } = entrant;
            let interval = entrant.interval().filter(|_| *is_ranked);
            let mean = mean(values);
            let sound = mean.filter(|_| *is_ranked);
            let unplaced = sound.and_then(|mean| Unplaced::of(figure, mean, *is_bound, interval));
            // Whatever it is, the reference is once itself.
            let is_reference = target == reference;
            let share =
                sound.zip(of_reference).filter(|(_, (_, bound))| is_reference || !(*is_bound && *bound));
            let standing = Standing {
                place: None,
                unplaced,
                target: target.clone(),
                mean,
                interval,
                share: share.map(|(mean, (reference, _))| mean / reference),
                is_share_bound: !is_reference && share.is_some_and(|(_, (_, bound))| *is_bound || bound),
                is_bound: *is_bound,
                reach: entrant.reach(figure).filter(|_| *is_ranked),
            };
            (sound.is_some() && unplaced.is_none(), standing)
        })
        .collect();
    let sign = if figure.more_is_better() { -1.0 } else { 1.0 };
    let key = |standing: &Standing| standing.mean.map_or(f64::INFINITY, |mean| sign * mean);
    standings.sort_by(|(a_ranked, a), (b_ranked, b)| {
        // By name where the means are equal, so that tables do not change from one printing to the next.
        let by_mean = key(a).total_cmp(&key(b)).then_with(|| a.target.cmp(&b.target));
        b_ranked.cmp(a_ranked).then(by_mean)
    });
    let ranked = standings.iter().filter(|(is_ranked, _)| *is_ranked).count();
    let mut standings: Vec<Standing> = standings.into_iter().map(|(_, standing)| standing).collect();
    for at in 0..ranked {
        let (before, after) = (&standings[..at], &standings[at + 1..ranked]);
        let apart =
            |others: &[Standing]| others.iter().filter(|other| are_apart(other, &standings[at])).count();
        // Sorted by means, so that who is certainly ahead stands before it, and who is certainly behind after
        // it.
        standings[at].place = Some(Place { best: 1 + apart(before), worst: ranked - apart(after) });
    }
    standings
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The reference server under its second name: the same program, measured as two targets.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Its figure beside the first.
    Compared {
        /// The mean of its figure.
        mean: f64,
        /// Its 95% interval.
        interval: Interval,
        /// True if it was not the limit.
        is_bound: bool,
        /// True if it can be told from the first, which would be wrong.
        is_apart: bool,
    },
    /// The reason why the two cannot be compared.
    Incomparable(String),
}

impl Control {
    /// Beside the reference; `None` without intervals, which tell nobody apart.
    pub(crate) fn of(figure: &Figure, reference: &Standing, again: &Entrant) -> Option<Control> {
        let is_apart = overlap(reference.reach?, again.reach(figure)?).is_none();
        let (mean, interval) = (mean(&again.values)?, again.interval()?);
        Some(Control::Compared { mean, interval, is_bound: again.is_bound, is_apart })
    }
}

/// Returns whether two figures can be told apart.
pub(crate) fn are_apart(a: &Standing, b: &Standing) -> bool {
    a.reach.zip(b.reach).is_some_and(|(a, b)| overlap(a, b).is_none())
}

/// Returns whether one is certainly ahead of the other.
pub fn is_ahead(figure: &Figure, one: &Standing, other: &Standing) -> bool {
    let is_better = match figure.more_is_better() {
        true => one.mean > other.mean,
        false => one.mean < other.mean,
    };
    is_better && are_apart(one, other)
}

/// The intersection of two intervals.
fn overlap(a: Interval, b: Interval) -> Option<Interval> {
    let both = Interval { low: a.low.max(b.low), high: a.high.min(b.high) };
    (both.low <= both.high).then_some(both)
}

#[cfg(test)]
mod tests {
    use results::Scenario;

    use super::*;

    fn entrant(target: &str, values: &[f64]) -> Entrant {
        let (values, reaches) = (values.to_vec(), values.to_vec());
        Entrant { target: target.to_owned(), values, reaches, is_ranked: true, is_bound: false }
    }

    fn places(verb: Scenario, name: &str, values: &[(&str, &[f64])]) -> Vec<(String, String)> {
        let figure = Figure::parse(name, verb).unwrap();
        let values: Vec<_> = values.iter().map(|(target, values)| entrant(target, values)).collect();
        let place = |one: &Standing| one.place.map(|place| place.to_string()).unwrap_or_default();
        standings(&figure, &values, "throng").into_iter().map(|one| (place(&one), one.target)).collect()
    }

    #[test]
    fn targets_whose_intervals_overlap_share_places() {
        let found = places(
            Scenario::Echo,
            "rtt.p95",
            &[
                ("slow", &[20.0, 20.1, 19.9]),
                ("throng", &[1.0, 1.1, 0.9]),
                ("close", &[1.05, 1.0, 1.15]),
                ("broken", &[]),
                ("slower", &[30.0, 30.1, 29.9]),
            ],
        );
        let expected = [("1–2", "throng"), ("1–2", "close"), ("3", "slow"), ("4", "slower"), ("", "broken")];
        assert_eq!(found, expected.map(|(place, name)| (place.to_owned(), name.to_owned())));
    }

    #[test]
    fn overlapping_two_places_means_either() {
        let found = places(
            Scenario::Echo,
            "rtt.p95",
            &[("a", &[1.0, 1.1, 1.2]), ("b", &[1.1, 1.3, 1.5]), ("c", &[1.5, 1.6, 1.7])],
        );
        assert_eq!(found.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(), ["1–2", "1–3", "2–3"]);
    }

    #[test]
    fn one_round_tells_nobody_apart() {
        let found = places(Scenario::Echo, "rtt.p95", &[("a", &[1.0]), ("b", &[9.0]), ("c", &[20.0, 20.0])]);
        let expected = [("1", "c"), ("", "a"), ("", "b")];
        assert_eq!(found, expected.map(|(place, target)| (place.to_owned(), target.to_owned())));
    }

    #[test]
    fn searches_do_not_resolve_between_steps() {
        let searched = |target: &str, kept: f64| Entrant {
            values: vec![kept, kept * 1.001],
            reaches: vec![kept * 1.2, kept * 1.2],
            ..entrant(target, &[])
        };
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        let found =
            standings(&figure, &[searched("a", 360.0), searched("b", 300.0), searched("c", 250.0)], "");
        let places: Vec<String> = found.iter().map(|one| one.place.unwrap().to_string()).collect();
        assert_eq!(places, ["1–2", "1–3", "2–3"], "next to each other they cannot be told apart");
        let interval = found[0].interval.unwrap();
        assert!(interval.low < 360.0 && interval.high == 432.0, "{interval:?}");
    }

    #[test]
    fn generator_bound_servers_are_behind_nobody() {
        let bound = |target: &str, values: &[f64]| Entrant { is_bound: true, ..entrant(target, values) };
        let rate = Figure::parse("rate", Scenario::Http).unwrap();
        let all = [
            entrant("fast", &[90.0, 91.0]),
            bound("b", &[70.0, 71.0]),
            bound("c", &[50.0, 51.0]),
            entrant("slow", &[10.0, 11.0]),
        ];
        let places = |figure: &Figure, all: &[Entrant]| {
            let found = standings(figure, all, "");
            found.iter().map(|one| format!("{} {}", one.target, one.place.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(places(&rate, &all), ["fast 1–3", "b 1–3", "c 1–3", "slow 4"]);
        let latency = Figure::parse("rtt.p95", Scenario::Echo).unwrap();
        let found = places(&latency, &[entrant("a", &[1.0, 1.1]), bound("late", &[9.0, 9.1])]);
        assert_eq!(found, ["a 1–2", "late 1–2"]);
    }

    #[test]
    fn an_interval_that_reaches_nothing_has_no_place() {
        let found = places(Scenario::Http, "rate", &[("a", &[10.0, 900.0]), ("b", &[20.0, 20.1])]);
        assert_eq!(found, [("1".to_owned(), "b".to_owned()), (String::new(), "a".to_owned())]);
        let found = places(Scenario::Echo, "rtt.p95", &[("a", &[0.1, 0.9]), ("b", &[20.0, 20.1])]);
        assert_eq!(found[1], ("2".to_owned(), "b".to_owned()), "of latencies it is certainly less");
    }

    #[test]
    fn servers_that_held_nothing_are_last() {
        let broke = |target: &str, kept: f64, broke: f64| Entrant {
            values: vec![kept; 2],
            reaches: vec![broke; 2],
            ..entrant(target, &[])
        };
        let all = [broke("none", 0.0, 500.0), broke("few", 1_000.0, 2_000.0), broke("many", 5e3, 6e3)];
        let found = standings(&Figure::parse("capacity", Scenario::Broadcast).unwrap(), &all, "");
        let places: Vec<_> = found.iter().map(|one| one.place.unwrap().to_string()).collect();
        assert_eq!(places, ["1", "2", "3"]);
        let bound = Entrant { is_bound: true, ..broke("none", 0.0, 500.0) };
        let found = standings(&Figure::parse("capacity", Scenario::Broadcast).unwrap(), &[bound], "");
        assert_eq!((found[0].place, found[0].unplaced), (None, Some(Unplaced::ReachesNothing)));
    }

    #[test]
    fn more_is_better_for_rates() {
        let found = places(Scenario::Http, "rate", &[("a", &[10.0, 10.0]), ("b", &[20.0, 20.0])]);
        assert_eq!(found, [("1".to_owned(), "b".to_owned()), ("2".to_owned(), "a".to_owned())]);
    }

    #[test]
    fn figures_are_shares_of_the_reference() {
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        let values = [entrant("throng", &[200.0]), entrant("a", &[50.0])];
        let shares: Vec<_> = standings(&figure, &values, "throng").iter().map(|one| one.share).collect();
        assert_eq!(shares, [Some(1.0), Some(0.25)]);
        let without = standings(&figure, &values[1..], "throng");
        assert_eq!(without[0].share, None);
    }

    #[test]
    fn shares_of_bounds_are_bounds() {
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        let shares = |is_bound, of_reference| {
            let reference = Entrant { is_bound: of_reference, ..entrant("throng", &[200.0]) };
            let found =
                standings(&figure, &[reference, Entrant { is_bound, ..entrant("a", &[50.0]) }], "throng");
            found.iter().map(|one| (one.share, one.is_share_bound)).collect::<Vec<_>>()
        };
        let itself = (Some(1.0), false);
        assert_eq!(shares(false, false), [itself, (Some(0.25), false)]);
        assert_eq!(shares(true, false), [itself, (Some(0.25), true)]);
        assert_eq!(shares(false, true), [itself, (Some(0.25), true)]);
        assert_eq!(shares(true, true), [itself, (None, false)]);
    }

    #[test]
    fn servers_that_failed_have_no_place() {
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        let fast = Entrant { is_ranked: false, ..entrant("fast", &[90.0, 91.0]) };
        let found = standings(&figure, &[fast, entrant("a", &[50.0, 50.0]), entrant("b", &[])], "a");
        let names: Vec<_> = found.iter().map(|one| (one.target.as_str(), one.place.is_some())).collect();
        assert_eq!(names, [("a", true), ("fast", false), ("b", false)]);
        assert_eq!(found[0].place, Some(Place { best: 1, worst: 1 }));
        assert_eq!(found[1].mean, Some(90.5), "what it did is told");
    }

    #[test]
    fn distinguishable_controls_say_so() {
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        let reference = standings(&figure, &[entrant("throng", &[100.0, 101.0, 99.0])], "throng").remove(0);
        let is_apart = |values: &[f64], is_bound| {
            let again = Entrant { is_bound, ..entrant("again", values) };
            let control = Control::of(&figure, &reference, &again)?;
            Some(matches!(control, Control::Compared { is_apart: true, .. }))
        };
        assert_eq!(is_apart(&[100.0, 102.0, 101.0], false), Some(false));
        assert_eq!(is_apart(&[120.0, 121.0, 119.0], false), Some(true));
        assert_eq!(is_apart(&[80.0, 81.0, 79.0], true), Some(false), "as fast or faster");
        assert_eq!(is_apart(&[120.0], false), None);
    }
}
