use results::finding::quantity::{Kinds, Ns, Percent, Quantile};
use results::{LimitOutcome, Rates, Requirement, Second, ServerUse};
use stats::{Capacity, Counts};

use clap::CommandFactory;

use super::*;
use crate::{Cli, processes};

/// A run of this command line with one step, which has passed.
fn run(line: &str, change: impl FnOnce(&mut Step)) -> Run {
    begin(Cli::command);
    let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let scenario = command[1].parse().unwrap();
    let mut step = Step { clients: 100, usable: Some(100), duration_ns: 10_000_000_000, ..Step::default() };
    step.rates = Rates { achieved_per_s: Some(500.0), ..Rates::default() };
    change(&mut step);
    let steps = vec![step];
    let verdict = results::verdict::conclude(scenario, &steps);
    Run { command, scenario, verdict, steps, ..Run::default() }
}

fn broken(step: &mut Step, standing: &str, counts: Counts) {
    step.counts = Counts { connects: 100, connected: 100, ..counts };
    let of = Requirement::parse(standing, Scenario::Broadcast);
    step.standing.push(LimitOutcome { actual: Some(1.0), ..LimitOutcome::unmeasured(of) });
}

/// Counts of 20 broadcasts that lack a copy each, as many of them at their senders.
fn without_copies(missing_own: u64) -> Counts {
    Counts { sent: 20, expected: 2_000, received: 1_980, missing: 20, missing_own, ..Counts::default() }
}

/// The keys of what is proposed, and the first command.
fn proposed(run: &Run) -> (Vec<&'static str>, String) {
    let chosen = chosen(run);
    let first = chosen.first().and_then(|next| next.words.as_deref()).map(command_line);
    (chosen.iter().map(|next| next.key).collect(), first.unwrap_or_default())
}

#[test]
fn passed_load_is_followed_by_search() {
    let (keys, command) = proposed(&run("throng echo ws://h/ --clients=100 --rate 500 -q", |_| {}));
    assert_eq!(keys, ["search_above"]);
    let expected = "throng echo ws://h/ --rate 500 -q --initial-clients 100 --search --step-size 100";
    assert_eq!(command, expected);
    let many = processes::clients_of_one_process().unwrap() + 1;
    let above_one = |step: &mut Step| (step.clients, step.usable) = (many, Some(many));
    let search = |from: u64| {
        format!("--initial-clients {from} --search --step-size {from} --max-clients {}", from * 10)
    };
    for processes in ["", " --processes 2"] {
        let line = format!("throng echo ws://h/ --clients {many}{processes}");
        let (_, command) = proposed(&run(&line, above_one));
        assert_eq!(command, format!("throng echo ws://h/ {}", search(many)), "{processes}");
    }
    // A client that falls silent has two connections.
    let half = many.div_ceil(2);
    let half_of_it = |step: &mut Step| (step.clients, step.usable) = (half, Some(half));
    let line = format!("throng broadcast ws://h/ --flap 30s --clients {half} --processes 1");
    let (_, command) = proposed(&run(&line, half_of_it));
    assert_eq!(command, format!("throng broadcast ws://h/ --flap 30s {}", search(half)));
    let (keys, command) = proposed(&run("throng idle ws://h/ --clients 100", |_| {}));
    assert_eq!((&keys[..], &*command), (&["search_above"][..], "throng idle ws://h/ --clients 1000"));
    let (keys, command) = proposed(&run("throng http http://h/ -c 100 -d 5s", |_| {}));
    assert_eq!((&keys[..], &*command), (&["hold_rate"][..], "throng http http://h/ -c 100 -d 5s --rate 400"));
}

#[test]
fn failed_load_is_followed_by_search_below() {
    let missing = |step: &mut Step| {
        broken(
            step,
            "missing==0",
            Counts { sent: 10, expected: 1_000, received: 900, missing: 100, ..Counts::default() },
        );
    };
    let (keys, command) = proposed(&run("throng broadcast ws://h/ --clients 100", missing));
    let expected = "throng broadcast ws://h/ --initial-clients 10 --search --step-size 10 --max-clients 100";
    assert_eq!((&keys[..], &*command), (&["search_below"][..], expected));
    let (keys, command) = proposed(&run("throng http http://h/ -c 100", missing));
    assert_eq!((&keys[..], &*command), (&["try_fewer"][..], "throng http http://h/ --connections 50"));
}

