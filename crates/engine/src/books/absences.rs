//! Absences, and copies due in them: of the clients of a step that lose their connections and come back.
//!
//! Rules. A copy is due to a client *here* or *away*, and never both, by when its message was sent. Away
//! begins with what a connection may have left under way when it ended: the latest message that came over it
//! stood [`OVERTAKE_NS`] behind what was sent before; what is older and has not come is missing, and nothing
//! to do with the end. Away ends when the client is usable again. A worker tells only what it knows of each
//! absence: from when to when, what had come of it before the end, and what came later. What was due the crew
//! finds out.

use load::Cut;

use crate::books::record::Record;
use crate::messages::{Absence, age_class};

/// Time by which messages of several senders may overtake each other on their way through a server.
pub(crate) const OVERTAKE_NS: u64 = 1_000_000_000;

/// The period that a message's copy belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It was due while its client was here.
    Here,
    /// While it was away, this time.
    Away(u32),
    /// It was sent before its client was first here.
    Never,
}

/// The absences of a step at one worker.
#[derive(Debug, Default)]
pub(crate) struct Absences {
    all: Vec<Known>,
    /// Recovered copies of clients that were back under load, by how long before their return the messages
    /// were sent.
    ages: Vec<u64>,
    /// Nothing more is sent.
    is_load_over: bool,
}

#[derive(Debug)]
struct Known {
    absence: Absence,
    /// When the connection before it was usable.
    since_ns: u64,
    /// The client's absence before, numbered as in [`Record::absence`].
    before: u32,
}

impl Absences {
    /// The start of an absence that begins with the end of a client's present connection.
    pub(crate) fn from_ns(record: &Record) -> u64 {
        // Not before the connection was usable: what was sent earlier belongs to the absence before this one,
        // or was never due.
        record.latest_ns.saturating_sub(OVERTAKE_NS).max(record.since_ns)
    }

    /// Begins the absence of a client (by its number in the run) whose connection has ended: it is away since
    /// [`from_ns`](Absences::from_ns), and had `had` of the copies since then.
    pub(crate) fn begin(
        &mut self,
        client: u32,
        record: &mut Record,
        cut: Option<Cut>,
        had: u32,
        now_ns: u64,
    ) {
        let from_ns = Self::from_ns(record);
        let absence = Absence {
            client,
            from_ns,
            cut_ns: now_ns,
            to_ns: u64::MAX,
            cut,
            had,
            recovered: 0,
            is_under_load: false,
        };
        self.all.push(Known { absence, since_ns: record.since_ns, before: record.absence });
        record.absence = self.all.len() as u32;
        record.is_away = true;
    }

    /// Ends the absence of a client that is usable, if it was away.
    pub(crate) fn end(&mut self, record: &mut Record, now_ns: u64) {
        // Every client comes here when it is usable, also one that connects for the first time and was never
        // away.
        if std::mem::take(&mut record.is_away) {
            let is_under_load = !self.is_load_over;
            let absence = &mut self.known_mut(record.absence).absence;
            (absence.to_ns, absence.is_under_load) = (now_ns, is_under_load);
        }
    }

    /// The period that a copy sent at `sent_ns` belongs to, at a client that was away before.
    pub(crate) fn due(&self, record: &Record, sent_ns: u64) -> Due {
        // From the latest absence back: nearly every copy is of the last few seconds, so the first or second
        // decides.
        let mut at = record.absence;
        while let Some(known) = at.checked_sub(1).and_then(|place| self.all.get(place as usize)) {
            let Known { absence, since_ns, before } = known;
            match sent_ns {
                _ if sent_ns >= absence.to_ns => return Due::Here,
                _ if sent_ns >= absence.from_ns => return Due::Away(at),
                _ if sent_ns >= *since_ns => return Due::Here,
                _ => at = *before,
            }
        }
        Due::Never
    }

