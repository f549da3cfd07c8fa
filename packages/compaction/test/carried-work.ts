import type { Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect } from "vitest";
import type { RunCompactionOptions } from "../src/flow/compaction.ts";
import { compactionSettings, runCompaction } from "../src/index.ts";

export const settings = compactionSettings({ keepRecentTokens: 200, mask: { enabled: false } });

export const RULE = "Never touch src/legacy/old.ts, another team owns it.";

/** One stretch of work, the last turn of which is kept. */
export function work(session: Session, round: number): void {
  const turns = [
    `U"Take port 84${round}3 for src/part-${round}.ts." A(w${round}=edit:src/part-${round}.ts) Tw${round}:3000 A:3000`,
    `U"Part ${round} looks good, on with the next." A:150`,
  ];
  history(turns.join(" | "), session);
}

export function begun(): Session {
  return history(`U"${RULE}" A:900 | U:900 A:900`).session;
}

export async function compact(
  session: Session,
  options: Partial<RunCompactionOptions> = {},
): Promise<string> {
  const result = await runCompaction({ session, settings, ...options });
  expect(result.status, JSON.stringify(result.failures)).toBe("compacted");
  return result.summary ?? "";
}

/** The lines of a block of a summary. */
export function block(summary: string, tag: string): string[] {
  const [body] = summary.split(`\n<${tag}>\n`)[1]?.split(`\n</${tag}>`, 1) ?? [];
  return body?.split("\n") ?? [];
}

export const words = (summary: string) => block(summary, "user-words");

/** How often the user's words or the latest request say it. */
export const times = (summary: string, text: string) =>
  [...words(summary), ...block(summary, "latest-request")].join("\n").split(text).length - 1;
