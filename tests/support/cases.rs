//! A table of cases, run side by side: most of them wait for a timeout.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

/// Cases at a time. They sleep more than they work, so this may well be more than the cores.
const PARALLEL: usize = 6;

/// Runs `check` on each case and panics with the names and messages of all that failed.
pub fn check_all<Case: Sync>(
    cases: &[Case],
    name: impl Fn(&Case) -> String + Sync,
    check: impl Fn(&Case) + Sync,
) {
    let waiting = Mutex::new(cases.iter());
    let failed = Mutex::new(Vec::new());
    let test = thread::current().name().unwrap_or_default().to_owned();
    thread::scope(|scope| {
        for _ in 0..PARALLEL.min(cases.len()) {
            // By its name, what a case says of itself is the test's.
            let named = thread::Builder::new().name(test.clone());
            let worker = named.spawn_scoped(scope, || {
                loop {
                    let Some(case) = waiting.lock().unwrap().next() else { break };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(case))) {
                        failed.lock().unwrap().push(format!("{}: {}", name(case), message(&*panic)));
                    }
                }
            });
            worker.expect("a thread");
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {} cases failed:\n\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n\n")
    );
}

/// The message of a case's panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked without a message")
}
