//! The verdict on delivery, where clients lose their connections and come back: how often does a message
//! come, to those who are away and to those who are here, and in which order?

use std::collections::BTreeMap;
use std::fmt;

use stats::{Counts, Share};

use crate::absences::Ages;
use crate::format::{self, count, counted, duration};
use crate::horizon::Horizon;
use crate::step::Step;

/// Absences of a kind below which nothing is said of it.
const ABSENCES_MIN: u64 = 5;

/// How often each message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryGuarantee {
    /// Never twice, but some did not come.
    AtMostOnce,
    /// Each, and none twice.
    ExactlyOnce,
    /// Each, and some twice.
    AtLeastOnce,
    /// Some did not come, and some came twice.
    Neither,
}

/// The delivery of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    counts: Counts,
    /// Copies lost of those due in absences, by how the connections ended.
    lost: BTreeMap<String, Share>,
    /// Absences that lasted until the end.
    not_back: u64,
    horizon: Option<Horizon>,
}

impl DeliveryGuarantee {
    fn of(lost: u64, twice: u64) -> DeliveryGuarantee {
        match (lost, twice) {
            (0, 0) => DeliveryGuarantee::ExactlyOnce,
            (0, _) => DeliveryGuarantee::AtLeastOnce,
            (_, 0) => DeliveryGuarantee::AtMostOnce,
            (..) => DeliveryGuarantee::Neither,
        }
    }

    /// Returns whether each message came.
    pub fn is_at_least_once(self) -> bool {
        matches!(self, DeliveryGuarantee::ExactlyOnce | DeliveryGuarantee::AtLeastOnce)
    }
}

impl Delivery {
    /// The delivery of all whole steps together: what the user did not wait for is not lost. `None`: nothing
    /// was due to anybody who was away.
    pub fn of(steps: &[Step]) -> Option<Delivery> {
        let (mut counts, mut not_back) = (Counts::default(), 0);
        let (mut lost, mut ages) = (BTreeMap::<_, Share>::new(), BTreeMap::new());
        for step in steps.iter().filter(|step| !step.absences.is_empty() && !step.was_interrupted()) {
            counts.merge(&step.counts);
            for absences in &step.absences {
                not_back += absences.not_back;
                lost.entry(absences.ended_by.clone()).or_default().merge(&absences.recovered().rest());
            }
            for &Ages { up_to_ns, due, recovered } in &step.ages {
                // The row without an end is the last in order.
                let row: &mut Ages = ages.entry(up_to_ns.unwrap_or(u64::MAX)).or_default();
                *row = Ages { up_to_ns, due: row.due + due, recovered: row.recovered + recovered };
            }
        }
        let horizon = Horizon::of(&ages.into_values().collect::<Vec<_>>());
        (counts.offline_due > 0).then_some(Delivery { counts, lost, not_back, horizon })
    }

    /// How often messages came that were due to clients that were away. Nobody can tell which copy of two
    /// came too many.
    pub fn away(&self) -> DeliveryGuarantee {
        DeliveryGuarantee::of(self.counts.lost_offline, self.counts.duplicate)
    }

    /// And to those who were here.
    pub fn here(&self) -> DeliveryGuarantee {
        DeliveryGuarantee::of(self.counts.missing, self.counts.duplicate)
    }

    /// The share lost of the copies due in absences.
    pub fn lost(&self) -> Share {
        self.lost.values().fold(Share::default(), |mut all, way| {
            all.merge(way);
            all
        })
    }

    /// How far back the server's history reaches, where that shows.
    pub fn horizon(&self) -> Option<Horizon> {
        self.horizon
    }