#[test]
fn losses_of_idle_servers_are_not_searched() {
    let loads = [(4.0, 2.0, "look_for_losses"), (60.0, 2.0, "search_below"), (100.0, 16.0, "search_below")];
    for (percent, cores, expected) in loads {
        let run = run("throng broadcast ws://h/ --clients 16", |step| {
            let counts =
                Counts { sent: 70, expected: 1_120, received: 1_100, missing: 20, ..Counts::default() };
            (step.clients, step.usable) = (16, Some(16));
            broken(step, "missing==0", counts);
            let server =
                ServerUse { cpu_percent_mean: Some(percent), cores: Some(cores), ..Default::default() };
            step.server = Some(server);
        });
        assert_eq!(proposed(&run).0, [expected], "{percent}");
    }
}

#[test]
fn searches_below_begin_with_full_rooms() {
    let missing = |step: &mut Step| {
        let counts = Counts { sent: 10, expected: 80, received: 70, missing: 10, ..Counts::default() };
        broken(step, "missing==0", counts);
    };
    for (flags, first) in [("--clients 100 --room-size 8", 8), ("--clients 100 --room-size 3", 9)] {
        let (_, command) = proposed(&run(&format!("throng broadcast ws://h/ {flags}"), missing));
        let expected = format!("--initial-clients {first} --search --step-size {first} --max-clients 100");
        assert!(command.ends_with(&expected), "{command}");
    }
}

#[test]
fn sender_without_copy_is_left_out() {
    let run = run("throng broadcast ws://h/ --clients 100", |step| {
        broken(step, "missing==0", without_copies(20));
    });
    let (keys, command) = proposed(&run);
    assert_eq!(keys[0], "leave_out_sender");
    assert_eq!(command, "throng broadcast ws://h/ --clients 100 --to others");
    let further = chosen(&run).into_iter().skip(1).filter_map(|next| next.words);
    let further: Vec<String> = further.map(|words| command_line(&words)).collect();
    assert!(!further.is_empty() && further.iter().all(|line| line.contains("--to others")), "{further:?}");
}

#[test]
fn lost_copies_of_others_leave_out_nobody() {
    for missing_own in [0, 19] {
        let run = self::run("throng broadcast ws://h/ --clients 100", |step| {
            broken(step, "missing==0", without_copies(missing_own));
        });
        assert!(!proposed(&run).0.contains(&"leave_out_sender"), "{missing_own}");
    }
}

#[test]
fn sender_is_left_out_in_the_file() {
    for line in
        ["throng broadcast ws://h/ --app a.toml --clients 100", "throng run a.toml ws://h/ --clients 100"]
    {
        let mut of = run("throng broadcast ws://h/ --clients 100", |step| {
            broken(step, "missing==0", without_copies(20));
        });
        of.command = line.split(' ').map(str::to_owned).collect();
        let chosen = chosen(&of);
        let first = (chosen[0].key, chosen[0].words.is_some());
        assert_eq!(first, ("leave_out_sender", false), "{line}");
        // A flag that the file's messages may refuse would take every further command away.
        let further = chosen.iter().filter_map(|next| next.words.as_deref());
        let further: Vec<String> = further.map(command_line).collect();
        assert!(!further.is_empty() && further.iter().all(|line| !line.contains("--to")), "{further:?}");
    }
}

#[test]
fn timeouts_while_connecting_lower_the_rate() {
    let run = run("throng broadcast ws://h/ --clients 100 --connect-timeout 2s", |step| {
        broken(step, "unusable==0", Counts::default());
        (step.usable, step.reached, step.counts.connected) = (Some(60), Some(60), 60);
        for _ in 0..40 {
            step.errors.add("connect_timeout", 0, "not ready after 2s");
        }
    });
    let (keys, command) = proposed(&run);
    assert_eq!(keys, ["connect_slower", "search_below"]);
    let expected = "throng broadcast ws://h/ --clients 100 --connect-rate 30 --connect-timeout 10s";
    assert_eq!(command, expected);
}

