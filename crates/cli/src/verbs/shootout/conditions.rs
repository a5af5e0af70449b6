//! Checks whether a shootout that is resumed goes on under the conditions under which it began: what it has would be compared with what it
//! has not otherwise.

use suite::Target;
use suite::record::{About, Generator, Head, PreparedTarget};

use crate::exit::Failure;
use crate::fleet_args::FleetArgs;

/// The generator that the flags name.
pub(super) fn generator(args: &FleetArgs) -> Generator {
    match args.fleet {
        Some(_) => Generator::Fleet { agents: args.agents, labels: args.labels.iter().cloned().collect() },
        None => Generator::Here,
    }
}

/// Returns whether servers run, and the load is made, where they were.
pub(super) fn check_machines(head: &Head, args: &FleetArgs) -> Result<(), Failure> {
    if head.target_agent != args.target_agent {
        let at = |agent: &Option<String>| agent.clone().unwrap_or_else(|| "this machine".to_owned());
        let (was, is) = (at(&head.target_agent), at(&args.target_agent));
        let problem =
            format!("the servers ran on {was}, and would run on {is} now: pass the same --target-agent");
        return Err(Failure::usage("--resume", problem));
    }
    let is = generator(args);
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

/// Flags needed besides the folder: how to reach NATS is not kept.
pub(super) fn besides(head: &Head) -> &'static str {
    let is_here = matches!(head.generator, None | Some(Generator::Here)) && head.target_agent.is_none();
    if is_here { "" } else { ", with the same flags of the fleet" }
}

/// Returns whether a target is started and spoken to as it was, as far as that is known.
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

/// Returns whether a target that passed the gate again has the version that it had.
pub(super) fn check_version(receipt: &PreparedTarget, now: &PreparedTarget) -> Result<(), Failure> {
    if now.trouble.is_some() || now.version == receipt.version {
        return Ok(());
    }
    let version = |version: &Option<String>| version.clone().unwrap_or_default();
    let (was, is) = (version(&receipt.version), version(&now.version));
    let problem = format!("{} was {was} and is {is} now: start a new shootout", receipt.target);
    Err(Failure::usage("--resume", problem))
}
