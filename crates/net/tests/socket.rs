//! Sockets over loopback and unix paths.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use net::clock::realtime_ns;
use net::errors::ErrorKind;
use net::poll::{Events, Interest, Poller};
use net::socket::{Addr, Listener, Socket, can_bind, connect, has_address, inherited, listen, reserve};

const LOOPBACK: &str = "127.0.0.1:0";

fn peer_addr(socket: &Socket) -> Addr {
    rustix::net::getpeername(socket).unwrap().expect("it is connected").try_into().unwrap()
}

fn inet(addr: &str) -> Addr {
    Addr::Inet(addr.parse().unwrap())
}

/// Waits, for at most five seconds, until the descriptor is readable (or writable).
fn wait(fd: impl AsFd, writable: bool) {
    let poller = Poller::new().unwrap();
    poller.add(fd, 0, if writable { Interest::ReadWriteEdge } else { Interest::ReadEdge }).unwrap();
    let mut events = Events::with_capacity(1);
    poller.wait(&mut events, Some(5_000_000_000)).unwrap();
    assert!(
        events.iter().any(|event| if writable { event.writable } else { event.readable }),
        "no event in 5 s"
    );
}

fn accept(listener: &Listener) -> Socket {
    wait(listener, false);
    listener.accept().unwrap()
}

fn recv(socket: &Socket) -> Vec<u8> {
    wait(socket, false);
    let mut buffer = [0; 64];
    let read = socket.recv(&mut buffer).unwrap();
    buffer[..read].to_vec()
}

fn pair(addr: &Addr) -> (Socket, Socket) {
    let listener = listen(addr, 16, false).unwrap();
    let client = connect(&listener.local_addr().unwrap(), None).unwrap();
    let server = accept(&listener);
    wait(&client, true);
    assert!(client.take_error().unwrap().is_none());
    (client, server)
}

#[test]
fn received_bytes_are_acknowledged() {
    let any = Addr::Inet("127.0.0.1:0".parse().unwrap());
    let listener = listen(&any, 8, false).unwrap();
    let client = connect(&listener.local_addr().unwrap(), None).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    client.send(b"hello").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(client.unacknowledged_bytes().unwrap(), 0, "the kernel has it, accepted or not");
}

#[test]
fn bytes_go_both_ways_over_every_family() {
    let dir = tempfile::tempdir().unwrap();
    for addr in [inet(LOOPBACK), inet("[::1]:0"), Addr::Unix(dir.path().join("s"))] {
        let (client, server) = pair(&addr);
        assert_eq!(client.recv(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock, "{addr}");
        assert_eq!(client.send(b"there").unwrap(), 5);
        assert_eq!(recv(&server), b"there");
        server.send(b"and back").unwrap();
        server.shutdown_write().unwrap();
        assert_eq!(recv(&client), b"and back");
        assert_eq!(recv(&client), b"");
        assert_eq!(peer_addr(&client), server.local_addr().unwrap());
    }
    assert!(!dir.path().join("s").exists(), "a listener takes its file with it");
}

#[test]
fn sockets_are_small_and_send_without_delay() {
    assert_eq!(size_of::<Socket>(), 4);
    let (client, server) = pair(&inet(LOOPBACK));
    assert!(rustix::net::sockopt::tcp_nodelay(&client).unwrap());
    assert!(rustix::net::sockopt::tcp_nodelay(&server).unwrap(), "inherited from the listener");
}

#[test]
fn clients_spread_over_source_addresses() {
    let listener = listen(&inet(LOOPBACK), 16, false).unwrap();
    let local = IpAddr::V4(Ipv4Addr::new(127, 3, 2, 1));
    let client = connect(&listener.local_addr().unwrap(), Some(local)).unwrap();
    let server = accept(&listener);
    assert_eq!(peer_addr(&server), client.local_addr().unwrap());
    assert!(matches!(client.local_addr().unwrap(), Addr::Inet(addr) if addr.ip() == local));
    let elsewhere = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    let error = connect(&listener.local_addr().unwrap(), elsewhere).unwrap_err();
    assert_eq!(ErrorKind::of(&error), ErrorKind::AddrNotAvailable);
}

#[test]
fn refusal_and_reset_are_named() {
    // A port that is taken, so that no other socket can listen on it, and not listened on.
    let reserved = reserve(&LOOPBACK.parse().unwrap()).unwrap();
    let refused = match connect(&reserved.local_addr().unwrap(), None) {
        Ok(client) => {
            wait(&client, true);
            client.take_error().unwrap().unwrap()
        }
        Err(error) => error,
    };
    assert_eq!(ErrorKind::of(&refused), ErrorKind::Refused);

    let (client, server) = pair(&inet(LOOPBACK));
    server.abort();
    wait(&client, false);
    assert_eq!(ErrorKind::of(&client.recv(&mut [0]).unwrap_err()), ErrorKind::Reset);
    assert_eq!(ErrorKind::of(&client.send(b"x").unwrap_err()), ErrorKind::BrokenPipe);
    let missing = connect(&Addr::Unix("/no/such/socket".into()), None).unwrap_err();
    assert_eq!(ErrorKind::of(&missing), ErrorKind::NotFound);
}

#[test]
fn stamps_say_when_bytes_arrived() {
    let (client, server) = pair(&inet(LOOPBACK));
    client.send(b"before").unwrap();
    wait(&server, false);
    assert_eq!(server.recv_stamped(&mut [0; 64]).unwrap(), (6, None));
    server.enable_timestamps().unwrap();
    let start_ns = realtime_ns();
    // Stamping is switched on for all sockets in the background: the first packets may miss it.
    for _ in 0..200 {
        client.send(b"after").unwrap();
        wait(&server, false);
        let sent_ns = realtime_ns();
        std::thread::sleep(std::time::Duration::from_millis(5));
        if let (5, Some(at_ns)) = server.recv_stamped(&mut [0; 64]).unwrap() {
            assert!((start_ns..=sent_ns).contains(&at_ns), "{at_ns} is not the time of arrival");
            return;
        }
    }
    panic!("never a stamp");
}

#[test]
fn listeners_share_a_port_only_when_asked_to() {
    let first = listen(&inet(LOOPBACK), 16, true).unwrap();
    let addr = first.local_addr().unwrap();
    let second = listen(&addr, 16, true).unwrap();
    assert_eq!(second.local_addr().unwrap(), addr);
    assert_eq!(ErrorKind::of(&listen(&addr, 16, false).unwrap_err()), ErrorKind::AddrInUse);
}

#[test]
fn only_dead_unix_sockets_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the standard library leaves the file behind");
    let living = listen(&Addr::Unix(path.clone()), 16, false).unwrap();
    let second = listen(&Addr::Unix(path.clone()), 16, false);
    assert_eq!(ErrorKind::of(&second.unwrap_err()), ErrorKind::AddrInUse);
    assert!(path.exists(), "the loser leaves the winner's file alone");
    drop(living);
    std::fs::write(&path, "not a socket").unwrap();
    assert!(listen(&Addr::Unix(path.clone()), 16, false).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a socket");
}

#[test]
fn ordinary_sockets_reach_it() {
    let listener = listen(&inet(LOOPBACK), 16, false).unwrap();
    let Addr::Inet(addr) = listener.local_addr().unwrap() else { panic!("not TCP") };
    let mut client = TcpStream::connect(addr).unwrap();
    let server = accept(&listener);
    server.set_recv_buffer_bytes(4096).unwrap();
    client.write_all(b"ping").unwrap();
    assert_eq!(recv(&server), b"ping");
    server.send(b"pong").unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"pong");
}

