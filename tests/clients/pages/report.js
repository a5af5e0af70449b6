// A report in a browser: node report.js CHROMIUM REPORT.html LOOKS CHART…: all looks or some, and the charts that must
// be there.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { check, checkLooks, DESKTOP, PHONE, SOME_LOOKS, wait, withPage } from "./browser.js";

const [chromium, path, looks, ...charts] = process.argv.slice(2);
const url = pathToFileURL(path).href;
/** CSS pixels between the margins of A4. */
const PAPER_WIDTH = 718;

await withPage(chromium, { viewport: DESKTOP, colorScheme: "light" }, async (page, requests) => {
  await page.goto(url);
  for (const chart of charts) await checkChart(page, chart);
  await checkFirst(page);
  await checkZoom(page);
  await checkFiles(page);
  const shown = await page.locator("figure:visible").evaluateAll((figures) => figures.map((figure) => figure.id));
  check(shown.length >= charts.length, `only ${shown}`);
  await checkHover(page);
  await checkTheme(page);
  await checkLooks(page, "report", looks === "all" ? undefined : SOME_LOOKS);
  await page.setViewportSize(PHONE);
  for (const chart of charts) await checkChart(page, chart);
  await checkKeyboard(page);
  await checkPrint(page);
  check((await page.evaluate(() => window.pwned)) === undefined, "text from outside was run");
  check(requests.length === 1 && requests[0] === url, `requests: ${requests.join(" ")}`);
});
console.log("ok");

/** It has marks, and its table has the same in figures. */
async function checkChart(page, id) {
  const figure = page.locator(`#${id}`);
  await wait(page, `${id} is drawn`, (id) => document.querySelectorAll(`#${id} .canvas svg path`).length >= 5, id);
  const says = await figure.locator(".canvas").getAttribute("aria-label");
  check(says.length > 20 && !says.startsWith("This is a chart"), `${id}: says ${says}`);
  await figure.locator("details").evaluate((details) => (details.open = true));
  await wait(page, `${id} has a table`, (id) => document.querySelectorAll(`#${id} tbody td`).length > 0, id);
}

/** The result stands above everything else, and the steps need no scrolling to the side. */
async function checkFirst(page) {
  // Several runs have a table of their results in its place.
  const first = await page.locator("main :is(.band h1, .answers strong)").first().textContent();
  check(/^(PASSED|FAILED|UNCLEAR)/.test(first), `the page begins with ${first}`);
  const [table, place] = await page.locator(".steps").first().evaluate((place) => [place.scrollWidth, place.clientWidth]);
  check(table <= place, `the steps take ${table} px of ${place}`);
}

/** A step that is picked is what all charts with a clock show, and the whole run again after it. */
async function checkZoom(page) {
  if (await page.locator("#part").isHidden()) return;
  const texts = () => page.locator("#rates .canvas svg text").evaluateAll((all) => all.map((text) => text.textContent).join(" "));
  // A chart is drawn in the frame after its option, and not before.
  const shows = ({ texts, same }) => {
    const all = [...document.querySelectorAll("#rates .canvas svg text")];
    return (all.map((text) => text.textContent).join(" ") === texts) === same;
  };
  const whole = await texts();
  await page.selectOption("#part", { index: 2 });
  await wait(page, "a picked step is what the clock shows", shows, { texts: whole, same: false });
  await page.selectOption("#part", { index: 0 });
  await wait(page, "the whole run comes back", shows, { texts: whole, same: true });
}

/** What a chart shows as numbers with their units, and as a picture. */
async function checkFiles(page) {
  const saved = async (label) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByLabel(label, { exact: true }).click()]);
    return readFileSync(await download.path());
  };
  const [header, row] = String(await saved("Save Latency by percentile as CSV")).split("\r\n");
  check(header.includes("p99 (ms)"), `the header is ${header}`);
  const names = header.split(",").slice(1);
  const cells = row.replace(/^("[^"]*"|[^,]*),/, "").split(",");
  // Beside a column with lower bounds stands which of its numbers are some.
  const isRight = (cell, at) => (names[at].endsWith(" at least") ? /^(yes|no)$/.test(cell) : cell !== "" && Number.isFinite(Number(cell)));
  check(cells.length === names.length && cells.every(isRight), `the first row is ${row}`);
  const png = await saved("Save Latency by percentile as PNG");
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  check(png.subarray(1, 4).equals(Buffer.from("PNG")) && width > 1000 && height > 500, `a picture of ${width} by ${height}`);
}

async function checkHover(page) {
  const canvas = page.locator("#percentiles .canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await wait(page, "hovering shows figures", () => {
    const tips = [...document.querySelectorAll("#percentiles .canvas > div")].map((tip) => tip.innerText);
    return tips.some((text) => /\d(µs|ms|s)/.test(text));
  });
}

async function checkTheme(page) {
  const looks = () =>
    page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      document.querySelector("#percentiles svg text").getAttribute("fill"),
    ]);
  const light = await looks();
  await page.click("#theme");
  const dark = await looks();
  check(light[0] !== dark[0], `the ground stays ${light[0]}`);
  check(light[1] !== dark[1], `the charts' text stays ${light[1]}`);
}

/** From a window that is wider than paper. */
async function checkPrint(page) {
  await page.setViewportSize(DESKTOP);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  check(await page.locator("header.top").isHidden(), "the navigation is printed");
  const widths = await page.locator("figure:visible .canvas svg").evaluateAll((all) => all.map((svg) => svg.clientWidth));
  check(Math.max(...widths) <= PAPER_WIDTH, `charts are printed ${Math.max(...widths)} px wide`);
}

/** A table opens without a mouse. */
async function checkKeyboard(page) {
  const summary = page.locator("figure:visible details summary").first();
  await summary.evaluate((element) => (element.parentElement.open = false));
  await summary.focus();
  await page.keyboard.press("Enter");
  check(await summary.evaluate((element) => element.parentElement.open), "Enter does not open a table");
}
