//! The command to type next, chosen by what happened: the run's own command line with a flag more, or another
//! value.

use report::Suggestion;
use results::conclusion::{self, Conclusion, Status, heaviest_kept};
use results::finding::{Cause, Caveat, Loss};
use results::scenario::Due;
use results::{Bottleneck, Rates, Run, Scenario, Step, command_line};
use stats::error_kind;

mod failure;
mod line;
mod unserved;

use failure::{cause, failed, is_hopeless, is_sender_left_out, is_wrong_from_start, losses};
pub(crate) use line::begin;
use line::{DRAIN_TIMEOUT_NS, Line, Next, SECOND_NS, is_taken};
use unserved::{hold_streams, log_in, look_at_server, restart_server, speak_its_words, start_server};

/// Suggestions that are printed; with more, none is the next.
const SHOWN_MAX: usize = 2;
/// A duration long enough for the kernel's ticks of CPU time, and for a reader to believe it.
const DURATION_S: f64 = 10.0;
/// The duration to hold a capacity for before it is relied on.
const CONFIRMED_FOR_NS: u64 = 60 * SECOND_NS;
/// A wait for a client that a slow server keeps, at least.
const CONNECT_TIMEOUT_NS: u64 = 10 * SECOND_NS;
/// The longest duration that is proposed to get enough samples.
const DURATION_S_MAX: f64 = 600.0;
/// Samples from which the time for more can be told: two that were late would ask for minutes.
const SAMPLES_MIN: u64 = 20;
/// Clients above which more are nothing to type without a thought: a process here has 20,000 files.
const CLIENTS_MAX: u64 = 10_000;
/// The share of what a closed loop reached that an open one can be expected to hold.
const HELD_SHARE: f64 = 0.8;

type Rule = fn(&Run, &Conclusion) -> Option<Next>;

/// Rules that each speak of something that happened, the most urgent first.
const RULES: [Rule; 24] = [
    log_in,
    restart_server,
    start_server,
    speak_its_words,
    hold_streams,
    require_history,
    enlarge_pool,
    leave_out_sender,
    wait_for_copies,
    connect_slower,
    look_at_server,
    measure_longer,
    repeat_whole,
    move_generator,
    ask_for_less,
    search_below,
    look_at_answer,
    try_fewer,
    take_more_samples,
    add_clients_for_memory,
    confirm_capacity,
    search_beyond,
    search_above,
    hold_rate,
];

/// The suggestions below NEXT: an action each, and a command for it. Only commands that the command line
/// takes are proposed.
pub(crate) fn lines(run: &Run) -> Vec<Suggestion> {
    let suggestion = |Next { what, words, .. }| Suggestion {
        what,
        command: words.map(|words: Vec<String>| command_line(&words)),
    };
    chosen(run).into_iter().map(suggestion).collect()
}

fn chosen(run: &Run) -> Vec<Next> {
    let conclusion = conclusion::conclude(run);
    if run.steps.iter().any(Step::was_interrupted) || run.steps.is_empty() {
        return Vec::new();
    }
    let mut chosen: Vec<Next> = Vec::new();
    for next in RULES.iter().filter_map(|rule| rule(run, &conclusion)) {
        // Two rules may come to one command: whoever types it has done both.
        let is_there = chosen.iter().any(|other| other.words.is_some() && other.words == next.words);
        if !is_there && next.words.as_deref().is_none_or(is_taken) {
            chosen.push(next);
        }
    }
    chosen.truncate(SHOWN_MAX);
    chosen
}

/// Returns whether the verb goes up in steps, or can.
fn has_steps(run: &Run) -> bool {
    matches!(run.scenario, Scenario::Echo | Scenario::Broadcast)
}

/// A server without a history passes an audit until one is required.
fn require_history(run: &Run, _: &Conclusion) -> Option<Next> {
    heaviest_kept(run).filter(|step| step.keeps_no_history())?;
    let line = Line::of(run)?.with("require", "at-least-once")?;
    Some(line.to("require_history", "fail it if users need what they missed:"))
}

fn enlarge_pool(run: &Run, _: &Conclusion) -> Option<Next> {
    let Cause::GeneratorPool { slots, needed, .. } = *cause(run)? else { return None };
    let (key, line) = ("enlarge_pool", Line::of(run)?);
    if run.scenario.facts().due == Due::Answers {
        let clients = run.steps.last()?.clients;
        let line = line.with_clients((clients * needed).div_ceil(slots.max(1)))?;
        return Some(line.to(key, "give the rate enough connections:"));
    }
    // Clients receive broadcasts, and more of them would be more to send: the pool is of publishers.
    if line.has("publish-url") {
        return Some(line.with("publish-connections", needed)?.to(key, "give the rate enough publishers:"));
    }
    let what =
        format!("give the rate enough publishers: connections = {needed} in [publish] of the app file");
    line.is_of_file().then_some(Next { key, what, words: None })
}

