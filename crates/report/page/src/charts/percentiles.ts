// Latency by percentile: HdrHistogram's plot, on a logarithmic axis of what is left above.

import { type Curve, curvesOf } from "../curves";
import { formatOf } from "../data";
import { type Chart, type View, axis, base, line, upright } from "../drawing";
import { as, count, duration, quantile, tick } from "../format";

const STATISTICS = ["mean", "p50", "p90", "p95", "p99", "p999", "max"] as const;

export const percentiles: Chart = {
  id: "percentiles",
  title: "Latency by percentile",
  lead: "How slow are the slowest? Each further decade to the right is ten times rarer.",
  of: "all",
  draw(view) {
    const curves = curvesOf(view);
    if (curves.length === 0) return undefined;
    const slowest = curves.reduce((a, b) => (a.figure.p99 > b.figure.p99 ? a : b));
    return {
      option: option(view, curves),
      says: `Latency by percentile of ${curves.map(({ name }) => name).join(", ")}; `
        + `the highest 99th percentile is ${formatOf(slowest.figure, "p99")(slowest.figure.p99)}, of ${slowest.name}.`,
      table: () => ({
        columns: ["series", "samples", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"],
        rows: curves.map(({ name, figure }) => [
          name, as(count)(figure.count),
          ...STATISTICS.map((statistic) => as(formatOf(figure, statistic))(figure[statistic])),
        ]),
      }),
    };
  },
};

function option(view: View, curves: Curve[]) {
  return base(view, {
    xAxis: axis(view, "percentile", {
      type: "log",
      min: 1,
      axisLabel: { formatter: quantile },
      axisPointer: { label: { formatter: ({ value }: { value: number }) => quantile(value) } },
    }),
    yAxis: upright(view, "latency", { type: "log", axisLabel: { formatter: tick } }),
    tooltip: { ...(base(view, {}).tooltip as object), valueFormatter: duration },
    series: curves.map(({ name, figure }, k) => ({
      ...line(k, name, figure.curve, view.colours),
      showSymbol: false,
    })),
  });
}
