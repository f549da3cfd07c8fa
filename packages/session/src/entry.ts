import type { AssistantContent, Message, Usage, UserContent } from "@bonsai-agent/messages";

/** The first line of a session file. */
export interface SessionHeader {
  type: "session";
  /** 3 today; absent means 1. */
  version?: number;
  /** A UUID. */
  id: string;
  /** When the session began, ISO 8601. */
  timestamp: string;
  /** The working directory, an absolute path. */
  cwd: string;
  /** Absolute path of the file that this session was forked from. */
  parentSession?: string;
}

/** Session format version that this package writes. */
export const SESSION_VERSION = 3;

/** A message as an entry stores it; the two summary views are never stored as messages. */
export type StoredMessage = Exclude<Message, { role: "branchSummary" | "compactionSummary" }>;

export interface MessageFields {
  type: "message";
  message: StoredMessage;
}

export interface CompactionFields {
  type: "compaction";
  /** What the model sees in the place of all that is not kept. */
  summary: string;
  /** The first entry of the kept part; the compaction's own id when nothing before it is kept. */
  firstKeptEntryId: string;
  /** Tokens of the context that was compacted. */
  tokensBefore: number;
  /** What making the summary used. */
  usage?: Usage;
  /** What its maker keeps with it. */
  details?: unknown;
  /** True when an extension gave the summary. */
  fromHook?: boolean;
  /** The compaction that this one was made anew of, from the same originals. */
  replacesCompactionId?: string;
}

export interface BranchSummaryFields {
  type: "branch_summary";
  /** What the model sees of the branch. */
  summary: string;
  /** The end of the branch: the leaf that was left; with `isMerge`, the entry up to which it was merged. */
  fromId: string;
  /** True for a branch that was merged here, without moving. */
  isMerge?: boolean;
  /** What making the summary used. */
  usage?: Usage;
  /** What its maker keeps with it. */
  details?: unknown;
  /** True when an extension gave the summary. */
  fromHook?: boolean;
}

export interface ContextEditFields {
  type: "context_edit";
  /** The entry whose view is edited; the latest edit on a path counts. */
  targetId: string;
  /** `null` omits the target from the context; else only its content is replaced. */
  replacement: null | { content: string | UserContent[] | AssistantContent[] };
}

export interface CustomMessageFields {
  type: "custom_message";
  /** Whose message it is, and of what kind. */
  customType: string;
  /** What the model sees, in the user's role. */
  content: string | UserContent[];
  /** False to keep it out of the chat. */
  display: boolean;
  /** What its maker keeps with it; the model does not see it. */
  details?: unknown;
}

export interface CustomFields {
  type: "custom";
  /** Whose state it is, and of what kind. */
  customType: string;
  /** The state; the model does not see it. */
  data?: unknown;
  /**
   * What programs read in its place that know only the format's own types: its line in the file is of that type. For those
   * entries of ours alone whose `customType` says so.
   */
  inFormat?: FormatFields;
}

/** What changes the view of every program that reads the format. */
export type FormatFields = CompactionFields | ContextEditFields;

export interface LabelFields {
  type: "label";
  /** The entry that is labelled; of several labels, the latest in file order counts. */
  targetId: string;
  /** Absent clears the label. */
  label?: string;
}

export interface ModelChangeFields {
  type: "model_change";
  provider: string;
  modelId: string;
}

export interface ThinkingLevelChangeFields {
  type: "thinking_level_change";
  thinkingLevel: string;
}

export interface SessionInfoFields {
  type: "session_info";
  /** Absent clears the name. */
  name?: string;
}

export interface UsageFields {
  type: "usage";
  /** What the request was for. */
  kind: string;
  provider: string;
  model: string;
  /** What it used: counted in totals, never part of the context. */
  usage: Usage;
}

/** What distinguishes an entry, without its place in the tree. */
export type EntryDraft =
  | MessageFields
  | CompactionFields
  | BranchSummaryFields
  | ContextEditFields
  | CustomMessageFields
  | CustomFields
  | LabelFields
  | ModelChangeFields
  | ThinkingLevelChangeFields
  | SessionInfoFields
  | UsageFields;

/** A draft that may name itself: an id that `Session.newId` gave; without one, the session picks it. */
export type EntryDraftWithId = EntryDraft & { id?: string };

/** An entry's place in the tree. */
export interface EntryBase {
  id: string;
  /** `null` for a root. */
  parentId: string | null;
  /** ISO 8601. */
  timestamp: string;
}

export type EntryOf<Type extends EntryDraft["type"]> = Extract<EntryDraft, { type: Type }> & EntryBase;
export type MessageEntry = EntryOf<"message">;
export type CompactionEntry = EntryOf<"compaction">;
export type BranchSummaryEntry = EntryOf<"branch_summary">;
export type ContextEditEntry = EntryOf<"context_edit">;
export type CustomMessageEntry = EntryOf<"custom_message">;
export type CustomEntry = EntryOf<"custom">;
export type LabelEntry = EntryOf<"label">;

/** An entry of a known type. Entries of unknown types pass through with their fields untouched. */
export type Entry = EntryDraft & EntryBase;
export type EntryType = Entry["type"];

/** `customType` of the entry that records a moved leaf; its parent is the new position. */
export const LEAF_CUSTOM_TYPE = "bonsai.leaf";
/** `customType` of the entry that keeps what usage had taught of the session's tokens; `data` is a Calibration. */
export const CALIBRATION_CUSTOM_TYPE = "bonsai.calibration";
/** `customType` of the entry that keeps what was pinned up to it; `data` is `{pinned}`, a list of texts. */
export const PINNED_CUSTOM_TYPE = "bonsai.pinned";
/**
 * `customType` of the entry that keeps the record of what a summary of an extension's own stands for; `data` is
 * `{record, firstKeptEntryId}`.
 */
export const RECORD_CUSTOM_TYPE = "bonsai.record";
/** `customType` of the entry that only other programs read: `inFormat` is all that it says. */
export const COMPANION_CUSTOM_TYPE = "bonsai.companion";
/** `customType` of the entry that undoes a compaction; `data` is `{compactionId}`. */
export const UNDO_CUSTOM_TYPE = "bonsai.undo";
/** `customType` of the entry that takes such an undo back; `data` is `{compactionId}`. */
export const REDO_CUSTOM_TYPE = "bonsai.redo";
/**
 * `customType` of the messages that pin a text and that take the pin back. `details` is `{text, line}`: the text, and how
 * it stands in a summary that carries it.
 */
export { PIN_CUSTOM_TYPE, UNPIN_CUSTOM_TYPE } from "@bonsai-agent/messages/frames";
