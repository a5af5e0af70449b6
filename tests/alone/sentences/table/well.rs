//! Nothing is wrong, or what is wrong was allowed.

use crate::alone::sentences::situation::{Host, Place, Situation, situation};

/// Nothing gave out, unless others have the CPU.
const ROOM: &[&str] = &["none", "machine"];
const HELD_50: &[&str] = &["50 clients, {number} messages/s"];
const NOT_BROKEN_50: &[&str] = &[
    "no failure up to 50 clients, the highest load tried; nothing was saturated{any}",
    "no failure up to 50 clients, the highest load tried; machine: {any}",
];
const ECHO: &str = "echo {ws} --clients 50 --rate 200 -d 1s";
const HONEST: Host = Host::Reference("");

pub(crate) fn situations() -> Vec<Situation> {
    [first_commands(), scenarios(), ways_in(), allowed()].into_iter().flatten().collect()
}

fn first_commands() -> Vec<Situation> {
    vec![
        situation("the first command of a newcomer", Host::Own, "echo")
            .how_much(&["1,000 clients, {number} messages/s"])
            .breaks(&[
                "no failure up to 1,000 clients, the highest load tried; nothing was saturated{any}",
                "no failure up to 1,000 clients, the highest load tried; machine: {any}",
            ])
            .by(ROOM)
            .never(&["limited by the generator"]),
        situation("README's first command", Host::Own, "broadcast --step-size 1000 --total-steps 3")
            .how_much(&["{number},000 clients, {number} messages/s, {number} deliveries/s"])
            .never(&["limited by the generator", "samples; "]),
    ]
}

fn scenarios() -> Vec<Situation> {
    vec![
        situation("an honest server", HONEST, ECHO)
            .how_much(HELD_50)
            .breaks(NOT_BROKEN_50)
            .by(ROOM)
            .never(&["limited by the generator", "missing"])
            .short(),
        situation("a closed loop", HONEST, "echo {ws} --clients 20 -c 10 -s 2000")
            .never(&["server CPU 0%"])
            .how_much(&["20 clients, {number} messages/s"])
            .short(),
        situation("steps", HONEST, "echo {ws} -c 10 -s 500 --step-size 20 --total-steps 2")
            .never(&["server CPU 0%"])
            .how_much(&["40 clients, {number} messages/s"])
            .short(),
        situation("a broadcast", HONEST, "broadcast {ws} --clients 20 -s 50")
            .how_much(&["20 clients, {number} messages/s, {number} deliveries/s"])
            .short(),
        situation(
            "a search up to its end",
            HONEST,
            "broadcast {ws} --search --initial-clients 10 --max-clients 20 --rate 200 -d 500ms --limit-rtt 20s",
        )
        .how_much(&["at least 20 clients"])
        .by(ROOM),
        situation(
            "a sweep without overload",
            HONEST,
            "saturate {ws} --levels 10,20 --first-rate 20 --max-rate 80 -d 1s",
        )
        .how_much(&[
            "at least {number} deliveries/s, safe: at least {number}/s to 10, at least {number}/s to 20 clients",
        ])
        .never(&["missing"]),
        situation("clients that do nothing", HONEST, "idle {ws} --clients 300 -d 1s")
            .how_much(&["300 clients"])
            .by(ROOM)
            .short(),
        situation(
            "a storm",
            HONEST,
            "storm {ws} --clients 50 --interval 200ms --lead 500ms --window 500ms -d 2s",
        )
        .how_much(&["50 clients, all back within {time}"]),
        situation("requests in a closed loop", HONEST, "http {http} -c 10 -d 1")
            .how_much(&["10 clients, {number} requests/s"])
            .short(),
        situation("requests on a schedule", HONEST, "http {http} -c 10 -R 100 -d 1")
            .how_much(&["10 clients, {number} requests/s"])
            .by(ROOM)
            .short(),
        situation(
            "clients that come and go",
            HONEST,
            "echo {ws} --clients 50 --rate 200 -d 2s --churn 20%/s",
        )
        .how_much(HELD_50),
        situation("a server that others wrote", Host::Node("echo"), ECHO).how_much(HELD_50).by(ROOM),
        situation("nginx", Host::Nginx("location / { return 200 ok; }"), "http {http} -c 10 -R 200 -d 1")
            .how_much(&["10 clients, {number} requests/s"])
            .trust(&["the process seen is nginx (pid {number}): {any}"])
            .by(ROOM),
    ]
}

fn ways_in() -> Vec<Situation> {
    vec![
        situation("a unix socket", HONEST, "echo {ws} -S {socket} --clients 50 --rate 200 -d 1s")
            .how_much(HELD_50)
            .short(),
        situation("TLS", Host::Tls, "echo {wss} --insecure --clients 50 --rate 200 -d 1s").how_much(HELD_50),
        situation(
            "another dialect",
            HONEST,
            "echo {ws}cable --protocol actioncable --clients 50 --rate 200 -d 1s",
        )
        .how_much(HELD_50),
        situation(
            "a connection's memory",
            Host::Node("echo"),
            "idle {ws} --clients 1000 -d 3s --server-pid {pid}",
        )
        .how_much(&["1,000 clients"])
        .says(&["memory{any}per client"]),
        situation(
            "a connection's memory, of a server that had as many before",
            Host::Node("echo"),
            "idle {ws} --clients 1000 -d 3s --server-pid {pid}",
        )
        .for_the_second_time()
        .how_much(&["1,000 clients"])
        .trust(&["memory per client is unclear: the server has had up to {number} connections before{any}"])
        .never(&["per client ±"]),
        situation(
            "messages of 8 MiB",
            HONEST,
            "echo {ws} --clients 1 -c 1 -s 4 --payload 8MiB --max-message 16MiB",
        )
        .how_much(&["1 client, {number} messages/s"])
        .never(&["missing"]),
        situation("children with little CPU", HONEST, "idle {ws} --clients 1000 --processes 20 -d 1s")
            .at(Place::Quota(60))
            .how_much(&["1,000 clients"]),
    ]
}

fn allowed() -> Vec<Situation> {
    vec![
        situation(
            "loss that is allowed",
            Host::Reference("--fault drop=99%100"),
            "echo {ws} --clients 50 --rate 200 -d 1s --allow-loss 2% --drain-timeout 500ms",
        )
        .how_much(&["50 clients, 2 of 200 answers missing, {number} messages/s"])
        .short(),
        situation(
            "a limit in the place of a standing one",
            Host::Reference("--fault drop=99%100"),
            "echo {ws} --clients 50 --rate 200 -d 1s --limit missing<2% --limit rate>=90% --drain-timeout 500ms",
        )
        .how_much(&["50 clients, 2 of 200 answers missing, {number} messages/s"])
        .short(),
        situation(
            "--strict, and limits kept in spite of lag",
            HONEST,
            "echo {ws} --clients 20 --rate 40 -d 3s --strict --threads 1 --limit p99<10s",
        )
        .at(Place::Quota(10))
        .how_much(&["20 clients, {number} messages/s"])
        .by(&["generator", "machine", "none"]),
        situation(
            "--strict, and a limit broken that lag may have broken",
            HONEST,
            "echo {ws} --clients 20 --rate 400 -d 3s --strict --threads 1 --limit p99<10us",
        )
        .at(Place::Quota(2))
        .how_much(&["unclear at 20 clients: p99<10us was {any}"])
        .by(&["generator", "machine"])
        .exits(4),
    ]
}
