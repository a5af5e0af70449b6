//! The lies, and what is true of them. Percentiles are nearest ranks: `sorted[ceil(qN) − 1]`.

mod times;

use crate::alone::truth::claims::Truth;
use times::{latencies, queues};

/// One lie of the server, the load that meets it, and the arithmetic.
pub(crate) struct Row {
    pub(crate) lie: &'static str,
    pub(crate) fault: String,
    pub(crate) load: String,
    pub(crate) meddling: Meddling,
    pub(crate) check: Box<dyn Fn(&mut Truth<'_>) + Send + Sync>,
}

/// Interference with the processes from outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meddling {
    Nothing,
    /// The generator stands still for a second.
    StopGenerator,
    /// The server gets a tenth of a CPU.
    ThrottleServer,
    /// The generator shares its one CPU with busy loops; the server has another.
    CrowdGenerator,
}

/// How much of each: enough for CI, or as METHODOLOGY asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Full,
}

/// A clause that does nothing.
const NO_FAULT: &str = "seed=0";
const ECHO: &str = "echo --clients 20";
const BROADCAST: &str = "broadcast --clients 20 -c 4";
/// Messages of the rows about broadcasts, and their copies at 20 clients.
const MESSAGES: u64 = 1_000;
const COPIES: u64 = 20 * MESSAGES;

/// An app of two kinds of rooms and of messages, and how many share a room of each.
const KINDS: &str = "tests/alone/truth/kinds.toml";
const KIND_SIZES: [(&str, u64); 2] = [("own", 1), ("group", 5)];
/// An app whose people are in rooms of five, in each of which the third speaks and the others listen.
const ROLES: &str = "tests/alone/truth/roles.toml";

/// An app whose people are in rooms of five, in each of which one stays and speaks, and the others come and go.
const VISITS: &str = "tests/alone/truth/visits.toml";

/// Each kind's messages, and how many copies of all kinds are due to rooms of these sizes.
fn due_of_kinds(truth: &mut Truth<'_>) -> u64 {
    let sent = KIND_SIZES.map(|(name, _)| truth.of_kind(name, "sent"));
    truth.counts("sent of all kinds", MESSAGES, sent.iter().sum());
    for ((name, size), sent) in KIND_SIZES.into_iter().zip(sent) {
        let expected = truth.of_kind(name, "expected");
        truth.counts(&format!("{name}: expected"), sent * size, expected);
    }
    KIND_SIZES.into_iter().zip(sent).map(|((_, size), sent)| sent * size).sum()
}

