//! A server in several processes, and one with few descriptors. This binary is both the test and the servers
//! that it starts.

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::*;
use net::proc::{ProcessTree, pids_listening_on};
use net::socket::Addr;
use refserver::{Family, Options, Server, Sibling, Stats, StopFlag};

/// The variable that makes children end before they listen.
const FAIL: &str = "THRONG_TEST_FAIL";

fn main() {
    if let Some(sibling) = Sibling::from_env().expect("a part that makes sense") {
        return serve_as(sibling);
    }
    if let Some(socket) = std::env::args().nth(1).filter(|socket| socket.starts_with('/')) {
        return serve_alone(&socket);
    }
    a_broadcast_reaches_the_clients_of_all_processes();
    every_process_serves_the_unix_socket();
    a_child_that_dies_ends_the_family();
    children_that_do_not_come_up_are_an_error();
    out_of_descriptors_the_server_waits_and_recovers();
    a_stopping_server_is_idle();
    println!("6 tests of processes passed");
}

fn serve_as(sibling: Sibling) {
    assert!(std::env::var_os(FAIL).is_none(), "told to fail");
    let stop = StopFlag::on_signals().unwrap();
    let socket = std::env::args().nth(1).expect("a socket's path");
    let server = Server::join(options(&socket), sibling).unwrap();
    server.run(&stop).unwrap();
}

fn serve_alone(socket: &str) {
    let server = Server::bind(Options::new(vec![Addr::Unix(socket.into())])).unwrap();
    server.run(&StopFlag::on_signals().unwrap()).unwrap();
}

fn options(socket: &str) -> Options {
    let mut options =
        Options::new(vec![Addr::Inet("127.0.0.1:0".parse().unwrap()), Addr::Unix(socket.into())]);
    options.threads = 2;
    options.grace_ns = 1_000_000_000;
    options
}

fn command(socket: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(socket);
    command
}

/// Runs a family of three processes and a test of it, and gives the family's result.
fn with_family(stop: &StopFlag, test: impl FnOnce(&Addr, &str)) -> std::io::Result<Stats> {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s").to_str().unwrap().to_owned();
    let family = Family::start(&options(&socket), 3, || command(&socket)).unwrap();
    test(&family.local_addrs()[0].clone(), &socket);
    family.run(stop)
}

fn open(addr: &Addr) -> TcpStream {
    let Addr::Inet(addr) = addr else { panic!("not TCP") };
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    upgrade(&mut stream);
    stream
}

fn a_broadcast_reaches_the_clients_of_all_processes() {
    let stop = StopFlag::new();
    let stats = with_family(&stop, |addr, socket| {
        let mut clients: Vec<TcpStream> = (0..24).map(|_| open(addr)).collect();
        let mut unix = UnixStream::connect(socket).unwrap();
        unix.set_read_timeout(Some(PATIENCE)).unwrap();
        upgrade(&mut unix);
        for (number, client) in clients.iter_mut().take(4).enumerate() {
            client.write_all(&frame(TEXT, broadcast_text(number).as_bytes())).unwrap();
        }
        let expected: Vec<String> = (0..4).map(broadcast_text).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            let mut heard = read_texts(client, if number < 4 { 5 } else { 4 });
            heard.retain(|text| !text.contains("Result"));
            assert_eq!(heard, expected, "client {number}");
            assert_silent(client);
        }
        assert_eq!(read_texts(&mut unix, 4), expected);
        stop.stop();
    });
    let stats = stats.unwrap();
    assert_eq!((stats.connections, stats.broadcasts, stats.copies), (25, 4, 100));
    assert_eq!(stats.handovers_dropped, 0);
}

fn every_process_serves_the_unix_socket() {
    let stop = StopFlag::new();
    let stats = with_family(&stop, |addr, socket| {
        let stopped = pids_listening_on(addr).unwrap()[0];
        let signal = |name: &str| Command::new("kill").args([name, &stopped.to_string()]).status().unwrap();
        assert!(signal("-STOP").success());
        for _ in 0..5 {
            let mut unix = UnixStream::connect(socket).unwrap();
            unix.set_read_timeout(Some(PATIENCE)).unwrap();
            upgrade(&mut unix);
        }
        assert!(signal("-CONT").success());
        stop.stop();
    });
    assert_eq!(stats.unwrap().connections, 5);
}

fn a_child_that_dies_ends_the_family() {
    let start = Instant::now();
    let error = with_family(&StopFlag::new(), |addr, _| {
        let pid = pids_listening_on(addr).unwrap()[0];
        assert_ne!(pid, std::process::id());
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("signal: 9"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

fn children_that_do_not_come_up_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s").to_str().unwrap().to_owned();
    let mut failing = || {
        let mut command = command(&socket);
        command.env(FAIL, "1").stderr(std::process::Stdio::null());
        command
    };
    let error = Family::start(&options(&socket), 2, &mut failing).err().expect("they cannot come up");
    assert!(error.to_string().contains("exit status: 101"), "{error}");
}

fn a_stopping_server_is_idle() {
    let mut own = ProcessTree::new(std::process::id());
    let mut cpu_ns = || {
        let usage = own.sample().unwrap();
        usage.user_ns + usage.system_ns
    };
    let (before_ns, stop) = (cpu_ns(), StopFlag::new());
    let mut late = None;
    let stats = with_family(&stop, |addr, socket| {
        let (mut held, socket) = (open(addr), socket.to_owned());
        late = Some(std::thread::spawn(move || {
            assert_eq!(read_frame(&mut held).0, CLOSE);
            // The parent has this socket open as long as the children wait for the answer to their close.
            std::thread::sleep(Duration::from_millis(100));
            let late: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
            (held, late)
        }));
        stop.stop();
    });
    assert_eq!(stats.unwrap().upgrades, 1);
    drop(late.expect("started").join().unwrap());
    let cpu_ns = cpu_ns() - before_ns;
    assert!(cpu_ns < 300_000_000, "spins: {cpu_ns} ns of CPU while it waits for one client");
}

/// A process that ends with the test, even with a failed one.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn out_of_descriptors_the_server_waits_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 32; exec \"$0\" \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(&socket);
    let server = Ends(command.spawn().unwrap());
    let deadline = Instant::now() + PATIENCE;
    let connect = || loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    let mut clients: Vec<UnixStream> = (0..50).map(|_| connect()).collect();
    for client in &mut clients {
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(upgrade_request().as_bytes()).unwrap();
    }
    let mut tree = ProcessTree::new(server.0.id());
    let before = loop {
        let usage = tree.sample().unwrap();
        // All descriptors are in use, and perhaps inherited ones above.
        if usage.fds >= Some(32) {
            break usage;
        }
        assert!(Instant::now() < deadline, "descriptors are left: {usage:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    std::thread::sleep(Duration::from_millis(500));
    let after = tree.sample().unwrap();
    let cpu_ns = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
    assert!(cpu_ns < 100_000_000, "spins: {cpu_ns} ns of CPU while it can do nothing");
    for mut client in clients {
        assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "), "served when others have left");
    }
}
