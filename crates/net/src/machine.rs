//! Facts about the machine, which are stored with every result.

use std::fs;

use crate::affinity::parse_cpus;
use crate::limits;

/// The environment of a run. Facts that cannot be found out are absent.
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
    /// The distribution, `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// The frequency governor of CPU 0, `performance` or `powersave`.
    pub governor: Option<String>,
    /// The kernel's clock source: `tsc` is cheap, `hpet` and `acpi_pm` are not.
    pub clocksource: Option<String>,
    /// The other clock sources that the machine has.
    pub clocksources: Vec<String>,
    /// Soft limit on open files (`u64::MAX`: none).
    pub fd_limit_soft: u64,
    /// Hard limit on open files (`u64::MAX`: none).
    pub fd_limit_hard: u64,
    /// True if the machine is virtual, by the hypervisor's account.
    pub virtualised: bool,
}

/// The machine's own name.
pub fn hostname() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Some(name).filter(|name| !name.is_empty() && name != "(none)")
}

impl Machine {
    /// Reads the facts now.
    pub fn read() -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let uname = rustix::system::uname();
        let (fd_limit_soft, fd_limit_hard) = limits::nofile();
        Machine {
            cpu_model: cpu_model(&cpuinfo),
            cores: online_cpus(),
            memory_bytes: memory_bytes(),
            kernel: format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy()),
            os: os(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
            governor: sysfs("cpu/cpu0/cpufreq/scaling_governor"),
            clocksource: sysfs("clocksource/clocksource0/current_clocksource"),
            clocksources: sysfs("clocksource/clocksource0/available_clocksource")
                .map(|names| names.split_ascii_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            fd_limit_soft,
            fd_limit_hard,
            virtualised: is_virtual(&cpuinfo),
        }
    }
}

/// `PRETTY_NAME="…"` of os-release(5).
fn os(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// Finds the processor's name: x86 gives `model name`; some Arm kernels only `Hardware`, and most neither.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let value = |key| cpuinfo.lines().find_map(|line: &str| field(line, key));
    value("model name").or_else(|| value("Hardware")).map(str::to_owned)
}

/// Returns whether the machine is virtual: x86 processors show that to a guest (CPUID leaf 1, ECX bit 31);
/// elsewhere the firmware's vendor is the best hint.
fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find_map(|line| field(line, "flags")).unwrap_or_default();
    if flags.split(' ').any(|flag| flag == "hypervisor") {
        return true;
    }
    let vendor = fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    ["QEMU", "Amazon EC2", "Google", "VMware", "Xen"].iter().any(|name| vendor.contains(name))
}

/// The value of a `key : value` line.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (name, value) = line.split_once(':')?;
    (name.trim() == key).then(|| value.trim())
}

fn online_cpus() -> usize {
    sysfs("cpu/online").and_then(|list| parse_cpus(&list).ok()).map_or(1, |cpus| cpus.len())
}

fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}

fn sysfs(path: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/devices/system/{path}")).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_says_its_name() {
        let release = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(os(release).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(os("ID=debian\n"), None);
    }

    #[test]
    fn this_machine_has_cpus_memory_and_a_kernel() {
        let machine = Machine::read();
        assert!(machine.cores >= crate::affinity::available_cpus().unwrap().len());
        assert!(machine.memory_bytes > 64 << 20);
        assert!(machine.kernel.starts_with("Linux ") && machine.kernel.len() > "Linux ".len());
        assert!(machine.clocksource.is_none_or(|name| machine.clocksources.contains(&name)));
        assert!(machine.fd_limit_soft <= machine.fd_limit_hard);
    }

    #[test]
    fn reads_x86_and_arm_processors() {
        let x86 = "processor\t: 0\nmodel name\t: Some CPU @ 3GHz\nflags\t\t: fpu hypervisor lm\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("Some CPU @ 3GHz"));
        assert!(is_virtual(x86));
        assert_eq!(cpu_model("processor\t: 0\nHardware\t: BCM2711\n").as_deref(), Some("BCM2711"));
        assert_eq!(cpu_model("processor\t: 0\n"), None);
    }
}
