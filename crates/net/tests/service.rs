//! A server found by its port: the processes that share it.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use net::proc::{ProcessTree, Service};
use net::socket::{Addr, listen};
use rustix::process::{Pid, Signal, kill_process_group};

/// Names the address at which a child listens.
const LISTEN: &str = "THRONG_TEST_LISTEN";
const PATIENCE: Duration = Duration::from_secs(30);

/// A process group, which ends with the value.
struct Job(Child);

impl Job {
    /// `"$0" child` in the script is a process that listens at the address, and shares the port.
    fn start(script: &str, address: &str) -> Job {
        let mut command = Command::new("sh");
        let script = script.replace("child", "service::a_child_listens --exact --nocapture");
        command.args(["-c", &script]).arg(env::current_exe().unwrap()).env(LISTEN, address);
        Job(command.process_group(0).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Not a test, but what the others start.
#[test]
fn a_child_listens() {
    let Ok(address) = env::var(LISTEN) else { return };
    let _listener = listen(&Addr::Inet(address.parse().unwrap()), 8, true).unwrap();
    thread::sleep(PATIENCE);
}

/// A port of our own, on which the children listen as well.
fn free_address() -> String {
    let listener = listen(&Addr::Inet("127.0.0.1:0".parse().unwrap()), 8, true).unwrap();
    let Addr::Inet(address) = listener.local_addr().unwrap() else { panic!("not TCP") };
    address.to_string()
}

/// The names of a server's processes, once there are `count`.
fn names(address: &str, count: usize) -> Vec<String> {
    let addr = Addr::Inet(address.parse().unwrap());
    let start = Instant::now();
    loop {
        let service = Service::listening_on([addr.clone()].into_iter()).unwrap();
        let pids = service.map(|service| service.pids()).unwrap_or_default();
        if pids.len() >= count || start.elapsed() > PATIENCE {
            let usage = ProcessTree::of(&pids).sample();
            assert_eq!(usage.map(|usage| usage.processes as usize).unwrap_or(0), pids.len());
            let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            return pids.into_iter().map(|pid| name(pid).trim().to_owned()).collect();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn siblings_of_a_listener_are_left_out() {
    let address = free_address();
    let _job = Job::start("\"$0\" child & sleep 60 & wait", &address);
    let names = names(&address, 1);
    assert!(names.len() == 1 && names[0].starts_with("system"), "{names:?}");
}

#[test]
fn two_jobs_on_one_port_are_one_server() {
    let address = free_address();
    let _jobs = [(); 2].map(|()| Job::start("exec \"$0\" child", &address));
    assert_eq!(names(&address, 2).len(), 2);
}
