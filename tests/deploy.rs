//! Deployments of fleets: manifests that Kubernetes' own schemas accept, and a unit that systemd does.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fleet::Bus;
use crate::support::process::Process;
use crate::support::python::installed;
use crate::support::target::Unavailable;
use crate::support::throng::{Server, run, throng};
use crate::support::{START_MAX, free_address, skip};

const KUBERNETES_VALIDATE: &str = "kubernetes-validate==1.37.0";

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

/// The validator, with the schemas of Kubernetes' API in it; installed where it is not. `None`: it could not be.
fn validator() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubernetes-validate");
    match installed(&folder, &[Path::new(KUBERNETES_VALIDATE)]) {
        Ok(_) => Some(folder.join("bin/kubernetes-validate")),
        Err(Unavailable(why)) => {
            skip("Kubernetes' schemas", &why);
            None
        }
    }
}

#[test]
fn kubernetes_takes_what_we_print_and_ship() {
    let Some(validator) = validator() else { return };
    let printed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifest.yaml");
    let manifest = run(
        &mut throng([
            "fleet",
            "manifest",
            "--agents",
            "50",
            "--namespace",
            "load",
            "--allow",
            "ws://chat.svc:*",
        ]),
        START_MAX,
    );
    assert_eq!(manifest.code, Some(0), "{manifest}");
    std::fs::write(&printed, &manifest.stdout).unwrap();
    let files = ["namespace.yaml", "network.yaml", "nats.yaml", "agents.yaml", "run.yaml"]
        .map(|name| deploy().join("kubernetes").join(name));
    for file in files.iter().chain([&printed]) {
        let output = Command::new(&validator).arg("--strict").arg(file).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&said));
    }
    assert_eq!(
        manifest.stdout.matches("\nkind: ").count(),
        7,
        "three policies, a configuration, a service, NATS and the agents\n{manifest}"
    );
}

/// Helm, with the chart and these values; `None`: it is not here.
fn helm(verb: &[&str], values: &[&str]) -> Option<std::process::Output> {
    let mut helm = Command::new("helm");
    helm.args(verb).arg(deploy().join("helm")).args(["--kube-version", "1.30"]).args(values);
    match helm.output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip("Helm's chart (go install helm.sh/helm/v3/cmd/helm@v3.16.4)", &error.to_string());
            None
        }
    }
}

#[test]
fn helm_and_kubernetes_accept_the_chart() {
    let said = |output: &std::process::Output| {
        String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
    };
    let Some(lint) = helm(&["lint", "--strict"], &[]) else { return };
    assert!(lint.status.success(), "{}", said(&lint));
    for (values, why) in [
        ("agents.count=0", "agents.count: "),
        ("agents.allow={chat}", "agents.allow.0: "),
        ("agent.count=2", " agent "),
        ("image.pullPolicy=Sometimes", "image.pullPolicy: "),
        ("secrets.nats=", "secrets.nats: "),
    ] {
        let refused = helm(&["template"], &["--set", values]).unwrap();
        assert!(!refused.status.success() && said(&refused).contains(why), "{}", said(&refused));
    }
    let run = r#"run.command=["echo","ws://chat.svc/ws"]"#;
    let fleet = "agents.count=7,agents.allow={ws://chat.svc}";
    let cluster = "image.pullPolicy=Always,imagePullSecrets[0].name=registry,secrets.nats=ours,secrets.tls=ours-tls,\
                   serviceAccount.name=load-test";
    let values = ["-n", "load", "--set", fleet, "--set", cluster, "--set-json", run];
    let made = helm(&["template"], &values).unwrap();
    assert!(made.status.success(), "{}", said(&made));
    let text = String::from_utf8(made.stdout).unwrap();
    for expected in [
        "completions: 7",
        "--allow=ws://chat.svc\n",
        "- echo\n        - ws://chat.svc/ws\n",
        "--agents=7",
        "--label=revision=1\n",
        "--where=revision=1\n",
        "image: throng:0.1.0",
    ] {
        assert!(text.contains(expected), "no {expected:?}\n{text}");
    }
    // Of NATS, the agents and the run; NATS has both passwords, and an image of its own.
    for (line, count) in [
        ("imagePullPolicy: Always", 2),
        ("- name: registry", 3),
        ("name: ours", 4),
        ("secretName: ours-tls", 3),
        ("serviceAccountName: load-test", 3),
    ] {
        assert_eq!(text.lines().filter(|found| found.trim() == line).count(), count, "{line}\n{text}");
    }
    assert_eq!(text.matches("\n  namespace: load\n").count(), 8, "all objects\n{text}");
    let Some(validator) = validator() else { return };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chart.yaml");
    std::fs::write(&file, &text).unwrap();
    let output = Command::new(validator).arg("--strict").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// The configuration of nats-server in the manifests, with these files for its certificate.
fn nats_config(folder: &Path) -> String {
    let manifest = std::fs::read_to_string(deploy().join("kubernetes/nats.yaml")).unwrap();
    let (_, config) = manifest.split_once("  nats.conf: |\n").expect("a configuration");
    let (config, _) = config.split_once("---\n").expect("another object");
    let port = free_address().port();
    config
        .replace("/etc/nats/tls/tls.crt", &folder.join("tls.crt").display().to_string())
        .replace("/etc/nats/tls/tls.key", &folder.join("tls.key").display().to_string())
        .replace("port: 4222", "")
        .replace("http_port: 8222", &format!("http: \"127.0.0.1:{port}\""))
}

#[test]
fn fleets_run_over_the_manifests_nats() {
    let folder = tempfile::tempdir().unwrap();
    let certified =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), certified.cert.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), certified.signing_key.serialize_pem()).unwrap();
    let config = nats_config(folder.path());
    let config = config
        .replace("$COORDINATOR_PASSWORD", "\"of-coordinator\"")
        .replace("$AGENT_PASSWORD", "\"of-agent\"");
    std::fs::write(folder.path().join("nats.conf"), config).unwrap();
    let flags = ["-c", &folder.path().join("nats.conf").display().to_string()];
    let Some(bus) = Bus::start_with("", &flags) else { return };
    let ca = folder.path().join("tls.crt").display().to_string();
    let url = |login: &str| bus.url.replace("nats://", &format!("tls://{login}@"));
    let agent = url("agent:of-agent");
    let flags = ["--nats", &agent, "--nats-ca", &ca, "--name", "a", "--allow", "ws://127.0.0.1:*"];
    let _agent = Process::start(throng(["agent"]).args(flags));
    let server = Server::start(&[]);
    let load = |login: &str, wait: &str| {
        let mut command = throng(["echo", &server.url(), "--clients", "2", "-s", "20", "--format", "json"]);
        run(command.args(["--fleet", &url(login), "--nats-ca", &ca, "--fleet-wait", wait]), 2 * START_MAX)
    };
    let outcome = load("coordinator:of-coordinator", "60s"); // in which the agent may start
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["counts"]["received"], 20, "{outcome}");
    // An agent's password is no coordinator's.
    assert_eq!(load("agent:of-agent", "5s").code, Some(6));
    load("coordinator:of-agent", "5s").assert_failed(6, "generator.start_workers.denied", &[]);
}

