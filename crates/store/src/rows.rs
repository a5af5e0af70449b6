//! A run as rows: what is read from its results so that it can be searched.

use results::{Run, Second, Step, conclusion, finding};
use rusqlite::{Transaction, named_params, params};
use stats::interval::Interval;
use stats::{Histogram, Timed};

/// The percentiles of lists.
pub(crate) const LISTED: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// Puts the run in, whose first `kept` steps are there already. `results` is the text of its file.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    run: &Run,
    kept: usize,
    results: &str,
) -> rusqlite::Result<()> {
    put_run(transaction, run, results)?;
    // Whole steps do not change: those that are there need not be written with every further one.
    for (step, number) in run.steps.iter().zip(1..).skip(kept) {
        insert_step(transaction, &run.id, number, step)?;
        for (timed, histogram) in step.figures.iter().filter(|(timed, _)| step.is_latency(*timed)) {
            insert_histogram(transaction, &run.id, number, timed.name(), histogram)?;
        }
        for second in &step.series {
            insert_second(transaction, &run.id, number, second)?;
        }
    }
    Ok(())
}

/// Keeps the text of the steps behind the first `kept`.
pub(crate) fn put_parts(transaction: &Transaction<'_>, run: &Run, kept: usize) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached("INSERT INTO parts VALUES (?, ?, ?)")?;
    for (step, number) in run.steps.iter().zip(1i64..).skip(kept) {
        statement.execute(params![run.id, number, results::file::write_step(run, step)])?;
    }
    Ok(())
}

/// The run's row, which may be there: whatever refers to it stays.
fn put_run(transaction: &Transaction<'_>, run: &Run, results: &str) -> rusqlite::Result<()> {
    let verdict = &run.verdict;
    // No `INSERT OR REPLACE`: it deletes the row first, and by ON DELETE CASCADE its steps and tags.
    let mut statement = transaction.prepare_cached(
        "INSERT INTO runs VALUES (:id, :started_ns, :throng, :command, :scenario, :dialect, :target, :url,
         :target_version, :cpu, :bottleneck, :capacity, :broken_limits, :trusted, :results, :unfinished, :name, :note,
         :outcome, :p95_low_ns, :p95_high_ns, :shown_step, :shown_figure, :shown_at_least)
         ON CONFLICT (id) DO UPDATE SET started_ns = excluded.started_ns, throng = excluded.throng,
         command = excluded.command, scenario = excluded.scenario, dialect = excluded.dialect,
         target = excluded.target, url = excluded.url, target_version = excluded.target_version,
         cpu = excluded.cpu, bottleneck = excluded.bottleneck, capacity = excluded.capacity,
         broken_limits = excluded.broken_limits, trusted = excluded.trusted, results = excluded.results,
         unfinished = excluded.unfinished, name = excluded.name, note = excluded.note, outcome = excluded.outcome,
         p95_low_ns = excluded.p95_low_ns, p95_high_ns = excluded.p95_high_ns, shown_step = excluded.shown_step,
         shown_figure = excluded.shown_figure, shown_at_least = excluded.shown_at_least",
    )?;
    let number = conclusion::shown(run);
    let step = run.steps.get(number);
    let figure = step.and_then(|step| shown_figure(run, step));
    let p95 = step.zip(figure).and_then(|(step, figure)| p95_interval(step, figure));
    statement.execute(named_params! {
        ":id": run.id,
        ":started_ns": signed(run.started_unix_ns),
        ":throng": run.throng,
        ":command": run.command.join(" "),
        ":scenario": run.scenario.name(),
        ":dialect": run.dialect,
        ":target": run.target.name.as_ref().unwrap_or(&run.target.url),
        ":url": run.target.url,
        ":target_version": run.target.version,
        ":cpu": run.environment.cpu,
        ":bottleneck": verdict.bottleneck.as_ref().map(|finding| finding.bottleneck.name()),
        ":capacity": verdict.capacity.as_ref().map(|capacity| signed(capacity.clients)),
        ":broken_limits": verdict.limits.iter().filter(|outcome| !outcome.passed()).count() as i64,
        ":trusted": verdict.caveats.is_empty(),
        ":results": results,
        ":unfinished": run.resume_after.is_some(),
        ":name": run.name,
        ":note": run.note,
        ":outcome": conclusion::conclude(run).status().word(),
        ":p95_low_ns": p95.map(|p95| signed(p95.low as u64)),
        ":p95_high_ns": p95.map(|p95| signed(p95.high as u64)),
        ":shown_step": step.map(|_| number as i64 + 1),
        ":shown_figure": figure.map(Timed::name),
        ":shown_at_least": step.zip(figure).map(|(step, figure)| bounds(step, figure)),
    })?;
    Ok(())
}

/// The figure of a step that lists show: the scenario's main one or, where nobody is answered, the deliveries.
fn shown_figure(run: &Run, step: &Step) -> Option<Timed> {
    let is_told = |timed: &Timed| !step.figures.get(*timed).is_empty() && step.is_latency(*timed);
    [run.scenario.main_figure(), Timed::Delivery].into_iter().find(is_told)
}

