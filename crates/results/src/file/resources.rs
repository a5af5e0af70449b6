//! What server, generator and machine used, in the file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mirror::mirror;
use crate::resources::{GeneratorUse, MachineUse, ServerUse, ThreadUse};

mirror!(FileThread of ThreadUse {
    name: String,
    user_percent: f64,
    system_percent: f64,
    waiting_percent: f64,
    asleep_percent: f64,
});

mirror!(FileServer of ServerUse {
    #[serde(default, with = "threads", skip_serializing_if = "Vec::is_empty")]
    thread_use: Vec<ThreadUse>,
    ; optional
    rss_bytes_mean: u64,
    rss_bytes_peak: u64,
    pss_bytes_peak: u64,
    processes: u64,
    threads: u64,
    fds: u64,
    context_switches: u64,
    ; numbers
    cpu_percent_mean,
    cpu_percent_peak,
    cores,
});

mirror!(FileMachine of MachineUse {
    ; optional
    cores: u32,
    same_host: bool,
    ; numbers
    idle_percent_mean,
    network_percent,
    retransmit_percent,
    kernel_bytes_per_client,
});

mod threads {
    use super::*;

    pub(super) fn serialize<S: Serializer>(threads: &[ThreadUse], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(threads.iter().map(FileThread::from))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ThreadUse>, D::Error> {
        let threads = Vec::<FileThread>::deserialize(deserializer)?;
        Ok(threads.into_iter().map(ThreadUse::from).collect())
    }
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
    bytes_per_client,
    ceiling_per_s,
    ceiling_percent,
    ; figures
    loop_lag,
});
