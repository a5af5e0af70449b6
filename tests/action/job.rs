//! A job of GitHub Actions as far as our action needs one: its steps run here as the runner would run them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::throng::{Outcome, run};

const STEP_MAX: Duration = Duration::from_secs(180);

/// The folder with action.yml.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Parses some YAML.
pub(crate) fn yaml(text: &str) -> Value {
    serde_yaml_ng::from_str(text).expect("it is YAML")
}

/// The pairs of a mapping whose values are plain.
pub(crate) fn pairs(mapping: &Value) -> BTreeMap<String, String> {
    let plain = |value: &Value| match value {
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::String(text) => text.clone(),
        other => panic!("{other:?} is not plain"),
    };
    let pairs = mapping.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), plain(value))).collect()
}

/// A job of a pull request.
pub(crate) struct Job {
    pub(crate) workspace: PathBuf,
    temp: TempDir,
    env: BTreeMap<String, String>,
    /// The path that the job's steps search before everything else.
    path: Vec<PathBuf>,
}

impl Job {
    /// One that works in this folder, and finds programs in that one; its pull request is at a GitHub with this API.
    pub(crate) fn new(workspace: &Path, programs: &Path, api: &str) -> Job {
        let temp = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = temp.path().join(name);
            fs::write(&path, "").unwrap();
            path.display().to_string()
        };
        let event = file("event.json");
        fs::write(&event, json!({ "pull_request": { "number": 7 } }).to_string()).unwrap();
        let env = [
            ("GITHUB_STEP_SUMMARY", file("summary")),
            ("GITHUB_PATH", file("path")),
            ("GITHUB_OUTPUT", file("output")),
            ("GITHUB_EVENT_PATH", event),
            ("GITHUB_API_URL", api.to_owned()),
            ("GITHUB_SERVER_URL", "http://127.0.0.1:1".to_owned()),
            ("GITHUB_REPOSITORY", "them/chat".to_owned()),
            ("GITHUB_JOB", "load".to_owned()),
            ("RUNNER_TEMP", temp.path().display().to_string()),
            ("XDG_DATA_HOME", temp.path().join("data").display().to_string()),
        ];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Job { workspace: workspace.to_owned(), temp, env, path: vec![programs.to_owned()] }
    }

    /// The text that the job's steps have left in one of the runner's files.
    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.temp.path().join(name)).unwrap()
    }

    /// A step that is a script, to its end.
    pub(crate) fn script(&self, script: &str, env: &BTreeMap<String, String>) -> Outcome {
        run(&mut self.command(script, env), STEP_MAX)
    }

    /// The same, to be run.
    pub(crate) fn command(&self, script: &str, env: &BTreeMap<String, String>) -> Command {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]);
        let found = self.file("path");
        let found = found.lines().rev().map(PathBuf::from).chain(self.path.iter().cloned());
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = std::env::join_paths(found.chain(system)).unwrap();
        let home = std::env::var_os("HOME").unwrap_or_default();
        command.env_clear().env("HOME", home).env("PATH", path).envs(&self.env).envs(env);
        command.current_dir(&self.workspace);
        command
    }

    /// A step that is our action, with these inputs: what its steps said, up to the first that failed and
    /// what is always run after it.
    pub(crate) fn action(&self, with: &BTreeMap<String, String>) -> Vec<Outcome> {
        let action = yaml(&fs::read_to_string(root().join("action.yml")).unwrap());
        let inputs = action["inputs"].as_object().expect("inputs");
        let mut known = BTreeMap::from([
            ("github.token".to_owned(), "a-token".to_owned()),
            ("github.action_ref".to_owned(), format!("v{}", env!("CARGO_PKG_VERSION"))),
            ("github.action_repository".to_owned(), "us/throng".to_owned()),
        ]);
        for (name, facts) in inputs {
            let default = facts["default"].as_str().map(|text| fill(text, &known));
            let value = with.get(name).cloned().or(default).unwrap_or_else(|| panic!("{name} is required"));
            known.insert(format!("inputs.{name}"), value);
        }
        let unknown: Vec<&String> = with.keys().filter(|name| !inputs.contains_key(*name)).collect();
        assert!(unknown.is_empty(), "the action has no input {unknown:?}");
        let mut outcomes: Vec<Outcome> = Vec::new();
        for step in action["runs"]["steps"].as_array().expect("steps") {
            let has_failed = outcomes.iter().any(|outcome| outcome.code != Some(0));
            let is_run = match step["if"].as_str() {
                Some("always()") => true,
                Some(other) => panic!("what is {other:?}?"),
                None => !has_failed,
            };
            if !is_run {
                continue;
            }
            assert_eq!(step["shell"].as_str(), Some("bash"), "{step:?}");
            let mut env: BTreeMap<String, String> = pairs(&step["env"]);
            for value in env.values_mut() {
                *value = fill(value, &known);
            }
            env.insert("GITHUB_ACTION_PATH".to_owned(), root().display().to_string());
            outcomes.push(self.script(step["run"].as_str().expect("a script"), &env));
        }
        outcomes
    }
}

/// A text whose `${{ … }}` are known.
fn fill(text: &str, known: &BTreeMap<String, String>) -> String {
    let Some((before, rest)) = text.split_once("${{") else { return text.to_owned() };
    let (name, after) = rest.split_once("}}").expect("its end");
    let value = known.get(name.trim()).unwrap_or_else(|| panic!("what is {name}?"));
    format!("{before}{value}{}", fill(after, known))
}
