// The curves of the SockJS test: mean latency against the rate of messages, a line for each number of clients.

import { type Run, type Step, mainFigure } from "../data";
import { type Chart, type View, axis, base, line, upright } from "../drawing";
import { as, count, duration, rate, short, tick } from "../format";

const LATENCY = "mean latency";
/** The mean from which that test calls a server jammed. */
const FATAL_MS = 200;

export const saturation: Chart = {
  id: "saturation",
  title: "Saturation, by messages sent",
  lead: "Where a line turns up, the server has begun to fall behind. Above 200 ms it is jammed.",
  of: "all",
  draw: (view) => draw(view, "messages sent per second", (step) => step.sent ?? step.asked),
};

export const saturationReceived: Chart = {
  id: "saturation-received",
  title: "Saturation, by messages received",
  lead: "The same against the copies that clients receive: what the server has to write.",
  of: "all",
  draw: (view) => draw(view, "messages received per second", (step) => step.received),
};

function draw(view: View, name: string, x: (step: Step) => number | undefined) {
  const { page, colours } = view;
  const curves = page.runs.flatMap((run) => curvesOf(run, page.runs.length > 1, x));
  if (curves.length === 0) return undefined;
  const fatal = {
    silent: true,
    symbol: "none",
    label: { formatter: "200 ms", color: colours.bad, position: "insideEndTop" },
    lineStyle: { color: colours.bad, type: "dashed" },
    data: [{ yAxis: FATAL_MS }],
  };
  return {
    option: base(view, {
      xAxis: axis(view, name, { type: "log", axisLabel: { formatter: short } }),
      yAxis: upright(view, LATENCY, { type: "log", axisLabel: { formatter: tick } }),
      tooltip: { ...(base(view, {}).tooltip as object), trigger: "item", valueFormatter: String },
      series: curves.map(({ name: of, points }, k) => ({
        ...line(k, of, points, colours),
        showSymbol: true,
        markLine: k === 0 ? fatal : undefined,
      })),
    }),
    says: curves.map(({ name: of, safe }) => `${of}: ${safe === undefined ? "no safe rate" : `safe up to ${rate(safe)}`}`)
      .join("; "),
    table: () => ({
      columns: ["series", name, LATENCY],
      rows: curves.flatMap(({ name: of, points }) => points.map(([at, mean]) => [of, as(rate)(at), as(duration)(mean)])),
    }),
  };
}

interface Curve {
  name: string;
  /** Messages sent per second. */
  safe?: number;
  points: [number, number][];
}

/** A line for each number of clients, along the rates that were asked for: where the server falls behind, it bends back. */
function curvesOf(run: Run, several: boolean, x: (step: Step) => number | undefined): Curve[] {
  return run.levels.map(({ clients, safe }) => ({
    name: `${several ? `${run.name}, ` : ""}${count(clients)} clients`,
    safe,
    points: run.steps
      .filter((step) => step.clients === clients && step.kept !== undefined && x(step) && mainFigure(step))
      .sort((a, b) => (a.asked ?? 0) - (b.asked ?? 0))
      .map((step): [number, number] => [x(step)!, mainFigure(step)!.mean]),
  }));
}
