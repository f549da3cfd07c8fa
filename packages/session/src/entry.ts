import type { AssistantContent, Message, Usage, UserContent } from "@bonsai-agent/messages";
import { MESSAGE_TYPES } from "@bonsai-agent/messages/host";

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
  /** The text that the model sees instead of the entries that are not kept. */
  summary: string;
  /** The first entry of the kept part; the compaction's own id when nothing before it is kept. */
  firstKeptEntryId: string;
  /** Tokens of the context that was compacted. */
  tokensBefore: number;
  /** Usage of the request that made the summary. */
  usage?: Usage;
  /** Data of the summary's maker. */
  details?: unknown;
  /** True when an extension gave the summary. */
  fromHook?: boolean;
  /** The compaction that this one replaces. Both summarise the same originals. */
  replacesCompactionId?: string;
}

export interface BranchSummaryFields {
  type: "branch_summary";
  /** The text that the model sees for the branch. */
  summary: string;
  /** The end of the branch: the leaf that was left; with `isMerge`, the entry up to which it was merged. */
  fromId: string;
  /** True for a branch that was merged here, without moving. */
  isMerge?: boolean;
  /** Usage of the request that made the summary. */
  usage?: Usage;
  /** Data of the summary's maker. */
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
  /** Names the extension and the kind of message. */
  customType: string;
  /** The message to the model, in the user's role. */
  content: string | UserContent[];
  /** False to keep it out of the chat. */
  display: boolean;
  /** Data of the extension; the model does not see it. */
  details?: unknown;
}

export interface CustomFields {
  type: "custom";
  /** Names the extension and the kind of state. */
  customType: string;
  /** The state; the model does not see it. */
  data?: unknown;
  /**
   * The entry for programs that know only the format's own types: its line in the file is of that type. For those
   * entries of ours alone whose `customType` says so.
   */
  inFormat?: FormatFields;
}

/** Entries that change the view of every program that reads the format. */
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
  /** The purpose of the request. */
  kind: string;
  provider: string;
  model: string;
  /** Usage of the request: counted in totals, never part of the context. */
  usage: Usage;
}

/** The fields of each type of entry, without its place in the tree. */
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
export type CompactionEntry = EntryOf<"compaction">;
export type BranchSummaryEntry = EntryOf<"branch_summary">;
export type ContextEditEntry = EntryOf<"context_edit">;
export type CustomEntry = EntryOf<"custom">;

/** An entry of a known type. Entries of unknown types pass through with their fields untouched. */
export type Entry = EntryDraft & EntryBase;
export type EntryType = Entry["type"];

/** The `customType` of each kind of entry that Bonsai writes as `custom` or `custom_message`. */
export const customTypes = {
  /** Records a moved leaf. Its parent is the new position. */
  leaf: "bonsai.leaf",
  /** Keeps the data of masks, or of a summary whose details are an extension's. `data` is a StoredBeside of compaction. */
  beside: "bonsai.beside",
  /** Only other programs read this entry. `inFormat` has all its content. */
  companion: "bonsai.companion",
  /** Undoes a compaction. `data` is `{compactionId}`. */
  undo: "bonsai.undo",
  /** Redoes an undone compaction. `data` is `{compactionId}`. */
  redo: "bonsai.redo",
  /** Records that the provider refused its own summary of a compaction. `data` is `{compactionId}`. */
  refusedSummary: "bonsai.refused_summary",
  /** Keeps the description that a list shows of a session. `data` is a SessionBlurb. */
  sessionBlurb: "bonsai.session_digest",
  /** Pins a text. `details` is `{text, line}`: the text, and the line for it in a summary. */
  pin: MESSAGE_TYPES.pin,
  /** Removes a pin. `details` as for `pin`. */
  unpin: MESSAGE_TYPES.unpin,
} as const;
