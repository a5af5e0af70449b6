//! The cost of the workers' threads: of the load alone, until its window ends.
//!
//! The end of a closed loop's window is known only in hindsight: with the last arrival. So what comes behind
//! it waits, and counts after all when there is another arrival.

use std::collections::HashMap;

use engine::Usage;
use results::{GeneratorUse, Second};
use stats::Histogram;

const PERCENT: f64 = 100.0;

/// The cost of each worker's thread.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    of_window: HashMap<u16, Usage>,
    behind: HashMap<u16, Usage>,
}

impl Costs {
    /// Adds an interval of a worker. `is_within`: the window was not over when it began, and so all before it
    /// is within.
    pub(crate) fn add(&mut self, worker: u16, usage: &Usage, is_within: bool) {
        // First behind, whatever it is: `is_within` then takes over all that has waited, of every worker.
        self.behind.entry(worker).or_default().merge(usage);
        if is_within {
            for (worker, usage) in self.behind.drain() {
                self.of_window.entry(worker).or_default().merge(&usage);
            }
        }
    }

    /// The share of the load's time in which at least one message of any worker was without an answer: 0 to
    /// 1. Workers send independently of each other. `None` if nothing was measured.
    pub(crate) fn outstanding_share(&self) -> Option<f64> {
        let worked = self.of_window.values().filter(|usage| usage.wall_ns > 0);
        let none_of = |usage: &Usage| 1.0 - (usage.outstanding_ns as f64 / usage.wall_ns as f64).min(1.0);
        worked.map(none_of).reduce(|a, b| a * b).map(|none| 1.0 - none)
    }

    /// Sums up what the generator used; `seconds` are the seconds of the load.
    pub(crate) fn generator_use(&self, seconds: &[Second], loop_lag: Histogram) -> GeneratorUse {
        let share =
            |used_ns: u64, wall_ns: u64| (wall_ns > 0).then(|| PERCENT * used_ns as f64 / wall_ns as f64);
        let of_workers = || self.of_window.values().filter_map(|u| share(u.cpu_ns, u.wall_ns));
        let waiting = || self.of_window.values().filter_map(|u| share(u.run_queue_ns, u.wall_ns));
        let mean = of_workers().reduce(|a, b| a + b);
        // With the mean, so that a load shorter than a row has a peak, too.
        let peak = seconds.iter().filter_map(|s| s.generator_cpu_percent).chain(mean).reduce(f64::max);
        GeneratorUse {
            cpu_percent_mean: mean,
            cpu_percent_peak: peak,
            worker_cpu_percent_max: of_workers().reduce(f64::max),
            waiting_percent: mean_of(waiting()),
            worker_waiting_percent_max: waiting().reduce(f64::max),
            loop_lag,
            ..GeneratorUse::default()
        }
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_wait_stands_beside_the_mean() {
        let mut costs = Costs::default();
        for (worker, run_queue_ns) in [(0, 100), (1, 700)] {
            costs.add(worker, &Usage { wall_ns: 1_000, cpu_ns: 50, run_queue_ns, outstanding_ns: 500 }, true);
        }
        let used = costs.generator_use(&[], Histogram::default());
        assert_eq!((used.waiting_percent, used.worker_waiting_percent_max), (Some(40.0), Some(70.0)));
        assert_eq!((costs.outstanding_share(), Costs::default().outstanding_share()), (Some(0.75), None));
        let nothing = Costs::default().generator_use(&[], Histogram::default());
        assert_eq!((nothing.waiting_percent, nothing.worker_waiting_percent_max), (None, None));
    }
}
