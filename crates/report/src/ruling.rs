//! The outcome of a rule on a comparison, in a sentence.

use results::compare::{Comparison, Row, Rule, Ruled};
use stats::compare::{REPEATS_MAX, Ruling, ToTell};

use crate::comparison::word;
use crate::difference::{BLIND, level, open, or_more};

/// `rtt.p99 at 500 clients is slower by 12.3%, between +4.0% and +21.0%`, or that it is not, or why that is unclear.
pub fn ruling(rule: &Rule, ruled: &Ruled<'_>, found: &Comparison) -> String {
    let row = ruled.row;
    let (what, claim) = (format!("{}{}", row.figure, level(row, found)), rule.claim());
    let by = row.percent().map(|percent| format!(" by {:.1}%{}", percent.abs(), or_more(row)));
    let by = by.unwrap_or_default();
    match ruled.ruling {
        Ruling::Broken => format!("{what} is {}{by}, {}", word(row), open(row)),
        Ruling::Kept if row.is_nothing() => format!("{what} is not {claim}: there is none on either side"),
        Ruling::Kept => format!("{what} is not {claim}: {}", open(row)),
        Ruling::CannotTell => {
            let why = match (ruled.without_caveat, &row.caveat) {
                (Some(Ruling::Broken), Some(caveat)) => {
                    format!("it is{by}, and that may be the cause: {caveat}")
                }
                (Some(_), _) => BLIND.into(),
                (None, _) => open(row) + &runs_to_tell(row, rule.share()),
            };
            format!("unclear whether {what} is {claim}: {why}")
        }
    }
}

/// How many runs would tell whether it has changed by that share; empty where no number would.
fn runs_to_tell(row: &Row, share: f64) -> String {
    match row.runs_to_tell(share) {
        ToTell::NoNumber => String::new(),
        ToTell::More => {
            format!("; more than {REPEATS_MAX} runs a side would: measure longer, or on a quieter machine")
        }
        ToTell::Repeats(runs) if row.is_of_single_runs() => format!("; {runs} runs a side or more may"),
        ToTell::Repeats(runs) => format!("; about {runs} runs a side would"),
    }
}

#[cfg(test)]
mod tests {
    use results::Unit;
    use results::finding::Caveat;
    use stats::Interval;
    use stats::compare::{self, Better, Change, Kind, PointEstimate};

    use results::Scenario;

    use super::*;

    fn said(a: &[f64], b: &[f64], rule: &str, caveat: Option<Caveat>) -> String {
        let found = compare::repeats(a, b, Better::Lower, Kind::Measured { grain: 0.0 });
        let row = Row {
            clients: Some(1_500),
            asked_per_s: None,
            figure: "rtt.p99".into(),
            unit: Unit::Ms,
            better: Better::Lower,
            a: found.map_or(a[0], |found| found.a),
            b: found.map_or(b[0], |found| found.b),
            at_least: [false; 2],
            found,
            change: found.map_or(Change::CannotTell, |found| found.change()),
            is_blind: false,
            caveat,
        };
        let comparison = Comparison { rows: vec![row], notes: Vec::new() };
        let rule = Rule::parse(rule, Scenario::Echo).unwrap();
        ruling(&rule, &rule.check(&comparison)[0], &comparison)
    }

    #[test]
    fn rates_are_named_where_they_differ() {
        let row = |asked_per_s| Row {
            clients: Some(50),
            asked_per_s,
            figure: "rtt.p95".into(),
            unit: Unit::Ms,
            better: Better::Lower,
            a: 10.0,
            b: 12.0,
            at_least: [false; 2],
            found: None,
            change: Change::CannotTell,
            is_blind: false,
            caveat: None,
        };
        let rule = Rule::parse("rtt.p95 slower by 5%", Scenario::Saturate).unwrap();
        for (second, level) in [(400.0, "rtt.p95 at 400/s to 50 clients "), (200.0, "rtt.p95 at 50 clients ")]
        {
            let rows = vec![row(Some(200.0)), row(Some(second))];
            let comparison = Comparison { rows, notes: Vec::new() };
            let said = ruling(&rule, &rule.check(&comparison)[1], &comparison);
            assert!(said.contains(level), "{said}");
        }
    }

    #[test]
    fn differences_from_a_bound_are_bounds() {
        let open = Interval { low: 2_000.0, high: f64::INFINITY };
        let told = Interval { low: 900.0, high: 1_100.0 };
        let found = compare::intervals(
            PointEstimate { value: 2_000.0, interval: open },
            PointEstimate { value: 1_000.0, interval: told },
            Better::Higher,
        );
        let row = Row {
            clients: None,
            asked_per_s: None,
            figure: "capacity".into(),
            unit: Unit::Count,
            better: Better::Higher,
            a: found.a,
            b: found.b,
            at_least: [true, false],
            found: Some(found),
            change: found.change(),
            is_blind: false,
            caveat: None,
        };
        let comparison = Comparison { rows: vec![row], notes: Vec::new() };
        let rule = Rule::parse("capacity worse by 10%", Scenario::Echo).unwrap();
        let said = ruling(&rule, &rule.check(&comparison)[0], &comparison);
        assert!(said.contains(" 50.0% or more, "), "{said}");
    }

    #[test]
    fn a_rule_has_three_outcomes() {
        let (a, worse) = ([100.0, 101.0, 99.0], [150.0, 151.0, 149.0]);
        let broken = said(&a, &worse, "p99 slower by 5%", None);
        assert!(broken.contains(" is slower by 50.0%") && broken.contains("+44.6% and +55.6%"), "{broken}");
        let kept = said(&a, &worse, "p99 slower by 100%", None);
        assert!(kept.contains(" is not slower by 100%") && kept.contains("+44.6% and +55.6%"), "{kept}");
        let unclear = said(&a, &[90.0, 110.0, 105.0], "p99 slower by 5%", None);
        assert!(unclear.contains("−43.5% and +83.0%; about 74 runs"), "{unclear}");
        let wild = said(&[1.0, 9.0, 2.0], &[50.0, 51.0, 49.0], "p99 slower by 5%", None);
        assert!(wild.contains("more than 100 runs"), "{wild}");
        let of_none = said(&[0.0; 3], &[0.0, 1.0, 0.0], "p99 worse", None);
        assert!(!of_none.contains("runs"), "{of_none}");
        let weakened = said(&a, &worse, "p99 worse", Some(Caveat::MachineFull));
        assert!(weakened.ends_with(&Caveat::MachineFull.to_string()), "{weakened}");
        let few = said(&a[..1], &worse[..1], "p99 worse", None);
        assert!(few.contains("; 3 runs a side"), "{few}");
    }
}
