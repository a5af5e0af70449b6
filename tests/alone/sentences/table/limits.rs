//! Bottlenecks: the server, the generator, the machine, the network; or nobody knows.

use crate::alone::sentences::situation::{Host, Place, Situation, situation};

const HONEST: Host = Host::Reference("");
const AFAR: Host = Host::Elsewhere { loss_percent: 0, mbits_per_s: 0 };
/// A busy machine may be what is at its end before the server is.
const SERVER: &[&str] = &["server", "machine"];

pub(crate) fn situations() -> Vec<Situation> {
    [servers(), generators(), between()].into_iter().flatten().collect()
}

fn servers() -> Vec<Situation> {
    vec![
        situation("a server whose one thread is busy", Host::Node("busy:2"), "http {http} -c 10 -d 3")
            .how_much(&["10 clients, {number} requests/s"])
            .breaks(&[
                "no failure up to 10 clients, the highest load tried; server: its {any} of a core",
                "server limit not found: the machine was the bottleneck: {any}",
            ])
            .by(SERVER)
            .never(&["limited by the generator"]),
        situation("a lock that is held for 10 ms", Host::Python, "http {http} -c 10 -d 3")
            .how_much(&["10 clients, {number} requests/s"])
            .breaks(&[
                "no failure up to 10 clients, the highest load tried; server: it waits, for a lock, {any}",
                "server limit not found: the machine was the bottleneck: {any}",
            ])
            .by(SERVER),
        situation("a CPU quota", Host::Quota(20), "echo {ws} --clients 50 -c 50 -d 3s")
            .how_much(&["50 clients, {number} messages/s"])
            .breaks(&[
                "no failure up to 50 clients, the highest load tried; server: its CPU {any}",
                "server limit not found: the machine was the bottleneck: {any}",
            ])
            .by(SERVER),
        situation("as much as it can", HONEST, "echo {ws} --clients 50 -c 50 -d 2s")
            .how_much(&["50 clients, {number} messages/s"])
            // One thread each, which wait for each other: neither need be at its limit.
            .by(&["server", "machine", "generator", "none"]),
    ]
}

fn generators() -> Vec<Situation> {
    vec![
        situation("others have the CPU", HONEST, "echo {ws} --clients 50 --rate 200 -d 2s")
            .at(Place::Crowd(4))
            .how_much(&["50 clients, {number} messages/s"])
            .by(&["none", "machine"])
            .never(&["limited by the generator", "the generator was the bottleneck"]),
        situation("no local ports", Host::Own, "echo --clients 50 -d 1s")
            .at(Place::TenPorts)
            .how_much(&[
                "unclear at 50 clients: {number} of 50 clients could not connect (address_not_available)",
            ])
            .breaks(&["{any}generator: it lacked ports, files or memory (address_not_available, {any}"])
            .trust(&["limited by the generator: the server may hold more than this"])
            .by(&["generator"])
            .exits(3)
            .short(),
        situation(
            "a search without local ports",
            Host::Own,
            "broadcast --search --initial-clients 4 --max-clients 64 -s 10 --limit-rtt 20s",
        )
        .at(Place::TenPorts)
        .how_much(&["at least {number} clients, {any}", "{number} clients, {any}"])
        .trust(&["ended by the generator's lack of ports, files or memory, not by the server"])
        .by(&["generator"])
        .never(&["WHY       server:"]),
        situation("few open files", HONEST, "echo {ws} --clients 200 --processes 1 -d 1s")
            .at(Place::Files(100))
            .refused(&["throng: --processes: 200 connections need {number} processes here (ulimit -n): type --processes {number}"])
            .exits(2)
            .short(),
        situation(
            "a pace that the own connections are too few for",
            Host::Node("slow:100"),
            "http {http} -c 5 -R 100 -d 3",
        )
        .how_much(&["unclear at 5 clients: {number}/s answered of 100 requests/s"])
        .breaks(&["{any}generator: {any}connections{any}"])
        .by(&["generator"])
        .exits(3),
        situation(
            "a generator with little CPU",
            HONEST,
            "echo {ws} --clients 50 -c 50 -d 2s --threads 1 --strict",
        )
        .at(Place::Quota(20))
        .how_much(&["50 clients, {number} messages/s"])
        .breaks(&[
            "server limit not found: the generator was the bottleneck: {any}",
            "server limit not found: the machine was the bottleneck: {any}",
        ])
        .by(&["generator", "machine"])
        .exits(4),
        situation(
            "little memory",
            HONEST,
            "echo {ws} --clients 200 -c 200 -d 1s --payload 512KiB --threads 1",
        )
        .at(Place::Memory(90))
        .how_much(&["unclear: the generator: out of{any}"])
        .by(&["generator"])
        .exits(6),
    ]
}

fn between() -> Vec<Situation> {
    vec![
        situation("a server that cannot be seen", AFAR, "echo {ws} --clients 50 --rate 200 -d 1s")
            .how_much(&["50 clients, {number} messages/s"])
            .breaks(&[
                "no failure up to 50 clients, the highest load tried; the server is not visible from here, and nothing here was saturated{any}",
                "no failure up to 50 clients, the highest load tried; machine: {any}",
            ])
            .by(&["unknown", "machine"])
            .never(&["nothing was saturated:"]),
        situation(
            "a network that loses some",
            Host::Elsewhere { loss_percent: 5, mbits_per_s: 0 },
            "echo {ws} --clients 20 -c 20 -d 4s --connect-timeout 20s",
        )
        .how_much(&["20 clients, {number} messages/s"])
        .breaks(&["server limit not found: the network was the bottleneck: {any}"])
        .by(&["network"]),
        situation(
            "a link of 10 Mbit/s",
            Host::Elsewhere { loss_percent: 0, mbits_per_s: 10 },
            "echo {ws} --clients 20 -c 20 -d 3s --payload 10000 --connect-timeout 20s",
        )
        .how_much(&["20 clients, {number} messages/s"])
        .by(&["network", "unknown"])
        .never(&["WHY       server:", "nothing was saturated:"]),
        situation("a server process that is not there", HONEST, "echo {ws} --clients 10 --rate 50 -d 1s --server-pid 4194304")
            .refused(&["{any}4194304{any}"])
            .exits(2)
.short(),
    ]
}
