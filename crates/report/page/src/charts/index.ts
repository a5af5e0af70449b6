// All charts, in the order of the page.

import type { Chart } from "../drawing";
import { account } from "./account";
import { ages, lengths } from "./absences";
import { boxes } from "./boxes";
import { density, handshakes } from "./density";
import { distribution } from "./distribution";
import { errors } from "./errors";
import { memory } from "./memory";
import { percentiles } from "./percentiles";
import { presence } from "./presence";
import { rates } from "./rates";
import { resources } from "./resources";
import { saturation, saturationReceived } from "./saturation";
import { steps } from "./steps";
import { then } from "./then";
import { threads } from "./threads";
import { timeline } from "./timeline";

export const charts: Chart[] = [
  percentiles, distribution, steps, saturation, saturationReceived, boxes, then, errors, presence, ages, lengths,
  timeline, density, handshakes, rates, resources, memory, account, threads,
];

/** Those that can be drawn while a run goes on. */
export const liveCharts: Chart[] = [steps, timeline, rates, resources];
