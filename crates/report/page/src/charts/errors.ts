// What went wrong, by kind: a bar for each step or run.

import { stepName } from "../data";
import { type Chart, axis, base, patterned, upright } from "../drawing";
import { as, count, short } from "../format";

export const errors: Chart = {
  id: "errors",
  title: "What went wrong",
  lead: "Failures by kind, and messages that did not come, came twice or came wrong.",
  of: "all",
  draw(view) {
    const { page, run, colours } = view;
    const several = page.runs.length > 1;
    const bars = several
      ? page.runs.map(({ name, steps }) => ({ name, errors: total(steps.map((step) => step.errors)) }))
      : run.steps.map((step) => ({ name: stepName(run, step), errors: step.errors }));
    const kinds = [...new Set(bars.flatMap((bar) => Object.keys(bar.errors)))].sort();
    if (kinds.length === 0) return undefined;
    return {
      option: base(view, {
        aria: patterned,
        xAxis: axis(view, several ? "" : "clients", { type: "category", data: bars.map((bar) => bar.name) }),
        yAxis: upright(view, "count", { type: "value", minInterval: 1, axisLabel: { formatter: short } }),
        tooltip: { ...(base(view, {}).tooltip as object), valueFormatter: count },
        series: kinds.map((kind, k) => ({
          type: "bar",
          stack: "all",
          name: kind,
          barMaxWidth: 48,
          itemStyle: { color: colours.series[k % colours.series.length] },
          data: bars.map((bar) => bar.errors[kind] ?? 0),
        })),
      }),
      says: kinds.map((kind) => `${kind}: ${count(bars.reduce((sum, bar) => sum + (bar.errors[kind] ?? 0), 0))}`).join(", "),
      table: () => ({
        columns: ["load", ...kinds],
        rows: bars.map((bar) => [bar.name, ...kinds.map((kind) => as(count)(bar.errors[kind] ?? 0))]),
      }),
    };
  },
};

function total(all: Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const errors of all) {
    for (const [kind, n] of Object.entries(errors)) sum[kind] = (sum[kind] ?? 0) + n;
  }
  return sum;
}
