//! Copies due to clients while they were away, and what became of it.
//!
//! A worker reports what came in each absence; what was due then follows from all messages to the client's
//! room. So each absence has an account of its own, and all of them together are `offline_due`.

use std::collections::BTreeMap;

use engine::{AGES_NS, Absence, Settled, age_class};
use load::Cut;
use results::{Absences, Ages};

use super::said::Said;
use crate::ending::Ending;

/// The accounts of all absences of a step.
#[derive(Debug, Default)]
pub(crate) struct Away {
    /// Copies due.
    pub(crate) due: u64,
    /// Copies sent to clients while they were away, by kind of messages, those received included.
    pub(crate) of_says: Vec<u64>,
    /// Absences by how the connection ended, and by how long its client was away.
    pub(crate) absences: Vec<Absences>,
    /// Copies by how long ago the message had been sent when its receiver was back.
    pub(crate) ages: Vec<Ages>,
}

impl Away {
    /// Adds up the books. Where the step was cut short, an absence that lasted until the end was broken off,
    /// and has no account; of what was due in it, nothing is lost.
    pub(super) fn of(said: &Said, books: &[Settled], ending: Ending) -> Self {
        let mut away = Self { of_says: vec![0; said.kinds()], ..Self::default() };
        let mut rows: BTreeMap<(Option<Cut>, usize), Absences> = BTreeMap::new();
        let mut ages: Vec<Ages> =
            (0..=AGES_NS.len()).map(|class| Ages { up_to_ns: limit(class), ..Ages::default() }).collect();
        for absence in books.iter().flat_map(|settled| &settled.absences) {
            let &Absence { client, from_ns, cut_ns, to_ns, cut, had, recovered, is_under_load } = absence;
            let is_back = to_ns != u64::MAX;
            if ending == Ending::CutShort && !is_back {
                for (id, _) in said.to(client, from_ns, to_ns).take(had as usize) {
                    away.of_says[said.kind_of(id)] += 1;
                }
                continue;
            }
            let mut due = 0;
            // One connection keeps order: the first `had` of them are those that came before it ended.
            for (place, (id, sent_ns)) in (0..).zip(said.to(client, from_ns, to_ns)) {
                away.of_says[said.kind_of(id)] += 1;
                if place < had {
                    continue;
                }
                due += 1;
                ages[age_class(to_ns - sent_ns)].due += u64::from(is_under_load);
            }
            // An agent that was lost cannot tell what it sent.
            let (due, recovered) = (u64::max(due, recovered.into()), u64::from(recovered));
            away.due += due;
            rows.entry((cut, age_class(to_ns - cut_ns))).or_default().add(is_back, due, recovered);
        }
        for recovered in books.iter().map(|settled| &settled.recovered_by_age) {
            for (age, recovered) in ages.iter_mut().zip(recovered) {
                age.recovered += recovered;
            }
        }
        away.ages = ages.into_iter().filter(|age| age.due + age.recovered > 0).collect();
        let row = |((cut, class), row): ((Option<Cut>, usize), Absences)| Absences {
            ended_by: cut.map_or("loss", Cut::name).into(),
            up_to_ns: limit(class),
            ..row
        };
        away.absences = rows.into_iter().map(row).collect();
        away
    }
}

/// The longest time of a class; `None` for the last.
fn limit(class: usize) -> Option<u64> {
    AGES_NS.get(class).copied()
}
