// Puts charts into the page: a heading, the drawing, and its table for who would rather read or cannot see.

import { BarChart, BoxplotChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { type Chart, type Drawing, type Table, type View } from "./drawing";
import { csv, png, save } from "./export";

echarts.use([
  BarChart, BoxplotChart, CustomChart, LineChart, ScatterChart, AriaComponent, DataZoomInsideComponent,
  DataZoomSliderComponent, GridComponent, LegendComponent, LegendScrollComponent, MarkLineComponent, TooltipComponent,
  VisualMapContinuousComponent, SVGRenderer,
]);

const HEIGHT = 340;
/** Of a figure on A4 or letter: how wide paper is cannot be asked before it is printed on. */
const PAPER_WIDTH = 680;

let isOnPaper = false;
addEventListener("beforeprint", () => (isOnPaper = true));
addEventListener("afterprint", () => (isOnPaper = false));

/** A part of an axis, in percent of the whole. */
export type Range = [number, number];
export const WHOLE: Range = [0, 100];

/** A chart in the page. */
export class Figure {
  readonly element: HTMLElement;
  private readonly canvas = make("div", { className: "canvas" });
  private readonly details = make("details", {});
  private readonly instance: echarts.ECharts;
  private view: View | undefined;
  private drawing: Drawing | undefined;
  private isPainted = false;
  private range = WHOLE;

  /** Tells `zoomed` which part of the clock its reader picked. */
  constructor(readonly chart: Chart, zoomed?: (range: Range) => void) {
    const title = make("h3", { id: `${chart.id}-title`, textContent: chart.title });
    const lead = make("p", { className: "lead", textContent: chart.lead });
    this.details.append(make("summary", { textContent: "Data as a table" }));
    this.details.addEventListener("toggle", () => this.fillTable());
    this.element = make("figure", { id: chart.id });
    this.element.setAttribute("aria-labelledby", title.id);
    const tools = make("div", { className: "tools" });
    tools.append(this.exporter("CSV", () => this.saveTable()), this.exporter("PNG", () => void this.savePicture()));
    this.element.append(title, lead, this.canvas, tools, this.details);
    this.canvas.setAttribute("role", "img");
    this.instance = echarts.init(this.canvas, null, { renderer: "svg", width: 600, height: HEIGHT });
    this.instance.on("datazoom", () => {
      const [{ start, end }] = this.instance.getOption().dataZoom as [{ start: number; end: number }];
      this.range = [start, end];
      zoomed?.(this.range);
    });
  }

  /** Takes what there is to draw, and the room for it. False where there is nothing of the kind; the figure is hidden then. */
  prepare(view: View): boolean {
    this.view = view;
    this.drawing = this.chart.draw(view);
    this.isPainted = false;
    this.element.hidden = this.drawing === undefined;
    if (!this.drawing) return false;
    this.canvas.setAttribute("aria-label", this.drawing.says);
    this.canvas.style.height = `${this.drawing.height ?? HEIGHT}px`;
    this.details.querySelector(".scroll")?.remove();
    this.fillTable();
    return true;
  }

  /** Draws what was prepared, unless that is done. */
  paint(): void {
    if (!this.drawing || this.isPainted) return;
    this.isPainted = true;
    // Before the option, so that it is drawn once.
    this.resize();
    this.instance.setOption(this.drawing.option, { notMerge: true });
    if (this.range !== WHOLE) this.showRange();
  }

  /** Shows a part of the clock. */
  zoom(range: Range): void {
    this.range = range;
    if (this.isPainted) this.showRange();
  }

  private showRange(): void {
    const [start, end] = this.range;
    // Silent: all charts are told of it by whoever asked for it.
    if (this.chart.hasClock) this.instance.dispatchAction({ type: "dataZoom", start, end }, { silent: true });
  }

  /** Takes the room there is. */
  resize(): void {
    const width = isOnPaper ? PAPER_WIDTH : this.canvas.clientWidth;
    if (!this.drawing || !this.isPainted || width === 0) return;
    this.instance.resize({ width, height: this.drawing.height ?? HEIGHT });
    // Nothing is drawn any more once the printer has the page.
    if (isOnPaper) this.instance.getZr().flush();
  }

  private exporter(kind: string, run: () => void): HTMLElement {
    const button = make("button", { type: "button", textContent: kind });
    button.setAttribute("aria-label", `Save ${this.chart.title} as ${kind}`);
    button.addEventListener("click", run);
    return button;
  }

  private fileName(extension: string): string {
    return `${this.view!.page.runs.map(({ name }) => name).join("-")}-${this.chart.id}.${extension}`;
  }

  private saveTable(): void {
    save(this.fileName("csv"), new Blob([csv(this.drawing!.table())], { type: "text/csv" }));
  }

  private async savePicture(): Promise<void> {
    this.paint();
    const size: [number, number] = [this.instance.getWidth(), this.instance.getHeight()];
    const { surface, text } = this.view!.colours;
    save(this.fileName("png"), await png(this.canvas.querySelector("svg")!, this.chart.title, size, [surface, text]));
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
      const textContent = typeof cell === "string" ? cell : cell.format(cell.value);
      row.append(at === 0 ? make("th", { scope: "row", textContent }) : make("td", { textContent }));
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
