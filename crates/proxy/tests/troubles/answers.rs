//! Answers of servers that are down, broken or odd, and the pages that the proxy rewrites.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use proxy::Trouble;

use crate::{Proxy, answering, secure_server, serve_on, server, status, trusting};

#[test]
fn server_that_is_down_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Proxy::start(address);
    proxy.assert_trouble(|trouble| matches!(trouble, Trouble::Unreachable(_)));
    assert_eq!(status(&proxy.get("/")), "502");
    // It goes on as soon as the server is there.
    serve_on(TcpListener::bind(address).unwrap(), |_, stream| {
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
    });
    assert_eq!(status(&proxy.get("/")), "204");
    let statuses: Vec<i64> = proxy.end().iter().map(|entry| entry.response.status).collect();
    assert_eq!(statuses, [0, 204]);
}

#[test]
fn half_and_senseless_answers_are_cut() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n5\r\nhalf",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "",
    ] {
        let proxy = Proxy::start(answering(answer));
        let got = proxy.get("/");
        assert!(["200", "502", "none"].contains(&status(&got)), "{got}");
        assert!(!got.ends_with("0\r\n\r\n"), "{got}");
        proxy.assert_trouble(|trouble| *trouble == Trouble::BrokenAnswer);
        proxy.end();
    }
}

/// Name and port that a request asks for.
fn host(head: &str) -> &str {
    let name = |line: &'_ str| line.len() > 6 && line[..6].eq_ignore_ascii_case("host: ");
    head.lines().find(|line| name(line)).map(|line| &line[6..]).unwrap()
}

#[test]
fn chunked_and_compressed_pages_are_rewritten() {
    let address = server(|head, stream| {
        let host = host(head);
        assert!(head.contains("identity"), "{head}");
        let page = format!("<a href=\"http://{host}/a\">");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(page.as_bytes())?;
        let coded = gzip.finish()?;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        for chunk in coded.chunks(10) {
            write!(stream, "{:x}\r\n", chunk.len())?;
            stream.write_all(chunk)?;
            write!(stream, "\r\n")?;
        }
        write!(stream, "0\r\n\r\n")
    });
    let proxy = Proxy::start(address);
    let got = proxy.get("/");
    assert!(got.contains(&format!("http://localhost:{}/a\">", proxy.address.port())), "{got}");
    let entry = proxy.end().remove(0);
    assert_eq!(entry.response.content.text, Some(format!("<a href=\"http://{address}/a\">")));
    assert_eq!(entry.request.url, format!("http://{address}/"));
}

/// A body without a type is what its first letter says: a page, JSON, or neither.
#[test]
fn untyped_pages_are_kept_and_rewritten() {
    let address = server(|head, stream| {
        let host = host(head);
        let start = match head.split(' ').nth(1) {
            Some("/page") => "<a>",
            Some("/json") => "{",
            _ => "PK",
        };
        let body = format!("\n {start}http://{host}/a");
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
        for part in [&body[..1], &body[1..3], &body[3..]] {
            stream.write_all(part.as_bytes())?;
            stream.flush()?;
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    });
    let proxy = Proxy::start(address);
    let own = format!("http://localhost:{}/a", proxy.address.port());
    for (path, start, is_page) in [("/page", "<a>", true), ("/json", "{", true), ("/zip", "PK", false)] {
        // HTTP/1.0: a body in one piece.
        let got =
            proxy.answer(&format!("GET {path} HTTP/1.0\r\nHost: localhost:{}\r\n\r\n", proxy.address.port()));
        assert_eq!(got.contains(&format!("\n {start}{own}")), is_page, "{got}");
        assert_eq!(got.contains(&format!("\n {start}http://{address}/a")), !is_page, "{got}");
    }
    let kept: Vec<bool> =
        proxy.end().into_iter().map(|entry| entry.response.content.text.is_some()).collect();
    assert_eq!(kept, [true, true, false]);
}

#[test]
fn empty_bodies_need_no_coding() {
    let head = "HTTP/1.1 302 Found\r\nLocation: /in\r\nContent-Type: text/html\r\nContent-Encoding: GZIP\r\nContent-Length: 0\r\n\r\n";
    let proxy = Proxy::start(answering(head));
    let got = proxy.get("/");
    assert!(status(&got) == "302" && got.ends_with("0\r\n\r\n"), "{got}");
    assert_eq!(proxy.troubles(), BTreeSet::new());
    proxy.end();
}

#[test]
fn servers_with_tls_are_judged() {
    let (port, pem) = secure_server(|port, stream| {
        write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: https://localhost:{port}/in\r\nContent-Length: 0\r\n\
             Set-Cookie: s=1; Secure; SameSite=None\r\nConnection: close\r\n\r\n"
        )
    });
    let url = format!("https://localhost:{port}");
    let (_, foreign) = secure_server(|_, _| Ok(()));
    let proxy = Proxy::start_with(&url, &trusting(pem));
    let got = proxy.get("/login").to_lowercase();
    for line in [
        format!("location: http://localhost:{}/in", proxy.address.port()),
        "set-cookie: s=1; samesite=lax".to_owned(),
    ] {
        assert!(got.contains(&format!("{line}\r\n")), "{line}: {got}");
    }
    let entry = proxy.end().remove(0);
    assert_eq!((entry.request.url, entry.response.status), (format!("{url}/login"), 302));
    let proxy = Proxy::start_with(&url, &trusting(foreign));
    assert_eq!(status(&proxy.get("/")), "502");
    proxy
        .assert_trouble(|trouble| matches!(trouble, Trouble::Unreachable(why) if why.contains("--insecure")));
    proxy.end();
}

#[test]
fn unknown_codings_pass() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\n";
    let proxy = Proxy::start(answering(format!("{head}\x01\x02\x03\x04")));
    assert!(proxy.get("/").ends_with("\r\n\r\n\x01\x02\x03\x04"));
    proxy.assert_trouble(|trouble| *trouble == Trouble::Encoded("br".to_owned()));
    assert_eq!(proxy.end()[0].response.content.text, None);
}
