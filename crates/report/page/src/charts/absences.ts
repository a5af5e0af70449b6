// What came of what was sent while clients were away: by its age when they were back, and by how long they were away.

import { type Absences, byTime, recoveredShare } from "../data";
import { type Chart, type View, axis, base, patterned, upright } from "../drawing";
import { as, count, duration, percent } from "../format";

/** A history of so many seconds, or messages, shows as an edge. */
export const ages: Chart = {
  id: "ages",
  title: "How far back history reaches",
  lead: "Of what was sent while clients were away, what came after all, by how long before their return it was sent.",
  of: "one",
  draw(view) {
    const groups = byTime(view.run.steps.flatMap((step) => step.ages ?? []));
    if (groups.length < 2) return undefined;
    const shares = groups.map(([, rows]) => recoveredShare(rows));
    return {
      height: 260,
      option: base(view, {
        legend: { show: false },
        grid: { left: view.narrow ? 52 : 64, right: view.narrow ? 16 : 28, top: 34, bottom: 52 },
        xAxis: axis(view, "sent at most so long before the client was back", {
          type: "category", data: groups.map(([end]) => span(end)),
        }),
        yAxis: shareAxis(view),
        tooltip: shareTip(view),
        series: [{
          type: "bar",
          name: "came after all",
          barCategoryGap: "12%",
          itemStyle: { color: view.colours.series[0] },
          data: shares,
        }],
      }),
      says: groups.map(([end], at) => `${span(end)}: ${percent(shares[at]!)}`).join(", "),
      table: () => ({
        columns: ["sent before", "copies due", "came", "share"],
        rows: groups.map(([end, rows], at) => [
          span(end), as(count)(total(rows, "due")), as(count)(total(rows, "recovered")), as(percent)(shares[at]!),
        ]),
      }),
    };
  },
};

export const lengths: Chart = {
  id: "absences",
  title: "Delivered share by length of absence",
  lead: "Of what was due to clients while they were away, what came after all, by how their connections ended.",
  of: "one",
  draw(view) {
    const all = view.run.steps.flatMap((step) => step.absences ?? []);
    if (all.length === 0) return undefined;
    const ways = [...new Set(all.map((row) => row.ended_by))];
    const groups = byTime(all);
    const of = (rows: Absences[], way: string) => rows.filter((row) => row.ended_by === way);
    return {
      height: 260,
      option: base(view, {
        aria: patterned,
        xAxis: axis(view, "away for at most", { type: "category", data: groups.map(([end]) => span(end)) }),
        yAxis: shareAxis(view),
        tooltip: shareTip(view),
        series: ways.map((way, k) => ({
          type: "bar",
          name: way,
          barMaxWidth: 48,
          itemStyle: { color: view.colours.series[k % view.colours.series.length] },
          data: groups.map(([, rows]) => {
            const some = of(rows, way);
            return some.length === 0 ? null : recoveredShare(some);
          }),
        })),
      }),
      says: ways.map((way) => `After ${way}, ${percent(recoveredShare(of(all, way)))} came after all.`).join(" "),
      table: () => ({
        columns: ["ended by", "away for at most", "absences", "copies due", "came", "share", "95% CI"],
        rows: all.map((row) => [
          row.ended_by, span(row.up_to), as(count)(row.count), as(count)(row.due), as(count)(row.recovered),
          as(percent)(recoveredShare([row])), row.range ? row.range.map(percent).join(" to ") : "",
        ]),
      }),
    };
  },
};

function span(seconds: number | undefined): string {
  return seconds === undefined ? "longer" : duration(seconds * 1e3);
}

function total(rows: { due: number; recovered: number }[], of: "due" | "recovered"): number {
  return rows.reduce((sum, row) => sum + row[of], 0);
}

function shareAxis(view: View): Record<string, unknown> {
  return upright(view, "came after all", { type: "value", min: 0, max: 100, axisLabel: { formatter: percent } });
}

function shareTip(view: View): Record<string, unknown> {
  const tip = base(view, {}).tooltip as Record<string, unknown>;
  const valueFormatter = (value: number | null) => (value === null ? "" : percent(value));
  return { ...tip, axisPointer: { type: "shadow" }, valueFormatter };
}
