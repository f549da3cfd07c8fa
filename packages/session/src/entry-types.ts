import {
  contentText,
  isRecord,
  type Message,
  type MessageRole,
  type TextContent,
} from "@bonsai-agent/messages";
import type { Entry, EntryOf, EntryType } from "./entry.ts";
import { compactionChange, ownEntryWords, pinChange } from "./own-entries.ts";
import {
  amount,
  CONTENT,
  type FieldRule,
  flag,
  isContent,
  isText,
  optional,
  text,
} from "./read/field-rules.ts";

/** All that is to be known of a type of entry. A type without a row does not compile. */
interface EntryTypeRow<Stored extends Entry> {
  /** How it is called in a column of a tree or a list. */
  readonly word: string;
  /** Fields without which it says nothing: where one is damaged, the entry is read as a lost one. */
  readonly essential: readonly FieldRule[];
  /** Fields for which there is a value that does no harm, which is read where they are damaged; its usage is one of them. */
  readonly fields?: readonly FieldRule[];
  /** What the model sees of it, before edits; undefined for nothing. */
  readonly message: (entry: Stored) => Message | undefined;
  /** True where the model then sees something else of what stands before it. */
  readonly changesView: (entry: Stored) => boolean;
}

const essential = (field: string, isSound: (value: unknown) => boolean = isText): FieldRule => ({
  field,
  isSound,
  safe: () => undefined,
});
const isReplacement = (value: unknown) => value === null || (isRecord(value) && isContent(value.content));
/** An empty summary would hide all earlier entries without replacing them. */
const isFullText = (value: unknown) => isText(value) && value.trim() !== "";
const unseen = () => undefined;
const never = () => false;
const always = () => true;

const ENTRY_TYPES: { readonly [Type in EntryType]: EntryTypeRow<EntryOf<Type>> } = {
  message: {
    word: "message",
    essential: [essential("message", isRecord)],
    message: ({ message }) => (messageRole(message?.role)?.isShown(message) ? message : undefined),
    changesView: never,
  },
  compaction: {
    word: "compaction",
    essential: [essential("summary", isFullText)],
    fields: [
      text("firstKeptEntryId"),
      amount("tokensBefore"),
      flag("fromHook"),
      optional(text("replacesCompactionId")),
    ],
    message: ({ summary, tokensBefore, timestamp }) => ({
      role: "compactionSummary",
      summary,
      tokensBefore,
      timestamp: Date.parse(timestamp),
    }),
    changesView: always,
  },
  branch_summary: {
    word: "branch",
    essential: [essential("summary")],
    fields: [text("fromId"), flag("fromHook"), flag("isMerge")],
    message: ({ summary, fromId, isMerge, timestamp }) =>
      summary === ""
        ? undefined
        : {
            role: "branchSummary",
            summary,
            fromId,
            ...(isMerge && { isMerge }),
            timestamp: Date.parse(timestamp),
          },
    changesView: never,
  },
  context_edit: {
    word: "edit",
    essential: [essential("targetId"), essential("replacement", isReplacement)],
    message: unseen,
    changesView: always,
  },
  custom_message: {
    word: "extension",
    essential: [],
    fields: [text("customType", "unknown"), CONTENT, flag("display")],
    message: ({ customType, content, display, details, timestamp }) => ({
      role: "custom",
      customType,
      content,
      display,
      details,
      timestamp: Date.parse(timestamp),
    }),
    changesView: (entry) => pinChange(entry) !== undefined,
  },
  custom: {
    word: "extension",
    essential: [],
    fields: [text("customType", "unknown")],
    message: unseen,
    changesView: (entry) => compactionChange(entry) !== undefined,
  },
  label: {
    word: "label",
    essential: [essential("targetId")],
    fields: [optional(text("label"))],
    message: unseen,
    changesView: never,
  },
  model_change: {
    word: "model",
    essential: [essential("provider"), essential("modelId")],
    message: unseen,
    changesView: never,
  },
  thinking_level_change: {
    word: "thinking",
    essential: [essential("thinkingLevel")],
    message: unseen,
    changesView: never,
  },
  session_info: {
    word: "info",
    essential: [],
    fields: [optional(text("name"))],
    message: unseen,
    changesView: never,
  },
  usage: {
    word: "usage",
    essential: [],
    fields: [text("kind", "unknown"), text("provider", "unknown"), text("model", "unknown")],
    message: unseen,
    changesView: never,
  },
};

