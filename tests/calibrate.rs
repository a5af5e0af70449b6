//! `throng calibrate` keeps what the generator can do, and runs on the same machine quote it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::throng::{Outcome, run, throng};

const RUN_MAX: Duration = Duration::from_secs(60);

fn echo(data: &Path) -> Outcome {
    let mut command = throng(["echo", "--clients", "10", "--duration", "200ms", "--format", "json"]);
    let outcome = run(command.env("XDG_DATA_HOME", data), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

fn generator(outcome: &Outcome) -> Value {
    outcome.json()["steps"][0]["generator"].clone()
}

#[test]
fn ceilings_belong_to_their_machine() {
    let data = tempfile::tempdir().unwrap();
    assert!(generator(&echo(data.path()))["ceiling_per_s"].is_null(), "nothing has been calibrated");

    let mut calibrate = throng(["calibrate", "--duration", "200ms"]);
    let outcome = run(calibrate.env("XDG_DATA_HOME", data.path()), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let file = data.path().join("throng/calibration.json");
    assert!(outcome.stdout.contains(&format!("kept in {}", file.display())), "{outcome}");
    let kept = fs::read_to_string(&file).unwrap();
    let ceilings: Value = serde_json::from_str(&kept).unwrap();
    for name in ["connects", "echoes", "copies", "requests"] {
        assert!(ceilings[name]["per_s"].as_f64().is_some_and(|per_s| per_s > 10.0), "{name} in {kept}");
    }

    let quoted = generator(&echo(data.path()));
    let (ceiling, percent) = (&quoted["ceiling_per_s"], quoted["ceiling_percent"].as_f64().unwrap());
    // Ten echoes a second, whatever the number of workers.
    let expected = 100.0 * 10.0 / ceiling.as_f64().unwrap();
    assert!((percent - expected).abs() <= 0.05 * expected + 0.001, "{percent} is not {expected}");

    fs::write(&file, kept.replace("\"cores\": ", "\"cores\": 1000")).unwrap();
    assert!(generator(&echo(data.path()))["ceiling_per_s"].is_null(), "it is another machine's");
}
