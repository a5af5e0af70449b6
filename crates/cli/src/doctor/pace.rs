//! Threads, and whether CPU and clock keep an even pace.

use super::facts::Facts;
use super::required::{RequiredLoad, processes};
use super::row::{Fix, Row, Verdict};
use std::path::PathBuf;

/// Threads of a throng process beside its workers: the one that listens to the parent, and the one that
/// reports.
const OTHER_THREADS: u64 = 2;
/// A reading of the clock that costs more than this is a system call, and shows: throng takes one for every
/// event.
const CLOCK_NS_MAX: f64 = 150.0;
/// Clock sources that are read without a system call.
const CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];

pub(super) fn rows(facts: &Facts, required: &RequiredLoad) -> Vec<Row> {
    let mut rows = threads(facts, required);
    rows.extend(governor(facts));
    rows.push(clock(facts));
    rows
}

fn threads(facts: &Facts, required: &RequiredLoad) -> Vec<Row> {
    let processes = processes(facts, required);
    let workers = (facts.cpus / processes).max(1);
    let needed = processes * (workers + OTHER_THREADS);
    // One more than the highest id, and the ids of the machine's other threads.
    let ids = needed + facts.threads.unwrap_or(0) + 1;
    let sysctl =
        |name: &'static str, found, needed| Row::of(name, found, needed, || Fix::sysctl(name, needed));
    let mut rows = vec![
        sysctl("kernel.threads-max", facts.threads_max, ids),
        sysctl("kernel.pid_max", facts.pid_max, ids),
    ];
    if let Some(tasks) = facts.cgroup.tasks {
        let total = tasks.used + needed;
        let fix = || Fix::Tell(format!("systemctl set-property --runtime UNIT TasksMax={total}"));
        rows.push(Row::of("threads: control group", Some(tasks.max), total, fix));
    }
    rows
}

/// A clock frequency that follows the load makes the first messages after a pause slow.
fn governor(facts: &Facts) -> Option<Row> {
    const FILES: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let governor = facts.governor.as_ref()?;
    let steady = governor == "performance";
    Some(Row {
        check: "CPU governor",
        found: governor.clone(),
        needed: "performance".into(),
        verdict: if steady { Verdict::Ok } else { Verdict::Advised },
        fix: (!steady).then(|| Fix::Tell(format!("echo performance | tee {FILES}"))),
    })
}

fn clock(facts: &Facts) -> Row {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let name = facts.clocksource.as_deref().unwrap_or("?");
    let cheap = facts.clock_ns <= CLOCK_NS_MAX;
    let better = CLOCKS.into_iter().find(|clock| facts.clocksources.iter().any(|known| known == clock));
    let fix = better.filter(|&better| !cheap && better != name).map(|better| Fix::Write {
        file: PathBuf::from(FILE),
        value: better.into(),
        command: format!("echo {better} > {FILE}"),
    });
    Row {
        check: "clock source",
        found: format!("{name}, {:.0} ns a reading", facts.clock_ns),
        needed: format!("at most {CLOCK_NS_MAX:.0} ns"),
        verdict: if cheap { Verdict::Ok } else { Verdict::Advised },
        fix,
    }
}