#[test]
fn rates_that_all_share_are_lowered() {
    let queued = |achieved: f64| {
        move |step: &mut Step| {
            let counts = Counts { sent: 10_000, expected: 10_000, received: 10_000, ..Counts::default() };
            broken(step, "p99<100ms", counts);
            step.limits = std::mem::take(&mut step.standing);
            step.rates =
                Rates { asked_per_s: Some(1_000.0), achieved_per_s: Some(achieved), ..Rates::default() };
        }
    };
    for (achieved, verb, rate) in [(500.0, "echo", 400), (1_000.0, "echo", 500), (500.0, "http", 400)] {
        let line = format!("throng {verb} ws://h/ -R 1000");
        let (keys, command) = proposed(&run(&line, queued(achieved)));
        let expected = format!("throng {verb} ws://h/ --rate {rate}");
        assert_eq!((&keys[..], command), (&["ask_for_less"][..], expected));
    }
    let (_, command) = proposed(&run("throng http http://h/ -R1000 -c50", queued(500.0)));
    assert_eq!(command, "throng http http://h/ -c50 --rate 400");
    let (keys, _) = proposed(&run("throng broadcast ws://h/ -R 1000", queued(500.0)));
    assert_eq!(keys, ["search_below"], "fewer clients have fewer copies");
}

#[test]
fn longer_runs_are_the_same_load() {
    let brief = |line: &str, change: fn(&mut Step)| {
        let mut run = run(line, change);
        run.verdict
            .caveats
            .push(Caveat::Samples { quantile: Quantile(0.95), samples: 100, needed: 200 }.into());
        proposed(&run).1
    };
    let closed = |step: &mut Step| step.counts.sent = 5_000;
    let command = brief("throng echo ws://h/ --clients 100 -n 5000", closed);
    assert_eq!(command, "throng echo ws://h/ --clients 100 --sample-size 12000", "it stays a closed loop");
    let command = brief("throng echo ws://h/ -c 10 -n 5000", closed);
    assert_eq!(command, "throng echo ws://h/ -c 10 --duration 24s");
}

#[test]
fn waits_become_longer() {
    let slow = |line: &str, change: fn(&mut Step)| {
        proposed(&run(line, |step| {
            broken(step, "unusable==0", Counts::default());
            (step.usable, step.reached) = (Some(60), Some(60));
            step.errors.add("connect_timeout", 0, "not ready");
            change(step);
        }))
        .1
    };
    let command = slow("throng broadcast ws://h/ --clients 100 --connect-timeout 20s", |_| {});
    assert!(command.ends_with("--connect-timeout 40s"), "{command}");
    let with_login = |step: &mut Step| step.figures.login.record_ns(1_000);
    let command = slow("throng broadcast ws://h/ --clients 100", with_login);
    assert!(!command.contains("--connect-timeout"), "30 s by itself: {command}");
}

#[test]
fn connect_rates_count_from_the_step() {
    let after_a_minute = |step: &mut Step| {
        broken(step, "unusable==0", Counts::default());
        (step.clients, step.usable, step.reached, step.counts.connected) = (200, Some(160), Some(160), 160);
        step.errors.add("connect_timeout", 0, "not ready after 2s");
        let row = |t_s: u64| Second { t_ns: t_s * 1_000_000_000, ..Second::default() };
        step.connecting = vec![row(61), row(62)];
    };
    let expected = "throng echo ws://h/ --clients 200 --connect-rate 40 --connect-timeout 10s";
    assert_eq!(proposed(&run("throng echo ws://h/ --clients 200", after_a_minute)).1, expected);
    let said = |step: &mut Step| {
        after_a_minute(step);
        step.rates.connects_per_s = Some(20.0);
    };
    let command = proposed(&run("throng echo ws://h/ --clients 200", said)).1;
    assert_eq!(command, expected.replace("40", "10"));
}

#[test]
fn one_failed_client_needs_no_search() {
    let alone = |step: &mut Step| {
        let counts = Counts { sent: 9, expected: 9, received: 3, missing: 6, ..Counts::default() };
        broken(step, "missing==0", counts);
        step.clients = 1;
    };
    assert_eq!(proposed(&run("throng broadcast ws://h/ --clients 1", alone)).0, [""; 0]);
    assert_eq!(proposed(&run("throng http http://h/ -c 1", alone)).0, [""; 0]);
}

