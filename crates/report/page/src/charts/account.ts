// Where the time of slow messages went.

import { type Step, stepName } from "../data";
import { type Chart, type View, axis, base, patterned } from "../drawing";
import { as, duration, percent } from "../format";

const STEPS_MAX = 40;
const ROW = 30;
const LEGEND_LINE = 20;
const NAME_WIDTH = 130;
const NAME_WIDTH_NARROW = 76;
/** Two of them fit in a row. */
const NAME_LINE = 13;
/** A smaller segment has no room for its number. */
const NUMBERED_PERCENT_MIN = 8;
const NUMBERED_PERCENT_MIN_NARROW = 16;
/** Places among the colours, in the owners' order: cold ones are the server's, warm ones the generator's side. */
const FILLS = [0, 5, 2, 3, 7, 1, 4, 6];

export const account: Chart = {
  id: "account",
  title: "Where the time of slow messages went",
  lead: "Each bar is the time of a step's slowest messages, from when they were due until their answers, by who had it. "
    + "Beside it stands the latency from which they count as slow.",
  of: "one",
  draw(view) {
    const { run, page } = view;
    const steps = run.steps.filter((step) => step.slow).slice(-STEPS_MAX);
    if (steps.length === 0) return undefined;
    const owners = page.owners.map((name, at) => ({ name, at })).filter(({ at }) => steps.some((step) => share(step, at) > 0));
    return {
      height: 66 + top(view, owners) + ROW * steps.length,
      option: option(view, steps, owners),
      says: steps.map((step) => `At ${stepName(run, step, " clients")}: ${told(page.owners, step)}`).join(". "),
      table: () => ({
        columns: ["clients", "slow from", ...owners.map(({ name }) => name)],
        rows: steps.map((step) => [
          stepName(run, step), as(duration)(step.slow!.from), ...owners.map(({ at }) => as(percent)(share(step, at))),
        ]),
      }),
    };
  },
};

interface Owner {
  name: string;
  /** Among all owners. */
  at: number;
}

function option(view: View, steps: Step[], owners: Owner[]) {
  const { colours, narrow, run } = view;
  const numberedMin = narrow ? NUMBERED_PERCENT_MIN_NARROW : NUMBERED_PERCENT_MIN;
  return base(view, {
    aria: patterned,
    grid: { left: narrow ? NAME_WIDTH_NARROW + 10 : NAME_WIDTH + 14, right: 28, top: top(view, owners), bottom: 52 },
    // All owners are seen at once, however narrow it is.
    legend: { ...(base(view, {}).legend as object), type: "plain" },
    xAxis: axis(view, "share of the slow messages' time", { type: "value", max: 100, axisLabel: { formatter: percent } }),
    yAxis: axis(view, "", {
      type: "category",
      inverse: true,
      data: steps.map((step) => `${stepName(run, step)} · ${duration(step.slow!.from)}`),
      axisLabel: narrow
        ? { width: NAME_WIDTH_NARROW, overflow: "truncate", lineHeight: NAME_LINE, formatter: (name: string) => name.replace(" · ", "\n") }
        : { width: NAME_WIDTH, overflow: "truncate" },
    }),
    tooltip: { ...(base(view, {}).tooltip as object), axisPointer: { type: "shadow" }, valueFormatter: percent },
    series: owners.map(({ name, at }) => ({
      type: "bar",
      stack: "all",
      name,
      barMaxWidth: 20,
      itemStyle: { color: colours.series[FILLS[at]!] ?? colours.line },
      label: {
        show: true,
        color: colours.text,
        textBorderColor: colours.surface,
        textBorderWidth: 3,
        formatter: ({ value }: { value: number }) => (value >= numberedMin ? percent(Math.round(value)) : ""),
      },
      data: steps.map((step) => share(step, at)),
    })),
  });
}

/** Pixels above the bars: a narrow legend has two owners in a line. */
function top({ narrow }: View, owners: Owner[]): number {
  return narrow ? 24 + LEGEND_LINE * Math.ceil(owners.length / 2) : 44;
}

function share(step: Step, at: number): number {
  return step.slow!.shares[at]!;
}

/** The owners of a step's time, the largest share first. */
function told(names: string[], step: Step): string {
  const shares = names.map((name, at) => ({ name, percent: Math.round(share(step, at)) }));
  const large = shares.filter((owner) => owner.percent > 0).sort((a, b) => b.percent - a.percent);
  return large.map((owner) => `${owner.name} ${owner.percent}%`).join(", ");
}
