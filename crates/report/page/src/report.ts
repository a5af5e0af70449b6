// A report: its charts, from the data that stands in the page.

import { charts } from "./charts";
import { type FigureName, type Page, type Run, type Step, formatOf, stepName } from "./data";
import { type Table, type View, endOfClock } from "./drawing";
import { csv, save } from "./export";
import { Figure, type Range, WHOLE, make } from "./figures";
import { type Format, as, bytes, count, percent, rate } from "./format";
import { colours } from "./theme";

export const NARROW = 560;
const STATISTICS = ["p50", "p90", "p95", "p99", "p999", "max"] as const;

/** Puts all charts into the page, in sections. What it gives draws them anew. */
export function report(page: Page, place: HTMLElement): () => void {
  const figures = charts.map((chart) => new Figure(chart, (range) => zoom(range, true)));
  let run = page.runs[0]!;
  const steps = make("select", { id: "part" });
  const zoom = (range: Range, isByHand: boolean) => {
    for (const figure of figures) figure.zoom(range);
    // A part that was drawn by hand is none of the list.
    if (isByHand) steps.selectedIndex = range[0] === 0 && range[1] === 100 ? 0 : -1;
  };
  const prepare = () => {
    const view: View = { page, run, colours: colours(), narrow: place.clientWidth < NARROW };
    for (const figure of figures) figure.prepare(view);
  };
  const paint = () => figures.forEach((figure) => figure.paint());
  const section = (id: string, nav: string, title: string, of: "all" | "one") => {
    const element = make("section", { id });
    element.dataset.nav = nav;
    element.append(make("h2", { textContent: title }));
    if (of === "one") {
      element.append(pickers(page, steps, (picked) => {
        run = picked;
        prepare();
        paint();
      }, (range) => zoom(range, false)));
    }
    element.append(...figures.filter(({ chart }) => chart.of === of).map(({ element }) => element));
    place.append(element);
  };
  section("latency", "Latency", page.runs.length > 1 ? "Runs side by side" : "Latency and load", "all");
  section("timeline", "Timeline", "Timeline of a run", "one");
  prepare();
  for (const element of place.querySelectorAll("section")) {
    element.hidden = !element.querySelector("figure:not([hidden])");
  }
  exportSteps(page);
  paintInTurn(figures);
  const draw = () => {
    prepare();
    paint();
  };
  follow(place, draw, figures);
  return draw;
}

/** One after the other, so that the page can be read and scrolled meanwhile; all at once for a printer. */
function paintInTurn(figures: Figure[]): void {
  const left = [...figures];
  const next = () => {
    const figure = left.shift();
    figure?.paint();
    if (figure) setTimeout(next);
  };
  next();
  addEventListener("beforeprint", () => left.splice(0).forEach((figure) => figure.paint()));
}

/** Keeps charts as wide as their place; draws them anew where it gets narrow, or wide again. */
export function follow(place: HTMLElement, draw: () => void, figures: Figure[]): void {
  let width = place.clientWidth;
  new ResizeObserver(() => {
    // It also grows with each figure that is shown.
    if (place.clientWidth === width) return;
    const crossed = (width < NARROW) !== (place.clientWidth < NARROW);
    width = place.clientWidth;
    if (crossed) draw();
    for (const figure of figures) figure.resize();
  }).observe(place);
}

/** Which run the details are of, and which of its steps they show. */
function pickers(page: Page, steps: HTMLSelectElement, picked: (run: Run) => void, zoom: (range: Range) => void): HTMLElement {
  const place = make("p", { className: "pick" });
  const add = (name: string, select: HTMLSelectElement) => {
    const label = make("label", { className: "picker", textContent: `${name} ` });
    label.append(select);
    place.append(label);
    return label;
  };
  let run = page.runs[0]!;
  const label = add("Show", steps);
  const fill = () => {
    steps.replaceChildren(new Option("the whole run"), ...run.steps.map((step) => new Option(stepName(run, step, " clients"))));
    label.hidden = run.steps.length < 2;
  };
  steps.addEventListener("change", () => {
    const step = run.steps[steps.selectedIndex - 1];
    zoom(step ? rangeOf(run, step) : WHOLE);
  });
  fill();
  if (page.runs.length > 1) {
    const runs = make("select", { id: "picked" });
    page.runs.forEach(({ name }, at) => runs.append(new Option(name, String(at))));
    runs.addEventListener("change", () => {
      run = page.runs[Number(runs.value)]!;
      fill();
      picked(run);
      zoom(WHOLE);
    });
    place.prepend(add("Run", runs));
  }
  return place;
}

/** A step's part of the clock. */
function rangeOf(run: Run, { connecting, series }: Step): Range {
  const times = [...connecting.t, ...series.t];
  const end = endOfClock(run);
  const [from, to] = [Math.min(...times) - (connecting.t.length > 0 ? connecting.per_row : series.per_row), Math.max(...times)];
  return times.length === 0 ? WHOLE : [(100 * Math.max(0, from)) / end, (100 * to) / end];
}

/** A button below each run's steps, which are in the order of the runs. */
function exportSteps(page: Page): void {
  document.querySelectorAll<HTMLElement>(".steps").forEach((table, at) => {
    const run = page.runs[at]!;
    const tools = make("div", { className: "tools" });
    const button = make("button", { type: "button", textContent: "CSV" });
    button.setAttribute("aria-label", `Save the steps of ${run.name} as CSV`);
    button.addEventListener("click", () => save(`${run.name}-steps.csv`, new Blob([csv(stepTable(run))], { type: "text/csv" })));
    tools.append(button);
    table.after(tools);
  });
}

/** Numbers of each step of a run. */
function stepTable({ steps }: Run): Table {
  const names = [...new Set(steps.flatMap((step) => Object.keys(step.figures)))] as FigureName[];
  const maybe = (format: Format, value: number | undefined) => (value === undefined ? "" : as(format)(value));
  return {
    columns: [
      "clients", "asked", "sent", "received", ...names.flatMap((name) => STATISTICS.map((statistic) => `${name} ${statistic}`)),
      "failures", "server CPU (100% is one core)", "server memory", "kept",
    ],
    rows: steps.map((step) => [
      as(count)(step.clients), ...[step.asked, step.sent, step.received].map((value) => maybe(rate, value)),
      ...names.flatMap((name) => {
        const figure = step.figures[name];
        return STATISTICS.map((statistic) => (figure ? as(formatOf(figure, statistic))(figure[statistic]) : ""));
      }),
      as(count)(Object.values(step.errors).reduce((sum, n) => sum + n, 0)), maybe(percent, step.server?.cpu), maybe(bytes, step.server?.rss),
      step.kept === undefined ? "" : step.kept ? "yes" : "no",
    ]),
  };
}

/** Links to the sections that have something in them. */
export function navigation(nav: HTMLElement): void {
  for (const section of document.querySelectorAll<HTMLElement>("section[data-nav]:not([hidden])")) {
    nav.append(make("a", { href: `#${section.id}`, textContent: section.dataset.nav! }));
  }
}
