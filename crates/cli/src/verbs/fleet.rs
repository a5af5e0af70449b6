//! `throng fleet`: which agents are there, and how to start more.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use fleet::{FleetKey, Hello, Nats, Rule};
use secret::Secret;

use crate::exit::{Exit, Failure, variant};
use crate::flags::fleet_args::{KeyArgs, NatsArgs};
use crate::output;
use crate::secrets::given;

/// The agents of a fleet: list them, end their runs, make a key, or print a Kubernetes manifest
#[derive(Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// List the agents, and what each is doing
    List {
        #[command(flatten)]
        at: At,
    },
    /// End all runs: make every agent leave its run
    Stop {
        #[command(flatten)]
        at: At,
        #[command(flatten)]
        key: KeyArgs,
    },
    /// Make a key that signs orders: the seed goes into FILE, for --fleet-key; the printed part is for throng agent
    /// --agent-key
    NewKey {
        /// The file for the seed; it must not exist yet
        file: PathBuf,
    },
    /// Print a manifest that starts agents on Kubernetes: throng fleet manifest --agents 50 --allow wss://chat.svc |
    /// kubectl apply -f -
    Manifest {
        /// How many agents
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
        agents: u16,
        /// Their namespace
        #[arg(long, value_name = "NAME", default_value = NAMESPACE)]
        namespace: String,
        /// Their image
        #[arg(long, value_name = "IMAGE", default_value = concat!("throng:", env!("CARGO_PKG_VERSION")))]
        image: String,
        /// Servers that they may load, e.g. ws://chat.default.svc [default: none]
        #[arg(long, value_name = "SERVERS", value_delimiter = ',', value_parser = servers)]
        allow: Vec<String>,
    },
}

#[derive(Args)]
struct At {
    /// NATS, e.g. nats://10.0.0.1:4222
    #[arg(long, value_name = "URL", value_parser = given::whole_url)]
    nats: Secret,
    #[command(flatten)]
    access: NatsArgs,
}

impl At {
    fn nats(&self) -> Result<Nats, Failure> {
        self.access.at("--nats", &self.nats)
    }
}

/// The namespace of the manifests, restricted by one of them. In another, pods of others might not start so.
const NAMESPACE: &str = "throng";
const NAMESPACE_MANIFEST: &str = include_str!("../../kubernetes/namespace.yaml");
/// Manifests that `kubectl apply -k deploy/kubernetes` applies besides, except the example of a run.
const MANIFESTS: [&str; 3] = [
    include_str!("../../kubernetes/network.yaml"),
    include_str!("../../kubernetes/nats.yaml"),
    include_str!("../../kubernetes/agents.yaml"),
];

impl Fleet {
    /// Does it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let asked = |error: fleet::Error| {
            let reason = variant(&error);
            Failure::could_not("ask_fleet", "ask the fleet", error).because(reason)
        };
        let text = match self.job {
            Job::List { at } => list(&fleet::agents(&at.nats()?).map_err(asked)?),
            Job::Stop { at, key } => {
                let agents = fleet::stop(&at.nats()?, key.key()).map_err(asked)?;
                let printed = output::print(&stopped(&agents, key.key()))?;
                // A script that goes on to use them must know.
                let is_busy = agents.iter().any(|agent| agent.run.is_some());
                return Ok(if is_busy { Exit::CouldNotRun } else { printed });
            }
            Job::NewKey { file } => new_key(&file)?,
            Job::Manifest { agents, namespace, image, allow } => {
                manifest(agents, &namespace, &image, &allow)?
            }
        };
        output::print(&text)
    }
}

/// Summarises the end of all runs, which this key signs.
fn stopped(agents: &[Hello], key: Option<&FleetKey>) -> String {
    let busy = agents.iter().filter_map(|agent| Some((&agent.name, fleet::why_busy(agent, key)?)));
    let busy: Vec<String> = busy.map(|(name, why)| format!("  {name} {why}\n")).collect();
    format!("{} of {} agents are free\n{}", agents.len() - busy.len(), agents.len(), busy.concat())
}

/// Makes a pair of keys; the public one is the answer.
fn new_key(file: &Path) -> Result<String, Failure> {
    let key = FleetKey::generate();
    let cannot = |error| Failure::could_not("write", format!("write {}", file.display()), error);
    let mut seed = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(cannot)?;
    writeln!(seed, "{}", key.seed().reveal()).map_err(cannot)?;
    Ok(format!("{}\n", key.public()))
}

