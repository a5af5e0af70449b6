//! Clients of old versions, for other servers, gone early, or too many.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use proxy::Trouble;

use crate::{Proxy, WITHIN, answering, server, status};

#[test]
fn clients_of_http_1_0_are_answered() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let proxy = Proxy::start(answering(answer));
    let got = proxy.answer("GET /x HTTP/1.0\r\n\r\n");
    assert!(got.starts_with("HTTP/1.") && got.ends_with("\r\n\r\nhello"), "{got}");
    assert!(!got.to_lowercase().contains("transfer-encoding"), "{got}");
    let got = proxy.answer("HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(got.ends_with("\r\n\r\n"), "{got}");
    assert_eq!(proxy.end().len(), 2);
}

#[test]
fn names_of_others_are_refused() {
    let proxy = Proxy::start(answering("HTTP/1.1 204 No Content\r\n\r\n"));
    for request in [
        "GET / HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
        "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\nConnection: close\r\n\r\n",
    ] {
        assert_eq!(status(&proxy.answer(request)), "403", "{request}");
    }
    assert_eq!(proxy.troubles(), BTreeSet::from([Trouble::NotForUs]));
    assert!(proxy.end().is_empty());
}

#[test]
fn client_that_goes_ends_an_endless_stream() {
    let ended = Arc::new(Mutex::new(false));
    let noted = Arc::clone(&ended);
    let address = server(move |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        let sent = loop {
            if let Err(error) = stream.write_all(b"data: hello\n\n") {
                break error;
            }
            thread::sleep(Duration::from_millis(5));
        };
        *noted.lock().unwrap() = true;
        Err(sent)
    });
    let proxy = Proxy::start(address);
    let mut stream = proxy.connect();
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", proxy.address).as_bytes()).unwrap();
    let mut heard = vec![0; 1000];
    stream.read_exact(&mut heard).unwrap();
    assert!(String::from_utf8_lossy(&heard).contains("data: hello"));
    drop(stream);
    let start = Instant::now();
    while !*ended.lock().unwrap() {
        assert!(start.elapsed() < WITHIN, "the server still sends");
        thread::sleep(Duration::from_millis(10));
    }
    proxy.end();
}

#[test]
fn large_bodies_pass_in_bounded_memory() {
    for (kind, bytes) in [("application/octet-stream", 1_u64 << 30), ("text/html", 16 << 20)] {
        let address = server(move |_, stream| {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {bytes}\r\n\r\n")?;
            let portion = vec![b'h'; 1 << 18];
            for _ in 0..bytes >> 18 {
                stream.write_all(&portion)?;
            }
            Ok(())
        });
        let proxy = Proxy::start(address);
        let before = resident_bytes();
        let mut stream = proxy.connect();
        stream
            .write_all(
                format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", proxy.address).as_bytes(),
            )
            .unwrap();
        let (mut portion, mut read, mut most) = (vec![0; 1 << 20], 0, 0);
        loop {
            let now = stream.read(&mut portion).unwrap();
            if now == 0 {
                break;
            }
            read += now as u64;
            most = most.max(resident_bytes());
        }
        assert!(read >= bytes, "{read} of {bytes}");
        assert!(most.saturating_sub(before) < 100 << 20, "{} MiB more for {kind}", (most - before) >> 20);
        let text = proxy.end().remove(0).response.content.text;
        assert_eq!(text.map(|text| text.len()), (kind == "text/html").then_some(2 << 20));
    }
}

fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() << 12
}

#[test]
fn further_connections_wait_for_a_place() {
    let proxy = Proxy::start(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    let request = |stream: &mut TcpStream| {
        let head = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", proxy.address);
        stream.write_all(head.as_bytes()).unwrap();
    };
    let mut idle: Vec<TcpStream> = (0..255).map(|_| proxy.connect()).collect();
    let mut last = proxy.connect();
    request(&mut last);
    last.read_exact(&mut [0; 12]).unwrap();
    assert!(!proxy.troubles().contains(&Trouble::Crowded));
    idle.extend([proxy.connect(), proxy.connect()]);
    proxy.assert_trouble(|trouble| *trouble == Trouble::Crowded);
    let mut further = proxy.connect();
    request(&mut further);
    further.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(further.read(&mut [0]).is_err());
    idle.truncate(200);
    further.set_read_timeout(Some(WITHIN)).unwrap();
    let mut got = String::new();
    further.read_to_string(&mut got).unwrap();
    assert_eq!(status(&got), "200", "{got}");
    proxy.end();
}