#[test]
fn publishing_pools_get_more_publishers() {
    let pool = Cause::GeneratorPool { waited: 50, of: 100, slots: 10, needed: 35, service: Ns(70_000_000) };
    let of = |line: &str| {
        let mut run = run("throng broadcast ws://h/", |_| {});
        run.command = line.split(' ').map(str::to_owned).collect();
        run.verdict.bottleneck = Some(pool.clone().into());
        chosen(&run).remove(0)
    };
    let next = of("throng broadcast ws://h/ --clients 100 --publish-url http://h/say --rate 500");
    let expected = "throng broadcast ws://h/ --clients 100 --publish-url http://h/say --rate 500 --publish-connections 35";
    assert_eq!(
        (next.key, next.words.map(|words| command_line(&words))),
        ("enlarge_pool", Some(expected.into()))
    );
    for line in ["broadcast ws://h/ --app app.toml", "run app.toml ws://h/"] {
        let of_file = of(&format!("throng {line} --clients 100 --rate 500"));
        assert_eq!((of_file.key, of_file.words), ("enlarge_pool", None), "the file says how many: {line}");
    }
}

#[test]
fn refused_clients_are_told_to_log_in() {
    let run = run("throng echo ws://h/ --clients 100", |step| {
        broken(step, "unusable==0", Counts::default());
        (step.usable, step.reached, step.counts.connected) = (Some(0), Some(0), 0);
        step.errors.add("http_status", 0, "HTTP 401 Unauthorized");
    });
    assert_eq!(proposed(&run).0[0], "log_in");
    assert_eq!(proposed(&run).1, "throng init --from plain");
    let of_protocol = Run { dialect: "phoenix".to_owned(), ..run };
    assert_eq!(proposed(&of_protocol).1, "throng init --from phoenix");
    let of_stream = Run { scenario: Scenario::Stream, ..of_protocol };
    assert_eq!(proposed(&of_stream).1, "throng init --from stream");
}

#[test]
fn refused_publishers_are_told_of_their_headers() {
    let run = run("throng broadcast ws://h/ --publish-url http://h/say", |step| {
        broken(step, "missing==0", Counts { missing: 100, ..Counts::default() });
        step.errors.add("publish_http_status", 0, "HTTP 401 Unauthorized");
    });
    assert_eq!(proposed(&run).0[0], "log_in_to_publish");
}

#[test]
fn one_command_is_proposed_once() {
    let mut run = run("throng idle ws://h/ --clients 1", |step| step.clients = 1);
    run.verdict.caveats.push(Caveat::MemoryFlat.into());
    assert_eq!(proposed(&run).0, ["add_clients_for_memory"]);
}

#[test]
fn closed_servers_get_no_smaller_load() {
    let mut run = run("throng broadcast ws://h/ --clients 100", |step| {
        broken(step, "unusable==0", Counts::default());
        (step.usable, step.reached, step.counts.connected) = (Some(0), Some(0), 0);
    });
    run.verdict.bottleneck = Some(Cause::ServerTookNone { clients: 100 }.into());
    assert_eq!(proposed(&run).0, [""; 0]);
    run.target.url = "ws://h/".to_owned();
    run.command.extend(["-H", "X: a", "--origin=http://h"].map(str::to_owned));
    let look = "throng ws://h/ -H 'X: a' --origin=http://h";
    assert_eq!(proposed(&run), (vec!["look_at_server"], look.to_owned()));
    for _ in 0..100 {
        run.steps[0].errors.add("refused", 0, "connection refused");
    }
    let (keys, command) = proposed(&run);
    assert_eq!(keys, ["start_server"]);
    assert!(command.ends_with("--wait-for 30s"), "{command}");
}

#[test]
fn wrong_answers_to_all_are_looked_at() {
    let mut run = run("throng http http://h/ -c 100", |step| {
        broken(step, "wrong==0", Counts { sent: 40, expected: 40, received: 40, ..Counts::default() });
    });
    run.target.url = "http://h/".to_owned();
    for (wrong, key) in [(40, "look_at_server"), (39, "try_fewer")] {
        run.verdict.bottleneck = Some(Cause::ServerWrong { wrong, of: 40 }.into());
        assert_eq!(proposed(&run).0, [key]);
    }
}

