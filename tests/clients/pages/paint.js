// How soon a report is seen: node paint.js CHROMIUM REPORT.html MS. Opens it several times; the soonest first paint has to
// come within MS milliseconds, since other programs only ever make it later. Standard error has what was measured.

import { pathToFileURL } from "node:url";
import { check, wait, withPage } from "./browser.js";

const [chromium, path, most] = process.argv.slice(2);
const TIMES = 3;

const found = [];
for (let time = 0; time < TIMES; time += 1) {
  await withPage(chromium, { viewport: { width: 1280, height: 900 } }, async (page) => {
    await page.goto(pathToFileURL(path).href);
    await wait(page, "the last chart is drawn", () =>
      [...document.querySelectorAll("figure:not([hidden]) .canvas")].every((canvas) => canvas.querySelector("svg path")));
    found.push(await page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      drawn: performance.now(),
    })));
  });
}
const soonest = (of) => Math.round(Math.min(...found.map((one) => one[of])));
console.error(`first paint after ${soonest("paint")} ms, all charts drawn after ${soonest("drawn")} ms (soonest of ${TIMES})`);
check(soonest("paint") <= Number(most), `first paint after ${soonest("paint")} ms, expected ${most} at most`);
console.log("ok");
