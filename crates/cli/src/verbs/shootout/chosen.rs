//! The targets of a shootout, and those among the named that have no part in it.

use suite::manifest::REFERENCE_NAME;
use suite::record::LeftOut;
use suite::{Scenario, Suite, Target, TargetCatalog};

use crate::exit::Failure;
use crate::stderr;
use crate::verbs::targets;

/// The targets that the command line names, or else the suite; none: all that can do anything.
pub(super) fn named<'a>(
    suite: &Suite,
    catalog: &'a TargetCatalog,
    asked: Option<&[String]>,
) -> Result<Vec<&'a Target>, Failure> {
    let names = asked.or(suite.targets.as_deref()).unwrap_or_default();
    let found: Vec<Vec<&Target>> =
        names.iter().map(|name| targets::find(catalog, name)).collect::<Result<_, _>>()?;
    Ok(each_once(found.concat()))
}

/// Takes the scenarios out of a suite that cannot be run against servers on another machine. Returns their
/// names, and why.
pub(super) fn leave_out_local(suite: &mut Suite) -> Vec<(String, &'static str)> {
    let why = |scenario: &Scenario| match scenario {
        Scenario { unix: true, .. } => "a unix socket does not reach another machine",
        _ => "the certificate is made where the shootout runs",
    };
    let local = suite.scenarios.extract_if(.., |scenario| scenario.unix || scenario.tls);
    local.map(|scenario| (scenario.name.clone(), why(&scenario))).collect()
}

/// Leaves out the scenarios that cannot reach servers on another machine, and says so. Refuses a suite in
/// which no scenario is left.
pub(super) fn keep_what_reaches(suite: &mut Suite) -> Result<(), Failure> {
    let left_out = leave_out_local(suite);
    for (name, why) in &left_out {
        stderr::line(format_args!("{name} is left out: {why}"));
    }
    match left_out.first() {
        Some((_, why)) if suite.scenarios.is_empty() => Err(Failure::usage("--target-agent", why)),
        _ => Ok(()),
    }
}

/// Leaves the scenarios of these names in a suite; without names, all.
pub(super) fn keep_only(suite: &mut Suite, names: &[String]) -> Result<(), Failure> {
    let is_there = |name: &&String| suite.scenarios.iter().any(|scenario| scenario.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_there(name)) {
        let known: Vec<&str> = suite.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        let problem = format!("{} has no scenario {unknown:?}; there are {}", suite.name, known.join(", "));
        return Err(Failure::usage("--only", problem));
    }
    suite.scenarios.retain(|scenario| names.is_empty() || names.contains(&scenario.name));
    Ok(())
}

/// Targets without a part in some scenarios, and in which.
pub(super) fn left_out(suite: &Suite, named: &[&Target]) -> Vec<LeftOut> {
    let of = |target: &Target, scenario: &Scenario| {
        let why = scenario.fit(target).err()?;
        Some(LeftOut { target: target.name.clone(), scenario: scenario.name.clone(), why: why.to_string() })
    };
    named
        .iter()
        .flat_map(|target| suite.scenarios.iter().filter_map(|scenario| of(target, scenario)))
        .collect()
}

/// A shootout of targets that can do nothing of it would measure nothing but the yardstick.
pub(super) fn refuse_in_vain(suite: &Suite, named: &[&Target], left_out: &[LeftOut]) -> Result<(), Failure> {
    let is_in_vain = |target: &&Target| {
        left_out.iter().filter(|out| out.target == target.name).count() == suite.scenarios.len()
    };
    if named.is_empty() || !named.iter().all(is_in_vain) {
        return Ok(());
    }
    let why = |target: &&Target| {
        let first = left_out.iter().find(|out| out.target == target.name)?;
        Some(format!("{} {} ({})", target.name, first.why, first.scenario))
    };
    let whys: Vec<String> = named.iter().filter_map(why).collect();
    let problem = format!("the suite {} has nothing for these: {}", suite.name, whys.join("; "));
    Err(Failure::usage("--targets", problem))
}

/// The targets to be measured: those that are named, or else all, as far as they can do any of the scenarios;
/// and the reference server, with its control where there is one.
pub(super) fn wanted<'a>(
    suite: &Suite,
    catalog: &'a TargetCatalog,
    named: &[&'a Target],
    control: Option<&'a Target>,
) -> Vec<&'a Target> {
    let is_reference = |target: &&Target| target.name == REFERENCE_NAME;
    let mut wanted: Vec<&Target> = match named {
        [] => catalog.targets.iter().collect(),
        named => named.iter().copied().chain(catalog.targets.iter().filter(is_reference)).collect(),
    };
    wanted.extend(control);
    wanted.retain(|target| suite.scenarios.iter().any(|scenario| scenario.dialect_for(target).is_some()));
    each_once(wanted)
}

/// Sorts targets by name, and removes duplicates.
fn each_once(mut targets: Vec<&Target>) -> Vec<&Target> {
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    targets.dedup_by(|a, b| a.name == b.name);
    targets
}