fn leave_out_sender(run: &Run, _: &Conclusion) -> Option<Next> {
    is_sender_left_out(run).then_some(())?;
    let key = "leave_out_sender";
    let line = Line::of(run)?;
    if line.is_of_file() {
        let what = "expect no copy at the sender: to = \"others\" in the app's file";
        return Some(Next { key, what: what.into(), words: None });
    }
    Some(line.with("to", "others")?.to(key, "expect no copy at the sender:"))
}

fn wait_for_copies(run: &Run, _: &Conclusion) -> Option<Next> {
    losses(run).into_iter().find(|loss| matches!(loss, Loss::StillToCome { .. }))?;
    let line = Line::of(run)?.with_longer("drain-timeout", DRAIN_TIMEOUT_NS)?;
    Some(line.to("wait_for_copies", "wait longer for what is on its way:"))
}

/// Half of the rate at which clients did connect leaves a server time for each.
fn connect_slower(run: &Run, _: &Conclusion) -> Option<Next> {
    let timed_out = |loss: &Loss| match loss {
        Loss::Clients { errors, .. } => errors.0.iter().any(|(kind, _)| kind == error_kind::CONNECT_TIMEOUT),
        _ => false,
    };
    losses(run).iter().find(|loss| timed_out(loss))?;
    let step = failed(run)?;
    // Rows are on the run's clock: the first ends a second after the step began to connect.
    let began_ns = step.connecting.first().map(|row| row.t_ns.saturating_sub(SECOND_NS));
    let took_ns = step.connecting.last().zip(began_ns).map(|(last, began_ns)| last.t_ns - began_ns);
    let seconds = took_ns.map_or(1.0, |ns| ns.max(1) as f64 / 1e9);
    let per_s = step.rates.connects_per_s.unwrap_or(step.counts.connected as f64 / seconds);
    let line = Line::of(run)?.with("connect-rate", (per_s / 2.0).max(1.0).round() as u64)?;
    // With a login, and without the flag, there was as long as that already.
    let logs_in = !step.figures.login.is_empty() && !line.has("connect-timeout");
    let line = if logs_in { line } else { line.with_longer("connect-timeout", CONNECT_TIMEOUT_NS)? };
    Some(line.to("connect_slower", "connect as users do, and wait longer for each:"))
}

fn measure_longer(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let Cause::TooBrief { .. } = cause(run)? else { return None };
    if require_history(run, conclusion).is_some() {
        return None;
    }
    let line = for_seconds(Line::of(run)?, run.steps.last()?, DURATION_S)?;
    Some(line.to("measure_longer", "measure for long enough to see who was saturated:"))
}

/// The command line with a load like `step`'s that lasts `seconds`. A number of messages that makes a closed
/// loop stays one: with a duration in its place, the loop would be another.
fn for_seconds(line: Line, step: &Step, seconds: f64) -> Option<Line> {
    if line.has("sample-size") && !line.has("concurrent") && !line.has("pipelining") {
        let messages = step.counts.sent as f64 * seconds * 1e9 / step.duration_ns.max(1) as f64;
        return line.with("sample-size", messages.ceil());
    }
    line.without("sample-size").without("amount").with("duration", format!("{seconds}s"))
}

/// The cause names the remedy where the generator broke off: it lacks memory, or a worker is gone.
fn repeat_whole(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let found = conclusion.breaks.cause.as_ref()?;
    matches!(found.cause, Cause::GeneratorBroke { .. }).then_some(())?;
    Some(Line::of(run)?.to("repeat_whole", "mend that, and repeat:"))
}

/// The cause names the remedy where the generator ran out of ports, files, memory or connections.
fn move_generator(_: &Run, conclusion: &Conclusion) -> Option<Next> {
    let found = conclusion.breaks.cause.as_ref()?;
    let what = match (found.bottleneck, &found.cause) {
        (_, Cause::GeneratorRanOut { .. } | Cause::GeneratorPool { .. } | Cause::GeneratorBroke { .. }) => {
            return None;
        }
        (Bottleneck::Machine, _) => "stop what else runs here, or give the generator a machine of its own:",
        (Bottleneck::Generator, _) => "give the generator a machine of its own:",
        _ => return None,
    };
    let what = format!("{what} throng agent there, --fleet here (throng docs fleet)");
    Some(Next { key: "move_generator", what, words: None })
}

