// All charts, in the order of the page.

import type { Chart } from "../drawing";
import { boxes } from "./boxes";
import { errors } from "./errors";
import { percentiles } from "./percentiles";
import { rates } from "./rates";
import { resources } from "./resources";
import { saturation, saturationReceived } from "./saturation";
import { steps } from "./steps";
import { threads } from "./threads";
import { timeline } from "./timeline";

export const charts: Chart[] = [
  percentiles, steps, boxes, saturation, saturationReceived, errors, timeline, rates, resources,
  threads,
];

/** Those that can be drawn while a run goes on. */
export const liveCharts: Chart[] = [timeline, rates, resources];