#[test]
fn clients_that_were_all_lost_are_looked_at() {
    let mut run = run("throng echo ws://h/ --clients 100", |step| {
        broken(step, "disconnects==0", Counts { disconnects: 100, ..Counts::default() });
    });
    run.target.url = "ws://h/".to_owned();
    let lost = |lost| {
        let (what, errors) = ("clients".to_owned(), Kinds::default());
        Some(Cause::ServerLostClients { lost, of: 100, what, errors, example: None }.into())
    };
    run.verdict.bottleneck = lost(100);
    assert_eq!(proposed(&run).0, ["look_at_server"]);
    run.verdict.bottleneck = lost(99);
    assert_eq!(proposed(&run).0, ["search_below"]);
}

#[test]
fn few_samples_are_followed_by_a_longer_run() {
    let mut run = run("throng broadcast ws://h/ --clients 100 -d 10s", |_| {});
    run.verdict.caveats.push(Caveat::Samples { quantile: Quantile(0.95), samples: 100, needed: 200 }.into());
    let (keys, command) = proposed(&run);
    assert_eq!(keys, ["take_more_samples", "search_above"]);
    assert_eq!(command, "throng broadcast ws://h/ --clients 100 --duration 24s");
}

#[test]
fn paid_answers_are_not_asked_for_longer() {
    for (flags, expected) in [("", true), (" --api openai", false)] {
        let mut run = run(&format!("throng stream http://h/ -c 4 -d 10s{flags}"), |_| {});
        run.verdict
            .caveats
            .push(Caveat::Samples { quantile: Quantile(0.95), samples: 100, needed: 200 }.into());
        assert_eq!(proposed(&run).0.contains(&"take_more_samples"), expected, "{flags}");
    }
}

#[test]
fn two_samples_are_no_measure_of_time() {
    let after = |took_ns, samples| {
        let took = |step: &mut Step| step.duration_ns = took_ns;
        let mut run = run("throng broadcast ws://h/ --clients 1 -d 110ms", took);
        run.verdict.caveats.push(Caveat::Samples { quantile: Quantile(0.99), samples, needed: 1_000 }.into());
        proposed(&run).1
    };
    let of = |seconds: &str| format!("throng broadcast ws://h/ --clients 1 --duration {seconds}");
    assert_eq!(after(110_000_000, 2), of("10s"));
    assert_eq!(after(110_000_000, 100), of("2s"));
    // As long as a usual run: another one would bring no more.
    assert!(!after(10_000_000_000, 2).contains("10s"));
    let mut storm = run("throng storm ws://h/ --clients 100", |_| {});
    storm
        .verdict
        .caveats
        .push(Caveat::Samples { quantile: Quantile(0.99), samples: 200, needed: 1_000 }.into());
    assert_eq!(proposed(&storm).0, ["search_above"], "a longer one has no more handshakes");
}

#[test]
fn capacity_is_confirmed_or_looked_for_further_up() {
    let mut run = run("throng echo ws://h/ --search --initial-clients 50 --step-size 50", |_| {});
    let found = Capacity {
        clients: 100,
        low: 95,
        high: 105,
        confidence: 0.95,
        at_least: false,
        contradicted_by: None,
    };
    (run.is_search, run.verdict.capacity) = (true, Some(found));
    let (keys, command) = proposed(&run);
    let expected = "throng echo ws://h/ --clients 100 --duration 60s";
    assert_eq!((&keys[..], &*command), (&["confirm_capacity"][..], expected));
    run.command.extend(["--limit-rtt", "200ms", "--limit-percentile", "99"].map(str::to_owned));
    assert_eq!(proposed(&run).1, expected, "these end steps, of which there are none");
    run.command.truncate(run.command.len() - 4);
    run.verdict.capacity = Some(Capacity { at_least: true, ..found });
    let (keys, command) = proposed(&run);
    let expected = "throng echo ws://h/ --search --initial-clients 100 --step-size 100 --max-clients 1000";
    assert_eq!((&keys[..], &*command), (&["search_beyond"][..], expected));
}

