// The page's data, as crates/report/src/html/data.rs writes it. Times are milliseconds, rates per second, CPU is 100
// for one full core.

export interface Page {
  runs: Run[];
  published: Published[];
}

export interface Run {
  id: string;
  name: string;
  scenario: string;
  dialect: string;
  /** The step that stands for the run. */
  shown: number;
  steps: Step[];
  capacity?: { clients: number; low: number; high: number; at_least: boolean };
  memory?: { slope: number; intercept: number; half_width: number };
  levels: Level[];
}

export interface Level {
  clients: number;
  safe?: number;
  knee?: number;
}

export interface Step {
  clients: number;
  /** Seconds. */
  start: number;
  duration: number;
  kept: boolean;
  asked?: number;
  sent?: number;
  received?: number;
  figures: Partial<Record<FigureName, Figure>>;
  errors: Record<string, number>;
  server?: { cpu?: number; rss?: number; threads: Thread[] };
  /** While clients connect; percentiles and density are of the handshake. */
  connecting: Series;
  series: Series;
}

export type FigureName =
  | "handshake" | "tcp" | "tls" | "upgrade" | "ready" | "rtt" | "service" | "delivery" | "completion" | "send_lag"
  | "recovery";

/** Name; user, system, waiting, asleep in percent. */
export type Thread = [string, number, number, number, number];

export interface Figure {
  count: number;
  mean: number;
  min: number;
  max: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  p999: number;
  /** 1%, 25%, 50%, 75%, 99%. */
  box: [number, number, number, number, number];
  /** 1/(1 − q), and the value there. */
  curve: [number, number][];
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

/** A figure that somebody published, beside what was measured of the same. */
export interface Published {
  scenario: string;
  target: string;
  figure: string;
  unit: "ms" | "%" | "/s" | "bytes" | "";
  then: number;
  now: number | null;
}

/** What a reader means by latency: the rtt, or what the run has instead of it. */
export function mainFigure(step: Step): [FigureName, Figure] | undefined {
  for (const name of ["rtt", "recovery", "handshake"] as const) {
    const figure = step.figures[name];
    if (figure) return [name, figure];
  }
  return undefined;
}

/** The step that stands for the run. */
export function shownStep(run: Run): Step | undefined {
  return run.steps[run.shown];
}
