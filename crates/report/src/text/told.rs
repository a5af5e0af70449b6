//! Parts of sentences about a step that more than one layout has.

use results::format::{bytes, clients, cores, count, duration, rate};
use results::scenario::Due;
use results::{GeneratorUse, Rates, Run, Scenario, ServerUse, Step, verdict};
use stats::{Count, CountOf, Counts, Timed};

use crate::step_table::sizes_of_rooms;
use crate::text::row::Rows;

/// How many times its schedule it takes until the last answer, for that to be told.
const DRAINED_FACTOR_MIN: f64 = 1.1;

/// The verb, the protocol and the target: `throng broadcast · json · ws://127.0.0.1:9000/ws`.
pub(super) fn head(run: &Run) -> String {
    let protocol = Some(&run.dialect).filter(|_| run.scenario.facts().has_dialects);
    let server = run.target.name.as_ref().map(|name| match &run.target.version {
        Some(version) => format!("{name} {version}"),
        None => name.clone(),
    });
    let server = server.map(|server| format!(" ({server})")).unwrap_or_default();
    let target = format!("{}{server}", run.target.url);
    let parts = [Some(format!("throng {}", run.verb())), protocol.cloned(), Some(target)];
    results::format::printable(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")) + "\n"
}

/// The load that was asked of a step: `200 clients · open model, 50.0 messages/s · 10.0s`.
pub(super) fn load(scenario: Scenario, step: &Step) -> String {
    let facts = scenario.facts();
    let model = match step.rates.asked_per_s {
        Some(per_s) => Some(format!("open model, {}", rate(per_s, facts.sends))),
        None if step.counts.sent > 0 && facts.is_loop => Some("closed model".to_owned()),
        None => None,
    };
    let last = if facts.due == Due::Copies { "copy" } else { "answer" };
    let drained = answered_in_ns(step).map(|ns| ns.saturating_sub(step.duration_ns));
    let drained = drained.map(|ns| format!(" + {} until the last {last}", duration(ns))).unwrap_or_default();
    let lasted = (step.duration_ns > 0).then(|| duration(step.duration_ns) + &drained);
    let parts = [Some(clients(step.clients)), model, lasted];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The time in which an open model's messages were answered, where that is longer than its schedule: rates of
/// what came are over it, and rates of what was sent over the schedule (METHODOLOGY "Rates").
pub(super) fn answered_in_ns(step: &Step) -> Option<u64> {
    let Rates { asked_per_s, received_per_s, .. } = step.rates;
    let per_s = received_per_s.filter(|&per_s| per_s > 0.0 && asked_per_s.is_some())?;
    let ns = 1e9 * step.counts.received as f64 / per_s;
    // The last answers of any schedule come a little later.
    (ns > DRAINED_FACTOR_MIN * step.duration_ns as f64).then_some(ns as u64)
}

/// Metrics that are told wherever there are any.
const TOLD_IF_THERE: [Timed; 8] = [
    Timed::First,
    Timed::FirstToken,
    Timed::Gap,
    Timed::Join,
    Timed::Leave,
    Timed::Presence,
    Timed::PushGap,
    Timed::PushAge,
];

/// Metrics worth a line of their own, in the order of the table. Where every message was sent in time, the
/// service time is the round trip, which is not said twice.
pub(super) fn timed(step: &Step) -> impl Iterator<Item = Timed> {
    let tells_rooms_apart = sizes_of_rooms(step).count() > 1;
    let is_shown = move |timed: &Timed| {
        !step.figures.get(*timed).is_empty()
            && (shown(step).contains(timed)
                || *timed == Timed::Handshake && step.figures.delivery.is_empty()
                || tells_rooms_apart && timed.facts().rooms.is_some()
                || TOLD_IF_THERE.contains(timed))
    };
    let is_told_already = |timed: &Timed| {
        *timed == Timed::Service
            && step.figures.get(Timed::Rtt).summary() == step.figures.get(Timed::Service).summary()
    };
    Timed::ALL.into_iter().filter(move |timed| is_shown(timed) && !is_told_already(timed))
}

/// The figures worth a line: a fan-out is told by its deliveries, an echo by its service time, connecting by itself.
fn shown(step: &Step) -> &'static [Timed] {
    let figures = &step.figures;
    if !figures.recovery.is_empty() {
        return &[Timed::Recovery, Timed::Handshake, Timed::Rtt];
    }
    if !figures.replay.is_empty() {
        return &[Timed::Rtt, Timed::Delivery, Timed::Completion, Timed::Replay];
    }
    match (figures.rtt.is_empty(), figures.delivery.is_empty()) {
        (true, true) => &[Timed::Handshake],
        (false, true) => &[Timed::Rtt, Timed::Service],
        (_, false) => &[Timed::Rtt, Timed::Delivery, Timed::Completion],
    }
}

/// The counts that the sentence leaves out, as far as there are any.
pub(super) fn others(counts: &Counts, of: CountOf) -> String {
    let said = |(counted, &n): (Count, &u64)| {
        let words = counted.facts().words.filter(|_| n > 0 && counted.facts().of == of)?;
        Some(format!(", {} {words}", count(n)))
    };
    counts.iter().filter_map(said).collect()
}

/// The number of clients that connected, and of how many: each is counted once, however often it connected.
pub(super) fn connected(step: &Step) -> (u64, u64) {
    match step.reached {
        Some(reached) => (reached, step.clients),
        None => (step.counts.connected, step.counts.connects),
    }
}

/// Connections made beyond one of each client, and what became of connections.
pub(super) fn connections(step: &Step) -> String {
    let counts = &step.counts;
    let again = (step.reached.is_some() && counts.connects > step.clients)
        .then(|| format!(", {} of {} connections made", count(counts.connected), count(counts.connects)));
    again.unwrap_or_default() + &others(counts, CountOf::Connections)
}

/// The number and rate of the server's pushes, altogether and per client.
pub(super) fn pushes(step: &Step) -> Option<String> {
    // None may have been usable as the load began.
    let (per_s, clients) = (step.pushed_per_s()?, step.usable.unwrap_or(step.clients).max(1));
    let (all, each) = (rate(per_s, ""), rate(per_s / clients as f64, ""));
    let others = others(&step.counts, CountOf::Pushes);
    Some(format!("{} at {all}, {each} to each client{others}", count(step.counts.pushed)))
}

/// Events of streamed answers and tokens in them, how many and how fast, and what was wrong with them.
pub(super) fn events(step: &Step) -> Option<String> {
    let told = |n: u64, per_s: Option<f64>, what: &str| {
        let at = per_s.map(|per_s| format!(" at {}", rate(per_s, ""))).unwrap_or_default();
        (n > 0).then(|| format!("{}{what}{at}", count(n)))
    };
    let Counts { events, tokens, .. } = step.counts;
    let tokens = told(tokens, step.rates.tokens_per_s, " tokens").map(|tokens| format!(", {tokens}"));
    let faults = others(&step.counts, CountOf::Streams);
    let events = told(events, step.rates.events_per_s, "");
    let is_told = events.is_some() || !faults.is_empty();
    is_told.then(|| events.unwrap_or_else(|| "none".into()) + &tokens.unwrap_or_default() + &faults)
}

/// Each kind of error: how often, when, and the first of them.
pub(super) fn errors(step: &Step) -> Vec<String> {
    let errors = step.errors.iter().map(|(kind, error)| {
        let (first_s, last_s) = (error.first_ns as f64 / 1e9, error.last_ns as f64 / 1e9);
        format!("{kind} {}, {first_s:.1}s to {last_s:.1}s: {}", count(error.count), error.example)
    });
    errors.collect()
}

/// The owners of the slow messages' time, with the programs that had the CPU that was waited for.
pub(super) fn slow_time(step: &Step) -> Option<String> {
    let (from_ns, owners) = verdict::slow_time(step)?;
    Some(format!("{} or longer: {}", duration(from_ns), owners.told(step)))
}

/// CPU and memory of server and generator; a generator that is known stands beside a server that is not seen.
pub(super) fn resources(step: &Step) -> Vec<(&'static str, String)> {
    let server = step.server.as_ref().map(server_use).filter(|text| !text.is_empty());
    let of_machine = step.machine.as_ref().and_then(|machine| machine.cores).map_or(1.0, f64::from);
    let generator = step.generator.as_ref().map(|generator| generator_use(generator, of_machine));
    let generator = generator.filter(|text| !text.is_empty());
    let unseen = generator.as_ref().map(|_| "not seen".to_owned());
    let known = [("server", server.or(unseen)), ("generator", generator)];
    known.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

/// CPU and memory of both ends, and whose the time of slow messages was.
pub(super) fn usage_rows(step: &Step, rows: &Rows<'_>) -> Vec<String> {
    let used = resources(step).into_iter().map(|(label, text)| rows.row(label, &text));
    used.chain(slow_time(step).map(|text| rows.row("slow time", &text))).collect()
}

/// `rails (pid 4711)  8% of 2 cores, 103 MiB`. Its CPU is a share of all cores that it may use.
fn server_use(server: &ServerUse) -> String {
    let of = cores(server.cores_or_one());
    let used = cpu_and_memory(server.cpu_percent_of_cores(), &of, server.rss_bytes_peak);
    let program = server.name.as_ref().zip(server.pid).map(|(name, pid)| format!("{name} (pid {pid})"));
    [program, Some(used)].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// `1% of 2 cores, 20 MiB, up to 166ms late`. As the server's, its CPU is a share of all cores of its machine.
fn generator_use(generator: &GeneratorUse, of_machine: f64) -> String {
    let cpu_percent = generator.cpu_percent_mean.map(|percent| percent / of_machine);
    let used = cpu_and_memory(cpu_percent, &cores(of_machine), generator.rss_bytes_peak);
    if generator.loop_lag.is_empty() {
        return used;
    }
    let late = format!("p99 of its lag {}", duration(generator.loop_lag.quantile_ns(0.99)));
    [used, late].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn cpu_and_memory(cpu_percent: Option<f64>, of: &str, rss_bytes: Option<u64>) -> String {
    let cpu = cpu_percent.map(|cpu| format!("{cpu:.0}% of {of}"));
    let memory = rss_bytes.map(|rss| bytes(rss as f64));
    cpu.into_iter().chain(memory).collect::<Vec<_>>().join(", ")
}
