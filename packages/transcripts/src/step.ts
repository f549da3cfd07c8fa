import { emptyUsage } from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { assistantDraft } from "./content.ts";
import type { NoticeLog, SourcePlace } from "./notices.ts";

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
  /** Where in the transcript it was read. */
  source?: SourcePlace | undefined;
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
  subAgents: Transcript[];
}

/** Steps in the making: each new one hangs on the head, unless told otherwise. */
export class Trail {
  readonly steps: Step[] = [];
  head: string | null = null;
  /** Where the reader is: the source of the steps that are added. */
  source: SourcePlace | undefined;
  readonly #byKey = new Map<string, Step>();
  readonly #repeats = new Map<string, number>();

  add(step: { key: string; at: string | undefined; draft: EntryDraft; parent?: string | null }): Step {
    const added: Step = {
      key: this.#free(step.key),
      parent: step.parent === undefined ? this.head : step.parent,
      at: step.at,
      draft: step.draft,
      ...(this.source === undefined ? {} : { source: this.source }),
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

  /**
   * Marks the turn that ends at `parent` as aborted: the answer that was cut short, or, where its tools had
   * answered or nothing had come yet, an empty one behind them. Returns where the conversation goes on.
   */
  cancel(options: {
    key: string;
    at: string | undefined;
    parent: string | null;
    provider: string;
    model: string;
  }): string | null {
    const last = this.#lastMessage(options.parent);
    if (last === undefined || last.draft.type !== "message") return options.parent;
    const { message } = last.draft;
    if (message.role === "assistant") {
      if (message.stopReason !== "error") message.stopReason = "aborted";
      return options.parent;
    }
    const { key, at, parent, provider, model } = options;
    const draft = assistantDraft({
      content: [],
      provider,
      model,
      at,
      usage: emptyUsage(),
      stopReason: "aborted",
    });
    return this.add({ key: `${key}/aborted`, at, parent, draft }).key;
  }

  /** True where the turn that ends at the head is marked as aborted. */
  isCancelled(): boolean {
    const last = this.#lastMessage(this.head)?.draft;
    return (
      last?.type === "message" && last.message.role === "assistant" && last.message.stopReason === "aborted"
    );
  }

  #lastMessage(from: string | null): Step | undefined {
    let step = from === null ? undefined : this.#byKey.get(from);
    while (step !== undefined && step.draft.type !== "message" && step.draft.type !== "compaction")
      step = step.parent === null ? undefined : this.#byKey.get(step.parent);
    return step;
  }

  /** Repeated keys are counted on, so that many repetitions take no longer each than the first. */
  #free(key: string): string {
    if (!this.#byKey.has(key)) return key;
    let n = this.#repeats.get(key) ?? 2;
    while (this.#byKey.has(`${key}~${n}`)) n += 1;
    this.#repeats.set(key, n + 1);
    return `${key}~${n}`;
  }
}

/** Adds one to a type's count. */
export function countSkipped(skipped: Map<string, number>, type: string): void {
  skipped.set(type, (skipped.get(type) ?? 0) + 1);
}
