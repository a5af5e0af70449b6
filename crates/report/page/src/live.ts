// A run as it happens: a row a second from the server, and each step when it ends, drawn as they come. A page that is
// loaded again is told everything from the start.

import { liveCharts } from "./charts";
import { type Figure as Latency, type FigureName, type Run, type Series, type Step, mainFigure } from "./data";
import type { View } from "./drawing";
import { Figure, make, tableElement } from "./figures";
import { count, duration, percent, rate } from "./format";
import { NARROW, follow } from "./report";
import { colours } from "./theme";

/** A line of `--stream -` (docs/EXPORTS.md). */
interface Row {
  event: "start" | "second" | "step" | "end";
  phase?: "connecting" | "loading" | "draining";
  warmup?: true;
  t_s?: number;
  usable?: number;
  sent?: number;
  received?: number;
  errors?: number;
  p50_ms?: number;
  p95_ms?: number;
  p99_ms?: number;
  max_ms?: number;
  server_cpu_percent?: number;
  server_rss_bytes?: number;
  generator_cpu_percent?: number;
  step?: Ended;
}

/** A step that has ended, as the results file has it: what is shown of it. */
interface Ended extends Partial<Record<FigureName, Summary>> {
  clients: number;
  counts: { errors: Record<string, { count: number }>; [count: string]: unknown };
  /** When the user ended it before its time. */
  interrupted?: "connecting" | "loading";
  rates: { asked_per_s?: number; achieved_per_s?: number };
  bottleneck?: string;
  /** Those asked for, those that hold without it, and the one that ends a walk. */
  limits: Limit[];
  standing: Limit[];
  stop?: Limit;
}

interface Limit {
  passed: boolean;
}

interface Summary {
  count: number;
  mean_ms: number;
  min_ms: number;
  max_ms: number;
  p50_ms: number;
  p90_ms: number;
  p95_ms: number;
  p99_ms: number;
  p999_ms: number;
}

/** How the run ended. */
interface End {
  code: number | null;
  run: string | null;
  said: string;
}

/** Enough for the eye, and little enough for a day's run. */
const DRAW_INTERVAL_MS = 500;
/** Those that a chart shows beside the latency. */
const FIGURES: FigureName[] = ["delivery", "completion"];

/** Watches a run. What it gives draws the charts anew. */
export function live(place: HTMLElement): () => void {
  const run = emptyRun();
  const figures = liveCharts.map((chart) => new Figure(chart));
  const charts = place.querySelector<HTMLElement>("#live-charts")!;
  charts.append(...figures.map((figure) => figure.element));
  const draw = () => {
    showSteps(place.querySelector<HTMLElement>("#steps-ended")!, run);
    const view: View = { page: { runs: [run], owners: [], published: [] }, run, colours: colours(), narrow: charts.clientWidth < NARROW };
    for (const figure of figures) {
      if (figure.prepare(view)) figure.paint();
    }
  };
  let waiting: number | undefined;
  const drawSoon = () => {
    waiting ??= setTimeout(() => {
      waiting = undefined;
      draw();
    }, DRAW_INTERVAL_MS);
  };
  watch(place, run, drawSoon);
  draw();
  follow(charts, draw, figures);
  return draw;
}

