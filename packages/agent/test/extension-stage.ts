import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CustomCompaction } from "@bonsai-agent/compaction";
import type { SetTimer } from "@bonsai-agent/lifecycle";
import { createSession, openSession } from "@bonsai-agent/session";
import { filledAgent, type ScriptedAgentOptions, testFolder } from "./scripted-agent.ts";

/** A timer whose time comes when the test says so. */
export function manualTimer() {
  const due = new Map<() => void, number>();
  const setTimer: SetTimer = (callback, delayMs) => {
    due.set(callback, delayMs);
    return () => void due.delete(callback);
  };
  return {
    setTimer,
    delaysMs: () => [...due.values()],
    fire: () => [...due.keys()].forEach((each) => void each()),
  };
}

/** An agent in a file after prompts of these sizes; `turn` plays the requests after them. */
export async function stage({
  sizes,
  ...options
}: Partial<ScriptedAgentOptions> & { sizes?: readonly number[] } = {}) {
  const file = join(testFolder(), "session.jsonl");
  const timer = manualTimer();
  const session = createSession({ cwd: "/project", file });
  const run = await filledAgent({ session, setTimer: timer.setTimer, ...options }, sizes);
  const ids = () => run.session.projection().items.map(({ entryId }) => entryId);
  return { ...run, timer, ids, bytes: () => readFileSync(file, "utf8"), reopened: () => openSession(file) };
}

export type Stage = Awaited<ReturnType<typeof stage>>;

/** All payloads of an event, without what every one of them has. */
export function told<Name extends Parameters<Stage["lifecycle"]["on"]>[0]>(
  { lifecycle }: Stage,
  name: Name,
): Record<string, unknown>[] {
  const payloads: Record<string, unknown>[] = [];
  lifecycle.on(name, (payload: object) => void payloads.push({ ...payload }));
  return payloads;
}

/** A summary of an extension's own, kept from the plan's place. */
export function own(run: Stage, source: string, more: Partial<CustomCompaction> = {}) {
  run.lifecycle.on(
    "session_before_compact",
    ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
      compaction: { summary: `Summary of ${source}.`, firstKeptEntryId, tokensBefore, ...more },
    }),
    { source },
  );
}
