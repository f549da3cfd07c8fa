import { createSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import type { BackgroundState } from "../src/events.ts";
import {
  CompactionController,
  type CompactionSettingsInput,
  compactionSettings,
  type Summariser,
  type SummaryAnswer,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { wellFormed } from "./scripted-summariser.ts";

export const WINDOW = 20_000;

/** Above 80 % of the threshold, and below it: 15,000 tokens. */
export const SOON = "U:5000 A:10 U:6500 A:10 U:1500 A:10";

/** A model whose answers come when they are let go. */
export function slowSummariser(): Summariser & {
  asked: AbortSignal[];
  answer: (given?: Partial<SummaryAnswer>) => void;
} {
  const waiting: Array<(answer: SummaryAnswer) => void> = [];
  const asked: AbortSignal[] = [];
  return {
    name: "made/slow",
    asked,
    summarise(request) {
      const { signal } = request;
      asked.push(signal);
      return new Promise((resolve) => {
        waiting.push((given) => resolve({ ...{ text: wellFormed(request), stopReason: "stop" }, ...given }));
        signal.addEventListener("abort", () => resolve({ text: "", stopReason: "aborted" }), { once: true });
      });
    },
    answer(given = {}) {
      for (const each of waiting.splice(0)) each(given as SummaryAnswer);
    },
  };
}

export interface Setup {
  settings?: CompactionSettingsInput;
  notation?: string;
  file?: string;
}

export function working({ settings = {}, notation = SOON, file }: Setup = {}) {
  const { session, id, name } = history(
    notation,
    createSession({ cwd: "/project", ...(file !== undefined && { file }) }),
  );
  const summariser = slowSummariser();
  const lifecycle = compactionLifecycle();
  const states: BackgroundState[] = [];
  lifecycle.on("background_compaction", ({ state }) => {
    states.push(state);
  });
  const controller = new CompactionController({
    session,
    settings: compactionSettings(settings, { estimator: "chars4" }),
    model: () => ({ contextWindow: WINDOW }),
    summariser,
    lifecycle,
  });
  const check = (signal?: AbortSignal) =>
    controller.checkThreshold({ site: "betweenTools", ...(signal && { signal }) });
  const compactions = () => session.path().filter(({ type }) => type === "compaction").length;
  return { session, id, name, summariser, lifecycle, states, controller, check, compactions };
}

export const settled = () => new Promise((resolve) => setImmediate(resolve));

export type Working = ReturnType<typeof working>;

export function ownManifest({ details }: { details?: unknown }): { isBackground?: boolean } | undefined {
  return (details as { manifest?: { isBackground?: boolean } } | undefined)?.manifest;
}