#[test]
fn causes_have_their_own_commands() {
    let mut run = run("throng http http://h/ -c 10 --rate 500", |_| {});
    let pool = Cause::GeneratorPool { waited: 50, of: 100, slots: 10, needed: 35, service: Ns(70_000_000) };
    run.steps[0].clients = 10;
    run.verdict.bottleneck = Some(pool.into());
    let (keys, command) = proposed(&run);
    assert_eq!((keys[0], &*command), ("enlarge_pool", "throng http http://h/ --rate 500 --connections 35"));
    run.verdict.bottleneck = Some(Cause::TooBrief { duration: Ns(3_000_000) }.into());
    let (keys, command) = proposed(&run);
    assert_eq!(
        (keys[0], &*command),
        ("measure_longer", "throng http http://h/ -c 10 --rate 500 --duration 10s")
    );
    run.command = "throng http http://h/ -n 100".split(' ').map(str::to_owned).collect();
    assert_eq!(proposed(&run).1, "throng http http://h/ --duration 10s");
}

#[test]
fn broken_generators_measure_again() {
    let mut run = run("throng echo ws://h/ --clients 100", |_| {});
    let error = "out of memory".to_owned();
    run.verdict.bottleneck = Some(Cause::GeneratorBroke { error }.into());
    let (keys, command) = proposed(&run);
    assert_eq!((keys[0], &*command), ("repeat_whole", "throng echo ws://h/ --clients 100"));
    (run.command, run.is_search) =
        ("throng echo ws://h/ --search".split(' ').map(str::to_owned).collect(), true);
    assert!(!proposed(&run).0.contains(&"search_above"));
}

#[test]
fn busy_machine_is_named_before_more_load() {
    let mut run = run("throng echo ws://h/ --clients 100 --rate 500", |_| {});
    let full = Cause::MachineFull { idle: Percent(0.0), others: Some(Percent(80.0)), programs: None };
    run.verdict.bottleneck = Some(full.into());
    assert_eq!(proposed(&run).0, ["move_generator", "search_above"]);
}

#[test]
fn ended_servers_are_started_again() {
    let mut run = run("throng broadcast ws://h/ --clients 100", |step| {
        broken(step, "disconnects==0", Counts { disconnects: 100, ..Counts::default() });
    });
    run.verdict.bottleneck = Some(Cause::ServerEnded { after: Ns(1_000_000) }.into());
    let expected = (vec!["restart_server"], "throng broadcast ws://h/ --clients 100".to_owned());
    assert_eq!(proposed(&run), expected);
}

#[test]
fn searches_are_left_out_where_refused() {
    assert_eq!(proposed(&run("throng echo ws://h/ --clients 100 --pipelining 2", |_| {})).0, [""; 0]);
    assert_eq!(proposed(&run("throng echo ws://h/ --pipelining=2 -c 200", |_| {})).0, ["search_above"]);
    let of_audit = Run { command: vec!["throng".into(), "audit".into()], ..run("throng broadcast", |_| {}) };
    assert_eq!(proposed(&of_audit).0, [""; 0]);
}

#[test]
fn nothing_is_proposed_that_cannot_be_typed() {
    let secret = run("throng echo ws://h/ --clients 100 --token ***", |_| {});
    assert_eq!(proposed(&secret).0, [""; 0]);
    let mut interrupted = run("throng echo ws://h/ --clients 100", |_| {});
    interrupted.steps[0].interrupted = Some(results::Interrupted::Loading);
    assert_eq!(proposed(&interrupted).0, [""; 0]);
}

#[test]
fn unknown_messages_are_replaced() {
    let unanswered_of = |scenario: &str, line: &str| {
        let mut run = run(&format!("throng {scenario} ws://h/"), |step| {
            let counts = Counts { sent: 100, expected: 100, missing: 100, ..Counts::default() };
            broken(step, "missing==0", counts);
        });
        run.command = line.split(' ').map(str::to_owned).collect();
        run.dialect = "phoenix".to_owned();
        chosen(&run)
            .into_iter()
            .map(|next| (next.key, next.words.map(|words| command_line(&words))))
            .collect::<Vec<_>>()
    };
    let unanswered = |line: &str| unanswered_of(line.split(' ').nth(1).unwrap(), line);
    let key = "speak_its_words";
    let written = Some("throng init --from phoenix".to_owned());
    assert_eq!(unanswered("throng echo ws://h/ --clients 100"), [(key, written.clone())], "no search");
    assert_eq!(unanswered("throng echo ws://h/ --rate 50"), [(key, written)], "no lower rate");
    assert_eq!(unanswered("throng echo ws://h/ --app app.toml"), [(key, None)]);
    for line in ["run app.toml ws://h/ --token ***", "run --event say --body {} ws://h/"] {
        assert_eq!(unanswered_of("broadcast", &format!("throng {line}")), [(key, None)], "{line}");
    }
    assert_eq!(unanswered("throng http http://h/ -c 100")[0].0, "try_fewer", "a request needs no words");
}

