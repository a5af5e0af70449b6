// Quantities for people. Durations, counts, rates and sizes are as crates/results/src/format.rs writes them: its
// format.json holds examples for both.

export type Format = (value: number) => string;

/** A number with the way it is shown: a table has its text, an export the number. */
export interface Quantity {
  value: number;
  format: Format;
}

/** Makes a format's quantities. */
export const as = (format: Format) => (value: number): Quantity => ({ value, format });

/** Milliseconds, in the unit that fits: 850µs, 9.12ms, 6.73s. */
export function duration(ms: number): string {
  if (ms < 0.9995) return `${micros(ms * 1e3)}µs`;
  if (ms < 999.5) return `${three(ms)}ms`;
  return `${three(ms / 1e3)}s`;
}

/** A duration that was at least so long. */
export function bound(ms: number): string {
  return `≥ ${duration(ms)}`;
}

/** A moment on the run's clock. */
export function seconds(value: number): string {
  return `${value.toFixed(1)}s`;
}

/** On an axis, where round numbers stand. */
export function tick(ms: number): string {
  if (ms < 1) return `${plain(ms * 1e3)}µs`;
  if (ms < 1e3) return `${plain(ms)}ms`;
  return `${plain(ms / 1e3)}s`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** On an axis: 20k, 1.5M. */
export function short(value: number): string {
  if (Math.abs(value) >= 1e6) return `${plain(value / 1e6)}M`;
  if (Math.abs(value) >= 1e3) return `${plain(value / 1e3)}k`;
  return plain(value);
}

/** 0.033/s, 47.1/s, 49,976/s. */
export function rate(perSecond: number): string {
  if (perSecond >= 99.95) return `${count(perSecond)}/s`;
  // Two digits: a message every 30 s is not none.
  return perSecond > 0 && perSecond < 0.995 ? `${Number(perSecond.toPrecision(2))}/s` : `${perSecond.toFixed(1)}/s`;
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : three(value)} ${units[unit]}`;
}

/** On an axis. */
export function bytesTick(value: number): string {
  return bytes(value).replace(/\.0+ | (?=B)/, " ").replace(/(\.\d*?)0+ /, "$1 ");
}

/** Cut to a tenth: what is missing must not look like 100%. */
export function percent(value: number): string {
  return `${value >= 10 && value < 100 ? Math.floor(value * 10 + 1e-6) / 10 : plain(value)}%`;
}

/** Units in which formats are given their numbers. */
export const UNITS = new Map<Format, string>([
  [duration, "ms"], [bound, "ms"], [seconds, "s"], [rate, "per second"], [bytes, "bytes"], [percent, "%"],
]);

/** The quantile that leaves one sample in so many above it: 100 is 99%. */
export function quantile(rest: number): string {
  return `${Number((100 - 100 / rest).toPrecision(Math.ceil(Math.log10(rest)) + 2))}%`;
}

/** Microseconds: a clock tells no more than a tenth of them. */
function micros(value: number): string {
  return value.toFixed(value === 0 || value >= 9.95 ? 0 : 1);
}

function three(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function plain(value: number): string {
  return String(Number(value.toPrecision(3)));
}