/// A rate that all clients share is as much for fewer of them; copies get fewer with them.
fn ask_for_less(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let line = Line::of(run).filter(|line| line.has("rate"))?;
    let is_shared = matches!(run.scenario, Scenario::Echo | Scenario::Http | Scenario::Stream);
    let is_of_rate = losses(run).iter().any(|loss| {
        matches!(loss, Loss::Rate { .. } | Loss::Kept { .. } | Loss::Queued { .. } | Loss::Limit { .. })
    });
    let is_answered = is_hopeless(run) || run.is_looking();
    if conclusion.status() != Status::Failed || !is_shared || !is_of_rate || is_answered {
        return None;
    }
    let Rates { asked_per_s, achieved_per_s, .. } = failed(run)?.rates;
    let less_per_s = (HELD_SHARE * achieved_per_s?).min(asked_per_s? / 2.0);
    let less_per_min = (60.0 * less_per_s).floor();
    let rate = match less_per_s {
        _ if less_per_min == 0.0 => return None,
        ..1.0 => format!("{less_per_min}/min"),
        _ => less_per_s.round().to_string(),
    };
    let line = line.with("rate", rate)?;
    Some(line.to("ask_for_less", "try a rate that it may hold:"))
}

/// A search from a tenth of what failed finds what passes in a few steps; with roles, which a tenth may lack,
/// from half.
///
/// Messages that a server with hardly anything to do has lost, it loses at any load: a search would only halve down
/// to the fewest clients. Others need no other proposal: that none is missing is a standing limit, so the search
/// tells a server that loses some under load from one that always does.
fn search_below(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let is_answered = is_hopeless(run) || run.is_looking() || ask_for_less(run, conclusion).is_some();
    if conclusion.status() != Status::Failed || !has_steps(run) || is_answered {
        return None;
    }
    let failed = failed(run).filter(|step| step.clients > 1)?;
    if failure::loses_while_idle(run, failed) {
        let what = "look in the server's log: it lost messages while it was all but idle";
        return Some(Next { key: "look_for_losses", what: what.into(), words: None });
    }
    let clients = failed.clients;
    let alone = if run.scenario == Scenario::Broadcast { 2 } else { 1 };
    let per_room = Line::of(run)?.count("room-size").unwrap_or(alone).max(1);
    let share = clients / if failed.roles.is_empty() { 10 } else { 2 };
    // Rooms that are not full have fewer copies than those of the load that failed.
    let step = ((share / per_room).max(1) * per_room).min(clients);
    let line = searching(run, step)?.with("step-size", step)?.with("max-clients", clients)?;
    Some(line.to("search_below", "find how many clients pass:"))
}

/// The command line with a search that begins at `from` clients. Messages that each client has under way
/// would grow with them, which the command line refuses.
fn searching(run: &Run, from: u64) -> Option<Line> {
    let line = Line::of(run).filter(|line| !line.has("pipelining") || line.has("concurrent"))?;
    let line = ["clients", "total-steps"].into_iter().fold(line, Line::without);
    line.with("initial-clients", from)?.switched("search")
}

/// Fewer clients get the same answers where the share that is wrong was there from the start.
fn look_at_answer(run: &Run, _: &Conclusion) -> Option<Next> {
    let is_answered = is_hopeless(run) || has_steps(run) || run.is_looking();
    (is_wrong_from_start(run) && !is_answered).then_some(())?;
    let what = "as many were wrong in the first half of the load: see the error above, and the server's log"
        .to_owned();
    Some(Next { key: "look_at_answer", what, words: None })
}

fn try_fewer(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let clients = failed(run)?.clients;
    let other = ask_for_less(run, conclusion).or_else(|| look_at_answer(run, conclusion));
    let is_answered = is_hopeless(run) || other.is_some();
    if conclusion.status() != Status::Failed || has_steps(run) || is_answered || clients < 2 {
        return None;
    }
    Some(Line::of(run)?.with_clients(clients / 2)?.to("try_fewer", "try half as many:"))
}

/// Proposes a run with as many samples as are needed, and a fifth more for late ones; of usual length where
/// there were too few to tell. A longer time brings more messages, but no more handshakes.
fn take_more_samples(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let is_longer_anyway = matches!(cause(run), Some(Cause::TooBrief { .. }));
    let has_messages = run.scenario.facts().has_messages;
    // A longer audit finds no history either, and a longer storm has no more handshakes.
    let is_of_handshakes = run.scenario.facts().comes_back && run.steps.iter().all(|step| step.came() == 0);
    let is_longer_anyway = is_longer_anyway || is_of_handshakes || require_history(run, conclusion).is_some();
    let has_more = has_messages && conclusion.status() == Status::Passed && !is_longer_anyway;
    let step = heaviest_kept(run).filter(|_| has_more)?;
    let (samples, needed) = run.verdict.caveats.iter().find_map(|caveat| match caveat.low {
        Caveat::Samples { samples, needed, .. } => Some((samples, needed)),
        _ => None,
    })?;
    let took_s = step.duration_ns as f64 / 1e9;
    let (seconds, what) = if samples < SAMPLES_MIN && 2.0 * took_s <= DURATION_S {
        (DURATION_S, "measure for the usual 10 s, to see how long is enough:")
    } else {
        let seconds = (took_s * needed as f64 / samples.max(1) as f64 * 1.2).ceil();
        (seconds, "measure for long enough to trust the percentiles:")
    };
    // Each answer of a provider's API is paid for.
    let line = Line::of(run).filter(|line| seconds <= DURATION_S_MAX && !line.has("api"))?;
    Some(for_seconds(line, step, seconds)?.to("take_more_samples", what))
}

