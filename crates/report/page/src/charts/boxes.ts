// Latency as box plots: a run beside another, or a step beside another.

import { type Figure, type Median, formatOf, mainFigure, runLatency, stepName } from "../data";
import { type Chart, type View, axis, base, upright } from "../drawing";
import { as, bound, duration, tick } from "../format";

/** With more boxes their names stand aslant, with still more not all of them. */
const LEVEL_NAMES_MAX = 8;
const ALL_NAMES_MAX = 24;
/** What the numbers of a box are. */
const QUANTILES = ["p1", "p25", "p50", "p75", "p99"];

interface Box {
  name: string;
  figure: Figure;
  /** The median of each repeat; empty if there was one. */
  medians: Median[];
}

export const boxes: Chart = {
  id: "boxes",
  title: "Spread of latency",
  lead: "Half of all messages lie in the box; the whiskers reach from 1% to 99%.",
  of: "all",
  draw(view) {
    const all = boxesOf(view);
    if (all.length < 2) return undefined;
    return {
      option: option(view, all),
      says: `Box plots of latency: ${all.map(({ name, figure }) => `${name} median ${formatOf(figure, "p50")(figure.p50)}`).join(", ")}.`,
      table: () => ({
        columns: ["series", "1%", "25%", "50%", "75%", "99%", ...(hasRepeats(all) ? ["medians of the repeats"] : [])],
        rows: all.map(({ name, figure, medians }) => [
          name, ...figure.box.map((ms, at) => as(formatOf(figure, QUANTILES[at]!))(ms)),
          ...(hasRepeats(all) ? [medians.map(([ms, isBound]) => (isBound ? bound : duration)(ms)).join(", ")] : []),
        ]),
      }),
    };
  },
};

function option(view: View, all: Box[]) {
  const { page, colours } = view;
  const aslant = view.narrow || all.length > LEVEL_NAMES_MAX;
  const units = page.runs.length > 1 ? "" : "clients";
  return base(view, {
    ...(hasRepeats(all) ? {} : { legend: undefined }),
    grid: { left: view.narrow ? 52 : 64, right: 28, top: hasRepeats(all) ? 58 : 34, bottom: aslant ? 96 : 52 },
    xAxis: axis(view, units, {
      type: "category",
      data: all.map(({ name }) => name),
      nameGap: aslant ? 74 : 30,
      axisLabel: { interval: all.length > ALL_NAMES_MAX ? "auto" : 0, width: 110, overflow: "truncate", rotate: aslant ? 35 : 0 },
    }),
    yAxis: upright(view, "latency", { type: "log", axisLabel: { formatter: tick } }),
    tooltip: { ...(base(view, {}).tooltip as object), trigger: "item", formatter: undefined, valueFormatter: duration },
    series: [
      {
        type: "boxplot",
        name: "all samples",
        data: all.map(({ figure }) => figure.box),
        boxWidth: [8, 40],
        itemStyle: { color: "transparent", borderColor: colours.series[0], borderWidth: 2 },
      },
      {
        type: "scatter",
        name: "median of a repeat",
        data: all.flatMap(({ medians }, at) => medians.map(([median]) => [at, median])),
        symbolSize: 7,
        itemStyle: { color: colours.series[1] },
      },
    ],
  });
}

function hasRepeats(all: Box[]): boolean {
  return all.some(({ medians }) => medians.length > 0);
}

function boxesOf({ page, run }: View): Box[] {
  const box = (name: string, figure: Figure | undefined, medians: Median[] = []): Box[] =>
    figure ? [{ name, figure, medians }] : [];
  return page.runs.length > 1
    ? page.runs.flatMap((each) => box(each.name, runLatency(each), each.repeats?.medians))
    : run.steps.flatMap((step) => box(stepName(run, step), mainFigure(step)));
}
