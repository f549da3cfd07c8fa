import type { AgentNotice } from "@bonsai-agent/agent";
import { oneLine } from "../../views/printable.ts";

/** A request that will be tried again. */
export interface Retry {
  attempt: number;
  maxAttempts: number;
  delayMs: number;
  why: string;
}

const told = /^(?<why>[\s\S]*?) ?Retry (?<attempt>\d+) of (?<max>\d+) in (?<seconds>\d+) s\.$/;

/** What a notice says of a retry; undefined where it speaks of something else. */
export function retryOf({ code, message }: Pick<AgentNotice, "code" | "message">): Retry | undefined {
  if (code !== "model_retry") return undefined;
  const { why = "", attempt, max, seconds } = told.exec(message)?.groups ?? {};
  if (attempt === undefined) return undefined;
  return {
    attempt: Number(attempt),
    maxAttempts: Number(max),
    delayMs: Number(seconds) * 1000,
    why: oneLine(why, 160),
  };
}
