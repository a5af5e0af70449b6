// One script for all pages: the report, a shootout's, and those of `throng ui`. It draws what it finds.

import type { Page } from "./data";
import { filters } from "./filters";
import { live } from "./live";
import { preview } from "./new";
import { pair } from "./pair";
import { navigation, report } from "./report";
import { watchTheme } from "./theme";

const find = <Type extends HTMLElement>(selector: string) => document.querySelector<Type>(selector);

const data = find("#data");
const place = find("#charts");
const liveRun = find("#live");
const newRun = find<HTMLFormElement>("#new");
const shootout = find<HTMLFormElement>("#filters");
let redraw = () => {};

if (data && place) {
  // What the page says is seen before anything is drawn.
  requestAnimationFrame(() => setTimeout(() => {
    redraw = report(JSON.parse(data.textContent!) as Page, place);
    navigation(find("header nav")!);
  }));
}
if (shootout) {
  filters(shootout);
  pair(find("#pair")!);
  navigation(find("header nav")!);
}
if (liveRun) redraw = live(liveRun);
if (newRun) preview(newRun);
watchTheme(find<HTMLButtonElement>("#theme")!, () => redraw());
