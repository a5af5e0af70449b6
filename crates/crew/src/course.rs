//! The next level of load, given how the last one went.

use load::{Load, LoadRule, Schedule, StepOrder};
use stats::Capacity;
use stats::capacity::{Ask, Search, SearchConfig};

use crate::sweep::Sweep;

/// A sequence of steps.
#[derive(Clone, Debug)]
pub struct Course {
    rule: LoadRule,
    index: u16,
    warmup: Option<Warmup>,
    path: Path,
}

/// A step before the first, measured but not part of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmup {
    /// Its clients.
    pub clients: u32,
    /// Its load.
    pub rule: LoadRule,
}

#[derive(Clone, Debug)]
enum Path {
    Walk { next: u32, by: u32, left: Option<u32> },
    Search(Box<Search>),
    Sweep { sweep: Sweep, duration_ns: u64 },
    Over,
}

impl Course {
    /// One step.
    pub fn single(clients: u32, rule: LoadRule) -> Self {
        Self::walk(clients, 0, Some(1), rule)
    }

    /// Starts at `first` clients, `by` more each step, until a step fails or `steps` have been taken.
    pub fn walk(first: u32, by: u32, steps: Option<u32>, rule: LoadRule) -> Self {
        let path = Path::Walk { next: first, by, left: steps };
        Self { rule, index: 0, warmup: None, path }
    }

    /// Gallop, bisect, repeat near the limit (METHODOLOGY "Capacity").
    pub fn search(config: SearchConfig, rule: LoadRule) -> Self {
        Self { rule, index: 0, warmup: None, path: Path::Search(Box::new(Search::new(config))) }
    }

    /// Clients × rates, each for `duration_ns`.
    pub fn sweep(sweep: Sweep, duration_ns: u64) -> Self {
        let rule = LoadRule::Same(Load::Hold { duration_ns });
        Self { rule, index: 0, warmup: None, path: Path::Sweep { sweep, duration_ns } }
    }

    /// Sets the warm-up.
    pub fn with_warmup(self, warmup: Option<Warmup>) -> Self {
        Self { warmup, ..self }
    }

    /// The next step, if there is one.
    pub fn poll(&mut self) -> Option<StepOrder> {
        let index = self.index;
        if let Some(Warmup { clients, rule }) = self.warmup {
            return Some(StepOrder { index, clients, load: rule.for_clients(clients), warmup: true });
        }
        let (clients, load) = match &self.path {
            Path::Walk { left: Some(0), .. } | Path::Over => return None,
            Path::Walk { next, .. } => (*next, self.rule.for_clients(*next)),
            Path::Search(search) => match search.next() {
                Ask::Measure(clients) => {
                    let clients = u32::try_from(clients).ok()?;
                    (clients, self.rule.for_clients(clients))
                }
                Ask::Done(_) => return None,
            },
            Path::Sweep { sweep, duration_ns } => {
                let (clients, rate_per_s) = sweep.poll()?;
                (clients, Load::Open { schedule: Schedule::constant(rate_per_s), duration_ns: *duration_ns })
            }
        };
        Some(StepOrder { index, clients, load, warmup: false })
    }

    /// Takes the result of a step; `passed`: it was within its limits.
    pub fn handle(&mut self, order: &StepOrder, passed: bool) {
        self.index += 1;
        // Whether a warm-up holds its limits is of no interest: it is there to fill caches.
        if self.warmup.take().is_some() {
            return;
        }
        match &mut self.path {
            // More clients would break the limit as well, and take time.
            Path::Walk { .. } if !passed => self.path = Path::Over,
            Path::Walk { next, by, left } => {
                *next = next.saturating_add(*by);
                *left = left.map(|left| left - 1);
            }
            Path::Search(search) => search.handle(order.clients.into(), passed),
            Path::Sweep { sweep, .. } => sweep.handle(passed),
            Path::Over => {}
        }
    }

    /// Takes earlier steps, each with its clients and whether it passed, in place of the steps that this
    /// course would measure. A warm-up is still to come.
    ///
    /// # Errors
    /// The number, from 0, of the first step that this course would not have asked for.
    pub fn replay(&mut self, steps: impl IntoIterator<Item = (u64, bool)>) -> Result<(), usize> {
        // Out of the way while earlier steps are taken in: `poll` would give it before each of them.
        let warmup = self.warmup.take();
        let mut steps = steps.into_iter().enumerate();
        let outcome = steps.try_for_each(|(number, (clients, passed))| {
            let order = self.poll().filter(|order| u64::from(order.clients) == clients).ok_or(number)?;
            self.handle(&order, passed);
            Ok(())
        });
        self.warmup = warmup;
        outcome
    }

