// Latency by percentile: HdrHistogram's plot, on a logarithmic axis of what is left above.

import {
  type Figure, type FigureName, type Run, type Step, hasRates, mainFigure, runLatency, shownStep, stepName,
} from "../data";
import { type Chart, type View, axis, base, line, upright } from "../drawing";
import { count, duration, quantile, tick } from "../format";

const STEPS_MAX = 6;
const FIGURES: [FigureName, string][] = [
  ["rtt", "round trip"],
  ["service", "service time (from the actual send)"],
  ["delivery", "delivery"],
  ["delivery_1", "delivery in rooms of 1"],
  ["delivery_2_10", "delivery in rooms of 2 to 10"],
  ["delivery_11_100", "delivery in rooms of 11 to 100"],
  ["delivery_101_1000", "delivery in rooms of 101 to 1,000"],
  ["delivery_1001_10000", "delivery in rooms of 1,001 to 10,000"],
  ["delivery_above_10000", "delivery in larger rooms"],
  ["completion", "completion"],
  ["recovery", "recovery"],
  ["handshake", "handshake"],
];

interface Curve {
  name: string;
  figure: Figure;
}

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
        + `the highest 99th percentile is ${duration(slowest.figure.p99)}, of ${slowest.name}.`,
      table: () => ({
        columns: ["", "samples", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"],
        rows: curves.map(({ name, figure: f }) => [
          name, count(f.count), ...[f.mean, f.p50, f.p90, f.p95, f.p99, f.p999, f.max].map(duration),
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

/** Of several runs each one's latency; of one run its steps; of a single step its figures. */
function curvesOf({ page, run }: View): Curve[] {
  if (page.runs.length > 1) return page.runs.flatMap(curveOfRun);
  if (run.steps.length > 1) return curvesOfSteps(run);
  const figures = run.steps[0]?.figures ?? {};
  return FIGURES.flatMap(([name, says]) => {
    const figure = figures[name];
    return figure ? [{ name: says, figure }] : [];
  });
}

function curveOfRun(run: Run): Curve[] {
  const [step, figure] = [shownStep(run), runLatency(run)];
  return step && figure ? [{ name: `${run.name}, ${count(step.clients)} clients`, figure }] : [];
}

function curvesOfSteps(run: Run): Curve[] {
  const all = run.levels.length > 0 ? edges(run) : run.steps;
  const stride = Math.ceil(all.length / STEPS_MAX);
  const last = all.length - 1;
  return all.flatMap((step, at) => {
    const main = mainFigure(step);
    if (!main || (last - at) % stride !== 0) return [];
    return [{ name: hasRates(run) ? stepName(run, step) : `${stepName(run, step)} clients`, figure: main[1] }];
  });
}

/** Of a sweep: the highest rate that each number of clients kept up with, and the lowest that was too much. */
function edges(run: Run): Step[] {
  return run.levels.flatMap(({ clients }) => {
    const steps = run.steps.filter((step) => step.clients === clients).sort((a, b) => (a.asked ?? 0) - (b.asked ?? 0));
    return [steps.findLast((step) => step.kept), steps.find((step) => !step.kept)].filter((step) => step !== undefined);
  });
}
