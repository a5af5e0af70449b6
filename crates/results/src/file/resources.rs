//! Usage of server, generator and machine, in the file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mirror::{mirror, optional_seconds};
use crate::resources::{GeneratorUse, MachineUse, ProgramUse, ServerUse, ThreadUse};

mirror!(FileThread of ThreadUse {
    name: String,
    user_percent: f64,
    system_percent: f64,
    waiting_percent: f64,
    asleep_percent: f64,
});

mirror!(FileServer of ServerUse {
    #[serde(
        default,
        serialize_with = "list::<FileThread, _, _>",
        deserialize_with = "list_of::<FileThread, _, _>",
        skip_serializing_if = "Vec::is_empty"
    )]
    thread_use: Vec<ThreadUse>,
    ; optional
    rss_bytes_mean: u64,
    rss_bytes_peak: u64,
    pss_bytes_peak: u64,
    processes: u64,
    threads: u64,
    fds: u64,
    fds_max: u64,
    name: String,
    pid: u64,
    context_switches: u64,
    #[serde(rename = "ended_s", with = "optional_seconds")]
    ended_ns: u64,
    ; numbers
    cpu_percent_mean,
    cpu_percent_peak,
    cores,
    throttled_percent,
});

mirror!(FileProgram of ProgramUse {
    name: String,
    cpu_percent: f64,
});

mirror!(FileMachine of MachineUse {
    #[serde(
        default,
        serialize_with = "list::<FileProgram, _, _>",
        deserialize_with = "list_of::<FileProgram, _, _>",
        skip_serializing_if = "Vec::is_empty"
    )]
    others: Vec<ProgramUse>,
    ; optional
    cores: u32,
    listen_overflows: u64,
    same_host: bool,
    ; numbers
    idle_percent_mean,
    steal_percent,
    network_percent,
    retransmit_percent,
    out_of_order_percent,
    kernel_bytes_per_client,
});

/// A list of what has a form of its own in the file.
fn list<'a, F, M, S>(items: &'a [M], serializer: S) -> Result<S::Ok, S::Error>
where
    F: Serialize + From<&'a M>,
    S: Serializer,
{
    serializer.collect_seq(items.iter().map(F::from))
}

fn list_of<'de, F, M, D>(deserializer: D) -> Result<Vec<M>, D::Error>
where
    F: Deserialize<'de> + Into<M>,
    D: Deserializer<'de>,
{
    Ok(Vec::<F>::deserialize(deserializer)?.into_iter().map(F::into).collect())
}

mirror!(FileGenerator of GeneratorUse {
    ; optional
    rss_bytes_peak: u64,
    ceiling_at_least: bool,
    ; numbers
    cpu_percent_mean,
    cpu_percent_peak,
    worker_cpu_percent_max,
    waiting_percent,
    worker_waiting_percent_max,
    throttled_percent,
    bytes_per_client,
    ceiling_per_s,
    ceiling_percent,
    ; figures
    loop_lag,
});
