//! Losses: messages missing, wrong or late.

use serde_json::Value;

use crate::alone::sentences::situation::{Host, Situation, situation};

/// Missing messages are the server's, unless others have the CPU.
const SERVER: &[&str] = &["server"];
const ECHO: &str = "echo {ws} --clients 50 --rate 200 -d 1s --drain-timeout 500ms";
const HTTP: &str = "http {http} -c 10 -d 1 --drain-timeout 1s";

pub(crate) fn situations() -> Vec<Situation> {
    [missing(), wrong(), late(), held_up(), copies(), requests()].into_iter().flatten().collect()
}

fn missing() -> Vec<Situation> {
    vec![
        situation("every hundredth is lost", Host::Reference("--fault drop=99%100"), ECHO)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.missing missing=2 of=200 what=\"answers\""])
            .breaks(&["failed at 50 clients, the lowest load tried; server: {any}"])
            .exits(3)
            .short(),
        situation("no answer at all", Host::Reference("--fault drop=all"), ECHO)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.missing missing=200 of=200 what=\"answers\""])
            .breaks(&["{any}; server: it answered none of 200 messages"])
            .untimed()
            .by(SERVER)
            .exits(3)
            .short(),
        situation("silence after the third answer", Host::Reference("--fault mute=all@3"), ECHO)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.missing missing={number} of=200 what=\"answers\""])
            .by(SERVER)
            .exits(3)
            .short(),
        situation(
            "half of the answers, in a search",
            Host::Reference("--fault drop=1%2"),
            "broadcast {ws} --search --initial-clients 10 --max-clients 40 -s 10 --drain-timeout 300ms",
        )
        .how_much(&["failed at 2 clients: {any}"])
        .loses(&["loss.missing missing=10 of=20 what=\"copies\""])
        .breaks(&["failed at 2 clients, the lowest load tried; server: {any}"])
        .by(SERVER)
        .exits(3),
        situation(
            "no copy at all, in a search",
            Host::Reference("--fault drop=all"),
            "broadcast {ws} --search --initial-clients 10 --max-clients 40 -s 10 --drain-timeout 300ms",
        )
        .how_much(&["failed at 2 clients: {any}"])
        .loses(&["loss.missing missing=20 of=20 what=\"copies\""])
        .by(SERVER)
        .exits(3),
    ]
}

fn wrong() -> Vec<Situation> {
    vec![
        situation("every fiftieth comes twice", Host::Reference("--fault dup=49%50"), ECHO)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.wrong of=204 what=\"answers\" wrong=4"])
            .exits(3)
            .short(),
        situation("every fiftieth is damaged", Host::Reference("--fault corrupt=49%50"), ECHO)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.wrong of=200 what=\"answers\" wrong=4"])
            .exits(3)
            .short(),
        situation("every fiftieth goes to a stranger, too", Host::Reference("--fault stray=49%50"), ECHO)
            .how_much(&["failed at 50 clients: {any}"])
            .loses(&["loss.wrong of=204 what=\"answers\" wrong=4"])
            .exits(3),
        situation(
            "two change places",
            Host::Reference("--fault reorder=each:1%4"),
            "echo {ws} --clients 50 --rate 400 -d 1s --drain-timeout 500ms --limit reordered==0",
        )
        .how_much(&["failed at 50 clients: {any}"])
        .loses(&["loss.limit actual={any} limit=\"reordered==0\""])
        .never(&["missing"])
        .exits(3),
    ]
}

fn late() -> Vec<Situation> {
    vec![
        situation(
            "all late by the same",
            Host::Reference("--fault delay=1500ms"),
            "echo {ws} --clients 50 --rate 200 -d 3s",
        )
        .how_much(&["50 clients, {number} messages/s"])
        .figures("no answer is faster than the delay", |results| {
            results["steps"][0]["rtt"]["min_ms"].as_f64() >= Some(1_500.0)
        }),
        situation(
            "later than a limit",
            Host::Reference("--fault delay=100ms"),
            "echo {ws} --clients 50 --rate 200 -d 1s --limit p99<50ms",
        )
        .how_much(&["failed at 50 clients: {any}"])
        .loses(&["loss.limit actual={any} bound=50.0 limit=\"p99<50ms\" unit=\"ms\"{any}"])
        .exits(3)
        .short(),
        situation(
            "one at a time, 10 ms each",
            Host::Reference("--fault service=10ms"),
            "echo {ws} --rate 800 -d 4s --limit rate>=750/s",
        )
        .how_much(&["failed at 1,000 clients: {any}{number}/s{any}"])
        .breaks(&["{any}; server: {any}"])
        .by(SERVER)
        .exits(3)
        .figures("no more than the 100/s that were answered", |results| {
            results["steps"][0]["rates"]["achieved_per_s"].as_f64() <= Some(105.0)
        }),
        situation(
            "answers on ticks",
            Host::Reference("--fault tick=100ms"),
            "echo {ws} --clients 50 --rate 200 -d 5s",
        )
        .how_much(&["50 clients, {number} messages/s"]),
    ]
}

