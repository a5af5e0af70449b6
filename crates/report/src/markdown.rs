//! Tables for issues, READMEs and blogs.

use results::columns::{self, escape};
use results::conclusion;
use results::{Delivery, Run, RunLimit, Scenario, Step};

use crate::step_table::{StepTable, role_table, room_table, say_table, step_table};
use results::format::count;
use stats::{Summary, Timed};

/// The run as Markdown: what was run and where, a table of the steps, and the verdict.
pub fn markdown(run: &Run) -> String {
    let mut parts = vec![heading(run), environment(run), steps(run)];
    parts.extend(say_table(run).map(written));
    parts.extend(role_table(run).map(written));
    parts.extend(room_table(run).map(written));
    if run.scenario == Scenario::Echo {
        parts.push(wsdemo(run));
    }
    parts.push(verdict(run));
    parts.join("\n")
}

fn heading(run: &Run) -> String {
    let target = run.target.name.as_ref().unwrap_or(&run.target.url);
    let version = run.target.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    format!(
        "## {}{}: {}, {}\n\n    {}\n",
        escape(target),
        escape(&version),
        run.scenario,
        escape(&run.dialect),
        results::command_line(&run.command)
    )
}

fn environment(run: &Run) -> String {
    let environment = &run.environment;
    let parts = [
        environment.cpu.clone(),
        environment.cores.map(|cores| format!("{cores} cores")),
        environment.memory_bytes.map(|bytes| results::format::bytes(bytes as f64)),
        environment.kernel.clone(),
        environment
            .same_host
            .map(|same| if same { "server on the same host" } else { "server on another host" }.into()),
        Some(format!("throng {}, run {}", run.throng, run.id)),
    ];
    let known: Vec<_> = parts.into_iter().flatten().map(|part| escape(&part)).collect();
    known.join(", ") + "\n"
}

/// The first column left, all others right.
fn table(rows: &[Vec<String>]) -> String {
    columns::markdown(rows, |column| column > 0)
}

fn steps(run: &Run) -> String {
    written(step_table(run))
}

fn written(StepTable { names, rows }: StepTable) -> String {
    table(&[names].into_iter().chain(rows).collect::<Vec<_>>())
}

/// wsdemo's table, in its columns and in ms.
fn wsdemo(run: &Run) -> String {
    let columns = ["mean", "σ", "median", "95%", "99%", "99.9%"];
    let mut names = vec!["Clients".to_string()];
    for figure in ["Handshake Time", "Latency"] {
        names.extend(columns.map(|column| format!("{figure} ({column})")));
    }
    names.push("Connection Timeouts".into());
    let mut rows = vec![names];
    for step in &run.steps {
        let mut cells = vec![count(step.clients)];
        cells.extend([Timed::Handshake, Timed::Rtt].into_iter().flat_map(|timed| wsdemo_cells(step, timed)));
        cells.push(count(step.counts.connect_timeouts));
        rows.push(cells);
    }
    table(&rows)
}

/// Empty where nothing was answered; a bound where something never came.
fn wsdemo_cells(step: &Step, timed: Timed) -> [String; 6] {
    let summary = step.figures.get(timed).summary().filter(|_| step.is_latency(timed));
    let Some(Summary { mean_ns, sd_ns, p50_ns, p95_ns, p99_ns, p999_ns, .. }) = summary else {
        return Default::default();
    };
    let moments = [mean_ns, sd_ns].map(|ns| (ns.round(), step.has_open(timed)));
    let quantiles = [(p50_ns, 0.5), (p95_ns, 0.95), (p99_ns, 0.99), (p999_ns, 0.999)];
    let [mean, sd] = moments;
    let [p50, p95, p99, p999] = quantiles.map(|(ns, q)| (ns as f64, step.is_open(timed, q)));
    [mean, sd, p50, p95, p99, p999]
        .map(|(ns, is_open)| format!("{}{:.3}", if is_open { "≥ " } else { "" }, ns / 1e6))
}

