//! Servers that die, freeze, restart, or will not have all clients.

use crate::alone::sentences::situation::{Act, Host, Situation, situation};

const HONEST: Host = Host::Reference("");
const SLOW: Host = Host::Reference("--fault delay=500ms");
const SERVER: &[&str] = &["server"];

pub(crate) fn situations() -> Vec<Situation> {
    [gone(), frozen(), refusing(), storms()].into_iter().flatten().collect()
}

fn gone() -> Vec<Situation> {
    vec![
        situation("killed in mid-run", HONEST, "echo {ws} --clients 300 --interval 1s -d 6s")
            .after(2_000, Act::KillServer)
            .how_much(&["failed at 300 clients: {any}"])
            .loses(&["loss.connections first_ms={any} lost=300 of=300 what=\"clients\""])
            .breaks(&["failed at 300 clients, the lowest load tried; server: its process ended {time} after the load began"])
            .by(SERVER)
            .exits(3),
        situation("restarted in mid-run", HONEST, "echo {ws} --clients 50 --rate 200 -d 3s")
            .after(500, Act::KillServer)
            .after(600, Act::RestartServer)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.connections first_ms={any} lost=50 of=50 what=\"clients\""])
            .by(SERVER)
            .exits(3),
        situation("killed in a closed loop", HONEST, "echo {ws} --clients 20 -c 10 -d 3s")
            .after(500, Act::KillServer)
            .how_much(&["failed at 20 clients: {any}"])
            .loses(&["loss.connections first_ms={any} lost=20 of=20 what=\"clients\""])
            .by(SERVER)
            .exits(3),
        situation("killed under idle clients", HONEST, "idle {ws} --clients 300 -d 3s")
            .after(500, Act::KillServer)
            .how_much(&["failed at 300 clients: {any}"])
            .loses(&["loss.connections first_ms={any} lost=300 of=300 what=\"clients\""])
            .by(SERVER)
            .exits(3),
        situation("killed under a broadcast", HONEST, "broadcast {ws} --clients 20 --rate 20 -d 3s --drain-timeout 1s")
            .after(500, Act::KillServer)
            .how_much(&["failed at 20 clients: {any}"])
            .loses(&["loss.connections first_ms={any} lost=20 of=20 what=\"clients\""])
            .by(SERVER)
            .exits(3),
        situation("killed under requests", HONEST, "http {http} -c 10 -R 100 -d 3")
            .after(500, Act::KillServer)
            .how_much(&["failed at 10 clients: {any}"])
            .by(SERVER)
            .exits(3),
        situation("Ctrl-C", HONEST, "echo {ws} --clients 50 --rate 200 -d 30s")
            .after(300, Act::Interrupt)
            .how_much(&["50 clients, {number} messages/s"])
            .trust(&["interrupted: the metrics are of what ran"])
            .exits(130),
        situation("Ctrl-C, and a server that is slow", SLOW, "echo {ws} --clients 50 --rate 200 -d 30s")
            .after(1_300, Act::Interrupt)
            .how_much(&["50 clients, {number} messages/s"])
            .breaks(&["no failure up to 50 clients, the highest load tried; {any}"])
            .trust(&["interrupted: the metrics are of what ran"])
            .never(&["WHY       server:", "they queued"])
            .exits(130)
            .short(),
    ]
}

fn frozen() -> Vec<Situation> {
    vec![
        situation(
            "frozen until the end",
            HONEST,
            "echo {ws} --clients 50 -c 50 -d 6s --limit p99<50ms --strict --drain-timeout 2s",
        )
        .after(200, Act::FreezeServer)
        .how_much(&["failed at 50 clients: {number} of {number} answers missing{any}"])
        .by(SERVER)
        .exits(3)
        .figures("what was answered, over the whole duration", |results| {
            let step = &results["steps"][0];
            let answers = step["counts"]["received"].as_f64().unwrap_or(0.0);
            step["rates"]["achieved_per_s"].as_f64() <= Some(1.05 * answers / 6.0)
        }),
        situation("frozen for a moment", HONEST, "echo {ws} --clients 50 --rate 200 -d 4s --limit p99<500ms")
            .after(300, Act::FreezeServer)
            .after(1_300, Act::ThawServer)
            .how_much(&["failed at 50 clients: p99<500ms was {time}"])
            .never(&["missing"])
            .exits(3),
    ]
}

fn refusing() -> Vec<Situation> {
    vec![
        situation(
            "every client is closed",
            Host::Reference("--fault close=all@2"),
            "echo {ws} --clients 20 --rate 100 -d 1s",
        )
        .how_much(&["failed at 20 clients: {any}"])
        .loses(&["loss.connections first_ms={any} lost=20 of=20 what=\"clients\""])
        .breaks(&["failed at 20 clients, the lowest load tried; server: it lost all 20 clients (closed){any}"])
        .by(SERVER)
        .exits(3)
        .short(),
        situation(
            "one client is reset",
            Host::Reference("--fault kill=7@2"),
            "echo {ws} --clients 20 --rate 100 -d 1s",
        )
        .how_much(&["failed at 20 clients: {any}"])
        .loses(&["loss.connections first_ms={any} lost=1 of=20 what=\"clients\""])
        .exits(3)
        .short(),
        situation(
            "every fifth connection is reset",
            Host::Reference("--fault refuse=4%5"),
            "echo {ws} --clients 100 --rate 200 -d 1s",
        )
        .how_much(&["failed at 100 clients: {number} of 100 clients could not connect (reset)"])
        .breaks(&["failed at 100 clients, the lowest load tried; server: {any}"])
        .exits(3)
        .short(),
        situation(
            "every fifth has to wait for too long",
            Host::Reference("--fault accept=5s@4%5"),
            "echo {ws} --clients 50 --rate 100 -d 1s --connect-timeout 1s",
        )
        .how_much(&["failed at 50 clients: {number} of 50 clients could not connect{any}"])
        .breaks(&["failed at 50 clients, the lowest load tried; server: {any}"])
        .exits(3),
        situation(
            "no more than 500 at once",
            Host::Node("full:500"),
            "echo {ws} --clients 600 --interval 1s -d 2s",
        )
        .how_much(&["failed at 600 clients: {any}"])
        .by(SERVER)
        .exits(3),
        situation("300 open files", Host::Files(300), "echo {ws} --clients 400 --interval 1s -d 1s")
            .how_much(&["failed at 400 clients: {number} of 400 clients could not connect{any}"])
            .breaks(&[
                "failed at 400 clients, the lowest load tried; server: it had {number} of 300 files open, {any}",
            ])
            .exits(3),
        situation(
            "300 open files, and clients that do nothing",
            Host::Files(300),
            "idle {ws} --clients 400 -d 1s",
        )
        .how_much(&["failed at 400 clients: {number} of 400 clients could not connect{any}"])
        .exits(3),
    ]
}

fn storms() -> Vec<Situation> {
    vec![
        situation(
            "a storm that nobody comes back from",
            HONEST,
            "storm {ws} --clients 50 --interval 200ms --lead 3s --window 500ms -d 3s --share 50%",
        )
        .after(1_000, Act::KillServer)
        .how_much(&["failed at 50 clients: {any}"])
        .exits(3),
        situation(
            "a storm with a few who are refused",
            Host::Reference("--fault refuse=60%1000"),
            "storm {ws} --clients 50 --interval 200ms --lead 500ms --window 500ms -d 4s",
        )
        .how_much(&["50 clients, all back within {time}"]),
    ]
}