/** All that is to be known of a role of messages. A role without a row does not compile. */
interface RoleRow<Shown extends Message> {
  /** How it is called in a column of a tree or a list. */
  readonly word: string;
  /** Values to read where fields are damaged; its usage is one of them. Content may be missing or null everywhere. */
  readonly fields?: readonly FieldRule[];
  /** True where a model can be shown it. */
  readonly isShown: (message: Shown) => boolean;
  /** The message with another content; left out where there is none that could be replaced. */
  readonly withContent?: (message: Shown, content: unknown) => Message;
}

const number = (field: string): FieldRule => ({ field, isSound: Number.isFinite, safe: () => undefined });
const MESSAGE_TIME = optional(number("timestamp"));
const someText = (...fields: string[]) => fields.map((field) => optional(text(field)));
const withContent = (message: Message, content: unknown) => ({ ...message, content }) as Message;
const withBlocks = (message: Message, content: unknown) =>
  withContent(message, isText(content) ? [{ type: "text", text: content } satisfies TextContent] : content);

const ROLES: { readonly [Role in MessageRole]: RoleRow<Extract<Message, { role: Role }>> } = {
  user: { word: "user", fields: [CONTENT, MESSAGE_TIME], isShown: always, withContent },
  assistant: {
    word: "assistant",
    fields: [
      CONTENT,
      MESSAGE_TIME,
      ...someText("api", "provider", "model", "stopReason", "rawStopReason", "errorMessage"),
      ...someText("responseModel", "responseId"),
    ],
    isShown: always,
    withContent: withBlocks,
  },
  toolResult: {
    word: "result",
    fields: [CONTENT, MESSAGE_TIME, text("toolCallId"), text("toolName", "unknown"), flag("isError")],
    isShown: always,
    withContent: withBlocks,
  },
  bashExecution: {
    word: "command",
    fields: [
      MESSAGE_TIME,
      text("command"),
      text("output"),
      {
        field: "exitCode",
        isSound: (value) => value === null || value === undefined || Number.isFinite(value),
        safe: () => undefined,
      },
      flag("cancelled"),
      flag("truncated"),
      flag("excludeFromContext"),
      optional(text("fullOutputPath")),
    ],
    isShown: (message) => !message.excludeFromContext,
    withContent: (message, content) => ({
      ...message,
      output: isText(content) ? content : contentText(content),
    }),
  },
  branchSummary: { word: "branch", fields: [MESSAGE_TIME, text("summary")], isShown: always },
  compactionSummary: {
    word: "summary",
    fields: [MESSAGE_TIME, text("summary"), optional(amount("tokensBefore"))],
    isShown: always,
  },
  custom: {
    word: "extension",
    fields: [CONTENT, MESSAGE_TIME, text("customType", "unknown"), flag("display")],
    isShown: always,
    withContent,
  },
  system: { word: "system", isShown: never },
};

// Maps, for a damaged file can name a type or a role `constructor`.
const types = new Map<unknown, EntryTypeRow<never>>(Object.entries(ENTRY_TYPES));
const roles = new Map<unknown, RoleRow<never>>(Object.entries(ROLES));

/** The row of a type; undefined for one that nobody knows. */
export function entryType(type: unknown): EntryTypeRow<Entry> | undefined {
  return types.get(type) as EntryTypeRow<Entry> | undefined;
}

/** The row of a role; undefined for one that nobody knows. */
export function messageRole(role: unknown): RoleRow<Message> | undefined {
  return roles.get(role) as RoleRow<Message> | undefined;
}

/** A message's role or an entry's type as a short word for a column; one that nobody knows is its own word. */
export function kindWord(kind: string): string {
  return messageRole(kind)?.word ?? entryType(kind)?.word ?? (kind === "damagedMessage" ? "damaged" : kind);
}

/** What kind of thing an entry is, in one word: `pin`, `note` for a record of Bonsai's, else what `kindWord` gives. */
export function entryKind(entry: Entry): string {
  if (pinChange(entry) !== undefined) return "pin";
  if (ownEntryWords(entry) !== undefined) return "note";
  if (entry.type !== "message") return kindWord(entry.type);
  return typeof entry.message?.role === "string" ? kindWord(entry.message.role) : "damaged";
}
