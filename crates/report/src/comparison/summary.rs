//! A comparison in two lines: what has changed, and why the rest is unclear.

use std::collections::BTreeMap;

use results::compare::{Comparison, Row};
use results::format;
use stats::compare::Change;

use crate::difference::{BLIND, level, open, or_more, signed_percent};

/// Changes that a headline names; the others are counted.
const NAMED_MAX: usize = 3;

/// Says what has changed from A to B: of what users notice first, with memory and CPU behind it.
pub(crate) fn headline(found: &Comparison) -> String {
    let all: Vec<&Row> = shown(found).collect();
    let (beside, main): (Vec<&Row>, Vec<&Row>) = all.iter().copied().partition(|row| is_of_server(row));
    let (main, beside) = if main.is_empty() { (beside, main) } else { (main, beside) };
    let metrics = format::counted(all.len() as u64, "metric");
    let (worse, better) = (changed(&main, Change::Slower), changed(&main, Change::Faster));
    let (worse_beside, better_beside) = (changed(&beside, Change::Slower), changed(&beside, Change::Faster));
    // Chance makes one of many metrics differ now and then. With one that it does not make, all are told.
    let stands = |row: &&Row| row.found.is_none_or(|found| found.stands_among(all.len()));
    if worse.iter().chain(&better).any(stands) {
        return told(&[worse, worse_beside].concat(), &[better, better_beside].concat(), &metrics, found);
    }
    let maybe = [worse, better].concat();
    let said = if maybe.is_empty() {
        held_back(&main, &metrics, found).unwrap_or_else(|| untold(&all))
    } else {
        format!("Unclear whether A and B differ: in {metrics}, chance may make {}", named(&maybe, found))
    };
    let beside = [worse_beside, better_beside].concat();
    if beside.is_empty() { said } else { format!("{said}; {}", named(&beside, found)) }
}

/// Returns whether a row is of what the server uses, which says nothing of how it serves.
fn is_of_server(row: &Row) -> bool {
    row.figure.starts_with("server.")
}

fn changed<'a>(rows: &[&'a Row], change: Change) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.told() == change).copied().collect()
}

/// Changes that can be told; there is at least one.
fn told(worse: &[&Row], better: &[&Row], metrics: &str, found: &Comparison) -> String {
    match (worse.len(), better.len()) {
        (0, n) => format!("B is better than A in {n} of {metrics}: {}", named(better, found)),
        (n, 0) => format!("B is worse than A in {n} of {metrics}: {}", named(worse, found)),
        (n, m) => format!(
            "B is worse than A in {n} and better in {m} of {metrics}: {}; {}",
            named(worse, found),
            named(better, found)
        ),
    }
}

/// Changes that the runs show, and that a caveat may be the cause of. `None`: there is none.
fn held_back(rows: &[&Row], metrics: &str, found: &Comparison) -> Option<String> {
    let of = |change| {
        let has_caveat = |row: &&&Row| row.change == change && row.caveat.is_some();
        rows.iter().filter(has_caveat).copied().collect::<Vec<_>>()
    };
    let (rows, word) = match (of(Change::Slower), of(Change::Faster)) {
        (worse, _) if !worse.is_empty() => (worse, "worse"),
        (_, better) => (better, "better"),
    };
    let caveat = rows.first()?.caveat.as_ref()?;
    let (n, named) = (rows.len(), named(&rows, found));
    Some(format!(
        "B was {word} than A in {n} of {metrics} ({named}), but this may not be the server's: {caveat}"
    ))
}

/// Rows without a change that can be told.
fn untold(rows: &[&Row]) -> String {
    let [same, unclear] =
        [Change::NoDifference, Change::CannotTell].map(|change| changed(rows, change).len());
    let metrics = format::counted((same + unclear) as u64, "metric");
    match (same, unclear) {
        (0, 0) => "Nothing was measured on both sides".to_owned(),
        (_, 0) => format!("No difference between A and B in {metrics}"),
        (0, _) => format!("Unclear whether A and B differ in any of {metrics}"),
        _ => format!("Unclear whether A and B differ: no difference in {same} of {metrics}"),
    }
}

/// The rows of the table.
pub(super) fn shown(found: &Comparison) -> impl Iterator<Item = &Row> {
    found.rows.iter().filter(|row| !row.is_nothing())
}

