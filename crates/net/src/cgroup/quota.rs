//! The CPU quota of control groups: a number of microseconds in each period, after which everything in the
//! group stands still until the next (Documentation/admin-guide/cgroup-v2.rst, `cpu.max`;
//! scheduler/sched-bwc.rst).

use std::fs;
use std::path::{Path, PathBuf};

use super::{MOUNT, groups_above};

/// The group whose quota limits a process first: among its own group and all above it, the one with the
/// fewest cores.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuQuota {
    /// The CPU time that the quota allows, in cores.
    pub cores: f64,
    group: PathBuf,
}

/// The number of times a group ran into its quota, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the group had something to run.
    pub periods: u64,
    /// Periods at whose end the group stood still.
    pub throttled: u64,
}

impl CpuQuota {
    /// Reads the groups of a process; `None`: no quota, or no such process.
    pub fn of(pid: u32) -> Option<CpuQuota> {
        read_from(Path::new(MOUNT), &fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?)
    }

    /// Reads how often the quota has stopped the group so far. `None` if the group is gone.
    pub fn throttling(&self) -> Option<Throttling> {
        parse_stat(&fs::read_to_string(self.group.join("cpu.stat")).ok()?)
    }
}

impl Throttling {
    /// The share of the periods since `before` in which the group stood still: 0 to 100. `None` where there
    /// was none.
    pub fn percent_since(self, before: Throttling) -> Option<f64> {
        let periods = self.periods.saturating_sub(before.periods);
        let throttled = self.throttled.saturating_sub(before.throttled).min(periods);
        (periods > 0).then(|| 100.0 * throttled as f64 / periods as f64)
    }
}

fn read_from(mount: &Path, groups: &str) -> Option<CpuQuota> {
    let of = |controller, cores_of: fn(&Path) -> Option<f64>| {
        let dirs = groups_above(mount, groups, controller);
        let quotas = dirs.into_iter().filter_map(|group| Some(CpuQuota { cores: cores_of(&group)?, group }));
        quotas.min_by(|a, b| a.cores.total_cmp(&b.cores))
    };
    of(Some("cpu"), cores_of_version_1).or_else(|| of(None, cores_of_version_2))
}

/// Reads the quota in version 1, where `-1` is no quota.
fn cores_of_version_1(group: &Path) -> Option<f64> {
    let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<i64>().ok();
    cores(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

/// Reads the quota in version 2, as in `50000 100000`: the quota, or `max`, and its period.
fn cores_of_version_2(group: &Path) -> Option<f64> {
    let text = fs::read_to_string(group.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    cores(quota.parse().ok()?, period.parse().ok()?)
}

fn cores(quota_us: i64, period_us: i64) -> Option<f64> {
    (quota_us > 0 && period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

/// Parses the two lines on throttling, which both versions have among others.
fn parse_stat(text: &str) -> Option<Throttling> {
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(Throttling { periods: field("nr_periods ")?, throttled: field("nr_throttled ")? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::write;
    use super::*;

    #[test]
    fn version_2_the_tightest_of_all_groups_counts() {
        let mount = tempfile::tempdir().unwrap();
        let above = mount.path().join("above");
        write(
            &above,
            &[("cpu.max", "50000 100000"), ("cpu.stat", "usage_usec 9\nnr_periods 20\nnr_throttled 5")],
        );
        let own = above.join("own");
        write(&own, &[("cpu.max", "max 100000"), ("cpu.stat", "usage_usec 9")]);
        let quota = read_from(mount.path(), "0::/above/own\n").unwrap();
        assert_eq!(quota, CpuQuota { cores: 0.5, group: above.clone() });
        assert_eq!(quota.throttling(), Some(Throttling { periods: 20, throttled: 5 }));
        write(&own, &[("cpu.max", "25000 100000")]);
        assert_eq!(read_from(mount.path(), "0::/above/own\n").unwrap().cores, 0.25);
        fs::remove_dir_all(&above).unwrap();
        assert_eq!(read_from(mount.path(), "0::/above/own\n"), None);
        assert_eq!(quota.throttling(), None, "the group is gone");
    }

    #[test]
    fn version_1_has_the_quota_in_two_files() {
        let mount = tempfile::tempdir().unwrap();
        let cpu = mount.path().join("cpu");
        write(&cpu.join("a"), &[("cpu.cfs_quota_us", "150000"), ("cpu.cfs_period_us", "100000")]);
        write(&cpu, &[("cpu.cfs_quota_us", "-1"), ("cpu.cfs_period_us", "100000")]);
        let groups = "2:cpuacct:/\n1:cpu:/a\n0::/\n";
        assert_eq!(read_from(mount.path(), groups).map(|quota| quota.cores), Some(1.5));
        assert_eq!(read_from(mount.path(), "1:cpu:/\n0::/\n"), None);
    }

    #[test]
    fn throttled_share_is_of_the_windows_periods() {
        let before = Throttling { periods: 100, throttled: 90 };
        let after = Throttling { periods: 140, throttled: 100 };
        assert_eq!(after.percent_since(before), Some(25.0));
        assert_eq!(before.percent_since(before), None);
    }
}
