import { BonsaiError, type Usage } from "@bonsai-agent/messages";

/** How a call may be repeated: it changes nothing, a repetition changes nothing more, or it must run once. */
export type CallEffects = "none" | "idempotent" | "once";

/** The steps of one call in the ledger. */
export type CallState = "asked" | "started" | "settled";

/** One call of a tool, by an id that the session has once. */
export interface LedgerCall {
  id: string;
  tool: string;
  effects: CallEffects;
}

/** Records the calls of tools, so that another host knows after a crash if a call may have run. */
export interface CallLedger {
  /** Notes a step. It is stored together with the entries that were appended before. */
  note(call: LedgerCall, state: CallState): void;
  /** The stored state; undefined for a call that was never noted. Read it before the first note. */
  state(id: string): Promise<CallState | undefined>;
}

/** A request for a compaction's summary, complete as text. */
export interface DraftRequest {
  /** The model to ask, as provider/id. */
  model: string;
  kind: "history" | "turnPrefix";
  prompt: { system: string; user: string };
  maxSummaryTokens: number;
}

/** The model's answer to a `DraftRequest`. */
export interface DraftAnswer {
  text: string;
  /** Anything but "stop" is a failure, not a summary. */
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  usage?: Usage;
}

/** Summaries that workers make for the host that writes the session. */
export interface SummaryDrafts {
  /**
   * Asks the workers for a summary. An abort withdraws the request. The same request of a later host finds an answer that
   * came too late for an earlier one.
   * @returns undefined if no worker makes it: then no worker is at it
   */
  ask(request: DraftRequest, signal: AbortSignal): Promise<DraftAnswer | undefined>;
  /** Deletes the drafts that were asked for until now, once everything appended is stored. Runs in the background. */
  clear(): void;
}

/**
 * The stored bytes of one session. Synchronous on purpose: an append is one write, and a session's memory
 * changes only after it succeeded. `sessionStoreCases` in `@bonsai-agent/session/store-conformance` is the
 * acceptance suite of this port.
 */
export interface SessionStore {
  /** Absolute path of the file; undefined where there is none. */
  readonly file: string | undefined;
  /** Why nothing can be appended; undefined when it can. */
  readonly readOnly: string | undefined;
  /** Bytes stored now, those of other writers included. */
  size(): number;
  /**
   * Fills `target` with the bytes from `offset` on.
   * @returns how many bytes were read: fewer than asked for only at the end.
   */
  read(target: Uint8Array, offset: number): number;
  /**
   * Appends the text at the end, whatever else was appended meanwhile, as one write.
   * @returns how many bytes were written.
   * @throws BonsaiError `session_read_only`, `append_failed`. A part of the text may then have been stored.
   */
  append(text: string): number;
  /** Returns once everything appended survives a loss of power. */
  flush(): void;
  /** True if the stored session was deleted or replaced, but not if it was moved. Left out with `continueInCopy`. */
  isGone?(): boolean;
  /**
   * Writes a new file beside the stored one and continues there. Left out by stores that no other program can cut off.
   * @throws BonsaiError `session_not_created`: then nothing changed
   */
  continueInCopy?(write: (fd: number) => void): void;
  /**
   * Resolves when everything appended and noted is stored for other hosts, and this host may still write. Left out by
   * stores of one host.
   * @throws BonsaiError `session_lease_lost`, as a rejection
   */
  durable?(): Promise<void>;
  /** Left out by stores of one host. */
  readonly ledger?: CallLedger;
  /** Left out by stores of one host. */
  readonly drafts?: SummaryDrafts;
  /** Ends the use of the store; a second call does nothing. */
  close(): void;
}

/** The error of an append to a read-only session. */
export function readOnlyFailure(reason: string): BonsaiError {
  return new BonsaiError({
    code: "session_read_only",
    message: `This session is read-only: ${reason}`,
    hint: "Continue in a copy (`bonsai --fork FILE`), or fix the cause.",
  });
}

/** A session store in memory, for temporary sessions and tests. */
export class MemoryStore implements SessionStore {
  readonly file = undefined;
  readonly readOnly: string | undefined;
  #bytes: Buffer;
  #size = 0;

  /**
   * @param content what is stored at the start.
   * @param readOnly why nothing can be appended, if so.
   */
  constructor(content: string | Uint8Array = "", readOnly?: string) {
    this.#bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
    this.#size = this.#bytes.length;
    this.readOnly = readOnly;
  }

  size(): number {
    return this.#size;
  }

  read(target: Uint8Array, offset: number): number {
    const end = Math.min(this.#size, offset + target.length);
    return end <= offset ? 0 : this.#bytes.copy(target, 0, offset, end);
  }

  append(text: string): number {
    if (this.readOnly !== undefined) throw readOnlyFailure(this.readOnly);
    const length = Buffer.byteLength(text);
    this.#reserve(this.#size + length);
    this.#bytes.write(text, this.#size);
    this.#size += length;
    return length;
  }

  flush(): void {}

  close(): void {}

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(size, 2 * this.#bytes.length, 4096));
    this.#bytes.copy(grown, 0, 0, this.#size);
    this.#bytes = grown;
  }
}
