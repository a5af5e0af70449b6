//! A binary of its own, as the test process is the tree: whatever else ran in it would count.

use std::process::Command;
use std::time::{Duration, Instant};

use net::proc::{ProcessTree, Usage};

#[test]
fn a_child_is_counted_once_also_if_its_parent_waits_late() {
    let mut tree = ProcessTree::new(std::process::id());
    let cpu_ns = |usage: Usage| usage.user_ns + usage.system_ns;
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut seen_ns = 0;
    while tree.sample().unwrap().processes == 2 {
        seen_ns = cpu_ns(tree.sample().unwrap());
        assert!(Instant::now() < deadline, "the child does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(seen_ns > 50_000_000, "{seen_ns}");
    let as_zombie_ns = cpu_ns(tree.sample().unwrap());
    child.wait().unwrap();
    let waited_for_ns = cpu_ns(tree.sample().unwrap());
    assert!(as_zombie_ns >= seen_ns && waited_for_ns >= as_zombie_ns, "time went backwards");
    assert!(waited_for_ns - seen_ns < 50_000_000, "{seen_ns} ns were counted again: {waited_for_ns}");
}
