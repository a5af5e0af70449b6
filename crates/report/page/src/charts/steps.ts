// Latency against clients: where the steps go up, this is the curve that breaks.

import { type FigureName, type Run, type Step, formatOf } from "../data";
import { type Chart, MARKED_MAX, type View, axis, base, line, upright } from "../drawing";
import { type Format, as, count, duration, short, tick } from "../format";

const FIGURES: [FigureName, string][] = [
  ["first", "first event"],
  ["rtt", "round trip"],
  ["delivery", "delivery"],
  ["completion", "last receiver"],
  ["push_age", "push age"],
  ["push_gap", "push gap"],
  ["handshake", "handshake"],
];

interface Curve {
  name: string;
  points: Point[];
}

interface Point {
  clients: number;
  /** Milliseconds. */
  p95: number;
  format: Format;
  kept: boolean;
}

export const steps: Chart = {
  id: "steps",
  title: "Latency against clients",
  lead: "The 95th percentile at each load level; a hollow mark is a step that broke a limit.",
  of: "all",
  draw(view) {
    const curves = view.page.runs.filter(goesUp).flatMap((run) => curvesOf(run, view.page.runs.length > 1));
    if (curves.length === 0) return undefined;
    return {
      option: option(view, curves),
      says: curves.map(({ name, points }) => {
        const [first, last] = [points[0]!, points.at(-1)!];
        return `${name}: ${first.format(first.p95)} at ${count(first.clients)} clients, ${last.format(last.p95)} at ${count(last.clients)}`;
      }).join("; "),
      table: () => ({
        columns: ["series", "clients", "p95"],
        rows: curves.flatMap(({ name, points }) => points.map(({ clients, p95, format }) => [name, as(count)(clients), as(format)(p95)])),
      }),
    };
  },
};

function option(view: View, curves: Curve[]) {
  const hollow = (colour: unknown) => ({ color: view.colours.surface, borderColor: colour, borderWidth: 2 });
  return base(view, {
    xAxis: axis(view, "clients", { type: "value", min: 0, axisLabel: { formatter: short } }),
    yAxis: upright(view, "p95", { type: "log", axisLabel: { formatter: tick } }),
    tooltip: { ...(base(view, {}).tooltip as object), valueFormatter: duration },
    series: curves.map(({ name, points }, k) => {
      const series = line(k, name, points.map(({ clients, p95 }) => [clients, p95]), view.colours);
      const colour = (series.itemStyle as { color: string }).color;
      return {
        ...series,
        data: points.map(({ clients, p95, kept }) => ({
          value: [clients, p95],
          itemStyle: kept ? undefined : hollow(colour),
        })),
        symbolSize: points.length > MARKED_MAX ? 5 : 9,
        showSymbol: true,
      };
    }),
  });
}

/** Several numbers of clients, each once: a sweep of rates has a chart of its own. A step under way has no figures yet. */
function goesUp({ levels, steps }: Run): boolean {
  const ended = steps.filter(({ figures }) => Object.keys(figures).length > 0);
  return levels.length === 0 && new Set(ended.map(({ clients }) => clients)).size > 1;
}

/** Of several runs the first figure that they have, of one run all of them. */
function curvesOf(run: Run, several: boolean): Curve[] {
  const has = FIGURES.filter(([name]) => run.steps.some((step) => point(step, name).length > 0));
  const wanted = has.filter(([name]) => name !== "handshake" || has.length === 1).slice(0, several ? 1 : undefined);
  const byClients = [...run.steps].sort((a, b) => a.clients - b.clients);
  return wanted.map(([name, says]) => ({
    name: several ? run.name : says,
    points: byClients.flatMap((step) => point(step, name)),
  }));
}

function point(step: Step, name: FigureName): Point[] {
  const figure = step.figures[name];
  return figure && step.kept !== undefined ? [{ clients: step.clients, p95: figure.p95, format: formatOf(figure, "p95"), kept: step.kept }] : [];
}
