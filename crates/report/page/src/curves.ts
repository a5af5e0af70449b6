// What a run's latency is drawn of: of several runs each one's, of one run its steps, of a single step its figures.

import { type Figure, type FigureName, type Run, mainFigure, runLatency, shownStep, stepName } from "./data";
import type { View } from "./drawing";
import { count } from "./format";

const FIGURES: [FigureName, string][] = [
  ["first", "first event"],
  ["first_token", "first token"],
  ["gap", "gap between events"],
  ["rtt", "round trip"],
  ["service", "service time (from the actual send)"],
  ["delivery", "delivery"],
  ["delivery_1", "delivery in rooms of 1"],
  ["delivery_2_10", "delivery in rooms of 2 to 10"],
  ["delivery_11_100", "delivery in rooms of 11 to 100"],
  ["delivery_101_1000", "delivery in rooms of 101 to 1,000"],
  ["delivery_1001_10000", "delivery in rooms of 1,001 to 10,000"],
  ["delivery_above_10000", "delivery in larger rooms"],
  ["completion", "last receiver"],
  ["recovery", "recovery"],
  ["push_gap", "push gap"],
  ["push_age", "push age"],
  ["handshake", "handshake"],
];

export interface Curve {
  name: string;
  figure: Figure;
}

export function curvesOf({ page, run }: View): Curve[] {
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

/** The steps whose curves are in the page: as many as can be told apart. */
function curvesOfSteps(run: Run): Curve[] {
  return run.steps.flatMap((step) => {
    const figure = mainFigure(step);
    if (!figure || figure.curve.length === 0) return [];
    return [{ name: stepName(run, step, " clients"), figure }];
  });
}
