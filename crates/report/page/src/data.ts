// The page's data, as crates/report/src/html/data.rs writes it. Times are milliseconds, rates per second, CPU is 100
// for one full core.

import { type Format, bound, count, duration, short } from "./format";

export interface Page {
  runs: Run[];
  /** Whom time may belong to, in the order of a step's shares. */
  owners: string[];
  published: Published[];
}

export interface Run {
  name: string;
  /** The step that stands for the run. */
  shown: number;
  steps: Step[];
  memory?: { slope: number; intercept: number; half_width: number };
  levels: Level[];
  /** Of a run that was repeated: the samples of all repeats together, and the median of each. */
  repeats?: { all: Figure; medians: Median[] };
}

/** Its value, and whether it is a lower bound. */
export type Median = [number, boolean];

export interface Level {
  clients: number;
  safe?: number;
}

export interface Step {
  clients: number;
  /** Seconds. */
  start: number;
  /** All limits were kept; absent where nothing was known of its load, and where others refuted it. */
  kept?: boolean;
  asked?: number;
  sent?: number;
  received?: number;
  /** The key in `figures` of the one that a reader means by latency; it is missing where nobody was answered. */
  main: FigureName;
  figures: Partial<Record<FigureName, Figure>>;
  errors: Record<string, number>;
  /** Who held it back, of a run under way. */
  bottleneck?: string;
  server?: { cpu?: number; rss?: number; threads: Thread[] };
  /** The slowest messages: from which latency on, and each owner's part of their time in percent. */
  slow?: { from: number; shares: number[] };
  /** Of clients that lost their connections and came back. */
  absences?: Absences[];
  ages?: Age[];
  /** While clients connect; percentiles and density are of the handshake. */
  connecting: Series;
  series: Series;
}

export type FigureName =
  | "handshake" | "tcp" | "tls" | "login" | "upgrade" | "ready" | "rtt" | "service" | "delivery" | RoomSize | "completion"
  | "replay" | "join" | "leave" | "presence" | "send_lag" | "first" | "first_token" | "gap" | "push_gap" | "push_age" | "push_ahead"
  | "silence" | "recovery";

/** Copies due to clients while they were away, by how long before their return the message was sent. */
export interface Age {
  /** Seconds; without it, older than any other. */
  up_to?: number;
  due: number;
  recovered: number;
}

/** The same by how the connection ended, and how long the absence lasted. */
export interface Absences extends Age {
  ended_by: string;
  /** How many. */
  count: number;
  /** Where the recovered share lies with 95% confidence, in percent. */
  range?: [number, number];
}

/** Deliveries by the size of the message's room. */
export type RoomSize =
  | "delivery_1" | "delivery_2_10" | "delivery_11_100" | "delivery_101_1000" | "delivery_1001_10000"
  | "delivery_above_10000";

/** Name; user, system, waiting, asleep in percent. */
export type Thread = [string, number, number, number, number];

export interface Figure {
  count: number;
  mean: number;
  max: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  p999: number;
  /** 1%, 25%, 50%, 75%, 99%. */
  box: [number, number, number, number, number];
  /** 1/(1 − q), and the value there; empty where it is not drawn. */
  curve: [number, number][];
  /** A bar's number and its samples, where there is a curve. Bar k begins at 10^(k/24) µs. */
  bars: [number, number][];
  /** Statistics that are lower bounds, because what never came decides them. */
  at_least?: string[];
}

type Column = (number | null)[];

export interface Series {
  per_row: number;
  t: number[];
  clients: number[];
  sent: number[];
  received: number[];
  errors: number[];
  p50: Column;
  p95: Column;
  p99: Column;
  max: Column;
  /** By row: cell and samples, in turn. Cell k begins at 10^(k/8) µs. */
  density?: number[][];
  server_cpu?: Column;
  server_rss?: Column;
  generator_cpu?: Column;
}

/** Rows of all steps that end at the same time, from the shortest on. */
export function byTime<Row extends Age>(rows: Row[]): [number | undefined, Row[]][] {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const end = row.up_to ?? Infinity;
    groups.set(end, [...(groups.get(end) ?? []), row]);
  }
  const sorted = [...groups].sort(([one], [other]) => one - other);
  return sorted.map(([end, group]) => [end === Infinity ? undefined : end, group]);
}

/** What came of what was due, in percent. */
export function recoveredShare(rows: Age[]): number {
  const sum = (of: "due" | "recovered") => rows.reduce((total, row) => total + row[of], 0);
  return sum("due") === 0 ? 0 : (100 * sum("recovered")) / sum("due");
}

/** A figure that somebody published, beside what was measured of the same. */
export interface Published {
  scenario: string;
  target: string;
  figure: string;
  unit: "ms" | "%" | "/s" | "bytes" | "";
  then: number;
  now: number | null;
  /** The sign before `now`, where it is a bound. */
  sign: "" | "≥ " | "≤ ";
}

/** What a reader means by latency. */
export function mainFigure(step: Step): Figure | undefined {
  return step.figures[step.main];
}

/** The latency that stands for the run: of all its repeats, where there are several. */
export function runLatency(run: Run): Figure | undefined {
  const step = shownStep(run);
  return run.repeats?.all ?? (step && mainFigure(step));
}

/** How a statistic of a figure is written. */
export function formatOf(figure: Figure, statistic: string): Format {
  return figure.at_least?.includes(statistic) ? bound : duration;
}

/** Whether the number of clients does not tell the run's steps apart: they have a rate each. */
function hasRates(run: Run): boolean {
  return new Set(run.steps.map((step) => step.clients)).size < run.steps.length
    && run.steps.some((step) => step.asked !== undefined);
}

/** A step by the clients, and the rate of all of them, that were asked of it; one that was asked again has a number. */
export function stepName(run: Run, step: Step, units = ""): string {
  const rated = hasRates(run);
  const load = ({ clients, asked }: Step) =>
    rated && asked !== undefined ? `${short(asked)}/s to ${count(clients)}` : count(clients);
  const name = load(step);
  const before = run.steps.slice(0, run.steps.indexOf(step)).filter((other) => load(other) === name).length;
  return `${name}${units}${before > 0 ? ` (${before + 1})` : ""}`;
}

/** The step that stands for the run. */
export function shownStep(run: Run): Step | undefined {
  return run.steps[run.shown];
}
