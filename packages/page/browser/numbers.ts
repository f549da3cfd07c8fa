import { moment } from "@bonsai-agent/messages/numbers";

export {
  bytes,
  count as digits,
  counted,
  duration,
  percent,
  shortTokens as short,
  usdText as dollars,
} from "@bonsai-agent/messages/numbers";

/** @param time in milliseconds since 1970; 0 if unknown */
export function timeText(time: number): string {
  return time === 0 ? "" : moment(time, Date.now());
}

export function timeIso(time: number): string | undefined {
  return time === 0 ? undefined : new Date(time).toISOString();
}
