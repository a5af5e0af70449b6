// Where the time of the server's threads went.

import type { Step, Thread } from "../data";
import { type Chart, axis, base, patterned } from "../drawing";
import { as, count, percent } from "../format";

const STATES = ["user", "system", "waiting for a CPU", "asleep"];
const THREADS_MAX = 16;
const ROW = 26;

export const threads: Chart = {
  id: "threads",
  title: "The server's threads",
  lead: "A thread without sleep is the server's limit, however idle the others are.",
  of: "one",
  draw(view) {
    const step = busiest(view.run.steps);
    if (!step) return undefined;
    const { colours } = view;
    const all = step.server!.threads.slice(0, THREADS_MAX).reverse();
    const fills = [colours.series[0], colours.series[4], colours.series[1], colours.line];
    return {
      height: 110 + ROW * all.length,
      option: base(view, {
        aria: patterned,
        grid: { left: view.narrow ? 96 : 150, right: 28, top: 44, bottom: 52 },
        xAxis: axis(view, `share of the time, at ${count(step.clients)} clients`, {
          type: "value", max: 100, axisLabel: { formatter: percent },
        }),
        yAxis: axis(view, "", {
          type: "category",
          data: all.map(([name], at) => `${name} ${all.length - at}`),
          axisLabel: { width: view.narrow ? 84 : 136, overflow: "truncate" },
        }),
        tooltip: { ...(base(view, {}).tooltip as object), axisPointer: { type: "shadow" }, valueFormatter: percent },
        series: STATES.map((state, k) => ({
          type: "bar",
          stack: "all",
          name: state,
          barMaxWidth: 16,
          itemStyle: { color: fills[k] },
          data: all.map((thread) => thread[k + 1]),
        })),
      }),
      says: `The busiest thread, ${all.at(-1)![0]}, was on a CPU ${percent(cpu(all.at(-1)!))} of the time.`,
      table: () => ({
        columns: ["thread", ...STATES],
        rows: [...all].reverse().map(([name, ...shares]) => [name, ...shares.map(as(percent))]),
      }),
    };
  },
};

function busiest(steps: Step[]): Step | undefined {
  const known = steps.filter((step) => step.server && step.server.threads.length > 0);
  return known.reduce<Step | undefined>((a, b) => (a && (a.server!.cpu ?? 0) > (b.server!.cpu ?? 0) ? a : b), undefined);
}

function cpu(thread: Thread): number {
  return thread[1] + thread[2];
}
