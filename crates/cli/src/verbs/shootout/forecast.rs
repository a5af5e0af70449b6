//! What a shootout is about to do, and how long that will take.

use std::time::Duration;

use suite::record::LeftOut;
use suite::suite::Shortened;
use suite::{Suite, Target};

use super::flags;
use crate::exit::Failure;
use crate::stderr;

/// What a measurement takes besides its load: starting and stopping the server and the generator.
const BESIDES: Duration = Duration::from_secs(2);

/// Says it, before anything is installed or started.
pub(super) fn tell(
    suite: &Suite,
    targets: &[&Target],
    left_out: &[LeftOut],
    repeats: u32,
) -> Result<(), Failure> {
    for LeftOut { target, scenario, why } in left_out {
        stderr::line(format_args!("{target} is left out of {scenario}: it {why}"));
    }
    let mut measurements = 0;
    let mut all = Duration::ZERO;
    for scenario in &suite.scenarios {
        let able = targets.iter().filter(|target| scenario.dialect_for(target).is_some()).count();
        let each = flags::outlook(scenario)?.forecast() + BESIDES + suite.cooldown;
        let times = able as u32 * repeats;
        measurements += times;
        all += each * times;
        let (name, shortened) = (&scenario.name, shortened(&scenario.shortened));
        stderr::line(format_args!(
            "{name}: {able} × {repeats} measurements, {} each{shortened}",
            about(each)
        ));
    }
    stderr::line(format_args!("{measurements} measurements: {}, after installing and checking", about(all)));
    Ok(())
}

fn shortened(flags: &[Shortened]) -> String {
    match flags {
        [] => String::new(),
        flags => format!(" ({})", flags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A time that is not known better than to a tenth.
pub(super) fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("about {seconds} s"),
        seconds @ ..5400 => format!("about {} min", (seconds + 30) / 60),
        seconds => format!("about {:.1} h", seconds as f64 / 3600.0),
    }
}
