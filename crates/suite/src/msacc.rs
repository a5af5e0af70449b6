//! The work of an Erlang virtual machine's threads: its own microstate accounting (`msacc`), as `msacc:print/0` shows
//! it, from the counters that a target exposes under the names of prometheus.erl.

use std::collections::{BTreeMap, BTreeSet};

use results::{Run, Second};

use crate::table::Table;

/// Counters are named `erlang_vm_msacc_STATE_seconds_total{type="TYPE",id="N"}`.
const PREFIX: &str = "erlang_vm_msacc_";
const SUFFIX: &str = "_seconds_total";

/// Seconds in each state, by the type of the thread.
type States = BTreeMap<String, BTreeMap<String, f64>>;

/// The share of each state in the time of each type of thread, over the last step of the run; `None` if the target does
/// not tell. Types that slept all the time are left out.
pub(crate) fn table(run: &Run) -> Option<Table> {
    let series = &run.steps.last()?.series;
    let (first, last) =
        (series.iter().find(|second| tells(second))?, series.iter().rev().find(|second| tells(second))?);
    // The counters count from the start of the virtual machine: the step is the difference.
    let (before, after) = (states(first), states(last));
    let names: BTreeSet<&String> = after.values().flat_map(BTreeMap::keys).collect();
    let mut head = vec!["threads"];
    head.extend(names.iter().map(|name| name.as_str()));
    let mut table = Table::new(&head, 1..head.len());
    let mut is_empty = true;
    for (kind, of_kind) in &after {
        let earlier = before.get(kind);
        let spent = |name: &String| {
            let earlier = earlier.and_then(|states| states.get(name)).copied().unwrap_or(0.0);
            of_kind.get(name).map_or(0.0, |now| now - earlier)
        };
        let all: f64 = names.iter().map(|name| spent(name)).sum();
        let asleep: f64 =
            names.iter().filter(|name| *name.as_str() == *"sleep").map(|name| spent(name)).sum();
        // Counters that did not move belong to threads that are there for other loads.
        if all <= 0.0 || asleep >= all {
            continue;
        }
        let shares = names.iter().map(|name| format!("{:.2}%", 100.0 * spent(name) / all));
        table.row([kind.clone()].into_iter().chain(shares).collect());
        is_empty = false;
    }
    (!is_empty).then_some(table)
}

fn tells(second: &Second) -> bool {
    second.metrics.keys().any(|name| name.starts_with(PREFIX))
}

fn states(second: &Second) -> States {
    let mut states = States::new();
    for (name, seconds) in &second.metrics {
        if let Some((state, kind)) = state_and_type(name) {
            *states.entry(kind.to_owned()).or_default().entry(state.to_owned()).or_default() += seconds;
        }
    }
    states
}

fn state_and_type(name: &str) -> Option<(&str, &str)> {
    let (state, labels) = name.strip_prefix(PREFIX)?.split_once(SUFFIX)?;
    let (_, rest) = labels.split_once("type=\"")?;
    Some((state, rest.split_once('"')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(of: &[(&str, &str, f64)]) -> Second {
        let name =
            |state: &str, thread: &str| format!("{PREFIX}{state}{SUFFIX}{{type=\"{thread}\",id=\"1\"}}");
        let metrics = of.iter().map(|(state, thread, seconds)| (name(state, thread), *seconds)).collect();
        Second { metrics, ..Second::default() }
    }

    #[test]
    fn shares_are_of_the_measured_time() {
        let before = [("emulator", "scheduler", 1.0), ("sleep", "scheduler", 5.0), ("sleep", "aux", 1.0)];
        let after = [("emulator", "scheduler", 4.0), ("sleep", "scheduler", 6.0), ("sleep", "aux", 9.0)];
        let step = results::Step {
            series: vec![Second::default(), second(&before), second(&after)],
            ..results::Step::default()
        };
        let run = Run { steps: vec![step], ..Run::default() };
        assert_eq!(table(&run).unwrap().text(), "threads    emulator   sleep\nscheduler    75.00%  25.00%\n");
        assert!(table(&Run::default()).is_none());
    }
}