    /// The share that was lost by how the connection ended, if that makes a difference: two of the ways have
    /// intervals that do not overlap.
    fn ways(&self) -> Vec<(&str, f64)> {
        let told = || self.lost.iter().filter(|(_, lost)| lost.units >= ABSENCES_MIN);
        let intervals: Vec<_> = told().filter_map(|(_, lost)| lost.interval()).collect();
        // Intervals that do not overlap differ for certain: ways are told apart for no less.
        let differ = intervals.iter().any(|one| intervals.iter().any(|other| one.high < other.low));
        let shares = told().filter_map(|(way, lost)| Some((way.as_str(), lost.value()?)));
        if differ { shares.collect() } else { Vec::new() }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { offline_due, lost_offline, expected, missing, duplicate, .. } = self.counts;
        let Counts { reordered, nobody_to_send, .. } = self.counts;
        write!(f, "{} while clients are away: ", self.away())?;
        lost(f, lost_offline, offline_due, "what was sent in their absence")?;
        let sample = self.lost();
        write!(f, " (")?;
        // Of all or nothing there is no interval that would say more than that.
        if let Some(interval) = sample.interval().filter(|_| (1..offline_due).contains(&lost_offline)) {
            write!(f, "95% CI {:.1} to {:.1}%, ", 100.0 * interval.low, 100.0 * interval.high)?;
        }
        write!(f, "{}", counted(sample.units, "absence"))?;
        match self.not_back {
            0 => write!(f, ")")?,
            some if some == sample.units => write!(f, ", all until the end)")?,
            some => write!(f, ", {} of them until the end)", count(some))?,
        }
        if let Some(Horizon { kept_ns, lost_ns }) = self.horizon {
            let [kept, lost] = [kept_ns, lost_ns].map(duration);
            write!(
                f,
                ": what was sent up to {kept} before their return came, what was sent more than {lost} before did not"
            )?;
        }
        let ways = self.ways();
        for (at, (way, share)) in ways.iter().enumerate() {
            write!(f, "{} {} ", if at == 0 { "; lost after" } else { "," }, after(way))?;
            percent(f, *share)?;
        }
        write!(f, "; {} while they are here", self.here())?;
        if missing > 0 {
            write!(f, ": ")?;
            lost(f, missing, expected, "what was sent then")?;
        }
        match duplicate {
            0 => {}
            1 => write!(f, "; 1 copy too many")?,
            some => write!(f, "; {} copies too many", count(some))?,
        }
        match reordered {
            0 => write!(f, "; order kept")?,
            some => write!(f, "; {} out of order", count(some))?,
        }
        if nobody_to_send > 0 {
            write!(f, "; no sender was connected for {}", counted(nobody_to_send, "message"))?;
        }
        Ok(())
    }
}

/// How a connection ended, as one says it.
fn after(way: &str) -> &str {
    match way {
        "close" => "a close frame",
        "reset" => "a reset",
        "loss" => "an end that was not throng's doing",
        other => other,
    }
}

/// No share is rounded to none, or to all.
fn percent(f: &mut fmt::Formatter<'_>, share: f64) -> fmt::Result {
    match share {
        0.0 => write!(f, "none"),
        1.0 => write!(f, "all"),
        _ => f.write_str(&format::share(100.0 * share)),
    }
}

/// How much of it never came: no share is rounded to none, or to all.
fn lost(f: &mut fmt::Formatter<'_>, lost: u64, due: u64, what: &str) -> fmt::Result {
    let percent = 100.0 * lost as f64 / due.max(1) as f64;
    match lost {
        0 => write!(f, "all of {what} came after all"),
        _ if lost == due => write!(f, "none of {what} ever came"),
        _ if percent < 0.1 => write!(f, "{} of {} of {what} never came", count(lost), count(due)),
        _ => write!(f, "{} of {what} never came", format::share(percent)),
    }
}