fn held_up() -> Vec<Situation> {
    vec![
        situation(
            "nothing for a while",
            Host::Reference("--fault stall=500ms/2s"),
            "echo {ws} --clients 50 --rate 200 -d 4s --limit p99<250ms",
        )
        .how_much(&["failed at 50 clients: {any}"])
        .loses(&["loss.limit actual={any} bound=250.0 limit=\"p99<250ms\" unit=\"ms\"{any}"])
        .exits(3),
        situation(
            "does not read for a while",
            Host::Reference("--fault deaf=500ms/2s"),
            "echo {ws} --clients 50 --rate 200 -d 4s --limit p99<250ms",
        )
        .how_much(&["failed at 50 clients: {any}"])
        .loses(&["loss.limit actual={any} bound=250.0 limit=\"p99<250ms\" unit=\"ms\"{any}"])
        .exits(3),
        situation(
            "a straggler in a closed loop",
            Host::Reference("--fault delay=10ms,delay=2s@1000"),
            "echo {ws} --clients 10 -c 10 -d 2s",
        )
        .how_much(&["10 clients, {number} messages/s"])
        .figures("the time that it took is not counted", |results| {
            let step = &results["steps"][0];
            let answers = step["counts"]["received"].as_f64().unwrap_or(0.0);
            step["rates"]["achieved_per_s"].as_f64() >= Some(0.9 * answers / 2.0)
        }),
        situation(
            "a search of a server in a mood",
            Host::Node("moody:300"),
            "echo {ws} --search --initial-clients 10 --max-clients 400 --interval 100ms -d 800ms --limit-rtt 100ms",
        )
        .how_much(&[
            "unclear: 95% CI {any}",
            "1 client, 95% CI {any}",
            "{number} clients, 95% CI {any}",
            "{number} client{any}, capacity between {any}",
            "failed at 10 clients: {any}",
        ])
        .or_exits(3)
        .figures("no capacity that a measurement says otherwise of", |results| {
            let capacity = &results["verdict"]["capacity"];
            let bound = |name: &str| capacity[name].as_u64().unwrap_or(0);
            let contradicts = |step: &Value| {
                let (clients, passed) = (step["clients"].as_u64().unwrap(), step["stop"]["passed"] == true);
                passed && clients > 2 * bound("high") || !passed && 2 * clients < bound("low")
            };
            capacity["decided"] != true || !results["steps"].as_array().unwrap().iter().any(contradicts)
        }),
        situation(
            "a sweep beyond the server's rate",
            Host::Reference("--fault service=2ms"),
            "saturate {ws} --levels 10 --first-rate 10 --max-rate 400 -d 1s",
        )
        .how_much(&[
            "{number} deliveries/s, safe: {number}/s to 10 clients",
            "at least {number} deliveries/s, safe: at least {number}/s to 10 clients, unclear beyond: {any}",
        ])
        .by(&["server", "machine"])
        .figures("no rate is safe that the server cannot do", |results| {
            results["verdict"]["levels"][0]["safe_per_s"].as_f64() <= Some(60.0)
        }),
    ]
}

fn copies() -> Vec<Situation> {
    vec![
        situation(
            "copies of an echo server",
            Host::Node("echo"),
            "broadcast {ws} --clients 100 -s 20 --ack copy --protocol json --drain-timeout 500ms",
        )
        .how_much(&["failed at 100 clients: {any}"])
        .loses(&["loss.missing missing=1980 of=2000 what=\"copies\""])
        .breaks(&["failed at 100 clients, the lowest load tried; server: it left out 1,980 of 2,000 {any}"])
        .by(SERVER)
        .exits(3),
        situation(
            "copies that are lost, and others that come twice",
            Host::Reference("--fault drop=99%100,dup=49%100"),
            "broadcast {ws} --clients 20 -s 20 --drain-timeout 500ms",
        )
        .how_much(&["failed at 20 clients: {any}"])
        .loses(&[
            "loss.missing missing=4 of=400 what=\"copies\"",
            "loss.wrong of=400 what=\"copies\" wrong=4",
        ])
        .exits(3)
        .short(),
    ]
}

fn requests() -> Vec<Situation> {
    vec![
        situation("every second request fails", Host::Node("failing:2"), HTTP)
            .how_much(&["failed at 10 clients: {any}"])
            .loses(&["loss.wrong example={any}503{any} of={number} what=\"answers\" wrong={number}"])
            .exits(3),
        situation(
            "answers of another status, all the same",
            Host::Node("status:404"),
            "http {http} -c 10 -d 1 --no-preflight",
        )
        .how_much(&["failed at 10 clients: {any}"])
        .loses(&["loss.wrong example={any}404{any} of={number} what=\"answers\" wrong={number}"])
        .says(&["404"])
        .exits(3),
        situation(
            "silence",
            Host::Node("silent"),
            "http {http} -c 10 -d 1 --drain-timeout 1s --no-preflight",
        )
        .how_much(&["failed at 10 clients: {any}"])
        .loses(&["loss.missing missing=10 of=10 what=\"answers\""])
        .breaks(&["{any}; server: it answered none of 10 {any}"])
        .by(SERVER)
        .untimed()
        .exits(3),
        situation(
            "each answer after five seconds",
            Host::Node("slow:5000"),
            "http {http} -c 10 -d 1 --drain-timeout 30s --no-preflight",
        )
        .how_much(&["10 clients, {number} requests/s"])
        .never(&["missing"])
        .figures("no answer is faster than that", |results| {
            results["steps"][0]["rtt"]["min_ms"].as_f64() >= Some(4_990.0)
        }),
        situation("answers that end in their midst", Host::Node("cut:3"), HTTP)
            .how_much(&["failed at 10 clients: {any}"])
            .by(SERVER)
            .exits(3),
        situation(
            "a path that nginx does not know",
            Host::Nginx("location /there { return 200 ok; }"),
            "http {http}nowhere -c 10 -d 1",
        )
        .refused(&["{any}404{any}"]),
    ]
}
