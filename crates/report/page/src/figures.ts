// Puts charts into the page: a heading, the drawing, and its table for who would rather read or cannot see.

import { BarChart, BoxplotChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Chart, Drawing, Table, View } from "./drawing";

echarts.use([
  BarChart, BoxplotChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, GridComponent, LegendComponent,
  LegendScrollComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent, SVGRenderer,
]);

const HEIGHT = 340;
/** Of a figure on A4 or letter: how wide paper is cannot be asked before it is printed on. */
const PAPER_WIDTH = 680;

let isOnPaper = false;
addEventListener("beforeprint", () => (isOnPaper = true));
addEventListener("afterprint", () => (isOnPaper = false));

/** A chart in the page. */
export class Figure {
  readonly element: HTMLElement;
  private readonly canvas = make("div", { className: "canvas" });
  private readonly details = make("details", {});
  private readonly instance: echarts.ECharts;
  private drawing: Drawing | undefined;

  constructor(private readonly chart: Chart) {
    const title = make("h3", { id: `${chart.id}-title`, textContent: chart.title });
    const lead = make("p", { className: "lead", textContent: chart.lead });
    this.details.append(make("summary", { textContent: "The same as a table" }));
    this.details.addEventListener("toggle", () => this.fillTable());
    this.element = make("figure", { id: chart.id });
    this.element.setAttribute("aria-labelledby", title.id);
    this.element.append(title, lead, this.canvas, this.details);
    this.canvas.setAttribute("role", "img");
    this.instance = echarts.init(this.canvas, null, { renderer: "svg", width: 600, height: HEIGHT });
  }

  /** Draws anew. False where there is nothing of the kind; the figure is hidden then. */
  draw(view: View): boolean {
    this.drawing = this.chart.draw(view);
    this.element.hidden = this.drawing === undefined;
    if (!this.drawing) return false;
    this.canvas.setAttribute("aria-label", this.drawing.says);
    this.canvas.style.height = `${this.drawing.height ?? HEIGHT}px`;
    this.instance.setOption(this.drawing.option, { notMerge: true });
    this.details.querySelector(".scroll")?.remove();
    this.fillTable();
    return true;
  }

  /** Takes the room there is. */
  resize(): void {
    const width = isOnPaper ? PAPER_WIDTH : this.canvas.clientWidth;
    if (!this.drawing || width === 0) return;
    this.instance.resize({ width, height: this.drawing.height ?? HEIGHT });
    // Nothing is drawn any more once the printer has the page.
    if (isOnPaper) this.instance.getZr().flush();
  }

  /** A table of thousands of cells is made when somebody asks for it. */
  private fillTable(): void {
    if (!this.details.open || !this.drawing || this.details.querySelector(".scroll")) return;
    const scroll = make("div", { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `${this.chart.title}, as a table`);
    scroll.append(tableElement(this.drawing.table()));
    this.details.append(scroll);
  }
}

/** A table whose first column names its rows. */
export function tableElement({ columns, rows }: Table): HTMLTableElement {
  const table = make("table", {});
  const head = table.createTHead().insertRow();
  for (const name of columns) head.append(make("th", { scope: "col", textContent: name }));
  const body = table.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((cell, at) => {
      row.append(at === 0 ? make("th", { scope: "row", textContent: cell }) : make("td", { textContent: cell }));
    });
  }
  return table;
}

/** An element with properties; text only ever as text. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]>,
): HTMLElementTagNameMap[Tag] {
  return Object.assign(document.createElement(tag), properties);
}
