//! Errors before a run begins, in a line, and with nothing kept.

use crate::alone::sentences::situation::{Host, Situation, situation};

const HONEST: Host = Host::Reference("");
const ECHO: &str = "echo {ws} --clients 20 --rate 50 -d 1s";

pub(crate) fn situations() -> Vec<Situation> {
    [nobody(), answered(), tls(), flags()].into_iter().flatten().collect()
}

fn nobody() -> Vec<Situation> {
    vec![
        situation("a port where nobody listens", Host::Nobody, ECHO)
            .refused(&["throng: could not reach ws://127.0.0.1:{number}/: refused: {any}"])
            .short(),
        situation(
            "a socket that is not there",
            HONEST,
            "echo {ws} -S {folder}/nowhere --clients 20 --rate 50 -d 1s",
        )
        .refused(&["throng: could not reach {any}: {any}no such file{any}", "{any}No such file{any}"])
        .short(),
        situation("a name that nobody has", Host::Nobody, "echo ws://no-such-name.invalid/ --clients 20")
            .refused(&["throng: {any}no-such-name.invalid{any}"]),
        situation("every connection is reset", Host::Reference("--fault refuse=all"), ECHO)
            .refused(&[
                "throng: could not reach ws://127.0.0.1:{number}/: reset: {any}",
                "throng: could not reach ws://127.0.0.1:{number}/: eof: {any}",
            ])
            .short(),
        situation(
            "a server that accepts and is silent",
            Host::Node("mute"),
            "echo {ws} --clients 20 --rate 50 -d 1s --connect-timeout 1s",
        )
        .refused(&["throng: could not reach ws://127.0.0.1:{number}/: connect_timeout: {any}"]),
        situation("a server of something else", Host::Node("banner"), ECHO).refused(&[
            "throng: could not reach ws://127.0.0.1:{number}/: {any}SSH-2.0{any}",
            "throng: could not reach ws://127.0.0.1:{number}/: {any}",
        ]),
    ]
}

fn answered() -> Vec<Situation> {
    vec![
        situation("who are you?", Host::Node("status:401"), ECHO)
            .refused(&["throng: could not reach {any}401{any}no ticket, no entry{any}--token{any}"]),
        situation("no such WebSocket", Host::Node("status:404"), ECHO)
            .refused(&["throng: could not reach {any}404{any}"]),
        situation("somewhere else", Host::Node("redirect"), ECHO)
            .refused(&["throng: could not reach {any}301{any}/elsewhere{any}"]),
        situation("not now", Host::Node("status:503"), ECHO).refused(&["throng: could not reach {any}503{any}"]),
        situation("requests for what is not there", Host::Node("status:404"), "http {http} -c 10 -d 1")
            .refused(&["throng: could not reach {any}404{any}"]),
        situation("requests without a ticket", Host::Node("status:401"), "http {http} -c 10 -d 1")
            .refused(&["throng: could not reach {any}401{any}no ticket, no entry{any}"]),
        situation("another dialect than the server's", HONEST, "echo {ws}cable --clients 20 --rate 50 -d 1s")
            .refused(&["throng: could not reach {any}actioncable{any}"]),
        situation("no such channel", HONEST, "echo {ws}cable --protocol actioncable --channel NoSuchChannel --clients 20 --connect-timeout 500ms")
            .refused(&["throng: could not reach {any}"]),
    ]
}

fn tls() -> Vec<Situation> {
    vec![
        situation("TLS to a port without", HONEST, "echo {wss} --clients 20 --rate 50 -d 1s")
            .refused(&["throng: could not reach wss://127.0.0.1:{number}/: {any}"])
            .short(),
        situation("none to a port with TLS", Host::Tls, ECHO)
            .refused(&["throng: could not reach ws://127.0.0.1:{number}/: {any}TLS{any}wss://{any}"])
            .short(),
        situation("a certificate of nobody", Host::Tls, "echo {wss} --clients 20 --rate 50 -d 1s")
            .refused(&["throng: could not reach wss://127.0.0.1:{number}/: tls_unknown_issuer{any}"])
            .short(),
    ]
}

fn flags() -> Vec<Situation> {
    vec![
        situation("a limit of nothing", HONEST, "echo {ws} --limit help==0")
            .refused(&["{any}--limit: {any}help{any}"])
            .exits(2)
            .short(),
        situation("a verb that is not there", HONEST, "ehco {ws}")
            .refused(&["{any}ehco{any}"])
            .exits(2)
            .short(),
        situation("more clients than files, asked beforehand", Host::Own, "doctor --clients 10000000")
            .says(&["{any}files{any}"])
            .exits(1),
    ]
}
