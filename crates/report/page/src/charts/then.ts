// What was published years ago, beside what the same kind of server does here and now.

import type { Published } from "../data";
import { type Chart, type View, axis, base, patterned, upright } from "../drawing";
import { as, bytes, count, duration, percent, rate } from "../format";

const FORMATS: Record<Published["unit"], (value: number) => string> = {
  ms: duration, "%": percent, "/s": rate, bytes, "": count,
};
/** Pixels: a panel with its names, and what stands above the first. */
const PANEL = 290;
const TOP = 58;
const NAMES = 96;

export const then: Chart = {
  id: "then-and-now",
  title: "Then and now",
  lead: "As it was published, on the machine of the time; and as it was measured here.",
  of: "all",
  draw(view) {
    const { published } = view.page;
    if (published.length === 0) return undefined;
    const panels = panelsOf(published);
    return {
      height: PANEL * panels.length,
      option: option(view, panels),
      says: published.map((row) =>
        `${row.target}, ${row.figure}: ${before(row)} then, ${today(row)} now`
      ).join("; "),
      table: () => ({
        columns: ["scenario", "target", "metric", "then", "now"],
        rows: published.map((row) => [
          row.scenario, row.target, row.figure, as(FORMATS[row.unit])(row.then), row.now === null ? "" : as((value) => row.sign + FORMATS[row.unit](value))(row.now),
        ]),
      }),
    };
  },
};

function before({ unit, then }: Published): string {
  return FORMATS[unit](then);
}

function today({ unit, now, sign }: Published): string {
  return now === null ? "not measured" : sign + FORMATS[unit](now);
}

/** Figures of one name in one unit have an axis of their own. */
function panelsOf(published: Published[]): Published[][] {
  return [...Map.groupBy(published, ({ figure, unit }) => `${figure} ${unit}`).values()];
}

function option(view: View, panels: Published[][]) {
  const several = new Set(panels.flat().map((row) => row.scenario)).size > 1;
  const bar = (name: string, at: number, colour: number, of: (row: Published) => number | null, text: (row: Published) => string) => ({
    type: "bar",
    name,
    xAxisIndex: at,
    yAxisIndex: at,
    barMaxWidth: 28,
    itemStyle: { color: view.colours.series[colour] },
    data: panels[at]!.map(of),
    tooltip: { valueFormatter: (_: number | null, index: number) => text(panels[at]![index]!) },
  });
  return base(view, {
    aria: patterned,
    grid: panels.map((_, at) => ({ left: 72, right: 28, top: TOP + at * PANEL, height: PANEL - TOP - NAMES })),
    xAxis: panels.map((rows, gridIndex) => axis(view, "", {
      gridIndex,
      type: "category",
      data: rows.map((row) => (several ? `${row.target}, ${row.scenario}` : row.target)),
      axisLabel: { interval: 0, rotate: 35, width: 130, overflow: "truncate" },
    })),
    yAxis: panels.map((rows, gridIndex) => upright(view, rows[0]!.figure, {
      gridIndex, type: "log", axisLabel: { formatter: FORMATS[rows[0]!.unit] },
    })),
    series: panels.flatMap((_, at) => [
      bar("then", at, 6, (row) => row.then, before),
      bar("now", at, 0, (row) => row.now, today),
    ]),
  });
}
