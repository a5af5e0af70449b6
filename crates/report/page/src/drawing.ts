// What a chart is: an option for ECharts, and the same numbers as a table.

import type { EChartsCoreOption } from "echarts/core";
import type { Page, Run } from "./data";
import { type Quantity, bytesTick, seconds } from "./format";
import type { Colours } from "./theme";

/** What there is to draw from. */
export interface View {
  page: Page;
  /** The run that details are shown of. */
  run: Run;
  colours: Colours;
  /** Whether there is little room to the side. */
  narrow: boolean;
}

export type Cell = string | Quantity;

export interface Table {
  columns: string[];
  rows: Cell[][];
}

export interface Drawing {
  option: EChartsCoreOption;
  /** One sentence of what is to be seen, for those who do not see it. */
  says: string;
  table: () => Table;
  /** Pixels. */
  height?: number;
}

/** One figure of the page. `draw` gives nothing where the runs have nothing of the kind. */
export interface Chart {
  id: string;
  title: string;
  lead: string;
  /** Over all runs, or of the one that was picked. */
  of: "all" | "one";
  /** True if its horizontal axis is the run's clock, of which a part can be shown. */
  hasClock?: boolean;
  draw(view: View): Drawing | undefined;
}

const SYMBOLS = ["circle", "triangle", "rect", "diamond", "roundRect", "arrow", "pin", "emptyCircle"];
const DASHES = ["solid", [7, 4], [2, 3], [10, 3, 2, 3]] as const;
/** With more points than that a line has no room for marks. */
export const MARKED_MAX = 24;
/** A point between two gaps has no line to be seen by. */
const LONELY_SIZE = 4;
const BYTES_TICKS_MAX = 6;

/** A line that is told from the others by colour, symbol and dash. */
export function line(k: number, name: string, data: (number | null)[][], colours: Colours): Record<string, unknown> {
  const colour = colours.series[k % colours.series.length];
  const lonely = data.length > MARKED_MAX ? lonelyPoints(data) : new Set();
  const size = (_: unknown, { dataIndex }: { dataIndex: number }) => (lonely.has(dataIndex) ? LONELY_SIZE : 0);
  return {
    type: "line",
    name,
    data,
    symbol: SYMBOLS[k % SYMBOLS.length],
    symbolSize: lonely.size > 0 ? size : 7,
    showSymbol: data.length <= MARKED_MAX || lonely.size > 0,
    itemStyle: { color: colour },
    lineStyle: { width: 2, color: colour, type: DASHES[Math.floor(k / 4) % DASHES.length] },
    emphasis: { focus: "series" },
  };
}

function lonelyPoints(data: (number | null)[][]): Set<number> {
  const value = (at: number) => data[at]?.[1] ?? null;
  const isLonely = (at: number) => value(at) !== null && value(at - 1) === null && value(at + 1) === null;
  return new Set([...data.keys()].filter(isLonely));
}

/** Named rather than inherited: the text is measured before it is in the page. */
const FONT = "system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", sans-serif";

/** What all charts have in common. */
export function base({ colours, narrow }: View, parts: Record<string, unknown>): EChartsCoreOption {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: colours.text },
    grid: { left: narrow ? 52 : 64, right: narrow ? 16 : 28, top: 58, bottom: 52 },
    legend: {
      type: "scroll",
      top: 4,
      left: 0,
      itemWidth: 22,
      itemHeight: 9,
      itemGap: 16,
      textStyle: { color: colours.text },
      pageTextStyle: { color: colours.muted },
      pageIconColor: colours.text,
      pageIconInactiveColor: colours.line,
    },
    tooltip: {
      trigger: "axis",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { color: colours.text, fontSize: 13 },
      axisPointer: { lineStyle: { color: colours.muted } },
    },
    ...parts,
  };
}

/** Fills that are told apart without their colours. What the chart says is its own (`Drawing.says`), and no list of numbers. */
export const patterned = { enabled: true, label: { enabled: false }, decal: { show: true } };

/** An axis with a name, in the page's colours. */
export function axis({ colours }: View, name: string, parts: Record<string, unknown> = {}): Record<string, unknown> {
  const { axisLabel, ...rest } = parts;
  return {
    name,
    nameLocation: "middle",
    nameGap: 30,
    nameTextStyle: { color: colours.muted },
    axisLine: { show: true, lineStyle: { color: colours.line } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: colours.line, opacity: 0.6 } },
    axisLabel: { color: colours.muted, hideOverlap: true, ...(axisLabel as object) },
    ...rest,
  };
}

/** The run's own clock, the same in all charts, and the means to look at a part of it. */
export function clock(view: View): Record<string, unknown> {
  return {
    xAxis: axis(view, "seconds from the start of the run", { type: "value", min: 0, max: endOfClock(view.run) }),
    dataZoom: [
      {
        type: "slider",
        filterMode: "none",
        height: SLIDER,
        bottom: 6,
        brushSelect: true,
        showDataShadow: false,
        borderColor: view.colours.line,
        fillerColor: view.colours.scale[0],
        handleStyle: { borderColor: view.colours.muted, color: view.colours.surface },
        moveHandleSize: 4,
        moveHandleStyle: { color: view.colours.scale[1] },
        textStyle: { color: view.colours.muted },
        labelFormatter: (value: number) => seconds(value),
      },
      // With Ctrl, since a wheel alone scrolls the page; a finger does nothing else.
      ...(view.narrow ? [] : [{ type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, moveOnMouseWheel: false }]),
    ],
  };
}

/** The whole second in which the last row of a run ends. */
export function endOfClock(run: Run): number {
  const ends = run.steps.flatMap(({ connecting, series }) => [connecting.t.at(-1) ?? 0, series.t.at(-1) ?? 0]);
  return Math.max(1, Math.ceil(Math.max(...ends)));
}

/** Room under a plot with a clock: its labels, its name and its slider. */
export const CLOCK_ROOM = 84;
const SLIDER = 18;

/** What an axis of bytes needs to have round numbers on it: powers of two apart. */
export function bytesScale(values: number[], least = Math.min(...values)): Record<string, unknown> {
  const most = Math.max(...values);
  const interval = 2 ** Math.ceil(Math.log2(Math.max(most - least, 1024) / BYTES_TICKS_MAX));
  return {
    min: Math.floor(least / interval) * interval,
    max: Math.ceil(most / interval) * interval,
    interval,
    axisLabel: { formatter: bytesTick },
  };
}

/** A vertical axis; its name stands above it, where it can be read without turning the head. */
export function upright(view: View, name: string, parts: Record<string, unknown> = {}): Record<string, unknown> {
  return axis(view, name, {
    nameLocation: "end",
    nameGap: 10,
    nameTextStyle: { color: view.colours.muted, align: "left", padding: [0, 0, 0, -40] },
    ...parts,
  });
}
