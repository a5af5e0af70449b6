//! HAProxy before servers, where it is installed.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use super::process::Process;
use super::{free_address, skip};

/// A proxy that is running.
pub struct Haproxy {
    pub address: SocketAddr,
    _process: Process,
    _folder: tempfile::TempDir,
}

impl Haproxy {
    /// Starts one with these lines in its section of defaults, and these servers behind it; prints the reason
    /// for skipping `what` if there is none.
    pub fn start(what: &str, defaults: &[&str], balance: &[&str], servers: &[SocketAddr]) -> Option<Haproxy> {
        if Command::new("haproxy").arg("-v").output().is_err() {
            skip(what, "needs haproxy");
            return None;
        }
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        let named = servers.iter().enumerate().map(|(n, server)| format!("server s{n} {server} cookie s{n}"));
        let behind: Vec<String> = balance.iter().map(|&line| line.to_owned()).chain(named).collect();
        let text = format!(
            "defaults\n mode http\n timeout connect 5s\n {}\nfrontend all\n bind {address}\n \
             default_backend nodes\nbackend nodes\n {}\n",
            defaults.join("\n "),
            behind.join("\n "),
        );
        let path = folder.path().join("haproxy.cfg");
        fs::write(&path, text).unwrap();
        let process =
            Process::start(Command::new("haproxy").arg("-db").arg("-f").arg(&path)).listening_at(address);
        Some(Haproxy { address, _process: process, _folder: folder })
    }
}