fn list(agents: &[Hello]) -> String {
    if agents.is_empty() {
        return "no agents; start some with throng agent --nats URL\n".to_owned();
    }
    let width = agents.iter().map(|agent| agent.name.len()).max().unwrap_or(0);
    let line = |agent: &Hello| {
        let labels: String = agent.labels.iter().map(|(key, value)| format!("  {key}={value}")).collect();
        let does = agent.run.as_ref().map_or("free".to_owned(), |run| format!("run {run}"));
        let role = match &agent.host {
            Some(host) => format!("servers at {}", host.address),
            None => format!("{} threads", agent.threads),
        };
        let lock: String = agent.lock.iter().map(|lock| format!("  obeys {}", lock.key)).collect();
        format!("{:width$}  throng {}  {role}  {does}{labels}{lock}\n", agent.name, agent.version)
    };
    agents.iter().map(line).collect()
}

/// Servers as `throng agent --allow` takes them.
fn servers(text: &str) -> Result<String, String> {
    // It stands between quotes in the manifest.
    let is_plain = !text.contains(|c: char| c.is_control() || "'\"\\".contains(c));
    text.parse::<Rule>()
        .and_then(|_| is_plain.then(|| text.to_owned()).ok_or("quotes are not allowed".to_owned()))
}

/// The manifests, with the numbers and names of this fleet.
fn manifest(agents: u16, namespace: &str, image: &str, allow: &[String]) -> Result<String, Failure> {
    let plain = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    // Both are put into YAML as they are.
    if !plain(namespace, "-") {
        return Err(Failure::usage("--namespace", "expected letters, digits and '-'"));
    }
    if !plain(image, "-_./:@") {
        return Err(Failure::usage("--image", "expected something like registry.example/throng:0.1.0"));
    }
    let mut manifests = MANIFESTS.to_vec();
    if namespace == NAMESPACE {
        manifests.insert(0, NAMESPACE_MANIFEST);
    }
    let own = manifests.join("---\n");
    let own = own.replace("completions: 4", &format!("completions: {agents}"));
    let own = own.replace("parallelism: 4", &format!("parallelism: {agents}"));
    let allow: String = allow.iter().map(|servers| format!("            - '--allow={servers}'\n")).collect();
    let own = own.replace("            - --allow=ws://server.default.svc\n", &allow);
    let own = own.replace("namespace: throng\n", &format!("namespace: {namespace}\n"));
    Ok(own.replace("image: throng:0.1.0\n", &format!("image: {image}\n")))
}

#[cfg(test)]
mod tests {
    use fleet::ClaimChallenge;

    use super::*;

    #[test]
    fn manifests_have_the_agents_asked_for() {
        let text =
            manifest(50, "load", "registry.example/throng@sha256:0a", &["ws://*:9000".into()]).unwrap();
        assert!(text.contains("completions: 50\n") && text.contains("parallelism: 50\n"), "{text}");
        assert_eq!(text.matches("namespace: load\n").count(), text.matches("namespace: ").count(), "{text}");
        assert!(text.contains("image: registry.example/throng@sha256:0a\n"), "{text}");
        assert_eq!(text.matches("--allow=").count(), 1, "{text}");
        assert!(text.contains("            - '--allow=ws://*:9000'\n"), "{text}");
        let nothing = manifest(1, "load", "throng", &[]).unwrap();
        assert!(!nothing.contains("--allow="), "what is not named is not loaded\n{nothing}");
        assert!(manifest(1, "a\nb", "throng", &[]).is_err() && manifest(1, "a", "x y", &[]).is_err());
    }

    #[test]
    fn manifests_leave_other_pods_alone() {
        for (namespace, own) in [("throng", 1), ("default", 0)] {
            let text = manifest(4, namespace, "throng", &[]).unwrap();
            assert_eq!(text.matches("kind: Namespace\n").count(), own, "{text}");
            assert!(!text.contains("  podSelector: {}"), "{text}");
        }
    }

    fn agent() -> Hello {
        Hello {
            version: "0.1.0/2".into(),
            id: "1".into(),
            name: "a".into(),
            labels: [("zone".to_owned(), "b".to_owned())].into(),
            threads: 2,
            clients_per_process: 9,
            run: Some("77".into()),
            host: None,
            sealed_to: "X".repeat(56),
            lock: None,
        }
    }

    fn locked() -> Hello {
        Hello { lock: Some(ClaimChallenge { key: "UAB".into(), word: "w".into() }), ..agent() }
    }

    #[test]
    fn a_list_says_who_is_busy() {
        assert!(list(&[]).starts_with("no agents"));
        assert_eq!(list(&[agent()]), "a  throng 0.1.0/2  2 threads  run 77  zone=b\n");
        assert!(list(&[locked()]).ends_with("  run 77  zone=b  obeys UAB\n"));
    }

    #[test]
    fn agents_busy_after_a_stop_are_named() {
        let free = Hello { run: None, ..locked() };
        let key = FleetKey::generate();
        for (agent, key, named) in [
            (agent(), None, " not left run 77"),
            (locked(), None, " UAB; "),
            (locked(), Some(&key), key.public().as_str()),
        ] {
            let text = stopped(&[free.clone(), agent], key);
            assert!(text.starts_with("1 of 2 ") && text.contains(named), "{named}: {text}");
        }
    }
}
