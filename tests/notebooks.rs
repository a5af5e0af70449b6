//! The Python package for notebooks: what it reads of a run is what throng said of it, and its examples run
//! as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::python::environment;
use crate::support::skip;
use crate::support::target::Unavailable;
use crate::support::throng::{run, throng};

const RUN_MAX: Duration = Duration::from_secs(60);

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python").canonicalize().unwrap()
}

/// A Python with the package's own dependencies; `None`: they cannot be had.
fn python() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("notebooks");
    match environment(&home, &package().join("requirements.txt")) {
        Ok(python) => Some(python),
        Err(Unavailable(why)) => {
            skip("the Python package for notebooks", &why);
            None
        }
    }
}

/// Runs some Python with the package, as its users do.
fn ran(python: &Path, script: &[&str], folder: &Path) -> String {
    let mut command = Command::new(python);
    command.args(script).current_dir(folder).env("PYTHONPATH", package()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{script:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Prints what the package makes of each metric.
const METRICS: &str = "
import json, throng_results as throng
[run] = throng.read('results')
print(json.dumps([{
    name: [len(metric), *(metric.quantile_ms(q) for q in (0.5, 0.9, 0.95, 0.99, 0.999))]
    for name, metric in step.metrics.items()
} for step in run.steps]))
assert len(run.table()) == len(run.steps) == 2 and run.series(), run
every = throng.merged(step.metrics['rtt'] for step in run.steps)
assert len(every) == sum(len(step.metrics['rtt']) for step in run.steps)
assert every.rows()[-1]['share'] == 1 and every.quantile_ms(1) == every.rows()[-1]['ms']
for name in ('rrt', 'delivery.p99'):
    try:
        run.steps[0].metrics[name]
    except KeyError:
        continue
    raise AssertionError(name)
assert throng.Histogram().quantile_ms(0.5) is None and throng.Histogram().is_uncertain(0.5)
";

/// Prints the names of a step's figures.
const NAMES: &str = "
import json
from throng_results import run
print(json.dumps([sorted(run.NAMES), sorted(run.GROUPS)]))
";

/// Names of a step's figures in the schema, and of groups of them.
fn schema_names() -> Value {
    let schema = fs::read_to_string(package().join("../docs/results.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let step = schema["$defs"]["step"]["properties"].as_object().unwrap();
    let is_figure = |schema: &Value| schema["$ref"] == "#/$defs/figure";
    let is_group =
        |schema: &Value| schema["properties"].as_object().is_some_and(|parts| parts.values().all(is_figure));
    let named = |is_so: &dyn Fn(&Value) -> bool| {
        let mut names: Vec<&String> =
            step.iter().filter(|(_, schema)| is_so(schema)).map(|(name, _)| name).collect();
        names.sort();
        serde_json::json!(names)
    };
    serde_json::json!([named(&is_figure), named(&is_group)])
}

/// Writes the run anew, as if its last step had had no answer.
const SILENCE: &str = "
import json, pathlib
[file] = pathlib.Path('results').glob('*.json')
run = json.loads(file.read_text())
for name in ('rtt', 'send_lag'):
    del run['steps'][-1][name]
pathlib.Path('silent.json').write_text(json.dumps(run))
";

#[test]
fn python_reads_what_throng_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = throng(["broadcast", "--no-store", "--quiet", "--format", "json"]);
    command.args([
        "--initial-clients",
        "20",
        "--step-size",
        "20",
        "--total-steps",
        "2",
        "--sample-size",
        "100",
    ]);
    command.args(["--out", "results", "--events", "run.parquet"]).current_dir(folder.path());
    let outcome = run(&mut command, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let results = outcome.json();
    let Some(python) = python() else { return };

    let read: Value = serde_json::from_str(&ran(&python, &["-c", METRICS], folder.path())).unwrap();
    let steps = results["steps"].as_array().unwrap();
    assert_eq!(read.as_array().map(Vec::len), Some(steps.len()));
    for (step, read) in steps.iter().zip(read.as_array().unwrap()) {
        let figures = read.as_object().unwrap();
        assert!(figures.contains_key("rtt") && figures.contains_key("handshake_parts.tcp"), "{read}");
        for (name, found) in figures {
            let figure = &step[name.split('.').next().unwrap()];
            let figure = name.split_once('.').map_or(figure, |(_, part)| &figure[part]);
            assert_eq!(figure["count"], found[0], "{name}");
            for (at, label) in ["p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms"].iter().enumerate() {
                let (said, found) = (figure[label].as_f64().unwrap(), found[at + 1].as_f64().unwrap());
                // throng knows the largest sample exactly; its bucket may end 0.1% above.
                assert!(
                    (said..=said * 1.001 + 0.001).contains(&found),
                    "{name}.{label}: {found}, not {said}"
                );
            }
        }
    }

    let names: Value = serde_json::from_str(&ran(&python, &["-c", NAMES], folder.path())).unwrap();
    assert_eq!(names, schema_names());

    let deliveries: u64 = steps.iter().map(|step| step["counts"]["received"].as_u64().unwrap()).sum();
    for (example, expected) in [
        ("steps.py", results["verdict"]["result"].as_str().unwrap().to_owned()),
        ("events.py", format!("{deliveries} deliveries\n")),
    ] {
        let example = package().join("examples").join(example);
        let printed = ran(&python, &[example.to_str().unwrap()], folder.path());
        assert!(printed.contains(&expected), "{}: no {expected:?}\n{printed}", example.display());
    }
    ran(&python, &["-c", SILENCE], folder.path());
    let steps = package().join("examples/steps.py");
    let printed = ran(&python, &[steps.to_str().unwrap(), "silent.json"], folder.path());
    assert!(printed.contains("      40          –          –? "), "{printed}");
    let page = fs::read_to_string(package().join("README.md")).unwrap();
    let (_, shown) = page.split_once("```python\n").expect("an example");
    let shown = shown.split_once("```").unwrap().0;
    assert!(ran(&python, &["-c", shown], folder.path()).contains("40 "), "the page's own lines");
}
