import type { Scenario } from "@bonsai-agent/models/scripted";
import { modelSummary } from "../call/model-summary.ts";
import { longPlay, type OpenedLong, openLong as openLongSession } from "./long-setup.ts";

export const summary = modelSummary();

export const play = longPlay;

export const refusing: Scenario = {
  ...play,
  summary: [{ error: { status: 400, message: "no summary today" } }],
};

/** The user has time to press a key. */
export const slow: Scenario = { ...play, summary: [{ text: summary, delayMs: 60_000 }] };

/** On a session that is larger than the window. */
export const openLong = (scenario: Scenario, env: Record<string, string> = {}) =>
  openLongSession({ scenario, env });

/** The same, where nothing stands in for a summary that fails. */
export const openWithoutFallback = (scenario: Scenario, env: Record<string, string> = {}) =>
  openLongSession({ scenario, env, settings: { compaction: { summarizer: { fallback: "never" } } } });

export function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** The screen as one line: notices are wrapped. */
export function flatScreen({ terminal }: Pick<OpenedLong, "terminal">): string {
  return terminal.scrollback().replaceAll(/\s+/g, " ");
}
