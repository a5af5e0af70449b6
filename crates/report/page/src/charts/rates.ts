// Messages over time, and what failed.

import { column, has, rows } from "../course";
import { CLOCK_ROOM, type Chart, base, clock, line, upright } from "../drawing";
import { rate, short } from "../format";

/** So many times apart, one of the lines would lie on the ground: a broadcast has a copy for every client. */
const APART = 50;
const NAMES = ["sent", "received", "errors"] as const;

export const rates: Chart = {
  id: "rates",
  title: "Messages over time",
  lead: "Sent and received each second: where received falls behind, the server is queueing.",
  of: "one",
  hasClock: true,
  draw(view) {
    const { run, colours } = view;
    const shown = NAMES.filter((name) => column(run, name).some(([, value]) => value !== null && value > 0));
    if (!has(run, "sent") || shown.length === 0) return undefined;
    const tops = shown.map((name) => Math.max(...column(run, name).map(([, value]) => value ?? 0)));
    const isLog = Math.max(...tops) > APART * Math.min(...tops);
    const points = (name: typeof NAMES[number]) =>
      column(run, name).map(([t, value]): [number, number | null] => [t, isLog && value === 0 ? null : value]);
    return {
      height: 310,
      option: base(view, {
        grid: { left: view.narrow ? 52 : 64, right: view.narrow ? 16 : 28, top: 58, bottom: CLOCK_ROOM },
        ...clock(view),
        yAxis: upright(view, "per second", { type: isLog ? "log" : "value", axisLabel: { formatter: short } }),
        tooltip: {
          ...(base(view, {}).tooltip as object),
          valueFormatter: (value: number | null) => (value === null ? "" : rate(value)),
        },
        series: shown.map((name) => line(NAMES.indexOf(name), name, points(name), colours)),
      }),
      says: `Messages sent and received each second of ${run.name}.`,
      table: () => ({
        columns: ["time", ...NAMES],
        rows: rows(run, NAMES.map((name): [typeof name, typeof rate] => [name, rate])),
      }),
    };
  },
};