#[test]
fn lost_history_is_made_a_requirement() {
    let forgetful = |step: &mut Step| (step.counts.offline_due, step.counts.lost_offline) = (85, 85);
    let of = |line: &str| Run {
        command: line.split(' ').map(str::to_owned).collect(),
        ..run("throng broadcast ws://h/", forgetful)
    };
    let mut run = of("throng audit ws://h/ --clients 20 -d 2s");
    for caveat in [None, Some(Caveat::Samples { quantile: Quantile(0.95), samples: 100, needed: 200 })] {
        run.verdict.caveats.extend(caveat.map(Into::into));
        let (keys, command) = proposed(&run);
        let expected = "throng audit ws://h/ --clients 20 -d 2s --require at-least-once";
        assert_eq!((&keys[..], &*command), (&["require_history"][..], expected));
    }
    run.verdict.bottleneck = Some(Cause::TooBrief { duration: Ns(3_000_000) }.into());
    assert_eq!(proposed(&run).0, ["require_history"], "a longer audit finds none either");
}

#[test]
fn full_machines_hold_no_rate() {
    let mut run = run("throng http http://h/ -c 10 -d 1s", |_| {});
    assert_eq!(proposed(&run).0, ["hold_rate"]);
    let full = Cause::MachineFull { idle: Percent(0.0), others: None, programs: None };
    run.verdict.bottleneck = Some(full.into());
    assert_eq!(proposed(&run).0, ["move_generator"]);
}

#[test]
fn endless_streams_are_held_open() {
    for (line, expected) in [
        (
            "throng stream http://h/events -c 100",
            ("hold_streams", "throng idle http://h/events --protocol sse"),
        ),
        (
            "throng stream http://h/ --body x -d 5s",
            ("wait_for_streams", "throng stream http://h/ --body x -d 5s --drain-timeout 60s"),
        ),
    ] {
        let mut run = run(line, |step| {
            let counts = Counts { sent: 10, expected: 10, missing: 10, unended: 10, ..Counts::default() };
            broken(step, "missing==0", counts);
            step.bottleneck = Some(Cause::ServerStreaming { answers: 10, events: 1_680 }.into());
        });
        run.target.url = line.split(' ').nth(2).unwrap().to_owned();
        let (keys, command) = proposed(&run);
        assert_eq!((&keys[..], &*command), (&[expected.0][..], expected.1));
    }
}

#[test]
fn wrong_answers_from_the_start_are_looked_at() {
    for (errors, expected) in [([5, 5, 5, 5], "look_at_answer"), ([0, 1, 10, 10], "try_fewer")] {
        let run = run("throng http http://h/ -c 100 -d 4s", |step| {
            broken(step, "wrong==0", Counts { sent: 400, expected: 400, received: 400, ..Counts::default() });
            step.duration_ns = 4 * SECOND_NS;
            let ends = (1..).map(|second| second * SECOND_NS);
            let rows = ends.zip(errors);
            step.series = rows
                .map(|(t_ns, errors)| Second { t_ns, received: 100, errors, ..Second::default() })
                .collect();
            step.bottleneck = Some(Cause::ServerWrong { wrong: 20, of: 400 }.into());
        });
        assert_eq!(proposed(&run).0[0], expected, "{errors:?}");
    }
    let silent = run("throng http http://h/ -c 100", |step| {
        broken(step, "missing==0", Counts { sent: 100, expected: 100, missing: 100, ..Counts::default() });
        step.bottleneck = Some(Cause::ServerAnsweredNone { messages: 100 }.into());
    });
    assert!(!proposed(&silent).0.contains(&"try_fewer"));
}
