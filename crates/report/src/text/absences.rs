//! Copies due to clients while they were away, and their outcomes.

use results::format::{self, count, duration};
use results::{Absences, Ages, Step};

const NS_PER_S: u64 = 1_000_000_000;
/// The ends of rows of ages, as printed.
const EDGES_S: [u64; 8] = [1, 2, 5, 10, 20, 30, 60, 120];

/// All of it in a line; and by how the connections ended and how old the messages were, where that differs.
pub(super) fn lines(step: &Step) -> Vec<String> {
    if step.absences.is_empty() {
        return Vec::new();
    }
    let counts = &step.counts;
    let absences: u64 = step.absences.iter().map(|row| row.count).sum();
    let mut lines = vec![format!(
        "{} absences, {} copies due meanwhile, {} recovered, {} lost{}",
        count(absences),
        count(counts.offline_due),
        count(counts.recovered),
        count(counts.lost_offline),
        share(counts.lost_offline, counts.offline_due)
    )];
    let mut ways: Vec<(&str, u64, u64)> = Vec::new();
    for Absences { ended_by, due, recovered, .. } in &step.absences {
        match ways.last_mut() {
            // Rows of one way stand together.
            Some((way, all, lost)) if way == ended_by => {
                (*all, *lost) = (*all + due, *lost + due.saturating_sub(*recovered))
            }
            _ => ways.push((ended_by, *due, due.saturating_sub(*recovered))),
        }
    }
    if ways.len() > 1 {
        let said =
            ways.iter().map(|(way, due, lost)| format!("{way} {} of {} lost", count(*lost), count(*due)));
        lines.push(said.collect::<Vec<_>>().join(", "));
    }
    // If all or nothing came, age makes no difference.
    if counts.recovered > 0 && counts.lost_offline > 0 {
        lines.push(coarse(&step.ages).iter().map(age).collect::<Vec<_>>().join(", "));
    }
    lines
}

/// The same in few rows: the finer ones are the results file's, and the chart's.
fn coarse(ages: &[Ages]) -> Vec<Ages> {
    let mut rows: Vec<Ages> = Vec::new();
    for age in ages {
        let up_to_ns =
            age.up_to_ns.and_then(|ns| EDGES_S.map(|s| s * NS_PER_S).into_iter().find(|&edge| edge >= ns));
        match rows.last_mut().filter(|row| row.up_to_ns == up_to_ns) {
            Some(row) => (row.due, row.recovered) = (row.due + age.due, row.recovered + age.recovered),
            None => rows.push(Ages { up_to_ns, ..age.clone() }),
        }
    }
    rows
}

fn age(row: &Ages) -> String {
    let lost = row.due.saturating_sub(row.recovered);
    let age = row.up_to_ns.map_or("older:".into(), |ns| format!("≤{} old", duration(ns)));
    format!("{age} {} of {} lost", count(lost), count(row.due))
}

fn share(part: u64, of: u64) -> String {
    if part == 0 || part == of {
        String::new()
    } else {
        format!(" ({})", format::share(100.0 * part as f64 / of as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_beyond_all_edges_are_older() {
        let said = |up_to_ns| age(&Ages { up_to_ns, due: 5, recovered: 3 });
        assert_eq!([said(None), said(Some(NS_PER_S))], ["older: 2 of 5 lost", "≤1.00s old 2 of 5 lost"]);
    }
}
