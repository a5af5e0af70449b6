//! The answer to a question: the server that won it, or why none did.
//!
//! Only servers to choose from win; the reference is a yardstick, however fast it is.

use std::fmt::{self, Display, Formatter};

use results::format::counted;

use crate::figure::Figure;
use crate::manifest::REFERENCE_NAME;
use crate::standing::{Standing, are_apart, is_ahead};

/// Names in a sentence; the others are counted.
const NAMED_MAX: usize = 3;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is certainly ahead of all others, of which there are `behind` with a place.
    Won {
        /// The server.
        server: String,
        /// Servers behind it.
        behind: usize,
    },
    /// No server is certainly ahead of any of these; the best mean comes first.
    Tied(Vec<String>),
    /// There is no telling.
    Undecided(Undecided),
}

/// Reason for an open answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// No server has a place.
    NoPlace,
    /// It alone has a place.
    Unopposed(String),
    /// Servers without a place may be ahead of the best that has one.
    Beyond {
        /// The best that has a place.
        best: String,
        /// Servers that may be ahead of it.
        others: usize,
    },
}

impl Outcome {
    /// The answer from a question's standings. `beyond`: servers to choose from, without a flaw, that may be
    /// ahead although they have no figure.
    pub(crate) fn of(figure: &Figure, standings: &[Standing], beyond: usize) -> Self {
        let choices = || standings.iter().filter(|standing| standing.target != REFERENCE_NAME);
        let ranked: Vec<&Standing> = choices().filter(|standing| standing.place.is_some()).collect();
        // `standings` has the best mean first.
        let Some(best) = ranked.first() else { return Outcome::Undecided(Undecided::NoPlace) };
        let undecided = |others| Undecided::Beyond { best: best.target.clone(), others };
        // Before ties: a server without a figure may be ahead of all that are tied.
        if beyond > 0 {
            return Outcome::Undecided(undecided(beyond));
        }
        let leads = |one: &&&Standing| !ranked.iter().any(|other| is_ahead(figure, other, one));
        let leaders: Vec<String> = ranked.iter().filter(leads).map(|one| one.target.clone()).collect();
        if leaders.len() > 1 {
            return Outcome::Tied(leaders);
        }
        let may_lead = |one: &&Standing| one.unplaced.is_some() && !are_apart(best, one);
        match choices().filter(may_lead).count() {
            0 if ranked.len() == 1 => Outcome::Undecided(Undecided::Unopposed(best.target.clone())),
            0 => Outcome::Won { server: best.target.clone(), behind: ranked.len() - 1 },
            others => Outcome::Undecided(undecided(others)),
        }
    }

    /// The servers that may be first; the best mean comes first.
    pub fn leaders(&self) -> &[String] {
        match self {
            Outcome::Won { server: best, .. }
            | Outcome::Undecided(Undecided::Unopposed(best) | Undecided::Beyond { best, .. }) => {
                std::slice::from_ref(best)
            }
            Outcome::Tied(all) => all,
            Outcome::Undecided(Undecided::NoPlace) => &[],
        }
    }

    /// The answer in a word or a name.
    pub fn answer(&self) -> String {
        match self {
            Outcome::Won { server, .. } => server.clone(),
            Outcome::Tied(all) => format!("Tie of {}", all.len()),
            Outcome::Undecided(_) => "No winner".to_owned(),
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Won { behind: 1, .. } => f.write_str("ahead of the other"),
            Outcome::Won { behind, .. } => write!(f, "ahead of all {behind} others with a place"),
            Outcome::Tied(all) => f.write_str(&names(all)),
            Outcome::Undecided(Undecided::NoPlace) => f.write_str("no server has a place"),
            Outcome::Undecided(Undecided::Unopposed(best)) => write!(f, "only {best} has a place"),
            Outcome::Undecided(Undecided::Beyond { best, others }) => {
                let others = counted(*others as u64, "server");
                write!(f, "{best} is the best that has a place; {others} without one may be ahead of it")
            }
        }
    }
}

/// `a`, `a and b`, `a, b and 7 more`.
fn names(all: &[String]) -> String {
    let (named, last) = match all {
        [] | [_] => return all.concat(),
        [named @ .., last] if all.len() <= NAMED_MAX => (named, last.clone()),
        _ => (&all[..NAMED_MAX - 1], format!("{} more", all.len() - (NAMED_MAX - 1))),
    };
    format!("{} and {last}", named.join(", "))
}

/// The winner of a shootout in one line, over all of its questions.
pub fn headline<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let outcomes: Vec<&Outcome> = outcomes.collect();
    let asked = outcomes.len();
    if let [only] = outcomes[..] {
        return match only {
            Outcome::Won { server, .. } => format!("{server} wins"),
            Outcome::Tied(all) => format!("Tie between {}", names(all)),
            Outcome::Undecided(_) => format!("No winner: {only}"),
        };
    }
    let ties = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Tied(_))).count();
    let winners = winners(&outcomes);
    let won: usize = winners.iter().map(|(_, times)| times).sum();
    let undecided = asked - ties - won;
    match &winners[..] {
        [] if ties == asked => return format!("Tie in all {asked} questions"),
        [(server, times)] if *times == asked => return format!("{server} wins all {asked} questions"),
        _ => {}
    }
    let open = [(ties, "tied"), (undecided, "undecided")].into_iter().filter(|(times, _)| *times > 0);
    let open = open.map(|(times, what)| format!("{times} {what}"));
    let named = winners.iter().take(NAMED_MAX).map(|(server, times)| format!("{times} for {server}"));
    let rest: usize = winners.iter().skip(NAMED_MAX).map(|(_, times)| times).sum();
    let won = named.chain((rest > 0).then(|| format!("{rest} for others")));
    match winners.first() {
        Some((server, times)) if 2 * times > asked => {
            let others: Vec<String> = won.skip(1).chain(open).collect();
            format!("{server} wins {times} of {asked} questions: {}", others.join(", "))
        }
        _ => {
            let all: Vec<String> = open.chain(won).collect();
            format!("No overall winner of {asked} questions: {}", all.join(", "))
        }
    }
}

