//! `throng probe URL` against servers that let clients resume: how long, and how many messages back.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::data_sheet::{assert_true, sheet};
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, Server};
use crate::support::{free_address, skip, timed};

const NCHAN: &str = "/usr/lib/nginx/modules/ngx_nchan_module.so";

fn resumed(url: &str, flags: &[&str]) -> Outcome {
    sheet(url, &[&["--yes"], flags].concat())
}

/// Time between pings and for each answer: a busy machine may take more than the server's usual second.
const PING_MS: &str = "5000";

#[test]
fn recovery_of_socketio_ends_in_time() {
    let scripts = match Scripts::install_in("tests/servers", "socketio") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("socket.io (npm), the server", &why),
    };
    let probe = |recovery_ms: &str| {
        let address = free_address();
        let _server = scripts
            .start("server.js", &[&address.port().to_string(), recovery_ms, PING_MS])
            .listening_at(address);
        resumed(&format!("ws://{address}/socket.io"), &["--absence", "6s"])
    };
    timed(|| {
        let truth =
            [("resume/recovery", "true"), ("resume_time/limit_s", "3"), ("resume_messages/limit", "null")];
        assert_true("3 s", &probe("3000"), truth);
    });
    let truth = [("resume_time/limit_s", "null"), ("resume_messages/limit", "null")];
    assert_true("a minute", &probe("60000"), truth);
    let none = probe("0");
    assert_true("none", &none, [("resume/recovery", "false")]);
    for row in ["resume_time", "resume_messages"] {
        assert!(none.json()["rows"][row]["not_tried"].is_string(), "{row}: {none}");
    }
}

#[test]
fn messages_of_nchan_are_kept_in_bounds() {
    if !Path::new(NCHAN).exists() {
        return skip("nchan", "needs it: apt install nginx-light libnginx-mod-nchan");
    }
    let probe = |timeout: &str, messages: &str, absence: &str| {
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        let conf = include_str!("servers/sse/nchan.conf")
            .replace("PORT", &address.port().to_string())
            .replace("timeout 60s", &format!("timeout {timeout}"))
            .replace("length 10000", &format!("length {messages}"));
        fs::write(folder.path().join("nginx.conf"), conf).unwrap();
        let mut nginx = Command::new("nginx");
        let _nginx =
            Process::start(nginx.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path()))
                .listening_at(address);
        let flags = ["--publish-url", "/publish/1", "--absence", absence];
        resumed(&format!("http://{address}/events?room=1"), &flags)
    };
    timed(|| {
        // nchan's messages live for up to a second longer: its clock has whole seconds.
        let truth = [("resume_time/limit_s", "12.5"), ("resume_messages/limit", "null")];
        assert_true("12 s", &probe("12s", "10000", "15s"), truth);
    });
    let truth = [("resume_time/limit_s", "null"), ("resume_messages/limit", "40")];
    assert_true("40 messages", &probe("60s", "40", "3s"), truth);
}

#[test]
fn own_history_is_found_by_time_and_number() {
    let published = &["--publish-url", "/publish/1"][..];
    for (path, flags) in [("/socket.io/", &[][..]), ("/cable", &[][..]), ("/events?room=1", published)] {
        let probe = |history: &str| {
            let server = Server::start(&["--history", history]);
            let scheme = if flags.is_empty() { "ws" } else { "http" };
            let url = format!("{scheme}://{}{path}", server.address);
            resumed(&url, &[&["--absence", "6s"], flags].concat())
        };
        let truth = [("resume_time/limit_s", "null"), ("resume_messages/limit", "50")];
        assert_true(path, &probe("50"), truth);
        timed(|| assert_true(path, &probe("4s"), [("resume_time/limit_s", "4")]));
    }
}
