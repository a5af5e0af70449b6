// Makes docs/images/run.svg, a terminal in which throng runs: node recording.js THRONG FILE. The run is a real one, against throng's
// own server with a fault; the picture plays what the terminal showed, and ends with all of it where nothing may move.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import terminals from "@xterm/headless";

const [throng, file] = process.argv.slice(2).map((path) => resolve(path));
const PORT = "9000";
/** 500 messages a second. */
const SERVE = ["serve", "--port", PORT, "--fault", "service=2ms"];
const COMMAND = `throng echo 127.0.0.1:${PORT}/ws --clients 50 -R 1000 -d 4 --limit 'p99<100ms'`;
const [COLUMNS, ROWS] = [88, 36];
/** Pixels of a cell: 0.6 em is the width of a monospaced letter of 14 pixels. */
const [WIDTH, HEIGHT, MARGIN] = [8.4, 19, 16];
/** How often the screen is looked at, and how long its end stays. */
const [FRAME_MS, END_MS] = [250, 8_000];
const COLOURS = { 1: "#ff7b72", 2: "#56d364", 3: "#e3b341" };
const [TEXT, DIM, PAPER] = ["#e6edf3", "#8b949e", "#0d1117"];

const home = mkdtempSync(join(tmpdir(), "throng-recording-"));
const env = { ...process.env, HOME: home, PATH: dirname(throng) + delimiter + process.env.PATH, TERM: "xterm-256color", LC_ALL: "C.UTF-8" };
for (const name of ["NO_COLOR", "XDG_DATA_HOME", "COLUMNS", "CI"]) delete env[name];
const server = spawn(throng, SERVE, { stdio: ["ignore", "pipe", "ignore"] });
try {
  // It says where it listens, or ends, where something else listens there.
  const ended = once(server, "exit").then(() => Promise.reject(new Error(`throng serve does not listen on port ${PORT}`)));
  await Promise.race([once(server.stdout, "data"), ended]);
  ended.catch(() => {});
  const screens = await recorded();
  writeFileSync(file, drawn(screens));
} finally {
  server.kill();
  rmSync(home, { recursive: true });
}

/** What the screen showed, and when: `[{ ms, rows }]`, each row as runs of one colour. */
async function recorded() {
  const terminal = new terminals.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  const write = (text) => new Promise((done) => terminal.write(text, done));
  const screens = [];
  const look = (ms) => screens.push({ ms, rows: Array.from({ length: ROWS }, (_, row) => runs(terminal.buffer.active.getLine(row))) });
  await write(`$ ${COMMAND}\r\n`);
  look(0);
  const begun = Date.now();
  const run = spawn("script", ["-qfc", `stty cols ${COLUMNS} rows ${ROWS}; ${COMMAND}`, "/dev/null"], { env });
  // A letter of several bytes may come in two reads.
  run.stdout.setEncoding("utf8");
  let written = Promise.resolve();
  // Nobody else has such a home.
  run.stdout.on("data", (text) => (written = write(text.replaceAll(home, "~"))));
  const watch = setInterval(() => look(Date.now() - begun), FRAME_MS);
  await new Promise((done) => run.on("close", done));
  clearInterval(watch);
  await written;
  look(Date.now() - begun);
  return screens;
}

/** A row's letters: `[{ column, text, fill }]`. */
function runs(line) {
  const found = [];
  for (let column = 0; column < COLUMNS; column++) {
    const cell = line.getCell(column);
    const letter = cell.getChars();
    if (letter.trim() === "") continue;
    const fill = cell.isDim() ? DIM : (COLOURS[cell.getFgColor()] ?? TEXT);
    const last = found.at(-1);
    // Blanks within a run are part of it; a wider gap begins a run, which stands in its column in any font.
    const gap = last && column - last.column - last.text.length;
    if (last?.fill === fill && gap <= 1) last.text += " ".repeat(gap) + letter;
    else found.push({ column, text: letter, fill });
  }
  return found;
}

/** The picture: each row is drawn once for as long as it stayed the same. */
function drawn(screens) {
  const end = screens.at(-1).ms + END_MS;
  const used = 1 + Math.max(...screens.at(-1).rows.map((row, at) => (row.length > 0 ? at : 0)));
  const styles = new Map();
  const rows = [];
  for (let row = 0; row < used; row++) {
    for (let from = 0; from < screens.length; ) {
      const shown = JSON.stringify(screens[from].rows[row]);
      let to = from + 1;
      while (to < screens.length && JSON.stringify(screens[to].rows[row]) === shown) to++;
      const letters = screens[from].rows[row];
      if (letters.length > 0) rows.push(line(row, letters, shownBetween(from, to)));
      from = to;
    }
  }
  const size = `width="${2 * MARGIN + COLUMNS * WIDTH}" height="${2 * MARGIN + used * HEIGHT}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
<style>text{white-space:pre}g{animation:${end}ms step-end infinite}
${[...styles.values()].join("\n")}
@media(prefers-reduced-motion:reduce){g{animation:none}}</style>
<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>
${rows.join("\n")}
</svg>
`;

  function shownBetween(from, to) {
    const percent = (ms) => `${((100 * ms) / end).toFixed(2)}%`;
    const isLast = to === screens.length;
    if (from === 0 && isLast) return "";
    const name = `f${from}-${to}`;
    const begins = from > 0 ? `0%{visibility:hidden}${percent(screens[from].ms)}{visibility:visible}` : "0%{visibility:visible}";
    const ends = isLast ? "" : `${percent(screens[to].ms)}{visibility:hidden}`;
    // Where nothing moves, only the end is seen.
    const still = isLast ? "" : "visibility:hidden;";
    styles.set(name, `@keyframes ${name}{${begins}${ends}}.${name}{${still}animation-name:${name}}`);
    return ` class="${name}"`;
  }
}

function line(row, letters, shown) {
  const y = MARGIN + (row + 0.75) * HEIGHT;
  const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
  const texts = letters.map(
    ({ column, text, fill }) => `<text x="${(MARGIN + column * WIDTH).toFixed(1)}" y="${y}" fill="${fill}">${escaped(text)}</text>`,
  );
  return `<g${shown}>${texts.join("")}</g>`;
}
