// A report: its charts, from the data that stands in the page.

import { charts } from "./charts";
import type { Page } from "./data";
import type { View } from "./drawing";
import { Figure, make } from "./figures";
import { colours } from "./theme";

export const NARROW = 560;

/** Puts all charts into the page, in sections. What it gives draws them anew. */
export function report(page: Page, place: HTMLElement): () => void {
  const figures = charts.map((chart) => ({ chart, figure: new Figure(chart) }));
  let run = page.runs[0]!;
  const view = (): View => ({ page, run, colours: colours(), narrow: place.clientWidth < NARROW });
  const draw = () => {
    for (const { figure } of figures) {
      if (figure.draw(view())) figure.resize();
    }
  };
  const section = (id: string, nav: string, title: string, of: "all" | "one") => {
    const element = make("section", { id });
    element.dataset.nav = nav;
    element.append(make("h2", { textContent: title }));
    if (of === "one" && page.runs.length > 1) element.append(picker(page, (picked) => ((run = picked), draw())));
    element.append(...figures.filter(({ chart }) => chart.of === of).map(({ figure }) => figure.element));
    place.append(element);
  };
  section("latency", "Latency", page.runs.length > 1 ? "Run beside run" : "Latency and load", "all");
  section("timeline", "Timeline", "The course of a run", "one");
  draw();
  for (const element of place.querySelectorAll("section")) {
    element.hidden = !element.querySelector("figure:not([hidden])");
  }
  follow(place, draw, figures.map(({ figure }) => figure));
  return draw;
}

/** Keeps charts as wide as their place; draws them anew where it gets narrow, or wide again. */
export function follow(place: HTMLElement, draw: () => void, figures: Figure[]): void {
  let width = place.clientWidth;
  new ResizeObserver(() => {
    const crossed = (width < NARROW) !== (place.clientWidth < NARROW);
    width = place.clientWidth;
    if (crossed) draw();
    for (const figure of figures) figure.resize();
  }).observe(place);
}

/** Which run the details are of. */
function picker(page: Page, picked: (run: Page["runs"][number]) => void): HTMLElement {
  const select = make("select", { id: "picked" });
  page.runs.forEach((run, at) => select.append(new Option(run.name, String(at))));
  select.addEventListener("change", () => picked(page.runs[Number(select.value)]!));
  const label = make("label", { className: "picker", textContent: "Run " });
  label.append(select);
  return label;
}

/** Links to the sections that have something in them. */
export function navigation(nav: HTMLElement): void {
  for (const section of document.querySelectorAll<HTMLElement>("section[data-nav]:not([hidden])")) {
    nav.append(make("a", { href: `#${section.id}`, textContent: section.dataset.nav! }));
  }
}
