//! A binary of its own, as the test process is the tree: whatever else ran in it would count.

use std::process::Command;
use std::time::{Duration, Instant};

use net::proc::{ProcessTree, Usage};

/// CPU time of the child, in ns: far more than a few clock ticks.
const WORK_NS: u64 = 200_000_000;
/// CPU time of this process meanwhile, and the rounding of ticks.
const ALLOWED_NS: u64 = 100_000_000;

#[test]
fn children_awaited_late_count_once() {
    let mut tree = ProcessTree::new(std::process::id());
    let cpu_ns = |usage: Usage| usage.user_ns + usage.system_ns;
    let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut sample_until = |is_so: &dyn Fn(&Usage) -> bool| loop {
        let usage = tree.sample().unwrap();
        if is_so(&usage) {
            return cpu_ns(usage);
        }
        assert!(Instant::now() < deadline, "{usage:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    let seen_ns = sample_until(&|usage| usage.processes == 2 && cpu_ns(usage.clone()) > WORK_NS);
    child.kill().unwrap();
    let as_zombie_ns = sample_until(&|usage| usage.processes == 1);
    child.wait().unwrap();
    let waited_for_ns = cpu_ns(tree.sample().unwrap());
    assert!(as_zombie_ns >= seen_ns && waited_for_ns >= as_zombie_ns, "time went backwards");
    // A late tree has it all from the kernel, which counts once.
    let afresh_ns = cpu_ns(ProcessTree::new(std::process::id()).sample().unwrap());
    assert!(
        afresh_ns.abs_diff(waited_for_ns) < ALLOWED_NS,
        "{waited_for_ns} ns counted, {afresh_ns} ns used"
    );
}
