// Latency as box plots: a run beside another, or a step beside another.

import { type Figure, mainFigure, shownStep } from "../data";
import { type Chart, type View, axis, base, upright } from "../drawing";
import { count, duration, tick } from "../format";

export const boxes: Chart = {
  id: "boxes",
  title: "Spread of latency",
  lead: "Half of all messages lie in the box; the whiskers reach from 1% to 99%.",
  of: "all",
  draw(view) {
    const entries = entriesOf(view);
    if (entries.length < 2) return undefined;
    const option = base(view, {
      legend: undefined,
      grid: { left: 64, right: 28, top: 44, bottom: view.narrow ? 90 : 64 },
      xAxis: axis(view, "", {
        type: "category",
        data: entries.map(([name]) => name),
        axisLabel: { interval: 0, width: 110, overflow: "truncate", rotate: view.narrow || entries.length > 8 ? 35 : 0 },
      }),
      yAxis: upright(view, "latency", { type: "log", axisLabel: { formatter: tick } }),
      tooltip: { ...(base(view, {}).tooltip as object), trigger: "item", formatter: undefined, valueFormatter: duration },
      series: [{
        type: "boxplot",
        name: "latency",
        data: entries.map(([, figure]) => figure.box),
        boxWidth: [8, 40],
        itemStyle: { color: "transparent", borderColor: view.colours.series[0], borderWidth: 2 },
      }],
    });
    return {
      option,
      says: `Box plots of latency: ${entries.map(([name, f]) => `${name} median ${duration(f.p50)}`).join(", ")}.`,
      table: () => ({
        columns: ["", "1%", "25%", "50%", "75%", "99%"],
        rows: entries.map(([name, figure]) => [name, ...figure.box.map(duration)]),
      }),
    };
  },
};

function entriesOf({ page, run }: View): [string, Figure][] {
  if (page.runs.length > 1) {
    return page.runs.flatMap((each) => {
      const step = shownStep(each);
      const main = step && mainFigure(step);
      return main ? [[each.name, main[1]] as [string, Figure]] : [];
    });
  }
  const asked = run.steps.some((step) => step.asked !== undefined && run.steps[0]!.clients === step.clients);
  return run.steps.flatMap((step) => {
    const main = mainFigure(step);
    const name = asked && step.asked ? `${count(step.clients)} × ${count(step.asked)}/s` : count(step.clients);
    return main ? [[name, main[1]] as [string, Figure]] : [];
  });
}
