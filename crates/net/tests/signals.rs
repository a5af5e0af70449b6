//! Signals change the whole process: a test binary of their own.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use net::poll::{Events, Interest, Poller};
use net::signals::{Interrupts, end_with_parent, kill_with_parent};
use rustix::process::{Signal, getpid, kill_process};

#[test]
fn interrupts_are_counted_and_wake_a_poller() {
    let interrupts = Interrupts::install().unwrap();
    let poller = Poller::new().unwrap();
    poller.add(interrupts, 5, Interest::ReadEdge).unwrap();
    let mut events = Events::with_capacity(4);
    poller.wait(&mut events, Some(0)).unwrap();
    assert!(events.is_empty());
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"y").unwrap();
    assert!(interrupts.wait_for_input(&reader).unwrap());
    for (signal, count) in [(Signal::INT, 1), (Signal::TERM, 2)] {
        kill_process(getpid(), signal).unwrap();
        // What is passed on at once is the same request.
        kill_process(getpid(), Signal::INT).unwrap();
        while events.is_empty() {
            poller.wait(&mut events, Some(5_000_000_000)).unwrap();
        }
        assert_eq!(events.iter().next().unwrap().token, 5);
        assert_eq!(interrupts.count(), count);
        events = Events::with_capacity(4);
        assert!(!interrupts.wait_for_input(&reader).unwrap());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn children_end_with_their_thread() {
    for (with_parent, signal) in
        [(end_with_parent as fn(&mut Command) -> &mut Command, 15), (kill_with_parent, 9)]
    {
        let spawn = move || with_parent(Command::new("sleep").arg("60")).spawn().unwrap();
        let mut orphan = std::thread::spawn(spawn).join().unwrap();
        assert_eq!(orphan.wait().unwrap().signal(), Some(signal));
    }
}
