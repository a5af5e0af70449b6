//! `throng fleet`: who is there, and what starts more of them.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use crew::fleet::{self, Hello, Rule};

use crate::exit::{Exit, Failure};
use crate::fleet_args::NatsArgs;
use crate::secrets::given;

/// The agents of a fleet: who is there, end what they do, or a manifest that starts them on Kubernetes
#[derive(Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Who is there, and what each does
    List {
        #[command(flatten)]
        at: At,
    },
    /// Make all agents leave their runs, which are then over
    Stop {
        #[command(flatten)]
        at: At,
    },
    /// Print what starts agents on Kubernetes: throng fleet manifest --agents 50 --allow wss://chat.svc | kubectl apply -f -
    Manifest {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
        agents: u16,
        /// Where they run
        #[arg(long, value_name = "NAME", default_value = "throng")]
        namespace: String,
        /// What they run
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
    #[arg(long, value_name = "URL", value_parser = given::url)]
    nats: String,
    #[command(flatten)]
    access: NatsArgs,
}

/// What `kubectl apply -k deploy/kubernetes` starts as well, but for the example of a run.
const MANIFESTS: [&str; 4] = [
    include_str!("../../../../deploy/kubernetes/namespace.yaml"),
    include_str!("../../../../deploy/kubernetes/network.yaml"),
    include_str!("../../../../deploy/kubernetes/nats.yaml"),
    include_str!("../../../../deploy/kubernetes/agents.yaml"),
];

impl Fleet {
    /// Does it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let asked = |error| Failure::could_not("ask the fleet", error);
        let text = match self.job {
            Job::List { at } => list(&fleet::agents(&at.access.at(&at.nats)).map_err(asked)?),
            Job::Stop { at } => {
                let agents = fleet::stop(&at.access.at(&at.nats)).map_err(asked)?;
                let left = agents.iter().filter(|agent| agent.run.is_none()).count();
                format!("{left} of {} agents are free\n", agents.len())
            }
            Job::Manifest { agents, namespace, image, allow } => {
                manifest(agents, &namespace, &image, &allow)?
            }
        };
        let printed = io::stdout().write_all(text.as_bytes());
        printed.map_err(|error| Failure::could_not("write to standard output", error))?;
        Ok(Exit::Fine)
    }
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
        format!("{:width$}  throng {}  {role}  {does}{labels}\n", agent.name, agent.version)
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
    if !plain(namespace, "-") {
        return Err(Failure::usage("--namespace", "expected letters, digits and '-'"));
    }
    if !plain(image, "-_./:@") {
        return Err(Failure::usage("--image", "expected something like registry.example/throng:0.1.0"));
    }
    let own = MANIFESTS.join("---\n");
    let own = own.replace("completions: 4", &format!("completions: {agents}"));
    let own = own.replace("parallelism: 4", &format!("parallelism: {agents}"));
    let allow: String = allow.iter().map(|servers| format!("            - '--allow={servers}'\n")).collect();
    let own = own.replace("            - --allow=ws://server.default.svc\n", &allow);
    let own = own.replace("namespace: throng\n", &format!("namespace: {namespace}\n"));
    let own = own.replace("name: throng\n", &format!("name: {namespace}\n"));
    Ok(own.replace("image: throng:0.1.0\n", &format!("image: {image}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_of_as_many_agents_as_asked() {
        let text =
            manifest(50, "load", "registry.example/throng@sha256:0a", &["ws://*:9000".into()]).unwrap();
        assert!(text.contains("completions: 50\n") && text.contains("parallelism: 50\n"), "{text}");
        assert!(text.contains("kind: Namespace\nmetadata:\n  name: load\n"), "{text}");
        assert_eq!(text.matches("namespace: load\n").count(), text.matches("namespace: ").count(), "{text}");
        assert!(text.contains("image: registry.example/throng@sha256:0a\n"), "{text}");
        assert_eq!(text.matches("--allow=").count(), 1, "{text}");
        assert!(text.contains("            - '--allow=ws://*:9000'\n"), "{text}");
        let nothing = manifest(1, "load", "throng", &[]).unwrap();
        assert!(!nothing.contains("--allow="), "what is not named is not loaded\n{nothing}");
        assert!(manifest(1, "a\nb", "throng", &[]).is_err() && manifest(1, "a", "x y", &[]).is_err());
    }

    #[test]
    fn a_list_says_who_is_busy() {
        assert!(list(&[]).starts_with("no agents"));
        let agent = Hello {
            version: "0.1.0/2".into(),
            id: "1".into(),
            name: "a".into(),
            labels: [("zone".to_owned(), "b".to_owned())].into(),
            threads: 2,
            clients_per_process: 9,
            run: Some("77".into()),
            host: None,
        };
        assert_eq!(list(&[agent]), "a  throng 0.1.0/2  2 threads  run 77  zone=b\n");
    }
}
