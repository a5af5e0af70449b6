//! A control group with a CPU quota. It goes with the value, which has to outlive what runs in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::throng::under;
use super::{skip, wait_until};

/// The path of each version's groups, and how it writes a quota of some microseconds in each 100 ms.
const VERSIONS: [(&str, &str, &str); 2] =
    [("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", ""), ("/sys/fs/cgroup", "cpu.max", " 100000")];

pub struct Quota {
    group: PathBuf,
}

impl Quota {
    /// A group that may use so many percent of one core; says so and gives `None` where groups cannot be made.
    pub fn new(percent: u32) -> Option<Quota> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("throng-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut why = String::new();
        for (mount, file, rest) in VERSIONS {
            let group = Path::new(mount).join(&name);
            match fs::create_dir(&group) {
                Ok(()) => {}
                Err(error) => {
                    why = format!("{}: {error}", group.display());
                    continue;
                }
            }
            let quota = Quota { group };
            // Where the controller is not for groups below this one, the file is not there.
            match fs::write(quota.group.join(file), format!("{}{rest}\n", percent * 1_000)) {
                Ok(()) => return Some(quota),
                Err(error) => why = format!("{}: {error}", quota.group.join(file).display()),
            }
        }
        skip("a CPU quota", &why);
        None
    }

    /// The same command, in the group.
    pub fn over(&self, command: &Command) -> Command {
        let script = format!("echo $$ >{}/cgroup.procs && exec \"$0\" \"$@\"", self.group.display());
        let mut inside = under("sh", &["-c", &script], command);
        for (key, value) in command.get_envs() {
            inside.env(key, value.unwrap_or_default());
        }
        inside
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // What ran in it is killed, and gone in a moment.
        wait_until(Duration::from_secs(5), || fs::remove_dir(&self.group).is_ok());
    }
}
