//! Limits of control groups on a process: a container may use less than the machine has.
//!
//! Version 2 has one tree, version 1 one for each controller (cgroups(7)). A limit holds for all groups below
//! it, so the tightest on the way to the root counts. Inside a container the path that `/proc/self/cgroup`
//! gives may lie outside of what is mounted; the mounted root is then the container's own group.

pub mod quota;

use std::fs;
use std::path::{Path, PathBuf};

/// The mount point of control groups on every system that has systemd or containers.
const MOUNT: &str = "/sys/fs/cgroup";
/// Version 1 writes "no limit" as the largest multiple of the page size that fits into 63 bits.
const UNLIMITED_MIN: u64 = 1 << 62;

/// A limit, and the amount in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The limit.
    pub max: u64,
    /// The amount used by the group and the groups below it.
    pub used: u64,
}

impl Allowance {
    /// The amount that is left below the limit.
    pub fn left(&self) -> u64 {
        self.max.saturating_sub(self.used)
    }
}

/// The tightest limits on this process; `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// Memory in bytes, including the kernel's memory for the group's connections.
    pub memory: Option<Allowance>,
    /// Processes and threads.
    pub tasks: Option<Allowance>,
}

impl Cgroup {
    /// Reads the groups of this process.
    pub fn read() -> Cgroup {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        read_from(Path::new(MOUNT), &groups)
    }
}

fn read_from(mount: &Path, groups: &str) -> Cgroup {
    let (memory, tasks) = (Some("memory"), Some("pids"));
    Cgroup {
        // Version 1 first: on a hybrid system the controllers are still there, and version 2's tree has none.
        memory: tightest(mount, groups, memory, "memory.limit_in_bytes", "memory.usage_in_bytes")
            .or_else(|| tightest(mount, groups, None, "memory.max", "memory.current")),
        tasks: tightest(mount, groups, tasks, "pids.max", "pids.current")
            .or_else(|| tightest(mount, groups, None, "pids.max", "pids.current")),
    }
}

/// The limit with the least left, among those of the group and all groups above it; `controller` names one of
/// version 1, or is `None` for version 2.
fn tightest(
    mount: &Path,
    groups: &str,
    controller: Option<&str>,
    max: &str,
    used: &str,
) -> Option<Allowance> {
    let allowance = |dir: PathBuf| {
        let max = number(dir.join(max)).filter(|&max| max < UNLIMITED_MIN)?;
        Some(Allowance { max, used: number(dir.join(used))? })
    };
    groups_above(mount, groups, controller).into_iter().filter_map(allowance).min_by_key(Allowance::left)
}

/// The group of a process, by the text of its `cgroup`, and all above it.
fn groups_above(mount: &Path, groups: &str, controller: Option<&str>) -> Vec<PathBuf> {
    let root = match controller {
        Some(name) => mount.join(name),
        // Where systemd mounts version 2 beside version 1 (hybrid mode).
        None if mount.join("unified").is_dir() => mount.join("unified"),
        None => mount.to_owned(),
    };
    let path = groups.lines().find_map(|line| path_of(line, controller));
    let own = path.map(|path| root.join(path.trim_start_matches('/')));
    let above =
        |own: PathBuf| own.ancestors().take_while(|dir| dir.starts_with(&root)).map(Path::to_owned).collect();
    own.map_or_else(Vec::new, above)
}

/// The path in `4:memory:/a/b`, or in version 2's `0::/a/b`.
fn path_of<'a>(line: &'a str, controller: Option<&str>) -> Option<&'a str> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let is_wanted = match controller {
        Some(name) => controllers.split(',').any(|known| known == name),
        None => controllers.is_empty(),
    };
    is_wanted.then_some(path)
}

/// Reads a limit; `None` for `max`, which means no limit.
fn number(file: PathBuf) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn write(dir: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(dir).unwrap();
        for (name, text) in files {
            fs::write(dir.join(name), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn tightest_limit_of_version_2_counts() {
        let mount = tempfile::tempdir().unwrap();
        let above = mount.path().join("above");
        write(&above, &[("memory.max", "1000"), ("memory.current", "900"), ("pids.max", "max")]);
        let own = above.join("own");
        write(&own, &[("memory.max", "500"), ("memory.current", "100"), ("pids.max", "50")]);
        write(&own, &[("pids.current", "7")]);
        let cgroup = read_from(mount.path(), "0::/above/own\n");
        assert_eq!(
            cgroup.memory,
            Some(Allowance { max: 1_000, used: 900 }),
            "100 left above, 400 in its own"
        );
        assert_eq!(cgroup.tasks.map(|tasks| tasks.left()), Some(43));
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let mount = tempfile::tempdir().unwrap();
        let memory = mount.path().join("memory");
        let unlimited = [("memory.limit_in_bytes", "9223372036854771712"), ("memory.usage_in_bytes", "5")];
        write(&memory, &unlimited);
        let groups = "5:cpu,memory:/mine\n3:pids:/mine\n0::/\n";
        assert_eq!(read_from(mount.path(), groups), Cgroup::default());

        write(&memory, &[("memory.limit_in_bytes", "4096")]);
        let limited = read_from(mount.path(), groups).memory;
        assert_eq!(limited, Some(Allowance { max: 4_096, used: 5 }), "the container's own group is the root");
    }
}
