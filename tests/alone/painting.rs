//! How soon a long report is seen in a browser.

use crate::pages::{browser, measure};
use crate::support::alone;

/// A search or a walk in small steps: what it came to is seen at once, however long drawing takes.
#[test]
fn reports_of_200_steps_paint_within_a_second() {
    let Some((scripts, chromium)) = browser() else { return };
    let _alone = alone();
    let (directory, path) =
        measure(&["broadcast", "--step-size=5", "--total-steps=2", "-c=1", "--duration=2s"]);
    let mut run = results::file::read(&std::fs::read_to_string(path).unwrap()).unwrap();
    let length_ns = run.steps[1].start_ns + run.steps[1].duration_ns;
    let step = |k: u64| {
        let mut step = run.steps[k as usize % 2].clone();
        (step.clients, step.start_ns) = (5 * (k + 1), step.start_ns + k / 2 * length_ns);
        for second in step.series.iter_mut().chain(&mut step.connecting) {
            second.t_ns += k / 2 * length_ns;
        }
        step
    };
    run.steps = (0..200).map(step).collect();
    let page = directory.path().join("report.html");
    std::fs::write(&page, report::html(&report::Page { runs: &[run], ..Default::default() })).unwrap();
    scripts.run("paint.js", &[&chromium, page.to_str().unwrap(), "1000"]);
}
