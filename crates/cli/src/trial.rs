//! A short, hidden run against throng's own server: what things cost here, and how much the generator can do.

use crew::{Crew, Observer, Progress, ServerWatch, Shape};
use load::{Load, StepOrder, Workload};
use net::proc::Service;
use results::{Step, verdict};

use crate::builtin::BuiltIn;
use crate::calibration::HTTP;
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::flags::compression::Compression;
use crate::hidden;
use crate::plan::{self, PlanInputs};
use crate::target;

/// The run to try.
pub(crate) struct Trial<'a> {
    /// The server that the trial loads.
    pub(crate) server: &'a BuiltIn,
    /// Compression of messages, if the server takes part.
    pub(crate) compression: Compression,
    /// The protocol inside the messages.
    pub(crate) dialect: &'static str,
    /// The workload.
    pub(crate) workload: Workload,
    /// Clients.
    pub(crate) clients: u32,
    /// The load.
    pub(crate) load: Load,
    /// Worker threads, in this process.
    pub(crate) threads: u16,
    /// CPUs to pin them to; empty: not pinned.
    pub(crate) cpus: Vec<usize>,
}

/// Runs it; `while_open` is called when everything has been sent and the clients are still there.
pub(crate) fn measure(trial: &Trial<'_>, mut while_open: impl FnMut()) -> Result<Step, Failure> {
    let cannot = |why: crew::Error| Failure::could_not("try_out", "run against throng's own server", why);
    let Trial { server, compression, dialect, workload, clients, load, threads, ref cpus } = *trial;
    let args = RunArgs { compression, ..RunArgs::of_url(&server.url) };
    let target = target::of(&args, clients.into())?;
    let target = if dialect == HTTP { target.at("/") } else { target };
    let plan = plan::plan(&PlanInputs {
        workload,
        ..PlanInputs::of_echoes(&args, &target, dialect, Some(clients.into()))
    })?;
    let shape = Shape { processes: 1, threads, cpus: cpus.clone(), clients: clients.into() };
    // What it costs is the server's memory and CPU, too.
    let watch = ServerWatch::new(Some(&Service::of(server.pid())), true);
    let mut crew = Crew::start(&plan, &shape, watch, hidden::child).map_err(cannot)?;
    let order = StepOrder { index: 0, clients, load, warmup: false };
    let mut step = crew.measure(order, &mut NullObserver).map_err(|broken| cannot(broken.error))?;
    // Before the clients leave, while the server's memory holds their connections.
    while_open();
    crew.finish(&mut NullObserver);
    step.bottleneck = Some(verdict::bottleneck(&step, None));
    Ok(step)
}

/// An observer that ignores everything and never interrupts.
struct NullObserver;

impl Observer for NullObserver {
    fn handle_progress(&mut self, _: &Progress) {}

    fn is_interrupted(&self) -> bool {
        false
    }
}
