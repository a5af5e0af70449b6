//! Compares what two shootouts say the same: for each question in both, how far their orders agree.

use stats::kendall;

use crate::section::Section;
use crate::standing::{Standing, are_apart};

/// How far two shootouts agree on one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The name of the scenario that asks it.
    pub question: String,
    /// The servers that have a rank in both.
    pub servers: usize,
    /// Kendall's τ of their figures.
    pub tau: Option<f64>,
    /// Pairs that both tell apart.
    pub apart: usize,
    /// Pairs that are the other way round, the one that was ahead in the first before the other.
    pub reversed: Vec<(String, String)>,
}

/// The questions that both have asked, with the same figure.
pub fn between(first: &[Section], second: &[Section]) -> Vec<Agreement> {
    let same =
        |one: &Section| second.iter().find(|other| other.name == one.name && other.figure == one.figure);
    first.iter().filter_map(|one| Some(on(&one.name, &one.standings, &same(one)?.standings))).collect()
}

fn on(question: &str, first: &[Standing], second: &[Standing]) -> Agreement {
    let ranked = |standing: &&Standing| standing.place.is_some();
    let again = |one: &Standing| second.iter().filter(ranked).find(|other| other.target == one.target);
    let pairs: Vec<(&Standing, &Standing)> =
        first.iter().filter(ranked).filter_map(|one| Some((one, again(one)?))).collect();
    let figures: Vec<(f64, f64)> =
        pairs.iter().filter_map(|(one, other)| Some((one.mean?, other.mean?))).collect();
    let mut apart = 0;
    let mut reversed = Vec::new();
    for (at, (ahead, ahead_again)) in pairs.iter().enumerate() {
        for (behind, behind_again) in &pairs[at + 1..] {
            if are_apart(ahead, behind) && are_apart(ahead_again, behind_again) {
                apart += 1;
                // By the figures and not by the places: whether more is better is then of no account.
                let is_same = (ahead.mean < behind.mean) == (ahead_again.mean < behind_again.mean);
                if !is_same {
                    reversed.push((ahead.target.clone(), behind.target.clone()));
                }
            }
        }
    }
    Agreement {
        question: question.to_owned(),
        servers: pairs.len(),
        tau: kendall::tau(&figures),
        apart,
        reversed,
    }
}

#[cfg(test)]
mod tests {
    use results::Scenario;

    use super::*;
    use crate::figure::Figure;
    use crate::standing::{Entrant, standings};

    fn ranked(values: &[(&str, f64)]) -> Vec<Standing> {
        let entrant = |&(target, value): &(&str, f64)| {
            let values = vec![value, value * 1.001, value * 0.999];
            Entrant {
                target: target.to_owned(),
                reaches: values.clone(),
                values,
                is_ranked: true,
                is_bound: false,
            }
        };
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        standings(&figure, &values.iter().map(entrant).collect::<Vec<_>>(), "throng")
    }

    #[test]
    fn distinct_orders_agree_or_are_reversed() {
        let first = ranked(&[("a", 400.0), ("b", 300.0), ("c", 200.0), ("d", 100.0)]);
        let second = ranked(&[("a", 380.0), ("b", 190.0), ("c", 260.0), ("e", 50.0)]);
        let found = on("q", &first, &second);
        assert_eq!((found.servers, found.apart), (3, 3));
        assert_eq!(found.reversed, [("b".to_owned(), "c".to_owned())]);
        assert!((found.tau.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(on("q", &first, &first).tau, Some(1.0));
    }
}