function watch(place: HTMLElement, run: Run, changed: () => void): void {
  const state = place.querySelector<HTMLElement>("#state")!;
  const latencies = place.dataset.latencies!.split(" ") as FigureName[];
  const defects = place.dataset.defects!.split(" ");
  const source = new EventSource(place.dataset.events!);
  let isWarmup = false;
  source.addEventListener("open", () => {
    // The server tells everything again to whoever connects again.
    run.steps = emptyRun().steps;
    state.textContent = "running";
  });
  source.addEventListener("error", () => {
    // After an answer other than 200 the browser does not connect again.
    const isOver = source.readyState === EventSource.CLOSED;
    state.textContent = isOver ? "the connection is lost: reload the page" : "the connection is lost; trying again";
  });
  source.addEventListener("rows", (event) => {
    for (const line of (event as MessageEvent<string>).data.split("\n")) {
      const row = JSON.parse(line) as Row;
      if (row.event === "second") {
        // A warm-up ends without a step.
        if (isWarmup && !row.warmup) run.steps[run.steps.length - 1] = emptyStep();
        isWarmup = row.warmup ?? false;
        const seconds = addSecond(run, row);
        now(place.querySelector<HTMLElement>("#now")!, row, seconds);
      } else if (row.event === "step") {
        endStep(run, row.step!, latencies, defects);
      }
    }
    changed();
  });
  source.addEventListener("end", (event) => {
    source.close();
    ended(place, state, JSON.parse((event as MessageEvent<string>).data) as End);
    changed();
  });
}

/** Adds a row to the step under way, which is the last, and gives the row's length in seconds. */
function addSecond(run: Run, row: Row): number {
  const step = run.steps.at(-1)!;
  const series = row.phase === "connecting" ? step.connecting : step.series;
  const t = row.t_s ?? 0;
  // A row is longer where the window has ended in it, and the last may be shorter.
  const seconds = t - (series.t.at(-1) ?? t - 1);
  series.t.push(t);
  series.clients.push(row.usable ?? 0);
  series.sent.push((row.sent ?? 0) / seconds);
  series.received.push((row.received ?? 0) / seconds);
  series.errors.push((row.errors ?? 0) / seconds);
  series.p50.push(row.p50_ms ?? null);
  series.p95.push(row.p95_ms ?? null);
  series.p99.push(row.p99_ms ?? null);
  series.max.push(row.max_ms ?? null);
  series.server_cpu!.push(row.server_cpu_percent ?? null);
  series.server_rss!.push(row.server_rss_bytes ?? null);
  series.generator_cpu!.push(row.generator_cpu_percent ?? null);
  return seconds;
}

/** What the step under way came to; the next begins. */
function endStep(run: Run, ended: Ended, latencies: FigureName[], defects: string[]): void {
  const step = run.steps.at(-1)!;
  if (ended.rtt && !ended.service) {
    // Only what was answered has a service time. What was given up unanswered says how long that was waited for, and nothing of a latency.
    delete ended.rtt;
    // Rows are of the deliveries, where there are some.
    if (!ended.delivery) {
      for (const column of [step.series.p50, step.series.p95, step.series.p99, step.series.max]) column.fill(null);
    }
  }
  const errors = Object.entries(ended.counts.errors).map(([kind, error]) => [kind, error.count]);
  const wrong = defects.map((name) => [name, ended.counts[name] ?? 0]).filter(([, messages]) => messages !== 0);
  Object.assign(step, {
    clients: ended.clients,
    kept: isKept(ended),
    asked: ended.rates.asked_per_s,
    sent: ended.rates.achieved_per_s,
    main: latencies.find((name) => ended[name]) ?? latencies[0]!,
    figures: Object.fromEntries([...latencies, ...FIGURES].flatMap((name) => (ended[name] ? [[name, latency(ended[name])]] : []))),
    errors: Object.fromEntries([...errors, ...wrong]),
    bottleneck: ended.bottleneck,
  } satisfies Partial<Step>);
  run.steps.push(emptyStep());
}

/** As in the report, undefined where nothing is known of the load (`Step::tells_nothing` in crates/results). */
function isKept({ limits, standing, stop, interrupted, counts }: Ended): boolean | undefined {
  const kept = [...limits, ...standing, stop].every((limit) => limit?.passed ?? true);
  const has = (name: string) => Number(counts[name] ?? 0) > 0;
  const isUnanswered = has("expected") && !["received", "corrupt", "unexpected", "leaked", "duplicate"].some(has);
  const tellsNothing = interrupted === "connecting" || (interrupted === "loading" && isUnanswered);
  return kept && tellsNothing ? undefined : kept;
}

