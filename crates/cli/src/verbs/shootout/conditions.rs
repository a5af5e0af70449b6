//! Checks whether a shootout that is resumed goes on under the conditions under which it began: what it has
//! would be compared with what it has not otherwise.

use suite::Target;
use suite::record::{About, Generator, Head, PreparedTarget};

use crate::exit::Failure;
use crate::flags::fleet_args::FleetArgs;

/// The generator that the flags name.
pub(super) fn generator(args: &FleetArgs) -> Generator {
    match args.fleet {
        Some(_) => Generator::Fleet { agents: args.agents, labels: args.labels.iter().cloned().collect() },
        None => Generator::Here,
    }
}

/// Facts of a machine that stay when it is restarted or updated.
const LASTING: [&str; 3] = ["CPU", "cores", "memory"];

/// Refuses to resume a shootout with the servers or the load generator on other machines than before; `here`
/// has the facts of this machine.
pub(super) fn check_machines(
    head: &Head,
    here: &[(String, String)],
    args: &FleetArgs,
) -> Result<(), Failure> {
    if head.target_agent != args.target_agent {
        let at = |agent: &Option<String>| agent.clone().unwrap_or_else(|| "this machine".to_owned());
        let (was, is) = (at(&head.target_agent), at(&args.target_agent));
        let problem =
            format!("the servers ran on {was}, and would run on {is} now: pass the same --target-agent");
        return Err(Failure::usage("--resume", problem));
    }
    let is = generator(args);
    // Where both are elsewhere, this machine does neither.
    let takes_part = args.target_agent.is_none() || is == Generator::Here;
    if let Some((fact, was, is)) = other_machine(&head.machine, here).filter(|_| takes_part) {
        let problem = format!(
            "the shootout began on another machine ({fact}: {was}; here {is}): go on there, or start a new one"
        );
        return Err(Failure::usage("--resume", problem).because("other_machine"));
    }
    match &head.generator {
        Some(was) if *was != is => {
            let problem = format!(
                "the load came from {was}, and would come from {is} now: pass the same --fleet, --agents and --where"
            );
            Err(Failure::usage("--resume", problem))
        }
        _ => Ok(()),
    }
}

/// The first lasting fact that is not as it was, as it was and as it is.
fn other_machine<'a>(
    then: &'a [(String, String)],
    now: &'a [(String, String)],
) -> Option<(&'static str, &'a str, &'a str)> {
    let of = |facts: &'a [(String, String)], fact| {
        facts.iter().find(|(name, _)| name == fact).map(|(_, value)| value.as_str())
    };
    LASTING.into_iter().find_map(|fact| {
        let (was, is) = of(then, fact).zip(of(now, fact))?;
        (was != is).then_some((fact, was, is))
    })
}

/// Flags needed besides the folder: the address of NATS is not kept.
pub(super) fn besides(head: &Head) -> &'static str {
    let is_here = matches!(head.generator, None | Some(Generator::Here)) && head.target_agent.is_none();
    if is_here { "" } else { ", with the same flags of the fleet" }
}

/// Refuses a target that is started or spoken to in another way than before, as far as that is known.
pub(super) fn check_manifest(receipt: &PreparedTarget, target: &Target) -> Result<(), Failure> {
    let told = |about: &About| {
        format!("started with `{}` and spoken to in {}", about.start, about.dialects.join(", "))
    };
    let (was, is) = (told(&receipt.about), told(&About::of(target)));
    if receipt.about == About::default() || was == is {
        return Ok(());
    }
    let problem = format!("{} was {was}, and is {is} now: start a new shootout", receipt.target);
    Err(Failure::usage("--resume", problem))
}

/// Refuses a target that passed the gate again with another version than before.
pub(super) fn check_version(receipt: &PreparedTarget, now: &PreparedTarget) -> Result<(), Failure> {
    if now.trouble.is_some() || now.version == receipt.version {
        return Ok(());
    }
    let version = |version: &Option<String>| version.clone().unwrap_or_default();
    let (was, is) = (version(&receipt.version), version(&now.version));
    let problem = format!("{} was {was} and is {is} now: start a new shootout", receipt.target);
    Err(Failure::usage("--resume", problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_differ_in_lasting_facts_alone() {
        let machine = |facts: &[(&str, &str)]| -> Vec<(String, String)> {
            facts.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let then = machine(&[("CPU", "i7"), ("cores", "4"), ("kernel", "6.1")]);
        assert_eq!(other_machine(&then, &machine(&[("CPU", "i7"), ("cores", "4"), ("kernel", "6.2")])), None);
        let other = machine(&[("CPU", "i7"), ("cores", "8"), ("kernel", "6.1")]);
        assert_eq!(other_machine(&then, &other), Some(("cores", "4", "8")));
        assert_eq!(other_machine(&[], &other), None, "nothing is known of it");
    }
}
