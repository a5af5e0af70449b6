//! Caveats at the end of a report, beside WHY.

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
    Step { bottleneck: Some(Found { bottleneck: Bottleneck::Machine, cause }), marks: vec![caveat], ..step() }
}

#[test]
fn what_why_says_is_no_caveat_again() {
    let told =
        |steps: Vec<Step>| caveats(&Run { verdict: verdict::conclude(&steps), steps, ..Run::default() });
    assert_eq!(told(vec![contended(30 * MS)]), ["latencies are upper bounds, by as much as WHY says"]);
    let ranges = told(vec![contended(30 * MS), contended(35 * MS)]);
    assert!(ranges[0].starts_with("up to 35.0ms of the 40.0ms round trip p95"), "{ranges:?}");
}
