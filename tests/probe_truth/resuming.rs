//! Servers of others that let clients resume: how long, and how many messages back.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::planted::{Kind, NOT_TRIED, Running, row};
use crate::support::free_address;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;

const NCHAN: &str = "/usr/lib/nginx/modules/ngx_nchan_module.so";

/// Time for which a session is kept, and between pings, in ms. Messages have 1 MB, its default.
pub(super) static SOCKETIO: Kind = Kind {
    name: "Socket.IO (Node.js)",
    start: start_socketio,
    usual: &[&[
        ("protocol/name", "\"Socket.IO (EIO 4)\""),
        ("message_max/accepted_bytes", "1000000"),
        ("message_max/refused_bytes", "1000000"),
        ("message_max/refusal", "1009"),
        ("ping_interval/kind", "\"message\""),
        ("ping_interval/announced_s", "5"),
    ]],
    rows: &[
        row(
            "messages of 1 MB, a heartbeat each 5 s, and sessions of 3 s",
            // Also the time for each answer: a busy machine may take more than the server's usual second.
            &["3000", "5000"],
            &[
                ("protocol/name", "\"Socket.IO (EIO 4)\""),
                ("message_max/accepted_bytes", "1000000"),
                ("message_max/refused_bytes", "1000000"),
                ("message_max/refusal", "1009"),
                ("ping_interval/kind", "\"message\""),
                ("ping_interval/announced_s", "5"),
                ("resume/recovery", "true"),
                ("resume_time/limit_s", "3"),
                ("resume_messages/limit", "null"),
            ],
        )
        .probed(&["--absence", "6s"]),
        row(
            "the same, but sessions of a minute",
            &["60000", "5000"],
            &[("resume_time/limit_s", "null"), ("resume_messages/limit", "null")],
        )
        .repeated()
        .probed(&["--absence", "6s"]),
        row(
            "the same, but no recovery",
            &["0", "5000"],
            &[
                ("resume/recovery", "false"),
                ("resume_time/limit_s", NOT_TRIED),
                ("resume_messages/limit", NOT_TRIED),
            ],
        )
        .probed(&["--absence", "6s"]),
    ],
};

/// Time and number of the messages that a channel keeps.
pub(super) static NCHAN_EVENTS: Kind = Kind {
    name: "nchan (nginx)",
    start: start_nchan,
    usual: &[],
    rows: &[
        row(
            // They live for up to a second longer: its clock has whole seconds.
            "messages of 12 s to 13 s",
            &["12s", "10000"],
            &[("resume_time/limit_s", "12.5"), ("resume_messages/limit", "null")],
        )
        .probed(&["--publish-url", "/publish/1", "--absence", "15s"]),
        row(
            "40 messages",
            &["60s", "40"],
            &[("resume_time/limit_s", "null"), ("resume_messages/limit", "40")],
        )
        .repeated()
        .probed(&["--publish-url", "/publish/1", "--absence", "3s"]),
    ],
};

fn start_socketio(times: &[&str]) -> Result<Running, Unavailable> {
    let scripts = Scripts::install_in("tests/servers", "socketio")?;
    let address = free_address();
    let port = address.port().to_string();
    let server = scripts.start("server.js", &[&[port.as_str()][..], times].concat()).listening_at(address);
    Ok(Running::new(format!("ws://{address}/socket.io"), server))
}

fn start_nchan(kept: &[&str]) -> Result<Running, Unavailable> {
    if !Path::new(NCHAN).exists() {
        return Err(Unavailable("needs it: apt install nginx-light libnginx-mod-nchan".into()));
    }
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let conf = include_str!("../servers/sse/nchan.conf")
        .replace("PORT", &address.port().to_string())
        .replace("timeout 60s", &format!("timeout {}", kept[0]))
        .replace("length 10000", &format!("length {}", kept[1]));
    fs::write(folder.path().join("nginx.conf"), conf).unwrap();
    let mut nginx = Command::new("nginx");
    nginx.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path());
    let server = Process::start(&mut nginx).listening_at(address);
    Ok(Running::new(format!("http://{address}/events?room=1"), (server, folder)))
}
