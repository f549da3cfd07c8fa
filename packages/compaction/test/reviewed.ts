import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import type { RunCompactionOptions } from "../src/flow/compaction.ts";
import {
  type CompactionDraft,
  compactionSettings,
  type ReviewDecision,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

export const folder = mkdtempSync(join(tmpdir(), "bonsai-review-"));

export const settings = compactionSettings(
  { keepRecentTokens: 200, confirm: "always" },
  { estimator: "chars4" },
);

export const model = { contextWindow: 20_000 };

export const long = 'U:10000 A:10000 | U"Never push to main." A:100 | U:100 A:100';

export const prose = wellFormed({ kind: "history" });

export const edited = `${prose}\n\nThe port is 8123.`;

export let files = 0;

export function onFile(notation = long): { session: Session; bytes: () => string } {
  files += 1;
  const file = join(folder, `${files}.jsonl`);
  const { session } = history(notation, createSession({ cwd: "/project", file }));
  return { session, bytes: () => readFileSync(file, "utf8") };
}

export type Script = readonly (ReviewDecision | ((draft: CompactionDraft) => ReviewDecision))[];

/** Decides by a script; behind its end, everything is applied. */
export function scripted(script: Script) {
  const drafts: CompactionDraft[] = [];
  const review = async (draft: CompactionDraft): Promise<ReviewDecision> => {
    const decision = script[drafts.length] ?? { action: "apply" };
    drafts.push(draft);
    return typeof decision === "function" ? decision(draft) : decision;
  };
  return { review, drafts, stages: () => drafts.map(({ stage }) => stage) };
}

export async function reviewed(script: Script, options: Partial<RunCompactionOptions> = {}, notation = long) {
  const { session, bytes } = onFile(notation);
  const before = bytes();
  const summariser = scriptedSummariser();
  const asked = scripted(script);
  const result = await runCompaction({
    session,
    settings,
    model,
    summariser,
    review: asked.review,
    ...options,
  });
  const isUnchanged = bytes() === before;
  return { session, summariser, result, isUnchanged, ...asked };
}

export const apply: ReviewDecision = { action: "apply" };
