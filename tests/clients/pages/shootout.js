// A shootout's page in a browser: node shootout.js CHROMIUM REPORT.html LANGUAGE: one language among several.

import { pathToFileURL } from "node:url";
import { check, checkLooks, DESKTOP, PHONE, SOME_LOOKS, wait, withPage } from "./browser.js";

const [chromium, path, language] = process.argv.slice(2);
const SCREENS_MAX = 3;
const url = pathToFileURL(path).href;
/** More servers than an arena of a test has. */
const MANY = 10;

await withPage(chromium, { viewport: DESKTOP, colorScheme: "light" }, async (page, requests) => {
  await page.goto(url);
  await checkFirstScreens(page, "desktop");
  await checkPair(page);
  await page.evaluate(() => document.querySelectorAll("details.question").forEach((details) => (details.open = true)));
  await checkRankings(page);
  await checkFilters(page);
  await checkLinks(page);
  await openOneOfEachKind(page);
  const isLarge = (await page.locator("details.server").count()) > MANY;
  await checkLooks(page, "shootout", isLarge ? SOME_LOOKS : undefined);
  await page.click("#theme");
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  check(ground === "rgb(16, 21, 26)", `not dark: ${ground}`);
  await page.setViewportSize(PHONE);
  await page.reload();
  await checkFirstScreens(page, "phone");
  check((await page.evaluate(() => window.pwned)) === undefined, "text from outside was run");
  check(requests.every((request) => request.split("#")[0] === url), `requests: ${requests.join(" ")}`);
});
console.log("ok");

/** Questions and servers are drawn alike, so one of each is enough: axe takes ten seconds for fifty servers. */
async function openOneOfEachKind(page) {
  await page.evaluate(() => {
    document.querySelectorAll("details").forEach((details) => (details.open = true));
    for (const kind of ["details.question", "details.server"]) {
      document.querySelectorAll(kind).forEach((details, at) => (details.open = at === 0));
    }
  });
}

/** The answers, the table of all servers and two of them stand before the details. */
async function checkFirstScreens(page, where) {
  const [top, screen] = await page.evaluate(() => [document.querySelector("#questions").offsetTop, innerHeight]);
  check(top <= SCREENS_MAX * screen, `${where}: ${top} px before the details, in a window of ${screen}`);
  const headline = await page.textContent("h1");
  check(/wins|Tie|No (overall )?winner/.test(headline), `headline: ${headline}`);
}

/** Of two servers, the one is ahead that the rankings say is. */
async function checkPair(page) {
  const names = await page.locator("#pair select").first().locator("option").allTextContents();
  await page.selectOption("#pair [name=a]", names[1]);
  await page.selectOption("#pair [name=b]", names[0]);
  const rows = await page.locator("#pair tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const ranked = await page.locator("details.question").evaluateAll((questions, [a, b]) =>
    questions.map((question) => {
      const place = (server) => {
        const row = [...question.querySelectorAll(".ranking li")].find((row) => row.dataset.server === server);
        const text = row?.querySelector(".place").lastChild.textContent ?? "–";
        return text === "–" ? undefined : text.split("–").map(Number);
      };
      return [place(a), place(b)];
    }), [names[1], names[0]]);
  check(rows.length > 0 && rows.length === ranked.length, `${rows.length} rows of ${ranked.length} questions`);
  rows.forEach(([question, ahead], at) => {
    const [a, b] = ranked[at];
    const isUnclear = !a || !b;
    check((ahead === "unclear") === isUnclear, `${question}: ${ahead}, places ${a} and ${b}`);
    // Places without a number in common are of servers that can be told apart.
    if (!isUnclear && a.at(-1) < b[0]) check(ahead === names[1], `${question}: ${ahead}, places ${a} and ${b}`);
    if (!isUnclear && b.at(-1) < a[0]) check(ahead === names[0], `${question}: ${ahead}, places ${a} and ${b}`);
  });
  check((await page.textContent("#pair [role=status]")).includes(`Of ${rows.length} question`), "no summary");
}

/** Bars are as long as their figures say, and the best is the longest or the shortest. */
async function checkRankings(page) {
  const widths = await page.locator("details.question").evaluateAll((questions) =>
    questions.map((question) =>
      [...question.querySelectorAll(".leads .track b, li:not(.leads) .track b")].map((bar) => bar.getBoundingClientRect().width)
    )
  );
  check(widths.length > 0 && widths.every((bars) => bars.length > 0 && bars.every((width) => width > 0)), `bars: ${JSON.stringify(widths)}`);
}

async function checkFilters(page) {
  const servers = () => page.locator("details.server:visible").count();
  const all = await servers();
  await page.selectOption("[name=language]", language);
  const some = await servers();
  check(some > 0 && some < all, `${some} of ${all} servers in ${language}`);
  check((await page.textContent("output")) === `${some} of ${all} servers`, "the filter does not say how many");
  const rows = await page.locator(".ranking li:visible").evaluateAll((rows) => rows.map((row) => row.dataset.language));
  check(rows.length > 0 && rows.every((of) => of === language), `rows of ${rows}`);
  await page.selectOption("[name=language]", "");
  await page.fill("[name=library]", "no such library");
  check((await servers()) === 0, "a library that nobody uses");
  await page.fill("[name=library]", "");
  check((await servers()) === all, "all are back");
}

/** A name in a ranking leads to the server's own section, and opens it. */
async function checkLinks(page) {
  const link = page.locator(".ranking .name").first();
  const name = await link.textContent();
  await link.click();
  await wait(page, `${name} is opened`, (id) => document.getElementById(id).open, `s-${name}`);
  const sections = await page.locator("header nav a").allTextContents();
  check(["All servers", "Compare two", "Questions", "Servers", "How"].every((name) => sections.includes(name)), `navigation: ${sections}`);
}
