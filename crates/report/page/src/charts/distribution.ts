// Latency as a histogram: how many answers took how long.

import { type Curve, curvesOf } from "../curves";
import { type Chart, type View, axis, base, line, upright } from "../drawing";
import { as, count, duration, percent, tick } from "../format";

const BARS_PER_DECADE = 24;
/** Filled areas of more curves hide each other. */
const FILLED_MAX = 2;

export const distribution: Chart = {
  id: "distribution",
  title: "Distribution of latency",
  lead: "The share of messages by how long they took. Two hills are two kinds of messages, or two states of the server.",
  of: "all",
  draw(view) {
    const curves = curvesOf(view).filter(({ figure }) => figure.bars.length > 0);
    if (curves.length === 0) return undefined;
    return {
      option: option(view, curves),
      says: curves.map((curve) => `${curve.name}: most between ${told(curve)}`).join("; "),
      table: () => ({
        columns: ["series", "from", "to", "messages", "share"],
        rows: curves.flatMap(({ name, figure }) => figure.bars.map(([bar, n]) => [
          name, as(duration)(edge(bar)), as(duration)(edge(bar + 1)), as(count)(n), as(percent)((100 * n) / figure.count),
        ])),
      }),
    };
  },
};

function option(view: View, curves: Curve[]) {
  const all = curves.flatMap(({ figure }) => figure.bars.map(([bar]) => bar));
  return base(view, {
    xAxis: axis(view, "latency", {
      type: "log",
      min: edge(Math.min(...all)),
      max: edge(Math.max(...all) + 1),
      axisLabel: { formatter: tick },
      axisPointer: { label: { formatter: ({ value }: { value: number }) => duration(value) } },
    }),
    yAxis: upright(view, "share of messages", { type: "value", min: 0, axisLabel: { formatter: percent } }),
    tooltip: { ...(base(view, {}).tooltip as object), valueFormatter: percent },
    series: curves.map((curve, k) => {
      const series = line(k, curve.name, outline(curve), view.colours);
      const { color } = series.itemStyle as { color: string };
      const areaStyle = curves.length > FILLED_MAX ? undefined : { color, opacity: 0.18 };
      return { ...series, step: "end", symbol: "none", lineStyle: { ...(series.lineStyle as object), width: 1.5 }, areaStyle };
    }),
  });
}

/** The upper edges of the bars, down to the ground where there are none between two. */
function outline({ figure }: Curve): [number, number][] {
  const shares = new Map(figure.bars.map(([bar, n]) => [bar, (100 * n) / figure.count]));
  const [first, last] = [figure.bars[0]![0], figure.bars.at(-1)![0]];
  const points: [number, number][] = [];
  for (let bar = first; bar <= last + 1; bar += 1) points.push([edge(bar), shares.get(bar) ?? 0]);
  return points;
}

/** The fullest bar's edges. */
function told({ figure }: Curve): string {
  const [bar] = figure.bars.reduce((a, b) => (a[1] >= b[1] ? a : b));
  return `${duration(edge(bar))} and ${duration(edge(bar + 1))}`;
}

/** Where a bar begins, in milliseconds. */
function edge(bar: number): number {
  return 10 ** (bar / BARS_PER_DECADE) / 1e3;
}