function latency(summary: Summary): Latency {
  const { count, mean_ms: mean, min_ms: min, max_ms: max, p50_ms: p50, p90_ms: p90, p95_ms: p95, p99_ms: p99 } = summary;
  return { count, mean, max, p50, p90, p95, p99, p999: summary.p999_ms, box: [min, p50, p50, p50, max], curve: [], bars: [] };
}

/** Finished steps, the newest first. */
function showSteps(place: HTMLElement, run: Run): void {
  const steps = run.steps.slice(0, -1).reverse();
  place.hidden = steps.length === 0;
  const table = tableElement({
    columns: ["clients", "rate", "p50", "p95", "p99", "max", "failures", "limits", "bottleneck"],
    rows: steps.map((step) => {
      const figure = mainFigure(step);
      return [
        count(step.clients),
        said(step.sent, rate) ?? "",
        ...[figure?.p50, figure?.p95, figure?.p99, figure?.max].map((value) => said(value, duration) ?? ""),
        count(Object.values(step.errors).reduce((sum, n) => sum + n, 0)),
        step.kept === undefined ? "" : step.kept ? "kept" : "broken",
        step.bottleneck ?? "",
      ];
    }),
  });
  place.querySelector("table")?.remove();
  place.querySelector(".scroll")!.append(table);
}

const said = (value: number | undefined, format: (value: number) => string) =>
  value === undefined ? undefined : format(value);

/** The last second in figures. */
function now(list: HTMLElement, row: Row, seconds: number): void {
  const perSecond = (messages: number | undefined) => said(messages, (messages) => rate(messages / seconds));
  const known: [string, string | undefined][] = [
    ["time", said(row.t_s, (seconds) => `${seconds.toFixed(0)}s`)],
    ["phase", row.phase],
    ["clients", said(row.usable, count)],
    ["sent", perSecond(row.sent)],
    ["received", perSecond(row.received)],
    ["p50", said(row.p50_ms, duration)],
    ["p99", said(row.p99_ms, duration)],
    ["errors", said(row.errors, count)],
    ["server CPU", said(row.server_cpu_percent, percent)],
    ["generator CPU", said(row.generator_cpu_percent, percent)],
  ];
  list.replaceChildren(
    ...known.flatMap(([label, value]) => {
      if (value === undefined) return [];
      const entry = make("div", {});
      entry.append(make("dt", { textContent: label }), make("dd", { textContent: value }));
      return [entry];
    }),
  );
}

function ended(place: HTMLElement, state: HTMLElement, end: End): void {
  const words: Record<string, string> = {
    "0": "ended", "3": "ended: a limit was broken", "4": "ended: limited by generator or machine", "130": "stopped",
  };
  state.textContent = words[String(end.code)] ?? "failed";
  // What is left is what came out: nothing here goes on.
  document.querySelector("h1")!.textContent = "Finished run";
  place.querySelector("#stop")?.remove();
  place.querySelector("#now")?.remove();
  const failed = words[String(end.code)] === undefined;
  if (failed && end.said) state.parentElement!.after(make("pre", { textContent: end.said }));
  if (end.run !== null) {
    state.parentElement!.append(" ", make("a", { id: "to-report", href: `/runs/${encodeURIComponent(end.run)}`, textContent: "See the report" }));
  }
}

function emptyRun(): Run {
  return { name: "this run", shown: 0, steps: [emptyStep()], levels: [] };
}

function emptyStep(): Step {
  const series = (): Series => ({
    per_row: 1, t: [], clients: [], sent: [], received: [], errors: [], p50: [], p95: [], p99: [], max: [],
    server_cpu: [], server_rss: [], generator_cpu: [],
  });
  return { clients: 0, start: 0, kept: true, main: "rtt", figures: {}, errors: {}, connecting: series(), series: series() };
}
