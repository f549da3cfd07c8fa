/** 12,345 */
export function digits(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** 1 line, 2 lines */
export function counted(count: number, what: string, several = `${what}s`): string {
  return `${digits(count)} ${count === 1 ? what : several}`;
}

/** 12.3k: for where space is short. */
export function short(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function dollars(value: number): string {
  return `$${value.toFixed(value !== 0 && value < 0.1 ? 4 : 2)}`;
}

/** Of milliseconds since 1970, in the reader's own time. */
export function timeText(time: number): string {
  return time === 0
    ? ""
    : new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

export function timeIso(time: number): string | undefined {
  return time === 0 ? undefined : new Date(time).toISOString();
}
