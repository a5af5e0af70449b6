// Makes the pictures of docs/images: node screenshots.js THRONG DIRECTORY RECORD. Shows what came of the shootout in RECORD and of a run
// in another record, and runs throng against tests/alone/owners/server.py.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const [throng, directory, record] = process.argv.slice(2).map((path) => resolve(path));
/** A run that found a server's limit: the picture is the same however busy this machine is. */
const RUN = { record: "records/2026-11-26/hashrocket", file: "broadcast/node-ws-4.json" };
/** Of the server that is no throng. */
const PORT = "9771";
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

const work = mkdtempSync(join(tmpdir(), "throng-pictures-"));
const page = join(work, "report.html");
try {
  const results = join(work, "run.json");
  writeFileSync(results, recordedRun());
  execFileSync(throng, ["report", results, "--html", page]);
  await picture(page, "report.png", { width: 1200, height: 1180 }, "#percentiles svg path");
  execFileSync(throng, ["report", record, "--html", page]);
  await picture(page, "results.png", { width: 1200, height: 1180 }, ".outcomes");
  busyServer(page);
  await picture(page, "account.png", { width: 1000, height: 900 }, "#account svg path", "#account");
} finally {
  rmSync(work, { recursive: true });
}

function recordedRun() {
  const path = new URL(`../../../${RUN.record}/results.jsonl.gz`, import.meta.url);
  const kept = gunzipSync(readFileSync(path)).toString().trim().split("\n").map((line) => JSON.parse(line));
  return JSON.stringify(kept.find(({ file }) => file === RUN.file).results);
}

/** Walks up to more than a server can do that keeps the CPU for 5 ms with each message. */
function busyServer(page) {
  const server = spawn("python3", [new URL("../../alone/owners/server.py", import.meta.url).pathname, PORT, "spin", "5"]);
  try {
    const url = `ws://127.0.0.1:${PORT}/`;
    const results = spawnSync(throng, [
      "echo", url, "--step-size", "3", "--total-steps", "8", "--interval", "100ms", "--duration", "3s", "--limit-rtt", "10s",
      "--format", "json", "--quiet", "--no-store", "--wait-for", "10s",
    ], { encoding: "utf8" }).stdout;
    const path = join(work, "account.json");
    writeFileSync(path, results);
    execFileSync(throng, ["report", path, "--html", page]);
  } finally {
    server.kill();
  }
}

async function picture(page, name, viewport, last, part) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const tab = await browser.newPage({ viewport, colorScheme: "light" });
  await tab.goto(pathToFileURL(page).href);
  await tab.waitForSelector(last, { state: "attached" });
  await (part ? tab.locator(part) : tab).screenshot({ path: join(directory, name) });
  await browser.close();
}
