//! The checks for people and for programs.

use serde_json::{Value, json};
use textwrap::{Options, WordSeparator};

use super::facts::Facts;
use super::memory;
use super::required::{Place, RequiredLoad, processes};
use super::row::{Row, Verdict};
use report::{bytes, count};

/// A space that lines are not broken at.
const NO_BREAK: char = '\u{a0}';

/// A table, the commands below what they mend, and what it comes to, in lines of at most `columns`.
pub(crate) fn text(facts: &Facts, required: &RequiredLoad, rows: &[Row], columns: usize) -> String {
    let checks = rows.iter().map(|row| row.check.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let head = format!("{:8} {:checks$} ", row.verdict.name(), row.check);
        let indent = " ".repeat(head.chars().count());
        let options = Options::new(columns).initial_indent(&head).subsequent_indent(&indent);
        let options = options.word_separator(WordSeparator::AsciiSpace).break_words(false);
        // The first word behind the colon stays with it.
        let cell = format!("{}, needed:{NO_BREAK}{}", row.found, row.needed);
        text += &format!("{}\n", textwrap::fill(&cell, options).replace(NO_BREAK, " "));
        if let Some(fix) = &row.fix {
            // Never folded, because it is copied as it stands.
            text += &format!("  → {}\n", fix.command());
        }
    }
    let conclusion = conclusion(facts, required, rows);
    let lines = conclusion.lines().map(|line| textwrap::fill(line, columns) + "\n");
    text + "\n" + &lines.collect::<String>()
}

fn conclusion(facts: &Facts, required: &RequiredLoad, rows: &[Row]) -> String {
    let server = match required.server {
        Place::BuiltIn => "throng's own server",
        Place::Here => "a server on this machine",
        Place::HereNotYet => {
            "a server on this machine, but nothing listens there: start it and run this again"
        }
        Place::Elsewhere => "a server on another machine: see to that one too, with throng doctor there",
    };
    let mut parts = vec![
        some(processes(facts, required), "process", "processes"),
        some(required.addresses(), "source address", "source addresses"),
    ];
    if let Some(cost) = &facts.cost {
        let half_width =
            cost.kernel_bytes_half_width * required.ends() as f64 / 2.0 * required.clients as f64;
        let total = memory::needed_bytes(cost, facts, required);
        let measured = format!("measured on {} connections", count(cost.connections));
        parts.push(format!("{} ± {} of memory ({measured})", bytes(total), bytes(half_width)));
    }
    let low = rows.iter().filter(|row| row.verdict == Verdict::TooLow).count() as u64;
    let outcome = match low {
        0 if required.server == Place::HereNotYet => {
            "nothing stands in the clients' way; the server's half could not be looked at".to_owned()
        }
        0 => "nothing stands in the way".to_owned(),
        n => some(n, "thing must be changed", "things must be changed"),
    };
    format!("{} clients, {server}\nneed {}\n{outcome}\n", count(required.clients), parts.join(", "))
}

fn some(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// The doctor's rows as a JSON object; times and sizes are plain numbers.
pub(crate) fn json(facts: &Facts, required: &RequiredLoad, rows: &[Row]) -> Value {
    let row = |row: &Row| {
        json!({
            "check": row.check,
            "found": row.found,
            "needed": row.needed,
            "verdict": row.verdict,
            "command": row.fix.as_ref().map(|fix| fix.command()),
        })
    };
    let cost = facts.cost.as_ref().map(|cost| {
        json!({
            "connections": cost.connections,
            "kernel_bytes": cost.kernel_bytes,
            "kernel_bytes_half_width": cost.kernel_bytes_half_width,
            "tcp_bytes": cost.tcp_bytes,
            "generator_bytes": cost.generator_bytes,
            "generator_process_bytes": cost.process_bytes,
            "server_bytes": cost.server_bytes,
        })
    });
    json!({
        "clients": required.clients,
        "processes": processes(facts, required),
        "source_addresses": required.addresses(),
        "memory_bytes": facts.cost.as_ref().map(|cost| memory::needed_bytes(cost, facts, required).round()),
        "per_connection": cost,
        "checks": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