/// The listed percentiles that are lower bounds, by name.
fn bounds(step: &Step, figure: Timed) -> String {
    let open = LISTED.iter().filter(|(_, q)| step.is_open(figure, *q)).map(|(name, _)| *name);
    open.collect::<Vec<_>>().join(" ")
}

/// The 95% interval of a figure's p95, if the series is of it: that of broadcasts is of the deliveries. A
/// lower bound has none.
fn p95_interval(step: &Step, figure: Timed) -> Option<Interval> {
    // By address: two metrics may well have equal samples.
    let is_of_series = std::ptr::eq(step.main_of_series(), step.figures.get(figure));
    (is_of_series && !step.is_open(figure, 0.95))
        .then(|| step.interval_ns(0.95, |second| second.p95_ns))
        .flatten()
}

fn insert_step(transaction: &Transaction<'_>, run: &str, number: i64, step: &Step) -> rusqlite::Result<()> {
    let Step { rates, counts, server, generator, .. } = step;
    let server = server.as_ref();
    let mut statement = transaction.prepare_cached(
        "INSERT INTO steps VALUES (:run, :step, :clients, :connected, :start_ns, :duration_ns, :asked_per_s,
         :achieved_per_s, :sent_per_s, :received_per_s, :connects_per_s, :sent, :expected, :received, :missing, :late,
         :duplicate, :reordered, :corrupt, :unexpected, :leaked, :unacknowledged, :errors, :server_cpu_percent,
         :server_rss_bytes, :generator_cpu_percent, :bottleneck, :caveats)",
    )?;
    statement.execute(named_params! {
        ":run": run,
        ":step": number,
        ":clients": signed(step.clients),
        ":connected": signed(counts.connected),
        ":start_ns": signed(step.start_ns),
        ":duration_ns": signed(step.duration_ns),
        ":asked_per_s": rates.asked_per_s,
        ":achieved_per_s": rates.achieved_per_s,
        ":sent_per_s": rates.sent_per_s,
        ":received_per_s": rates.received_per_s,
        ":connects_per_s": rates.connects_per_s,
        ":sent": signed(counts.sent),
        ":expected": signed(counts.expected),
        ":received": signed(counts.received),
        ":missing": signed(counts.missing),
        ":late": signed(counts.late),
        ":duplicate": signed(counts.duplicate),
        ":reordered": signed(counts.reordered),
        ":corrupt": signed(counts.corrupt),
        ":unexpected": signed(counts.unexpected),
        ":leaked": signed(counts.leaked),
        ":unacknowledged": signed(counts.unacknowledged),
        ":errors": signed(step.errors.total()),
        ":server_cpu_percent": server.and_then(|server| server.cpu_percent_mean),
        ":server_rss_bytes": server.and_then(|server| server.rss_bytes_peak).map(signed),
        ":generator_cpu_percent": generator.as_ref().and_then(|generator| generator.cpu_percent_mean),
        ":bottleneck": step.bottleneck.as_ref().map(|finding| finding.bottleneck.name()),
        ":caveats": finding::join(&step.caveats, "\n"),
    })?;
    Ok(())
}

fn insert_histogram(
    transaction: &Transaction<'_>,
    run: &str,
    number: i64,
    figure: &str,
    histogram: &Histogram,
) -> rusqlite::Result<()> {
    let Some(summary) = histogram.summary() else { return Ok(()) };
    let mut statement = transaction
        .prepare_cached("INSERT INTO histograms VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    statement.execute(params![
        run,
        number,
        figure,
        signed(summary.count),
        summary.mean_ns,
        summary.sd_ns,
        signed(summary.min_ns),
        signed(summary.p50_ns),
        signed(summary.p90_ns),
        signed(summary.p95_ns),
        signed(summary.p99_ns),
        signed(summary.p999_ns),
        signed(summary.p9999_ns),
        signed(summary.max_ns),
        histogram.to_base64(),
    ])?;
    Ok(())
}

fn insert_second(
    transaction: &Transaction<'_>,
    run: &str,
    number: i64,
    second: &Second,
) -> rusqlite::Result<()> {
    // Two rows of one moment would be the end of a step that was cut short: the later says more.
    let mut statement = transaction
        .prepare_cached("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    statement.execute(params![
        run,
        number,
        signed(second.t_ns),
        signed(second.clients),
        signed(second.sent),
        signed(second.received),
        signed(second.errors),
        second.p50_ns.map(signed),
        second.p95_ns.map(signed),
        second.p99_ns.map(signed),
        second.max_ns.map(signed),
        second.server_cpu_percent,
        second.server_rss_bytes.map(signed),
        second.generator_cpu_percent,
    ])?;
    Ok(())
}

/// SQLite's integers have a sign; nothing that is counted or timed comes near the half that is lost.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
