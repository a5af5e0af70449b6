// Makes the pictures of docs/images: node screenshots.js THRONG DIRECTORY RECORD. Runs throng against its own server, and shows what
// came of the shootout in RECORD.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [throng, directory, record] = process.argv.slice(2).map((path) => resolve(path));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

const work = mkdtempSync(join(tmpdir(), "throng-pictures-"));
const quiet = ["--quiet", "--no-store", "--out", work];
try {
  execFileSync(throng, [
    "broadcast", "--step-size", "500", "--total-steps", "6", "-c", "4", "--duration", "4s", "--limit-rtt", "200ms", ...quiet,
  ]);
  const results = readdirSync(work).find((name) => name.endsWith(".json"));
  const page = join(work, "report.html");
  execFileSync(throng, ["report", join(work, results), "--html", page]);
  const curves = "#percentiles svg path";
  await picture(page, "report.png", { width: 1200, height: 1180 }, "light", curves);
  await picture(page, "report-phone-dark.png", { width: 390, height: 844 }, "dark", curves);
  execFileSync(throng, ["report", record, "--html", page]);
  await picture(page, "results.png", { width: 1200, height: 1180 }, "light", ".answer");
} finally {
  rmSync(work, { recursive: true });
}

async function picture(page, name, viewport, colorScheme, last) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const tab = await browser.newPage({ viewport, colorScheme });
  await tab.goto(pathToFileURL(page).href);
  await tab.waitForSelector(last, { state: "attached" });
  await tab.screenshot({ path: join(directory, name) });
  await browser.close();
}
