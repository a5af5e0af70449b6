//! Before any timing: every target is installed, built, asked for its version, and checked.

use suite::record::Receipt;
use suite::{Stage, Target, Tools, Trouble, check, setup};

use crate::verbs::targets::rows;

/// The targets that may be measured, and what is known of all.
pub(super) fn pass(wanted: &[&Target], no_install: bool, tools: &Tools<'_>) -> (Vec<Target>, Vec<Receipt>) {
    let prepared = if no_install {
        wanted.iter().map(|target| (*target, setup::version(target, tools).map_err(not_installed))).collect()
    } else {
        rows::prepare(wanted, tools)
    };
    let mut passed = Vec::new();
    let mut receipts = Vec::new();
    for (target, version) in prepared {
        let checked = version.and_then(|version| {
            eprintln!("checking {} ({version})", target.name);
            check::check(target, &rows::log_of(target), tools).map(|()| version)
        });
        let trouble = checked.as_ref().err().cloned();
        if let Some(trouble) = &trouble {
            eprintln!("  not measured: {trouble}");
        } else {
            passed.push(target.clone());
        }
        receipts.push(Receipt { target: target.name.clone(), version: checked.ok(), trouble });
    }
    (passed, receipts)
}

/// Whoever does not want anything installed is not to read why a version could not be told.
fn not_installed(_: Trouble) -> Trouble {
    Trouble { stage: Stage::Install, reason: "not installed; throng targets install does it".to_owned() }
}
