// The rows of all steps of a run, one after the other, on the run's own clock.

import type { Run, Series, Step } from "./data";
import type { Cell } from "./drawing";
import { type Format, as, seconds } from "./format";

type Name = "clients" | "sent" | "received" | "errors" | "p50" | "p95" | "p99" | "max" | "server_cpu" | "server_rss"
  | "generator_cpu";

/** What there is while clients connect, too. Latencies are those of handshakes then, which are another matter. */
const ALWAYS: Name[] = ["clients", "errors", "server_cpu", "server_rss", "generator_cpu"];

/** Points of a column; a gap between steps is a point without a value. */
export function column(run: Run, name: Name): [number, number | null][] {
  return run.steps.flatMap((step) => {
    const points = seriesOf(step).flatMap((series) =>
      series.t.map((t, at): [number, number | null] => [t, value(step, series, name, at)])
    );
    const last = points.at(-1);
    return last === undefined ? [] : [...points, [last[0], null] as [number, number | null]];
  });
}

/** Whether any row has a value. */
export function has(run: Run, name: Name): boolean {
  return column(run, name).some(([, value]) => value !== null);
}

/** Rows for a table: the time, and each column's value. */
export function rows(run: Run, columns: [Name, Format][]): Cell[][] {
  return run.steps.flatMap((step) =>
    seriesOf(step).flatMap((series) =>
      series.t.map((t, at) => [
        as(seconds)(t),
        ...columns.map(([name, format]) => {
          const known = value(step, series, name, at);
          return known === null ? "" : as(format)(known);
        }),
      ])
    )
  );
}

/** First its clients connect, then they send. A row of a few milliseconds, in which few connected or none, is no course. */
function seriesOf(step: Step): Series[] {
  return step.connecting.t.length > 1 ? [step.connecting, step.series] : [step.series];
}

function value(step: Step, series: Series, name: Name, at: number): number | null {
  return series === step.connecting && !ALWAYS.includes(name) ? null : series[name]?.[at] ?? null;
}
