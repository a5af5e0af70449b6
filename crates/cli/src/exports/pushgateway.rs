//! `--pushgateway`: the page of `--metrics`, put each second into a Pushgateway, which keeps the last one
//! when the run has ended.

use results::Run;

use super::measures::Measures;
use super::prometheus;
use super::push::{Moment, Way};

/// A group of its own for each run, whose metrics each push replaces.
pub(crate) fn way(run: &Run) -> Way {
    Way {
        flag: "--pushgateway",
        example: "http://127.0.0.1:9091",
        method: "PUT",
        port: 9091,
        path: format!("/metrics/job/throng/run/{}", run.id),
        fields: &[("Content-Type", prometheus::KIND)],
        body,
    }
}

fn body(measures: &Measures, _: Moment) -> Vec<u8> {
    prometheus::page(measures).into_bytes()
}
