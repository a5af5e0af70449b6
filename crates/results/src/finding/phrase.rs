//! Parts of sentences that depend on more than one number, or that several rows share.

use super::quantity::{Cores, Kinds, Percent, Programs, Span};

/// `1 of 2 agents and its share of the load`.
pub(super) fn lost_agents(lost: &Span<'_, u64>, of: &Span<'_, u64>) -> String {
    let whose = if *lost.high == 1 { "its" } else { "their" };
    format!("{} and {whose} share of the load", lost.part_of(of, "agents"))
}

/// `, and 4 never came`.
pub(super) fn and_lost(lost: &Span<'_, u64>) -> String {
    if *lost.high == 0 { String::new() } else { format!(", and {lost} never came") }
}

/// `was` of one, `were` of several.
pub(super) fn were(some: &Span<'_, u64>) -> &'static str {
    if *some.high == 1 { "was" } else { "were" }
}

/// `it` of one, `they` of several.
pub(super) fn they(some: &Span<'_, u64>) -> &'static str {
    if *some.high == 1 { "it" } else { "they" }
}

/// The example behind what it is one of: later ends of its kind may have had another code.
pub(super) fn the_first(
    lost: &Span<'_, u64>,
    errors: &Span<'_, Kinds>,
    example: &Span<'_, Option<String>>,
) -> String {
    let before = match &errors.high.0[..] {
        _ if *lost.high == 1 => ": ".to_owned(),
        [(kind, _), _, ..] => format!(", the first {kind}: "),
        _ => ", the first: ".to_owned(),
    };
    example.behind(&before)
}

/// The server's full accept queue, where that explains what it is said behind.
pub(super) fn overflowed(times: &Span<'_, Option<u64>>) -> String {
    let Some(high) = times.high else { return String::new() };
    let times = Span { low: times.low.as_ref().unwrap_or(high), high }.times();
    format!("; its listen queue overflowed {times}: raise its backlog")
}

/// The owners of the CPU that was waited for.
pub(super) fn contention(
    stolen: &Span<'_, Option<Percent>>,
    programs: &Span<'_, Option<Programs>>,
) -> String {
    match stolen.high {
        Some(_) => format!("the hypervisor gave {stolen} of the CPU to other machines"),
        None if programs.high.is_some() => format!("other programs had the CPU, {programs}"),
        None => "others had the CPU".into(),
    }
}

/// `: server CPU 97% of 2 cores, busiest worker 40% of a core`; empty where neither is known.
pub(super) fn used(
    server: &Span<'_, Option<Percent>>,
    cores: &Span<'_, Option<Cores>>,
    worker: &Span<'_, Option<Percent>>,
) -> String {
    let server = server.within("server CPU ", &cores.behind(" of "));
    let worker = worker.within("busiest worker ", " of a core");
    let used: Vec<String> = [server, worker].into_iter().filter(|text| !text.is_empty()).collect();
    if used.is_empty() { String::new() } else { format!(": {}", used.join(", ")) }
}
