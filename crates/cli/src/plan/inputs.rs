//! Inputs of a plan: flags, server and workload.

use std::path::Path;

use load::Workload;

use crate::app_file::{self, BroadcastArgs};
use crate::flags::args::RunArgs;
use crate::target::Target;

/// Inputs of a plan.
pub(crate) struct PlanInputs<'a> {
    /// The flags that all verbs with a load share.
    pub(crate) args: &'a RunArgs,
    /// The messages that flags describe.
    pub(crate) says: BroadcastArgs,
    /// The server.
    pub(crate) target: &'a Target,
    /// The workload.
    pub(crate) workload: Workload,
    /// The protocol's name, or the path of an app's file.
    pub(crate) dialect: &'a str,
    /// The most clients that any step will have, if that is known.
    pub(crate) clients_max: Option<u64>,
}

impl<'a> PlanInputs<'a> {
    /// The inputs for echoes of the benchmark, or of an app's file.
    pub(crate) fn of_echoes(
        args: &'a RunArgs,
        target: &'a Target,
        dialect: &'a str,
        clients_max: Option<u64>,
    ) -> Self {
        let (says, workload) = (BroadcastArgs::default(), Workload::Echo);
        Self { args, says, target, workload, dialect, clients_max }
    }
}

/// The app's file, if these flags name one.
pub(super) fn app_of(args: &RunArgs) -> Option<&Path> {
    let dialect = args.dialect.as_deref().filter(|dialect| app_file::is_file(dialect));
    args.app.as_deref().or(dialect.map(Path::new))
}
