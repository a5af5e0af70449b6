// The rows of all steps of a run, one after the other, on the run's own clock.

import type { Run, Series } from "./data";

type Name = "clients" | "sent" | "received" | "errors" | "p50" | "p95" | "p99" | "max" | "server_cpu" | "server_rss"
  | "generator_cpu";

/** Points of a column; a gap between steps is a point without a value. */
export function column(run: Run, name: Name): [number, number | null][] {
  return run.steps.flatMap((step) => {
    const values: Series[Name] = step.series[name];
    if (!values) return [];
    const points = step.series.t.map((t, at): [number, number | null] => [t, values[at] ?? null]);
    const last = step.series.t.at(-1);
    return last === undefined ? [] : [...points, [last, null] as [number, number | null]];
  });
}

/** Whether any row has a value. */
export function has(run: Run, name: Name): boolean {
  return column(run, name).some(([, value]) => value !== null);
}

/** Rows for a table: the time, and each column's value as text. */
export function rows(run: Run, columns: [Name, (value: number) => string][]): string[][] {
  return run.steps.flatMap((step) =>
    step.series.t.map((t, at) => [
      `${t.toFixed(1)}s`,
      ...columns.map(([name, format]) => {
        const value = step.series[name]?.[at];
        return value === null || value === undefined ? "" : format(value);
      }),
    ])
  );
}