/// All of them.
pub(crate) fn rows(length: Length) -> Vec<Row> {
    [
        latencies(length),
        queues(length),
        counts(),
        rooms(),
        roles(),
        visits(),
        absences(),
        connections(),
        verdicts(length),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Row {
    /// A row of a server that tells the truth but for what the load asks of it.
    pub(super) fn of(
        lie: &'static str,
        load: &'static str,
        check: impl Fn(&mut Truth<'_>) + Send + Sync + 'static,
    ) -> Row {
        row(lie, NO_FAULT, load, check)
    }
}

fn row(
    lie: &'static str,
    fault: impl Into<String>,
    load: impl Into<String>,
    check: impl Fn(&mut Truth<'_>) + Send + Sync + 'static,
) -> Row {
    let (fault, load, check) = (fault.into(), load.into(), Box::new(check));
    Row { lie, fault, load, meddling: Meddling::Nothing, check }
}

fn echo(rate: u64, seconds: u64) -> String {
    format!("{ECHO} --rate {rate} -d {seconds}s")
}

fn rooms() -> Vec<Row> {
    vec![
        // Client 0 alone speaks, in a room of five.
        row(
            "sends one copy of 100 to another room, too",
            "leak=99%100",
            format!("{BROADCAST} --room-size 5 --senders 5% -s {MESSAGES}"),
            |truth| {
                truth.exactly("received", 5 * MESSAGES);
                truth.exactly("leaked", MESSAGES / 20);
                truth.exactly("missing", 0);
                truth.exits(3);
            },
        ),
        row(
            "sends one copy of 100 to another room, too; people are in two kinds of rooms",
            "leak=99%100",
            format!("{BROADCAST} --app {KINDS} -s {MESSAGES}"),
            |truth| {
                let due = due_of_kinds(truth);
                truth.exactly("received", due);
                // Whoever is in both rooms gets it twice.
                let (leaked, twice) = (truth.rare("leaked"), truth.count("duplicate"));
                truth.counts("leaked, or a duplicate", due / 100, leaked + twice);
                let of_kinds = KIND_SIZES.map(|(name, _)| truth.of_kind(name, "leaked")).iter().sum();
                truth.counts("leaked of all kinds", leaked, of_kinds);
                truth.exits(3);
            },
        ),
        row(
            "loses one copy of 100; people are in two kinds of rooms",
            "drop=99%100",
            format!("{BROADCAST} --app {KINDS} -s {MESSAGES}"),
            |truth| {
                let due = due_of_kinds(truth);
                truth.exactly("received", due - due / 100);
                truth.exactly("missing", due / 100);
                for (name, _) in KIND_SIZES {
                    let [expected, received, missing] =
                        ["expected", "received", "missing"].map(|count| truth.of_kind(name, count));
                    truth.counts(&format!("{name}: received + missing"), expected, received + missing);
                }
            },
        ),
        row(
            "loses one copy of 100 of what is published",
            "drop=99%100",
            format!("{BROADCAST} --room-size 5 -s {MESSAGES} --publish-url /publish/{{room}}"),
            |truth| {
                truth.exactly("received", 5 * MESSAGES - MESSAGES / 20);
                truth.exactly("missing", MESSAGES / 20);
            },
        ),
        row(
            "none; senders get copies that are for the others alone",
            NO_FAULT,
            format!("{BROADCAST} --to others -s {MESSAGES}"),
            |truth| {
                truth.exactly("expected", COPIES - MESSAGES);
                truth.exactly("received", COPIES - MESSAGES);
                truth.exactly("unexpected", MESSAGES);
            },
        ),
    ]
}

fn visits() -> Vec<Row> {
    let load = || format!("broadcast --clients 20 --app {VISITS} --rate 200 --duration 5s");
    // What holds whatever the server does: hosts are due all that is said, and what came to guests in passing
    // was due to them.
    let identities = |truth: &mut Truth<'_>| {
        truth.exactly("sent", MESSAGES);
        truth.role_has("host", "expected", MESSAGES);
        let accounted = truth.count("received") + truth.count("missing") + truth.count("in_flight");
        truth.counts("received + missing + in flight", truth.count("expected"), accounted);
        truth.exactly("unexpected", 0);
    };
    vec![
        row("none; four in five come and go", NO_FAULT, load(), move |truth| {
            identities(truth);
            truth.role_has("host", "received", MESSAGES);
            truth.exactly("received", truth.count("expected"));
            truth.counts("leaked", 0, truth.rare("leaked"));
            truth.counts("join failures", 0, truth.rare("join_failures"));
            truth.counts("seen", truth.rare("seen_due"), truth.rare("seen"));
            let certain = truth.count("received") - truth.rare("in_passing");
            truth.says(
                "received, not in passing",
                "more than hosts alone",
                certain.to_string(),
                certain > MESSAGES,
            );
            truth.exits(0);
        }),
        // The server sends what came and what it lost, of which it loses each hundredth; what it lost on
        // somebody's way is not missing.
        row("loses one copy of 100; four in five come and go", "drop=99%100", load(), move |truth| {
            identities(truth);
            let (received, missing) = (truth.count("received"), truth.count("missing"));
            let lost = received / 99;
            truth.says(
                "missing",
                format!("at most {lost}"),
                missing.to_string(),
                missing <= lost && missing > 0,
            );
            truth.says(
                "missing",
                "at least those of hosts",
                missing.to_string(),
                missing >= truth.of_role("host", "missing"),
            );
            truth.exits(3);
        }),
        // News and lines are lost alike, and those who hear of who comes are never more than those who are there.
        row("loses one copy of 100; newcomers are announced", "drop=99%100", load(), move |truth| {
            identities(truth);
            let [due, seen, unseen] = ["seen_due", "seen", "unseen"].map(|name| truth.rare(name));
            truth.counts("seen + unseen", due, seen + unseen);
            truth.says("seen", "more than 20", seen.to_string(), seen > 20);
            truth.says("unseen", format!("at most {}", due / 10), unseen.to_string(), unseen <= due / 10);
            truth.exits(3);
        }),
        row("lets everybody hear on who has left", "linger=all", load(), move |truth| {
            identities(truth);
            truth.exactly("missing", 0);
            let leaked = truth.rare("leaked");
            truth.says("leaked", "more than 0", leaked.to_string(), leaked > 0);
            truth.role_has("host", "leaked", 0);
            truth.exits(3);
        }),
    ]
}

fn roles() -> Vec<Row> {
    let load = || format!("{BROADCAST} --app {ROLES} -s {MESSAGES}");
    // Connection 0 was made before, to see that the server listens: connection 3 is client 2, who speaks in
    // the first room.
    let refused = |lie, fault, [listeners, speakers]: [u64; 2], hearers: u64| {
        row(lie, fault, load(), move |truth| {
            truth.role_has("listener", "connected", 16 - listeners);
            truth.role_has("listener", "connect_failures", listeners);
            truth.role_has("speaker", "connected", 4 - speakers);
            truth.role_has("speaker", "connect_failures", speakers);
            truth.role_has("listener", "expected", hearers * MESSAGES);
            truth.role_has("speaker", "expected", MESSAGES);
        })
    };
    vec![
        row("none; one in five speaks", NO_FAULT, load(), |truth| {
            for (name, sent, due) in [("listener", 0, 4 * MESSAGES), ("speaker", MESSAGES, MESSAGES)] {
                truth.role_has(name, "sent", sent);
                truth.role_has(name, "expected", due);
                truth.role_has(name, "received", due);
                truth.role_has(name, "missing", 0);
            }
            truth.exits(0);
        }),
        // Whoever is in a room loses as many copies as the others there.
        row("loses each client's every 50th copy; one in five speaks", "drop=each:49%50", load(), |truth| {
            let missing = ["listener", "speaker"].map(|name| truth.of_role(name, "missing"));
            truth.counts("missing of all roles", truth.count("missing"), missing.iter().sum());
            truth.counts("listener: missing, to one of a speaker", 4 * missing[1], missing[0]);
            truth.says("speaker: missing", "at least 16", missing[1].to_string(), missing[1] >= 16);
            for (name, missing) in [("listener", missing[0]), ("speaker", missing[1])] {
                truth.role_has(name, "received", truth.of_role(name, "expected") - missing);
            }
            truth.exits(3);
        }),
        refused("refuses one listener in each room", "refuse=4%5", [4, 0], 3),
        refused("refuses who speaks in every second room", "refuse=3%10", [0, 2], 4),
    ]
}

fn counts() -> Vec<Row> {
    let broadcast = || format!("{BROADCAST} -s {MESSAGES}");
    let echo = || echo(500, MESSAGES / 500);
    vec![
        row("loses one copy of 100", "drop=99%100", broadcast(), |truth| {
            truth.exactly("received", COPIES - 200);
            truth.exactly("missing", 200);
            truth.exactly("duplicate", 0);
        }),
        row("sends one copy of 250 twice", "dup=249%250", broadcast(), |truth| {
            truth.exactly("received", COPIES);
            truth.exactly("missing", 0);
            truth.exactly("duplicate", 80);
        }),
        row(
            "answers one of 250 twice, 16 at once",
            "dup=249%250",
            format!("{ECHO} --pipelining 16 -s {COPIES}"),
            |truth| {
                truth.exactly("received", COPIES);
                truth.exactly("missing", 0);
                truth.exactly("reordered", 0);
                truth.exactly("duplicate", COPIES / 250);
            },
        ),
        // Other copies are doubled than lost: a lost one cannot be doubled.
        row("both, never netted", "drop=99%100,dup=124%250", broadcast(), |truth| {
            truth.exactly("missing", 200);
            truth.exactly("duplicate", 80);
        }),
        // One client: order is of one sender's messages at one receiver.
        row(
            "swaps two of each 50",
            "reorder=each:48%50",
            format!("broadcast --clients 1 -c 1 -s {COPIES}"),
            |truth| {
                truth.exactly("reordered", 400);
                truth.exactly("missing", 0);
            },
        ),
        row("damages one copy of 500", "corrupt=499%500", broadcast(), |truth| {
            truth.exactly("corrupt", 40);
            truth.exactly("missing", 40);
        }),
        row("sends one answer of 100 to a stranger, too", "stray=0%100", echo(), |truth| {
            truth.exactly("unexpected", 10);
            truth.exactly("missing", 0);
        }),
        row("resets client 7 at message 500", "kill=7@500", format!("{BROADCAST} -s {MESSAGES}"), |truth| {
            // A message of that client which its kernel takes while the reset is on its way is sent, and
            // nobody reads it: it comes to none of the 19 others. One message, for the client waits for its
            // answer before the next.
            let undelivered = truth.count("sent") * 20 - truth.count("received");
            let met_the_reset = undelivered.saturating_sub(500) / 19;
            truth.counts("sent × 20 − received", 500 + 19 * met_the_reset.min(1), undelivered);
            truth.exactly("disconnects", 1);
            // Due to who was there when it was sent: only what was under way is missing. That is what each of
            // the four slots had out at the reset, what it sends in the turn of the loop that began before,
            // and in the one that reads of it.
            let missing = truth.count("missing").saturating_sub(19 * met_the_reset);
            truth.says(
                "missing of others' messages",
                "1 … 12",
                missing.to_string(),
                (1..=12).contains(&missing),
            );
        }),
        row("goes silent on client 7 at half of its messages", "mute=7@25", echo(), |truth| {
            truth.exactly("missing", 25);
            truth.exactly("disconnects", 0);
        }),
    ]
}

fn absences() -> Vec<Row> {
    // Fifty a second go to who is away for a second, and for as long as connecting takes.
    let flapping = |how: &str| {
        let load = "broadcast --clients 20 --rate 50 -d 6s --flap 2s:1s --flap-how";
        row("keeps nothing for who is away", NO_FAULT, format!("{load} {how}"), |truth| {
            truth.exactly("missing", 0);
            truth.exactly("duplicate", 0);
            let heard = truth.count("sent") - truth.errors("cut_off");
            let recovered = truth.rare("recovered");
            let due = truth.count("expected") + truth.count("offline_due");
            truth.counts("expected + offline due", 20 * heard, due);
            let (cuts, lost) = (truth.count("cut"), truth.count("lost_offline"));
            let whole = recovered + lost;
            truth.counts("recovered + lost offline", truth.count("offline_due"), whole);
            let per_absence = lost as f64 / cuts.max(1) as f64;
            truth.says(
                "lost in each absence",
                "50 … 56",
                format!("{per_absence:.1}"),
                (49.0..=56.0).contains(&per_absence),
            );
        })
    };
    ["reset", "close", "silence"].map(flapping).into()
}

fn connections() -> Vec<Row> {
    let echo = || "echo --clients 100 --rate 2000 -d 1s";
    vec![
        row(
            "none; a connection takes ten messages",
            NO_FAULT,
            format!("echo --clients 1 --pipelining 1 --messages-per-connection 10 -s {MESSAGES}"),
            |truth| {
                truth.exactly("received", MESSAGES);
                truth.exactly("missing", 0);
                truth.exactly("left", MESSAGES / 10 - 1);
            },
        ),
        row("is slow to accept", "accept=2s", echo(), |truth| {
            truth.at_least("handshake", 2_000.0);
            truth.just_above("handshake", "p50", 2_000.0);
            truth.exactly("connected", 100);
        }),
        row("refuses every 5th connection", "refuse=4%5", echo(), |truth| {
            truth.exactly("connected", 80);
            truth.exactly("connect_failures", 20);
        }),
        row("resets every client after 10 messages", "kill=all@10", echo(), |truth| {
            truth.exactly("disconnects", 100);
            truth.exactly("received", 1_000);
            let identity = truth.count("received") + truth.count("missing") + truth.count("in_flight");
            let sent = truth.count("sent");
            truth.counts("received + missing + in flight", sent, identity);
        }),
    ]
}

fn verdicts(length: Length) -> Vec<Row> {
    let mut rows = vec![
        Row {
            meddling: Meddling::StopGenerator,
            ..row("none; the generator is stopped for 1 s", NO_FAULT, echo(200, 4), |truth| {
                truth.reaches("send_lag", 1_000.0);
                let found = truth.bottleneck().to_owned();
                truth.says("bottleneck", "not the server", &found, found != "server");
                let marks = truth.step["marks"].as_array().map_or(0, Vec::len);
                truth.says("marks", "at least 1", marks.to_string(), marks > 0);
            })
        },
        Row {
            meddling: Meddling::CrowdGenerator,
            ..row(
                "none; busy loops on the generator's CPU",
                NO_FAULT,
                format!("{} --strict --pin 0", echo(2_000, 4)),
                |truth| {
                    let found = truth.bottleneck().to_owned();
                    let holds = ["generator", "machine"].contains(&found.as_str());
                    truth.says("bottleneck", "generator or machine", &found, holds);
                    truth.exits(4);
                },
            )
        },
    ];
    if length == Length::Full {
        rows.push(Row {
            meddling: Meddling::ThrottleServer,
            ..row(
                "none; the server has a tenth of a CPU",
                NO_FAULT,
                // Large enough that it cannot do with so little by taking many at a time.
                "echo --clients 1000 --rate 20k --payload 16KiB -d 5s",
                |truth| {
                    let found = truth.bottleneck().to_owned();
                    truth.says("bottleneck", "server", &found, found == "server");
                },
            )
        });
        rows.push(row(
            "none, 100,000/s over 2,000 clients",
            NO_FAULT,
            "echo --clients 2000 --rate 100k -d 5s",
            |truth| {
                let achieved = truth.step["rates"]["achieved_per_s"].as_f64().expect("a rate");
                let found = truth.bottleneck().to_owned();
                let (exact, said) = ((achieved / 100_000.0 - 1.0).abs() <= 0.001, found != "none");
                truth.says(
                    "achieved /s",
                    "100000 ± 0.1%, or said",
                    format!("{achieved:.0} ({found})"),
                    exact || said,
                );
            },
        ));
    }
    rows
}
