//! The CPU that others used while something was measured: it is not the server's, and makes it look slower than it
//! is.

use results::{Run, Step};

/// The percentage of the machine's CPU that other programs may use; a measurement in which they used more is
/// made again.
pub const PERCENT_MAX: f64 = 10.0;
/// Subject of sentences about [`PERCENT_MAX`]: on a shared host, the hypervisor takes CPU as well, and no program
/// shows it.
pub const OTHERS: &str = "other programs or the hypervisor";
/// How often it is made again where the suite does not say: on a machine that is never quiet it would not
/// come to an end.
pub const RETRIES: u32 = 2;

/// The share of the machine's CPU that went to other programs, and to other machines of its host, in percent:
/// the mean over the run's steps. `None` if it could not be seen.
pub fn percent(run: &Run) -> Option<f64> {
    let seen: Vec<(f64, f64)> =
        run.steps.iter().filter_map(|step| Some((step.duration_ns as f64, of_step(step)?))).collect();
    let whole: f64 = seen.iter().map(|(duration, _)| duration).sum();
    // By their length, so that a short step that was disturbed does not spoil a long one.
    (whole > 0.0).then(|| seen.iter().map(|(duration, percent)| duration * percent).sum::<f64>() / whole)
}

fn of_step(step: &Step) -> Option<f64> {
    let machine = step.machine.as_ref()?;
    let programs: f64 = machine.others.iter().map(|program| program.cpu_percent).sum();
    Some(programs / f64::from(machine.cores?) + machine.steal_percent.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use results::{MachineUse, ProgramUse};

    use super::*;

    #[test]
    fn each_step_counts_as_long_as_it_was() {
        let step = |duration_ns, cpu_percent| {
            let others = vec![ProgramUse { name: "rustc".into(), cpu_percent }];
            let machine =
                MachineUse { cores: Some(2), others, steal_percent: Some(1.0), ..MachineUse::default() };
            Step { duration_ns, machine: Some(machine), ..Step::default() }
        };
        let run = Run { steps: vec![step(3_000, 10.0), step(1_000, 150.0)], ..Run::default() };
        assert_eq!(percent(&run), Some(0.75 * 6.0 + 0.25 * 76.0));
        assert_eq!(percent(&Run { steps: vec![Step::default()], ..Run::default() }), None);
    }
}
