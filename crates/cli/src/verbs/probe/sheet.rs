//! The data sheet of a server: probes of very little load, a row for each answer, and what they mean for a load test.

mod absences;
mod bisection;
mod burst;
mod capacity;
mod channel;
mod closing;
mod delivery;
mod handshake;
mod horizon;
mod http2;
mod idle;
mod messages;
mod probe;
mod row;
mod sessions;
mod site;
mod slow_reader;
mod subscriber;
mod tls;
mod upgrade;
mod websocket;

use std::io::{self, IsTerminal};
use std::panic;
use std::thread;
use std::time::Duration;

use load::Plan;
use net::signals::Interrupts;
use serde_json::{Value, json};

use self::probe::Probe;
use self::row::Row;
use self::site::{Bounds, Site};
use crate::exit::Failure;
use crate::stderr;
use crate::verbs::probe::service::Service;

/// Interval at which the connections of the probes that wait are looked for.
const LOOK: Duration = Duration::from_millis(5);
/// Probes that wait, and put no load on the server meanwhile: they are made beside the others.
static WAITING: [&Probe; 1] = [&idle::IDLE];
/// The others, one after another, so that none meets the load of its neighbour.
static BUSY: [&Probe; 17] = [
    &handshake::PROTOCOL,
    &handshake::SUBPROTOCOLS,
    &handshake::COMPRESSION,
    &tls::TLS,
    &http2::HTTP2,
    &handshake::ORIGIN,
    &messages::MESSAGE_MAX,
    &delivery::FRAMES,
    &delivery::ORDER,
    &delivery::DELAY,
    &sessions::RESUME,
    &sessions::STICKINESS,
    &horizon::HORIZON,
    // What may end in a ban comes last.
    &capacity::CONNECTIONS,
    &capacity::HANDSHAKES,
    &burst::MESSAGES,
    &slow_reader::SLOW_READER,
];
/// Probes that may end the server: nothing is measured after them, or beside them.
static LAST: [&Probe; 1] = [&messages::CLOSE_CODES];

/// Rows by what stops a load test soonest.
const MEANINGS: [&str; 20] = [
    "close_codes",
    "origin",
    "connections",
    "handshake_rate",
    "message_rate",
    "delayed_ack",
    "subprotocols",
    "idle",
    "idle_with_pings",
    "resume_time",
    "resume_messages",
    "message_max",
    "slow_reader",
    "stickiness",
    "frames",
    "order",
    "tls_certificate",
    "compression",
    "tls_resumption",
    "http2",
];

/// A data sheet.
pub(super) struct Sheet {
    rows: Vec<Row>,
}

/// The limits that flags set.
pub(super) struct SheetArgs {
    pub(super) yes: bool,
    pub(super) connections: usize,
    pub(super) idle: Duration,
    pub(super) absence: Duration,
    pub(super) message_bytes: u64,
    pub(super) message: Option<String>,
}

impl Sheet {
    /// Makes the probes. An interrupt ends them, and what was found until then stays.
    ///
    /// `plan`: its clients speak the protocol of `service`, which is absent if none lets clients in.
    pub(super) fn measure(
        plan: Plan,
        service: Option<Service>,
        echoes: bool,
        args: SheetArgs,
        interrupts: Interrupts,
    ) -> Result<Sheet, Failure> {
        let SheetArgs { yes, connections, idle, absence, message_bytes, message } = args;
        let bounds = Bounds { connections, idle, absence, message_bytes, message };
        let site = Site::new(plan, service, echoes, bounds, interrupts);
        let agrees = yes || agree(&site)?;
        let rows_of = |probes: &[&Probe]| -> Vec<Row> {
            probes.iter().flat_map(|probe| probe.rows(&site, agrees)).collect()
        };
        if stderr::is_live() {
            stderr::note("measuring for about two minutes; Ctrl-C prints what there is until then");
        }
        let rows = thread::scope(|scope| {
            let waiting = scope.spawn(|| rows_of(&WAITING));
            // Opened later, their connections would add to what another probe holds, and exceed `--max`.
            while !(site.are_waiting_open() || waiting.is_finished() || site.is_interrupted()) {
                thread::sleep(LOOK);
            }
            let mut rows = rows_of(&BUSY);
            rows.extend(waiting.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
            rows.extend(rows_of(&LAST));
            rows
        });
        Ok(Sheet { rows })
    }

    /// The sheet as lines.
    pub(super) fn text(&self) -> String {
        let meanings = row::meanings(&self.rows, &MEANINGS);
        let mut text = row::text(&self.rows);
        if !meanings.is_empty() {
            text.push_str("\nWhat this means for a load test:\n");
        }
        for meaning in meanings {
            text.push_str(&format!("  {meaning}\n"));
        }
        text
    }

    /// The sheet as an object.
    pub(super) fn json(&self, url: &str) -> Value {
        let meanings = row::meanings(&self.rows, &MEANINGS);
        json!({ "url": url, "rows": row::json(&self.rows), "meaning": meanings })
    }
}

/// Asks whether to make the probes that could hurt; without a terminal, nobody agrees.
fn agree(site: &Site) -> Result<bool, Failure> {
    let risks: Vec<&str> = BUSY.iter().chain(&LAST).filter_map(|probe| probe.risk(site)).collect();
    if risks.is_empty() || !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(false);
    }
    stderr::line("These probes could disturb the server or its users:");
    for risk in risks {
        stderr::line(format_args!("  {risk}"));
    }
    stderr::text("Make them? Type y for yes, Enter for no: ");
    let failed = |error| Failure::could_not("read_answer", "read the answer", error);
    // A read that has begun goes on after a signal, until Enter.
    if !site.interrupts.wait_for_input(io::stdin()).map_err(failed)? {
        return Err(Failure::interrupted());
    }
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
