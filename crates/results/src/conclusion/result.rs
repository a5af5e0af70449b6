//! The end of a run in two sentences, which are what people forward: RESULT, and WHY.

use super::Conclusion;
use super::claim::{Status, named};
use super::held::{BEYOND, RATES_AT_LEAST};
use crate::judgement::{Bottleneck, Found};

impl Conclusion {
    /// The status of the load that was asked for.
    pub fn status(&self) -> Status {
        match (self.how_much.status, self.breaks.status) {
            // Nothing is known of any load.
            (Status::Unclear, _) => Status::Unclear,
            (Status::Failed, _) => Status::Failed,
            // A search and a sweep break limits on purpose, and what they found is what passed.
            (Status::Passed, _) if self.outcome == super::Outcome::Held => Status::Passed,
            (Status::Passed, above) => above,
        }
    }

    /// `FAILED at 1,000 clients: 110 of 1,000 clients could not connect`. A capacity is claimed where it was found, or
    /// as "at least" where everything passed.
    pub fn result(&self) -> String {
        let Conclusion { how_much, breaks, .. } = self;
        let status = self.status();
        let said = match (how_much.status, status) {
            (Status::Passed, Status::Passed) => self.passed(),
            // The failure first: whoever reads no further must not take it for a pass.
            (Status::Passed, _) => format!("{}; passed{}", breaks.at_load(), how_much.at_load()),
            // Nothing was measured at all.
            _ if how_much.at_load().is_empty() => format!(": {}", how_much.answer),
            _ => how_much.at_load(),
        };
        format!("{}{said}", status.word())
    }

    /// The beginning of the result that stands for it where there is room for a few words: `PASSED at 300 clients`.
    pub fn headline(&self) -> String {
        let leads = match (self.how_much.status, self.status()) {
            (Status::Passed, Status::Failed | Status::Unclear) => &self.breaks,
            _ => &self.how_much,
        };
        let at = leads.load.as_ref().map(|load| format!(" at {load}")).unwrap_or_default();
        format!("{}{at}", self.status().word())
    }

    fn passed(&self) -> String {
        let Conclusion { how_much, breaks, noticed, .. } = self;
        let noticed = noticed.as_ref().map(|noticed| format!("; but {noticed}")).unwrap_or_default();
        let held = how_much.at_load() + &noticed;
        match (breaks.status, &breaks.load) {
            // Its facts have the capacity already.
            (Status::Passed, Some(_)) if how_much.key == RATES_AT_LEAST => held + " (highest rate tried)",
            (Status::Passed, Some(load)) => format!("{held}. Capacity: at least {load} (highest load tried)"),
            (Status::Passed, None) => held,
            (Status::Failed, _) => format!("{held}; failed{}", breaks.at_load()),
            // Its facts say already what is beyond.
            (Status::Unclear, _) if how_much.facts.iter().any(|fact| fact.starts_with(BEYOND)) => held,
            (Status::Unclear, Some(load)) => format!("{held}; unclear at {load}"),
            (Status::Unclear, None) => format!("{held}; {}", breaks.answer),
        }
    }

    /// The cause that held the load back: `server: its CPU was at 99% of 2 cores`. `None` where nothing is known of it.
    pub fn why(&self) -> Option<String> {
        let found = self.cause()?;
        match found.bottleneck {
            Bottleneck::Unknown => Some(format!("unknown: {}", found.cause)),
            _ => Some(named(found)),
        }
    }

    /// The cause that [`Conclusion::why`] puts into words.
    pub fn cause(&self) -> Option<&Found> {
        self.breaks.cause.as_ref().or(self.how_much.cause.as_ref())
    }
}
