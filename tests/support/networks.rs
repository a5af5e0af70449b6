//! Network namespaces, each with an address of its own, linked by a bridge in one more. All of them go with the value.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::skip;

/// Some namespaces and what links them.
pub struct Networks {
    prefix: String,
    members: Vec<Member>,
}

/// One of them.
#[derive(Clone)]
pub struct Member {
    namespace: String,
    /// Its end of the link, at the bridge.
    port: String,
    pub address: String,
}

impl Networks {
    /// The bridge; says so and gives `None` where namespaces are not allowed.
    pub fn new() -> Option<Networks> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("throng{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let networks = Networks { prefix, members: Vec::new() };
        let hub = networks.hub();
        let made = ip(&["netns", "add", &hub])
            .and_then(|()| ip(&["-n", &hub, "link", "add", "hub", "type", "bridge"]));
        if let Err(why) = made.and_then(|()| ip(&["-n", &hub, "link", "set", "hub", "up"])) {
            skip("fleet networks", &why);
            return None;
        }
        if Command::new("nats-server").arg("--version").output().is_err() {
            skip("fleet networks", "there is no nats-server: apt-get install nats-server");
            return None;
        }
        Some(networks)
    }

    /// A namespace more.
    pub fn add(&mut self, name: &str) -> Member {
        let namespace = format!("{}-{name}", self.prefix);
        let member = Member {
            namespace: namespace.clone(),
            port: format!("to-{name}"),
            address: format!("10.77.0.{}", self.members.len() + 1),
        };
        // Known before it is made, so that it goes even if that fails half-way.
        self.members.push(member.clone());
        let (hub, address) = (self.hub(), format!("{}/24", member.address));
        let steps: [&[&str]; 7] = [
            &["netns", "add", &namespace],
            &[
                "-n",
                &hub,
                "link",
                "add",
                &member.port,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                &namespace,
            ],
            &["-n", &hub, "link", "set", &member.port, "master", "hub"],
            &["-n", &hub, "link", "set", &member.port, "up"],
            &["-n", &namespace, "address", "add", &address, "dev", "eth0"],
            &["-n", &namespace, "link", "set", "lo", "up"],
            &["-n", &namespace, "link", "set", "eth0", "up"],
        ];
        for step in steps {
            ip(step).unwrap();
        }
        member
    }

    /// Takes a member's link down.
    pub fn cut(&self, member: &Member) {
        ip(&["-n", &self.hub(), "link", "set", &member.port, "down"]).unwrap();
    }

    /// And up again.
    pub fn mend(&self, member: &Member) {
        ip(&["-n", &self.hub(), "link", "set", &member.port, "up"]).unwrap();
    }

    fn hub(&self) -> String {
        format!("{}-hub", self.prefix)
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        let members = self.members.iter().map(|member| member.namespace.clone());
        for namespace in members.chain([self.hub()]) {
            // One that was never made is not there.
            let _ = ip(&["netns", "delete", &namespace]);
        }
    }
}

impl Member {
    /// A command that runs there.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, program]);
        command
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("ip {}: {said}", arguments.join(" "))) }
}