fn add_clients_for_memory(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let is_unclear = |caveat: &Caveat| {
        matches!(caveat, Caveat::MemoryFewReadings { .. } | Caveat::MemoryFlat | Caveat::MemoryOneLoad { .. })
    };
    run.verdict.caveats.iter().find(|caveat| is_unclear(&caveat.low))?;
    let clients = run.steps.last()?.clients * 10;
    if conclusion.status() != Status::Passed || clients > CLIENTS_MAX {
        return None;
    }
    Some(
        Line::of(run)?
            .with_clients(clients)?
            .with_room_for(clients)
            .to("add_clients_for_memory", "see what a client costs in memory:"),
    )
}

fn confirm_capacity(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    run.verdict.capacity.filter(|capacity| !capacity.at_least)?;
    if conclusion.status() != Status::Passed {
        return None;
    }
    let step = heaviest_kept(run).filter(|step| step.duration_ns < CONFIRMED_FOR_NS)?;
    let search_flags = [
        "search",
        "initial-clients",
        "step-size",
        "max-clients",
        "total-steps",
        "limit-rtt",
        "limit-percentile",
    ];
    let line = search_flags.into_iter().fold(Line::of(run)?, Line::without).with_clients(step.clients)?;
    let line = for_seconds(line, step, CONFIRMED_FOR_NS as f64 / 1e9)?;
    Some(line.to("confirm_capacity", "hold it for a minute before you rely on it:"))
}

/// A search that ended where everything passed goes on to ten times as many.
fn search_beyond(run: &Run, _: &Conclusion) -> Option<Next> {
    let capacity = run.verdict.capacity.filter(|capacity| capacity.at_least)?;
    let line = Line::of(run)?.with("initial-clients", capacity.clients)?;
    // Steps as large as what passed: ten of them are enough to get there.
    let clients_max = capacity.clients * 10;
    let line = line.with("step-size", capacity.clients)?.with("max-clients", clients_max)?;
    Some(line.with_room_for(clients_max).to("search_beyond", "look further up:"))
}

fn search_above(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let step = heaviest_kept(run)?;
    if conclusion.status() != Status::Passed || run.is_looking() {
        return None;
    }
    let more = step.clients * 10;
    if has_steps(run) {
        let line = searching(run, step.clients)?;
        // Steps of thousands would go past what a few clients come to, and leave rooms that are not full.
        let line = if line.has("step-size") { line } else { line.with("step-size", step.clients)? };
        // A search goes no further than one process unless it is told to, and on a fleet it has to be told.
        let needs_end = line.has("fleet") || line.needs_processes(step.clients);
        let line = if needs_end { line.with("max-clients", more)?.with_room_for(more) } else { line };
        // A closed loop has no more under way with more clients: it finds how many the server keeps connected.
        let is_closed = step.rates.asked_per_s.is_none() && step.counts.sent > 0;
        let what =
            if is_closed { "find the limit of clients, with no more under way:" } else { "find the limit:" };
        return Some(line.to("search_above", what));
    }
    let is_of_clients = matches!(run.scenario, Scenario::Idle | Scenario::Storm) && more <= CLIENTS_MAX;
    let line = Line::of(run).filter(|_| is_of_clients)?;
    Some(line.with_clients(more)?.with_room_for(more).to("search_above", "try ten times as many:"))
}

/// The rate that a closed loop reached is none that users may have: each request waited for an answer.
fn hold_rate(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    // What a full machine reached for a moment it may not hold.
    let who = run.verdict.bottleneck.as_ref().map(|found| found.bottleneck);
    if matches!(who, Some(Bottleneck::Machine | Bottleneck::Generator)) {
        return None;
    }
    let rates = &heaviest_kept(run)?.rates;
    let is_closed = matches!(run.scenario, Scenario::Http | Scenario::Stream) && rates.asked_per_s.is_none();
    let reached = rates.achieved_per_s.filter(|_| is_closed && conclusion.status() == Status::Passed)?;
    let line =
        Line::of(run)?.without("amount").with("rate", (reached * HELD_SHARE).max(1.0).round() as u64)?;
    Some(line.to("hold_rate", "see latencies at a rate that does not wait for answers:"))
}

#[cfg(test)]
mod tests;
