// The page's quantities against the table that the program's are held against: node format.js MODULE TABLE, with the
// compiled crates/report/page/src/format.ts and crates/results/src/format.json.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, table] = process.argv.slice(2);
const { bytes, count, duration, rate } = await import(pathToFileURL(module));
const write = { duration_ns: (ns) => duration(ns / 1e6), rate_per_s: rate, bytes, count };
const pairs = Object.entries(JSON.parse(readFileSync(table, "utf8")))
  .flatMap(([name, pairs]) => pairs.map(([value, text]) => ({ name, value, text, written: write[name](value) })));
const wrong = pairs.filter(({ text, written }) => written !== text);
if (wrong.length > 0) throw new Error(wrong.map((pair) => JSON.stringify(pair)).join("\n"));
console.log(`${pairs.length} ok`);
