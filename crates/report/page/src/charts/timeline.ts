// Latency over time, with the clients that were there.

import { column, has, rows } from "../course";
import { CLOCK_ROOM, type Chart, base, clock, line, upright } from "../drawing";
import { count, duration, rate, short, tick } from "../format";

const NAMES = ["p50", "p95", "p99", "max"] as const;

export const timeline: Chart = {
  id: "latency-over-time",
  title: "Latency over time",
  lead: "Each second's percentiles. A pause of the server is a peak here, and not an average.",
  of: "one",
  hasClock: true,
  draw(view) {
    const { run, colours } = view;
    if (!has(run, "p50")) return undefined;
    const peak = Math.max(...column(run, "max").map(([, value]) => value ?? 0));
    return {
      option: base(view, {
        grid: { left: view.narrow ? 52 : 64, right: view.narrow ? 40 : 64, top: 58, bottom: CLOCK_ROOM },
        ...clock(view),
        yAxis: [
          upright(view, "latency", { type: "log", axisLabel: { formatter: tick } }),
          upright(view, "clients", {
            type: "value",
            position: "right",
            nameTextStyle: { color: colours.muted, align: "right" },
            boundaryGap: [0, 0.1],
            splitLine: { show: false },
            axisLabel: { formatter: short },
          }),
        ],
        series: [
          ...NAMES.map((name, k) => ({
            ...line(k, name, column(run, name), colours),
            tooltip: { valueFormatter: (ms: number | null) => (ms === null ? "" : duration(ms)) },
          })),
          {
            ...line(6, "clients", column(run, "clients"), colours),
            yAxisIndex: 1,
            symbol: "none",
            step: "end",
            lineStyle: { width: 1.5, color: colours.muted, type: "dotted" },
            itemStyle: { color: colours.muted },
            tooltip: { valueFormatter: count },
          },
        ],
      }),
      says: `Latency over time of ${run.name}; the highest second reached ${duration(peak)}.`,
      table: () => ({
        columns: ["time", "clients", "sent", "received", "errors", ...NAMES],
        rows: rows(run, [
          ["clients", count], ["sent", rate], ["received", rate], ["errors", rate],
          ...NAMES.map((name): [typeof name, typeof duration] => [name, duration]),
        ]),
      }),
    };
  },
};
