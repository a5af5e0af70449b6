//! A folder with a tiny suite and a target that a script starts, for shootouts.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

const MANIFEST: &str = r#"
language = "sh"
library = "copy"
dialects = ["raw"]
supports = ["echo", "http"]
endpoint = "ws://{host}:{port}/"
version = { command = ["cat", "version"], regex = '(\d\S+)' }
start = { command = ["sh", "serve.sh"], env = { AT = "{host}:{port}", THRONG = "{throng}" } }
ready = { tcp = "{host}:{port}", timeout = "10s" }
stop = { signal = "TERM", grace = "2s" }
"#;

/// A script that starts the reference server.
pub const SERVE: &str = "exec \"$THRONG\" serve --listen \"$AT\"";

/// A scenario that needs a unix socket, to be added to a suite.
pub const UNIX: &str = r#"
[[scenario]]
name = "unix"
verb = "http"
supports = ["http", "unix"]
flags = { connections = 2, duration = "2s" }
shortened = ["duration"]
figures = ["rate", "errors"]
"#;

/// A suite of one scenario, clients that echo: their flags beside the interval, and the figures that are shown.
pub fn tiny_suite(repeats: u32, flags: &str, figures: &[&str]) -> String {
    format!(
        r#"
title = "A tiny suite"
repeats = {repeats}
busy-retries = 0
cooldown = "10ms"

[[scenario]]
name = "echo"
verb = "echo"
dialects = ["raw"]
supports = ["echo"]
flags = {{ interval = "20ms", {flags} }}
figures = {figures:?}
"#
    )
}

/// The folder; it goes with the value.
pub struct Arena(TempDir);

impl Arena {
    /// A suite of this text, and a target that this script starts.
    pub fn new(suite: &str, script: &str) -> Arena {
        let arena = Arena(tempfile::tempdir().unwrap());
        let own = arena.path("targets/sh-copy");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("serve.sh"), script).unwrap();
        fs::write(own.join("target.toml"), MANIFEST).unwrap();
        fs::write(own.join("version"), "1.0").unwrap();
        fs::create_dir(arena.path("suites")).unwrap();
        fs::write(arena.path("suites/tiny.toml"), suite).unwrap();
        arena
    }

    /// Clients that echo for so many seconds, and a scenario that needs a unix socket.
    pub fn echoing_for(duration_s: u32) -> Arena {
        let flags = format!(r#"clients = 4, duration = "{duration_s}s", drain-timeout = "1s""#);
        let suite = tiny_suite(1, &flags, &["rtt.p50", "rate"]) + UNIX;
        Arena::new(&suite, SERVE)
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub fn targets(&self) -> String {
        self.path("targets").display().to_string()
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// A file of a shootout that was kept in `kept`.
    pub fn kept(&self, below: &str) -> Value {
        let path = self.path("kept").join(below);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    }

    /// The trouble of a target's measurement: why there is none, if there is none.
    pub fn trouble(&self, scenario: &str, target: &str) -> Value {
        let text = fs::read_to_string(self.path("kept/cells.jsonl")).unwrap();
        let cells = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut of_it = cells.filter(|cell| cell["scenario"] == scenario && cell["target"] == target);
        of_it.next().unwrap_or_else(|| panic!("no cell {scenario}, {target} in\n{text}"))["trouble"].clone()
    }
}
