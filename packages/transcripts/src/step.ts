import type { Usage } from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import type { NoticeLog } from "./notices.ts";

/** Stands for a summary that its transcript does not have. */
export const SUMMARY_MISSING = "[The summary of this compaction is missing from the transcript]";

/**
 * The form between the transcripts of other agents and a session: an entry that has a key instead of
 * an id. A draft's references (`firstKeptEntryId`, `targetId`, `fromId`) name steps by key.
 */
export interface Step {
  /** Stable: derived from what the transcript calls the record, so that ids are the same each time. */
  key: string;
  parent: string | null;
  /** ISO 8601; undefined where the transcript has no time. */
  at: string | undefined;
  draft: EntryDraft;
}

/** What a reader makes of a transcript. */
export interface Transcript {
  /** The other program's id of the session. */
  id: string;
  cwd: string | undefined;
  name: string | undefined;
  /** Version of the program that wrote it. */
  version?: string | undefined;
  steps: Step[];
  /** Key of the current position. */
  leaf: string | null;
  notices: NoticeLog;
  /** How many records of each type have no place in a session. */
  skipped: Map<string, number>;
  /** Usage of requests that no message carries, for instance of a compaction. */
  otherUsage?: Usage[];
  subAgents: Transcript[];
}

/** Steps in the making: each new one hangs on the head, unless told otherwise. */
export class Trail {
  readonly steps: Step[] = [];
  head: string | null = null;
  readonly #byKey = new Map<string, Step>();

  add(step: { key: string; at: string | undefined; draft: EntryDraft; parent?: string | null }): Step {
    const added: Step = {
      key: this.#free(step.key),
      parent: step.parent === undefined ? this.head : step.parent,
      at: step.at,
      draft: step.draft,
    };
    this.steps.push(added);
    this.#byKey.set(added.key, added);
    this.head = added.key;
    return added;
  }

  step(key: string): Step | undefined {
    return this.#byKey.get(key);
  }

  /** The steps from a root to `key`, oldest first. */
  path(key: string | null = this.head): Step[] {
    const path: Step[] = [];
    for (let step = key === null ? undefined : this.#byKey.get(key); step !== undefined; ) {
      path.push(step);
      step = step.parent === null ? undefined : this.#byKey.get(step.parent);
    }
    return path.reverse();
  }

  #free(key: string): string {
    let free = key;
    for (let n = 2; this.#byKey.has(free); n += 1) free = `${key}~${n}`;
    return free;
  }
}

/** Adds one to a type's count. */
export function countSkipped(skipped: Map<string, number>, type: string): void {
  skipped.set(type, (skipped.get(type) ?? 0) + 1);
}
