import type { LifecycleNotice } from "@bonsai-agent/lifecycle";
import {
  type CompactionEntry,
  createSession,
  MemoryStore,
  openSession,
  type Session,
} from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import type { BeforeCompact } from "../src/events.ts";
import type { RunCompactionOptions } from "../src/flow/compaction.ts";
import { compactionSettings, runCompaction, type Summariser, summarisePreparation } from "../src/index.ts";
import type { SummarisePreparationOptions } from "../src/ladder/preparation.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";

export const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });
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
  const session = sessionOf(notation);
  const notices: LifecycleNotice[] = [];
  const lifecycle = compactionLifecycle(notices);
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

/** One session for each notation, as often as it is asked for: its entries' ids are random, and stand in summaries. */
const written = new Map<string, Buffer>();

function sessionOf(notation: string): Session {
  const content = written.get(notation) ?? contentOf(notation);
  written.set(notation, content);
  return openSession({ store: new MemoryStore(content) });
}

function contentOf(notation: string): Buffer {
  const store = new MemoryStore();
  history(notation, createSession({ store, cwd: "/project" }));
  const content = Buffer.alloc(store.size());
  store.read(content, 0);
  return content;
}

/** The messages of the model's view, without ids and times: two equal sessions differ in them. */
export function messagesOf(session: Session) {
  const messages = session.projection().items.map(({ message }) => ({ ...message, timestamp: 0 }));
  return withoutIds(messages, session);
}

export function detailsOf({ details }: CompactionEntry, session: Session): Record<string, unknown> {
  const { manifest: _manifest, ...others } = details as Record<string, unknown>;
  return withoutIds(others, session);
}

/** The same value with each entry's id, which is random, replaced by the place of the entry. */
export function withoutIds<Value>(value: Value, session: Session): Value {
  if (value === undefined) return value;
  const places = new Map(session.entries().map(({ id }, at) => [id, `entry ${at}`]));
  const ids = new RegExp([...places.keys()].join("|"), "g");
  return JSON.parse(JSON.stringify(value).replaceAll(ids, (id) => places.get(id)!)) as Value;
}

export const past = "U:30000 A(t1=edit:a.ts t2=read:b.ts):30000 T1:9 T2:9 A:9 | U:100 A:100";
export const cases: readonly [string, string][] = [
  ["a whole turn", past],
  ["a split turn", "U:9000 A:9000 | U:900 A(t1=edit:a.ts):40000 T1:9000 A:150 A:150"],
  ["an earlier summary", `U:900 A:900 C()"## Goal old" ${past}`],
  ["a branch summary", `U:900 A:900 S:90 ${past}`],
];
