// The curves of the SockJS test: mean latency against the rate of messages, a line for each number of clients.

import { type Step } from "../data";
import { type Chart, type View, axis, base, line, upright } from "../drawing";
import { count, duration, rate, short, tick } from "../format";

/** The mean from which that test calls a server jammed. */
const FATAL_MS = 200;

export const saturation: Chart = {
  id: "saturation",
  title: "Saturation, by messages sent",
  lead: "Where a line turns up, the server has begun to fall behind. Above 200 ms it is jammed.",
  of: "one",
  draw: (view) => draw(view, "messages sent per second", (step) => step.sent ?? step.asked),
};

export const saturationReceived: Chart = {
  id: "saturation-received",
  title: "Saturation, by messages received",
  lead: "The same against the copies that clients receive: what the server has to write.",
  of: "one",
  draw: (view) => draw(view, "messages received per second", (step) => step.received),
};

function draw(view: View, name: string, x: (step: Step) => number | undefined) {
  const { run, colours } = view;
  if (run.levels.length === 0) return undefined;
  const curves = run.levels.map((level) => ({
    name: `${count(level.clients)} clients`,
    points: run.steps
      .filter((step) => step.clients === level.clients && x(step) !== undefined && step.figures.rtt)
      .map((step): [number, number] => [x(step)!, step.figures.rtt!.mean])
      .sort((a, b) => a[0] - b[0]),
  }));
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
      yAxis: upright(view, "mean rtt", { type: "log", axisLabel: { formatter: tick } }),
      tooltip: { ...(base(view, {}).tooltip as object), trigger: "item", valueFormatter: String },
      series: curves.map(({ name: of, points }, k) => ({
        ...line(k, of, points, colours),
        showSymbol: true,
        markLine: k === 0 ? fatal : undefined,
      })),
    }),
    says: run.levels.map((level) =>
      `${count(level.clients)} clients: ${level.safe === undefined ? "no safe rate" : `safe up to ${rate(level.safe)}`}`
    ).join("; "),
    table: () => ({
      columns: ["", name, "mean rtt"],
      rows: curves.flatMap(({ name: of, points }) => points.map(([at, mean]) => [of, rate(at), duration(mean)])),
    }),
  };
}
