//! Facts about the machine, as they stand beside every result.

/// The environment of a run. What cannot be found out is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The processor's own name.
    pub cpu_model: Option<String>,
    /// Logical CPUs that are online.
    pub cores: usize,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Name and release of the kernel, `Linux 6.1.0`.
    pub kernel: String,
    /// The frequency governor of CPU 0, `performance` or `powersave`.
    pub governor: Option<String>,
    /// What the kernel reads the time from: `tsc` is cheap, `hpet` and `acpi_pm` are not.
    pub clocksource: Option<String>,
    /// Soft limit on open files (`u64::MAX`: none).
    pub fd_limit_soft: u64,
    /// Hard limit on open files (`u64::MAX`: none).
    pub fd_limit_hard: u64,
    /// Whether the machine is virtual, as the hypervisor says.
    pub virtualised: bool,
}

impl Machine {
    /// Reads them now.
    pub fn read() -> Machine {
        unimplemented!()
    }
}
