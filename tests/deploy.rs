//! What starts fleets elsewhere: manifests that Kubernetes' own schemas accept, and a unit that systemd does.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use support::skip;
use support::throng::{run, throng};

const KUBERNETES_VALIDATE: &str = "kubernetes-validate==1.37.0";

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

/// The validator, with the schemas of Kubernetes' API in it; installed where it is not. `None`: it could not be.
fn validator() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubernetes-validate");
    let program = folder.join("bin/kubernetes-validate");
    if !program.exists() {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).output();
        let pip = made.and_then(|_| {
            Command::new(folder.join("bin/pip")).args(["install", "--quiet", KUBERNETES_VALIDATE]).output()
        });
        match pip {
            Ok(output) if output.status.success() => {}
            Ok(output) => return none(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => return none(&error.to_string()),
        }
    }
    Some(program)
}

fn none(why: &str) -> Option<PathBuf> {
    skip("Kubernetes' schemas", why.lines().last().unwrap_or_default());
    None
}

#[test]
fn kubernetes_takes_what_we_print_and_ship() {
    let Some(validator) = validator() else { return };
    let printed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifest.yaml");
    let manifest = run(
        &mut throng(["fleet", "manifest", "--agents", "50", "--namespace", "load"]),
        Duration::from_secs(10),
    );
    assert_eq!(manifest.code, Some(0), "{manifest}");
    std::fs::write(&printed, &manifest.stdout).unwrap();
    let files = ["namespace.yaml", "nats.yaml", "agents.yaml", "run.yaml"]
        .map(|name| deploy().join("kubernetes").join(name));
    for file in files.iter().chain([&printed]) {
        let output = Command::new(&validator).arg("--strict").arg(file).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&said));
    }
    assert_eq!(
        manifest.stdout.matches("kind: ").count(),
        4,
        "a namespace, a service, NATS and the agents\n{manifest}"
    );
}

#[test]
fn systemd_takes_the_unit() {
    // The binary need not be where the unit will find it.
    let unit = std::fs::read_to_string(deploy().join("systemd/throng-agent.service")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("throng-agent.service");
    std::fs::write(&file, unit.replace("/usr/local/bin/throng", "/bin/true")).unwrap();
    match Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output() {
        Err(error) => skip("the unit of systemd", &error.to_string()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let ours: Vec<&str> = said.lines().filter(|line| line.contains("throng-agent")).collect();
            assert!(ours.is_empty(), "{said}");
        }
    }
}
