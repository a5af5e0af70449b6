// The server's memory against open connections, and the line whose slope is what a connection costs.

import type { Run } from "../data";
import { type Chart, axis, base, bytesScale, line, upright } from "../drawing";
import { as, bytes, count, short } from "../format";

const POINTS_MIN = 3;

export const memory: Chart = {
  id: "memory",
  title: "Memory against connections",
  lead: "The slope is what one more connection costs the server.",
  of: "one",
  draw(view) {
    const { run, colours } = view;
    const points = pointsOf(run);
    const fit = run.memory;
    if (!fit || points.length < POINTS_MIN) return undefined;
    const most = Math.max(...points.map(([clients]) => clients));
    const ends = [0, most].map((clients): [number, number] => [clients, fit.intercept + fit.slope * clients]);
    return {
      option: base(view, {
        grid: { left: view.narrow ? 72 : 84, right: 28, top: 58, bottom: 52 },
        xAxis: axis(view, "open connections", { type: "value", min: 0, axisLabel: { formatter: short } }),
        yAxis: upright(view, "server memory", { type: "value", ...bytesScale([...points, ...ends].map(([, rss]) => rss)) }),
        tooltip: { ...(base(view, {}).tooltip as object), trigger: "item", valueFormatter: bytes },
        series: [
          { ...line(0, "measured", points, colours), type: "scatter", symbolSize: 9 },
          { ...line(1, `${bytes(fit.slope)} per connection`, ends, colours), showSymbol: false },
        ],
      }),
      says: `The server took ${bytes(fit.slope)} per connection, ± ${bytes(fit.half_width)}.`,
      table: () => ({
        columns: ["connections", "server memory"],
        rows: points.map(([clients, rss]) => [as(count)(clients), as(bytes)(rss)]),
      }),
    };
  },
};

/** Readings while clients connected, one a second. */
function pointsOf(run: Run): [number, number][] {
  return run.steps.flatMap(({ connecting }) =>
    connecting.clients.flatMap((clients, at): [number, number][] => {
      const rss = connecting.server_rss?.[at];
      return rss === null || rss === undefined || clients === 0 ? [] : [[clients, rss]];
    })
  );
}
