// What was published years ago, beside what the same kind of server does here and now.

import type { Published } from "../data";
import { type Chart, axis, base, upright } from "../drawing";
import { bytes, count, duration, percent, rate } from "../format";

const FORMATS: Record<Published["unit"], (value: number) => string> = {
  ms: duration, "%": percent, "/s": rate, bytes, "": count,
};

export const then: Chart = {
  id: "then-and-now",
  title: "Then and now",
  lead: "As it was published, on the machine of the time; and as it was measured here.",
  of: "all",
  draw(view) {
    const { page: { published }, colours } = view;
    // One axis has one unit; the table has all.
    const unit = published[0]?.unit;
    if (unit === undefined) return undefined;
    const shown = published.filter((row) => row.unit === unit);
    const format = FORMATS[unit];
    const several = new Set(shown.map((row) => row.scenario)).size > 1;
    const bar = (name: string, k: number, of: (row: Published) => number | null) => ({
      type: "bar",
      name,
      barMaxWidth: 28,
      itemStyle: { color: colours.series[k] },
      data: shown.map(of),
    });
    return {
      option: base(view, {
        aria: { enabled: true, decal: { show: true } },
        grid: { left: 72, right: 28, top: 58, bottom: 96 },
        xAxis: axis(view, "", {
          type: "category",
          data: shown.map((row) => (several ? `${row.target}, ${row.scenario}` : row.target)),
          axisLabel: { interval: 0, rotate: 35, width: 130, overflow: "truncate" },
        }),
        yAxis: upright(view, shown[0]!.figure, { type: "log", axisLabel: { formatter: format } }),
        tooltip: {
          ...(base(view, {}).tooltip as object),
          valueFormatter: (value: number | null) => (value === null ? "not measured" : format(value)),
        },
        series: [bar("then", 6, (row) => row.then), bar("now", 0, (row) => row.now)],
      }),
      says: shown.map((row) =>
        `${row.target}: ${format(row.then)} then, ${row.now === null ? "not measured" : format(row.now)} now`
      ).join("; "),
      table: () => ({
        columns: ["scenario", "target", "figure", "then", "now"],
        rows: published.map((row) => [
          row.scenario, row.target, row.figure, FORMATS[row.unit](row.then),
          row.now === null ? "" : FORMATS[row.unit](row.now),
        ]),
      }),
    };
  },
};
