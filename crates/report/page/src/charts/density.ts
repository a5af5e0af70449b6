// Every sample of every second, as a picture: wsdemo's plots of latency and of handshakes over time.

import type { Run, Series } from "../data";
import { type Chart, type View, axis, base, upright } from "../drawing";
import { count, duration, tick } from "../format";

const CELLS_PER_DECADE = 8;
/** Fewer columns are no course. */
const COLUMNS_MIN = 3;
/** Names that have room beside the cells; each stride keeps whole decades. */
const LABELS_MAX = 14;
const STRIDES = [1, 2, 4, CELLS_PER_DECADE];
const LEGEND = { thickness: 10, length: 120 };

export const density: Chart = {
  id: "density",
  title: "Every message, over time",
  lead: "A column is a second; the stronger a cell's colour, the more messages took so long. A second band is a second kind of message.",
  of: "one",
  draw: (view) => draw(view, (run) => run.steps.map((step) => step.series), "latency"),
};

export const handshakes: Chart = {
  id: "handshakes",
  title: "Every handshake, over time",
  lead: "While clients connect: where the picture rises, new clients wait for the ones before them.",
  of: "one",
  draw: (view) => draw(view, (run) => run.steps.map((step) => step.connecting), "handshake"),
};

interface Cell {
  column: number;
  cell: number;
  samples: number;
}

function draw(view: View, of: (run: Run) => Series[], what: string) {
  const all = of(view.run).filter((series) => series.density);
  const times = all.flatMap((series) => series.t);
  const cells = cellsOf(all);
  if (new Set(cells.map(({ column }) => column)).size < COLUMNS_MIN) return undefined;
  const lowest = Math.min(...cells.map(({ cell }) => cell));
  const highest = Math.max(...cells.map(({ cell }) => cell));
  const edges = Array.from({ length: highest - lowest + 1 }, (_, k) => edge(lowest + k));
  const most = Math.max(...cells.map(({ samples }) => samples));
  return {
    option: option(view, { times, lowest, edges, most, what }, cells.map(({ column, cell, samples }) =>
      [column, cell - lowest, Math.log10(samples), samples])),
    says: `${what} second by second of ${view.run.name}, from ${duration(edge(lowest))} to ${duration(edge(highest + 1))}.`,
    table: () => ({
      columns: ["time", "from", "to", "samples"],
      rows: cells.map(({ column, cell, samples }) => [
        `${times[column]!.toFixed(1)}s`, duration(edge(cell)), duration(edge(cell + 1)), count(samples),
      ]),
    }),
  };
}

/** Its columns and cells, and the fullest. */
interface Picture {
  times: number[];
  lowest: number;
  /** Milliseconds. */
  edges: number[];
  most: number;
  what: string;
}

function option(view: View, { times, lowest, edges, most, what }: Picture, data: number[][]) {
  const { colours } = view;
  const stride = STRIDES.find((stride) => edges.length / stride <= LABELS_MAX) ?? CELLS_PER_DECADE;
  return base(view, {
    legend: undefined,
    xAxis: axis(view, "seconds from the start of the run", {
      type: "category",
      data: times.map((t) => t.toFixed(t < 10 ? 1 : 0)),
      splitLine: { show: false },
    }),
    yAxis: upright(view, what, {
      type: "category",
      data: edges.map((ms) => tick(Number(ms.toPrecision(2)))),
      splitLine: { show: false },
      axisLabel: { interval: (at: number) => (lowest + at) % stride === 0 },
    }),
    visualMap: {
      orient: "horizontal",
      right: 28,
      top: 4,
      itemWidth: LEGEND.thickness,
      itemHeight: LEGEND.length,
      text: [`${count(most)} in a cell`, "1"],
      textStyle: { color: colours.muted },
      dimension: 2,
      min: 0,
      max: Math.max(Math.log10(most), 1),
      inRange: { color: colours.scale },
    },
    tooltip: {
      ...(base(view, {}).tooltip as object),
      trigger: "item",
      formatter: ({ value }: { value: number[] }) =>
        `${times[value[0]!]!.toFixed(1)}s, from ${duration(edges[value[1]!]!)}: ${count(value[3]!)}`,
    },
    series: [{ type: "heatmap", name: what, data, itemStyle: { borderWidth: 0 }, emphasis: { disabled: true } }],
  });
}

function cellsOf(all: Series[]): Cell[] {
  let column = -1;
  return all.flatMap((series) =>
    series.density!.flatMap((flat) => {
      column += 1;
      const cells: Cell[] = [];
      for (let at = 0; at + 1 < flat.length; at += 2) cells.push({ column, cell: flat[at]!, samples: flat[at + 1]! });
      return cells;
    })
  );
}

/** Where a cell begins, in milliseconds. */
function edge(cell: number): number {
  return 10 ** (cell / CELLS_PER_DECADE) / 1e3;
}