/// `rtt.p99 +16.7%`, with the level where there are several.
fn named(rows: &[&Row], found: &Comparison) -> String {
    let of = |row: &Row| (row.clients, row.asked_per_s);
    let has_levels = found.rows.iter().any(|row| of(row) != of(&found.rows[0]));
    let name = |row: &&Row| {
        let at = if has_levels { level(row, found) } else { String::new() };
        let by = |percent| format!(" {}{}", signed_percent(percent), or_more(row));
        let by = row.percent().map(by).unwrap_or_default();
        format!("{}{at}{by}", row.figure)
    };
    let mut names: Vec<String> = rows.iter().take(NAMED_MAX).map(name).collect();
    let more = rows.len().saturating_sub(NAMED_MAX);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

/// Says why rows are unclear, each reason once. `None`: all are clear.
pub(crate) fn unclear(found: &Comparison) -> Option<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for row in shown(found).filter(|row| row.told() == Change::CannotTell) {
        let reason = match (row.change, row.found, &row.caveat) {
            (Change::CannotTell, None, _) => open(row),
            (Change::CannotTell, Some(_), _) => {
                "the interval includes zero and differences that matter".to_owned()
            }
            (Change::Faster | Change::Slower, _, Some(caveat)) => {
                format!("{caveat}, which may be the cause")
            }
            _ => BLIND.to_owned(),
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let all = shown(found).count();
    let reasons: Vec<String> =
        reasons.iter().map(|(reason, times)| format!("{reason} ({times} of {all})")).collect();
    (!reasons.is_empty()).then(|| format!("unclear: {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use results::Unit;
    use results::finding::Caveat;
    use stats::compare::{self, Better, Kind};

    use super::*;

    fn found(changes: &[(&str, Change)]) -> Comparison {
        let row = |&(figure, change): &(&str, Change)| Row {
            clients: Some(100),
            asked_per_s: None,
            figure: figure.into(),
            unit: Unit::Ms,
            better: Better::Lower,
            a: 10.0,
            b: 12.0,
            at_least: [false; 2],
            found: None,
            change,
            is_blind: false,
            caveat: None,
        };
        Comparison { rows: changes.iter().map(row).collect(), notes: Vec::new() }
    }

    #[track_caller]
    fn assert_parts(said: &str, parts: &[&str]) {
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }

    #[test]
    fn headlines_say_what_changed() {
        use Change::{CannotTell, Faster, NoDifference, Slower};
        let said = |changes: &[(&str, Change)]| headline(&found(changes));
        assert_parts(&said(&[]), &["Nothing"]);
        assert_parts(&said(&[("p50", NoDifference)]), &["No difference", " 1 metric"]);
        assert_parts(&said(&[("p50", CannotTell)]), &["Unclear", " 1 metric"]);
        assert_parts(&said(&[("p50", CannotTell), ("p99", NoDifference)]), &["Unclear", "1 of 2"]);
        assert_parts(&said(&[("p50", CannotTell), ("p99", Slower)]), &["worse", "1 of 2", ": p99 +20.0%"]);
        let many = ["a", "b", "c", "d", "e"].map(|name| (name, Faster));
        assert_parts(&said(&many), &["better", "5 of 5", ": a +20.0%", "c +20.0%, 2 more"]);
        let both = said(&[("p50", Faster), ("p99", Slower)]);
        assert_parts(&both, &["worse", "better in 1", ": p99 +20.0%; p50 +20.0%"]);
    }

    #[test]
    fn memory_stands_behind_what_users_notice() {
        use Change::{CannotTell, Faster, Slower};
        let said = |changes: &[(&str, Change)]| headline(&found(changes));
        let alone = said(&[("rtt.p50", CannotTell), ("server.rss", Faster)]);
        assert!(alone.starts_with("Unclear") && alone.ends_with("; server.rss +20.0%"), "{alone}");
        let beside = said(&[("server.rss", Slower), ("rtt.p50", Slower)]);
        assert_parts(&beside, &["2 of 2", ": rtt.p50 +20.0%, server.rss"]);
        assert_parts(&said(&[("server.rss", Slower)]), &["worse", "1 of 1"]);
    }

    #[test]
    fn one_faint_difference_among_many_is_no_claim() {
        let faint = compare::repeats(
            &[9.9, 10.0, 10.1],
            &[10.5, 10.6, 10.7],
            Better::Lower,
            Kind::Measured { grain: 0.0 },
        );
        let mut found = found(&["a"; 11].map(|name| (name, Change::CannotTell)));
        (found.rows[0].found, found.rows[0].change) = (faint, faint.unwrap().change());
        assert_eq!(found.rows[0].change, Change::Slower);
        assert_parts(&headline(&found), &["Unclear", "11 metrics", "a +20.0%"]);
        found.rows.truncate(1);
        assert_parts(&headline(&found), &["worse"]);
    }

    #[test]
    fn differences_from_a_bound_are_bounds() {
        let mut found = found(&[("capacity", Change::Slower)]);
        found.rows[0].at_least = [true, false];
        assert_parts(&headline(&found), &[": capacity +20.0% or more"]);
    }

    #[test]
    fn levels_are_named_where_there_are_several() {
        let mut found = found(&[("p50", Change::NoDifference), ("p50", Change::Slower)]);
        found.rows[1].clients = Some(2_000);
        assert_parts(&headline(&found), &["at 2,000 clients +20.0%"]);
        (found.rows[0].asked_per_s, found.rows[1].asked_per_s) = (Some(200.0), Some(400.0));
        assert_parts(&headline(&found), &["at 400/s to 2,000 clients +20.0%"]);
    }

    #[test]
    fn each_reason_is_said_once() {
        let mut found = found(&["a", "b", "c"].map(|name| (name, Change::CannotTell)));
        found.rows[2].at_least = [false, true];
        let said = unclear(&found).expect("three are");
        assert_parts(&said, &["lower bound (1 of 3)", "too short (2 of 3)"]);
        for row in &mut found.rows {
            row.change = Change::Slower;
        }
        assert_eq!(unclear(&found), None);
        found.rows[1].caveat = Some(Caveat::MachineFull);
        (found.rows[2].change, found.rows[2].is_blind) = (Change::Faster, true);
        assert_parts(&headline(&found), &["B is worse", "in 1 of 3"]);
        assert_parts(&unclear(&found).expect("two are"), &[&Caveat::MachineFull.to_string(), BLIND]);
        for row in &mut found.rows {
            (row.change, row.caveat) = (Change::Slower, Some(Caveat::MachineFull));
        }
        assert_parts(&headline(&found), &["B was worse", "3 of 3", &Caveat::MachineFull.to_string()]);
        for row in &mut found.rows {
            (row.change, row.is_blind) = (Change::NoDifference, true);
        }
        assert_parts(&headline(&found), &["Unclear"]);
        assert_parts(&unclear(&found).expect("all are"), &[BLIND, "(3 of 3)"]);
    }
}
