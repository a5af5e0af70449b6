// A Chromium whose pages may not misbehave unseen: errors, messages on the console and requests are all kept.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What never happens fails a script; a busy machine takes long for what does. */
const DEADLINE_MS = 120_000;

/** Opens a page, hands it to `use`, and fails if anything went wrong in it. */
export async function withPage(executablePath, options, use) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const trouble = [];
  const requests = [];
  try {
    const context = await browser.newContext({ bypassCSP: false, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    page.on("console", (message) => message.type() === "error" && trouble.push(`console: ${message.text()} ${message.location().url}`));
    page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => (trouble.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    page.on("request", (request) => requests.push(request.url()));
    await use(page, requests);
  } finally {
    await browser.close();
  }
  check(trouble.length === 0, trouble.join("\n"));
}

export function check(holds, says) {
  if (!holds) throw new Error(says);
}

/** Waits until `holds` says so in the page; says what did not happen otherwise. */
export async function wait(page, says, holds, argument) {
  await page.waitForFunction(holds, argument).catch(() => check(false, `never: ${says}`));
}

export const DESKTOP = { width: 1280, height: 900 };
const TABLET = { width: 768, height: 1024 };
export const PHONE = { width: 390, height: 844 };
/** Every width in both themes. */
const LOOKS = [DESKTOP, TABLET, PHONE].flatMap((size) => ["Light", "Dark"].map((theme) => ({ size, theme })));
/** Every width and both themes once, for large pages, and for those of which another is checked in all looks. */
export const SOME_LOOKS = [LOOKS[0], LOOKS[3], LOOKS[4]];

/** What another theme can break: it has the same elements in the same places. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/** The page fits, and axe finds nothing, in each of these looks; ends with a light page on a desktop. */
export async function checkLooks(page, where, looks = LOOKS) {
  for (const { size, theme } of looks) {
    const look = `${where}, ${size.width} px, ${theme}`;
    await page.setViewportSize(size);
    await useTheme(page, theme);
    await checkFits(page, look);
    await checkAccessible(page, look, theme === "Light" ? {} : { runOnly: COLOUR_RULES });
  }
  await page.setViewportSize(DESKTOP);
  await useTheme(page, "Light");
}

/** The button says which theme it would change to. */
async function useTheme(page, theme) {
  if ((await page.textContent("#theme")) === theme) await page.click("#theme");
}

/** No violation, however small axe calls it. */
async function checkAccessible(page, where, rules) {
  // From outside the page, where its policy does not reach; once more if the page was replaced meanwhile.
  const session = await page.context().newCDPSession(page);
  const evaluate = () => session.send("Runtime.evaluate", {
    expression: `${AXE}; axe.run(document, { resultTypes: ["violations"], ...${JSON.stringify(rules)} }).then((result) => JSON.stringify(
      result.violations.map((found) => [found.id, found.help, found.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])))`,
    awaitPromise: true,
    returnByValue: true,
  });
  let found = await evaluate();
  if (typeof found.result.value !== "string") found = await evaluate();
  check(found.result.value === "[]", `${where}: ${found.result.value ?? JSON.stringify(found.exceptionDetails)}`);
}

/** Nothing sticks out to the side, once a window that was resized has been laid out. */
export async function checkFits(page, where) {
  const fits = page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, null, { timeout: DEADLINE_MS });
  await fits.catch(async () => {
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    throw new Error(`${where}: ${content} px of content in a window of ${window}`);
  });
}