/// The servers that won, and how often; most often first.
fn winners<'a>(outcomes: &[&'a Outcome]) -> Vec<(&'a str, usize)> {
    let mut winners: Vec<(&str, usize)> = Vec::new();
    for outcome in outcomes {
        let Outcome::Won { server, .. } = outcome else { continue };
        match winners.iter_mut().find(|(known, _)| known == server) {
            Some((_, times)) => *times += 1,
            None => winners.push((server, 1)),
        }
    }
    // Stable: of two that won as often, the winner of the earlier question comes first.
    winners.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    winners
}

#[cfg(test)]
mod tests {
    use results::Scenario;

    use super::*;
    use crate::standing::{Entrant, standings};

    fn entrant(target: &str, values: &[f64], is_ranked: bool) -> Entrant {
        Entrant {
            target: target.to_owned(),
            values: values.to_vec(),
            reaches: values.to_vec(),
            is_ranked,
            is_bound: false,
        }
    }

    fn outcome(entrants: &[(&str, &[f64], bool)], beyond: usize) -> Outcome {
        let figure = Figure::parse("rate", Scenario::Http).unwrap();
        let entrants: Vec<Entrant> =
            entrants.iter().map(|(target, values, is_ranked)| entrant(target, values, *is_ranked)).collect();
        Outcome::of(&figure, &standings(&figure, &entrants, REFERENCE_NAME), beyond)
    }

    const FAST: (&str, &[f64], bool) = ("fast", &[90.0, 90.5], true);
    const SLOW: (&str, &[f64], bool) = ("slow", &[9.0, 9.1], true);

    #[test]
    fn the_yardstick_neither_wins_nor_ties() {
        let yardstick = (REFERENCE_NAME, &[90.1, 90.4][..], true);
        let won = outcome(&[FAST, SLOW, yardstick], 0);
        assert_eq!(won, Outcome::Won { server: "fast".into(), behind: 1 });
        assert_eq!(outcome(&[yardstick], 0), Outcome::Undecided(Undecided::NoPlace));
    }

    #[test]
    fn overlapping_intervals_tie() {
        let near = ("near", &[89.8, 90.6][..], true);
        let tied = outcome(&[SLOW, FAST, near], 0);
        assert_eq!(tied, Outcome::Tied(vec!["fast".into(), "near".into()]));
        assert_eq!((tied.answer(), tied.to_string()), ("Tie of 2".into(), "fast and near".into()));
    }

    #[test]
    fn unknown_figures_leave_no_winner() {
        let beyond = |others| Outcome::Undecided(Undecided::Beyond { best: "fast".into(), others });
        let once = ("once", &[95.0][..], true);
        let wide = ("wide", &[1.0, 120.0][..], true);
        let lossy = ("lossy", &[500.0, 500.0][..], false);
        assert_eq!(outcome(&[FAST, SLOW, once], 0), beyond(1));
        assert_eq!(outcome(&[FAST, SLOW, once, wide], 0), beyond(2));
        assert_eq!(outcome(&[FAST, SLOW], 11), beyond(11), "a limit on files is no limit of a server");
        assert!(matches!(outcome(&[FAST, SLOW, lossy], 0), Outcome::Won { .. }));
        assert_eq!(outcome(&[FAST, lossy], 0), Outcome::Undecided(Undecided::Unopposed("fast".into())));
    }

    #[test]
    fn headlines_name_winners_and_ties() {
        let won = |server: &str| Outcome::Won { server: server.into(), behind: 2 };
        let tied = Outcome::Tied(["a", "b", "c", "d"].map(str::to_owned).to_vec());
        let nobody = Outcome::Undecided(Undecided::NoPlace);
        let said = |outcomes: &[&Outcome]| headline(outcomes.iter().copied());
        assert_eq!(said(&[&won("a")]), "a wins");
        assert_eq!(said(&[&tied]), "Tie between a, b and 2 more");
        assert_eq!(said(&[&nobody]), "No winner: no server has a place");
        assert_eq!(said(&[&tied, &tied]), "Tie in all 2 questions");
        assert_eq!(said(&[&won("a"), &won("a")]), "a wins all 2 questions");
        assert_eq!(said(&[&tied, &nobody]), "No overall winner of 2 questions: 1 tied, 1 undecided");
        assert_eq!(
            said(&[&won("a"), &won("a"), &won("b")]),
            "a wins 2 of 3 questions: 1 for b",
            "more than half"
        );
        let many = [&won("b"), &won("a"), &won("c"), &won("a"), &won("d"), &tied];
        assert_eq!(
            said(&many),
            "No overall winner of 6 questions: 1 tied, 2 for a, 1 for b, 1 for c, 1 for others"
        );
    }
}
