//! Caveats at the end of a report, beside WHY.

use super::super::caveats::UPPER_BOUNDS;
use super::*;
use crate::finding::Caveat;
use crate::finding::quantity::{Ns, Quantile};

/// A step with a round trip of 40 ms, of which so much is CPU contention, and its cause.
fn contended(lag_ns: u64) -> Step {
    let (latency, metric, quantile) = (Ns(40 * MS), "rtt".to_owned(), Quantile(0.95));
    let cause = Cause::MachineLate {
        stolen: None,
        programs: None,
        lag: Ns(lag_ns),
        latency,
        metric: metric.clone(),
        quantile,
    };
    let caveat =
        Caveat::Contention { latency, metric, quantile, lag: Ns(lag_ns), stolen: None, programs: None };
    Step {
        bottleneck: Some(Found { bottleneck: Bottleneck::Machine, cause }),
        caveats: vec![caveat],
        ..step()
    }
}

#[test]
fn caveats_do_not_repeat_the_cause() {
    let told = |steps: Vec<Step>| {
        let verdict = verdict::conclude(Scenario::Echo, &steps);
        let run = Run { verdict, steps, ..Run::default() };
        conclude(&run).caveats(&run)
    };
    assert_eq!(told(vec![contended(30 * MS)]), [UPPER_BOUNDS]);

    let (idle, others, programs) = (Percent(1.0), Percent(53.0), None);
    let crowded = Step {
        bottleneck: Some(Found {
            bottleneck: Bottleneck::Machine,
            cause: Cause::MachineFull { idle, others: Some(others), programs: None },
        }),
        caveats: vec![Caveat::LimitedByMachine, Caveat::Others { others, programs }],
        ..step()
    };
    assert_eq!(told(vec![crowded]), [Caveat::LimitedByMachine.to_string()], "WHY names the programs");

    let ranges = told(vec![contended(30 * MS), contended(35 * MS)]);
    assert!(ranges[0].starts_with("up to 35.0ms of the 40.0ms round trip p95"), "{ranges:?}");
}
