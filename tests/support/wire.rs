//! Two network namespaces and a link between them that loses packets, or is slow. All of it goes with the value.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

use super::{START_MAX, skip};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/wire.py");

/// The place of the server.
pub const SERVER: &str = "10.78.0.2";

pub struct Wire {
    namespaces: [String; 2],
    carrier: Option<Child>,
}

impl Wire {
    /// A link that loses so many percent of the packets, and carries so many bits a second (0: as many as it
    /// can); says so and gives `None` where it cannot be made.
    pub fn new(loss_percent: f64, mbits_per_s: u32) -> Option<Wire> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("throng{}-wire{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut wire = Wire { namespaces: [format!("{name}-a"), format!("{name}-b")], carrier: None };
        match wire.make(loss_percent, mbits_per_s) {
            Ok(()) => Some(wire),
            Err(why) => {
                skip("a link between two networks", &why);
                None
            }
        }
    }

    fn make(&mut self, loss_percent: f64, mbits_per_s: u32) -> Result<(), String> {
        for namespace in &self.namespaces {
            let output = Command::new("ip").args(["netns", "add", namespace]).output();
            let output = output.map_err(|error| format!("ip: {error}"))?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        let mut carrier = Command::new("python3");
        carrier.arg(SCRIPT).args(&self.namespaces).args([loss_percent.to_string(), mbits_per_s.to_string()]);
        let carrier = carrier.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let carrier = self.carrier.insert(carrier.map_err(|error| format!("python3: {error}"))?);
        let mut stdout = BufReader::new(carrier.stdout.take().expect("piped"));
        let (sender, line) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let _ = stdout.read_line(&mut line);
            let _ = sender.send(line);
        });
        if line.recv_timeout(START_MAX).as_deref() != Ok("up\n") {
            let _ = carrier.kill();
            let said = std::io::read_to_string(carrier.stderr.take().expect("piped")).unwrap_or_default();
            return Err(said.lines().last().unwrap_or("it does not come up").to_owned());
        }
        Ok(())
    }

    /// The same command, at the generator's end.
    pub fn near(&self, command: &Command) -> Command {
        inside(&self.namespaces[0], command)
    }

    /// At the server's end, which is [`SERVER`].
    pub fn far(&self, command: &Command) -> Command {
        inside(&self.namespaces[1], command)
    }
}

fn inside(namespace: &str, command: &Command) -> Command {
    let mut inside = super::throng::under("ip", &["netns", "exec", namespace], command);
    for (key, value) in command.get_envs() {
        inside.env(key, value.unwrap_or_default());
    }
    inside
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(mut carrier) = self.carrier.take() {
            let _ = carrier.kill();
            let _ = carrier.wait();
        }
        for namespace in &self.namespaces {
            // One that was never made is not there.
            let _ = Command::new("ip").args(["netns", "delete", namespace]).output();
        }
    }
}
