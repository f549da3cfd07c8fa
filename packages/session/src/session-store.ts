import { BonsaiError } from "@bonsai-agent/messages";

/**
 * Where the bytes of one session lie. Synchronous on purpose: an append is one write, and a session's memory
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
  /** True where what was stored was deleted or replaced from under the store; left out with `restore`. */
  isGone?(): boolean;
  /**
   * Where what was stored was deleted or replaced from under the store, goes on in what can be found again: in another
   * version of the session that has its name now, else all of it is stored anew, perhaps under another name.
   * @param sessionId of the session that is stored: what is left of it may not say so any more
   * @returns false where nothing of that happened. @throws BonsaiError `session_not_created`. Left out by stores from which
   * nobody else can delete.
   */
  restore?(sessionId: string): false | "written_anew" | "replaced";
  /**
   * Stores something else and goes on with that: in the place of what is there, or beside it.
   * @throws BonsaiError `session_not_created`. Left out by stores that nobody else can cut off.
   */
  rewrite?(options: { write: (fd: number) => void; replace: boolean }): void;
  /** Ends the use of the store; a second call does nothing. */
  close(): void;
}

/** What an append to a session that cannot be written to throws. */
export function readOnlyFailure(reason: string): BonsaiError {
  return new BonsaiError({
    code: "session_read_only",
    message: `Nothing can be appended to this session: ${reason}`,
    hint: "Continue in a copy (`bonsai --fork FILE`), or mend what the message names.",
  });
}
