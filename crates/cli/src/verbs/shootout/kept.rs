//! A shootout as it is kept: its suite, its results as JSON, and what goes wrong with them.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::json;
use suite::record::Head;
use suite::section::Section;
use suite::standing::Control;
use suite::{Record, Suite};

use super::{chosen, flags};
use crate::exit::Failure;

pub(super) fn read_suite(path: &Path, text: &str, scale: f64) -> Result<Suite, Failure> {
    let mut suite =
        Suite::parse(path, text, scale, &flags::check).map_err(|mistake| Failure::mistake(&mistake))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    for scenario in &mut suite.scenarios {
        flags::find_files(&mut scenario.flags, folder);
    }
    Ok(suite)
}

/// The path from here, where it is below: it is kept, and results are shared.
pub(super) fn from_here(path: &Path) -> PathBuf {
    let here = env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let below = path.strip_prefix(&here).ok().filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(path).to_owned()
}

/// The suite of a shootout, as far as it could be had of servers where they ran.
pub(super) fn kept_suite(head: &Head) -> Result<Suite, Failure> {
    let mut suite = read_suite(&suite_path(head), &head.text, head.scale)?;
    if head.target_agent.is_some() {
        chosen::leave_out_local(&mut suite);
    }
    chosen::keep_only(&mut suite, &head.only)?;
    Ok(suite)
}

/// The path of a shootout's suite.
fn suite_path(head: &Head) -> PathBuf {
    head.suites_folder.join(format!("{}.toml", head.suite))
}

pub(super) fn as_json(record: &Record, sections: &[Section]) -> serde_json::Value {
    let sections = sections.iter().map(|section| {
        let standings = section.standings.iter().zip(&section.remarks).map(|(standing, remarks)| {
            // The open end of a bound is infinite, which is null in JSON.
            let reach = standing.reach;
            json!({
                "target": standing.target,
                "place": standing.place.map(|place| place.best),
                "place_worst": standing.place.map(|place| place.worst),
                "mean": standing.mean,
                "is_bound": standing.is_bound,
                "low": reach.map(|reach| reach.low),
                "high": reach.map(|reach| reach.high),
                "share": standing.share,
                "is_share_bound": standing.is_share_bound,
                "remarks": remarks,
            })
        });
        json!({
            "scenario": section.name,
            "figure": section.figure.name,
            "unit": section.figure.unit().name(),
            "more_is_better": section.figure.more_is_better(),
            "answer": section.outcome.answer(),
            "outcome": section.outcome.to_string(),
            "standings": standings.collect::<Vec<_>>(),
            "control": section.control.as_ref().map(|control| match control {
                Control::Compared { mean, is_bound, is_apart, .. } => {
                    json!({ "mean": mean, "is_bound": is_bound, "is_apart": is_apart })
                }
                Control::Incomparable(why) => json!({ "remarks": why }),
            }),
        })
    });
    json!({ "shootout": record.head, "cells": record.entries, "scenarios": sections.collect::<Vec<_>>() })
}

pub(super) fn could_not_keep(error: suite::record::RecordError) -> Failure {
    Failure::could_not("keep_results", "keep the results", error)
}

pub(super) fn could_not_read(error: suite::record::RecordError) -> Failure {
    Failure::could_not("read_results", "read the results", error)
}
