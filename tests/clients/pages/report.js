// A report in a browser: node report.js CHROMIUM REPORT.html CHART…: the charts that must be there.

import { pathToFileURL } from "node:url";
import { check, checkAccessible, checkFits, wait, withPage } from "./browser.js";

const [chromium, path, ...charts] = process.argv.slice(2);
const url = pathToFileURL(path).href;
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** CSS pixels between the margins of A4. */
const PAPER_WIDTH = 718;

await withPage(chromium, { viewport: DESKTOP, colorScheme: "light" }, async (page, requests) => {
  await page.goto(url);
  for (const chart of charts) await checkChart(page, chart);
  const shown = await page.locator("figure:visible").evaluateAll((figures) => figures.map((figure) => figure.id));
  check(shown.length >= charts.length, `only ${shown}`);
  await checkHover(page);
  await checkTheme(page);
  await checkAccessible(page, "dark");
  await page.click("#theme");
  await checkAccessible(page, "light");
  await page.setViewportSize(PHONE);
  await checkFits(page, "phone");
  await checkAccessible(page, "phone");
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
  const paths = await figure.locator(".canvas svg path").count();
  check(paths >= 5, `${id}: ${paths} paths`);
  const says = await figure.locator(".canvas").getAttribute("aria-label");
  check(says.length > 20 && !says.startsWith("This is a chart"), `${id}: says ${says}`);
  await figure.locator("details").evaluate((details) => (details.open = true));
  await wait(page, `${id} has a table`, (id) => document.querySelectorAll(`#${id} tbody td`).length > 0, id);
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