    /// The clients of the first step, if that is still to come. A warm-up does not count as a step.
    pub fn first_clients(&self) -> Option<u32> {
        let mut course = self.clone().with_warmup(None);
        course.poll().filter(|order| order.index == 0).map(|order| order.clients)
    }

    /// The highest rate that the steps ask for, where all are known beforehand and follow a schedule.
    pub fn asked_per_s_max(&self) -> Option<f64> {
        let Path::Walk { next, by, left: Some(left) } = self.path else { return None };
        let asked = |clients: u32| match self.rule.for_clients(clients) {
            Load::Open { schedule, duration_ns } => Some(schedule.mean_per_s(duration_ns)),
            _ => None,
        };
        // A walk goes in one direction, so its first or its last step has the highest rate.
        let last = next.saturating_add(by.saturating_mul(left.saturating_sub(1)));
        asked(next).zip(asked(last)).map(|(first, last)| first.max(last))
    }

    /// How many steps are still to come at the most, where that is known beforehand.
    pub fn left(&self) -> Option<u32> {
        match self.path {
            Path::Walk { left, .. } => left,
            Path::Search(_) | Path::Sweep { .. } | Path::Over => None,
        }
    }

    /// Returns whether the number of clients goes up until a step fails.
    pub fn is_open_ended(&self) -> bool {
        matches!(self.path, Path::Walk { left: None, .. })
    }

    /// Returns whether it looks for the capacity.
    pub fn is_search(&self) -> bool {
        matches!(self.path, Path::Search(_))
    }

    /// The result of a search.
    pub fn capacity(&self) -> Option<Capacity> {
        match &self.path {
            Path::Search(search) => match search.next() {
                Ask::Done(capacity) => Some(capacity),
                Ask::Measure(_) => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: LoadRule = LoadRule::EachClient { interval_ns: 1_000_000_000, duration_ns: 1_000_000_000 };

    fn run(mut course: Course, passes: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut clients = Vec::new();
        while let Some(order) = course.poll() {
            assert_eq!(usize::from(order.index), clients.len());
            clients.push(order.clients);
            course.handle(&order, passes(order.clients));
        }
        clients
    }

    #[test]
    fn a_walk_shows_the_step_that_breaks() {
        assert_eq!(run(Course::walk(1000, 500, None, RULE), |n| n < 2000), [1000, 1500, 2000]);
    }

    #[test]
    fn n_steps_are_n_steps() {
        assert_eq!(run(Course::walk(10, 10, Some(2), RULE), |_| true), [10, 20]);
    }

    #[test]
    fn a_failed_warmup_does_not_end_the_course() {
        let warmup = Some(Warmup { clients: 1, rule: RULE });
        assert_eq!(run(Course::single(10, RULE).with_warmup(warmup), |_| false), [1, 10]);
    }

    #[test]
    fn courses_go_on_after_finished_steps() {
        let warmup = Some(Warmup { clients: 1, rule: RULE });
        let walk = || Course::walk(10, 10, Some(4), RULE).with_warmup(warmup);
        let mut course = walk();
        assert_eq!(course.first_clients(), Some(10), "not the warm-up's");
        assert_eq!(course.replay([(10, true), (20, true)]), Ok(()));
        assert_eq!(course.first_clients(), None, "it has had its first step");
        let clients: Vec<u32> = std::iter::from_fn(|| {
            let order = course.poll()?;
            course.handle(&order, true);
            Some(order.clients)
        })
        .collect();
        assert_eq!(clients, [1, 30, 40], "the warm-up again, then the rest");
        assert_eq!(walk().replay([(10, true), (15, true)]), Err(1));
        assert_eq!(walk().replay([(10, false), (20, true)]), Err(1), "a walk ends with the step that fails");
    }

    #[test]
    fn a_search_brackets_the_limit() {
        let config =
            SearchConfig { start: 100, step: 100, max: 10_000, unit: 1, tolerance: 0.05, repeats: 1 };
        let mut course = Course::search(config, RULE);
        while let Some(order) = course.poll() {
            course.handle(&order, order.clients <= 1_234);
        }
        let capacity = course.capacity().expect("found");
        assert!((1_150..=1_300).contains(&capacity.clients), "{capacity:?}");
    }
}
