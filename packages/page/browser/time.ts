import { moment } from "@bonsai-agent/messages/numbers";

/** Milliseconds since 1970 in the reader's own time; empty if unknown. */
export function timeText(time: number): string {
  return time === 0 ? "" : moment(time, Date.now());
}

export function timeIso(time: number): string | undefined {
  return time === 0 ? undefined : new Date(time).toISOString();
}
