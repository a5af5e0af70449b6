//! Open files: a connection is one at each end.

use super::facts::Facts;
use super::required::{Place, RequiredLoad, processes, server_processes};
use super::row::{Fix, Row, Verdict, limit};
use crate::flags::args::PROCESSES_MAX;
use crate::processes::{OTHER_FILES, SERVER_PROCESSES_MAX, files_with_clients, spread_over_servers};
use report::count;

pub(super) fn rows(facts: &Facts, required: &RequiredLoad) -> Vec<Row> {
    let mut rows = vec![throng(facts, required)];
    rows.extend(server(facts, required));
    let needed = facts.files_open.unwrap_or(0) + required.clients * required.ends() + OTHER_FILES;
    rows.push(Row::of("fs.file-max", facts.file_max, needed, || Fix::sysctl("fs.file-max", needed)));
    rows
}

fn throng(facts: &Facts, required: &RequiredLoad) -> Row {
    let processes = processes(facts, required);
    own("open files: throng", facts, processes, PROCESSES_MAX.into(), required.clients)
}

/// Processes of throng, of which there may be `most`. Too low a limit is no obstacle until then: throng spreads
/// its clients over as many processes as it takes.
fn own(check: &'static str, facts: &Facts, processes: u64, most: u64, clients: u64) -> Row {
    let verdict = if processes <= most { Verdict::Ok } else { Verdict::TooLow };
    let files = files_with_clients(clients.div_ceil(most), facts.cpus);
    Row {
        check,
        found: format!("{} per process", limit(facts.nofile_hard)),
        needed: of_processes(processes),
        verdict,
        fix: (verdict != Verdict::Ok).then(|| Fix::Tell(format!("ulimit -Hn {files}"))),
    }
}

fn of_processes(processes: u64) -> String {
    match processes {
        1 => "1 process".into(),
        n => format!("{} processes", count(n)),
    }
}

fn server(facts: &Facts, required: &RequiredLoad) -> Option<Row> {
    const CHECK: &str = "open files: server";
    let needed = required.clients + OTHER_FILES;
    match required.server {
        Place::Elsewhere => None,
        Place::BuiltIn => {
            let (processes, most) = (server_processes(facts, required), SERVER_PROCESSES_MAX.into());
            Some(own(CHECK, facts, processes, most, spread_over_servers(required.clients)))
        }
        Place::HereNotYet => {
            let found = "nothing listens there".to_owned();
            Some(Row { found, ..Row::of(CHECK, None, needed, || unreachable!("nothing was found")) })
        }
        Place::Here => {
            let server = facts.server.as_ref();
            let found = server.map(|server| server.nofile.saturating_mul(server.processes));
            let mut row = Row::of(CHECK, found, needed, || raise(facts, needed));
            if let Some(server) = server.filter(|server| server.processes > 1) {
                row.found = format!("{} × {} processes", limit(server.nofile), server.processes);
            }
            Some(row)
        }
    }
}

/// The commands that let the server's process open this many files.
fn raise(facts: &Facts, files: u64) -> Fix {
    let server = facts.server.as_ref().expect("its limit was found too low");
    let files = files.div_ceil(server.processes);
    let first = match facts.nr_open {
        Some(nr_open) if nr_open < files => format!("sysctl -w fs.nr_open={files} && "),
        _ => String::new(),
    };
    Fix::Tell(format!("{first}prlimit --pid {} --nofile={files}:{files}", server.pid))
}
