//! The checks before any timing: every target is installed, built, asked for its version, and checked.

use suite::record::{About, PreparedTarget};
use suite::{StageFailure, Target, Tools, check, setup};

use super::host::Host;
use crate::stderr;
use crate::verbs::targets::rows;

/// A target, and its version if it passed.
type Checked<'a> = (&'a Target, Result<String, StageFailure>);

/// The targets that may be measured, and what is known of all.
pub(super) fn pass(
    wanted: &[&Target],
    no_install: bool,
    host: &Host,
    tools: &Tools<'_>,
) -> (Vec<Target>, Vec<PreparedTarget>) {
    let goes_on = || !(tools.is_interrupted)();
    let checked: Box<dyn Iterator<Item = Checked<'_>>> = if host.is_elsewhere() {
        let check = |target: &&Target| {
            stderr::line(format_args!("{}: being installed and checked on its machine", target.name));
            host.prepare(target, !no_install, tools)
        };
        Box::new(wanted.iter().take_while(move |_| goes_on()).map(move |target| (*target, check(target))))
    } else {
        let check = |target: &Target, version: String| {
            stderr::line(format_args!("checking {} ({version})", target.name));
            check::check(target, tools).map(|()| version)
        };
        let prepared = prepared(wanted, no_install, tools).into_iter().take_while(move |_| goes_on());
        Box::new(
            prepared
                .map(move |(target, version)| (target, version.and_then(|version| check(target, version)))),
        )
    };
    let mut passed = Vec::new();
    let mut receipts = Vec::new();
    // What was being checked when the user had enough is not at fault.
    for (target, checked) in checked.take_while(|_| goes_on()) {
        let trouble = checked.as_ref().err().cloned();
        if let Some(trouble) = &trouble {
            stderr::line(format_args!("{} is not measured: {trouble}", target.name));
        } else {
            passed.push(target.clone());
        }
        let about = About::of(target);
        receipts.push(PreparedTarget { target: target.name.clone(), version: checked.ok(), trouble, about });
    }
    (passed, receipts)
}

fn prepared<'a>(wanted: &[&'a Target], no_install: bool, tools: &Tools<'_>) -> Vec<Checked<'a>> {
    if no_install {
        return wanted.iter().map(|target| (*target, setup::installed(target, tools))).collect();
    }
    rows::prepare(wanted, tools)
}
