import { createHash } from "node:crypto";
import { BonsaiError, callsIn, isRecord, type Message, messageText } from "@bonsai-agent/messages";
import type { MessageFormat } from "./formats.ts";

/** A place in a conversation: the number of messages before it, and their fingerprint. */
export interface Place {
  messages: number;
  fingerprint: string;
}

export const START: Place = { messages: 0, fingerprint: "" };

/**
 * The compacted part of a conversation as plain JSON. Store it with the messages and pass it to the next call. Fields
 * other than `version` and `format` may change in any release.
 */
export interface CompactState {
  readonly version: 1;
  readonly format: MessageFormat;
  /** The fingerprint of the other fields. */
  readonly checksum: string;
  /** The latest summary, with its carried data and manifest in `details`. Absent if only results were masked. */
  readonly compaction?: {
    readonly summary: string;
    readonly tokensBefore: number;
    readonly details?: unknown;
  };
  /** The first kept message. */
  readonly kept: Place;
  /** The number of kept messages at the latest change. */
  readonly keptMessages: number;
  /** Changed texts of kept messages, by fingerprint. The caller may store only the changed list, so originals are here. */
  readonly edits: ReadonlyArray<{ readonly of: string; readonly text: string; readonly original: string }>;
}

export function sealState(content: Omit<CompactState, "version" | "checksum">): CompactState {
  // Undefined fields do not survive a database.
  const plain = JSON.parse(JSON.stringify({ ...content, version: 1 })) as CompactState;
  return { ...plain, checksum: checksumOf(plain) };
}

/** @throws BonsaiError `compact_state_damaged`, `compact_state_foreign` */
export function checkedState(state: unknown, format: MessageFormat): CompactState | undefined {
  if (state === undefined || state === null) return undefined;
  if (!isRecord(state) || state.version !== 1 || state.checksum !== checksumOf(state)) {
    throw new BonsaiError({
      /** A stored state of `compactMessages` is incomplete, was changed, or has another version. */
      code: "compact_state_damaged",
      message: "The compaction state is incomplete, was changed, or has another version.",
      hint: "Pass the unchanged state of the latest call, or pass null with the full list of messages.",
    });
  }
  if (state.format === format) return state as unknown as CompactState;
  throw foreignState(`Its format is ${state.format}, not ${format}.`);
}

export function foreignState(reason: string): BonsaiError {
  return new BonsaiError({
    /** A stored state of `compactMessages` belongs to another conversation or format. */
    code: "compact_state_foreign",
    message: `The compaction state does not belong to these messages. ${reason}`,
    hint: "Store one state for each conversation, or pass null with the full list of messages.",
  });
}

/** A shortened message keeps more. */
const FINGERPRINT_CHARS = 80;

/** The same for a masked or shortened message as for the original. */
export function fingerprintOf(message: Message): string {
  if (message.role === "toolResult") return `result ${message.toolCallId}`;
  const calls = callsIn(message).map(({ id }) => id);
  const hasImage =
    message.role === "user" &&
    [message.content].flat().some((block) => typeof block === "object" && block.type === "image");
  return [message.role, ...calls, hasImage ? "" : messageText(message).slice(0, FINGERPRINT_CHARS)].join(" ");
}

export function placeAfterMessage({ messages, fingerprint }: Place, message: Message): Place {
  return { messages: messages + 1, fingerprint: hash(`${fingerprint}\n${fingerprintOf(message)}`) };
}

/** Sorts keys: databases change their order. */
function checksumOf({ checksum: _, ...content }: { checksum?: unknown }): string {
  const sorted = (_key: string, value: unknown) =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  return hash(JSON.stringify(content, sorted));
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