impl fmt::Display for DeliveryGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeliveryGuarantee::AtMostOnce => "at most once",
            DeliveryGuarantee::ExactlyOnce => "exactly once",
            DeliveryGuarantee::AtLeastOnce => "at least once",
            DeliveryGuarantee::Neither => "neither at most nor at least once",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Absences;

    /// Ten absences with this much due and lost of each.
    fn absences(ended_by: &str, due: u64, lost: u64) -> Absences {
        let mut absences = Absences { ended_by: ended_by.into(), ..Absences::default() };
        for absence in 0..10 {
            // Unequal, so that there is something to be unsure of.
            let lost = if lost == 0 || lost == due { lost } else { lost + absence % 2 * 2 - 1 };
            absences.add(true, due, due - lost);
        }
        absences
    }

    fn of(counts: Counts, absences: Vec<Absences>) -> String {
        let step = Step { counts, absences, ..Step::default() };
        Delivery::of(&[step]).map_or("nothing".into(), |delivery| delivery.to_string())
    }

    #[test]
    fn unsent_messages_are_said_at_the_end() {
        let due = Counts { expected: 9, received: 9, offline_due: 10, recovered: 10, ..Counts::default() };
        let said = of(Counts { nobody_to_send: 6_713, ..due }, vec![absences("close", 1, 0)]);
        assert!(said.ends_with("; order kept; no sender was connected for 6,713 messages"), "{said}");
    }

    #[test]
    fn a_run_ends_in_a_sentence() {
        let due = Counts { expected: 9_000, received: 9_000, offline_due: 1_000, ..Counts::default() };
        let some = vec![absences("close", 100, 13)];
        assert_eq!(
            of(Counts { lost_offline: 130, recovered: 870, ..due }, some.clone()),
            "at most once while clients are away: 13.0% of what was sent in their absence never came (95% CI 12.2 to \
             13.8%, 10 absences); exactly once while they are here; order kept"
        );
        assert_eq!(
            of(Counts { recovered: 1_000, ..due }, vec![absences("close", 100, 0)]),
            "exactly once while clients are away: all of what was sent in their absence came after all (10 absences); \
             exactly once while they are here; order kept"
        );
        assert_eq!(
            of(
                Counts { lost_offline: 1_000, received: 8_991, missing: 9, ..due },
                vec![absences("close", 100, 100)]
            ),
            "at most once while clients are away: none of what was sent in their absence ever came (10 absences); at \
             most once while they are here: 0.1% of what was sent then never came; order kept"
        );
        assert_eq!(
            of(
                Counts { recovered: 1_000, duplicate: 7, reordered: 2, ..due },
                vec![absences("close", 100, 0)]
            ),
            "at least once while clients are away: all of what was sent in their absence came after all (10 absences); \
             at least once while they are here; 7 copies too many; 2 out of order"
        );
        let one = Counts { lost_offline: 1, recovered: 999_999, offline_due: 1_000_000, ..due };
        let said = of(one, some);
        assert!(said.contains("away: 1 of 1,000,000 of what was sent in their absence never came"), "{said}");
        assert_eq!(of(Counts { offline_due: 0, ..due }, Vec::new()), "nothing");
    }

    #[test]
    fn absent_clients_may_still_recover() {
        let counts = Counts { offline_due: 1_000, lost_offline: 1_000, ..Counts::default() };
        let mut gone = absences("close", 100, 100);
        for (not_back, said) in [
            (0, "(10 absences);"),
            (4, "(10 absences, 4 of them until the end);"),
            (10, "(10 absences, all until the end);"),
        ] {
            gone.not_back = not_back;
            assert!(of(counts, vec![gone.clone()]).contains(said), "{said}");
        }
    }

    #[test]
    fn interrupted_steps_lose_nothing_while_away() {
        let counts = Counts { offline_due: 1_000, lost_offline: 1_000, ..Counts::default() };
        let step = Step { counts, absences: vec![absences("close", 100, 100)], ..Step::default() };
        let ended = Step { interrupted: Some(crate::Interrupted::Loading), ..step.clone() };
        assert_eq!(Delivery::of(std::slice::from_ref(&ended)), None);
        assert_eq!(Delivery::of(&[step.clone(), ended]), Delivery::of(&[step]));
    }

    #[test]
    fn differing_ends_of_connections_are_told_apart() {
        let counts = Counts { offline_due: 2_000, lost_offline: 1_130, recovered: 870, ..Counts::default() };
        let said = of(counts, vec![absences("close", 100, 13), absences("silence", 100, 100)]);
        assert!(said.contains("; lost after a close frame 13.0%, silence all; "), "{said}");
        let said = of(counts, vec![absences("close", 100, 13), absences("reset", 100, 13)]);
        assert!(!said.contains("lost after"), "{said}");
        let mut few = absences("silence", 100, 100);
        few.count = ABSENCES_MIN - 1;
        let said = of(counts, vec![absences("close", 100, 13), few]);
        assert!(!said.contains("lost after"), "{said}");
    }

    #[test]
    fn a_horizon_is_said() {
        let counts = Counts { offline_due: 200, lost_offline: 100, recovered: 100, ..Counts::default() };
        let row =
            |up_to_s: u64, recovered| Ages { up_to_ns: Some(up_to_s * 1_000_000_000), due: 100, recovered };
        let step = Step {
            counts,
            absences: vec![absences("close", 20, 10)],
            ages: vec![row(1, 100), row(2, 0)],
            ..Step::default()
        };
        let said = Delivery::of(&[step]).unwrap().to_string();
        let horizon = ": what was sent up to 1.00s before their return came, what was sent more than 1.00s before did not; ";
        assert!(said.contains(horizon), "{said}");
    }
}
