import { Lifecycle, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import type { CompactionEntry } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import {
  type BeforeCompact,
  type CompactionEvents,
  compactionEventRules,
  compactionSettings,
  type RunCompactionOptions,
  runCompaction,
  type SummarisePreparationOptions,
  type Summariser,
  summarisePreparation,
} from "../src/index.ts";

export const settings = compactionSettings({ keepRecentTokens: 200, estimator: "chars4" });
export const model = { contextWindow: 60_000 };

type Asked = Omit<SummarisePreparationOptions, "preparation" | "summariser">;

interface Stage extends Partial<RunCompactionOptions> {
  notation: string;
  /** Null: the default, without extensions. */
  extension: Summariser | null;
  asked?: Asked;
  carryOver?: Record<string, string[]>;
}

/** Compacts a session, by an extension that has the default summary made, or without one. */
export async function compacted({ notation, extension, asked = {}, carryOver, ...options }: Stage) {
  const { session } = history(notation);
  const notices: LifecycleNotice[] = [];
  const lifecycle = new Lifecycle<CompactionEvents>({
    rules: compactionEventRules,
    onNotice: (notice) => notices.push(notice),
  });
  const errors: unknown[] = [];
  lifecycle.on("session_before_compact", async ({ preparation, signal }: BeforeCompact) => {
    const carried = carryOver === undefined ? {} : { carryOver };
    if (extension === null) return carried;
    try {
      const made = await summarisePreparation({ preparation, summariser: extension, signal, ...asked });
      return { ...made, ...carried };
    } catch (error) {
      errors.push(error);
      return {};
    }
  });
  const run = () => runCompaction({ session, settings, model, reason: "threshold", lifecycle, ...options });
  const result = await run();
  return { session, result, run, errors, notices, text: messagesOf(session) };
}

/** What the model sees, without what differs between two equal sessions. */
export function messagesOf(session: ReturnType<typeof history>["session"]) {
  return session.projection().items.map(({ message }) => ({ ...message, timestamp: 0 }));
}

export function detailsOf({ details }: CompactionEntry): Record<string, unknown> {
  const { manifest: _manifest, ...rest } = details as Record<string, unknown>;
  const { latestRequest, ...others } = rest;
  return { ...others, latestRequest: (latestRequest as { text: string } | undefined)?.text };
}

export const past = "U:30000 A(t1=edit:a.ts t2=read:b.ts):30000 T1:9 T2:9 A:9 | U:100 A:100";
export const cases: readonly [string, string][] = [
  ["a whole turn", past],
  ["a split turn", "U:9000 A:9000 | U:900 A(t1=edit:a.ts):40000 T1:9000 A:150 A:150"],
  ["an earlier summary", `U:900 A:900 C()"## Goal old" ${past}`],
  ["a branch summary", `U:900 A:900 S:90 ${past}`],
];
