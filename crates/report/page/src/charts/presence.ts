// Who was there, and what came, while clients lose their connections and come back.

import { column, has, rows } from "../course";
import { CLOCK_ROOM, type Chart, base, clock, line, upright } from "../drawing";
import { count, rate, short } from "../format";

export const presence: Chart = {
  id: "presence",
  title: "Who was there, and what came",
  lead: "Clients that were connected, and copies that came each second of what was sent while they were.",
  of: "one",
  hasClock: true,
  draw(view) {
    const { run, colours } = view;
    if (!has(run, "received") || !run.steps.some((step) => step.absences)) return undefined;
    const here = column(run, "clients");
    const known = here.flatMap(([, value]) => (value === null ? [] : [value]));
    return {
      height: 310,
      option: base(view, {
        grid: { left: view.narrow ? 52 : 64, right: view.narrow ? 40 : 64, top: 58, bottom: CLOCK_ROOM },
        ...clock(view),
        yAxis: [
          upright(view, "clients", { type: "value", boundaryGap: [0, 0.1], axisLabel: { formatter: short } }),
          upright(view, "copies per second", {
            type: "value",
            position: "right",
            nameTextStyle: { color: colours.muted, align: "right" },
            splitLine: { show: false },
            axisLabel: { formatter: short },
          }),
        ],
        series: [
          {
            ...line(0, "clients", here, colours),
            step: "end",
            symbol: "none",
            areaStyle: { color: colours.series[0], opacity: 0.12 },
            tooltip: { valueFormatter: (value: number | null) => (value === null ? "" : count(value)) },
          },
          {
            ...line(1, "received", column(run, "received"), colours),
            yAxisIndex: 1,
            tooltip: { valueFormatter: (value: number | null) => (value === null ? "" : rate(value)) },
          },
        ],
      }),
      says: `Between ${count(Math.min(...known))} and ${count(Math.max(...known))} clients were connected.`,
      table: () => ({
        columns: ["time", "clients", "received"],
        rows: rows(run, [["clients", count], ["received", rate]]),
      }),
    };
  },
};
