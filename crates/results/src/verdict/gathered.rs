//! Caveats of a run: the caveats of its steps, gathered.

use crate::finding::quantity::Extreme;
use crate::finding::{Caveat, Finding, Place, RunCaveat};
use crate::step::Step;

/// The caveats of `steps`, in the order in which they first occur. Those that differ in nothing but their
/// numbers are one: a sweep of thirty steps has not thirty caveats because its latencies differ.
pub(super) fn gathered(steps: &[Step]) -> Vec<RunCaveat> {
    let mut found: Vec<(RunCaveat, Vec<usize>)> = Vec::new();
    let each = |(at, step): (usize, &'_ Step)| {
        step.caveats.iter().map(move |caveat| (at, caveat.clone())).collect::<Vec<_>>()
    };
    for (at, caveat) in steps.iter().enumerate().flat_map(each) {
        match found.iter_mut().find(|(known, _)| known.low.is_alike(&caveat)) {
            Some((known, places)) => {
                known.low = known.low.merged(&caveat, Extreme::Lowest);
                known.high = known.high.merged(&caveat, Extreme::Highest);
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
            None => found.push((caveat.into(), vec![at])),
        }
    }
    let nothing = steps.is_empty().then(|| Caveat::NothingMeasured.into());
    let placed = |(caveat, at): (RunCaveat, Vec<usize>)| RunCaveat { place: place(steps, &at), ..caveat };
    found.into_iter().map(placed).chain(nothing).collect()
}

fn place(steps: &[Step], at: &[usize]) -> Place {
    let clients = at.iter().map(|&at| steps[at].clients);
    match steps.len() {
        1 => Place::Run,
        all if all == at.len() => Place::All,
        _ => Place::Some {
            steps: at.len() as u64,
            clients: (clients.clone().min().unwrap_or(0), clients.max().unwrap_or(0)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::quantity::{Percent, Quantile};

    fn step(clients: u64, caveats: Vec<Caveat>) -> Step {
        Step { clients, caveats, ..Step::default() }
    }

    #[test]
    fn steps_share_what_differs_in_numbers() {
        let late = |percent| Caveat::Others { others: Percent(percent), programs: None };
        let of_few = |samples| Caveat::Samples { quantile: Quantile(0.95), samples, needed: 200 };
        let steps = [
            step(10, vec![late(30.0)]),
            step(10, vec![late(5.1), Caveat::Interrupted]),
            step(20, vec![late(22.3), of_few(20)]),
            step(40, vec![late(6.0), of_few(160)]),
        ];
        let [others, interrupted, samples] = &gathered(&steps)[..] else { panic!() };
        assert_eq!((&others.low, &others.high, &others.place), (&late(5.1), &late(30.0), &Place::All));
        assert!(others.to_string().contains("5.1 to 30%"), "{others}");
        assert_eq!(interrupted.place, Place::Some { steps: 1, clients: (10, 10) });
        assert_eq!((&samples.low, &samples.high), (&of_few(20), &of_few(160)));
        assert_eq!(samples.place, Place::Some { steps: 2, clients: (20, 40) });
    }

    #[test]
    fn one_step_needs_no_place() {
        assert_eq!(gathered(&[step(10, vec![Caveat::Interrupted])]), [Caveat::Interrupted.into()]);
        assert_eq!(gathered(&[]), [Caveat::NothingMeasured.into()]);
    }
}
