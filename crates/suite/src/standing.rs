//! Who is ahead, and who cannot be told apart (METHODOLOGY "Ranking").

use stats::Interval;
use stats::interval;

use crate::figure::Figure;

/// One target in a scenario's standing.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its place, from 1; those who share one cannot be told apart. `None`: it has no figure.
    pub place: Option<usize>,
    /// The target's name.
    pub target: String,
    /// The mean of the figure over the repeats.
    pub mean: Option<f64>,
    /// Its 95% interval; `None` with fewer than two repeats.
    pub interval: Option<Interval>,
    /// The mean as a multiple of the reference server's.
    pub share: Option<f64>,
}

/// Orders targets by their means, best first. A target shares the place of the first before it whose interval overlaps
/// its own; those without a figure come last. `values` are a target's repeats.
pub fn standings(figure: &Figure, values: &[(String, Vec<f64>)], reference: &str) -> Vec<Standing> {
    let mean =
        |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let of_reference = values
        .iter()
        .find(|(target, _)| target == reference)
        .and_then(|(_, values)| mean(values))
        .filter(|mean| *mean > 0.0);
    let mut standings: Vec<Standing> = values
        .iter()
        .map(|(target, values)| Standing {
            place: None,
            target: target.clone(),
            mean: mean(values),
            interval: interval::of_repeats(values),
            share: mean(values).zip(of_reference).map(|(mean, reference)| mean / reference),
        })
        .collect();
    let sign = if figure.more_is_better() { -1.0 } else { 1.0 };
    let key = |standing: &Standing| standing.mean.map_or(f64::INFINITY, |mean| sign * mean);
    standings.sort_by(|a, b| key(a).total_cmp(&key(b)).then_with(|| a.target.cmp(&b.target)));
    let mut leader = 0;
    for index in 0..standings.len() {
        if standings[index].mean.is_none() {
            continue;
        }
        if !overlap(&standings[leader], &standings[index]) {
            leader = index;
        }
        standings[index].place = Some(leader + 1);
    }
    standings
}

/// Whether two figures cannot be told apart: their intervals have a value in common. Without intervals, only equal ones.
fn overlap(a: &Standing, b: &Standing) -> bool {
    match (a.interval, b.interval) {
        (Some(a), Some(b)) => a.low <= b.high && b.low <= a.high,
        _ => a.mean == b.mean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(verb: &str, name: &str, values: &[(&str, &[f64])]) -> Vec<(Option<usize>, String)> {
        let figure = Figure::parse(name, verb).unwrap();
        let values: Vec<_> =
            values.iter().map(|(target, values)| ((*target).to_owned(), values.to_vec())).collect();
        standings(&figure, &values, "throng").into_iter().map(|one| (one.place, one.target)).collect()
    }

    #[test]
    fn those_whose_intervals_overlap_share_a_place() {
        let found = places(
            "echo",
            "rtt.p95",
            &[
                ("slow", &[20.0, 20.1, 19.9]),
                ("throng", &[1.0, 1.1, 0.9]),
                ("close", &[1.05, 1.0, 1.15]),
                ("broken", &[]),
                ("slower", &[30.0, 30.1, 29.9]),
            ],
        );
        let expected = [
            (Some(1), "throng"),
            (Some(1), "close"),
            (Some(3), "slow"),
            (Some(4), "slower"),
            (None, "broken"),
        ];
        assert_eq!(found, expected.map(|(place, name)| (place, name.to_owned())));
    }

    #[test]
    fn more_is_better_for_rates() {
        let found = places("http", "rate", &[("a", &[10.0, 10.0]), ("b", &[20.0, 20.0])]);
        assert_eq!(found, [(Some(1), "b".to_owned()), (Some(2), "a".to_owned())]);
    }

    #[test]
    fn figures_are_shares_of_the_reference() {
        let figure = Figure::parse("rate", "http").unwrap();
        let values = [("throng".to_owned(), vec![200.0]), ("a".to_owned(), vec![50.0])];
        let shares: Vec<_> = standings(&figure, &values, "throng").iter().map(|one| one.share).collect();
        assert_eq!(shares, [Some(1.0), Some(0.25)]);
        let without = standings(&figure, &values[1..], "throng");
        assert_eq!(without[0].share, None);
    }
}