fn verdict(run: &Run) -> String {
    let conclusion = conclusion::conclude(run);
    let delivery = Delivery::of(&run.steps).map(|delivery| format!("- **Delivery:** {delivery}\n"));
    let mut text = format!("- **RESULT** {}\n", escape(&conclusion.result()));
    text += &conclusion.why().map(|why| format!("- **WHY** {}\n", escape(&why))).unwrap_or_default();
    text += &delivery.unwrap_or_default();
    for limit in RunLimit::all(run).iter().filter(|limit| limit.is_asked) {
        let actual = conclusion::actual(limit.outcome).map(|was| format!(" ({was})")).unwrap_or_default();
        let bold = if limit.outcome.passed() { "" } else { "**" };
        text +=
            &format!("- **Limit** `{}`: {bold}{}{bold}{actual}\n", limit.outcome.of, limit.outcome_text());
    }
    if run.verdict.caveats.is_empty() {
        text += "- **CAVEATS** none\n";
    }
    for caveat in conclusion.caveats(run) {
        text += &format!("- **CAVEAT** {}\n", escape(&caveat));
    }
    text
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::sample;

    #[test]
    fn a_broadcast_run() {
        assert_snapshot!(sample::keyed(&sample::broadcast_run(), &markdown(&sample::broadcast_run())), @"
        ## node-ws: broadcast, json

            throng broadcast ws://127.0.0.1:3334/ws

        i7-4790K, 8 cores, 16.0 GiB, server on another host, throng 0.1.0, run 20261120-183000-abcdef

        | clients | round trip p50 | round trip p95 | round trip p99 | round trip max | delivery p50 | delivery p95 | delivery p99 | delivery max | last receiver p50 | last receiver p95 | last receiver p99 | last receiver max | rate | received | missing | errors | server CPU | server RSS | bottleneck |
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
        | 1,000 | 37.5ms | 63.2ms | 65.4ms | 66.0ms | 36.0ms | 66.6ms | 69.4ms | 70.0ms | 50.0ms | 68.0ms | 69.6ms | 70.0ms | 50.0/s | 1,000,000 | 0 | 0 | 62% | 87.0 MiB | none |
        | 4,000 | 3.34s | 6.40s? | 6.67s? | 6.73s | 3.51s | 6.65s | 6.93s | 7.00s | ≥ 3.72s | ≥ 6.67s? | ≥ 6.93s? | ≥ 7.00s | 50.0/s | 397,510 | 490 | 5 | 99% | 87.0 MiB | server |

        - **RESULT** FAILED at 4,000 clients: loss.clients, loss.missing, loss.wrong, rtt.p95&lt;=250ms was 6.40s; passed at held.clients
        - **WHY** WHY
        - **CAVEAT** caveat.samples
        ");
    }

    #[test]
    fn rooms_of_several_sizes_have_a_table() {
        let mut run = sample::broadcast_run();
        assert!(!markdown(&run).contains("rooms"));
        run.steps[0] = sample::step_in_rooms();
        let text = markdown(&run);
        let at = text.find("| clients | rooms |").unwrap();
        assert_snapshot!(text[at..].split("\n\n").next().unwrap(), @"
        | clients | rooms | deliveries | p50 | p95 | p99 | max |
        |---|---:|---:|---:|---:|---:|---:|
        | 1,000 | ≤10 | 40,000 | 11.0ms | 19.1ms | 19.8ms | 20.0ms |
        | 1,000 | ≤1k | 60,000 | 36.0ms | 66.6ms | 69.4ms | 70.0ms |
        ");
    }

    #[test]
    fn an_echo_run() {
        assert_snapshot!(sample::keyed(&sample::echo_run(), &markdown(&sample::echo_run())), @"
        ## node-ws: echo, json

            throng echo ws://127.0.0.1:3334/ws

        i7-4790K, 8 cores, 16.0 GiB, server on another host, throng 0.1.0, run 20261120-183000-abcdef

        | clients | asked | round trip p50 | round trip p95 | round trip p99 | round trip max | rate | received | missing | errors | server CPU | bottleneck |
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
        | 10,000 | 10,000/s | 1.20ms | 2.23ms | 2.32ms | 2.35ms | 10,000/s | 300,000 | 0 | 0 | 41% | none |

        | Clients | Handshake Time (mean) | Handshake Time (σ) | Handshake Time (median) | Handshake Time (95%) | Handshake Time (99%) | Handshake Time (99.9%) | Latency (mean) | Latency (σ) | Latency (median) | Latency (95%) | Latency (99%) | Latency (99.9%) | Connection Timeouts |
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
        | 10,000 | 7.150 | 3.955 | 7.151 | 13.319 | 13.863 | 13.991 | 1.195 | 0.664 | 1.195 | 2.231 | 2.323 | 2.343 | 0 |

        - **RESULT** PASSED
        - **WHY** WHY
        - **CAVEATS** none
        ");
    }

    #[test]
    fn foreign_text_cannot_break_the_table() {
        let mut run = sample::echo_run();
        run.target.name = Some("a|b<script>\nc".into());
        run.dialect = "x\n<img>".into();
        assert!(
            markdown(&run).starts_with("## a\\|b&lt;script> c: echo, x &lt;img>\n"),
            "{}",
            markdown(&run)
        );
    }
}