    /// Books a copy that was due in this absence and has come. Returns when the absence ended: now, if it
    /// lasts.
    pub(crate) fn recover(&mut self, absence: u32, sent_ns: u64, now_ns: u64) -> u64 {
        let is_load_over = self.is_load_over;
        let known = self.known_mut(absence);
        known.absence.recovered += 1;
        // What is sent again may come in the moment before the client is usable.
        let back_ns = known.absence.to_ns.min(now_ns);
        if !is_load_over || known.absence.is_under_load {
            // The age at the moment of return says how far back the server's history reaches; a copy that is
            // replayed slowly afterwards does not get older by that.
            let class = age_class(back_ns.saturating_sub(sent_ns));
            self.ages.resize(self.ages.len().max(class + 1), 0);
            self.ages[class] += 1;
        }
        back_ns
    }

    /// Notes that the last message of the step is sent.
    pub(crate) fn load_is_over(&mut self) {
        self.is_load_over = true;
    }

    /// How many clients are away.
    pub(crate) fn open(&self) -> u64 {
        self.all.iter().filter(|known| known.absence.to_ns == u64::MAX).count() as u64
    }

    /// All absences, and the recovered copies by age.
    pub(crate) fn finish(&mut self) -> (Vec<Absence>, Vec<u64>) {
        let all = std::mem::take(&mut self.all);
        (all.into_iter().map(|known| known.absence).collect(), std::mem::take(&mut self.ages))
    }

    fn known_mut(&mut self, absence: u32) -> &mut Known {
        &mut self.all[absence as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Here from 10 s, away from 20 s to 25 s, here to 30 s, and away since.
    fn twice_away() -> (Absences, Record) {
        let mut absences = Absences::default();
        let mut record = Record { since_ns: 10 * S, latest_ns: 21 * S, ..Record::default() };
        absences.begin(3, &mut record, Some(Cut::Reset), 2, 22 * S);
        absences.end(&mut record, 25 * S);
        (record.since_ns, record.latest_ns) = (25 * S, 0);
        absences.begin(3, &mut record, None, 0, 30 * S);
        (absences, record)
    }

    #[test]
    fn copies_are_due_here_or_away() {
        let (absences, record) = twice_away();
        for (sent_s, due) in [
            (9, Due::Never),
            (10, Due::Here),
            (19, Due::Here),
            (20, Due::Away(1)),
            (24, Due::Away(1)),
            (25, Due::Away(2)),
            (99, Due::Away(2)),
        ] {
            assert_eq!(absences.due(&record, sent_s * S), due, "{sent_s} s: nothing came over the second");
        }
        assert_eq!(absences.due(&Record::default(), 99 * S), Due::Never, "who was never away");
    }

    #[test]
    fn each_absence_knows_what_came_of_it() {
        let (mut absences, mut record) = twice_away();
        assert_eq!(absences.open(), 1);
        absences.end(&mut record, 40 * S);
        assert_eq!((absences.open(), absences.due(&record, 41 * S)), (0, Due::Here));
        assert_eq!(absences.recover(2, 38 * S + 1, 41 * S), 40 * S);
        assert_eq!(absences.recover(1, 20 * S + 1, 41 * S), 25 * S, "its own end, not the latest return");
        absences.recover(1, 21 * S + 1, 41 * S);
        absences.load_is_over();
        absences.begin(3, &mut record, None, 0, 50 * S);
        absences.end(&mut record, 60 * S);
        absences.recover(3, 55 * S, 61 * S);
        let (all, ages) = absences.finish();
        let of = |absence: &Absence| (absence.from_ns, absence.cut_ns, absence.to_ns, absence.recovered);
        assert_eq!(
            all.iter().map(of).collect::<Vec<_>>(),
            [
                (20 * S, 22 * S, 25 * S, 2),
                (25 * S, 30 * S, 40 * S, 1),
                (Absences::from_ns(&record), 50 * S, 60 * S, 1)
            ]
        );
        assert_eq!(all.iter().map(|absence| absence.is_under_load).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!((all[0].cut, all[0].had, all[1].cut), (Some(Cut::Reset), 2, None));
        assert_eq!(ages, [0, 0, 0, 0, 0, 0, 0, 1, 0, 2], "up to two seconds, and up to five");
    }
}