#[test]
fn an_address_is_this_machine_s_or_not() {
    assert!(has_address("127.0.0.1".parse().unwrap()));
    // Of a network for documentation (RFC 5737): no machine has it.
    assert!(!has_address("192.0.2.1".parse().unwrap()));
}

#[test]
fn nobody_is_reached_where_a_server_could_listen() {
    // Below the ephemeral ports, which the kernel also gives to clients: one that connects here could reach
    // itself.
    let mut addrs = (24_000..32_000).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let addr = addrs.find(|addr| can_bind(addr).is_ok()).expect("a free port");
    let listener = listen(&Addr::Inet(addr), 16, false).unwrap();
    assert_eq!(ErrorKind::of(&can_bind(&addr).unwrap_err()), ErrorKind::AddrInUse);
    drop(listener);

    // Children inherit what is open while they are forked, until their exec.
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        });
        let reached =
            (0..2_000).filter(|_| can_bind(&addr).is_ok() && TcpStream::connect(addr).is_ok()).count();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(reached, 0, "of 2,000 attempts to connect");
    });
}

#[test]
fn a_reserved_port_is_for_those_who_share() {
    let Addr::Inet(any) = inet(LOOPBACK) else { unreachable!() };
    let reserved = reserve(&any).unwrap();
    let addr = reserved.local_addr().unwrap();
    let Addr::Inet(exact) = addr else { panic!("not TCP") };
    let sharers = [listen(&addr, 16, true).unwrap(), listen(&addr, 16, true).unwrap()];
    assert_eq!(ErrorKind::of(&listen(&addr, 16, false).unwrap_err()), ErrorKind::AddrInUse);
    assert_eq!(ErrorKind::of(&reserve(&exact).unwrap_err()), ErrorKind::AddrInUse, "listened on already");
    for _ in 0..8 {
        let client = connect(&addr, None).unwrap();
        wait(&client, true);
        assert!(client.take_error().unwrap().is_none(), "the reservation itself takes no connections");
    }
    drop(sharers);
}

#[test]
fn open_sockets_are_inherited_once() {
    let (client, server) = pair(&inet(LOOPBACK));
    assert!(inherited(client.as_fd().as_raw_fd()).is_err(), "closed on exec: it is ours alone");
    let number = client.leave_open_on_exec().unwrap();
    // As in a new process, the number is all that there is.
    std::mem::forget(client);
    let child = inherited(number).unwrap();
    assert!(inherited(number).is_err());
    assert!(inherited(0).is_err() && inherited(9999).is_err());
    child.send(b"hello").unwrap();
    assert_eq!(recv(&server), b"hello");
}

#[test]
fn a_full_backlog_does_not_hang() {
    let dir = tempfile::tempdir().unwrap();
    let addr = Addr::Unix(dir.path().join("s"));
    let listener = listen(&addr, 1, false).unwrap();
    let mut waiting = Vec::new();
    // Like a server that is stopped: it accepts no connection.
    let full = loop {
        match connect(&addr, None) {
            Ok(client) => waiting.push(client),
            Err(error) => break error,
        }
    };
    assert_eq!(ErrorKind::of(&full), ErrorKind::WouldBlock);
    let (sender, receiver) = std::sync::mpsc::channel();
    let again = addr.clone();
    thread::spawn(move || sender.send(listen(&again, 1, false)));
    let second =
        receiver.recv_timeout(std::time::Duration::from_secs(5)).expect("an answer, without waiting");
    assert_eq!(ErrorKind::of(&second.unwrap_err()), ErrorKind::AddrInUse);
    drop(listener);
}
