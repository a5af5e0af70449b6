// The pages of `throng ui` in a browser: node ui.js CHROMIUM URL TOKEN. A run is started, watched with a reload in between,
// stopped, found in the history, tagged, and compared.

import { check, checkLooks, DESKTOP, PHONE, SOME_LOOKS, wait, withPage } from "./browser.js";

const [chromium, url, token] = process.argv.slice(2);
/** Runs of one name: as few as have a trend. */
const SERIES = 3;
/** The smallest text that is still read on a phone. */
const TEXT_PX_MIN = 10;
const rowsDrawn = () => document.querySelectorAll("#rates svg path").length > 5;

await withPage(chromium, { viewport: DESKTOP, colorScheme: "light" }, async (page, requests) => {
  await page.goto(`${url}?token=${token}`);
  await checkLooks(page, "an empty history", SOME_LOOKS);
  await page.goto(`${url}new`);
  await checkLooks(page, "the form");
  // Longer than it takes to watch, on however slow a machine.
  const first = await start(page, { clients: "20", duration: "5m", rate: "400" });
  await watch(page, first);
  await watchSteps(page);
  for (let run = 0; run < SERIES; run += 1) {
    await start(page, { clients: "10", duration: "1s", rate: "100", name: "series" });
    await wait(page, "a run of the series ends", () => document.querySelector("#state").textContent === "ended");
  }
  await checkHistory(page);
  await checkComparison(page);
  const foreign = requests.filter((request) => !request.startsWith(url) && !request.startsWith("data:"));
  check(foreign.length === 0, `requests: ${foreign.join(" ")}`);
});
console.log("ok");

/** Fills in the form; the command line that it shows is what the live page says is running. */
async function start(page, fields, verb = "echo") {
  await page.goto(`${url}new`);
  await page.check("input[value=run]");
  await wait(page, "an app needs its file", () => document.querySelector("input[name=file]").checkVisibility());
  await page.check(`input[value=${verb}]`);
  await wait(page, "no file is asked for", () => !document.querySelector("input[name=file]").checkVisibility());
  check(await page.locator("input[name=levels]").isHidden(), "fields of another verb are shown");
  await page.fill("input[name=duration]", "soon");
  await wait(page, "a bad time is named", () => document.querySelector("#problem").textContent.includes("--duration"));
  for (const [name, value] of Object.entries(fields)) await page.fill(`input[name=${name}]`, value);
  const flags = Object.entries(fields).map(([name, value]) => `--${name}=${value}`);
  await wait(page, "the command line follows", (flags) => {
    const words = document.querySelector("#command").textContent.split(" ");
    return flags.every((flag) => words.includes(flag));
  }, flags);
  const command = await page.textContent("#command");
  await page.click("button.primary");
  await page.waitForURL(/\/live\/\d+$/);
  check((await page.textContent("main pre")) === command, "another command runs than was shown");
  return command;
}

async function watch(page, command) {
  await wait(page, "rows are drawn", rowsDrawn);
  await checkLooks(page, "a live run");
  await page.reload();
  await wait(page, "rows are drawn after a reload", rowsDrawn);
  check((await page.textContent("#state")) === "running", "the run ended before it could be watched");
  await page.click("#stop button");
  await wait(page, "the run ends", () => document.querySelector("#state").textContent === "stopped");
  await page.click("#to-report");
  await page.waitForURL(/\/runs\//);
  await wait(page, "the report is drawn", () => document.querySelectorAll("#percentiles svg path").length > 5);
  check((await page.textContent("#how pre")).includes("echo"), `the report is not of ${command}`);
  await page.click(".brand a");
}

/** A run of several steps shows each when it has ended, the newest first, and as a curve. */
async function watchSteps(page) {
  await start(page, { "step-size": "5", "total-steps": "3", concurrent: "1", duration: "3s" }, "broadcast");
  const shown = (n) => document.querySelectorAll("#steps-ended tbody tr").length === n;
  await wait(page, "a step is shown while the run goes on", () =>
    document.querySelectorAll("#steps-ended tbody tr").length > 0
      && document.querySelector("#state").textContent === "running");
  await wait(page, "all steps are shown", shown, 3);
  check((await page.textContent("#steps-ended tbody th")) === "15", "the newest step is not the first");
  check((await page.locator("#steps svg path").count()) >= 5, "the curve of the steps is not drawn");
  await checkLooks(page, "a run of several steps", SOME_LOOKS);
  await wait(page, "the run of steps ends", () => document.querySelector("#to-report"));
}

async function checkHistory(page) {
  await page.goto(url);
  check((await page.locator("tbody tr").count()) === 2 + SERIES, "five runs were kept");
  await page.locator("a.name").first().click();
  await wait(page, "three have the name", (series) => document.querySelectorAll("tbody tr").length === series, SERIES);
  await checkTrend(page);
  check((await page.textContent("tbody td strong")) === "PASSED", "its result is not listed");
  for (const tag of ["nightly", "second"]) {
    await page.locator("input[name=add]").first().fill(tag);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`button.tag[value=${tag}]`);
  }
  check((await page.locator("button.tag").count()) === 2, "a tag that is added takes another away");
  check(page.url().endsWith("/?name=series"), "tagging loses the search");
  await page.goto(url);
  await checkLooks(page, "the history");
  await page.fill("input[name=tag]", "nightly");
  await page.click("text=Search >> nth=-1");
  await wait(page, "one has the tag", () => document.querySelectorAll("tbody tr").length === 1);
}

/** The trend of the series; on a phone, the newest run and the runs' p95 are seen without scrolling to the side. */
async function checkTrend(page) {
  check((await page.locator(".trend a").count()) === SERIES, "the trend is not drawn");
  await checkLooks(page, "the trend");
  await page.setViewportSize(PHONE);
  const isInView = (element) => {
    const [part, whole] = [element, element.closest(".scroll")].map((box) => box.getBoundingClientRect());
    return part.left >= whole.left && part.right <= whole.right;
  };
  check(await page.locator(".trend a").last().evaluate(isInView), "the newest run is out of view");
  check(await page.getByRole("columnheader", { name: "p95" }).evaluate(isInView), "the p95 is out of view");
  const [units, scale] = await page.evaluate(() => {
    const text = document.querySelector(".trend text");
    return [parseFloat(getComputedStyle(text).fontSize), text.getScreenCTM().a];
  });
  check(units * scale >= TEXT_PX_MIN, `the trend's text is ${units * scale} px high`);
  await page.setViewportSize(DESKTOP);
}

async function checkComparison(page) {
  await page.goto(url);
  for (const box of (await page.locator("input[type=checkbox]").all()).slice(0, 2)) await box.check();
  await page.click("text=Compare");
  await wait(page, "both are in one chart", () => document.querySelectorAll("#percentiles svg path").length > 5);
  check((await page.locator("table.answers tbody tr").count()) === 2, "both have an answer");
  await checkLooks(page, "the comparison");
}