#[test]
fn pods_have_no_rights_and_limits() {
    let folder = deploy().join("kubernetes");
    for name in ["nats.yaml", "agents.yaml", "run.yaml"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        for line in [
            "runAsNonRoot: true",
            "type: RuntimeDefault",
            "readOnlyRootFilesystem: true",
            "allowPrivilegeEscalation: false",
            "drop: [ALL]",
            "automountServiceAccountToken: false",
            "limits:",
        ] {
            assert!(text.contains(line), "{name} lacks {line}");
        }
    }
}

/// The charts of other projects give their pods the same names.
#[test]
fn selectors_of_nats_are_throngs_alone() {
    let read = |name: &str| std::fs::read_to_string(deploy().join("kubernetes").join(name)).unwrap();
    let nats = read("nats.yaml");
    let service = nats.split("\n---\n").find(|object| object.contains("kind: Service")).expect("a service");
    let selectors = service.split_once("  selector:").expect("a selector").1;
    let network = read("network.yaml");
    let mut lines = selectors.lines().chain(network.lines()).map(str::trim);
    let mut found = 0;
    while let Some(line) = lines.next() {
        if line == "app.kubernetes.io/name: nats" {
            assert_eq!(lines.next(), Some("app.kubernetes.io/part-of: throng"));
            found += 1;
        }
    }
    assert_eq!(found, 3);
    assert!(!network.contains("values: [nats"), "{network}");
    for name in ["nats.yaml", "agents.yaml", "run.yaml"] {
        let manifest = read(name);
        let (_, template) = manifest.split_once("  template:\n").expect("a pod");
        let labels = template.split_once("    spec:\n").expect("its contents").0;
        assert!(labels.contains("app.kubernetes.io/part-of: throng"), "{name}");
    }
}

/// The most that `systemd-analyze security` gives.
const EXPOSURE_MAX: f64 = 2.5;

#[test]
fn the_unit_is_exposed_to_little() {
    let file = deploy().join("systemd/throng-agent.service");
    let mut analyze = Command::new("systemd-analyze");
    match analyze.args(["security", "--offline=true", "--no-pager"]).arg(&file).output() {
        Err(error) => skip("the unit's exposure", &error.to_string()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let level = said
                .lines()
                .find_map(|line| line.split_once("Overall exposure level for ")?.1.split_once(": "));
            let Some((_, level)) = level else {
                // Versions before 250 look at no file.
                return skip("the unit's exposure", &String::from_utf8_lossy(&output.stderr));
            };
            let exposure: f64 = level.split(' ').next().and_then(|number| number.parse().ok()).expect(level);
            assert!(exposure < EXPOSURE_MAX, "{said}");
        }
    }
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
