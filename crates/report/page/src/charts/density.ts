// Every sample of every second, as a picture: wsdemo's plots of latency and of handshakes over time.

import type { Run, Series } from "../data";
import { CLOCK_ROOM, type Chart, type View, base, clock, upright } from "../drawing";
import { as, count, duration, seconds, tick } from "../format";

const CELLS_PER_DECADE = 8;
/** Fewer rows are no course. */
const COLUMNS_MIN = 3;
/** Names that have room beside the cells; each stride keeps whole decades. */
const LABELS_MAX = 14;
const STRIDES = [1, 2, 4, CELLS_PER_DECADE];
const LEGEND = { thickness: 10, length: 120 };

export const density: Chart = {
  id: "density",
  title: "Every message, over time",
  lead: "Each second from left to right; the stronger a cell's colour, the more messages took so long. A second band is a second kind of message.",
  of: "one",
  hasClock: true,
  draw: (view) => draw(view, (run) => run.steps.map(({ start, series }) => ({ from: start, series })), "latency"),
};

export const handshakes: Chart = {
  id: "handshakes",
  title: "Every handshake, over time",
  lead: "While clients connect: where the picture rises, new clients wait for the ones before them.",
  of: "one",
  hasClock: true,
  draw: (view) => draw(view, (run) => run.steps.map(({ connecting }) => ({ from: began(connecting), series: connecting })), "handshake"),
};

/** Samples of one row between two edges. */
interface Cell {
  /** Seconds from the start of the run. */
  from: number;
  to: number;
  cell: number;
  samples: number;
}

function draw(view: View, of: (run: Run) => Span[], what: string) {
  const cells = of(view.run).flatMap(cellsOf);
  if (new Set(cells.map(({ to }) => to)).size < COLUMNS_MIN) return undefined;
  const lowest = Math.min(...cells.map(({ cell }) => cell));
  const highest = Math.max(...cells.map(({ cell }) => cell)) + 1;
  return {
    option: option(view, what, cells, lowest, highest),
    says: `${what} second by second of ${view.run.name}, from ${duration(edge(lowest))} to ${duration(edge(highest))}.`,
    table: () => ({
      columns: ["from", "until", "above", "below", "samples"],
      rows: cells.map(({ from, to, cell, samples }) => [
        as(seconds)(from), as(seconds)(to), as(duration)(edge(cell)), as(duration)(edge(cell + 1)), as(count)(samples),
      ]),
    }),
  };
}

function option(view: View, what: string, cells: Cell[], lowest: number, highest: number) {
  const { colours } = view;
  const stride = STRIDES.find((stride) => (highest - lowest) / stride <= LABELS_MAX) ?? CELLS_PER_DECADE;
  const most = Math.max(...cells.map(({ samples }) => samples));
  return base(view, {
    legend: undefined,
    grid: { left: view.narrow ? 52 : 64, right: view.narrow ? 16 : 28, top: 58, bottom: CLOCK_ROOM },
    ...clock(view),
    // Cells are as high as one another: the axis counts them, and is labelled with their edges.
    yAxis: upright(view, what, {
      type: "value",
      min: Math.floor(lowest / stride) * stride,
      max: Math.ceil(highest / stride) * stride,
      interval: stride,
      axisLabel: { formatter: (cell: number) => tick(Number(edge(cell).toPrecision(2))) },
    }),
    visualMap: {
      orient: "horizontal",
      right: 28,
      top: 4,
      itemWidth: LEGEND.thickness,
      itemHeight: LEGEND.length,
      text: [`${count(most)} in a cell`, "1"],
      textStyle: { color: colours.muted },
      dimension: 4,
      min: 0,
      max: Math.max(Math.log10(most), 1),
      inRange: { color: colours.scale },
    },
    tooltip: {
      ...(base(view, {}).tooltip as object),
      trigger: "item",
      formatter: ({ value: [from, to, cell, , , samples] }: { value: [number, number, number, number, number, number] }) =>
        `${seconds(from)} to ${seconds(to)}, ${duration(edge(cell))} to ${duration(edge(cell + 1))}: ${count(samples)}`,
    },
    series: [{
      type: "custom",
      name: what,
      clip: true,
      encode: { x: [0, 1], y: [2, 3] },
      renderItem: rectangle,
      data: cells.map(({ from, to, cell, samples }) => [from, to, cell, cell + 1, Math.log10(samples), samples]),
    }],
  });
}

interface Place {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
  visual(name: "color"): string;
}

/** A cell where and when it was. */
function rectangle(_: unknown, place: Place) {
  const [left, bottom] = place.coord([place.value(0), place.value(2)]);
  const [right, top] = place.coord([place.value(1), place.value(3)]);
  return {
    type: "rect",
    // A hair wider, so that nothing shines through between two.
    shape: { x: left, y: top, width: right - left + 0.5, height: bottom - top + 0.5 },
    style: { fill: place.visual("color") },
  };
}

/** Rows one after the other from a moment on. */
interface Span {
  from: number;
  series: Series;
}

function cellsOf({ from, series }: Span): Cell[] {
  return (series.density ?? []).flatMap((flat, row) => {
    const began = row === 0 ? from : series.t[row - 1]!;
    const cells: Cell[] = [];
    for (let at = 0; at + 1 < flat.length; at += 2) {
      cells.push({ from: began, to: series.t[row]!, cell: flat[at]!, samples: flat[at + 1]! });
    }
    return cells;
  });
}

/** A file does not say when a step's first client connected: a row before the end of the first, at the earliest. */
function began({ t, per_row }: Series): number {
  return Math.max(0, (t[0] ?? 0) - per_row);
}

/** Where a cell begins, in milliseconds. */
function edge(cell: number): number {
  return 10 ** (cell / CELLS_PER_DECADE) / 1e3;
}
