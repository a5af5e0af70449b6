// Files of what a chart shows: its numbers as CSV, its picture as PNG.

import { type Cell, type Table } from "./drawing";
import { UNITS, bound } from "./format";

/** Pixels of the picture for each of the page: sharp on paper and on dense screens. */
const SCALE = 2;
const TITLE_ROOM = 40;
const TITLE_FONT = "600 16px system-ui, sans-serif";
const TITLE_LEFT = 16;
/** What a spreadsheet takes for the beginning of a formula; names of servers come from outside. */
const FORMULA = /^[=+\-@\t\r]/;

/** Comma-separated values (RFC 4180): numbers as they are, with their units in the header. */
export function csv({ columns, rows }: Table): string {
  const isBound = (cell: Cell | undefined) => typeof cell === "object" && cell.format === bound;
  // A number alone does not say that it is a lower bound.
  const bounded = columns.map((_, at) => rows.some((row) => isBound(row[at])));
  const header = columns.flatMap((name, at) => {
    const unit = rows.map((row) => unitOf(row[at])).find((known) => known !== undefined);
    return [unit ? `${name} (${unit})`.trim() : name, ...(bounded[at] ? [`${name} at least`] : [])];
  });
  const lines = rows.map((row) => row.flatMap((cell, at) => [
    typeof cell === "string" ? field(cell, false) : field(String(cell.value), true),
    ...(bounded[at] ? [isBound(cell) ? "yes" : "no"] : []),
  ]));
  return [header.map((name) => field(name, false)), ...lines].map((fields) => fields.join(",") + "\r\n").join("");
}

function unitOf(cell: Cell | undefined): string | undefined {
  return typeof cell === "object" ? UNITS.get(cell.format) : undefined;
}

function field(text: string, isNumber: boolean): string {
  const harmless = !isNumber && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** A picture of an SVG under a title, on a ground of its own. */
export async function png(svg: SVGElement, title: string, [width, height]: [number, number], [ground, ink]: [string, string]): Promise<Blob> {
  const image = new Image(width, height);
  // As the page has it: the library's own text of it is not well-formed where a font's name has quotes.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SCALE, (height + TITLE_ROOM) * SCALE];
  const paper = canvas.getContext("2d")!;
  paper.scale(SCALE, SCALE);
  paper.fillStyle = ground;
  paper.fillRect(0, 0, width, height + TITLE_ROOM);
  [paper.fillStyle, paper.font, paper.textBaseline] = [ink, TITLE_FONT, "middle"];
  paper.fillText(title, TITLE_LEFT, TITLE_ROOM / 2);
  paper.drawImage(image, 0, TITLE_ROOM, width, height);
  return new Promise((done) => canvas.toBlob((blob) => done(blob!), "image/png"));
}

/** Hands a file to the reader's browser. */
export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  // The browser has opened it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
