// Who worked how hard, second by second: the server, its memory, and the generator.

import { column, has, rows } from "../course";
import { CLOCK_ROOM, type Chart, base, bytesScale, clock, line, upright } from "../drawing";
import { bytes, percent } from "../format";

/** Percent: what is next to nothing looks like it. */
const CPU_TOP_MIN = 10;

export const resources: Chart = {
  id: "resources",
  title: "CPU and memory over time",
  lead: "100% is one full core. A generator at its limit says nothing about the server.",
  of: "one",
  hasClock: true,
  draw(view) {
    const { run, colours } = view;
    const known = (["server_cpu", "generator_cpu"] as const).filter((name) => has(run, name));
    const memory = has(run, "server_rss");
    if (known.length === 0 && !memory) return undefined;
    const names = { server_cpu: "server CPU", generator_cpu: "generator CPU" };
    const format = (of: (value: number) => string) => ({
      valueFormatter: (value: number | null) => (value === null ? "" : of(value)),
    });
    return {
      option: base(view, {
        grid: { left: view.narrow ? 52 : 64, right: view.narrow ? 52 : 84, top: 58, bottom: CLOCK_ROOM },
        ...clock(view),
        yAxis: [
          upright(view, "CPU", { type: "value", min: 0, max: atLeast(CPU_TOP_MIN), axisLabel: { formatter: percent } }),
          upright(view, memory ? "server memory" : "", {
            type: "value",
            position: "right",
            nameTextStyle: { color: colours.muted, align: "right" },
            splitLine: { show: false },
            ...(memory && bytesScale(column(run, "server_rss").flatMap(([, rss]) => rss ?? []), 0)),
          }),
        ],
        series: [
          ...known.map((name, k) => ({
            ...line(k, names[name], column(run, name), colours),
            tooltip: format(percent),
          })),
          ...(memory
            ? [{ ...line(5, "server memory", column(run, "server_rss"), colours), yAxisIndex: 1, tooltip: format(bytes) }]
            : []),
        ],
      }),
      says: `CPU of server and generator over time of ${run.name}.`,
      table: () => ({
        columns: ["time", "server CPU", "server memory", "generator CPU"],
        rows: rows(run, [["server_cpu", percent], ["server_rss", bytes], ["generator_cpu", percent]]),
      }),
    };
  },
};

/** An axis that reaches so far, or further if the values do. */
function atLeast(top: number) {
  return ({ max }: { max: number }) => (max < top ? top : null);
}
